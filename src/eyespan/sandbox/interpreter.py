"""The files that this Python needs: modules, shared libraries, its own program and the loader of that program."""

from __future__ import annotations

import os
import sys
from struct import error, unpack_from

# Opened by name by the C library, its loader and Python's own modules when they are first needed. No secrets.
_SYSTEM = """
    /lib /lib64 /usr/lib /usr/lib64 /usr/local/lib /usr/local/lib64 /nix/store /gnu/store /etc/ld.so.cache
    /etc/ld.so.preload /etc/localtime /usr/share/zoneinfo /etc/ssl/openssl.cnf /etc/pki/tls/openssl.cnf
    /etc/crypto-policies /dev/urandom
"""
_MIME_TYPES = """
    /etc/mime.types /etc/httpd/mime.types /etc/httpd/conf/mime.types /etc/apache/mime.types
    /etc/apache2/mime.types /usr/local/etc/httpd/conf/mime.types /usr/local/lib/netscape/mime.types
    /usr/local/etc/mime.types
"""
MIME_TYPES = tuple(_MIME_TYPES.split())
"""`mimetypes.knownfiles`, without the time that importing it takes."""


def module_path() -> list[str]:
    """Return the directory of eyespan, then those of `sys.path` but for the one that Python puts first.

    That one is the directory of the script or the current one. eyespan needs nothing from it, and it may be anything:
    a home directory, a workspace full of modules of other people.
    """
    entries = sys.path
    if entries and not sys.flags.safe_path:
        first = os.path.realpath(entries[0] or os.curdir)
        script = os.path.dirname(os.path.realpath(sys.argv[0])) if sys.argv and sys.argv[0] else ""
        if first in (os.path.realpath(os.curdir), script):
            entries = entries[1:]
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [own, *[entry for entry in entries if os.path.isabs(entry)]]


def readable() -> list[str]:
    """Return the paths of modules, shared libraries, codecs and time zones, wherever this Python is installed."""
    paths = [*module_path(), os.path.dirname(os.__file__)]
    for prefix in dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)):
        paths += [os.path.join(prefix, name) for name in ("lib", "lib64", "pyvenv.cfg", "share/zoneinfo")]
    paths += [entry for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.path.isabs(entry)]
    return list(dict.fromkeys([*paths, *_SYSTEM.split(), *MIME_TYPES]))


def executable() -> list[str]:
    """Return the paths of this interpreter and of the loader that the kernel runs before it."""
    programs = [sys.executable] if sys.executable else []
    try:
        programs.append(os.readlink("/proc/self/exe"))  # differs where sys.executable is a wrapper
    except OSError:
        pass
    return [*programs, *[loader for loader in [_loader_of(path) for path in dict.fromkeys(programs)] if loader]]


def _loader_of(path: str) -> str:
    """Return the loader named in a program's header, or "" if it names none or is not a 64-bit program."""
    try:
        with open(path, "rb") as file:
            header = file.read(4096)
        if header[:6] != b"\x7fELF\x02\x01":
            return ""
        table, size, count = *unpack_from("<Q", header, 32), *unpack_from("<HH", header, 54)
        for at in range(table, table + size * count, size):
            kind, _, offset, _, _, length = unpack_from("<IIQQQQ", header, at)
            if kind == 3:  # PT_INTERP
                return os.fsdecode(header[offset : offset + length].rstrip(b"\0"))
    except (OSError, error):
        pass
    return ""
