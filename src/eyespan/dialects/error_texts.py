"""The texts of failed reads: a table per dialect, by names of errors, and the system errors of each platform.

A table maps a name to a text. The names of an error are tried from the narrowest to the widest: `directory` before
`not_regular`, `ELOOP` before `io`, and `any` last. In a text, `{path}` is the path as the dialect shows it, `{name}`
its last component, `{suffix_}` the suffix of that and a blank, `{kind}` the kind of the file, `{rule}` the rule of the
policy, `{reason}` eyespan's own text, `{size}` the bytes of a file that is too large, and `{system}` the text that the
original's platform has for the error.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from typing import Literal

from eyespan import errors
from eyespan.errors import ReadError
from eyespan.escape import written_path

Platform = Literal["node", "python", "rust", "go"]

DEFAULTS = {
    "tool_denied": "This tool is denied by policy.",
    "policy_denied": "Reading is forbidden by the rule {rule}: {path}",
    "outside_root": "The path is outside the directories that may be read: {path}",
    "any": "{reason}: {path}",
}
_NODE_TEXTS = {
    "EISDIR": "illegal operation on a directory",
    "ENAMETOOLONG": "name too long",
    "ELOOP": "too many symbolic links encountered",
}
"""The texts of Node that are not those of the system in lower case."""


def error_text(error: ReadError, texts: Mapping[str, str], platform: Platform, call: str) -> tuple[str, str]:
    """Return the name by which a table knows an error, and the text for it; `call` is the system call it names."""
    table = {**DEFAULTS, **texts}
    name = next(name for name in error_names(error) if name in table)
    base = error.path.rpartition("/")[2]
    suffix = os.path.splitext(base.rstrip("."))[1]
    values = {
        "path": written_path(error.path),
        "name": base,
        "suffix_": f"{suffix} " if suffix else "",
        "kind": getattr(error, "kind", ""),
        "rule": getattr(error, "rule", ""),
        "reason": str(error),
        "size": getattr(error, "size_bytes", 0),
        "system": system_text(error, platform, call),
    }
    return name, table[name].format(**values)


def error_names(error: ReadError) -> Iterator[str]:
    """Yield the names of an error, the narrowest first."""
    match error:
        case errors.PolicyDenied(rule=""):
            yield "tool_denied"
        case errors.NotRegular():
            yield error.what
        case errors.Binary():
            yield f"binary_{error.kind}"
        case errors.Unreadable():
            yield f"unreadable_{error.kind}"
        case errors.ScanLimit(needs_numbers=True):
            yield "numbers_scan_limit"
        case errors.InvalidPath() if "\0" in error.path:
            yield "nul"
        case errors.InvalidPath():
            yield from (error.code, "not_found")  # a file system that takes every name has no such file
        case errors.TooMuchMemory():
            yield from ("too_much_memory", "any")  # never the text of a file that is too large
    number = _system_number(error)
    if number:
        yield errno.errorcode.get(number, "EIO")
    yield error.code
    if number:
        yield "system"
    yield "any"


def system_text(error: ReadError, platform: Platform, call: str) -> str:
    """Return the text of the platform for an error of the system; eyespan's own for all others."""
    path = written_path(error.path)
    if isinstance(error, errors.InvalidPath) and "\0" in error.path:
        quoted = error.path.replace("\\", "\\\\").replace("\0", "\\x00").replace("'", "\\'")
        return {
            "node": f"The argument 'path' must be a string, Uint8Array, or URL without null bytes. Received '{quoted}'",
            "python": "embedded null byte",
            "rust": "file name contained an unexpected NUL byte",
            "go": f"{call} {path}: invalid argument",
        }[platform]
    number = _system_number(error)
    if not number:
        return str(error)
    text = os.strerror(number)
    match platform:
        case "python":
            return f"[Errno {number}] {text}: {error.path!r}"
        case "rust":
            return f"{text} (os error {number})"
        case "go":
            return f"{call} {path}: {text[0].lower()}{text[1:]}"
    code = errno.errorcode.get(number, "EIO")
    end = ", read" if code == "EISDIR" else f", {call} '{path}'"
    return f"{code}: {_NODE_TEXTS.get(code, f'{text[0].lower()}{text[1:]}')}{end}"


def _system_number(error: ReadError) -> int:
    """Return the errno of an error whose text is the system's; 0 for errors that eyespan words itself."""
    if isinstance(error, errors.InvalidPath):
        return errno.ENOENT
    if isinstance(error, errors.NotRegular):
        return errno.EISDIR if error.what == "directory" else 0
    if isinstance(error, errors.SystemFailure) and error.reason == os.strerror(error.errno):
        return error.errno
    return 0
