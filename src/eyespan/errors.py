"""Everything that can go wrong with a read, as classes with fields.

    ReadError
    ├── InvalidPath          the name itself cannot be a path here (NUL, a URI, a drive, too long)
    ├── OutsideRoot          the path leaves the roots, by itself or through a link
    ├── PolicyDenied         the host's rules forbid this name, or the whole tool
    ├── SystemFailure        the operating system said no: `errno`
    │   ├── NotFound         nothing has this name
    │   │   ├── NoMember     the file is there, but nothing inside it has this name: `member`
    │   │   └── NoRevision   the revision is not known, or the file was not there then: `revision`
    │   ├── NotRegular       a directory, pipe, socket, device or pseudo file: `what`
    │   ├── PermissionRefused
    │   └── Busy             it could be read only by waiting
    │       └── Stuck        its file system does not answer, and enough reads wait for it: `count`
    ├── TooLarge             the file is bigger than this request may read
    ├── ScanLimit            the lines asked for lie beyond what may be scanned
    ├── WindowTooLarge       the answer itself would be too big to hold
    ├── Binary               the file is not text and the dialect shows only text
    ├── Unreadable           a document of a known kind that cannot be decoded: `kind`, `reason`
    ├── Missing              an optional part of eyespan is not installed: `what`, `install`
    ├── TimedOut             the deadline passed
    ├── Cancelled            the caller no longer wants the answer
    └── Internal             a fault of eyespan's own

Code looks at the class and its fields; the words a caller sees are made by the dialect. `path` is spelled as the caller
spelled it. No error carries a path outside the roots, nor tells whether one exists.
"""

from __future__ import annotations

import errno as _errno
import os


class ReadError(Exception):
    """A read that cannot be answered with content."""

    code = "error"

    def __init__(self, path: str, reason: str = "") -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason
        self.relative = ""
        """The path below its root, where that is known, for dialects that show no other."""

    def __str__(self) -> str:
        return self.reason or self.code.replace("_", " ")


class InvalidPath(ReadError):
    """The text given cannot name a file in a workspace."""

    code = "invalid_path"


class OutsideRoot(ReadError):
    """The path leaves every root, whether or not anything is there."""

    code = "outside_root"

    def __str__(self) -> str:
        return "the path is outside the workspace"


class PolicyDenied(ReadError):
    """A rule of the host forbids this name; `rule` is that rule, or "" when the whole tool is denied."""

    code = "policy_denied"

    def __init__(self, path: str, *, rule: str = "") -> None:
        super().__init__(path, f"denied by the rule {rule!r}" if rule else "this tool is denied by policy")
        self.rule = rule


class SystemFailure(ReadError):
    """A system call failed; `errno` says how."""

    code = "io"

    def __init__(self, path: str, errno: int, reason: str = "") -> None:
        super().__init__(path, reason or os.strerror(errno))
        self.errno = errno


class NotFound(SystemFailure):
    """Nothing has this name."""

    code = "not_found"

    def __init__(self, path: str, errno: int = _errno.ENOENT) -> None:
        super().__init__(path, errno)


class NoMember(NotFound):
    """The file is there, but it holds nothing with the name `member`; `near` are names that may have been meant."""

    code = "no_member"

    def __init__(self, path: str, *, member: str, near: tuple[str, ...] = (), what: str = "member") -> None:
        super().__init__(path)
        self.member = member
        self.near = near
        self.reason = f"it has no {what} {member!r}" + (f"; there is {', '.join(map(repr, near))}" if near else "")


class NoRevision(NotFound):
    """The repository has no such revision, or no such file in it; `reason` says which."""

    code = "no_revision"

    def __init__(self, path: str, *, revision: str, reason: str) -> None:
        super().__init__(path)
        self.revision = revision
        self.reason = reason


class NotRegular(SystemFailure):
    """Something is there, but not a file with contents; `what` is "directory", "pipe", "socket", "device", "link"..."""

    code = "not_regular"

    def __init__(self, path: str, *, what: str) -> None:
        super().__init__(path, _errno.EISDIR if what == "directory" else _errno.EINVAL, f"not a regular file: {what}")
        self.what = what


