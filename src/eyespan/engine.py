"""The walk through the rooms: admit, open, detect, read.

The engine says what is there; it knows no dialect. It is synchronous and keeps nothing between reads.
"""

from __future__ import annotations

import sys
from errno import ENOMEM

from eyespan import kinds
from eyespan.errors import Binary, ReadError, SystemFailure, TooLarge
from eyespan.model import Document, Facts, Pulse
from eyespan.readers import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from eyespan.guard import Guard, Source
    from eyespan.guard.listing import Listing
    from eyespan.kinds import Kind
    from eyespan.model import Part, ReadRequest


class Engine:
    """Reads files of one workspace."""

    __slots__ = ("guard",)

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    def admit(self, path: str, lexical: bool = False) -> str:
        """Judges a name by policy and roots, without looking at the disk; what it is called below its root.

        Raises: PolicyDenied, OutsideRoot, InvalidPath, SystemFailure.
        """
        return self.guard.admit(path, lexical=lexical)[1]

    def list(self, path: str) -> Listing:
        """The names in a folder, as far as the rules let them be known.

        Raises: ReadError; NotRegular(what="file") if it is no folder.
        """
        return self.guard.list_beneath(path)

    def read(self, request: ReadRequest, pulse: Pulse | None = None) -> Document:
        """What the request selects of the file it names.

        Raises: ReadError.
        """
        pulse = pulse or Pulse()
        with self._open(request, pulse) as source:
            try:
                return self._document(source, request, pulse)
            except MemoryError:
                failure = SystemFailure(source.asked, ENOMEM)
                failure.relative = source.path
                raise failure from None
            except ReadError as error:
                error.path, error.relative = source.asked, source.path
                raise

    def look(self, request: ReadRequest) -> Document:
        """What the file is, without its contents: a document of no parts.

        Raises: ReadError.
        """
        with self._open(request, Pulse()) as source:
            return Document(self._kind(source, request).name, _facts(source), ())

    def stream(self, request: ReadRequest, pulse: Pulse) -> Iterator[Part]:
        """The same parts one after the other; lines of a text come in small ones, however many are selected.

        Raises: ReadError; Binary for what is neither text nor a document the request takes.
        """
        with self._open(request, pulse) as source:
            kind = self._kind(source, request)
            if kind is kinds.TEXT:
                yield from text.stream(source, request, pulse)
            else:
                yield from self._read(kind, source, request, pulse)[0]

    def _open(self, request: ReadRequest, pulse: Pulse) -> Source:
        """The file that the request names, or what it names inside that file or in the past.

        Raises: ReadError.
        """
        if request.revision:
            from eyespan.sources.git import open_at

            source = open_at(self.guard, request, pulse)
        else:
            source = self.guard.open(request.path, lexical=request.lexical, follow=request.follows_final_link)
        documents = request.documents
        if not request.member and "archive" not in documents and "compressed" not in documents:
            return source
        try:
            if not request.member and kinds.compression(source.head) is None:
                return source
            from eyespan.sources import open_inside

            return open_inside(
                source,
                request.member,
                self.guard.policy,
                pulse,
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

    def _document(self, source: Source, request: ReadRequest, pulse: Pulse) -> Document:
        limit = request.limits.max_file_bytes
        if limit is not None and source.size_bytes > limit:
            raise TooLarge(source.asked, size_bytes=source.size_bytes, limit_bytes=limit)
        kind = self._kind(source, request)
        parts, extra = self._read(kind, source, request, pulse)
        return Document(kind.name, _facts(source), parts, extra)

    def _kind(self, source: Source, request: ReadRequest) -> Kind:
        head = source.head
        if request.documents or request.refuses:
            kind = kinds.detect(head, source.name)
            if kind is not None:
                if kind.name in request.refuses:
                    raise Binary(source.asked, kind=kind.name)
                if kind.name in request.documents:
                    return kind
        whole = len(head) >= source.size_bytes
        return kinds.BINARY if kinds.is_binary(head, request.text_rule, request.encoding, whole) else kinds.TEXT

    def _read(
        self, kind: Kind, source: Source, request: ReadRequest, pulse: Pulse
    ) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
        if kind is kinds.TEXT:
            return text.read(source, request, pulse)
        if kind.name == "archive":
            from eyespan.readers import archive

            return archive.read(source, request, pulse, self.guard.policy)
        __import__(kind.reader)
        parts: tuple[tuple[Part, ...], Mapping[str, Any]] = sys.modules[kind.reader].read(source, request, pulse)
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
        source.exact,
    )
