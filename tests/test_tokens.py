"""The estimate against true counts of o200k, which tools/token_counts.py wrote to token_counts/counts.json."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import sysconfig
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyespan import tokens
from eyespan.tokens import estimate, fit, piece_pattern
from tests.sizes import size as sized
from tests.token_counts.generated_texts import GENERATED

HERE = Path(__file__).parent
COUNTS: dict[str, list] = json.loads((HERE / "token_counts" / "counts.json").read_text())["counts"]
CORPUS = sorted((HERE / "token_counts" / "corpus").iterdir())
FIXTURES = sorted((HERE / "outline" / "fixtures").iterdir())
TEXTS = st.text(st.sampled_from("aZ9 _\t\n\r.(é‐—я한字かあ，。\u0939\U0001f600\ud800") | st.characters(), max_size=300)


def true_count(text: str) -> int:
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert key in COUNTS, "this text changed: run tools/token_counts.py --write"
    return COUNTS[key][2]


def off_by(texts: list[str]) -> float:
    return sum(map(estimate, texts)) / sum(map(true_count, texts)) - 1


@pytest.mark.parametrize("corpus", ["prose", "cjk"])
def test_prose_and_cjk_are_within_a_tenth(corpus):
    texts = [path.read_text("utf-8") for path in CORPUS if path.name.startswith(corpus + "-")]

    assert texts
    assert abs(off_by(texts)) < 0.10


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


@pytest.mark.parametrize("word", ["ሰላም", "ᏣᎳᎩ", "བོད", "ⲁⲃⲅ", "ꀀꀁ", "𐎠𐎡"])
def test_a_script_that_no_vocabulary_holds_costs_more_than_a_token_for_each_character(word):
    assert estimate(word * 100) > 1.1 * len(word * 100)


def test_nothing_is_nothing_and_a_character_is_one():
    assert [estimate(text) for text in ("", "a", "\n", "字", "\U0001f600", "\ud800")] == [0, 1, 1, 1, 1, 1]


def test_no_character_is_free_so_no_budget_is_endless():
    assert all(
        estimate(chr(first) * 100_000) >= 100 for first in (0x20, 0x0D, 0x61, 0xE9, 0x434, 0x5B57, 0xFF0C, 0x2014)
    )


@given(TEXTS, st.integers(1, 120), st.integers(1, 40))
def test_fit_takes_much_of_the_budget_and_no_more(text, budget, times):
    text *= times
    size = fit(text, budget)

    assert size >= min(1, len(text))
    assert size <= 1 or estimate(text[:size]) <= budget
    assert size == len(text) or estimate(text[: size + 1]) > budget


def test_fit_of_nothing_or_for_nothing():
    assert [fit("", 10), fit("word", 0), fit("word", -3), fit("\U0001f600\U0001f600", 1)] == [0, 0, 0, 1]


# fmt: off
WORDS = {  # true counts of o200k
    "ⵜⵉⵏⵖⵎⵉⵙⵉⵏ": 26, " පරිශීලකයින්ට": 9, "HETATM": 3, " opentelemetry": 4, "-instrumentation": 3,
    "homeassistant": 2, " function": 1, "XMLHttpRequest": 3, "12345678": 3, " " * 20: 1, "----------------": 1,
}
# fmt: on


def test_no_text_costs_much_more_than_its_estimate():
    texts = [path.read_text("utf-8") for path in [*CORPUS, *FIXTURES]] + [make() for make in GENERATED.values()]
    ratios = sorted(true_count(text) / estimate(text) for text in texts)

    assert ratios[-1] < 1.08
    assert 0.93 < ratios[len(ratios) // 2] < 1
    assert ratios[0] > 0.7
    assert len(COUNTS) > len(texts)


@pytest.mark.parametrize("word", WORDS, ids=repr)
def test_unusual_words_cost_what_they_cost(word):
    assert WORDS[word] * 0.6 - 1 <= estimate(word) <= WORDS[word] * 1.4 + 2


def test_encoded_bytes_cost_more_than_words_of_the_same_length():
    data = random.Random(3).randbytes(3000)

    assert 2650 < estimate(base64.b64encode(data).decode()) < 2900  # o200k: 2,711
    assert 3350 < estimate(data.hex()) < 3700  # o200k: 3,430


@given(TEXTS)
def test_the_pieces_are_the_text_and_each_costs_at_least_one(text):
    pieces = piece_pattern().findall(text)

    assert "".join(pieces) == text
    assert estimate(text) >= len(pieces)
    assert all(0 <= place < tokens.SIZE for piece in pieces for place in tokens.places(piece))


_SIGNS = "aAbBzZ09 \t\n\r\x0b\x1c\0/'sStTlLrReEvVmMdD^.,()[]{}_-é中\xa0"


@pytest.mark.skipif(tokens.weigh_words is None, reason="the C accelerator is not built")
@given(st.one_of(TEXTS, st.text(_SIGNS, max_size=60), st.text("aA' \n/=", min_size=1020, max_size=1100)))
@example("a" * 1024 + " " + "b" * 1025)
@example("\n" * 1024)
@example("/" * 1025)
def test_the_accelerator_counts_what_python_counts(text):
    assert sum([tokens._total_of_block(block) for block in tokens._blocks(text)]) == (tokens._total(text))


@pytest.mark.skipif(tokens.weigh_words is None, reason="the C accelerator is not built")
@pytest.mark.parametrize("seed", range(4))
def test_the_accelerator_counts_long_texts_as_python_does(seed):
    """Pieces of all lengths lie across the borders of what the accelerator looks at, and replace each other."""
    dice = random.Random(seed)
    words = [dice.choice("aAbz ._'/\n\t0") * dice.choice((1, 2, 3, 15, 16, 17, 31, 63, 64, 65, 130)) for _ in range(40)]
    words += ["".join(dice.choices("abcdefgHIJ_ 0123'\n/=()", k=dice.randint(1, 20))) for _ in range(9000)]
    text = "".join(
        [f"{word}{dice.choice(('', ' ', '_'))}" for word in dice.choices(words, k=sized(short=9000, long=90_000))]
    )
    assert len(text) > 70_000

    assert tokens._total_of_block(text) == tokens._total(text)


@given(st.text(_SIGNS, max_size=60))
def test_blocks_are_the_text_and_no_piece_is_in_two(text):
    blocks = tokens._blocks(text)

    assert "".join(blocks) == text
    assert [piece for block in blocks for piece in piece_pattern().findall(block)] == piece_pattern().findall(text)


@given(st.lists(st.sampled_from("ab "), max_size=30), st.integers(0, 2000))
def test_the_estimate_of_a_text_does_not_depend_on_texts_before(letters, number):
    text = "".join(letters) + str(number)
    first = estimate(text)
    tokens._remembered.clear()

    assert estimate(text) == first


def test_a_long_text_costs_as_much_as_its_parts():
    part = "".join(CORPUS[0].read_text("utf-8")[:2000].splitlines(keepends=True))
    times = tokens._LONG_CHARS // len(part) + 2

    assert abs(estimate(part * times) - times * estimate(part)) <= 2 * times


def test_the_costs_of_few_pieces_are_remembered(monkeypatch):
    """One answer of short pieces fills the memory for all of them, and a long one leaves nothing there."""
    monkeypatch.setattr(tokens, "weigh_words", None)
    tokens._remembered.clear()
    short = " ".join(f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(15_000))
    assert len(short) < tokens._LONG_CHARS
    estimate(short)
    assert len(tokens._remembered) == tokens._MAX_REMEMBERED

    estimate(short)
    tokens._remembered.clear()
    estimate(short * 2)
    assert tokens._remembered == {}


@pytest.mark.parametrize("piece", ["a", "Z", "\u4e2d", " ", "=", "\u200b"])
def test_a_piece_of_any_length_is_judged_by_samples(piece, monkeypatch):
    """Only a few samples are weighed; the cost grows with the length."""
    weighed = []
    real = tokens.places
    monkeypatch.setattr(tokens, "places", lambda text: weighed.append(len(text)) or real(text))
    short, long = (tokens._cost(piece * size) for size in (10_000, 1_000_000))

    assert max(weighed) <= tokens._LONG_PIECE_CHARS
    assert len(weighed) <= 8
    assert 90 * short <= long <= 110 * short


@pytest.mark.parametrize("sign", ["\u2028", "\u00a0", "\u2014"])
def test_a_long_run_beside_another_character_costs_as_much_as_alone(sign):
    for run in (" " * 116, "-" * 100):
        assert estimate(sign + run) <= estimate(run) + estimate(sign) + 1
