"""The parser of options: values, operands, error messages and help text."""

from __future__ import annotations

import argparse

import pytest

from eyespan.cli.options import COMMON, Parser, UsageError, add_common_options, one_of, text, whole_number


@pytest.fixture
def parser():
    """The parser of a command with options of every sort."""
    made = Parser("toy", "usage: eyespan toy [options]\n\nPlays.\n")
    made.add_argument("-q", "--quiet", action="store_true", help="print less")
    made.add_argument("--loud", action="store_false", dest="quiet", help="print more")
    made.add_argument("--color", metavar="WHEN", type=one_of("auto", "always", "never"), help="use colours")
    made.add_argument("--count", metavar="N", type=whole_number(9), help="how many")
    made.add_argument("--number", dest="count", type=whole_number(9), help=argparse.SUPPRESS)
    made.add_argument("--add", metavar="NAME", dest="names", action="append", type=text, help="add one, or several")
    add_common_options(made)
    return made


@pytest.mark.parametrize(
    ("words", "values", "operands"),
    [
        ([], {}, []),
        (["a", "-", "b"], {}, ["a", "-", "b"]),
        (["-:10-20", "-q", "-!/x"], {"quiet": True}, ["-:10-20", "-!/x"]),
        (["a", "-q", "b", "--count", "3", "c"], {"quiet": True, "count": 3}, ["a", "b", "c"]),
        (["--quiet", "--loud"], {"quiet": False}, []),
        (["--count", "3", "--count=4"], {"count": 4}, []),
        (["--number", "3"], {"count": 3}, []),
        (["--add", "a", "--add=b=c"], {"names": ["a", "b=c"]}, []),
        (["--add", "-"], {"names": ["-"]}, []),
        (["--root", "a", "x", "--root=b"], {"roots": ["a", "b"]}, ["x"]),
        (["--color", "never", "--", "--quiet", "--"], {"color": "never"}, ["--quiet", "--"]),
    ],
)
def test_options_become_values_and_all_other_words_operands(parser, words, values, operands):
    assert parser.parse(words) == (values, operands)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nope=1"], "toy has no option --nope. Try: eyespan toy --help"),
        (["-x"], "toy has no option -x. Try: eyespan toy --help"),
        (["-50"], "toy has no option -50. Try: eyespan toy --help"),
        (["--quit"], "toy has no option --quit; did you mean --quiet? Try: eyespan toy --help"),
        (["--qui"], "toy has no option --qui; did you mean --quiet? Try: eyespan toy --help"),
        (["--quiet=yes"], "--quiet takes no value"),
        (["--count"], "--count needs a value: --count N"),
        (["--count", "--quiet"], "--count needs a value: --count N"),
        (["--add="], "--add needs a value: --add NAME"),
        (["--count", "ten"], "--count must be a whole number from 1 to 9, not 'ten'"),
        (["--color", "green"], "--color must be auto, always or never, not 'green'"),
        (["--timeout", "soon"], "--timeout wants seconds, more than 0 and at most 3600, not 'soon'"),
    ],
)
def test_a_wrong_word_is_a_usage_error(parser, words, message):
    with pytest.raises(UsageError) as error:
        parser.parse(words)

    assert str(error.value) == message


def test_help_shows_each_option_in_its_section(parser):
    assert parser.format_help().startswith(
        "usage: eyespan toy [options]\n"
        "\n"
        "Plays.\n"
        "\n"
        "options:\n"
        "  -q, --quiet        print less\n"
        "  --loud             print more\n"
        "  --color WHEN       use colours\n"
        "  --count N          how many\n"
        "  --add NAME         add one, or several\n"
        "\n"
        "common options:\n"
    )


def test_a_section_lists_the_options_that_help_shows(parser):
    names = {title: [option.option_strings[-1] for option in found] for title, found in parser.sections().items()}

    assert names == {
        "options": ["--quiet", "--loud", "--color", "--count", "--add"],
        COMMON: ["--root", "--config", "--timeout", "--no-plugins", "--version", "--help"],
    }
