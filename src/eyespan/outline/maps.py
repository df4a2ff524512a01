"""Map a directory: its files ranked by what they define and by how often those names are used in other files.

A quick scan of the first bytes of each file finds the names (`outline.quick`). A name counts by the number of other
files that use it, divided by the number of files that define it; tests, examples and vendored files count less.
Summaries are cached by the fingerprint of each file, and the ranking by that of the whole tree, so an unchanged tree is
only listed again. The same tree always has the same map.
"""

from __future__ import annotations

from _thread import allocate_lock
from array import array
from collections import Counter
from math import log2

from eyespan.hashes import blake2b
from eyespan.outline import language_of, quick
from eyespan.record import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from eyespan.guard.tree import Choose, Key, Survey, Take

MAX_SCANNED = 6_000
"""The files of one map whose names are looked for; all others are listed with their sizes."""
MAX_SUMMARIES = 20_000
MAX_WORDS = 500_000
MAX_MAPS = 8
TOP_NAMES = 12
"""The names that a row of the map holds at most."""
_MINOR = frozenset(
    (
        *(
            "test",
            "tests",
            "testing",
            "testdata",
            "spec",
            "specs",
            "fixtures",
            "examples",
            "example",
            "samples",
            "docs",
        ),
        *("doc", "vendor", "third_party", "external", "deps", "dist", "build", "out", "target", "generated", "bench"),
        *("benchmarks", "mocks", "__tests__", "__mocks__", "e2e", "site-packages", "locale", "po", "migrations"),
    )
)
_MINOR_SHARE = 0.25


@record
class Summary:
    """What a file defines and uses."""

    names: tuple[tuple[str, int, bool], ...]
    """Name, line, and True for one at the margin."""
    words: array[int]
    """The numbers of the words that it uses."""


@record
class MapFile:
    """One file of a map."""

    path: str
    size_bytes: int
    names: tuple[tuple[str, int], ...] = ()
    """Its names by rank, each with its line."""
    name_count: int = 0


@record
class TreeMap:
    """The files of a directory by rank, and the counts and sizes of its directories."""

    files: tuple[MapFile, ...]
    directories: tuple[tuple[str, int, int], ...]
    """The path of each directory with files below it, the number of these, and their bytes; "" is the whole."""
    is_complete: bool
    scanned: int
    """The number of files whose names were looked for."""
    is_partial: bool = False
    """The time for it ended before all names were found; the next map of the tree continues."""


class _OutOfTime(Exception):
    """Ends the scan of files."""


class _State:
    """The summaries of files, the number of each word in them, and the maps made of them."""

    def __init__(self) -> None:
        self.summaries: dict[Key, Summary] = {}
        self.words: dict[bytes, int] = {}
        self.maps: dict[bytes, TreeMap] = {}

    @property
    def is_full(self) -> bool:
        return len(self.words) > MAX_WORDS or len(self.summaries) > MAX_SUMMARIES


