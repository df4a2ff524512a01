"""Every error that a read can end with, as classes with fields.

    ReadError
    ├── InvalidPath           the text cannot be a path here: a NUL byte, a URI, a drive letter, too long
    ├── OutsideRoot           the path leaves the roots, directly or through a link
    ├── PolicyDenied          a rule of the host forbids the name, or the whole tool: `rule`
    ├── SystemFailure         a system call failed: `errno`
    │   ├── NotFound          no file has this name
    │   │   ├── NoMember      the file exists, but has no member or table of this name: `member`, `suggestions`
    │   │   └── NoRevision    unknown revision, or the file did not exist in it: `revision`
    │   ├── NotRegular        a directory, pipe, socket or device: `what`
    │   ├── PermissionRefused
    │   ├── Changed           an object in a store was replaced while it was read
    │   ├── StoreFailure      a store of remote files could not answer
    │   └── Busy              reading would have to wait
    │       └── Stuck         the file system does not respond, and enough reads wait for it: `count`
    ├── TooLarge              the file exceeds the limit of this request: `size_bytes`, `limit_bytes`
    ├── ScanLimit             the requested lines lie beyond the bytes that may be scanned: `limit_bytes`
    ├── WindowTooLarge        the requested lines exceed the limit of one answer: `limit_bytes`
    ├── TooMuchMemory         the read takes more memory than one call may take: `limit_bytes`
    ├── Binary                not text, and the dialect shows only text: `kind`
    ├── Unreadable            a document of a known kind that cannot be decoded: `kind`, `reason`
    ├── NoSuchPart            the file's kind has no such parts, for example no pages: `document`, `part`
    ├── PastEnd               the requested line, page or cell lies after the last: `part`, `wanted`, `total`
    ├── InvalidRange          the text after the path is no range of lines: `text`
    ├── NoSymbol              the file defines no symbol of this name: `symbol`, `suggestions`
    ├── NoMatch               no line matches the pattern: `pattern`
    ├── Missing               an optional package is not installed: `what`, `install`
    ├── TimedOut              the deadline passed: `seconds`, `hangs`
    │   └── NoTurn            it passed while the call waited for memory that other calls used
    ├── Unsearched            a target without a file, or a directory that was not searched to its end
    ├── Cancelled             the caller cancelled the call
    ├── Closed                the workspace was closed
    └── Internal              a bug in eyespan

    BadArguments              a dialect refuses the arguments before anything is read: its own `code` and `message`

Code checks the class and its fields; the dialect writes the text that a caller sees. `path` is the path as the caller
wrote it. No error contains a path outside the roots or reveals whether one exists.
"""

from __future__ import annotations

import errno as _errno
import os
from collections.abc import Sequence


class ReadError(Exception):
    """Base class: a read that ends without content."""

    code = "error"
    suggestions: Sequence[str] = ()
    """What is perhaps meant: similar paths, names or selectors."""

    def __init__(self, path: str, reason: str = "") -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason
        self.relative = ""
        """The path below its root (absolute if that is not the first root), if known; some dialects show only this."""

    def __str__(self) -> str:
        return self.reason or self.code.replace("_", " ")


class InvalidPath(ReadError):
    """The text given cannot name a file in a workspace."""

    code = "invalid_path"


class OutsideRoot(ReadError):
    """The path leaves every root. Raised whether or not the file exists."""

    code = "outside_root"

    def __str__(self) -> str:
        return "the path is outside the workspace"


class PolicyDenied(ReadError):
    """A rule of the host forbids this name. `rule` is "" if the whole tool is denied."""

    code = "policy_denied"

    def __init__(self, path: str, *, rule: str = "") -> None:
        super().__init__(path, f"denied by the rule {rule!r}" if rule else "this tool is denied by policy")
        self.rule = rule


class SystemFailure(ReadError):
    """A system call failed with `errno`."""

    code = "io"

    def __init__(self, path: str, errno: int, reason: str = "") -> None:
        super().__init__(path, reason or os.strerror(errno))
        self.errno = errno


