"""Bearer tokens and their callers.

A token is 32 random bytes in a file that only its owner can read, or comes from the environment; never from the command
line, which every program on the machine can see. Only its SHA-256 stays in memory. Every request is compared with all
known tokens in full, so the time that takes reveals nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyespan.dialects import dialect_class
from eyespan.escape import in_plain_words
from eyespan.extras.http.http_options import HttpOptions
from eyespan.server.serve_options import InvalidOptions

ENVIRONMENT = "EYESPAN_TOKEN"
MIN_TOKEN_CHARS = 16
MAX_TOKEN_FILE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Caller:
    """The holder of a token: its name in the audit log, and its own roots, dialects and rate if it has any."""

    name: str
    roots: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    rate: int | None = None


class Tokens:
    """The known tokens and their holders."""

    def __init__(self, digests: dict[bytes, Caller]) -> None:
        self._digests = digests

    @property
    def callers(self) -> list[Caller]:
        return list(self._digests.values())

    def replace(self, digests: dict[bytes, Caller]) -> None:
        """Use other tokens from the next request on."""
        self._digests = digests

    def find(self, token: str) -> Caller | None:
        """Return the holder of a token, or None for an unknown token."""
        given = _digest(token)
        owner = None
        for digest, caller in self._digests.items():
            if hmac.compare_digest(digest, given):
                owner = caller
        return owner


def load_tokens(options: HttpOptions) -> tuple[Tokens, str]:
    """Load the table of callers, or the one token, and return a note on its place. Raises: InvalidOptions, OSError."""
    if options.tokens is not None:
        return Tokens(read_callers(options.tokens)), f"tokens of {options.tokens}"
    # Remove it from the environment, so that no child process inherits it.
    given = os.environ.pop(ENVIRONMENT, None)
    if given is not None:
        token = _require_strong(given.strip(), ENVIRONMENT)
        return Tokens({_digest(token): Caller("token")}), f"token from {ENVIRONMENT}"
    path = Path(options.token_file) if options.token_file else default_token_file()
    return Tokens({_digest(_read_or_create(path)): Caller("token")}), f"token in {path}"


def reload_tokens(options: HttpOptions) -> dict[bytes, Caller]:
    """Read the table of callers, or the one token, again. Raises: InvalidOptions, OSError."""
    if options.tokens is not None:
        return read_callers(options.tokens)
    path = Path(options.token_file) if options.token_file else default_token_file()
    return {_digest(_read_token(path)): Caller("token")}


def token_files(options: HttpOptions) -> list[str]:
    """Return the files that hold tokens: the table and those that it names, or the one token file."""
    if options.tokens is None:
        return [options.token_file or str(default_token_file())]
    files = [options.tokens]
    try:
        with open(options.tokens, "rb") as file:
            rows = tomllib.load(file)
        files += [str(row["token_file"]) for row in rows.values() if isinstance(row, dict) and "token_file" in row]
    except (OSError, ValueError, RecursionError):
        pass  # reported when the tokens are read
    return files


def default_token_file() -> Path:
    """Return the token file in the user's state directory. The built-in rules deny names that end in .key."""
    state = os.environ.get("XDG_STATE_HOME")
    base = Path(state) if state and os.path.isabs(state) else Path.home() / ".local" / "state"
    return base / "eyespan" / "token.key"


def read_callers(path: str) -> dict[bytes, Caller]:
    """Read the table of callers: `[name]` with sha256 or token_file, and optionally roots, dialects, rate.

    Raises: InvalidOptions, OSError.
    """
    with open(path, "rb") as file:
        try:
            table = tomllib.load(file)
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InvalidOptions(f"{path}: {in_plain_words(error)}") from None
        except RecursionError:
            raise InvalidOptions(f"{path}: nested too deeply") from None
    callers: dict[bytes, Caller] = {}
    for name, row in table.items():
        place = f"{path}: [{name}]"
        if not isinstance(row, dict):
            raise InvalidOptions(f"{path}: {name} must be a table")
        unknown = sorted(set(row) - {"sha256", "token_file", "roots", "dialects", "rate"})
        if unknown:
            raise InvalidOptions(f"{place} has unknown keys: {', '.join(unknown)}")
        digest = _row_digest(row, place)
        if digest in callers:
            raise InvalidOptions(f"{place} has the token of another caller")
        rate = row.get("rate")
        if rate is not None and (type(rate) is not int or rate < 1):
            raise InvalidOptions(f"{place}: rate must be a whole number of calls per minute")
        roots, dialects = _string_list(row, "roots", place), _string_list(row, "dialects", place)
        for dialect in dialects:
            try:
                dialect_class(dialect)
            except ValueError as error:
                raise InvalidOptions(f"{place}: {error}") from None
        callers[digest] = Caller(name, roots=roots, dialects=dialects, rate=rate)
    if not callers:
        raise InvalidOptions(f"{path} names no caller")
    return callers


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _require_strong(token: str, place: str) -> str:
    if len(token) < MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidOptions(f"the token from {place} must be at least {MIN_TOKEN_CHARS} visible ASCII characters")
    return token


def _read_or_create(path: Path) -> str:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        return _read_token(path)
    with os.fdopen(fd, "w") as file:
        token = secrets.token_urlsafe(32)
        file.write(token + "\n")
    return token


def _read_token(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        mode = os.fstat(file.fileno()).st_mode
        if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
            raise InvalidOptions(f"others can read {path}; `chmod 600` it, or remove it to get a new token")
        return _require_strong(file.read(MAX_TOKEN_FILE_BYTES).strip(), str(path))


def _row_digest(row: dict[str, Any], place: str) -> bytes:
    if ("sha256" in row) == ("token_file" in row):
        raise InvalidOptions(f"{place} needs either sha256 or token_file")
    if "token_file" in row:
        try:
            return _digest(_read_token(Path(str(row["token_file"]))))
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise InvalidOptions(f"{place}: token_file cannot be read: {in_plain_words(error)}") from None
    try:
        digest = bytes.fromhex(row["sha256"])
    except (TypeError, ValueError):
        digest = b""
    if len(digest) != 32:
        raise InvalidOptions(f"{place}: sha256 must be the 64 hex digits of the token's SHA-256")
    return digest


def _string_list(row: dict[str, Any], key: str, place: str) -> tuple[str, ...]:
    value = row.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise InvalidOptions(f"{place}: {key} must be a list of strings")
    return tuple(value)
