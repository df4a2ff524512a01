"""Map a directory: its files ranked by what they define and by how often those names are used in other files.

A quick scan of the first bytes of each file finds the names (`quick`). A name counts by the number of other
files that use it, divided by the number of files that define it; tests, examples and vendored files count less.
Summaries are cached by the fingerprint of each file, and the ranking by that of the whole tree, so an unchanged tree is
only listed again. The same tree always has the same map.
"""

from __future__ import annotations

from _thread import allocate_lock
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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

"""Admits the paths of a map; None admits all."""

MAX_SCANNED = 6_000
"""The files of one map whose names are looked for; all others are listed with their sizes."""
MAX_NAMES = 100_000
MAX_SUMMARY_BYTES = 10 << 20
"""The limits of the names and of the summaries of one map: no more files are scanned after them."""
NAME_BYTES = 120
"""The memory of a name while files are ranked."""
MAX_CACHED_BYTES = 3 << 20
"""The summaries that are cached."""
MAX_MAPS = 8
MAX_MAP_BYTES = 1 << 20
"""The memory of all maps that are cached."""
MAX_DIRECTORIES = 40
MAX_MAPPED = 200_000
"""The files of all maps that are cached."""
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
_BLOCK_FILES = 256


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


class MapFiles:
    """The files of a map by rank: those with names, then the others, as text that takes little memory."""

    __slots__ = ("_named", "_paths", "_sizes")

    def __init__(self, named: Iterable[MapFile], others: Iterable[tuple[str, int]]) -> None:
        self._named = [_packed(file) for file in named]
        paths: list[str] = []
        self._paths: list[str] = []
        self._sizes = array("Q")
        for path, size_bytes in others:
            paths.append(path)
            self._sizes.append(size_bytes)
            if len(paths) == _BLOCK_FILES:
                self._paths.append("\0".join(paths))
                paths = []
        if paths:
            self._paths.append("\0".join(paths))

    @property
    def size_bytes(self) -> int:
        """Return the memory that they take."""
        return sum(map(getsizeof, self._named)) + sum(map(getsizeof, self._paths)) + 8 * len(self)

    def __len__(self) -> int:
        return len(self._named) + len(self._sizes)

    def __iter__(self) -> Iterator[MapFile]:
        return iter(self.rows(0, len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapFiles) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def rows(self, start: int, end: int) -> list[MapFile]:
        """Return the files with these indexes, the end exclusive."""
        found = [_unpacked(row) for row in self._named[start:end]]
        at, stop = max(0, start - len(self._named)), min(end - len(self._named), len(self._sizes))
        while at < stop:
            block = at // _BLOCK_FILES
            first = block * _BLOCK_FILES
            paths = self._paths[block].split("\0")[at - first : stop - first]
            found += [MapFile(path, self._sizes[at + index]) for index, path in enumerate(paths)]
            at += len(paths)
        return found


def _packed(file: MapFile) -> bytes:
    rows = [f"{file.size_bytes} {file.name_count} {len(file.names)}"]
    rows += [f"{line} {name}" for name, line in file.names]
    return "\n".join([*rows, file.path]).encode("utf-8", "surrogatepass")


def _unpacked(row: bytes) -> MapFile:
    header, _, rest = row.decode("utf-8", "surrogatepass").partition("\n")
    size_bytes, name_count, shown = map(int, header.split())
    *lines, path = rest.split("\n", shown)
    names = [line.partition(" ") for line in lines]
    return MapFile(path, size_bytes, tuple([(name, int(number)) for number, _, name in names]), name_count)


@dataclass(frozen=True, slots=True)
class TreeMap:
    """The files of a directory by rank, and the counts and sizes of its directories."""

    files: MapFiles
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


class _State:
    """The summaries of files, and the maps made of them."""

    def __init__(self) -> None:
        self.summaries: dict[Key, FileSummary] = {}
        self.maps: dict[bytes, TreeMap] = {}

    @property
    def size_bytes(self) -> int:
        """Return the memory that they take."""
        summaries = sum([summary.size_bytes for summary in list(self.summaries.values())])
        return summaries + sum([found.files.size_bytes for found in list(self.maps.values())])

    def trim(self, summaries: Mapping[Key, FileSummary], chosen: Iterable[Key]) -> None:
        """Cache the summaries of this map, those of its first files if all take too much memory, and no others then."""
        if sum([one.size_bytes for one in list(summaries.values())]) <= MAX_CACHED_BYTES:
            return
        found: dict[Key, FileSummary] = {}
        left_bytes = MAX_CACHED_BYTES
        for key in chosen:
            summary = summaries.get(key)
            if summary is not None and key not in found:
                left_bytes -= summary.size_bytes
                if left_bytes < 0:
                    break
                found[key] = summary
        self.summaries = found

    def keep(self, value: bytes, found: TreeMap) -> None:
        """Cache a map, and drop the oldest ones beyond the limits."""
        self.maps[value] = found
        while self.maps and (
            len(self.maps) > MAX_MAPS
            or sum([len(one.files) for one in self.maps.values()]) > MAX_MAPPED
            or sum([one.files.size_bytes for one in self.maps.values()]) > MAX_MAP_BYTES
        ):
            del self.maps[next(iter(self.maps))]


class MapCache:
    """Summaries of files and maps of trees. Safe for use by several threads: no thread waits for a file system."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._cache = CacheTable(MAX_CACHED_BYTES + MAX_MAP_BYTES + ENTRY_BYTES)

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
        state: _State = self._cache.get("") or _State()
        summaries = state.summaries
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
            if value in state.maps:
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
        found = state.maps.get(value)
        if found is None:
            own = {path: summaries[key] for path, key in chosen.items() if key in summaries}
            found = _ranked(survey, own)
            with self._lock:
                state.trim(summaries, chosen.values())
                if not is_partial:
                    state.keep(value, found)
            self._cache.put("", state, state.size_bytes)
        return replace(found, is_partial=True) if is_partial else found


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
        files=MapFiles([one for _, one in scored], rest),
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


_shared: MapCache | None = None


def shared() -> MapCache:
    """Return the cache of this process."""
    global _shared
    if _shared is None:
        _shared = MapCache()
    return _shared
