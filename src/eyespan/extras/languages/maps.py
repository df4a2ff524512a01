"""Map a directory: its files ranked by what they define and by how often those names are used in other files.

A quick scan of the first bytes of each file finds the names (`quick`). A name counts by the number of other
files that use it, divided by the number of files that define it; tests, examples and vendored files count less.
Summaries are cached by the fingerprint of each file, and the ranking by that of the whole tree, so an unchanged tree is
only listed again. The same tree always has the same map.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from math import log2
from sys import getsizeof
from typing import TYPE_CHECKING
from zlib import crc32

from eyespan.caches import ENTRY_BYTES, CacheTable
from eyespan.extras.languages import quick
from eyespan.outline import language_of

if TYPE_CHECKING:
    from eyespan.guard.tree import Choose, Key, Survey, Take

MAX_SCANNED = 6_000
"""The files of one map whose names are looked for; all others are listed with their sizes."""
MAX_NAMES = 100_000
MAX_SUMMARY_BYTES = 10 << 20
"""The limits of the names and of the summaries of one map: no more files are scanned after them."""
NAME_BYTES = 120
"""The memory of a name while files are ranked."""
MAX_CACHED_BYTES = 3 << 20
"""The summaries that are cached."""
MAX_MAP_BYTES = 1 << 20
"""The memory of all maps that are cached."""
MAP_FILE_BYTES = 120
"""The memory of a file of a map beside its path and its names."""
MAX_DIRECTORIES = 40
TOP_NAMES = 12
"""The names that a row of the map holds at most."""
_MINOR = frozenset(
    (
        *("test", "tests", "testing", "testdata", "spec", "specs", "fixtures", "examples", "example", "samples"),
        *("docs", "doc", "vendor", "third_party", "external", "deps", "dist", "build", "out", "target", "generated"),
        *("bench", "benchmarks", "mocks", "__tests__", "__mocks__", "e2e", "site-packages", "locale", "po"),
        "migrations",
    )
)
_MINOR_SHARE = 0.25
_DEFINER_BITS = 16
_MAX_DEFINERS = (1 << _DEFINER_BITS) - 1


class FileSummary:
    """What a file defines and uses, in little memory: a map has thousands of them."""

    __slots__ = ("_names", "name_count", "words")

    def __init__(self, names: Iterable[tuple[str, int, bool]] = (), words: Iterable[bytes] = ()) -> None:
        rows = [f"{line} {is_outer:d} {name}" for name, line, is_outer in names]
        self.name_count = len(rows)
        self._names = "\n".join(rows).encode("utf-8", "surrogatepass")
        self.words = array("I", [crc32(word) for word in words])
        """The checksums of the words that it uses. Two words with the same one count as one word."""

    def names(self) -> Iterator[tuple[str, int, bool]]:
        """Yield each name that it defines with its line, and True for one at the margin."""
        for row in self._names.decode("utf-8", "surrogatepass").split("\n") if self._names else ():
            line, is_outer, name = row.split(" ", 2)
            yield name, int(line), is_outer == "1"

    @property
    def has_names(self) -> bool:
        """Return True if it defines anything."""
        return bool(self._names)

    @property
    def size_bytes(self) -> int:
        """Return the memory that it takes in a cache, with its key."""
        return 300 + len(self._names) + 4 * len(self.words)


@dataclass(frozen=True, slots=True)
class MapFile:
    """One file of a map."""

    path: str
    size_bytes: int
    names: tuple[tuple[str, int], ...] = ()
    """Its names by rank, each with its line."""
    name_count: int = 0

    @property
    def memory_bytes(self) -> int:
        """Return the memory that it takes."""
        return MAP_FILE_BYTES + getsizeof(self.path) + sum([NAME_BYTES + getsizeof(name) for name, _ in self.names])


@dataclass(frozen=True, slots=True)
class TreeMap:
    """The files of a directory by rank, and the counts and sizes of its directories."""

    files: tuple[MapFile, ...]
    largest: tuple[tuple[str, int, int], ...]
    """The largest directories, `MAX_DIRECTORIES` at most: path, number of the files below it, and their bytes."""
    size_bytes: int
    is_complete: bool
    scanned: int
    """The number of files whose names were looked for."""
    is_partial: bool = False
    """The time for it ended before all names were found; the next map of the tree continues."""


class _OutOfTime(Exception):
    """Ends the scan of files; the next map goes on."""


class _Enough(Exception):
    """Ends the scan of files: their names take as much memory as those of one map may."""


class MapCache:
    """Summaries of files and maps of trees. Safe for use by several threads."""

    def __init__(self) -> None:
        self._summaries = CacheTable(MAX_CACHED_BYTES + ENTRY_BYTES)
        """One entry: the summaries of all files."""
        self.maps = CacheTable(MAX_MAP_BYTES, 8)
        """The maps by the fingerprint of their trees."""

    def make(
        self,
        survey_with: Callable[[Choose, Take, int], Survey],
        is_late: Callable[[], bool] = lambda: False,
        pay: Callable[[int], bool] = lambda size_bytes: True,
    ) -> TreeMap:
        """Return the map of the files of a survey.

        `survey_with(choose, take, max_bytes)` explores the directory (`guard.tree`). No more files are scanned once
        `is_late` returns True, or once `pay(size_bytes)` returns False: the memory of a summary is not available.
        """
        summaries: dict[Key, FileSummary] = dict(self._summaries.get("") or {})
        chosen: dict[str, Key] = {}
        taken_bytes = taken_names = 0

        def count(summary: FileSummary) -> None:
            nonlocal taken_bytes, taken_names
            taken_bytes += summary.size_bytes
            taken_names += summary.name_count
            is_within = taken_bytes <= MAX_SUMMARY_BYTES and taken_names <= MAX_NAMES
            if not is_within or not pay(summary.size_bytes + NAME_BYTES * summary.name_count):
                raise _Enough

        value = b""
        listed: Survey | None = None

        def choose(survey: Survey) -> Mapping[str, Sequence[str]]:
            nonlocal value, listed
            listed = survey
            value = _tree_fingerprint(survey)
            unread: dict[str, list[str]] = {}
            if value in self.maps:
                return unread
            for path, key in _chosen(survey).items():
                if key in summaries:
                    count(summaries[key])
                else:
                    directory, slash, name = path.rpartition("/")
                    unread.setdefault(directory + slash, []).append(name)
                chosen[path] = key
            return unread

        def take(path: str, data: bytes, key: Key) -> None:
            if is_late():
                raise _OutOfTime
            summary = _summarised(path, data)
            count(summary)
            summaries[key] = summary
            chosen[path] = key

        is_partial = False
        try:
            survey = survey_with(choose, take, quick.MAX_BYTES)
        except (_OutOfTime, _Enough) as end:
            assert listed is not None
            survey, is_partial = listed, isinstance(end, _OutOfTime)
        found: TreeMap | None = self.maps.get(value)
        if found is None:
            found = _ranked(survey, {path: summaries[key] for path, key in chosen.items() if key in summaries})
            cached = _within_limit(summaries, chosen.values())
            self._summaries.put("", cached, sum([one.size_bytes for one in cached.values()]))
            if not is_partial:
                self.maps.put(value, found, sum([one.memory_bytes for one in found.files]))
        return replace(found, is_partial=True) if is_partial else found


def _within_limit(summaries: dict[Key, FileSummary], chosen: Iterable[Key]) -> dict[Key, FileSummary]:
    """Return the summaries to cache: all, or if that is too much memory those of the first files of this map."""
    if sum([one.size_bytes for one in summaries.values()]) <= MAX_CACHED_BYTES:
        return summaries
    cached: dict[Key, FileSummary] = {}
    left_bytes = MAX_CACHED_BYTES
    for key in dict.fromkeys(chosen):
        if (summary := summaries.get(key)) is not None:
            left_bytes -= summary.size_bytes
            if left_bytes < 0:
                break
            cached[key] = summary
    return cached


def _summarised(path: str, data: bytes) -> FileSummary:
    if b"\0" in data[:1024]:
        return FileSummary()
    return FileSummary(quick.defined_names(data, language_of(path, data[:200])), quick.used_words(data))


def _tree_fingerprint(survey: Survey) -> bytes:
    """Return a hash of the names, sizes and times of all files."""
    digest = blake2b(digest_size=16)
    digest.update(survey.canonical.encode("utf-8", "surrogateescape"))
    for path, files in survey.directories.items():
        digest.update(repr((path, files.fingerprint)).encode("utf-8", "surrogateescape"))
    return digest.digest()


def _chosen(survey: Survey) -> dict[str, Key]:
    """Return the files to scan: source before other text, main parts before minor ones, shallow before deep."""
    ranked: dict[tuple[int, int, str], list[tuple[str, Key]]] = {}
    for directory, files in survey.directories.items():
        is_minor = _is_minor(directory)
        depth = directory.count("/")
        for name, size, key in files:
            language = language_of(name)
            if not language or language in quick.NO_NAMES or not size:
                continue
            order = (is_minor * 10 + (language == "markdown") * 5, depth, directory)
            ranked.setdefault(order, []).append((name, key))
    chosen: dict[str, Key] = {}
    for order in sorted(ranked):
        for name, key in ranked[order][: MAX_SCANNED - len(chosen)]:
            chosen[order[2] + name] = key
    return chosen


def _is_minor(directory: str) -> bool:
    return not _MINOR.isdisjoint(directory.lower().split("/"))


def _ranked(survey: Survey, found: Mapping[str, FileSummary]) -> TreeMap:
    """Return the map of a tree, from the summaries of its files."""
    # Nothing refers to a title; a word of it is a name of the source only by chance.
    counts = _counts([one for path, one in found.items() if not _is_prose(path)])
    scored: list[tuple[float, MapFile]] = []
    rest: list[tuple[str, int]] = []
    directories: dict[str, list[int]] = {}
    for directory, files in survey.directories.items():
        count = total = 0
        for name, size, _ in files:
            path = directory + name
            count += 1
            total += size
            own = found.get(path)
            if own is None or not own.has_names:
                rest.append((path, size))
                continue
            score, names, name_count = _score(own, {} if _is_prose(path) else counts)
            share = _MINOR_SHARE if _is_minor(path) or _is_test(name) else 1.0
            scored.append((score * share, MapFile(path, size, names, name_count)))
        if count:
            _count_directories(directories, directory, count, total)
    scored.sort(key=lambda one: (-one[0], one[1].path))
    rest.sort()
    whole = directories.pop("", [0, 0])
    return TreeMap(
        files=(*[one for _, one in scored], *[MapFile(path, size) for path, size in rest]),
        largest=_largest(directories),
        size_bytes=whole[1],
        is_complete=survey.is_complete,
        scanned=len(found),
    )


def _is_prose(path: str) -> bool:
    return language_of(path) == "markdown"


def _is_test(name: str) -> bool:
    stem = name.lower().partition(".")[0]
    return stem.startswith("test_") or stem.endswith(("_test", "test", "_spec", "tests")) or ".test." in name.lower()


def _count_directories(directories: dict[str, list[int]], directory: str, count: int, size: int) -> None:
    """Add the files of a directory to it and to all above it."""
    names = directory.split("/")[:-1]
    for depth in range(len(names) + 1):
        path = "".join([f"{name}/" for name in names[:depth]])
        counted = directories.setdefault(path, [0, 0])
        counted[0] += count
        counted[1] += size


def _largest(directories: Mapping[str, Sequence[int]]) -> tuple[tuple[str, int, int], ...]:
    """Return the directories with the most files: those near the top first."""

    def order(path: str) -> tuple[bool, int, str]:
        depth = path.count("/")
        return depth > 1, -directories[path][0] // 4**depth, path

    chosen = sorted(directories, key=order)[:MAX_DIRECTORIES]
    return tuple([(path, directories[path][0], directories[path][1]) for path in chosen])


def _counts(summaries: Iterable[FileSummary]) -> Mapping[int, int]:
    """Return the number of files that use each defined name, and of those that define it, by checksum.

    Both are one number, the users in the upper bits: a map may have 100,000 names, and another table of them as much
    memory as all else.
    """
    counts: dict[int, int] = {}
    for summary in summaries:
        for name in {name for name, _, _ in summary.names()}:
            number = crc32(name.encode("utf-8", "replace"))
            counts[number] = counts.get(number, 0) + 1
            counts.setdefault(_word_of(name), 0)
    for summary in summaries:
        for word in counts.keys() & summary.words:
            counts[word] += 1 << _DEFINER_BITS
    return counts


def _word_of(name: str) -> int:
    """Return the checksum of the word by which other files use a name."""
    return crc32(name.replace(":", ".").rpartition(".")[2].encode("utf-8", "replace"))


def _score(summary: FileSummary, counts: Mapping[int, int]) -> tuple[float, tuple[tuple[str, int], ...], int]:
    """Return the rank of a file, its names by rank, and their number."""
    weights: dict[str, tuple[float, int]] = {}
    count = 0
    for name, line, is_outer in summary.names():
        count += 1
        if name in weights:
            continue
        used = max(counts.get(_word_of(name), 0) >> _DEFINER_BITS, 1) - 1
        # The name of a method is used by other classes too, so it counts less.
        defined = counts.get(crc32(name.encode("utf-8", "replace")), 1) & _MAX_DEFINERS
        weight = log2(1 + used) / defined * (1 if is_outer else 0.3) + (0.2 if is_outer else 0.05)
        weights[name] = (weight, line)
    names = sorted(weights, key=lambda name: (-weights[name][0], weights[name][1]))[:TOP_NAMES]
    total = sum(sorted([weight for weight, _ in weights.values()], reverse=True)[:40])
    return total, tuple([(name, weights[name][1]) for name in names]), count


@cache
def shared() -> MapCache:
    """Return the cache of this process."""
    return MapCache()
