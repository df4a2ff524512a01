"""The sandbox around a server with given options."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from eyespan.guard import Root
from eyespan.guard.roots import RemoteRoot
from eyespan.sandbox import process
from eyespan.sandbox.server import Needs, enter

if TYPE_CHECKING:
    from eyespan.server.audit import Audit
    from eyespan.server.serve_options import ServeOptions


OFF_LINE = "WARNING: no sandbox (--no-sandbox): only the guard keeps this process from other files and the network"


def confine(options: ServeOptions, roots: Iterable[Root], audit: Audit | None, *, reached: Sequence[str] = ()) -> str:
    """Enter the sandbox that a server with these options needs, or record in its log that it runs without.

    `reached` are the addresses that the server connects to. Return the text for the start message. Raises: OSError, if
    the record is required and cannot be written.
    """
    memory = limit_memory(options.memory)
    if not options.no_sandbox:
        return f"{enter(needs_of(options, roots, reached)).line()}; {memory}"
    if audit is not None:
        from eyespan.server.audit import warn

        try:
            audit.write({"event": "start", "sandbox": "off"})
        except OSError as error:
            if options.audit_required:
                raise
            warn(error)
    return f"no sandbox; {memory}"


def limit_memory(megabytes: int) -> str:
    """Have freed memory returned, and limit the address space of this process and its children.

    Return the text for the start message.

    The limit is relative to the present size, because libraries and threads take more address space than memory. With
    0, on systems other than Linux, and under a lower limit of the host, the limits stay as they are.
    """
    process.return_memory()
    if not megabytes or not process.LINUX:
        return "no memory limit"
    with open("/proc/self/statm", "rb") as file:
        present_bytes = int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")
    if not process.lower_limit("AS", present_bytes + megabytes * 1_000_000):
        return "memory limit of the host"
    return f"memory limit {megabytes} MB"


def needs_of(options: ServeOptions, roots: Iterable[Root], reached: Sequence[str] = ()) -> Needs:
    """Return the needs of a server with these options."""
    remote = [root for root in roots if isinstance(root, RemoteRoot)] if process.LINUX else []
    for root in remote:
        root.confine()
    ports = ports_of(reached) if reached else None
    append: tuple[str, ...] = ()
    if options.audit is not None:
        log = os.path.abspath(options.audit)
        # A device or a pipe is never rotated, so it needs no access to its directory.
        append = (os.path.dirname(log) if os.path.isfile(log) or not os.path.exists(log) else log,)
    return Needs(
        roots=tuple([root for root in roots if not root.is_remote]), append=append, ports=ports, has_stores=bool(remote)
    )


def ports_of(addresses: Iterable[str]) -> tuple[int, ...]:
    """Return the ports of these addresses, and those of HTTPS and of DNS over TCP."""
    ports = {443, 53}
    for address in addresses:
        try:
            parts = urlsplit(address)
            ports.add(parts.port or (80 if parts.scheme == "http" else 443))
        except ValueError:
            pass  # reported when the issuer is asked
    return tuple(sorted(ports))
