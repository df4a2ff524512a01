"""The context of one call: its deadline, its cancellation, its progress and its memory.

Readers call `advance` once per block, so a read can be watched, cancelled and timed from another thread. Everything
that is built from the contents of files pays with `charge`, so the memory of a call has a limit, and so has that of all
calls of this process: each may take `FREE_BYTES`, together they share `SHARED_BYTES`, and one at a time has the turn,
with which it may take `MAX_BYTES`.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from _weakref import ref

from eyespan.errors import Cancelled, NoTurn, TimedOut, TooMuchMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DEADLINE_SECONDS = 10.0
"""The default time limit of one call."""

FREE_BYTES = 512 << 10
"""The memory that every call may take at any time."""
SHARED_BYTES = 8 << 20
"""The memory that calls may take beyond that, all of them together."""
MAX_BYTES = 36 << 20
"""The memory that a call may take when its turn has come. With eight calls at once that is 50 MB."""
RELEASE_BYTES = 1 << 20
"""After a call that took more, freed memory is returned to the system."""
RELEASE_SUM_BYTES = 8 << 20
"""So it is after several calls that took more together. Its pages have to be touched again: a window of 2,000 lines
takes twice as long after it."""
CALL_BYTES = 32 << 10
"""The memory that a call takes at least, for this sum."""
COLLECT_BYTES = 4 << 20
"""After a call that took more, garbage is collected: an error holds the frames it passed, and they hold buffers. Caches
drop what is not used."""
SCRATCH_BYTES = 2 << 20
"""After a call that took more, the accelerator returns its buffers. They stay otherwise: fresh pages take time."""
_TURN_SECONDS = 0.01
"""The time between two checks of the deadline while a call waits for its turn."""
_MUCH_MEMORY_SECONDS = 2.0
"""The time after a call that held much memory, in which its answer is sent and freed."""
_LATE_SECONDS = 5.0
"""A call that is so late loses its turn: it waits for a file system that never answers, or was never finished."""


def as_seconds(text: str) -> float:
    """Parse a deadline as people write it. Raises: ValueError, with a message that follows the option's name."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise ValueError(f"wants seconds, more than 0 and at most 3600, not {text!r}")
    return seconds


