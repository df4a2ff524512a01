"""The settings of one server: what `eyespan serve` was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eyespan.context import DEADLINE_SECONDS
from eyespan.dialects import dialect_class

DEFAULT_DIALECT = "native"
SYSTEMD, LOCAL_PREFIX = "systemd", "unix:"
"""Values of `--http` other than an address: a socket that systemd passes, and a local socket by its path."""


class InvalidOptions(Exception):
    """Options that contradict each other or name something that cannot be used. The message explains which."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of `eyespan serve`, by the names they have on the command line."""

    dialects: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of dialects, from `--set`; they take precedence over those of the configuration file."""
    rich: bool = False
    timeout_seconds: float = DEADLINE_SECONDS
    audit: str | None = None
    audit_required: bool = False
    audit_bytes: int = 16 * 1024 * 1024
    http: tuple[str, int] | None = None
    """Host and port; `SYSTEMD` or `LOCAL_PREFIX` and a path in place of the host, with port 0."""
    tls_cert: str | None = None
    tls_key: str | None = None
    otel: bool = False
    log: str = "text"
    """`text` or `json`: the form of the messages on standard error."""
    allow_remote: bool = False
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    token_file: str | None = None
    no_token: bool = False
    tokens: str | None = None
    oauth_issuer: str | None = None
    oauth_resource: str | None = None
    oauth_scopes: tuple[str, ...] = ()
    workers: int = 1
    calls: int = 8
    rate: int = 600
    view: bool = False
    """Serve the page of `eyespan view` at /view."""
    no_sandbox: bool = False
    client_roots: bool = False
    max_answer_tokens: int = 25_000
    """An answer that is estimated at more tokens has fewer lines; 0 is no limit. Hosts refuse or cut longer ones."""
    memory: int = 1024
    """Megabytes that the process may take in addition to what it has at its start; 0 is no limit."""


def validate(options: ServeOptions) -> None:
    """Check the rules that hold between options. Raises: InvalidOptions."""
    for dialect in options.dialects:
        try:
            dialect_class(dialect)
        except ValueError as error:
            raise InvalidOptions(str(error)) from None
    if options.audit_required and options.audit is None:
        raise InvalidOptions("--audit-required needs --audit FILE")
    if options.http is None:
        if options.view:
            raise InvalidOptions("--view needs --http; `eyespan view` serves the page alone")
        return
    if options.client_roots:
        raise InvalidOptions(
            "--client-roots works only over standard input and output: requests over HTTP share no state; "
            "give callers directories of their own with --tokens"
        )
    host = options.http[0]
    is_local = is_loopback(host) or host == SYSTEMD or host.startswith(LOCAL_PREFIX)
    if (options.tls_cert is None) != (options.tls_key is None):
        raise InvalidOptions("--tls-cert and --tls-key need each other")
    if options.tls_cert is not None and host.startswith(LOCAL_PREFIX):
        raise InvalidOptions("--tls-cert works only with a TCP address")
    if not is_local and not options.allow_remote:
        raise InvalidOptions(f"other machines can reach {host}; add --allow-remote if that is intended")
    if options.no_token and not is_local:
        raise InvalidOptions("--no-token works only on a loopback address")
    if options.no_token and (options.tokens or options.token_file or options.oauth_issuer):
        raise InvalidOptions("--no-token contradicts --tokens, --token-file and --oauth-issuer")
    if bool(options.oauth_issuer) != bool(options.oauth_resource):
        raise InvalidOptions("--oauth-issuer and --oauth-resource need each other")
    if options.oauth_scopes and not options.oauth_issuer:
        raise InvalidOptions("--oauth-scope needs --oauth-issuer")
    if options.oauth_issuer and options.tokens:
        raise InvalidOptions("--tokens and --oauth-issuer exclude each other")


def is_loopback(host: str) -> bool:
    """Return True if only this machine reaches the address. A host name other than localhost could be any machine."""
    if host.lower() == "localhost" or host == "::1":
        return True
    parts = host.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isascii() and part.isdigit() for part in parts)
