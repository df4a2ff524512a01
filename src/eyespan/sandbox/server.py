"""The sandbox of `eyespan serve`. The server enters it before its first thread, for good, with all its children.

    files        Landlock: only the roots and the interpreter can be read, only the audit log's directory
                 written, only the interpreter run, whatever the code above attempts
    network      no socket can be created or connected (seccomp), no TCP port reached (Landlock); the listening one is
                 open already. Connections to the stores of remote roots are made by a process outside
                 (`extras.remote.connector`). With an OAuth issuer: TCP to its port only
    scopes       no signal to, and no abstract socket of, a process outside (Landlock)
    calls        only those that a server needs: no memory of other processes, mounts, owners, modes, extended
                 attributes, times, identities, priorities (seccomp)
    privileges   no program started here gains rights
    dumps        no core dumps, and no other process of the same user reads this one's memory or environment

It is the second line of defence: the guard refuses first, and its promises do not depend on this. Each layer is tried
on its own. `enter` reports which are up and why the others are not, and the server runs without those.

Not covered: `stat` and the names of links (Landlock does not check those), UDP and listening on a port of the system's
choice if an issuer is set, programs in memory of their own (`memfd_create`; they stay in the sandbox), and descriptors
that are already open (of /proc only the mount table, kept open by `guard.mounts` to be read again).
"""

from __future__ import annotations

import _thread
import os
import sys
import time
from dataclasses import dataclass

from eyespan.escape import visible
from eyespan.guard import Root, mounts
from eyespan.sandbox import decoder, interpreter, landlock, process, seccomp
from eyespan.sandbox.seccomp import Check

THREAD_END_SECONDS = 3.0
"""The time for other threads to end before the sandbox is given up: longer than an idle thread stays."""
LAYERS = ("files", "network", "scopes", "calls", "privileges", "dumps")

READ = landlock.READ_FILE | landlock.READ_DIR
RUN = landlock.READ_FILE | landlock.EXECUTE
APPEND = landlock.WRITE_FILE | landlock.MAKE_FILE | landlock.REMOVE_FILE
"""The rights for a log with rotation: renaming removes one name and makes another."""

ALLOWED = (
    *decoder.ALLOWED,
    *("files", "written files", "processes", "a decoder's sandbox", "pipes and events", "open sockets"),
)
"""The groups of calls that the server needs, the start of the worker included."""
NETWORK = ("new sockets",)
"""The groups that it needs as well to reach an OAuth issuer."""
_NAMESPACES = 0x7E020080
"""The flags of clone that make namespaces."""
CHECKS = (
    Check("clone", 0, "has no bit", (_NAMESPACES,)),
    # Death signal, dumpable, name of the thread, seccomp, capabilities, no new privileges: own state only.
    Check("prctl", 0, "one of", (1, 2, 3, 4, 15, 16, 21, 22, 23, 38, 39)),
    # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: nothing that types into a terminal or changes a file.
    Check("ioctl", 1, "one of", (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),
    # Descriptors, flags, locks, seals: no F_SETOWN, F_SETSIG or leases.
    Check("fcntl", 1, "one of", (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032, 1033, 1034)),
    Check("prlimit64", 0, "one of", (0,)),  # of this process
    Check("socketpair", 0, "one of", (1,)),  # AF_UNIX
    # SOCK_STREAM and SOCK_SEQPACKET, with or without the two flags: a datagram can be sent to any socket with a name.
    Check("socketpair", 1, "one of", (1, 0x801, 0x80001, 0x80801, 5, 0x805, 0x80005, 0x80805)),
)
NETWORK_CHECKS = (
    Check("socket", 0, "one of", (2, 10)),  # AF_INET, AF_INET6
    Check("socket", 1, "one of", (1, 0x801, 0x80001, 0x80801, 2, 0x802, 0x80002, 0x80802)),  # SOCK_STREAM, SOCK_DGRAM
    Check("socket", 2, "one of", (0, 6, 17)),  # TCP and UDP: Landlock checks no port of MPTCP
    # MSG_FASTOPEN connects to a port that Landlock does not check.
    *[Check(call, at, "has no bit", (0x20000000,)) for call, at in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3))],
)

# To resolve an issuer's name and to verify its certificate.
_RESOLVING = """
    /etc/resolv.conf /etc/hosts /etc/host.conf /etc/nsswitch.conf /etc/gai.conf /etc/services /etc/ssl/certs
    /etc/pki/tls/certs /etc/pki/ca-trust/extracted /usr/share/ca-certificates /usr/local/share/ca-certificates
"""