class NotFound(SystemFailure):
    """No file has this name."""

    code = "not_found"

    def __init__(self, path: str, errno: int = _errno.ENOENT) -> None:
        super().__init__(path, errno)


class NoMember(NotFound):
    """The file exists but contains no `member`. `suggestions` are similar names."""

    code = "no_member"

    def __init__(self, path: str, *, member: str, suggestions: tuple[str, ...] = (), what: str = "member") -> None:
        super().__init__(path)
        self.member = member
        self.suggestions = suggestions
        self.reason = f"no {what} {member!r}"
        if suggestions:
            self.reason += f"; there is {', '.join(map(repr, suggestions))}"


class Changed(SystemFailure):
    """The object in a store was replaced while it was read, so the rest of its version cannot be had."""

    code = "changed"

    def __init__(self, path: str) -> None:
        super().__init__(path, _errno.ESTALE, "the object changed while it was read; read it again")


class StoreFailure(SystemFailure):
    """A store of remote files could not answer; `reason` names the store and the next step."""

    code = "store"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, _errno.EIO, reason)


class NoRevision(NotFound):
    """The repository has no such revision, or the revision has no such file; `reason` gives which."""

    code = "no_revision"

    def __init__(self, path: str, *, revision: str, reason: str) -> None:
        super().__init__(path)
        self.revision = revision
        self.reason = reason


class NotRegular(SystemFailure):
    """The path names no regular file; `what` is "directory", "pipe", "socket", "device", "link" or "file"."""

    code = "not_regular"

    def __init__(self, path: str, *, what: str) -> None:
        super().__init__(path, _errno.EISDIR if what == "directory" else _errno.EINVAL, f"not a regular file: {what}")
        self.what = what


class PermissionRefused(SystemFailure):
    """This user may not open the file, or it belongs to a file system of kernel state."""

    code = "permission"

    def __init__(self, path: str, errno: int = _errno.EACCES, reason: str = "") -> None:
        super().__init__(path, errno, reason)


class Busy(SystemFailure):
    """Opening or reading would have to wait."""

    code = "busy"

    def __init__(self, path: str, errno: int = _errno.EAGAIN) -> None:
        super().__init__(path, errno)


class Stuck(Busy):
    """The file system hangs: `count` abandoned reads have not returned, so this read was not started."""

    def __init__(self, path: str, *, count: int, of: str = "this mount") -> None:
        super().__init__(path)
        self.count = count
        if count:
            self.reason = (
                f"{count} reads of {of} are already waiting for a response, so this one was not started; "
                "read files in other directories, and report to the user that this one does not respond"
            )
        else:
            self.reason = "no thread available to read it; try again later"