class PermissionRefused(SystemFailure):
    """The file may not be opened by this user, or is no file of a real file system."""

    code = "permission"

    def __init__(self, path: str, errno: int = _errno.EACCES, reason: str = "") -> None:
        super().__init__(path, errno, reason)


class Busy(SystemFailure):
    """Opening or reading would have had to wait."""

    code = "busy"

    def __init__(self, path: str, errno: int = _errno.EAGAIN) -> None:
        super().__init__(path, errno)


class Stuck(Busy):
    """Its file system hangs: `count` reads of it were given up and have not come back, so no other is tried."""

    def __init__(self, path: str, *, count: int, of: str = "this mount") -> None:
        super().__init__(path)
        self.count = count
        if count:
            self.reason = (
                f"{count} reads of {of} wait for an answer already, so this one was not tried; "
                "read files of other folders, and tell the user that this one does not answer"
            )
        else:
            self.reason = "the system gives no thread to read it in; try again later"


class TooLarge(ReadError):
    """The file is bigger than this request may read."""

    code = "too_large"

    def __init__(self, path: str, *, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(path, f"the file has {size_bytes} bytes, the limit is {limit_bytes}")
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class ScanLimit(ReadError):
    """The lines asked for end beyond the first `limit_bytes` bytes."""

    code = "scan_limit"

    def __init__(self, path: str, *, limit_bytes: int) -> None:
        super().__init__(path, f"the lines asked for lie beyond the first {limit_bytes} bytes")
        self.limit_bytes = limit_bytes


class WindowTooLarge(ReadError):
    """The lines asked for hold more than `limit_bytes` bytes of text."""

    code = "window_too_large"

    def __init__(self, path: str, *, limit_bytes: int) -> None:
        super().__init__(path, f"the lines asked for hold more than {limit_bytes} bytes; ask for fewer lines")
        self.limit_bytes = limit_bytes


class Binary(ReadError):
    """The file is not text; `kind` is what it is, as far as its first bytes tell."""

    code = "binary"

    def __init__(self, path: str, *, kind: str = "binary") -> None:
        super().__init__(path, "the file is binary")
        self.kind = kind


class Unreadable(ReadError):
    """A document of kind `kind` that cannot be shown; `reason` says why, in words for a person."""

    code = "unreadable"

    def __init__(self, path: str, *, kind: str, reason: str) -> None:
        super().__init__(path, reason)
        self.kind = kind


class Missing(ReadError):
    """An optional part is not installed; `install` is the command that gets it."""

    code = "missing_part"

    def __init__(self, path: str, *, what: str, install: str) -> None:
        super().__init__(path, f"{what} needs a part that is not installed: {install}")
        self.what = what
        self.install = install


class TimedOut(ReadError):
    """The deadline passed before the answer was complete; `hangs`: it was the file system that did not answer."""

    code = "timeout"

    def __init__(self, path: str, *, seconds: float, hangs: bool = False) -> None:
        super().__init__(path, f"no answer within {seconds:g} s")
        self.seconds = seconds
        self.hangs = hangs
        if hangs:
            self.reason += ": its file system does not answer; read files of other folders, or try again later"
        else:
            self.reason += "; ask for less of the file at once"


class Cancelled(ReadError):
    """The caller gave up."""

    code = "cancelled"


class Internal(ReadError):
    """A fault of eyespan's own; the log has the details."""

    code = "internal"


def system_text(number: int) -> str:
    """What the system calls this error."""
    return os.strerror(number)


UNLOADED = (ImportError, MemoryError, OSError, SyntaxError)
"""What loading a part of eyespan at first use raises, when the system has no descriptor or no memory left."""
_SHORTAGES = (_errno.ENFILE, _errno.EMFILE, _errno.ENOMEM)  # the words of the first hold those of the second


def shortage(error: BaseException) -> int:
    """The errno of what the system had none left of (descriptors, memory) when this error came about; 0 if not so.

    For what is no read itself: most of eyespan is loaded when it is first needed, and a module that cannot be loaded
    now can be later. The loader of shared libraries says why in words only, the compiler and the standard library at
    times not at all: of an import that failed for no reason given, the system is asked whether it has any left now.
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
    """What to tell of an error that is due to a shortage; None for any other."""
    number = shortage(error)
    return SystemFailure(path, number) if number else None


def from_os_error(error: OSError, path: str) -> ReadError:
    """The one table from errno to class."""
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
