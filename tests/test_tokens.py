"""The estimate against true counts of o200k, which tools/calibrate_tokens.py wrote to token_counts/counts.json."""

from __future__ import annotations

import hashlib
import json
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan import tokens
from eyespan._native import scale, weigh
from eyespan.tokens import CLASSES, OTHER_WEIGHTS, WEIGHTS, estimate, fit
from tests.token_counts.generated_texts import GENERATED

HERE = Path(__file__).parent
COUNTS: dict[str, list] = json.loads((HERE / "token_counts" / "counts.json").read_text())["counts"]
CORPUS = sorted((HERE / "token_counts" / "corpus").iterdir())
FIXTURES = sorted((HERE / "outline" / "fixtures").iterdir())
TEXTS = st.text(st.sampled_from("aZ9 _\t\n\r.(é‐—я한字かあ，。\u0939\U0001f600\ud800") | st.characters(), max_size=300)


def true_count(text: str) -> int:
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert key in COUNTS, "this text changed: run tools/calibrate_tokens.py --write"
    return COUNTS[key][2]


def off_by(texts: list[str]) -> float:
    return sum(map(estimate, texts)) / sum(map(true_count, texts)) - 1


@pytest.mark.parametrize("corpus", ["prose", "cjk"])
def test_prose_and_cjk_are_within_a_tenth(corpus):
    texts = [path.read_text("utf-8") for path in CORPUS if path.name.startswith(corpus + "-")]

    assert texts
    assert abs(off_by(texts)) < 0.10


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_each_text_alone_is_within_a_seventh(path):
    assert abs(off_by([path.read_text("utf-8")])) < 1 / 7


def test_logs_are_within_a_tenth():
    assert abs(off_by([make() for make in GENERATED.values()])) < 0.10


@pytest.mark.parametrize("name", GENERATED)
def test_each_kind_of_log_alone_is_within_an_eighth(name):
    assert abs(off_by([GENERATED[name]()])) < 0.125


def test_code_in_many_languages_is_within_a_tenth():
    assert abs(off_by([path.read_text("utf-8") for path in FIXTURES])) < 0.10


def test_the_standard_library_is_within_a_tenth():
    folder = Path(sysconfig.get_paths()["stdlib"])
    texts = []
    for corpus, name, _ in COUNTS.values():
        if corpus == "stdlib" and (folder / name).is_file():
            text = (folder / name).read_text("utf-8", "replace")[:24_000]
            if hashlib.sha256(text.encode()).hexdigest()[:16] in COUNTS:
                texts.append(text)
    if len(texts) < 10:
        pytest.skip("the true counts are of another Python's library; hardly a file of this one is the same")

    assert abs(off_by(texts)) < 0.10
    assert all(abs(off_by([text])) < 0.25 for text in texts)


@pytest.mark.skipif(weigh is None, reason="the C accelerator is not built")
@given(TEXTS)
def test_the_accelerator_weighs_what_python_counts(text):
    assert tokens._cost_by_weighing(text) == tokens._cost_by_counting(text)


@pytest.mark.skipif(weigh is None, reason="the C accelerator is not built")
def test_the_accelerator_weighs_long_texts_too_and_refuses_tables_of_the_wrong_size():
    text = "".join(make() for make in GENERATED.values()) + "\r" * 9

    assert tokens._cost_by_weighing(text) == tokens._cost_by_counting(text)
    for tables in ((b"", bytes(4224)), (bytes(256), b"")):
        with pytest.raises(ValueError, match="wrong size"):
            scale(*tables)
    with pytest.raises(ValueError, match="a scale"):
        weigh(b"x", b"")


@pytest.mark.skipif(weigh is None, reason="the C accelerator is not built")
@given(st.lists(st.sampled_from(["a", "  ", " ", "\n", "=", "\r", "\r\n", "é", "0", "X", "word " * 5]), max_size=60))
def test_runs_of_blanks_and_returns_weigh_the_same_at_every_place(pieces):
    text = "".join(pieces)

    assert tokens._cost_by_weighing(text) == tokens._cost_by_counting(text)


@pytest.mark.skipif(weigh is None, reason="the C accelerator is not built")
def test_a_scale_whose_pairs_do_not_hold_all_its_weights_is_used_class_by_class():
    classes, weights = tokens._packed_tables()
    same = bytes([classes[0x20] if byte == 0x09 else value for byte, value in enumerate(classes)])
    text = "a\t b \t c\t\td  " * 9

    assert weigh(text, scale(same, weights)) == weigh(text.replace("\t", " "), scale(classes, weights))


def test_line_ends_cost_the_same_in_both_conventions():
    text = (HERE / "token_counts" / "corpus" / "prose-harbour.txt").read_text("utf-8")

    assert estimate(text.replace("\n", "\r\n")) == estimate(text)


@pytest.mark.parametrize("word", ["ሰላም", "ᏣᎳᎩ", "བོད", "ⲁⲃⲅ", "ꀀꀁ", "𐎠𐎡"])
def test_a_script_that_no_vocabulary_holds_costs_more_than_a_token_for_each_character(word):
    assert estimate(word * 100) > 1.1 * len(word * 100)


def test_nothing_is_nothing_and_a_character_is_one():
    assert [estimate(text) for text in ("", "a", "\n", "字", "\U0001f600", "\ud800")] == [0, 1, 1, 1, 1, 1]


def test_no_character_is_free_so_no_budget_is_endless():
    assert all(
        estimate(chr(first) * 100_000) >= 100 for first in (0x20, 0x0D, 0x61, 0xE9, 0x434, 0x5B57, 0xFF0C, 0x2014)
    )


def test_every_weight_can_be_counted_in_halves():
    for pattern in [*WEIGHTS, *OTHER_WEIGHTS]:
        assert set(pattern) <= set(CLASSES)
        assert not any(pattern[:size] == pattern[-size:] for size in range(1, len(pattern)))
        assert len(pattern) < 3 or (len(pattern) == 3 and pattern.endswith(b"  "))  # all that `weigh` knows


@given(TEXTS, st.integers(0, 300))
def test_a_prefix_never_costs_more(text, cut):
    assert estimate(text[:cut]) <= estimate(text)


@given(TEXTS, st.integers(1, 120))
def test_fit_takes_as_much_as_the_budget_allows_and_no_more(text, budget):
    size = fit(text, budget)

    assert size >= min(1, len(text))
    assert estimate(text[:size]) <= budget
    assert size == len(text) or estimate(text[: size + 1]) > budget


@given(st.lists(TEXTS, min_size=1, max_size=4), st.integers(1, 4000), st.integers(1, 60))
def test_fit_is_exact_over_many_blocks(pieces, budget, times):
    text = "".join(pieces) * times * 5
    size = fit(text, budget)

    assert size == len(text) or estimate(text[:size]) <= budget < estimate(text[: size + 1])


@pytest.mark.parametrize("budget", [3000, 4500, 6000])
@pytest.mark.parametrize("piece", ["word, One 12 ", "x = 'é'\n", "字の "])
def test_fit_is_exact_beyond_the_first_block(piece, budget):
    text = piece * 4000
    size = fit(text, budget)

    assert size > 4096 or piece == "字の "
    assert estimate(text[:size]) <= budget < estimate(text[: size + 1])


def test_fit_of_nothing_or_for_nothing():
    assert [fit("", 10), fit("word", 0), fit("word", -3), fit("\U0001f600\U0001f600", 1)] == [0, 0, 0, 1]
