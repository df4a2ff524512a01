"""The engine: admit a name, open the file, detect its kind, read it.

It knows no dialect, works synchronously and keeps nothing between calls but the names of files, for suggestions. A read
that may block on a file system runs in a thread that can be abandoned (`guard.blocking`), every other read in the
caller's thread.
"""

from __future__ import annotations

import os

from eyespan import kinds
from eyespan.context import DEADLINE_SECONDS, CallContext, WouldBlock
from eyespan.errors import UNLOADED, Binary, NotFound, OutsideRoot, ReadError, TooLarge, short_of
from eyespan.escape import named_path
from eyespan.lines.binary import is_binary
from eyespan.opened import Opened, Thread, ask_encoding
from eyespan.record import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from typing import TypeVar

    from eyespan._native._fast import BatchForm, BatchLimits, SmallBatch, SmallText, Style
    from eyespan.guard import Guard
    from eyespan.guard.listing import Listing
    from eyespan.guard.names import Names
    from eyespan.guard.remote.source import RemoteStatus
    from eyespan.guard.roots import Root
    from eyespan.guard.tree import Choose, Survey, Take
    from eyespan.kinds import Kind
    from eyespan.model import Document, Part, ReadRequest
    from eyespan.source import Source

    T = TypeVar("T")

KEYS_AT_ONCE = 1000
"""The keys of a bucket that are taken at a time: those of one request."""
NAMES_SECONDS = 0.02 * DEADLINE_SECONDS
"""The processor time that one call spends on looking for the file that a wrong path may mean."""


