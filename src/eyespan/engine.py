"""The walk through the rooms: admit, open, detect, read.

The engine says what is there; it knows no dialect. It is synchronous and keeps nothing between reads. What may have to
wait for a file system is done in a thread that can be left behind (`guard.patience`), all else where it is asked for.
"""

from __future__ import annotations

import os
import sys
from errno import ENOMEM

from eyespan import kinds
from eyespan.context import DEADLINE_SECONDS, CallContext, WouldBlock
from eyespan.errors import UNLOADED, Binary, ReadError, SystemFailure, TooLarge, short_of
from eyespan.model import Document, Facts
from eyespan.readers import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
    from typing import Any, TypeVar

    from eyespan.guard import Guard
    from eyespan.guard.listing import Listing
    from eyespan.kinds import Kind
    from eyespan.model import Part, ReadRequest
    from eyespan.source import Source

    T = TypeVar("T")


class Engine:
    """Reads files of one workspace. Whoever brings no context gets one of `deadline_seconds`."""

    __slots__ = ("_non_blocking", "deadline_seconds", "guard")

    def __init__(self, guard: Guard, deadline_seconds: float | None = DEADLINE_SECONDS) -> None:
        self.guard = guard
        self._non_blocking = guard.non_blocking()
        self.deadline_seconds = deadline_seconds

    def admit(self, path: str, lexical: bool = False) -> str:
        """Judges a name by policy and roots, without looking at the disk; what it is called below its root.

        Raises: PolicyDenied, OutsideRoot, InvalidPath, SystemFailure.
        """
        return self.guard.admit(path, lexical=lexical)[1]

    def list(self, path: str, context: CallContext | None = None) -> Listing:
        """The names in a folder, as far as the rules let them be known.

        Raises: ReadError; NotRegular(what="file") if it is no folder.
        """
        return self._in_time(path, context, lambda guard, _: guard.list_beneath(path))

    def read(self, request: ReadRequest, context: CallContext | None = None) -> Document:
        """What the request selects of the file it names.

        Raises: ReadError.
        """
        return self._in_time(request.path, context, lambda guard, context: self._read_now(guard, request, context))

    def look(self, request: ReadRequest, context: CallContext | None = None) -> Document:
        """What the file is, without its contents: a document of no parts.

        Raises: ReadError.
        """

        def look(guard: Guard, context: CallContext) -> Document:
            with self._open(guard, request, context) as source:
                return Document(self._kind(source, request).name, _facts(source), ())

        return self._in_time(request.path, context, look)

    def stream(self, request: ReadRequest, context: CallContext) -> Iterator[Part]:
        """The same parts one after the other; lines of a text come in small ones, however many are selected.

        Each part may take as long as the context allows: its time is counted anew after every one.

        Raises: ReadError; Binary for what is neither text nor a document the request takes.
        """
        try:
            try:
                for part in self._parts(self._non_blocking, request, context):
                    yield part
                    context.renew()
            except WouldBlock:  # nothing was given yet: it is known when the file is opened
                yield from self._stream_slowly(request, context)
        except UNLOADED as error:
            short = short_of(error, request.path)
            if short is None:
                raise
            raise short from None

    def _stream_slowly(self, request: ReadRequest, context: CallContext) -> Iterator[Part]:
        """As `stream`, a part at a time from a thread."""
        from eyespan.guard import blocking

        felt = blocking.Relay(context)
        parts = self._parts(self.guard.blocking(felt), request, felt)
        key = self._mount(request.path)

        def more(_relay: CallContext) -> Part | None:
            return next(parts, None)

        def put_away(_relay: CallContext) -> None:
            parts.close()

        try:
            while True:
                part = blocking.within(
                    context, more, key=key, path=request.path, late=lambda _: parts.close(), relay=felt
                )
                if part is None:
                    return
                yield part
                context.renew()
        except GeneratorExit:
            # Closing may wait as well, and nobody wants to know.
            try:
                blocking.within(CallContext(1.0), put_away, key=key)
            except ReadError:
                pass
            raise

    def _parts(self, guard: Guard, request: ReadRequest, context: CallContext) -> Generator[Part, None, None]:
        with self._open(guard, request, context) as source:
            kind = self._kind(source, request)
            if kind is kinds.TEXT:
                yield from text.stream(source, request, context)
            else:
                yield from self._read(kind, source, request, context)[0]

    def _read_now(self, guard: Guard, request: ReadRequest, context: CallContext) -> Document:
        with self._open(guard, request, context) as source:
            try:
                return self._document(source, request, context)
            except MemoryError:
                failure = SystemFailure(source.asked, ENOMEM)
                failure.relative = source.path
                raise failure from None
            except ReadError as error:
                error.path, error.relative = source.asked, source.path
                raise

    def _in_time(self, path: str, context: CallContext | None, work: Callable[[Guard, CallContext], T]) -> T:
        """Does it here where nothing can wait, else in a thread."""
        context = context or CallContext(self.deadline_seconds)
        try:
            try:
                return work(self._non_blocking, context)
            except WouldBlock:
                return self._wait(path, context, work)
        except UNLOADED as error:
            short = short_of(error, path)
            if short is None:
                raise
            raise short from None

    def _wait(self, path: str, context: CallContext, work: Callable[[Guard, CallContext], T]) -> T:
        """Raises: TimedOut, Stuck, Cancelled, and what `work` raises; WouldBlock where the caller has no patience."""
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
        """What stands for the mount that a path leads to. Raises: ReadError for what is no path of the workspace."""
        from eyespan.guard import mounts, paths

        root, rest = paths.locate(path, self.guard.roots)
        return mounts.mount_of(os.path.join(root.canonical, rest))

    def _open(self, guard: Guard, request: ReadRequest, context: CallContext) -> Source:
        """The file that the request names, or what it names inside that file or in the past.

        Raises: ReadError.
        """
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
            from eyespan.sources import open_inside

            return open_inside(
                source,
                request.member,
                self.guard.policy,
                context,
                decode="compressed" in documents,
                decode_archives="archive" in documents,
            )
        except ReadError as error:
            error.path, error.relative = source.asked, source.path
            source.close()
            raise
        except BaseException:
            source.close()
            raise

    def _document(self, source: Source, request: ReadRequest, context: CallContext) -> Document:
        limit = request.limits.max_file_bytes
        if limit is not None and source.size_bytes > limit:
            raise TooLarge(source.asked, size_bytes=source.size_bytes, limit_bytes=limit)
        kind = self._kind(source, request)
        parts, extra = self._read(kind, source, request, context)
        return Document(kind.name, _facts(source), parts, extra)

    def _kind(self, source: Source, request: ReadRequest) -> Kind:
        head = source.first_bytes
        if request.documents or request.refuses:
            kind = kinds.detect(head, source.name, request.documents | request.refuses)
            if kind is not None:
                if kind.name in request.refuses:
                    raise Binary(source.asked, kind=kind.name)
                if kind.name in request.documents:
                    return kind
        whole = len(head) >= source.size_bytes
        return kinds.BINARY if kinds.is_binary(head, request.text_rule, request.encoding, whole) else kinds.TEXT

    def _read(
        self, kind: Kind, source: Source, request: ReadRequest, context: CallContext
    ) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
        if kind is kinds.TEXT:
            return text.read(source, request, context)
        if kind.name == "archive":
            from eyespan.readers import archive

            return archive.read(source, request, context, self.guard.policy)
        __import__(kind.reader)
        parts: tuple[tuple[Part, ...], Mapping[str, Any]] = sys.modules[kind.reader].read(source, request, context)
        return parts


def _facts(source: Source) -> Facts:
    status = source.status
    return Facts(
        source.path,
        source.canonical,
        source.size_bytes,
        status.st_mtime_ns,
        status.st_nlink,
        source.changed(),
        source.has_exact_size,
    )
