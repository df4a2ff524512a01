"""The options of `eyespan serve` over HTTP."""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import dataclass
from typing import Any, ClassVar

from eyespan.cli.options import Parser, UsageError, one_of, text, whole_number
from eyespan.server.serve_options import InvalidOptions, ServeOptions

SYSTEMD, LOCAL_PREFIX = "systemd", "unix:"
"""Values of `--http` other than an address: a socket that systemd passes, and a local socket by its path."""
TITLE = "over HTTP (pip install 'eyespan[http]')"


@dataclass(frozen=True, slots=True)
class HttpOptions(ServeOptions):
    """The options of a server over HTTP, by the names they have on the command line."""

    transport: ClassVar[str] = "eyespan.extras.http.app:serve"
    http: tuple[str, int] = ("127.0.0.1", 0)
    """Host and port; `SYSTEMD` or `LOCAL_PREFIX` and a path in place of the host, with port 0."""
    tls_cert: str | None = None
    tls_key: str | None = None
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

    def validate(self) -> None:
        """Check the rules that hold between options. Raises: InvalidOptions."""
        ServeOptions.validate(self)
        host = self.http[0]
        is_local = is_loopback(host) or host == SYSTEMD or host.startswith(LOCAL_PREFIX)
        has_own_tokens = self.tokens or self.token_file or self.oauth_issuer
        for is_wrong, reason in (
            ((self.tls_cert is None) != (self.tls_key is None), "--tls-cert and --tls-key need each other"),
            (self.tls_cert and host.startswith(LOCAL_PREFIX), "--tls-cert works only with a TCP address"),
            (
                not is_local and not self.allow_remote,
                f"other machines can reach {host}; add --allow-remote if that is intended",
            ),
            (self.no_token and not is_local, "--no-token works only on a loopback address"),
            (self.no_token and has_own_tokens, "--no-token contradicts --tokens, --token-file and --oauth-issuer"),
            (
                bool(self.oauth_issuer) != bool(self.oauth_resource),
                "--oauth-issuer and --oauth-resource need each other",
            ),
            (self.oauth_scopes and not self.oauth_issuer, "--oauth-scope needs --oauth-issuer"),
            (self.oauth_issuer and self.tokens, "--tokens and --oauth-issuer exclude each other"),
        ):
            if is_wrong:
                raise InvalidOptions(reason)


def is_loopback(host: str) -> bool:
    """Return True if only this machine reaches the address. A host name other than localhost could be any machine."""
    if host.lower() == "localhost" or host == "::1":
        return True
    parts = host.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isascii() and part.isdigit() for part in parts)


def add_options(parser: Parser) -> None:
    """Add the options to those of `eyespan serve`."""
    http = parser.add_argument_group(TITLE)
    http.add_argument(
        "--http",
        metavar="HOST:PORT",
        type=_address,
        help="serve streamable HTTP at /mcp, health at /healthz, Prometheus metrics at /metrics; also unix:PATH for "
        "a local socket, systemd for one that a socket unit passes",
    )
    for name, meaning in (
        ("--allow-remote", "listen on an address that other machines reach; a token is then required"),
        ("--no-token", "require no token; only on a loopback address, for users who trust every local program"),
        ("--view", "serve the page of `eyespan view` at /view: the tools of this server, and its reads, live"),
    ):
        http.add_argument(name, action="store_true", help=meaning)
    for name, noun, convert, meaning in (
        ("--log", "FORM", one_of("text", "json"), "text or json: the form of messages on standard error"),
        ("--workers", "N", whole_number(64), "processes that share the port (default: 1)"),
        ("--calls", "N", whole_number(256), "concurrent calls per process (default: 8)"),
        ("--rate", "N", whole_number(10**9), "calls per minute and caller (default: 600)"),
        ("--token-file", "FILE", text, "the file of the bearer token, made on first start; EYESPAN_TOKEN precedes it"),
        ("--tls-cert", "FILE", text, "serve HTTPS with this certificate chain (PEM), and"),
        ("--tls-key", "FILE", text, "... its private key; both are read again when they change"),
        ("--tokens", "FILE", text, "TOML: several callers, each with its own token, directories and dialects"),
        ("--oauth-issuer", "URL", text, "accept the access tokens (signed JWTs) of this issuer instead, with"),
        ("--oauth-resource", "URL", text, "... the public address of this server, which the tokens must name"),
    ):
        http.add_argument(name, metavar=noun, type=convert, help=meaning)
    for name, noun, meaning in (
        ("--oauth-scope", "NAME", "... a scope that the tokens must have; repeatable"),
        ("--allow-host", "NAME", "accept this Host header too, with its port if it has one; repeatable"),
        ("--allow-origin", "URL", "accept this Origin header (default: none); repeatable"),
    ):
        field = name.removeprefix("--").replace("-", "_") + "s"
        http.add_argument(name, metavar=noun, dest=field, action="append", type=text, help=meaning)


def options_class(parser: Parser, values: dict[str, Any]) -> type[ServeOptions]:
    """Return the class of the options with these values. Raises: UsageError, for an option that needs `--http`."""
    if "http" in values:
        return HttpOptions
    for option in parser.sections()[TITLE]:
        if option.dest in values:
            raise UsageError(f"{option.option_strings[0]} works only with --http")
    return ServeOptions


def _address(given: str) -> tuple[str, int]:
    if text(given) == SYSTEMD or (given.startswith(LOCAL_PREFIX) and len(given) > len(LOCAL_PREFIX)):
        return given, 0
    host, colon, port = given.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ArgumentTypeError(f"needs an IPv6 address in brackets: [{host}]:{port}")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        form = "HOST:PORT, for example 127.0.0.1:8765, unix:PATH or systemd"
        raise ArgumentTypeError(f"must be {form}, not {given!r}")
    return host, int(port)