class Engine:
    """Reads the files of one workspace. A call without a context gets one with a deadline of `deadline_seconds`."""

    __slots__ = ("_names", "_non_blocking", "deadline_seconds", "guard")

    def __init__(self, guard: Guard, deadline_seconds: float | None = DEADLINE_SECONDS) -> None:
        self.guard = guard
        self._non_blocking = guard.non_blocking()
        self.deadline_seconds = deadline_seconds
        self._names: dict[str, Names] = {}

    def admit(self, path: str, lexical: bool = False) -> str:
        """Check a name against policy and roots, without access to the disk; return the path below its root.

        Raises: PolicyDenied, OutsideRoot, InvalidPath, SystemFailure.
        """
        return self.guard.admit(named_path(path), lexical=lexical)[1]

    def list(self, path: str, context: CallContext | None = None, *, after: str | None = None) -> Listing:
        """Return the names in a directory, without those that the policy denies; with `after`, a page of them.

        Raises: ReadError; NotRegular(what="file") if it is not a directory.
        """
        context = context or CallContext(self.deadline_seconds)

        def list_now(name: str) -> Listing:
            # Always in a thread: no backend can promise that a directory answers.
            with _Loading(name):
                return self._wait(name, context, lambda guard, _: guard.list_beneath(name, after))

        return _by_either_name(path, list_now)

    def keys(self, path: str, context: CallContext) -> Iterator[str]:
        """Yield the paths of all objects below a directory of a remote root, in order; none for a local one.

        The deadline starts again with each page. Raises: ReadError.
        """
        from itertools import islice

        found = self._wait(path, context, lambda guard, _: guard.keys_beneath(path))
        while found is not None:
            context.renew()
            page = self._wait(path, context, lambda *_: list(islice(found, KEYS_AT_ONCE)))
            yield from page
            if len(page) < KEYS_AT_ONCE:
                return

    def is_remote(self, path: str) -> bool:
        """Return True if a path leads to a remote root. Raises: ReadError for a path outside the workspace."""
        from eyespan.guard import paths

        return paths.locate(path, self.guard.roots)[0].is_remote

    def describe(self, path: str, context: CallContext | None = None) -> os.stat_result | RemoteStatus:
        """Return the status of a file or directory, links followed.

        Raises: ReadError.
        """
        context = context or CallContext(self.deadline_seconds)

        def describe_now(name: str) -> os.stat_result | RemoteStatus:
            with _Loading(name):
                return self._wait(name, context, lambda guard, _: guard.describe_beneath(name))

        return _by_either_name(path, describe_now)

    def explore(self, path: str, choose: Choose, take: Take, max_bytes: int, context: CallContext) -> Survey:
        """Return the files below a directory, and pass the first bytes of chosen ones to `take`.

        Raises: ReadError; NotRegular(what="file") if it is not a directory.
        """

        def explore_now(name: str) -> Survey:
            with _Loading(name):
                return self._wait(name, context, lambda guard, _: guard.explore_beneath(name, choose, take, max_bytes))

        return _by_either_name(path, explore_now)

    def names(self, context: CallContext) -> Sequence[tuple[Root, Names]]:
        """Return the names of the files below each root, as far as they are found within `NAMES_SECONDS`.

        Remote roots, and a root that is the whole machine, are left out. The policy has not judged these names.

        Raises: Cancelled, TimedOut.
        """
        from eyespan.errors import Busy, TimedOut
        from eyespan.guard.names import Names

        roots = [root for root in self.guard.local_roots if root.canonical != os.sep and not root.is_closed]
        found = [(root, self._names.setdefault(root.canonical, Names(root))) for root in roots]
        end = context.now() + NAMES_SECONDS
        for root, names in found:
            seconds = end - context.now()
            if seconds <= 0:
                break
            waiting = CallContext(4 * NAMES_SECONDS, may_block=context.may_block, ledger=context.ledger)
            try:
                with _Loading(root.path):
                    self._wait(root.path, waiting, names.walker(seconds))
            except (TimedOut, Busy):
                pass  # The file system does not respond: what is known has to do.
            context.check()
        return found

    def open(self, request: ReadRequest, context: CallContext | None = None) -> Opened:
        """Open the file that a request names, for any number of reads of that one version. The caller closes it.

        Raises: ReadError.
        """
        context = context or CallContext(self.deadline_seconds)
        if "\\" in request.path and _is_escaped(request.path):
            return _by_either_name(request.path, lambda name: self._open_loading(replace(request, path=name), context))
        return self._open_loading(request, context)

    def _open_loading(self, request: ReadRequest, context: CallContext) -> Opened:
        with _Loading(request.path):
            return self._open(request, context)

    def read(self, request: ReadRequest, context: CallContext | None = None) -> Document:
        """Read the requested part of a file: open, read, close.

        Raises: ReadError.
        """
        if context is None:
            context = CallContext(self.deadline_seconds)
            try:
                return self.read(request, context)
            finally:
                context.finish()
        if "\\" in request.path and _is_escaped(request.path):
            return _by_either_name(request.path, lambda name: self._read_one(replace(request, path=name), context))
        return self._read_one(request, context)

    def read_small(
        self,
        path: str,
        first: int,
        count: int,
        style: Style | None,
        max_bytes: int | None = None,
        wants_data: bool | int = False,
        has_one_link: bool = False,
    ) -> SmallText | None:
        """Read lines of a small text in one step: see `Guard.read_small`. None if `read` has to do it."""
        return self.guard.read_small(path, first, count, style, max_bytes, wants_data, has_one_link)

    def read_batch(
        self, paths: Sequence[str | None], limits: BatchLimits, form: BatchForm
    ) -> tuple[Sequence[str | None], SmallBatch] | None:
        """Read many small texts in one step: see `Guard.read_batch`. None if `open` has to be used for all."""
        return self.guard.read_batch(paths, limits, form)

    def _read_one(self, request: ReadRequest, context: CallContext) -> Document:
        # A revision is spread over files that no backend can promise to open without blocking.
        if not request.revision:
            try:
                opened = self._opened(self._non_blocking, request, context)
                try:
                    return opened.read_now(request.selection, context)
                finally:
                    opened.source.close()
            except WouldBlock:
                pass
            except UNLOADED as error:
                short = short_of(error, request.path)
                if short is None:
                    raise
                raise short from None
        with _Loading(request.path):
            return self._wait(request.path, context, lambda guard, inner: self._read_now(guard, request, inner))

    def stream(self, request: ReadRequest, context: CallContext) -> Iterator[Part]:
        """Yield the requested parts one after the other: see `Opened.stream`.

        Raises: ReadError; Binary for a file that is neither text nor a document of the request.
        """
        with _Loading(request.path), self.open(request, context) as opened:
            yield from opened.stream()

    def _read_now(self, guard: Guard, request: ReadRequest, context: CallContext) -> Document:
        """Open, read and close in the calling thread. Raises: ReadError, WouldBlock."""
        opened = self._opened(guard, request, context)
        try:
            return opened.read_now(request.selection, context)
        finally:
            opened.source.close()

    def _open(self, request: ReadRequest, context: CallContext) -> Opened:
        if not request.revision:
            try:
                return self._opened(self._non_blocking, request, context)
            except WouldBlock:
                pass
        if not context.may_block:
            raise WouldBlock
        from eyespan.guard import blocking

        relay = blocking.Relay(context)
        key = self._mount(request.path)

        def work(inner: CallContext) -> Opened:
            opened = self._opened(self.guard.blocking(inner), request, inner)
            found = Opened(opened.source, request, opened.kind, opened.policy, context, Thread(context, relay, key))
            found.beside = opened.beside
            return found

        def close_late(opened: Opened | None) -> None:
            if opened is not None:
                opened.source.close()

        try:
            return blocking.within(context, work, key=key, path=request.path, late=close_late, relay=relay)
        except ReadError as error:
            error.path = error.path or request.path
            raise

    def _opened(self, guard: Guard, request: ReadRequest, context: CallContext) -> Opened:
        """Open in the calling thread. Only what the sources hold stays charged. Raises: ReadError, WouldBlock."""
        before_bytes = context.refundable_bytes
        try:
            return self._opened_source(guard, request, context)
        finally:
            context.refund_since(before_bytes)

    def _opened_source(self, guard: Guard, request: ReadRequest, context: CallContext) -> Opened:
        if request.revision or request.member or request.documents:
            source = self._source(guard, request, context)
        else:
            source = guard.open(request.path, lexical=request.lexical, follow=request.follows_final_link)
        try:
            limit = request.limits.max_file_bytes
            if limit is not None and source.size_bytes > limit:
                raise TooLarge(source.asked, size_bytes=source.size_bytes, limit_bytes=limit)
            opened = Opened(source, request, _kind(source, request, context), guard.policy, context)
            if opened.kind.log_suffix and source.is_file:
                opened.beside = lambda suffix: guard.open(request.path + suffix, lexical=request.lexical, follow=False)
            return opened
        except BaseException as error:
            _close_failed(source, error)
            raise

    def _source(self, guard: Guard, request: ReadRequest, context: CallContext) -> Source:
        """Open the file that the request names, or what it names in that file or in a git revision.

        Raises: ReadError, WouldBlock.
        """
        source: Source
        if request.revision:
            from eyespan.sources.git import open_at

            source = open_at(guard, request, context)
        else:
            source = guard.open(request.path, lexical=request.lexical, follow=request.follows_final_link)
        documents = request.documents
        if not request.member and "archive" not in documents and "compressed" not in documents:
            return source
        try:
            if not request.member and kinds.compression(source.first_bytes) is None:
                return source
            from eyespan.sources import open_nested

            return open_nested(
                source,
                request.member,
                guard.policy,
                context,
                decode="compressed" in documents,
                decode_archives="archive" in documents,
            )
        except BaseException as error:
            _close_failed(source, error)
            raise

    def _wait(self, path: str, context: CallContext, work: Callable[[Guard, CallContext], T]) -> T:
        """Do `work` in a thread.

        Raises: TimedOut, Stuck, Cancelled, and what `work` raises; WouldBlock if the context may not block.
        """
        if not context.may_block:
            raise WouldBlock
        from eyespan.guard import blocking

        guard = self.guard
        try:
            return blocking.within(
                context, lambda relay: work(guard.blocking(relay), relay), key=self._mount(path), path=path
            )
        except ReadError as error:
            error.path = error.path or path
            raise

    def _mount(self, path: str) -> Hashable:
        """Return the key of the mount that a path leads to. Raises: ReadError for a path outside the workspace."""
        from eyespan.guard import mounts, paths

        root, rest = paths.locate(path, self.guard.roots)
        if root.is_remote:
            return root.path
        return mounts.mount_of(os.path.join(root.canonical, rest))