class CallContext:
    """Deadline, cancellation, progress and memory of one call.

    `deadline_seconds=None` sets no deadline. `on_progress(done_bytes, total_bytes)` is called once per block. Set
    `cancelled` from any thread to stop the call at its next block. `may_block=False` is for callers on an event loop:
    a read that may wait for a file system raises `WouldBlock` before it starts, and the caller repeats it in a thread.
    """

    cancelled = False
    has_valid_text = False
    """The dialect made the answer of valid text only, so that it needs no second look."""
    is_held = False
    """The answer is still to be sent: the call keeps its part of the memory until `release`."""
    _outer: CallContext | None = None
    """The context of the whole call, for a context of a part of it; it pays for the memory."""
    _charged_bytes = 0
    _most_charged_bytes = 0
    _source_bytes = 0
    """The part of the charged memory that sources hold until they are closed."""
    _shared_bytes = 0
    """The part of `SHARED_BYTES` that this call has."""
    _has_turn = False
    _turn_start = 0.0
    store_requests = 0
    """The requests to stores that this call made, without repetitions by a library."""
    store_bytes = 0
    """The bytes of files that stores sent for them."""

    def __init__(
        self,
        deadline_seconds: float | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        *,
        may_block: bool = True,
    ) -> None:
        self.may_block = may_block
        self.seconds = deadline_seconds
        self._end = None if deadline_seconds is None else time.monotonic() + deadline_seconds
        self._on_progress = on_progress

    def advance(self, done_bytes: int, total_bytes: int) -> None:
        """Check cancellation and deadline, then report progress. Raises: Cancelled, TimedOut."""
        if self.cancelled:
            raise Cancelled("")
        if self._end is not None and time.monotonic() > self._end:
            raise TimedOut("", seconds=self.seconds or 0)
        if self._on_progress is not None:
            self._on_progress(done_bytes, total_bytes)

    def count_store(self, requests: int, size_bytes: int) -> None:
        """Count requests to a store and the bytes received, for the whole call."""
        whole = self._whole()
        whole.store_requests += requests
        whole.store_bytes += size_bytes

    def check(self) -> None:
        """Check cancellation and deadline. Raises: Cancelled, TimedOut."""
        if self.cancelled:
            raise Cancelled("")
        if self._end is not None and time.monotonic() > self._end:
            raise TimedOut("", seconds=self.seconds or 0)

    def left(self) -> float | None:
        """Return the seconds left, or None if there is no deadline."""
        return None if self._end is None else self._end - time.monotonic()

    def renew(self) -> None:
        """Start the deadline again, because part of the answer was delivered."""
        if self.seconds is not None:
            self._end = time.monotonic() + self.seconds
        self._charged_bytes = self._source_bytes
        self._return_unused()

    # --- memory ---

    def charge(self, size_bytes: int) -> None:
        """Count memory for something built from the contents of files, before it is built.

        A call that needs more than is free waits here until other calls have returned enough, or its turn has come.
        That wait is no longer than the deadline of the other calls, so it does not count as blocking. The deadline of
        the call covers it.

        Raises: TooMuchMemory, Cancelled, TimedOut; NoTurn if the deadline passes while the call waits.
        """
        if self._outer is not None:
            self._outer.charge(size_bytes)
            return
        self._charged_bytes += size_bytes
        if self._charged_bytes > FREE_BYTES:
            if self._charged_bytes > MAX_BYTES:
                raise TooMuchMemory("", limit_bytes=MAX_BYTES)
            if not self._has_turn and not _take_memory(self, self._charged_bytes - FREE_BYTES):
                self._wait_for_memory()

    def refund(self, size_bytes: int) -> None:
        """Count memory that is free again before the call ends."""
        if self._outer is not None:
            self._outer.refund(size_bytes)
        else:
            self._most_charged_bytes = max(self._most_charged_bytes, self._charged_bytes)
            self._charged_bytes -= size_bytes
            self._return_unused()

    def charge_source(self, size_bytes: int) -> None:
        """Count memory that a source holds until it is closed; `refundable_bytes` leaves it out.

        Raises: TooMuchMemory, Cancelled, TimedOut.
        """
        self._whole()._source_bytes += size_bytes
        self.charge(size_bytes)

    def refund_source(self, size_bytes: int) -> None:
        """Count memory of a source that is closed."""
        self._whole()._source_bytes -= size_bytes
        self.refund(size_bytes)

    def _whole(self) -> CallContext:
        whole = self
        while whole._outer is not None:
            whole = whole._outer
        return whole

    @property
    def charged_bytes(self) -> int:
        """Return the memory that the call has been charged for and that is not free yet."""
        return self._whole()._charged_bytes

    @property
    def refundable_bytes(self) -> int:
        """Return the same without the memory of sources.

        What it grew by during a step is what the step can refund: a source refunds its own part when it is closed.
        """
        whole = self._whole()
        return whole._charged_bytes - whole._source_bytes

    @property
    def has_turn(self) -> bool:
        """Return True if other calls may wait for this one, so it must not wait for them."""
        return self._has_turn if self._outer is None else self._outer.has_turn

    def finish(self) -> None:
        """End the call: all that it was charged for is free, or part of its answer."""
        most_bytes = self._charged_bytes
        if most_bytes or self._most_charged_bytes:
            most_bytes = max(self._most_charged_bytes, most_bytes)
            self._most_charged_bytes = 0
            if not self.is_held:
                self._charged_bytes = 0
        self._return_unused()
        if _much_memory_end:
            with _lock:
                _report_much_memory()
        if most_bytes > COLLECT_BYTES:
            import gc

            from eyespan import caches

            global last_collection
            last_collection = time.monotonic()
            caches.shrink()
            gc.collect()
        if most_bytes > SCRATCH_BYTES:
            release_scratch()
        global _unreleased_bytes
        _unreleased_bytes += most_bytes + CALL_BYTES
        if most_bytes > RELEASE_BYTES or _unreleased_bytes > RELEASE_SUM_BYTES or _has_unreleased:
            _unreleased_bytes = 0
            _release_memory(will_free_more=most_bytes > RELEASE_BYTES)

    def hold(self, size_bytes: int) -> None:
        """Count only the answer, which is still to be sent; `release` follows. Another call may have the turn."""
        self._charged_bytes = size_bytes
        if self._has_turn and size_bytes > FREE_BYTES and _take_memory(self, size_bytes - FREE_BYTES):
            self._has_turn = False
            _end_turn(self)
        self._return_unused()

    def release(self) -> None:
        """Return the memory of a call that was held: its answer was sent."""
        self.is_held = False
        self._charged_bytes = 0
        self._return_unused()

    def _return_unused(self) -> None:
        """Return the turn, or the part of the shared memory, that this call does not need for what it holds."""
        if self._has_turn:
            if self._charged_bytes <= FREE_BYTES:
                self._has_turn = False
                _end_turn(self)
        elif self._shared_bytes:
            _return_memory(self, max(0, self._charged_bytes - FREE_BYTES))

    def _wait_for_memory(self) -> None:
        while True:
            self._turn_start = time.monotonic()
            if _take_turn(self):
                self._has_turn = True
                return
            if _take_memory(self, self._charged_bytes - FREE_BYTES):
                return
            if self.cancelled:
                raise Cancelled("")
            left = self.left()
            if left is not None and left <= 0:
                raise NoTurn("", seconds=self.seconds or 0)
            time.sleep(_TURN_SECONDS if left is None else min(_TURN_SECONDS, left))

    def _is_late(self) -> bool:
        """Return True if what this call holds goes to others: it ended without `finish`, or hangs in a system call."""
        end = self._turn_start + DEADLINE_SECONDS if self._end is None else self._end
        return time.monotonic() > end + _LATE_SECONDS


