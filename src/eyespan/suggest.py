"""Which name was meant? Names that look like a wrong one, nearest first.

Pure. Two names that a person cannot tell apart (composed and decomposed letters, blanks of other widths, curly quotes,
dashes) are the same name here, whatever their bytes; a model cannot type the difference either.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NEAR = 3
_ALIKE = str.maketrans(
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
    """One spelling for all names that look the same."""
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFC", name.translate(_ALIKE)).replace("\u2026", "...")


def lookalikes(name: str, names: Iterable[str]) -> list[str]:
    """Those of the names that look exactly like this one."""
    shape = looks(name)
    return [other for other in names if other != name and looks(other) == shape]


def nearest(name: str, names: Iterable[str], most: int = MAX_NEAR) -> list[str]:
    """Those of the names that are most like this one: other case first, then few letters apart."""
    wanted = looks(name).casefold()
    folded: dict[str, list[str]] = {}
    for other in names:
        if len(other) <= 255:
            folded.setdefault(looks(other).casefold(), []).append(other)
    found = list(folded.get(wanted, []))
    if len(found) < most and len(wanted) <= 255:
        from difflib import get_close_matches

        # Only names of similar length can be near; that keeps the comparison cheap in large folders.
        alike = [key for key in folded if abs(len(key) - len(wanted)) <= max(3, len(wanted) // 2) and key != wanted]
        for key in get_close_matches(wanted, alike[:2000], n=most, cutoff=0.6):
            found += folded[key]
    return found[:most]
