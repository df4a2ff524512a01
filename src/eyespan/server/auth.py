"""Who may use the HTTP door: tokens, and what each caller is given.

A token is 32 random bytes, kept in a file that only its owner reads, or taken from the environment; never from the
command line, which every program on a machine can see. Only its SHA-256 stays in memory, and all known ones are
compared in full on every request, so the time taken tells nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import time
from pathlib import Path

from eyespan.dialects import DIALECTS
from eyespan.record import record
from eyespan.server.options import ServeOptions, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ENVIRONMENT = "EYESPAN_TOKEN"
MIN_TOKEN_CHARS = 16
FREE_FAILURES = 5
"""Wrong tokens an address may send in a minute before it is told to wait; a right one is never made to."""


@record
class Caller:
    """One holder of a token: its name in the audit log, and what it gets where that differs from the rest."""

    name: str
    roots: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    rate: int | None = None


class Tokens:
    """The tokens that are known, and whose they are."""

    def __init__(self, digests: dict[bytes, Caller]) -> None:
        self._digests = digests

    @property
    def callers(self) -> list[Caller]:
        return list(self._digests.values())

    async def caller(self, token: str) -> Caller | None:
        """Whose token this is; None if nobody's."""
        given = _digest(token)
        found = None
        for digest, caller in self._digests.items():
            if hmac.compare_digest(digest, given):
                found = caller
        return found


class Issuer:
    """Access tokens of an OAuth issuer: JWTs signed with a key the issuer publishes, meant for this server."""

    ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
    """Those with a public key; a shared secret could be forged from what is public."""

    def __init__(self, issuer: str, resource: str, scopes: tuple[str, ...], jwks: str | None = None) -> None:
        self.issuer = issuer
        self.resource = resource
        self.scopes = scopes
        self._jwks = jwks
        self._keys: Any = None

    @property
    def callers(self) -> list[Caller]:
        return []

    async def caller(self, token: str) -> Caller | None:
        import anyio

        return await anyio.to_thread.run_sync(self.verify, token)

    def verify(self, token: str) -> Caller | None:
        """Checks signature, issuer, audience, times and scopes. Fetches the issuer's keys when they are not known."""
        import jwt

        try:
            if self._keys is None:
                self._keys = jwt.PyJWKClient(self._jwks or self._discover(), cache_keys=True, timeout=5)
            claims = jwt.decode(
                token,
                self._keys.get_signing_key_from_jwt(token).key,
                algorithms=list(self.ALGORITHMS),
                audience=self.resource,
                issuer=self.issuer,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, OSError, ValueError):
            return None
        scope = claims.get("scope", "")
        held = scope.split() if isinstance(scope, str) else list(scope)
        if not set(self.scopes) <= set(held):
            return None
        return Caller(str(claims.get("sub") or claims.get("client_id") or "oauth")[:100])

    def _discover(self) -> str:
        """Where the issuer publishes its keys. Raises: OSError, ValueError."""
        import json
        from urllib.parse import urlsplit
        from urllib.request import urlopen

        base = urlsplit(self.issuer)
        if base.scheme not in ("https", "http"):
            raise ValueError("the issuer must be a URL")
        path = base.path.rstrip("/")
        root = f"{base.scheme}://{base.netloc}"
        last: Exception = ValueError("the issuer publishes no metadata")
        for place in (
            f"{root}/.well-known/oauth-authorization-server{path}",
            f"{root}{path}/.well-known/openid-configuration",
        ):
            try:
                with urlopen(place, timeout=5) as answer:
                    found = json.loads(answer.read(1 << 20))
                if found.get("issuer") == self.issuer and isinstance(found.get("jwks_uri"), str):
                    return str(found["jwks_uri"])
            except (OSError, ValueError) as error:
                last = error
        raise ValueError(str(last))


class Meter:
    """Calls a minute, as a bucket that fills steadily; for each name its own."""

    MAX_NAMES = 10_000

    def __init__(self, per_minute: float, burst: float | None = None) -> None:
        self._per_second = per_minute / 60
        self._burst = burst if burst is not None else max(1.0, per_minute)
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait_seconds(self, name: str, cost: float = 1.0) -> float:
        """Takes one from the bucket; 0, or how long until there would have been one."""
        now = time.monotonic()
        if len(self._buckets) > self.MAX_NAMES:
            self._buckets.clear()
        level, then = self._buckets.get(name, (self._burst, now))
        level = min(self._burst, level + (now - then) * self._per_second)
        if level < cost:
            self._buckets[name] = (level, now)
            return (cost - level) / self._per_second
        self._buckets[name] = (level - cost, now)
        return 0.0


