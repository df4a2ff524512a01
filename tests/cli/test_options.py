"""The option parser: values, operands, error messages and help text."""

from __future__ import annotations

import pytest

from eyespan.cli.options import Option, UsageError, describe, one_of, parse

OPTIONS = (
    Option("-q", "--quiet", text="print less"),
    Option("--loud", field="quiet", constant=False, text="print more"),
    Option("--color", value="WHEN", convert=one_of("auto", "always", "never"), text="use colours"),
    Option("--count", value="N", convert=int, aliases=("--number",), text="how many"),
    Option("--add", value="NAME", field="names", is_repeatable=True, text="add one, or several"),
)


@pytest.mark.parametrize(
    ("words", "values", "operands"),
    [
        ([], {}, []),
        (["a", "-", "b"], {}, ["a", "-", "b"]),
        (["-q", "a"], {"quiet": True}, ["a"]),
        (["--quiet", "--loud"], {"quiet": False}, []),
        (["--count", "3", "--count=4"], {"count": 4}, []),
        (["--number", "3"], {"count": 3}, []),
        (["--add", "a", "--add=b=c"], {"names": ("a", "b=c")}, []),
        (["--color", "never", "--", "--quiet", "--"], {"color": "never"}, ["--quiet", "--"]),
    ],
)
def test_options_become_values_and_all_other_words_operands(words, values, operands):
    assert parse("toy", words, OPTIONS) == (values, operands)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nope=1"], "toy has no option --nope. Try: eyespan toy --help"),
        (["-x"], "toy has no option -x. Try: eyespan toy --help"),
        (["--quiet=yes"], "--quiet takes no value"),
        (["--count"], "--count needs a value: --count N"),
        (["--add="], "--add needs a value: --add NAME"),
        (["--color", "green"], "--color must be auto, always or never, not 'green'"),
    ],
)
def test_a_wrong_word_is_a_usage_error(words, message):
    with pytest.raises(UsageError) as error:
        parse("toy", words, OPTIONS)

    assert str(error.value) == message


def test_help_shows_each_option_in_its_section():
    text = describe({"options": OPTIONS[:3], "more": OPTIONS[3:]})

    assert text == (
        "\n"
        "options\n"
        "  -q, --quiet             print less\n"
        "  --loud                  print more\n"
        "  --color WHEN            use colours\n"
        "\n"
        "more\n"
        "  --count N               how many\n"
        "  --add NAME              add one, or several\n"
    )


def test_help_breaks_long_texts_and_long_options():
    text = describe({"options": [Option("--a-very-long-option-name", value="VALUE", text="word " * 30)]})

    assert text.splitlines()[2] == "  --a-very-long-option-name VALUE"
    assert max(map(len, text.splitlines())) <= 80
    assert text.split().count("word") == 30
