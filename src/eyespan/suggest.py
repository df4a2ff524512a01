"""Suggest names that may have been meant by a wrong one.

Names that look the same are equal here: composed and decomposed letters, blanks of other widths, curly quotes, dashes.
People cannot see the difference, and models cannot type it.

`nearest` compares names of one list. `Tree.locate` compares a path with all files below a root: the file name alone, a
missing, wrong or additional directory, another case, other separators or another suffix, a few wrong letters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from unicodedata import normalize

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
    suggestions = list(spellings.get(wanted, ()))
    if len(suggestions) < most and 0 < len(wanted) <= MAX_NAME_CHARS:
        others = [key for key in spellings if key != wanted]
        similar = dict.fromkeys([*_with_few_other_letters(wanted, others), *_longer_or_shorter(wanted, others)])
        for key in similar:
            suggestions += spellings[key]
    return suggestions[:most]


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
    similar = [name for name in names if wanted in name or (len(name) > MIN_CONTAINED_CHARS and name in wanted)]
    return sorted(similar, key=lambda name: abs(len(name) - len(wanted)))


# --- paths -----------------------------------------------------------------------------------------------------------

MAX_LOCATED = 10
"""The paths that are suggested for one wrong path."""
MAX_SAME_NAME = 2000
"""The same for paths that are equally likely, because many directories hold a file of the same name."""
MAX_RANKED = 100
"""The paths that are compared letter by letter."""
MAX_NAMES_ALIKE = 2000
"""The file names of a tree that are compared letter by letter."""
# fmt: off
_ASIDE = frozenset((
    "test", "tests", "testing", "testdata", "__tests__", "spec", "specs", "fixtures", "mocks", "examples", "samples",
    "docs", "vendor", "third_party", "third-party", "node_modules", "build", "dist",
))
# fmt: on
"""Directories whose files are seldom meant by a name alone."""
MAX_PATH_NAMES = 64
"""A path of more names is not located."""


@dataclass(frozen=True, slots=True)
class Located:
    """The files that a wrong path may mean."""

    certain: str = ""
    """The only file that the path fits, in at most one directory less, more or other; "" if there is none."""
    others: tuple[str, ...] = ()
    """Similar paths, the most similar first."""


class Tree:
    """All files of a tree, to compare wrong paths with.

    `directories` has each directory, "" for the root, with the names of its files as `/a.py/b.py/`. `admits` returns
    True for paths that may be shown.
    """

    def __init__(self, directories: Sequence[tuple[str, str]], admits: Callable[[str], bool]) -> None:
        self._directories = directories
        self._admits = admits
        self._folded: list[str] = []
        self._letters: list[str] = []

    def locate(self, path: str) -> Located:
        """Return the files that a wrong path may mean."""
        names = [name for name in path.split("/") if name not in ("", ".", "..")]
        if not names or len(names) > MAX_PATH_NAMES or len(names[-1]) > MAX_NAME_CHARS:
            return Located()
        for find in (self._with_name, self._in_other_case):
            paths = [one for one in find(names[-1]) if self._admits(one)]
            if paths:
                return Located(_only_fitting(names, paths), tuple(_ranked(names, paths)))
        paths = [one for one in self._with_other_separators(names[-1]) if self._admits(one)]
        if paths:
            return Located("", tuple(_ranked(names, paths)))
        groups: dict[str, list[str]] = {}
        for path in self._with_other_letters(names[-1]):
            if self._admits(path):
                groups.setdefault(path.rpartition("/")[2], []).append(path)
        ranked = [path for group in groups.values() for path in _ranked(names, group)]
        return Located("", tuple(ranked[:MAX_LOCATED]))

    def _with_name(self, name: str) -> list[str]:
        wanted = f"/{name}/"
        paths = [_joined(directory, name) for directory, names in self._directories if wanted in names]
        return paths + [f"{directory}/" for directory, _ in self._directories if f"/{directory}/".endswith(wanted)]

    def _in_other_case(self, name: str) -> list[str]:
        folded = looks(name).casefold()
        wanted = f"/{folded}/"
        paths = []
        for (directory, names), names_folded in zip(self._directories, self._all_folded(), strict=True):
            if wanted in names_folded:
                paths += [_joined(directory, other) for other in _split(names) if looks(other).casefold() == folded]
            if f"/{directory.casefold()}/".endswith(wanted):
                paths.append(f"{directory}/")
        return paths

    def _with_other_separators(self, name: str) -> list[str]:
        """Return the files of the same name with other separators (`a-b.py`, `a_b.py`, `aB.py`) or another suffix."""
        wanted = _letters(name)
        stem = _letters(_stem(name))
        if len(stem) < MIN_CONTAINED_CHARS:
            return []
        if not self._letters:
            self._letters = [_letters(names) for names in self._all_folded()]
        same, stems = [], []
        for (directory, names), letters in zip(self._directories, self._letters, strict=True):
            if stem in letters:
                for other in _split(names):
                    if _letters(other) == wanted:
                        same.append(_joined(directory, other))
                    elif _letters(_stem(other)) == stem:
                        stems.append(_joined(directory, other))
        return same or stems

    def _with_other_letters(self, name: str) -> list[str]:
        """Return the files whose names differ in a few letters: the first or the last half of the letters is right."""
        folded = looks(name).casefold()
        half = len(folded) // 2
        if half < 2:
            return []
        start, end = f"/{folded[:half]}", f"{folded[-half:]}/"
        alike: dict[str, list[str]] = {}
        for (directory, names), names_folded in zip(self._directories, self._all_folded(), strict=True):
            if start in names_folded or end in names_folded:
                for other in _split(names):
                    other_folded = f"/{looks(other).casefold()}/"
                    if other_folded.startswith(start) or other_folded.endswith(end):
                        alike.setdefault(other, []).append(directory)
            if len(alike) > MAX_NAMES_ALIKE:
                break
        return [_joined(directory, other) for other in nearest(name, alike) for directory in alike[other]]

    def _all_folded(self) -> list[str]:
        if not self._folded:
            self._folded = [looks(names).casefold() for _, names in self._directories]
        return self._folded


def _only_fitting(names: Sequence[str], found: Sequence[str]) -> str:
    """Return the one path that a wrong path fits best, or "" if none or several fit.

    Fits, the best first: the wrong path is its end (directories at the start are missing), it is the end of the wrong
    path (directories at the start are too many), one directory is missing, additional or other.
    """
    wanted = [name.casefold() for name in names]
    missing, additional, other = [], [], []
    for path in found:
        parts = path.casefold().rstrip("/").split("/")
        if parts[-len(wanted) :] == wanted:
            missing.append(path)
        elif wanted[-len(parts) :] == parts:
            additional.append(path)
        elif _differs_in_one(parts[:-1], wanted[:-1]):
            other.append(path)
    if not missing and additional:
        longest = max(additional, key=len)
        # A file of the root has no directory in common with the path: it is certain only if there is no other.
        return longest if "/" in longest.rstrip("/") or (len(found) == 1 and len(names) == 2) else ""
    fitting = missing or other
    exact = [path for path in fitting if path.rstrip("/").endswith("/".join(names))]
    fitting = exact or fitting
    return fitting[0] if len(fitting) == 1 else ""


def _differs_in_one(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return True if two lists differ in one item that one of them lacks, or in one item that is another."""
    if abs(len(first) - len(second)) > 1:
        return False
    at = 0
    while at < min(len(first), len(second)) and first[at] == second[at]:
        at += 1
    if len(first) == len(second):
        return first[at + 1 :] == second[at + 1 :]
    shorter, longer = sorted((first, second), key=len)
    return list(shorter[at:]) == list(longer[at + 1 :])