class TooLarge(ReadError):
    """The file exceeds the limit of this request."""

    code = "too_large"

    def __init__(self, path: str, *, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(path, f"the file has {size_bytes} bytes, the limit is {limit_bytes}")
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class ScanLimit(ReadError):
    """The requested lines end after the first `limit_bytes` bytes; `needs_numbers`: only to number the last lines."""

    code = "scan_limit"

    def __init__(self, path: str, *, limit_bytes: int, needs_numbers: bool = False) -> None:
        super().__init__(path, f"the lines asked for lie beyond the first {limit_bytes} bytes")
        self.limit_bytes = limit_bytes
        self.needs_numbers = needs_numbers


class WindowTooLarge(ReadError):
    """The requested lines contain more than `limit_bytes` bytes of text."""

    code = "window_too_large"

    def __init__(self, path: str, *, limit_bytes: int) -> None:
        super().__init__(path, f"the lines asked for hold more than {limit_bytes} bytes; ask for fewer lines")
        self.limit_bytes = limit_bytes


class TooMuchMemory(ReadError):
    """The read takes more memory than one call may take: `memory.MAX_BYTES`."""

    code = "too_large"

    def __init__(self, path: str, *, limit_bytes: int, window_bytes: int = 0) -> None:
        """`window_bytes` is the size of the dictionary of a compressed file, if that is the cause."""
        limit = f"more than {limit_bytes >> 20} MiB of memory"
        text = f"reading it takes {limit}; ask for a smaller part of it"
        if window_bytes:
            cause = f"it is compressed with a dictionary of {window_bytes >> 20} MiB"
            text = f"reading so far into it takes {limit}, because {cause}; unpack it and read the unpacked file"
        super().__init__(path, text)
        self.limit_bytes = limit_bytes
        self.window_bytes = window_bytes


class Binary(ReadError):
    """The file is not text. `kind` is the kind that its first bytes indicate."""

    code = "binary"

    def __init__(self, path: str, *, kind: str = "binary") -> None:
        super().__init__(path, "the file is binary")
        self.kind = kind


class Unreadable(ReadError):
    """A document of kind `kind` that cannot be decoded, with the reason in words for a person."""

    code = "unreadable"

    def __init__(self, path: str, *, kind: str, reason: str) -> None:
        super().__init__(path, reason)
        self.kind = kind


class NoSuchPart(ReadError):
    """The file's kind has no parts of the requested sort: `document` ("a PDF") has no `part` ("cells")."""

    code = "no_such_part"

    def __init__(self, path: str, *, document: str, part: str) -> None:
        super().__init__(path, f"{document} has no {part}")
        self.document = document
        self.part = part


class PastEnd(ReadError):
    """The first requested `part` ("line", "page", "cell"), `wanted`, lies after the last of `total`."""

    code = "past_end"

    def __init__(self, path: str, *, part: str, wanted: str, document: str, total: int) -> None:
        super().__init__(path, f"no {part} {wanted}: {document} has {total} {part}{'' if total == 1 else 's'}")
        self.part = part
        self.wanted = wanted
        self.total = total


class InvalidRange(ReadError):
    """The text after the path begins like a range of lines but is none."""

    code = "invalid_range"

    def __init__(self, path: str, *, text: str) -> None:
        super().__init__(path, f"{text!r} is no range of lines; write 3-9, 3-, 3+5, -50 or 1-5,40-45")
        self.text = text


class NoSymbol(ReadError):
    """No symbol of this name was found. `suggestions` are selectors of similar symbols.

    `doubt`: why the outline may lack it, or what finds it otherwise; "" if the suggestions are all there is to say.
    """

    code = "no_symbol"

    def __init__(self, path: str, *, symbol: str, suggestions: Sequence[str] = (), doubt: str = "") -> None:
        super().__init__(path, f"no symbol {symbol} found: {doubt}" if doubt else f"no symbol {symbol}")
        self.symbol = symbol
        self.doubt = doubt
        self.suggestions = suggestions


class NoMatch(ReadError):
    """No line of what was searched matches the pattern."""

    code = "no_match"

    def __init__(self, path: str, *, pattern: str) -> None:
        super().__init__(path, f"no line matches {pattern}")
        self.pattern = pattern


class Missing(ReadError):
    """An optional package is not installed; `install` is the command that installs it."""

    code = "missing_part"

    def __init__(self, path: str, *, what: str, install: str) -> None:
        super().__init__(path, f"{what} needs an optional package: {install}")
        self.what = what
        self.install = install


class TimedOut(ReadError):
    """The deadline passed before the answer was complete. `hangs`: the file system did not respond."""

    code = "timeout"

    def __init__(self, path: str, *, seconds: float, hangs: bool = False) -> None:
        super().__init__(path, f"no answer within {seconds:g} s")
        self.seconds = seconds
        self.hangs = hangs
        if hangs:
            self.reason += ": the file system or store does not respond; read other directories, or try again later"
        else:
            self.reason += "; ask for less at once: fewer lines, or a narrower pattern"


class NoTurn(TimedOut):
    """The deadline passed while the call waited for memory that other calls used."""

    def __init__(self, path: str, *, seconds: float) -> None:
        super().__init__(path, seconds=seconds)
        self.reason = f"no answer within {seconds:g} s, because other calls used the memory for it; try again later"


class Unsearched(ReadError):
    """Reports a target without a file, or a directory that was not searched to its end: files may be missing.

    Its code is that of the error that ended the search.
    """

    code = "unsearched"

    def __init__(self, error: ReadError, reason: str = "") -> None:
        super().__init__(error.path, reason or str(error))
        self.code = error.code


class Cancelled(ReadError):
    """The caller cancelled the call."""

    code = "cancelled"


class Closed(ReadError):
    """The workspace was closed, so its tools cannot read."""

    code = "closed"

    def __str__(self) -> str:
        return "the workspace is closed"


class Internal(ReadError):
    """A bug in eyespan. The log has the details."""

    code = "internal"


class BadArguments(Exception):
    """A dialect refuses the arguments before anything is read, with its own code and text."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


UNLOADED = (ImportError, MemoryError, OSError, SyntaxError)
"""The exceptions of a lazy import that fails because the system has no descriptor or no memory left."""
# ENFILE first: its message contains EMFILE's ("Too many open files").
_SHORTAGES = (_errno.ENFILE, _errno.EMFILE, _errno.ENOMEM)


def shortage(error: BaseException) -> int:
    """Return the errno if the system had no descriptor or no memory left when this error was raised, else 0.

    For lazy imports: a module that cannot be imported because no descriptors are free may import later, so report a
    shortage, not a bug. The dynamic loader gives the reason only in its text; the compiler and the standard library
    sometimes give none. After an import that failed without a reason, try whether a descriptor is free.
    """
    cause: BaseException | None = error
    for _ in range(8):
        if isinstance(cause, OSError) and cause.errno in _SHORTAGES:
            return cause.errno
        if isinstance(cause, MemoryError):
            return _errno.ENOMEM
        if isinstance(cause, ImportError):
            words = str(cause)
            for number in _SHORTAGES:
                if os.strerror(number) in words:
                    return number
        cause = None if cause is None else cause.__cause__ or cause.__context__
    if isinstance(error, (ImportError, SyntaxError)):
        try:
            ends = os.pipe()
        except OSError as now:
            return now.errno if now.errno in _SHORTAGES else 0
        for end in ends:
            os.close(end)
    return 0


def short_of(error: BaseException, path: str) -> SystemFailure | None:
    """Return the failure to report for an error due to a shortage, or None for any other error."""
    number = shortage(error)
    return SystemFailure(path, number) if number else None


def log_failure(error: BaseException) -> None:
    """Log an exception that is no error of a read: with its traceback, or a lack of memory in a line. Never raises.

    Memory lacks by the limit of `eyespan serve --memory` or of the system. What the frames of such an error hold is
    freed first, so that there is memory for the log and for the answer.
    """
    message, details = "internal error", error if not isinstance(error, MemoryError) else None
    if details is None:
        error.__traceback__ = error.__context__ = error.__cause__ = None
        message = "a read was refused: no memory left (see `eyespan serve --memory`)"
    try:
        import logging

        logging.getLogger("eyespan").error(message, exc_info=details)
    except UNLOADED:
        pass  # too little memory is left to load the module; the reply reports the error


def from_os_error(error: OSError, path: str) -> ReadError:
    """Return the error class for an errno. This is the only such table."""
    number = error.errno or _errno.EIO
    if number == _errno.EXDEV:
        return OutsideRoot(path)
    if number in (_errno.ENOENT, _errno.ENOTDIR):
        return NotFound(path, number)
    if number == _errno.EISDIR:
        return NotRegular(path, what="directory")
    if number in (_errno.EACCES, _errno.EPERM):
        return PermissionRefused(path, number)
    if number in (_errno.EAGAIN, _errno.ETXTBSY, _errno.EBUSY):
        return Busy(path, number)
    if number in (_errno.ENXIO, _errno.ENODEV):
        return NotRegular(path, what="device")
    return SystemFailure(path, number)