def finish_small() -> None:
    """End a call that had no context because it took next to no memory."""
    if _has_unreleased:
        _release_memory(will_free_more=False)


class WouldBlock(BaseException):
    """The read may wait for a file system, and `CallContext.may_block` is False. Control flow, never an answer."""


# --- the memory of all calls ------------------------------------------------------------------------------------------

_lock = allocate_lock()
_turn: ref[CallContext] | None = None
"""The context of the one call that may take `MAX_BYTES`. A context that is dropped ends its turn."""
_sharers: list[ref[CallContext]] = []
"""The contexts that have a part of `SHARED_BYTES`. A context that is dropped returns it."""
on_much_memory: Callable[[bool], None] | None = None
"""Called with True before a call holds more than `FREE_BYTES`, and with False some time after the last one that did.
A server sets it."""
_much_memory_end = 0.0
"""The end of that time; 0.0: False was reported."""
last_collection = float("-inf")
"""The time when a call ended that took more than `COLLECT_BYTES`."""
_unreleased_bytes = 0
"""The sum of what calls took since freed memory was returned to the system. Threads may lose a part of it."""
_has_unreleased = False
"""The answer of an earlier call was not yet free when memory was returned to the system."""


def _take_memory(context: CallContext, size_bytes: int) -> bool:
    """Set the part that a context has of the shared memory. Returns False if others have too much of it."""
    global _sharers
    if size_bytes <= context._shared_bytes:
        return True
    with _lock:
        others = [(one, holder) for one in _sharers if (holder := one()) is not None and holder is not context]
        others = [(one, holder) for one, holder in others if not holder._is_late()]
        if sum([holder._shared_bytes for _, holder in others]) + size_bytes > SHARED_BYTES:
            return False
        if not context._shared_bytes:
            context._turn_start = time.monotonic()
        context._shared_bytes = size_bytes
        _sharers = [one for one, _ in others] + [ref(context)]
        _report_much_memory()
        return True


def _return_memory(context: CallContext, size_bytes: int) -> None:
    """Reduce the part that a context has of the shared memory."""
    global _sharers
    with _lock:
        context._shared_bytes = min(context._shared_bytes, size_bytes)
        if not context._shared_bytes:
            _sharers = [one for one in _sharers if (holder := one()) is not None and holder is not context]
            _report_much_memory()


def _take_turn(context: CallContext) -> bool:
    """Give a context the turn, unless another has it. Returns False then."""
    global _turn
    with _lock:
        holder = None if _turn is None else _turn()
        if holder is not None and holder is not context and not holder._is_late():
            return False
        _turn = ref(context)
        _report_much_memory()
    _return_memory(context, 0)
    return True


def _end_turn(context: CallContext) -> None:
    global _turn
    with _lock:
        if _turn is not None and _turn() in (context, None):
            _turn = None
        _report_much_memory()


def _report_much_memory() -> None:
    """Report if calls hold more than `FREE_BYTES`, or did so a moment ago. Called with the lock held."""
    global _much_memory_end
    if on_much_memory is None:
        return
    now = time.monotonic()
    if _turn is not None or _sharers:
        _much_memory_end = now + _MUCH_MEMORY_SECONDS
        on_much_memory(True)
    elif now > _much_memory_end:
        _much_memory_end = 0.0
        on_much_memory(False)


def _forget_calls() -> None:
    """Start over in a forked process: the calls of the parent are not its own."""
    global _turn, _sharers, _lock
    _turn, _sharers, _lock = None, [], allocate_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_calls)


def release_scratch() -> None:
    """Return the buffers of the accelerator to the system; the next call that needs some takes new ones."""
    from eyespan import _native

    if _native.release_scratch is not None:
        _native.release_scratch()


def _release_memory(will_free_more: bool) -> None:
    """Return freed memory to the system, where the C library can: glibc keeps what it got for large answers."""
    global _has_unreleased
    _has_unreleased = will_free_more
    try:
        from ctypes import CDLL, c_size_t

        CDLL(None).malloc_trim(c_size_t(0))
    except (ImportError, OSError, AttributeError, TypeError):
        pass  # another C library, or no descriptor left to load the module
