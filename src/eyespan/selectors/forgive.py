"""Find the files that a text means although it is no selector: its interpretations, tried one after the other.

What texts of other programs may mean is the extra `pasted`; here its interpretations meet the files.

Loaded only after the exact readings failed. The literal name and the exact grammar have been tried before, so no rule
here replaces a file that exists under the name as written. Each reading is opened like any other path, so the roots and
the policy apply to it. The caller states the reading in its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from eyespan import plugins
from eyespan.errors import (
    Cancelled,
    InvalidRange,
    NoMember,
    NoRevision,
    NoSuchPart,
    NoSymbol,
    NotFound,
    OutsideRoot,
    PolicyDenied,
    ReadError,
    Stuck,
    TimedOut,
)
from eyespan.selectors import Named, Ranges, SymbolPiece, Target, is_missing, readings, write_target
from eyespan.selectors.loose import loose_ranges

T = TypeVar("T")

MAX_TRIED = 1000
"""The readings of one text that are opened."""
MAX_TRIED_REMOTELY = 16
"""The same if opening one is a request to a server."""
MAX_LOCATED = 6
"""The paths of one place that are compared with all files below the roots."""
MAX_NAMED = 6
"""The targets that a note names; it counts the others."""


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The places that a text may name."""

    places: tuple[tuple[Target, ...], ...]
    """For each place its readings, the likeliest first."""
    least: int = 1
    """The text has this meaning only if so many of its places exist."""


def interpretations(text: str) -> Iterator[Interpretation]:
    """Return the ways to understand a text, the likeliest first."""
    found: Iterator[Interpretation] = plugins.load(plugins.own("INTERPRETATIONS")[0])(text)
    return found


def spellings(target: Target) -> list[Target]:
    """Return the other targets that a target of an object may mean: its path in other spellings."""
    found: list[Target] = plugins.load(plugins.own("SPELLINGS")[0])(target)
    return found


def forgive(
    text: str, take: Callable[[Target], T], locate: Callable[[str], str], max_tried: int = MAX_TRIED
) -> tuple[list[tuple[Target, T]], list[str]]:
    """Return the targets that a text means with the results of `take`, and the places whose file was not found.

    `locate(path)` returns the only file that a wrong path fits, or "". It is called for a place that no reading finds.
    At most `max_tried` readings are taken.

    Raises: ReadError, if no place can be read: the reason that helps most.
    """
    tries = _Tries(take, text, locate, max_tried)
    every = [*interpretations(text), Interpretation((tuple(readings(text)),))]
    # Files that exist come first, in every interpretation, before any path is taken for a wrong one.
    for locates in (False, True):
        for interpretation in every:
            located, missing = _of_interpretation(interpretation, tries, locates=locates)
            if located:
                return located, missing
    raise tries.take_error()


def _of_interpretation(
    interpretation: Interpretation, tries: _Tries, *, locates: bool
) -> tuple[list[tuple[Target, Any]], list[str]]:
    """Return the targets of an interpretation and the places without a file; nothing, if too few places have one."""
    places = interpretation.places
    results: list[tuple[Target, Any] | None] = []
    for place in places:
        results.append((tries.located(place) if locates else None) or tries.first(place))
        if len(places) - results.count(None) < interpretation.least:
            return [], []
    missing: list[str] = []
    for at, place in enumerate(places):
        if results[at] is None:
            results[at] = tries.located(place)
        if results[at] is None:
            missing += _label(place)
    located = dict([result for result in results if result is not None])
    return list(located.items()), missing


def _label(place: Sequence[Target]) -> list[str]:
    """Return the name of a place that was not found, if it looks like the place of a file at all."""
    for target in place:
        if isinstance(target.piece, Ranges) and " " not in target.path and "." in target.path:
            return [write_target(target)]
    return []


def forgive_target(target: Target, take: Callable[[Target], T], locate: Callable[[str], str]) -> tuple[Target, T]:
    """Return the target that is meant by one whose parts were given separately, and the result of `take`.

    Raises: ReadError.
    """
    tries = _Tries(take, target.path, locate)
    result = tries.first([target, *spellings(target)]) or tries.located([target])
    if result is None:
        raise tries.take_error()
    return result


def likely_path(asked: Sequence[Target]) -> str:
    """Return the path of the likeliest of several readings whose files do not exist: that without its selector."""
    likely = [one.path for one in asked[1:] if isinstance(one.piece, (Ranges, SymbolPiece)) and not one.member]
    return [*likely, asked[0].path][0]


def better_error(exact: ReadError, other: ReadError, asked: Sequence[Target]) -> ReadError:
    """Return the error to report: that of the exact reading, unless it found nothing and another one did."""
    if is_vague(exact) and not is_vague(other):
        return other
    return _range_error(exact, asked)