def load(options: ServeOptions) -> tuple[Tokens | Issuer | None, str]:
    """Who may come in, and where a person finds the token.

    Raises: Usage, OSError.
    """
    if options.oauth_issuer is not None and options.oauth_resource is not None:
        keys = os.environ.get("EYESPAN_OAUTH_JWKS")
        issuer = Issuer(options.oauth_issuer, options.oauth_resource, options.oauth_scopes, keys)
        return issuer, f"tokens of {options.oauth_issuer}"
    if options.tokens is not None:
        return Tokens(_read_callers(options.tokens)), f"tokens of {options.tokens}"
    if options.no_token:
        return None, "no token"
    # Taken out of the environment, so that no child process inherits it.
    given = os.environ.pop(ENVIRONMENT, None)
    if given is not None:
        return Tokens({_digest(_checked(given.strip(), ENVIRONMENT)): Caller("token")}), f"token from {ENVIRONMENT}"
    path = Path(options.token_file) if options.token_file else default_token_file()
    return Tokens({_digest(_read_or_make(path)): Caller("token")}), f"token in {path}"


def default_token_file() -> Path:
    """In the user's state folder. Its name ends in .key, which the built-in rules let no tool read."""
    state = os.environ.get("XDG_STATE_HOME")
    base = Path(state) if state and os.path.isabs(state) else Path.home() / ".local" / "state"
    return base / "eyespan" / "token.key"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _checked(token: str, where: str) -> str:
    if len(token) < MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
        raise Usage(f"the token from {where} must be at least {MIN_TOKEN_CHARS} visible ASCII characters")
    return token


def _read_or_make(path: Path) -> str:
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
            raise Usage(f"others can read {path}; `chmod 600` it, or remove it to get a new token")
        return _checked(file.read(4096).strip(), str(path))


def _read_callers(path: str) -> dict[bytes, Caller]:
    """The table of callers: `[name]` with sha256 or token_file, and if wanted roots, dialects, rate."""
    import tomllib

    with open(path, "rb") as file:
        try:
            table = tomllib.load(file)
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Usage(f"{path}: {error}") from None
        except RecursionError:
            raise Usage(f"{path}: it is nested too deeply") from None
    found: dict[bytes, Caller] = {}
    for name, row in table.items():
        where = f"{path}: [{name}]"
        if not isinstance(row, dict):
            raise Usage(f"{path}: {name} must be a table")
        unknown = sorted(set(row) - {"sha256", "token_file", "roots", "dialects", "rate"})
        if unknown:
            raise Usage(f"{where} has unknown keys: {', '.join(unknown)}")
        digest = _digest_of(row, where)
        if digest in found:
            raise Usage(f"{where} has the token of another caller")
        rate = row.get("rate")
        if rate is not None and (type(rate) is not int or rate < 1):
            raise Usage(f"{where}: rate must be a whole number of calls a minute")
        roots, dialects = _texts(row, "roots", where), _texts(row, "dialects", where)
        for dialect in dialects:
            if dialect not in DIALECTS:
                raise Usage(f"{where}: no dialect {dialect!r}; there are {', '.join(DIALECTS)}")
        found[digest] = Caller(name, roots, dialects, rate)
    if not found:
        raise Usage(f"{path} names no caller")
    return found


def _digest_of(row: dict[str, Any], where: str) -> bytes:
    if ("sha256" in row) == ("token_file" in row):
        raise Usage(f"{where} needs sha256 or token_file, one of them")
    if "token_file" in row:
        try:
            return _digest(_read_token(Path(str(row["token_file"]))))
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise Usage(f"{where}: token_file cannot be read: {error}") from None
    try:
        digest = bytes.fromhex(row["sha256"])
    except (TypeError, ValueError):
        digest = b""
    if len(digest) != 32:
        raise Usage(f"{where}: sha256 must be the 64 hex digits of the token's SHA-256")
    return digest


def _texts(row: dict[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = row.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise Usage(f"{where}: {key} must be a list of strings")
    return tuple(value)
