"""The arguments of `eyespan serve`, read by hand as all of the command line: argparse takes longer than the server."""

from __future__ import annotations

from eyespan.context import DEADLINE_SECONDS, as_seconds
from eyespan.dialects import DIALECTS
from eyespan.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

HELP = """\
eyespan serve: the read tool as an MCP server

  eyespan serve                                    over standard input and output, for a host that starts it
  eyespan --root ~/code serve --dialect codex      another folder, another dialect
  eyespan serve --dialect codex --dialect claude   both, as codex_read_file and claude_Read
  eyespan serve --http 127.0.0.1:8765              one server for many agents; the token is in the file it names
  eyespan serve --audit reads.jsonl                who read what; `eyespan audit reads.jsonl` sums it up

In a host's configuration:  {"mcpServers": {"eyespan": {"command": "eyespan", "args": ["--root", "/work", "serve"]}}}

What is offered
  --dialect NAME        the tool's schema and manners (repeatable; `eyespan dialects` lists them)
  --rich                send PDFs as embedded documents too; most hosts cannot show them
  --timeout SECONDS     the longest one read may take (10)
  --audit FILE          one JSON line for each call: who, what, how much; never contents
  --audit-required      refuse to read while that line cannot be written
  --audit-bytes N       start a new file behind N bytes, keeping four old ones (16777216)
  --no-sandbox          run without the kernel sandbox (`eyespan doctor` lists its layers)

Over HTTP (pip install 'eyespan[mcp]')
  --http HOST:PORT      streamable HTTP at /mcp, health at /healthz, Prometheus figures at /metrics
  --allow-remote        listen on an address that other machines reach; a token is then a must
  --allow-host NAME     a Host header to accept besides the address itself (repeatable), with its port if it has one
  --allow-origin URL    an Origin header to accept (repeatable); none otherwise
  --token-file FILE     where the bearer token is; made on first start. EYESPAN_TOKEN in the environment goes before it
  --no-token            no token; only on a loopback address, and only if you trust every program on this machine
  --tokens FILE         TOML: several callers, each with its own token, folders and dialects
  --oauth-issuer URL    take access tokens of this issuer instead (signed JWTs), with
  --oauth-resource URL  ... the public address of this server, which the tokens must be for
  --oauth-scope NAME    ... a scope they must have (repeatable)
  --workers N           processes that share the port (1)
  --calls N             calls at once, in each process (8)
  --rate N              calls a minute for each caller (600)
"""


class Usage(Exception):
    """Arguments that make no sense; the text says which and why."""


@record
class ServeOptions:
    """What `eyespan serve` was asked for."""

    dialects: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = {}
    """Settings of dialects, from the configuration file."""
    rich: bool = False
    timeout_seconds: float = DEADLINE_SECONDS
    audit: str | None = None
    audit_required: bool = False
    audit_bytes: int = 16 * 1024 * 1024
    http: tuple[str, int] | None = None
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
    no_sandbox: bool = False
    help: bool = False


_FLAGS = {
    "--rich": "rich",
    "--audit-required": "audit_required",
    "--allow-remote": "allow_remote",
    "--no-token": "no_token",
    "--no-sandbox": "no_sandbox",
    "--help": "help",
    "-h": "help",
}
_TEXTS = {
    "--audit": "audit",
    "--token-file": "token_file",
    "--tokens": "tokens",
    "--oauth-issuer": "oauth_issuer",
    "--oauth-resource": "oauth_resource",
}
_LISTS = {
    "--dialect": "dialects",
    "--allow-host": "allow_hosts",
    "--allow-origin": "allow_origins",
    "--oauth-scope": "oauth_scopes",
}
_NUMBERS = {"--workers": ("workers", 64), "--calls": ("calls", 256), "--rate": ("rate", 10**9)}
_NUMBERS["--audit-bytes"] = ("audit_bytes", 2**40)
_HTTP_ONLY = (
    "allow_remote",
    "allow_hosts",
    "allow_origins",
    "token_file",
    "no_token",
    "tokens",
    "oauth_issuer",
    "oauth_resource",
    "oauth_scopes",
)


def parse(argv: list[str]) -> ServeOptions:
    """The options behind `eyespan serve`; `--name value` and `--name=value` are the same.

    Raises: Usage.
    """
    values: dict[str, Any] = {}
    left = list(argv)
    while left:
        word = left.pop(0)
        name, has_value, value = word.partition("=")
        if name in _FLAGS:
            if has_value:
                raise Usage(f"{name} takes no value")
            values[_FLAGS[name]] = True
            continue
        if name not in _TEXTS and name not in _LISTS and name not in _NUMBERS and name not in ("--http", "--timeout"):
            raise Usage(f"eyespan serve does not know {word!r}; --help shows what it knows")
        if not has_value:
            if not left:
                raise Usage(f"{name} needs a value")
            value = left.pop(0)
        if not value:
            raise Usage(f"{name} needs a value")
        if name in _TEXTS:
            values[_TEXTS[name]] = value
        elif name in _LISTS:
            values[_LISTS[name]] = (*values.get(_LISTS[name], ()), value)
        elif name in _NUMBERS:
            field, most = _NUMBERS[name]
            values[field] = _number(name, value, most)
        elif name == "--http":
            values["http"] = _address(value)
        else:
            try:
                values["timeout_seconds"] = as_seconds(value)
            except ValueError as error:
                raise Usage(f"--timeout {error}") from None
    return _checked(ServeOptions(**values))


def _checked(options: ServeOptions) -> ServeOptions:
    for dialect in options.dialects:
        if dialect not in DIALECTS:
            raise Usage(f"no dialect {dialect!r}; there are {', '.join(DIALECTS)}")
    if options.audit_required and options.audit is None:
        raise Usage("--audit-required needs --audit FILE")
    if options.http is None:
        for field in _HTTP_ONLY:
            if getattr(options, field):
                raise Usage(f"--{field.rstrip('s').replace('_', '-')} is for --http")
        return options
    host = options.http[0]
    local = is_loopback(host)
    if not local and not options.allow_remote:
        raise Usage(f"{host} can be reached from other machines; add --allow-remote if that is meant")
    if options.no_token and not local:
        raise Usage("--no-token is for a loopback address only")
    if options.no_token and (options.tokens or options.token_file or options.oauth_issuer):
        raise Usage("--no-token and a token at once make no sense")
    if bool(options.oauth_issuer) != bool(options.oauth_resource):
        raise Usage("--oauth-issuer and --oauth-resource go together")
    if options.oauth_scopes and not options.oauth_issuer:
        raise Usage("--oauth-scope needs --oauth-issuer")
    if options.oauth_issuer and options.tokens:
        raise Usage("--tokens and --oauth-issuer at once: choose one")
    return options


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address. A name other than localhost could be anything."""
    if host.lower() == "localhost" or host == "::1":
        return True
    parts = host.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isascii() and part.isdigit() for part in parts)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise Usage(f"an IPv6 address goes in brackets: --http [{host}]:{port}")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise Usage(f"--http wants HOST:PORT, for example 127.0.0.1:8765, not {text!r}")
    return host, int(port)


def _number(name: str, text: str, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= most:
        raise Usage(f"{name} wants a whole number from 1 to {most}, not {text!r}")
    return int(text)
