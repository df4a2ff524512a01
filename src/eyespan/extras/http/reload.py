"""Reload tokens and certificates while the server runs.

The sandbox keeps a server from its own token file, so a keeper reads it: a process that is forked before the sandbox is
entered, reads nothing but the operator's files, and serves nothing. It looks at the files once a second, and at once
when the server gets SIGHUP. New contents go to the workers through shared memory. Contents that cannot be used are
reported, and the old ones stay in force. The keeper ends with the server.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyespan.escape import in_plain_words
from eyespan.extras.http.auth.callers import ENVIRONMENT, Caller, reload_tokens, token_files
from eyespan.extras.http.http_options import HttpOptions
from eyespan.server import json_messages
from eyespan.server.serve_options import InvalidOptions

if TYPE_CHECKING:
    import socket

    from eyespan.extras.http.log import Log
    from eyespan.extras.http.notify import Notifier


MAX_BYTES = 4 * 1024 * 1024
_HEADER = struct.Struct("=QQ")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What can change while the server runs: the tokens with their holders, and the certificate with its key."""

    tokens: dict[bytes, Caller] | None = None
    chain: bytes = b""
    key: bytes = b""


class SharedSecrets:
    """Secrets in memory that the keeper writes and all workers read."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, MAX_BYTES)

    @property
    def version(self) -> int:
        """The number of changes; odd while the keeper writes."""
        return int(_HEADER.unpack_from(self._memory)[0])

    def publish(self, secrets: Secrets) -> None:
        """Store new secrets. Raises: InvalidOptions if they are too large."""
        data = _packed(secrets)
        if len(data) > MAX_BYTES - _HEADER.size:
            raise InvalidOptions("the tokens take more than 4 MB")
        version = self.version
        _HEADER.pack_into(self._memory, 0, version + 1, len(data))
        self._memory[_HEADER.size : _HEADER.size + len(data)] = data
        _HEADER.pack_into(self._memory, 0, version + 2, len(data))

    def read(self) -> tuple[int, Secrets] | None:
        """Return the version and the secrets, or None while the keeper writes."""
        version, size = _HEADER.unpack_from(self._memory)
        if version % 2 or not version:
            return None
        data = self._memory[_HEADER.size : _HEADER.size + size]
        # Compared before the data is used: it may consist of two versions.
        return (version, _unpacked(data)) if self.version == version else None


class Keeper:
    """The process that reads the files again."""

    def __init__(
        self, options: HttpOptions, log: Log, *, has_tokens: bool, closes: Iterable[socket.socket | Notifier]
    ) -> None:
        """Fork the process. Call it before the process has a second thread, and before the sandbox.

        `has_tokens`: the tokens are in files. `closes` are objects of the server that the keeper must not hold open.
        """
        self.secrets = SharedSecrets()
        read_end, self._write_end = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(read_end)
            return
        try:
            os.close(self._write_end)
            for each in closes:
                each.close()
            for number in (signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)  # sent to the whole group of processes by a terminal
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            _keep(options, self.secrets, log, read_end, has_tokens=has_tokens)
        finally:
            os._exit(0)

    def look(self) -> None:
        """Ask the keeper to read the files now."""
        try:
            os.write(self._write_end, b"r")
        except OSError:
            pass  # the keeper has ended

    def close(self) -> None:
        """End the keeper. Workers close their copies of the pipe with this too."""
        fd, self._write_end = self._write_end, -1
        if fd >= 0:
            os.close(fd)


def has_token_files(options: HttpOptions, environment: Mapping[str, str]) -> bool:
    """Return True if the tokens are in files: not with an issuer, no token at all, or one from the environment."""
    if options.tokens is not None:
        return True
    return options.oauth_issuer is None and not options.no_token and ENVIRONMENT not in environment


def load_secrets(options: HttpOptions, *, has_tokens: bool) -> Secrets:
    """Read everything that can change. Raises: InvalidOptions, OSError."""
    chain = key = b""
    if options.tls_cert is not None and options.tls_key is not None:
        from eyespan.extras.http import tls

        chain, key = tls.load_files(options.tls_cert, options.tls_key)
        tls.context_of(chain, key)
    return Secrets(tokens=reload_tokens(options) if has_tokens else None, chain=chain, key=key)


def watched_files(options: HttpOptions, *, has_tokens: bool) -> list[str]:
    """Return the files whose change means a reload, those that the table of tokens names included."""
    files = token_files(options) if has_tokens else []
    return files + [path for path in (options.tls_cert, options.tls_key) if path is not None]


def _keep(options: HttpOptions, shared: SharedSecrets, log: Log, control_fd: int, *, has_tokens: bool) -> None:
    seen: list[tuple[int, ...]] | None = None
    is_asked = False
    while True:
        signature = _signature(watched_files(options, has_tokens=has_tokens))
        if signature != seen or is_asked:
            # Read at the start too: a file may have changed since the server read it.
            is_start, seen = seen is None, signature
            try:
                shared.publish(load_secrets(options, has_tokens=has_tokens))
                if not is_start:
                    log.write("reload", "tokens and certificates were read again", ok=True)
            except (InvalidOptions, OSError) as error:
                refusal = f"not reloaded, the old tokens and certificates stay in force: {in_plain_words(error)}"
                log.write("reload", refusal, ok=False)
        ready, _, _ = select.select([control_fd], [], [], 1.0)
        is_asked = bool(ready)
        if ready and not os.read(control_fd, 4096):
            return  # the server has ended


def _signature(paths: list[str]) -> list[tuple[int, ...]]:
    versions: list[tuple[int, ...]] = []
    for path in paths:
        try:
            facts = os.stat(path)
            versions.append((facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns))
        except OSError:
            versions.append(())
    return versions


def _packed(secrets: Secrets) -> bytes:
    tokens = None
    if secrets.tokens is not None:
        tokens = [
            [digest.hex(), caller.name, caller.roots, caller.dialects, caller.rate]
            for digest, caller in secrets.tokens.items()
        ]
    return b"".join(json_messages.dumps([tokens, secrets.chain.hex(), secrets.key.hex()]))


def _unpacked(data: bytes) -> Secrets:
    tokens, chain, key = json_messages.loads(data, values=1)
    callers = None
    if tokens is not None:
        callers = {
            bytes.fromhex(digest): Caller(name, roots=tuple(roots), dialects=tuple(dialects), rate=rate)
            for digest, name, roots, dialects, rate in tokens
        }
    return Secrets(tokens=callers, chain=bytes.fromhex(chain), key=bytes.fromhex(key))


def on_hangup(look: Callable[[], None] | None, log: Log) -> None:
    """Handle SIGHUP: reload, or report that there is nothing to reload."""

    def handle(*_: object) -> None:
        if look is None:
            log.write("reload", "nothing to reload: the token is not in a file")
        else:
            look()

    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, handle)