class MapCache:
    """Summaries of files and maps of trees. Safe for use by several threads: no thread waits for a file system."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._state = _State()

    def make(
        self,
        survey_with: Callable[[Choose, Take, int], Survey],
        accepts: Callable[[str], bool],
        is_late: Callable[[], bool] = lambda: False,
    ) -> TreeMap:
        """Return the map of the files that `accepts` admits.

        `survey_with(choose, take, max_bytes)` explores the directory (`guard.tree`). No more files are scanned once
        `is_late` returns True.
        """
        if self._state.is_full:
            self._state = _State()
        state = self._state
        chosen: dict[str, Key] = {}
        value = b""
        listed: Survey | None = None

        def choose(survey: Survey) -> Mapping[str, Sequence[str]]:
            nonlocal value, listed
            listed = survey
            value = _tree_fingerprint(survey, accepts)
            unread: dict[str, list[str]] = {}
            if value in state.maps:
                return unread
            chosen.update(_chosen(survey, accepts))
            for path, key in chosen.items():
                if key not in state.summaries:
                    directory, slash, name = path.rpartition("/")
                    unread.setdefault(directory + slash, []).append(name)
            return unread

        def take(path: str, data: bytes, key: Key) -> None:
            if is_late():
                raise _OutOfTime
            state.summaries[key] = self._summarised(path, data, state.words)
            chosen[path] = key

        is_partial = False
        try:
            survey = survey_with(choose, take, quick.MAX_BYTES)
        except _OutOfTime:
            assert listed is not None
            survey, is_partial = listed, True
        found = state.maps.get(value)
        if found is None:
            summaries = {path: state.summaries[key] for path, key in chosen.items() if key in state.summaries}
            found = _ranked(survey, summaries, state.words, accepts)
            if is_partial:
                return replace(found, is_partial=True)
            with self._lock:
                state.maps[value] = found
                while len(state.maps) > MAX_MAPS:
                    del state.maps[next(iter(state.maps))]
        return found

    def _summarised(self, path: str, data: bytes, words: dict[bytes, int]) -> Summary:
        if b"\0" in data[:1024]:
            return Summary((), array("I"))
        language = language_of(path, data[:200])
        names = tuple(quick.defined_names(data, language))
        used = quick.used_words(data)
        with self._lock:
            return Summary(names, array("I", [words.setdefault(word, len(words)) for word in used]))


def _tree_fingerprint(survey: Survey, accepts: Callable[[str], bool]) -> bytes:
    """Return a hash of the names, sizes and times of all files."""
    digest = blake2b()(digest_size=16)
    digest.update(survey.canonical.encode("utf-8", "surrogateescape"))
    for path, files in survey.directories.items():
        wanted = [(name, key) for name, _, key in files if accepts(path + name)]
        digest.update(repr((path, wanted)).encode("utf-8", "surrogateescape"))
    return digest.digest()


def _chosen(survey: Survey, accepts: Callable[[str], bool]) -> dict[str, Key]:
    """Return the files to scan: source before other text, main parts before minor ones, shallow before deep."""
    ranked: list[tuple[int, int, str, Key]] = []
    for directory, files in survey.directories.items():
        is_minor = _is_minor(directory)
        depth = directory.count("/")
        for name, size, key in files:
            path = directory + name
            language = language_of(name)
            if not language or language in quick.NO_NAMES or not size or not accepts(path):
                continue
            ranked.append((is_minor * 10 + (language == "markdown") * 5, depth, path, key))
    ranked.sort(key=lambda one: one[:3])
    return {path: key for _, _, path, key in ranked[:MAX_SCANNED]}


def _is_minor(directory: str) -> bool:
    return not _MINOR.isdisjoint(directory.lower().split("/"))


def _ranked(
    survey: Survey, found: Mapping[str, Summary], words: Mapping[bytes, int], accepts: Callable[[str], bool]
) -> TreeMap:
    """Return the map of a tree, from the summaries of its files."""
    users = _counts(found.values())
    definers: dict[str, int] = {}
    for summary in found.values():
        for name in {name for name, _, _ in summary.names}:
            definers[name] = definers.get(name, 0) + 1
    scored: list[tuple[float, MapFile]] = []
    rest: list[MapFile] = []
    directories: dict[str, list[int]] = {}
    for directory, files in survey.directories.items():
        for name, size, _ in files:
            path = directory + name
            if not accepts(path):
                continue
            _count_directories(directories, directory, size)
            own = found.get(path)
            if own is None or not own.names:
                rest.append(MapFile(path, size))
                continue
            score, names = _score(own, users, definers, words)
            share = _MINOR_SHARE if _is_minor(path) or _is_test(name) else 1.0
            scored.append((score * share, MapFile(path, size, names, len(own.names))))
    scored.sort(key=lambda one: (-one[0], one[1].path))
    rest.sort(key=lambda one: one.path)
    return TreeMap(
        files=(*[one for _, one in scored], *rest),
        directories=tuple([(path, directories[path][0], directories[path][1]) for path in sorted(directories)]),
        is_complete=survey.is_complete,
        scanned=len(found),
    )


def _is_test(name: str) -> bool:
    stem = name.lower().partition(".")[0]
    return stem.startswith("test_") or stem.endswith(("_test", "test", "_spec", "tests")) or ".test." in name.lower()


def _count_directories(directories: dict[str, list[int]], directory: str, size: int) -> None:
    """Add a file to its directory and to all above it."""
    names = directory.split("/")[:-1]
    for depth in range(len(names) + 1):
        path = "".join([f"{name}/" for name in names[:depth]])
        counted = directories.setdefault(path, [0, 0])
        counted[0] += 1
        counted[1] += size


def _counts(summaries: Iterable[Summary]) -> Mapping[int, int]:
    """Return the number of files that use each word."""
    users: Counter[int] = Counter()
    for summary in summaries:
        users.update(summary.words)
    return users


def _score(
    summary: Summary, users: Mapping[int, int], definers: Mapping[str, int], words: Mapping[bytes, int]
) -> tuple[float, tuple[tuple[str, int], ...]]:
    """Return the rank of a file, and its names by rank."""
    weights: dict[str, tuple[float, int]] = {}
    for name, line, is_outer in summary.names:
        if name in weights:
            continue
        last = name.replace(":", ".").rpartition(".")[2]
        used = users.get(words.get(last.encode("utf-8", "replace"), -1), 1) - 1
        # The name of a method is used by other classes too, so it counts less.
        weight = log2(1 + used) / definers[name] * (1 if is_outer else 0.3) + (0.2 if is_outer else 0.05)
        weights[name] = (weight, line)
    names = sorted(weights, key=lambda name: (-weights[name][0], weights[name][1]))[:TOP_NAMES]
    total = sum(sorted([weight for weight, _ in weights.values()], reverse=True)[:40])
    return total, tuple([(name, weights[name][1]) for name in names])


_shared: MapCache | None = None


def shared() -> MapCache:
    """Return the cache of this process."""
    global _shared
    if _shared is None:
        _shared = MapCache()
    return _shared
