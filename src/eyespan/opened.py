"""`Opened`: one opened file of one version, from which everything in an answer is read.

A dialect that needs several facts or pieces of a file opens it once and asks the same `Opened` for each. Readers get
the `Opened` too: it holds the bytes, the request and the rules, and it is their way to the decoding process.
"""

from __future__ import annotations

import time
from _thread import allocate_lock
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from errno import ENOMEM
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from eyespan import kinds
from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.errors import UNLOADED, Binary, Internal, ReadError, SystemFailure, Unreadable, log_failure, short_of
from eyespan.escape import written_path
from eyespan.guard.paths import as_relative
from eyespan.kinds import Kind
from eyespan.lines.binary import is_binary
from eyespan.model import MIB, CharRange, Document, DocumentOptions, Facts, Part, ReadRequest, Selection, TotalRule
from eyespan.policy import Policy
from eyespan.source import Source, close_fd, spool
from eyespan.worker.reasons import clean_reason

if TYPE_CHECKING:
    from eyespan.guard.blocking import Relay
    from eyespan.outline import Outline

T = TypeVar("T")

OUTLINE_CHARS = 2 * MIB
"""The text that an outline is made of; more of a file is not parsed."""
COURTESY_CHARS = MIB
COURTESY_SECONDS = 0.03 * DEADLINE_SECONDS
"""The same, and the time, for an outline that was not asked for: it must not delay the text."""
CLOSE_SECONDS = 0.25
"""The time that a call waits, beyond its deadline too, until a file is closed whose file system may block."""
SYMBOL_BYTES = 600
"""The memory of a symbol with its names, and of its row in an answer."""


