"""Find the files that a text means although it is no selector: its interpretations, tried one after the other.

Loaded only after the exact readings failed. The literal name and the exact grammar have been tried before, so no rule
here replaces a file that exists under the name as written. Each reading is opened like any other path, so the roots and
the policy apply to it. The caller states the reading in its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

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
from eyespan.extras.pasted.interpretations import Interpretation, interpretations
from eyespan.extras.pasted.loose import loose_ranges
from eyespan.extras.pasted.path_spellings import path_spellings
from eyespan.selectors import Named, Ranges, SymbolPiece, Target, is_missing, readings, write_target

if TYPE_CHECKING:
    from eyespan.dialects.suggestions import Suggestions

T = TypeVar("T")

MAX_TRIED = 1000
"""The readings of one text that are opened."""
MAX_TRIED_REMOTELY = 16
"""The same if opening one is a request to a server."""
MAX_LOCATED = 6
"""The paths of one place that are compared with all files below the roots."""
MAX_NAMED = 6
"""The targets that a note names; it counts the others."""


def forgive(
    text: str,
    failure: ReadError,
    take: Callable[[Target], T],
    suggestions: Suggestions,
    target: Target | None = None,
) -> tuple[list[tuple[Target, T]], str]:
    """Return the targets that a text means with the results of `take`, and a note that states them.

    Its exact readings ended with `failure`. `target` is the only one of them if its parts were given separately.

    Raises: ReadError, if nothing can be read: the reason that helps most. If it says no more than that nothing was
    found, its `suggestions` are similar paths.
    """
    try:
        if not _may_forgive(failure):
            raise failure
        tries = _Tries(take, text, lambda path: suggestions.locate(path).certain, suggestions.is_remote)
        try:
            found, missing = _read_text(text, tries) if target is None else _read_target(target, tries)
        except (Cancelled, TimedOut, Stuck):
            raise
        except ReadError as error:
            raise _better_error(failure, error, text, target, suggestions) from None
        return found, _describe_reading([one for one, _ in found], missing)
    finally:
        del failure  # raised, it refers to this frame


def _read_text(text: str, tries: _Tries) -> tuple[list[tuple[Target, Any]], list[str]]:
    """Return the targets that a text means, and the places whose file was not found. Raises: ReadError."""
    every = [*interpretations(text), Interpretation((tuple(readings(text)),))]
    # Files that exist come first, in every interpretation, before any path is taken for a wrong one.
    for locates in (False, True):
        for interpretation in every:
            located, missing = _of_interpretation(interpretation, tries, locates=locates)
            if located:
                return located, missing
    raise tries.take_error()


def _read_target(target: Target, tries: _Tries) -> tuple[list[tuple[Target, Any]], list[str]]:
    """Return what is meant by a target whose parts were given separately: its path in other spellings.

    Raises: ReadError.
    """
    result = tries.first([replace(target, path=path) for path in path_spellings(target.path)])
    result = result or tries.located([target])
    if result is None:
        raise tries.take_error()
    return [result], []


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


def _better_error(
    exact: ReadError, other: ReadError, text: str, target: Target | None, suggestions: Suggestions
) -> ReadError:
    """Return the error to report: that of the exact reading, unless it found nothing and another one did."""
    asked = readings(text) if target is None else [target]
    if not _is_vague(exact):
        return _range_error(exact, asked)
    if not _is_vague(other):
        if not other.suggestions and other.path not in text:
            other.suggestions = [other.path]  # the file that it is about
        return other
    likely = [one.path for one in asked[1:] if isinstance(one.piece, (Ranges, SymbolPiece)) and not one.member]
    path = [*likely, asked[0].path][0]  # that without its selector
    exact.suggestions = (suggestions.with_same_end if isinstance(exact, OutsideRoot) else suggestions.near)(path)
    return exact


def _may_forgive(error: ReadError) -> bool:
    """Return True if a text may mean something else after this error of its exact reading.

    A file that exists under the name and cannot be read is what was meant.
    """
    return _is_vague(error) or isinstance(error, (PolicyDenied, NoSymbol, NoSuchPart, NoMember, NoRevision))


def _is_vague(error: ReadError) -> bool:
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


def _describe_reading(found: Sequence[Target], missing: Sequence[str]) -> str:
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
        is_remote: bool,
    ) -> None:
        self._take = take
        self._text = text
        self._locate = locate
        self._left = MAX_TRIED_REMOTELY if is_remote else MAX_TRIED
        self._is_starred = False
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
            if "*" in target.path:
                # A pattern is matched with all files, so only one that is likely is.
                if self._is_starred or "/" not in target.path:
                    continue
                self._is_starred = True
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