@dataclass(frozen=True, slots=True)
class Needs:
    """The files and ports that a server has to reach from inside the sandbox."""

    roots: tuple[Root, ...] = ()
    append: tuple[str, ...] = ()
    """Directories with log files that are written and rotated, or single files that are written."""
    ports: tuple[int, ...] | None = None
    """TCP ports that may be connected to; None: no network at all."""
    has_stores: bool = False
    """There are remote roots: the certificates of their servers are checked here."""
    files: tuple[str, ...] = ()
    """Other directories whose files are read."""


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """The reasons for the layers that are missing."""

    missing: dict[str, str]
    writable_roots: tuple[str, ...] = ()
    """Roots that share files with a writable directory, because the audit log is in or above them."""

    @property
    def up(self) -> tuple[str, ...]:
        return tuple([name for name in LAYERS if name not in self.missing])

    def line(self) -> str:
        """Return one line for the start message of the server."""
        if not self.up:
            return f"no sandbox: {'; '.join(dict.fromkeys(self.missing.values()))}"
        text = f"sandboxed: {', '.join(self.up)}"
        if self.missing:
            text += f" ({'; '.join([f'without {name}: {reason}' for name, reason in self.missing.items()])})"
        for root in self.writable_roots:
            text += "; the audit log's directory is writable and shares files with the root "
            text += f"{visible(root)}: use a separate one"
        return text


def enter(needs: Needs) -> SandboxReport:
    """Enter the sandbox, for good. Call it before the process has a second thread."""
    if not process.LINUX:
        return SandboxReport(dict.fromkeys(LAYERS, f"not available on {sys.platform}"))
    missing: dict[str, str] = {}
    if not (process.limit("CORE", 0) and process.not_dumpable()):
        missing["dumps"] = "refused by the system"
    if not process.no_new_privileges():
        missing["privileges"] = "refused by the system"
    if not _is_only_thread():
        # Landlock and seccomp apply to one thread, so the others would stay outside: report no such layer at all.
        missing.update(dict.fromkeys(("files", "network", "scopes", "calls"), "other threads are running"))
        return _report(missing, needs)
    version = landlock.version()
    reason = _apply_landlock(needs)
    if reason:
        missing.update({"files": reason, "network": reason, "scopes": reason})
    else:
        if version < landlock.NETWORK_SINCE:
            missing["network"] = f"needs Landlock version {landlock.NETWORK_SINCE} (Linux 6.7), this is {version}"
        if version < landlock.SCOPES_SINCE:
            missing["scopes"] = f"needs Landlock version {landlock.SCOPES_SINCE} (Linux 6.12), this is {version}"
    machine = os.uname().machine
    code = server_filter(machine, has_network=needs.ports is not None)
    if code is None:
        missing["calls"] = f"unknown system call numbers of {machine}"
    elif not seccomp.install(code):
        missing["calls"] = "the system accepts no seccomp filter"
    elif needs.ports is None:
        missing.pop("network", None)  # without a socket nothing can be connected
    if "calls" in missing and needs.ports is None:
        missing.setdefault("network", "only TCP is refused, by Landlock; the rest needs the filter of calls")
    return _report(missing, needs)


def server_filter(machine: str, *, has_network: bool) -> bytes | None:
    """Return the seccomp program of a server, or None if the machine's call numbers are unknown."""
    if has_network:
        return seccomp.build_filter(machine, (*ALLOWED, *NETWORK), (*CHECKS, *NETWORK_CHECKS))
    return seccomp.build_filter(machine, ALLOWED, CHECKS)


def _report(missing: dict[str, str], needs: Needs) -> SandboxReport:
    writable = []
    if "files" not in missing:
        for directory in needs.append:
            real = os.path.realpath(directory)
            for root in needs.roots:
                if os.path.commonpath([real, root.canonical]) in (real, root.canonical):
                    writable.append(root.path)
    return SandboxReport({name: missing[name] for name in LAYERS if name in missing}, tuple(writable))


def _is_only_thread() -> bool:
    """Wait for threads that are about to end, then return whether this is the only one."""
    until = time.monotonic() + THREAD_END_SECONDS
    while _thread_count() > 1:
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _thread_count() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1 + _thread._count()


def _apply_landlock(needs: Needs) -> str:
    """Return "", or the reason if Landlock cannot be applied."""
    try:
        rules = landlock.Ruleset()
    except OSError as error:
        return f"this kernel has no Landlock ({error.strerror})"
    try:
        for root in needs.roots:
            rules.allow(root.fd, READ)
        for path in interpreter.readable():
            rules.allow_path(path, READ)
        for path in interpreter.executable():
            rules.allow_path(path, RUN)
        rules.allow_path(os.devnull, landlock.READ_FILE | landlock.WRITE_FILE)
        for path in needs.files:
            rules.allow_path(path, READ)
        for path in needs.append:
            rules.allow_path(path, APPEND)
        if needs.ports is not None or needs.has_stores:
            for path in (*_RESOLVING.split(), *_certificates()):
                rules.allow_path(path, READ)
        if rules.version >= landlock.NETWORK_SINCE:
            for port in needs.ports or ():
                rules.allow_port(port, landlock.CONNECT_TCP)
        mounts.keep_table_open()  # /proc cannot be opened from inside
        return "" if rules.restrict() else "refused by the system"
    except OSError as error:
        return f"refused by the system ({error.strerror})"
    finally:
        rules.close()


def _certificates() -> list[str]:
    """Return the paths in which this Python's TLS looks for certificate authorities."""
    import ssl

    paths = ssl.get_default_verify_paths()
    return [path for path in (paths.cafile, paths.capath) if path]
