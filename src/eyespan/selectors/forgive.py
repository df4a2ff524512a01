"""Find the files that a text means although it is no selector: the readings of `pasted`, tried one after the other.

Loaded only after the exact readings failed. The literal name and the exact grammar have been tried before, so no rule
here replaces a file that exists under the name as written. Each reading is opened like any other path, so the roots and
the policy apply to it. The caller states the reading in its answer.
"""

from __future__ import annotations

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
from eyespan.selectors import Named, Ranges, is_missing, write_target
from eyespan.selectors.loose import loose_ranges
from eyespan.selectors.pasted import interpretations, spellings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    from eyespan.selectors import Target

    T = TypeVar("T")

MAX_TRIED = 1000
"""The readings of one text that are opened."""
MAX_NAMED = 6
"""The targets that a note names; it counts the others."""


def forgive(text: str, take: Callable[[Target], T]) -> tuple[list[tuple[Target, T]], list[str]]:
    """Return the targets that a text means with the results of `take`, and the places whose file was not found.

    Raises: ReadError, if no place can be read: the reason that helps most.
    """
    tries = _Tries(take, text)
    for interpretation in interpretations(text):
        found: dict[Target, T] = {}
        missing: list[str] = []
        count_missing = 0
        for place in interpretation.places:
            result = tries.first(place)
            if result is not None:
                found.setdefault(*result)
            else:
                missing += _label(place)
                count_missing += 1
                if len(interpretation.places) - count_missing < interpretation.least:
                    break
        else:
            return list(found.items()), missing
    raise tries.error or NotFound("")


def _label(place: Sequence[Target]) -> list[str]:
    """Return the name of a place that was not found, if it looks like the place of a file at all."""
    for target in place:
        if isinstance(target.piece, Ranges) and " " not in target.path and "." in target.path:
            return [write_target(target)]
    return []


def forgive_target(target: Target, take: Callable[[Target], T]) -> tuple[Target, T]:
    """Return the target that is meant by one whose parts were given separately, and the result of `take`.

    Raises: ReadError.
    """
    tries = _Tries(take)
    result = tries.first(spellings(target))
    if result is None:
        raise tries.error or NotFound("")
    return result


def better_error(exact: ReadError, other: ReadError, readings: Sequence[Target]) -> ReadError:
    """Return the error to report: that of the exact reading, unless it found nothing and another one did."""
    if is_vague(exact) and not is_vague(other):
        return other
    return _range_error(exact, readings)


def is_vague(error: ReadError) -> bool:
    """Return True for an error that gives no more than that nothing was found."""
    if isinstance(error, (NoMember, NoRevision)):
        return False
    return isinstance(error, OutsideRoot) or is_missing(error)


def _range_error(error: ReadError, readings: Sequence[Target]) -> ReadError:
    """Return the error of the range, if the symbol that the file lacks is a range gone wrong."""
    for target in readings:
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


class _Tries:
    """Tries readings one after the other and keeps the error that helps most."""

    def __init__(self, take: Callable[[Target], Any], text: str = "") -> None:
        self._take = take
        self._text = text
        self._left = MAX_TRIED
        self._missing: set[tuple[str, str, str]] = set()
        self._denied: list[str] = []
        self._rank = -1
        self.error: ReadError | None = None

    def first(self, readings: Sequence[Target]) -> tuple[Target, Any] | None:
        """Return the first reading that can be taken, with its result."""
        for target in readings:
            key = (target.path, target.member, target.revision)
            # The end of a denied path is not another name for it.
            is_denied = any(denied.endswith(f"/{target.path.lstrip('/')}") for denied in self._denied)
            if key in self._missing or is_denied or self._left <= 0:
                continue
            self._left -= 1
            try:
                return target, self._take(target)
            except (Cancelled, TimedOut, Stuck):
                raise
            except ReadError as error:
                if isinstance(error, PolicyDenied):
                    self._denied.append(target.path)
                elif is_missing(error):
                    self._missing.add(key)
                self._note(error, target)
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
            self._rank, self.error = rank, error
