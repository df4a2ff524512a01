"""Suggest names that may have been meant by a wrong one.

Names that look the same are equal here: composed and decomposed letters, blanks of other widths, curly quotes, dashes.
People cannot see the difference, and models cannot type it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_SUGGESTIONS = 3
MAX_NAME_CHARS = 255
"""Longer names are neither suggested nor compared."""
MAX_COMPARED = 2000
"""The number of names that are compared letter by letter."""
MAX_COMPARED_SQUARES = 1 << 22
"""The same for long names, as the sum of the squares of their lengths: at worst a third of a second."""
MIN_RATIO = 0.6
"""The share of equal letters from which two names are similar."""
MIN_CONTAINED_CHARS = 3
"""A shorter name is part of too many others."""
_LOOKS_LIKE = str.maketrans(
    {
        **dict.fromkeys(
            "\xa0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
        ),
        **dict.fromkeys("\u2018\u2019\u201b\u02bc\u2032\uff07", "'"),
        **dict.fromkeys("\u201c\u201d\u201f\u2033\uff02", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u200e\u200f", None),
    }
)


def looks(name: str) -> str:
    """Return one spelling for all names that look the same."""
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFC", name.translate(_LOOKS_LIKE)).replace("\u2026", "...")


def lookalikes(name: str, names: Iterable[str]) -> list[str]:
    """Return the other names that look exactly like this one."""
    shape = looks(name)
    return [other for other in names if other != name and looks(other) == shape]


def nearest(name: str, names: Iterable[str], most: int = MAX_SUGGESTIONS) -> list[str]:
    """Return up to `most` similar names: those in another case, then with few other letters, then longer or shorter."""
    wanted = looks(name).casefold()
    spellings: dict[str, list[str]] = {}
    for other in names:
        if len(other) <= MAX_NAME_CHARS:
            spellings.setdefault(looks(other).casefold(), []).append(other)
    found = list(spellings.get(wanted, ()))
    if len(found) < most and 0 < len(wanted) <= MAX_NAME_CHARS:
        others = [key for key in spellings if key != wanted]
        similar = dict.fromkeys([*_with_few_other_letters(wanted, others), *_longer_or_shorter(wanted, others)])
        for key in similar:
            found += spellings[key]
    return found[:most]


def _with_few_other_letters(wanted: str, names: list[str]) -> list[str]:
    """Return the names that share most letters with the wanted one, the most similar first."""
    from difflib import SequenceMatcher

    # Only names of similar length can be similar. Sorting the others out keeps it fast in large directories.
    alike = [name for name in names if abs(len(name) - len(wanted)) <= max(3, len(wanted) // 2)]
    matcher = SequenceMatcher()
    matcher.set_seq2(wanted)
    ratios: dict[str, float] = {}
    for name in alike[: min(MAX_COMPARED, MAX_COMPARED_SQUARES // len(wanted) ** 2)]:
        matcher.set_seq1(name)
        if matcher.real_quick_ratio() >= MIN_RATIO and matcher.quick_ratio() >= MIN_RATIO:
            ratios[name] = matcher.ratio()
    return sorted([name for name in ratios if ratios[name] >= MIN_RATIO], key=ratios.__getitem__, reverse=True)


def _longer_or_shorter(wanted: str, names: list[str]) -> list[str]:
    """Return the names that contain the wanted one or are contained in it, those of similar length first."""
    if len(wanted) < MIN_CONTAINED_CHARS:
        return []
    found = [name for name in names if wanted in name or (len(name) > MIN_CONTAINED_CHARS and name in wanted)]
    return sorted(found, key=lambda name: abs(len(name) - len(wanted)))
