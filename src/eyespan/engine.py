"""The engine: admit a name, open the file, detect its kind, read it.

It knows no dialect, works synchronously and keeps nothing between calls but names of files: for suggestions, and the
places that walks have come to. A read that may block on a file system runs in a thread that can be abandoned
(`guard.blocking`), every other read in the caller's thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from eyespan import plugins
from eyespan.caches import CacheTable
from eyespan.context import DEADLINE_SECONDS, CallContext, WouldBlock
from eyespan.errors import UNLOADED, Busy, NotFound, OutsideRoot, ReadError, TimedOut, TooLarge, short_of
from eyespan.escape import named_path
from eyespan.guard import Guard, paths
from eyespan.guard.listing import Listing
from eyespan.guard.roots import Root
from eyespan.guard.tree import Accepts, Choose, Found, Survey, Take
from eyespan.model import Document, ReadRequest
from eyespan.opened import Opened, Thread, kind_of
from eyespan.policy import Policy
from eyespan.signatures import compression
from eyespan.source import FullStatus, Source

if TYPE_CHECKING:
    from eyespan.guard import blocking
    from eyespan.guard.names import Names

T = TypeVar("T")

FILES_AT_ONCE = 1000
"""The files of a walk that are taken at a time: as many as a store names in one answer."""
NAMES_SECONDS = 0.02 * DEADLINE_SECONDS
"""The processor time that one call spends on looking for the file that a wrong path may mean."""


class Engine:
    """Reads the files of one workspace. A call without a context gets one with a deadline of `deadline_seconds`."""

    def __init__(self, guard: Guard, deadline_seconds: float | None = DEADLINE_SECONDS) -> None:
        self.guard = guard
        self._non_blocking = guard.non_blocking()
        self.deadline_seconds = deadline_seconds
        self._names: dict[str, Names] = {}
        self.places = CacheTable(1 << 19)
        """Paths that walks have come to, by what was walked and the number of files before."""

    def admit(self, path: str, lexical: bool = False) -> str:
        """Check a name against policy and roots, without access to the disk; return the path below its root.

        Raises: PolicyDenied, OutsideRoot, InvalidPath, SystemFailure.
        """
        return self.guard.admit(named_path(path), lexical=lexical)[1]

    def list(self, path: str, context: CallContext | None = None, *, hides_ignored: bool = False) -> Listing:
        """Return the names in a directory, without those that the policy denies or that ignore files leave out.

        Raises: ReadError; NotRegular(what="file") if it is not a directory.
        """
        # Always in a thread: no backend can promise that a directory answers.
        return self._wait_for_either(
            path, context, lambda guard, name: guard.list_beneath(name, hides_ignored=hides_ignored)
        )

    def walk(self, path: str, context: CallContext, after: str = "") -> Iterator[Found]:
        """Yield the files below a directory that follow `after`, relative to it, in the order of paths.

        What is no file has an error: a pipe, a directory that cannot be listed. Raises: ReadError.
        """
        from eyespan.guard import blocking
        from eyespan.guard.tree import OtherMount

        name = named_path(path)
        relay = blocking.Relay(context)
        remaining = self.guard.blocking(relay).files_beneath(name, after)
        try:
            while page := self._wait(name, context, lambda *_: list(islice(remaining, FILES_AT_ONCE)), relay):
                for below, error, identity in page:
                    if isinstance(error, OtherMount):
                        inner = after[len(below) + 1 :] if after.startswith(f"{below}/") else ""
                        for one, reason, version in self.walk(os.path.join(name, below), context, inner):
                            yield f"{below}/{one}", reason, version
                    else:
                        yield below, error, identity
        finally:
            with suppress(ValueError):  # a thread that was abandoned still runs it
                remaining.close()

    def describe(self, path: str, context: CallContext | None = None) -> FullStatus:
        """Return the status of a file or directory, links followed.

        Raises: ReadError.
        """
        return self._wait_for_either(path, context, Guard.describe_beneath)

    def explore(
        self, path: str, choose: Choose, take: Take, max_bytes: int, context: CallContext, accepts: Accepts = None
    ) -> Survey:
        """Return the files below a directory that `accepts` admits, and pass the first bytes of chosen ones to `take`.

        Raises: ReadError; NotRegular(what="file") if it is not a directory.
        """
        return self._wait_for_either(
            path, context, lambda guard, name: guard.explore_beneath(name, choose, take, max_bytes, accepts)
        )

    def names(self, context: CallContext) -> Sequence[tuple[Root, Names]]:
        """Return the names of the files below each root, as far as they are found within `NAMES_SECONDS`.

        Remote roots, and a root that is the whole machine, are left out. The policy has not judged these names.

        Raises: Cancelled, TimedOut.
        """
        from eyespan.guard.names import Names

        roots = [root for root in self.guard.local_roots if root.canonical != os.sep and not root.is_closed]
        names_by_root = [(root, self._names.setdefault(root.canonical, Names(root))) for root in roots]
        end = context.now() + NAMES_SECONDS
        for root, names in names_by_root:
            seconds = end - context.now()
            if seconds <= 0:
                break
            waiting = CallContext(4 * NAMES_SECONDS, may_block=context.may_block, ledger=context.ledger)
            try:
                self._wait(root.path, waiting, partial(_walk_names, names, seconds))
            except (TimedOut, Busy):
                pass  # The file system does not respond: what is known has to do.
            context.check()
        return names_by_root

    def open(self, request: ReadRequest, context: CallContext | None = None) -> Opened:
        """Open the file that a request names, for any number of reads of that one version. The caller closes it.

        Raises: ReadError.
        """
        call = context or CallContext(self.deadline_seconds)

        def open_by(path: str) -> Opened:
            return self._open(request if path == request.path else replace(request, path=path), call)

        return _by_either_name(request.path, open_by)

    def read(self, request: ReadRequest, context: CallContext | None = None) -> Document:
        """Read the requested part of a file: open, read, close.

        Raises: ReadError.
        """
        call = context or CallContext(self.deadline_seconds)
        try:
            with self.open(request, call) as opened:
                return opened.read()
        finally:
            if context is None:
                call.finish()

    def _open(self, request: ReadRequest, context: CallContext) -> Opened:
        """Open a file, in a thread if its file system may block.

        Raises: ReadError; WouldBlock if it may block and the context may not.
        """
        # A revision is spread over files that no backend can promise to open without blocking.
        if not request.revision:
            try:
                return open_with(self._non_blocking, request, context, is_lazy=not request.refuses)
            except WouldBlock:
                pass
        if not context.may_block:
            raise WouldBlock
        from eyespan.guard import blocking

        relay = blocking.Relay(context)
        key = self._mount(request.path)

        def work(inner: CallContext) -> Opened:
            opened = open_with(self.guard.blocking(inner), request, inner)
            return Opened(opened.source, request, opened.kind, opened.policy, context, Thread(context, relay, key))

        def close_late(opened: Opened | None) -> None:
            if opened is not None:
                opened.source.close()

        return blocking.within(context, work, key=key, path=request.path, late=close_late, relay=relay)

    def _wait_for_either(self, path: str, context: CallContext | None, work: Callable[[Guard, str], T]) -> T:
        """Do `work` in a thread, with the name that a path means (`_by_either_name`). Raises: what `_wait` raises."""
        call = context or CallContext(self.deadline_seconds)
        return _by_either_name(path, lambda name: self._wait(name, call, lambda guard, _: work(guard, name)))

    def _wait(
        self,
        path: str,
        context: CallContext,
        work: Callable[[Guard, CallContext], T],
        relay: blocking.Relay | None = None,
    ) -> T:
        """Do `work` in a thread; `relay` is the context that it uses already, if it continues earlier work.

        Raises: TimedOut, Stuck, Cancelled, and what `work` raises; WouldBlock if the context may not block.
        """
        if not context.may_block:
            raise WouldBlock
        from eyespan.guard import blocking

        guard = self.guard
        return blocking.within(
            context, lambda relay: work(guard.blocking(relay), relay), key=self._mount(path), path=path, relay=relay
        )

    def _mount(self, path: str) -> Hashable:
        """Return the key of the mount that a path leads to. Raises: ReadError for a path outside the workspace."""
        from eyespan.guard import mounts

        root, rest = paths.locate(path, self.guard.roots)
        if root.is_remote:
            return root.path
        return mounts.mount_of(os.path.join(root.canonical, rest))


def _walk_names(names: Names, seconds: float, guard: Guard, _: CallContext) -> None:
    names.walk(guard, seconds)


def _by_either_name(path: str, act: Callable[[str], T]) -> T:
    """Act on the file that a path names by escapes of its bytes; without such a file, on that of the text itself.

    Raises: what `act` raises.
    """
    name = named_path(path)
    try:
        return act(name)
    except NotFound as error:
        if name == path or type(error) is not NotFound:
            raise  # the file exists, but not what was asked of it
        try:
            return act(path)
        except (NotFound, OutsideRoot):
            raise error from None
    except UNLOADED as error:  # a module cannot be imported for lack of descriptors or memory
        if (short := short_of(error, path)) is None:
            raise
        raise short from None


def open_with(guard: Guard, request: ReadRequest, context: CallContext, *, is_lazy: bool = False) -> Opened:
    """Open what a request names in the calling thread: a file, what is nested in it, or a file of a git revision.

    `is_lazy`: its kind is detected when it is asked for.

    Raises: ReadError, WouldBlock.
    """
    source: Source
    if request.revision:
        with context.memory.loan():  # only what the source holds stays charged
            source = plugins.load(plugins.own("REVISIONS")[0])(guard, request, context)
    else:
        source = guard.open(request.path, lexical=request.lexical, follow=request.follows_final_link)
    try:
        if request.member or request.documents:
            source = _nested(source, request, guard.policy, context)
        limit = request.limits.max_file_bytes
        if limit is not None and source.size_bytes > limit:
            raise TooLarge(source.asked, size_bytes=source.size_bytes, limit_bytes=limit)
        kind = None if is_lazy else kind_of(source, request, context)
        return Opened(source, request, kind, guard.policy, context)
    except BaseException as error:
        if isinstance(error, ReadError):
            error.path, error.relative = source.asked, source.path
        source.close()
        raise


def _nested(source: Source, request: ReadRequest, policy: Policy, context: CallContext) -> Source:
    """Return the member of an archive or the decompressed bytes that a request names; else the source itself.

    Raises: ReadError, WouldBlock.
    """
    if not request.member and compression(source.first_bytes) is None:
        return source
    open_nested = plugins.load(plugins.own("NESTED")[0])
    with context.memory.loan():  # only what the sources hold stays charged
        nested: Source = open_nested(source, request, policy, context)
        return nested
