"""The estimate word by word against true counts of o200k, and its behaviour for any text."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyespan import tokens, tokens_by_word
from eyespan.tokens_by_word import PIECES, count
from tests.sizes import size
from tests.test_tokens import CORPUS, COUNTS, FIXTURES, TEXTS, true_count
from tests.token_counts.generated_texts import GENERATED

# fmt: off
WORDS = {  # true counts of o200k
    "ⵜⵉⵏⵖⵎⵉⵙⵉⵏ": 26, " පරිශීලකයින්ට": 9, "HETATM": 3, " opentelemetry": 4, "-instrumentation": 3,
    "homeassistant": 2, " function": 1, "XMLHttpRequest": 3, "12345678": 3, " " * 20: 1, "----------------": 1,
}
# fmt: on


def test_no_text_costs_much_more_than_its_estimate():
    texts = [path.read_text("utf-8") for path in [*CORPUS, *FIXTURES]] + [make() for make in GENERATED.values()]
    ratios = sorted(true_count(text) / count(text) for text in texts)

    assert ratios[-1] < 1.08
    assert 0.93 < ratios[len(ratios) // 2] < 1
    assert ratios[0] > 0.7
    assert len(COUNTS) > len(texts)


@pytest.mark.parametrize("word", WORDS, ids=repr)
def test_unusual_words_cost_what_they_cost(word):
    assert WORDS[word] * 0.6 - 1 <= count(word) <= WORDS[word] * 1.4 + 2


def test_encoded_bytes_cost_more_than_words_of_the_same_length():
    data = random.Random(3).randbytes(3000)

    assert 2650 < count(base64.b64encode(data).decode()) < 2900  # o200k: 2,711
    assert 3350 < count(data.hex()) < 3700  # o200k: 3,430


@given(TEXTS)
def test_the_pieces_are_the_text_and_each_costs_at_least_one(text):
    pieces = PIECES.findall(text)

    assert "".join(pieces) == text
    assert count(text) >= len(pieces)
    assert all(0 <= place < tokens_by_word.SIZE for piece in pieces for place in tokens_by_word.places(piece))


_SIGNS = "aAbBzZ09 \t\n\r\x0b\x1c\0/'sStTlLrReEvVmMdD^.,()[]{}_-é中\xa0"


@pytest.mark.skipif(tokens_by_word.weigh_words is None, reason="the C accelerator is not built")
@given(st.one_of(TEXTS, st.text(_SIGNS, max_size=60), st.text("aA' \n/=", min_size=1020, max_size=1100)))
@example("a" * 1024 + " " + "b" * 1025)
@example("\n" * 1024)
@example("/" * 1025)
def test_the_accelerator_counts_what_python_counts(text):
    assert sum([tokens_by_word._total_of_block(block) for block in tokens_by_word._blocks(text)]) == (
        tokens_by_word._total(text)
    )


@pytest.mark.skipif(tokens_by_word.weigh_words is None, reason="the C accelerator is not built")
@pytest.mark.parametrize("seed", range(4))
def test_the_accelerator_counts_long_texts_as_python_does(seed):
    """Pieces of all lengths lie across the borders of what the accelerator looks at, and replace each other."""
    dice = random.Random(seed)
    words = [dice.choice("aAbz ._'/\n\t0") * dice.choice((1, 2, 3, 15, 16, 17, 31, 63, 64, 65, 130)) for _ in range(40)]
    words += ["".join(dice.choices("abcdefgHIJ_ 0123'\n/=()", k=dice.randint(1, 20))) for _ in range(9000)]
    text = "".join(
        [f"{word}{dice.choice(('', ' ', '_'))}" for word in dice.choices(words, k=size(short=9000, long=90_000))]
    )
    assert len(text) > 70_000

    assert tokens_by_word._total_of_block(text) == tokens_by_word._total(text)


LINES_OF_TEXT = (
    "def count(text):\n",
    "    return len(text) + 1\n",
    "\n",
    "/ 12345\n",
    "\tété, naïve\n",
    "> a.py:1-2/2\n",
    "x = 1",
)


@pytest.mark.parametrize("has_accelerator", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_text_is_counted_until_it_is_sure_to_fit(seed, has_accelerator, monkeypatch):
    if not has_accelerator:
        monkeypatch.setattr(tokens_by_word, "weigh_words", None)
    dice = random.Random(seed)
    text = "".join(dice.choices(LINES_OF_TEXT, k=dice.choice((1, 900, 6000))))
    estimated, counted = tokens.estimate(text), count(text)

    for share in (0.3, 0.9, 0.99, 1.0, 1.1, 1.5, 1.9, 2.0, 2.5):
        max_tokens = int(counted * share)
        found = tokens_by_word.count_unless_sure(text, estimated, max_tokens, 2)
        assert found in (None, counted)
        assert found is not None or counted <= max_tokens
    assert tokens_by_word.count_unless_sure(text, estimated, 2 * estimated, 2) is None


def test_a_text_whose_estimate_is_above_the_limit_is_counted():
    text = "endless " * 3000

    assert count(text) < 4000 < tokens.estimate(text)
    assert tokens_by_word.count_unless_sure(text, tokens.estimate(text), 4000, 2) == count(text)


def test_little_of_a_text_far_below_the_limit_is_counted(monkeypatch):
    text = "a line of words\n" * 20_000
    sizes = []
    whole = tokens_by_word._total
    monkeypatch.setattr(tokens_by_word, "weigh_words", None)
    monkeypatch.setattr(tokens_by_word, "_total", lambda block: (sizes.append(len(block)), whole(block))[1])

    assert tokens_by_word.count_unless_sure(text, tokens.estimate(text), int(1.8 * tokens.estimate(text)), 2) is None
    assert 0 < sum(sizes) < len(text) / 3


@given(st.text(_SIGNS, max_size=60))
def test_blocks_are_the_text_and_no_piece_is_in_two(text):
    blocks = tokens_by_word._blocks(text)

    assert "".join(blocks) == text
    assert [piece for block in blocks for piece in PIECES.findall(block)] == PIECES.findall(text)


@given(st.lists(st.sampled_from("ab "), max_size=30), st.integers(0, 2000))
def test_the_estimate_of_a_text_does_not_depend_on_texts_before(letters, number):
    text = "".join(letters) + str(number)
    first = count(text)
    tokens_by_word._remembered.clear()

    assert count(text) == first


def test_a_long_text_costs_as_much_as_its_parts():
    part = "".join(CORPUS[0].read_text("utf-8")[:2000].splitlines(keepends=True))
    times = tokens_by_word._LONG_CHARS // len(part) + 2

    assert abs(count(part * times) - times * count(part)) <= 2 * times


def test_the_costs_of_few_pieces_are_remembered(monkeypatch):
    """One answer of short pieces fills the memory for all of them, and a long one leaves nothing there."""
    monkeypatch.setattr(tokens_by_word, "weigh_words", None)
    tokens_by_word._remembered.clear()
    short = " ".join(f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(15_000))
    assert len(short) < tokens_by_word._LONG_CHARS
    count(short)
    assert len(tokens_by_word._remembered) == tokens_by_word._MAX_REMEMBERED

    count(short)
    tokens_by_word._remembered.clear()
    count(short * 2)
    assert tokens_by_word._remembered == {}


@pytest.mark.parametrize("piece", ["a", "Z", "\u4e2d", " ", "=", "\u200b"])
def test_a_piece_of_any_length_is_judged_by_samples(piece, monkeypatch):
    """Only a few samples are weighed; the cost grows with the length."""
    weighed = []
    real = tokens_by_word.places
    monkeypatch.setattr(tokens_by_word, "places", lambda text: weighed.append(len(text)) or real(text))
    short, long = (tokens_by_word._cost(piece * size) for size in (10_000, 1_000_000))

    assert max(weighed) <= tokens_by_word._LONG_PIECE_CHARS
    assert len(weighed) <= 8
    assert 90 * short <= long <= 110 * short


@pytest.mark.parametrize("sign", ["\u2028", "\u00a0", "\u2014"])
def test_a_long_run_beside_another_character_costs_as_much_as_alone(sign):
    for run in (" " * 116, "-" * 100):
        assert count(sign + run) <= count(run) + count(sign) + 1