def may_forgive(error: ReadError) -> bool:
    """Return True if a text may mean something else after this error of its exact reading.

    A file that exists under the name and cannot be read is what was meant.
    """
    return is_vague(error) or isinstance(error, (PolicyDenied, NoSymbol, NoSuchPart, NoMember, NoRevision))


def is_vague(error: ReadError) -> bool:
    """Return True for an error that gives no more than that nothing was found."""
    if isinstance(error, (NoMember, NoRevision)):
        return False
    return isinstance(error, OutsideRoot) or is_missing(error)


def _range_error(error: ReadError, asked: Sequence[Target]) -> ReadError:
    """Return the error of the range, if the symbol that the file lacks is a range gone wrong."""
    for target in asked:
        piece = target.piece
        if (
            isinstance(error, (NoSymbol, NoSuchPart))
            and isinstance(piece, Named)
            and piece.name[:1].isdigit()
            and loose_ranges(piece.name) is None
        ):
            return InvalidRange(target.path, text=piece.name)
    return error


def describe_reading(found: Sequence[Target], missing: Sequence[str]) -> str:
    """Return the note that states which targets a text was read as."""
    names = [write_target(target) for target in found]
    note = f"read as {_listed(names)}"
    return note if not missing else f"{note}; not found: {_listed(missing)}"


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(names[:MAX_NAMED])
    return listed if len(names) <= MAX_NAMED else f"{listed} and {len(names) - MAX_NAMED} more"


def _is_end(path: str, others: Sequence[str]) -> bool:
    """Return True if a path is the end of another: of one that is denied or outside, not a name for something else."""
    return any(other.endswith(f"/{path.lstrip('/')}") for other in others)


class _Tries:
    """Tries readings one after the other and keeps the error that helps most."""

    def __init__(
        self,
        take: Callable[[Target], Any],
        text: str,
        locate: Callable[[str], str],
        max_tried: int = MAX_TRIED_REMOTELY,
    ) -> None:
        self._take = take
        self._text = text
        self._locate = locate
        self._left = max_tried
        self._missing: set[tuple[str, str, str]] = set()
        self._denied: list[str] = []
        self._outside: list[str] = []
        self._rank = -1
        self._error: ReadError | None = None

    def take_error(self) -> ReadError:
        """Return the error and forget it: raised, it refers to the frames that hold this object."""
        error, self._error = self._error, None
        return error or NotFound("")

    def first(self, place: Sequence[Target]) -> tuple[Target, Any] | None:
        """Return the first reading that can be taken, with its result."""
        for target in place:
            key = (target.path, target.member, target.revision)
            if key in self._missing or _is_end(target.path, self._denied) or self._left <= 0:
                continue
            self._left -= 1
            try:
                return target, self._take(target)
            except (Cancelled, TimedOut, Stuck):
                raise
            except ReadError as error:
                if isinstance(error, PolicyDenied):
                    self._denied.append(target.path)
                elif isinstance(error, OutsideRoot):
                    self._outside.append(target.path)
                elif is_missing(error):
                    self._missing.add(key)
                self._note(error, target)
        return None

    def located(self, place: Sequence[Target]) -> tuple[Target, Any] | None:
        """Return the first reading whose wrong path fits one file, with the path of that file and its result."""
        files: dict[str, str] = {}
        for target in place:
            name = target.path.rpartition("/")[2]
            # Only what looks like the name of a file is looked for: the other readings are whole messages.
            is_missing = (target.path, target.member, target.revision) in self._missing
            is_name = "." in name.strip(".") or (target.piece is not None and name[:1].isupper() and name.isalpha())
            if not is_missing or target.revision or not is_name or ":" in name:
                continue
            is_part = " " in target.path and ("\n" in self._text or not self._text.startswith(target.path))
            if is_part or "://" in target.path or _is_end(target.path, self._outside):
                continue
            if target.path not in files:
                if len(files) >= MAX_LOCATED:
                    continue
                files[target.path] = self._locate(target.path)
            result = self.first([replace(target, path=files[target.path])]) if files[target.path] else None
            if result is not None:
                return result
        return None

    def _note(self, error: ReadError, target: Target) -> None:
        if isinstance(error, (NoMember, NoRevision)):
            # A name with an "@" is seldom a question about a revision; `HEAD:a.py` is one.
            rank = 1 if f"{target.revision}:" in self._text else -1
        elif isinstance(error, OutsideRoot) or is_missing(error):
            rank = 0
        else:
            rank = 2 if isinstance(error, PolicyDenied) else 3
        if rank > self._rank:
            self._rank, self._error = rank, error.with_traceback(None)