@dataclass(slots=True, eq=False)
class Opened:
    """An opened file: its kind, its facts, and everything that can be read from it.

    With a thread the file system may block. Every operation then runs in a thread that is abandoned at the deadline; an
    abandoned operation closes the file when it returns.
    """

    source: Source
    request: ReadRequest
    _kind: Kind | None
    """None: it is detected when it is asked for, in the calling thread."""
    policy: Policy
    context: CallContext
    _thread: Thread | None = None
    observer: Callable[[ReadRequest, Document], None] | None = None
    """Called with each document that is read."""
    _outline: Outline | None = None
    _first_facts: Facts | None = None

    @property
    def kind(self) -> Kind:
        """Return the kind of the file for its request. Raises: ReadError; Binary, if the request refuses it."""
        if self._kind is None:
            try:
                self._kind = kind_of(self.source, self.request, self.context)
            except ReadError as error:
                error.path, error.relative = self.source.asked, self.source.path
                raise
        return self._kind

    @property
    def facts(self) -> Facts:
        """Return the facts of the file as it was opened."""
        if self._first_facts is None:
            self._first_facts = self._facts(changed=False)
        return self._first_facts

    def read(
        self,
        selection: Selection | None = None,
        *,
        options: DocumentOptions | None = None,
        total: TotalRule | None = None,
        as_text: bool = False,
    ) -> Document:
        """Read a part of the file: the request's own selection and options unless others are given.

        `as_text=True` reads the lines of a document that is text as well (a CSV file).

        Raises: ReadError.
        """
        opened = self
        is_other_total = total is not None and total != self.request.total
        if options is not None or is_other_total or (as_text and self.kind is not kinds.TEXT):
            opened = self._changed(options, total, as_text)
        chosen = opened.request.selection if selection is None else selection
        if self._thread is None:
            document = opened.read_now(chosen, self.context)
        else:
            document = self._thread.run(self, lambda context: opened.read_now(chosen, context))
        if self.observer is not None:
            self.observer(opened.request if selection is None else replace(opened.request, selection=chosen), document)
        return document

    def raw(self, size_bytes: int) -> bytes:
        """Return so many bytes of the file from its start, as they are, or all of a shorter one. Raises: ReadError."""
        if len(self.source.first_bytes) < min(size_bytes, self.source.max_first_bytes):
            return self.source.first_bytes

        def read(context: CallContext) -> bytes:
            context.charge(size_bytes)
            return self.source.read_fully(0, size_bytes)

        return read(self.context) if self._thread is None else self._thread.run(self, read)

    def read_now(self, selection: Selection, context: CallContext) -> Document:
        """Read with the reader of the kind in the calling thread; every failure has the path of the file.

        A read that fails takes no memory of the call. Raises: ReadError.
        """
        before_bytes = context.memory.loan_start()
        try:
            name = self.kind.reader
            document: Document = _reader(name).read(self, selection, context)
            if not isinstance(document, Document):
                raise TypeError(f"{name}.read returned no Document")
            return document
        except BaseException as error:
            context.memory.end_loan(before_bytes)
            self._raise_named(error)

    def _raise_named(self, error: BaseException) -> NoReturn:
        """Raise an error of a reader with the path of the file, and an error of a read for its other exceptions."""
        failure = error if isinstance(error, ReadError) else self._failure(error)
        try:
            if failure is None:
                raise error
            failure.path, failure.relative = self.source.asked, self.source.path
            origin = kinds.origin(self.kind) if isinstance(failure, Unreadable) else ""
            if origin and origin not in failure.reason:
                failure.reason += f" (plugin {origin})"
            if failure is error:
                raise error
            raise failure from (None if isinstance(error, UNLOADED) else error)
        finally:
            del failure, error  # their tracebacks hold this frame

    def _failure(self, error: BaseException) -> ReadError | None:
        """Return the error of a read for another exception of its reader; None if that is a bug of the tree."""
        if isinstance(error, MemoryError):
            log_failure(error)
            return SystemFailure("", ENOMEM)
        if isinstance(error, UNLOADED) and (short := short_of(error, "")) is not None:
            return short
        origin = kinds.origin(self.kind) if isinstance(error, Exception) else ""
        if not origin:
            return None
        reason = f"the plugin {origin} failed: {type(error).__name__}: {clean_reason(str(error))}"
        return Unreadable("", kind=self.kind.name, reason=reason.rstrip(": "))

    def stream(self, selection: Selection | None = None, *, as_text: bool = False) -> Iterator[Part]:
        """Yield the same parts one after the other; lines of a text come in small parts, however many are selected.

        The deadline starts again after every part. `as_text` is that of `read`.

        Raises: ReadError.
        """
        chosen = self.request.selection if selection is None else selection
        opened = self._changed(None, None, as_text) if as_text else self
        if self._thread is None:
            parts = opened._stream_now(chosen, self.context)
            following = parts.__next__
        else:
            thread = self._thread
            parts = opened._stream_now(chosen, thread.relay)

            def following() -> Part:
                part = thread.run(self, lambda _: next(parts, None))
                if part is None:
                    raise StopIteration
                return part

        while True:
            try:
                part = following()
            except StopIteration:
                return
            yield part
            self.context.renew()

    def _stream_now(self, selection: Selection, context: CallContext) -> Iterator[Part]:
        try:
            stream = getattr(_reader(self.kind.reader), "stream", None)
            if stream is not None:
                yield from stream(self, selection, context)
                return
        except BaseException as error:
            self._raise_named(error)
        yield from self.read_now(selection, context).parts

    def outline(self, *, is_courtesy: bool = False) -> Outline:
        """Return the symbols of the text, parsed once.

        `is_courtesy=True`: the caller did not ask for it, so it gets little time and only the start of a large text;
        the outline may be empty then, with the reason as its hint.

        Raises: Cancelled, TimedOut, and what reading raises.
        """
        if self._outline is not None:
            return self._outline
        if self._thread is None:
            result = self._outline_now(self.context, is_courtesy)
        else:
            result = self._thread.run(self, lambda context: self._outline_now(context, is_courtesy))
        if not is_courtesy:
            self._outline = result
        return result

    def _outline_now(self, context: CallContext, is_courtesy: bool) -> Outline:
        with context.memory.loan():  # the text and the response are free after it
            outline = self._find_outline(context, is_courtesy)
        context.charge(SYMBOL_BYTES * len(outline.symbols))
        return outline

    def _find_outline(self, context: CallContext, is_courtesy: bool) -> Outline:
        from eyespan.outline import OUTLINE_SECONDS, cache, outline

        # The text of a converted document has headings as Markdown does.
        name = self.source.name if self.kind.is_text else f"{self.source.name}.md"
        result = cache.find(self.source, name)
        if result is not None:
            return result
        started_ns = time.time_ns()
        opened = self._changed(None, None, as_text=True)
        max_chars = COURTESY_CHARS if is_courtesy else OUTLINE_CHARS
        if is_courtesy and self.source.is_version:
            max_chars = self.source.max_first_bytes  # nothing is requested of a store that was not asked for
        part: Any = opened.read_now(CharRange(max_chars=max_chars), context).parts[0]
        result = outline(
            bytes(part.data),
            name,
            decode=self.decode_bytes,
            context=context,
            deadline_seconds=COURTESY_SECONDS if is_courtesy else OUTLINE_SECONDS,
            is_courtesy=is_courtesy,
        )
        # With a hint it failed, or a grammar is missing that may be installed later.
        if not result.hint and not (is_courtesy and part.more):
            cache.put(self.source, name, result, started_ns)
        return result

    # --- for readers -------------------------------------------------------------------------------------------------

    def document(self, parts: tuple[Part, ...], extra: Mapping[str, Any] = {}) -> Document:
        """Return the document that a reader has read, with the facts of this moment. Raises: ReadError."""
        has_changed, facts = self.source.changed(), self._first_facts
        # Sizes of streams are guesses until they were read to their end.
        if has_changed or facts is None or not facts.exact:
            facts = self._facts(changed=has_changed)
            self._first_facts = self._first_facts or (None if has_changed else facts)
        return Document(self.kind.name, facts, parts, extra)

    def decode(
        self, params: Mapping[str, Any], context: CallContext, fd: int | None = None
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Decode the file, or that of a descriptor instead of it, in the worker; return facts and byte strings.

        Raises: Unreadable, Missing, TimedOut, Cancelled.
        """
        from eyespan import worker

        source = self.source
        return worker.run(self.kind.name, source.fd if fd is None else fd, params, asked=source.asked, context=context)

    def decode_bytes(
        self, task: str, data: bytes, params: Mapping[str, Any], context: CallContext
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Decode bytes that were found in the file; return facts and byte strings.

        Raises: Unreadable, Missing, TimedOut, Cancelled, SystemFailure.
        """
        return decode_bytes(task, data, params, context, asked=self.source.asked)

    def ask_encoding(self, context: CallContext) -> Callable[[bytes], tuple[str | None, float]]:
        """Return the function that has the encoding of a sample guessed in the worker."""
        return lambda sample: ask_encoding(sample, context)

    # --- the rest ----------------------------------------------------------------------------------------------------

    def _changed(self, options: DocumentOptions | None, total: TotalRule | None, as_text: bool) -> Opened:
        """Return a view of the same file with another request."""
        request = self.request
        if options is not None:
            request = replace(request, options=options)
        if total is not None:
            request = replace(request, total=total)
        kind = kinds.TEXT if as_text and self.kind.is_text else self.kind
        return Opened(self.source, request, kind, self.policy, self.context, self._thread)

    def _facts(self, changed: bool) -> Facts:
        source = self.source
        status, path = source.status, source.path
        if not path.isascii() or ":" in path or "\\" in path:
            path = written_path(as_relative(path))
        return Facts(
            path,
            source.canonical,
            source.size_bytes,
            status.st_mtime_ns,
            status.st_nlink if source.is_file else 1,
            changed,
            source.has_exact_size,
        )

    def close(self) -> None:
        """Close the file. Operations after it are errors of the caller."""
        if self._thread is None:
            self.source.close()
        else:
            self._thread.close(self)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def kind_of(source: Source, request: ReadRequest, context: CallContext) -> Kind:
    """Return the kind of a file for this request. Raises: Binary, if the request refuses it."""
    first_bytes = source.first_bytes
    if request.member and getattr(source, "directory", None) is not None:
        return kinds.by_name("archive")  # an office file is listed too, if a directory in it is named
    if request.documents or request.refuses:
        kind = kinds.detect(first_bytes, source.name)
        if kind is not None:
            if kind.name in request.refuses:
                raise Binary(source.asked, kind=kind.name)
            if kind.is_one_of(request.documents):
                return kind
        if kinds.BINARIES in request.refuses:
            kind = kinds.detect(first_bytes, "")
            if kind is not None and not kind.is_text:
                return kinds.BINARY
    is_whole = len(first_bytes) >= source.size_bytes
    ask = None if request.encoding != "auto" else lambda sample: ask_encoding(sample, context)
    if not is_binary(first_bytes, request.text_rule, request.encoding, whole=is_whole, ask=ask):
        return kinds.TEXT
    return kinds.DATA if kinds.DATA.is_one_of(request.documents) else kinds.BINARY


class Thread:
    """Runs the operations of one `Opened` in threads, because its file system may block: see `guard.blocking`."""

    def __init__(self, context: CallContext, relay: Relay, key: Hashable) -> None:
        self.relay = relay
        self._context = context
        self._key = key
        self._busy = False
        self._closed = allocate_lock()

    def run(self, opened: Opened, work: Callable[[CallContext], T]) -> T:
        """Do `work` in a thread, for as long as the call's context allows.

        Raises: TimedOut, Stuck, Cancelled, and what `work` raises.
        """
        from eyespan.guard import blocking

        def watched(context: CallContext) -> T:
            self._busy = True
            try:
                return work(context)
            finally:
                self._busy = False

        return blocking.within(
            self._context,
            watched,
            key=self._key,
            path=opened.request.path,
            late=lambda _: self._close_source(opened),
            relay=self.relay,
        )

    def close(self, opened: Opened) -> None:
        """Close the file in a thread, since closing may block too. An abandoned operation closes it by itself."""
        if self._busy or self._closed.locked():
            return
        from eyespan.guard import blocking

        blocking.close_within(CLOSE_SECONDS, lambda: self._close_source(opened), key=self._key)

    def _close_source(self, opened: Opened) -> None:
        if self._closed.acquire(False):
            opened.source.close()


def decode_bytes(
    task: str, data: bytes, params: Mapping[str, Any], context: CallContext, *, asked: str = ""
) -> tuple[dict[str, Any], list[bytes]]:
    """Decode bytes in the worker; return facts and byte strings.

    Raises: Unreadable, Missing, TimedOut, Cancelled, SystemFailure.
    """
    from eyespan import worker

    fd = spool((data,), asked=asked)
    try:
        return worker.run(task, fd, params, asked=asked, context=context)
    finally:
        close_fd(fd)


def ask_encoding(sample: bytes, context: CallContext) -> tuple[str | None, float]:
    """Return the encoding of a sample as the detector in the worker guesses it, and its score; None if nothing fits.

    Raises: Missing, TimedOut, Cancelled, SystemFailure.
    """
    key = len(sample), hash(sample)
    if key in _guesses:
        return _guesses[key]
    try:
        with context.memory.loan():
            facts, _ = decode_bytes("encoding", sample, {}, context)
    except (Unreadable, Internal):
        return None, 0.0  # no detector: the text is shown in the most common encoding, as unsure
    encoding, score = facts.get("encoding"), facts.get("score")
    guess = (encoding, score) if isinstance(encoding, str) and isinstance(score, float) else (None, 0.0)
    if len(_guesses) >= MAX_GUESSES:
        _guesses.clear()
    _guesses[key] = guess
    return guess


MAX_GUESSES = 64
_guesses: dict[tuple[int, int], tuple[str | None, float]] = {}
"""Guesses by size and hash of the sample: the kind, the text and the outline of a file need the same one."""


@cache
def _reader(module: str) -> Any:
    return import_module(module)
