"""The jail of `eyespan serve`: what the server gives up before its first thread, for good, its children included.

    files        Landlock: the roots and the interpreter can be read, the index cache and the audit log's folder
                 written, the interpreter run; nothing else opens, whatever the code above believes
    network      no socket can be made or connected (seccomp), no TCP port reached (Landlock); the one that listens is
                 open already. With an OAuth issuer: TCP to its port only
    scopes       no signal to, and no abstract socket of, a process outside (Landlock)
    calls        what a server never does: other processes' memory, mounts, owners and modes, identities (seccomp)
    privileges   no program started here gains rights
    dumps        no core dumps, and no other process of the same user reads this one's memory or environment

It is the second wall: the guard refuses first, and what it promises does not rest on this. Each layer is tried on its
own and `enter` tells which stand; what the kernel lacks is told with the reason, and the server goes on without it.

Not covered: `stat` and the names of links (Landlock does not ask about those), UDP where an issuer is set, descriptors
that are open already (of /proc only the table of mounts, which is held open to be read again: `guard.mounts`).
"""

from __future__ import annotations

import os
import sys
import time

from eyespan.guard import mounts
from eyespan.record import record
from eyespan.sandbox import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from eyespan.guard import Root
    from eyespan.server.audit import Audit
    from eyespan.server.options import ServeOptions

ALONE_SECONDS = 3.0
"""How long other threads have to end before the jail is given up: more than one that is idle stays."""
LAYERS = ("files", "network", "scopes", "calls", "privileges", "dumps")

READ = kernel.READ_FILE | kernel.READ_DIR
RUN = kernel.READ_FILE | kernel.EXECUTE
APPEND = kernel.WRITE_FILE | kernel.MAKE_FILE | kernel.REMOVE_FILE
"""What a log needs that is turned over: renaming takes a name away and makes one."""

REFUSED = (
    "handles",
    "attributes",
    "sockets",
    "shared memory",
    "other processes' insides",
    "identity",
    "the kernel's wider surface",
)
"""Groups of calls that no part of the server makes, the worker's start included."""

# What the C library, its loader and Python's own modules open by name when they are first needed. No secrets.
_SYSTEM = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/openssl.cnf",
    "/etc/crypto-policies",
    "/dev/urandom",
)
MIME_TYPES = (  # `mimetypes.knownfiles`, without the time it takes to import that
    "/etc/mime.types",
    "/etc/httpd/mime.types",
    "/etc/httpd/conf/mime.types",
    "/etc/apache/mime.types",
    "/etc/apache2/mime.types",
    "/usr/local/etc/httpd/conf/mime.types",
    "/usr/local/lib/netscape/mime.types",
    "/usr/local/etc/mime.types",
)
# To find an issuer by name and to trust its certificate.
_RESOLVING = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
)


@record
class Needs:
    """What a server has to reach from inside."""

    roots: tuple[Root, ...] = ()
    append: tuple[str, ...] = ()
    """Folders in which files are written and turned over, or single files that are written."""
    keep: tuple[str, ...] = ()
    """Folders in which files are written, read and thrown away."""
    ports: tuple[int, ...] | None = None
    """TCP ports that may be connected to; None: no network at all."""


@record
class Report:
    """Which layers stand; for those that do not, why."""

    missing: dict[str, str]
    wide: tuple[str, ...] = ()
    """Roots in which, or around which, the jail lets files be written, because the audit log lies there."""

    @property
    def up(self) -> tuple[str, ...]:
        return tuple([name for name in LAYERS if name not in self.missing])

    def line(self) -> str:
        """For the line that a server shows at its start."""
        up = ", ".join(self.up)
        why = "; ".join([f"without {name}: {reason}" for name, reason in self.missing.items()])
        if not self.up:
            reasons = list(dict.fromkeys(self.missing.values()))
            return f"no jail: {'; '.join(reasons)}"
        told = f"jailed: {up}" + (f" ({why})" if why else "")
        for root in self.wide:
            told += f"; the audit log's folder is writable and shares files with the root {root}: better a folder apart"
        return told


OFF_LINE = "WARNING: no jail (--no-jail): nothing but the guard keeps this process from other files and the network"