def _is_escaped(path: str) -> bool:
    return named_path(path) != path


def _by_either_name(path: str, act: Callable[[str], T]) -> T:
    """Act on the file that a path names by escapes of its bytes; without such a file, on that of the text itself.

    Raises: what `act` raises.
    """
    name = named_path(path)
    if name == path:
        return act(path)
    try:
        return act(name)
    except NotFound as error:
        if type(error) is not NotFound:
            raise  # the file exists, but not what was asked of it
        try:
            return act(path)
        except (NotFound, OutsideRoot):
            raise error from None


def _close_failed(source: Source, error: BaseException) -> None:
    """Close a source that cannot be used, and add its file to the error."""
    if isinstance(error, ReadError):
        error.path, error.relative = source.asked, source.path
    source.close()


class _Loading:
    """Turns the failure to import a module, for lack of descriptors or memory, into the error of a read."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UNLOADED):
            short = short_of(error, self._path)
            if short is not None:
                raise short from None


def _kind(source: Source, request: ReadRequest, context: CallContext) -> Kind:
    """Return the kind of a file for this request. Raises: Binary, if the request refuses it."""
    first_bytes = source.first_bytes
    if request.member and getattr(source, "directory", None) is not None:
        return kinds.by_name("archive")  # an office file is listed too, if a directory in it is named
    if request.documents or request.refuses:
        kind = kinds.detect(first_bytes, source.name, request.documents | request.refuses)
        if kind is not None:
            if kind.name in request.refuses:
                raise Binary(source.asked, kind=kind.name)
            if kind.name in request.documents:
                return kind
    is_whole = len(first_bytes) >= source.size_bytes
    ask = None if request.encoding != "auto" else lambda sample: ask_encoding(sample, context)
    if not is_binary(first_bytes, request.text_rule, request.encoding, whole=is_whole, ask=ask):
        return kinds.TEXT
    return kinds.by_name("data") if "data" in request.documents else kinds.BINARY