def _ranked(names: Sequence[str], found: Sequence[str]) -> list[str]:
    """Return the paths that share most directories with a wrong path, in the same order; of those the most similar.

    Sources precede tests and the code of others, and short paths precede long ones. All paths that share as many
    directories as the first are returned, of the others a few.
    """
    wanted = [name.casefold() for name in names[:-1]]

    def rank(path: str) -> tuple[int, bool, int, int, str]:
        parts = path.casefold().rstrip("/").split("/")[:-1]
        is_aside = any(part.startswith(".") or (part in _ASIDE and part not in wanted) for part in parts)
        return -_common_count(parts, wanted), is_aside, abs(len(parts) - len(wanted)), len(path), path

    ranked = sorted(dict.fromkeys(found), key=rank)
    first, rest = ranked[:MAX_RANKED], ranked[MAX_RANKED:MAX_SAME_NAME]
    if wanted and len(first) > 1:
        from difflib import SequenceMatcher

        matcher = SequenceMatcher(b="/".join(wanted), autojunk=False)

        def likeness(path: str) -> float:
            matcher.set_seq1(path.casefold().rpartition("/")[0])
            return -matcher.ratio()

        first.sort(key=lambda path: (rank(path)[0], likeness(path)))
    best = rank(first[0])[0] if first else 0
    equal = sum([1 for path in (*first, *rest) if rank(path)[0] == best])
    return [*first, *rest][: max(MAX_LOCATED, equal)]


def _common_count(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    counts = [0] * (len(second) + 1)
    for item in first:
        previous = 0
        for at, other in enumerate(second, 1):
            previous, counts[at] = counts[at], previous + 1 if item == other else max(counts[at], counts[at - 1])
    return counts[-1]


def _letters(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _split(names: str) -> list[str]:
    return names.strip("/").split("/")


def _joined(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name