def confine(options: ServeOptions, roots: Iterable[Root], audit: Audit | None) -> str:
    """Enters the jail that a server with these options needs, or says in its log that it was told not to.

    Returns what the line at the start tells of it. Raises: OSError, when `--no-jail` cannot be written down and must.
    """
    if options.no_jail:
        if audit is not None:
            from eyespan.server.audit import complain

            try:
                audit.write({"event": "start", "jail": "off"})
            except OSError as error:
                if options.audit_required:
                    raise
                complain(error)
        return "no jail"
    return enter(needs_of(options, roots)).line()


def needs_of(options: ServeOptions, roots: Iterable[Root]) -> Needs:
    """What a server with these options has to reach. Makes the cache folder, which could not be made from inside."""
    from eyespan.lines.cache import shared

    # Asked for here, where the home folder can still be looked up.
    cache = shared().folder
    if cache is not None:
        try:
            os.makedirs(cache, mode=0o700, exist_ok=True)
        except OSError:
            pass  # then indexes are kept in memory only
    ports = None
    if options.oauth_issuer is not None:
        ports = ports_of([options.oauth_issuer, os.environ.get("EYESPAN_OAUTH_JWKS", options.oauth_issuer)])
    append: tuple[str, ...] = ()
    if options.audit is not None:
        log = os.path.abspath(options.audit)
        # A device or a pipe is never turned over, so it needs nothing of its folder.
        append = (os.path.dirname(log) if os.path.isfile(log) or not os.path.exists(log) else log,)
    return Needs(
        tuple(roots),
        append,
        (cache,) if cache is not None else (),
        ports,
    )


def enter(needs: Needs) -> Report:
    """Goes behind the walls, for good. To be called before the process has a second thread."""
    if not kernel.LINUX:
        return Report(dict.fromkeys(LAYERS, f"{sys.platform} has no such walls"))
    missing: dict[str, str] = {}
    if not _no_dumps():
        missing["dumps"] = "the system refused"
    if not kernel.no_new_privileges():
        missing["privileges"] = "the system refused"
    if not _alone():
        # Landlock and seccomp hold for one thread; half a jail would be told as a whole one.
        reason = "other threads run already"
        missing.update(dict.fromkeys(("files", "network", "scopes", "calls"), reason))
        return _report(missing, needs)
    version = kernel.landlock_version()
    reason = _landlock(needs)
    if reason:
        missing.update({"files": reason, "network": reason, "scopes": reason})
    else:
        told = f"Landlock is at version {version}, that came with"
        if version < kernel.NETWORK_SINCE:
            missing["network"] = f"{told} {kernel.NETWORK_SINCE} (Linux 6.7)"
        if version < kernel.SCOPES_SINCE:
            missing["scopes"] = f"{told} {kernel.SCOPES_SINCE} (Linux 6.12)"
    machine = os.uname().machine
    groups = [group for group in REFUSED if group != "sockets" or needs.ports is None]
    code = kernel.calls_filter(machine, groups)
    if code is None:
        missing["calls"] = f"the calls of {machine} are not known"
    elif not kernel.install_filter(code):
        missing["calls"] = "the system takes no seccomp filter"
    elif needs.ports is None:
        missing.pop("network", None)  # without a socket there is nothing to connect
    if "calls" in missing and needs.ports is None:
        missing.setdefault("network", "TCP is closed by Landlock, the rest would be by the filter of calls")
    return _report(missing, needs)


def _report(missing: dict[str, str], needs: Needs) -> Report:
    wide = []
    if "files" not in missing:
        for folder in needs.append:
            real = os.path.realpath(folder)
            for root in needs.roots:
                if os.path.commonpath([real, root.canonical]) in (real, root.canonical):
                    wide.append(root.path)
    return Report({name: missing[name] for name in LAYERS if name in missing}, tuple(wide))


def _no_dumps() -> bool:
    import resource

    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (OSError, ValueError):
        return False
    return kernel.not_dumpable()


def _alone() -> bool:
    """Whether this is the only thread; those that are about to end are waited for."""
    from eyespan.guard import blocking

    blocking.renew()  # a thread that waited for a slow root would be given more work, outside of the walls
    until = time.monotonic() + ALONE_SECONDS
    while _threads() > 1:
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import _thread

        return 1 + _thread._count()


def _landlock(needs: Needs) -> str:
    """Puts Landlock up; why not, or "" when it stands."""
    try:
        rules = kernel.Ruleset()
    except OSError as error:
        return f"this kernel has no Landlock ({error.strerror})"
    try:
        for root in needs.roots:
            rules.allow(root.fd, READ)
        for path in readable():
            rules.allow_path(path, READ)
        for path in executable():
            rules.allow_path(path, RUN)
        rules.allow_path(os.devnull, kernel.READ_FILE | kernel.WRITE_FILE)
        for path in needs.append:
            rules.allow_path(path, APPEND)
        for path in needs.keep:
            rules.allow_path(path, APPEND | READ)
        if needs.ports is not None:
            for path in (*_RESOLVING, *_certificates()):
                rules.allow_path(path, READ)
            if rules.version >= kernel.NETWORK_SINCE:
                for port in needs.ports:
                    rules.allow_port(port, kernel.CONNECT_TCP)
        mounts.hold()  # /proc cannot be opened from inside
        return "" if rules.restrict() else "the system refused"
    except OSError as error:
        return f"the system refused ({error.strerror})"
    finally:
        rules.close()


def readable() -> list[str]:
    """What has to be read for modules, shared libraries, codecs and time zones, wherever this Python lies."""
    from eyespan.worker import module_path

    found = [*module_path(), os.path.dirname(os.__file__)]
    for prefix in dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)):
        found += [os.path.join(prefix, name) for name in ("lib", "lib64", "pyvenv.cfg", "share/zoneinfo")]
    found += [entry for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.path.isabs(entry)]
    return list(dict.fromkeys([*found, *_SYSTEM, *MIME_TYPES]))


def executable() -> list[str]:
    """What the worker's start runs: this interpreter, and the loader that the kernel runs first."""
    found = [sys.executable] if sys.executable else []
    try:
        found.append(os.readlink("/proc/self/exe"))  # where sys.executable is a wrapper
    except OSError:
        pass
    return [*found, *[loader for loader in [_loader(path) for path in dict.fromkeys(found)] if loader]]


def _loader(path: str) -> str:
    """The loader that a program names in its header; "" for one that needs none, or is no 64-bit program."""
    from struct import error, unpack_from

    try:
        with open(path, "rb") as file:
            head = file.read(4096)
        if head[:6] != b"\x7fELF\x02\x01":
            return ""
        table, size, count = *unpack_from("<Q", head, 32), *unpack_from("<HH", head, 54)
        for at in range(table, table + size * count, size):
            kind, _, offset, _, _, length = unpack_from("<IIQQQQ", head, at)
            if kind == 3:  # PT_INTERP
                return os.fsdecode(head[offset : offset + length].rstrip(b"\0"))
    except (OSError, error):
        pass
    return ""


def _certificates() -> list[str]:
    """Where this Python's TLS looks for authorities."""
    import ssl

    paths = ssl.get_default_verify_paths()
    return [path for path in (paths.cafile, paths.capath) if path]


def ports_of(addresses: Iterable[str]) -> tuple[int, ...]:
    """The ports of these addresses, and those of HTTPS and of DNS over TCP."""
    from urllib.parse import urlsplit

    ports = {443, 53}
    for address in addresses:
        try:
            parts = urlsplit(address)
            ports.add(parts.port or (80 if parts.scheme == "http" else 443))
        except ValueError:
            pass  # told when the issuer is asked
    return tuple(sorted(ports))


# --- for `eyespan doctor` ---------------------------------------------------------------------------------------------


def probe(roots: Iterable[str]) -> tuple[Report, bool]:
    """Which layers a server of these roots would have, and whether documents can be decoded behind them.

    Found out by a process that enters the jail and tells. Raises: OSError, ValueError, when there is no such process.
    """
    import json
    import subprocess

    code = (
        "import sys; sys.path[:] = sys.argv[1].split(chr(10)); "
        "from eyespan.sandbox.server import tell; tell(sys.argv[2:])"
    )
    path = "\n".join([entry for entry in sys.path if entry])
    done = subprocess.run([sys.executable, "-c", code, path, *roots], capture_output=True, timeout=60, check=False)
    told = json.loads(done.stdout)
    return Report(told["missing"], tuple(told["wide"])), told["decodes"]


def tell(roots: list[str]) -> None:
    """Enters the jail and writes to standard output, as JSON, what `probe` wants to know."""
    import json

    from eyespan import worker
    from eyespan.server.options import ServeOptions
    from eyespan.workspace import Workspace

    workspace = Workspace(*roots)
    report = enter(needs_of(ServeOptions(), workspace.roots))
    decodes = worker.layers()["process"]
    sys.stdout.write(json.dumps({"missing": report.missing, "wide": report.wide, "decodes": decodes}))
