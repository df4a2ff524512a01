"""`eyespan serve`: the MCP server."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentTypeError
from collections.abc import Sequence
from typing import Any

from eyespan import server
from eyespan.cli.main import command_parser
from eyespan.cli.options import (
    Arguments,
    Parser,
    UsageError,
    add_map,
    add_settings,
    one_of,
    settings_by_dialect,
    text,
    whole_number,
)
from eyespan.dialects import dialect_class
from eyespan.server.serve_options import DEFAULT_DIALECT, LOCAL_PREFIX, SYSTEMD, InvalidOptions, ServeOptions, validate
from eyespan.workspace import Workspace

HELP = """\
usage: eyespan serve [options] [DIR ...]

Runs the read tool as an MCP server.

  eyespan serve                         for a host that starts it (stdio)
  eyespan serve ~/code --dialect codex  another directory, another dialect
  eyespan serve --dialect codex --dialect claude
                                        both, as codex_read_file and claude_Read
  eyespan serve --dialect claude --set line_number_format=arrow
                                        a setting of the dialect
  eyespan serve --http 127.0.0.1:8765   one server for many agents; it prints
                                        where its token is
  eyespan serve --audit reads.jsonl     log every call; `eyespan audit
                                        reads.jsonl` summarizes the log

In a host's configuration:
  {"mcpServers": {"eyespan": {"command": "eyespan",
                              "args": ["--root", "/work", "serve"]}}}
"""


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


FLAGS = {
    "--rich": "send PDFs as embedded documents too; most hosts cannot show them",
    "--audit-required": "refuse to read while the line of --audit cannot be written",
    "--client-roots": "over stdio: read only the directories that the client names, as far as they are below the roots",
    "--no-sandbox": "run without the kernel's sandbox around the server (`eyespan doctor` lists its layers)",
}
HTTP = "over HTTP (pip install 'eyespan[http]')"
HTTP_FLAGS = {
    "--allow-remote": "listen on an address that other machines reach; a token is then required",
    "--no-token": "require no token; only on a loopback address, for users who trust every local program",
    "--otel": "send metrics and traces to OpenTelemetry (OTEL_* variables; pip install 'eyespan[otel]')",
    "--view": "serve the page of `eyespan view` at /view: the tools of this server, and its reads, live",
}
HTTP_VALUES = {
    "--token-file": ("FILE", "the file of the bearer token, made on first start; EYESPAN_TOKEN takes precedence"),
    "--tls-cert": ("FILE", "serve HTTPS with this certificate chain (PEM), and"),
    "--tls-key": ("FILE", "... its private key; both are read again when they change"),
    "--tokens": ("FILE", "TOML: several callers, each with its own token, directories and dialects"),
    "--oauth-issuer": ("URL", "accept the access tokens (signed JWTs) of this issuer instead, with"),
    "--oauth-resource": ("URL", "... the public address of this server, which the tokens must name"),
}
HTTP_LISTS = {
    "--oauth-scope": ("NAME", "... a scope that the tokens must have; repeatable"),
    "--allow-host": ("NAME", "accept this Host header too, with its port if it has one; repeatable"),
    "--allow-origin": ("URL", "accept this Origin header (default: none); repeatable"),
}
"""Options that need `--http`: those without a value, with one, and with several."""
NUMBERS = {
    "--workers": (64, "processes that share the port (default: 1)"),
    "--calls": (256, "concurrent calls per process (default: 8)"),
    "--rate": (10**9, "calls per minute and caller (default: 600)"),
}


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--dialect",
        metavar="NAME",
        dest="dialects",
        action="append",
        type=text,
        help="the dialect of the tool (`eyespan dialects` lists them); repeatable",
    )
    add_settings(parser)
    add_map(parser)
    for name, meaning in FLAGS.items():
        parser.add_argument(name, action="store_true", help=meaning)
    parser.add_argument("--no-jail", action="store_true", dest="no_sandbox", help=SUPPRESS)
    parser.add_argument(
        "--audit", metavar="FILE", type=text, help="log one JSON line per call: caller, path, size; never contents"
    )
    parser.add_argument(
        "--audit-bytes",
        metavar="N",
        type=whole_number(2**40),
        help=f"rotate the log at this size and keep four old files (default: {ServeOptions().audit_bytes})",
    )
    parser.add_argument(
        "--memory",
        metavar="MB",
        type=whole_number(10**6, lowest=0),
        help=f"memory beyond that of the idle server (default: {ServeOptions().memory}; 0: no limit)",
    )
    parser.add_argument(
        "--max-answer-tokens",
        metavar="N",
        type=whole_number(10**9, lowest=0),
        help=f"answers of more tokens have fewer lines (default: {ServeOptions().max_answer_tokens}; 0: no limit)",
    )
    http = parser.add_argument_group(HTTP)
    http.add_argument(
        "--http",
        metavar="HOST:PORT",
        type=_address,
        help="serve streamable HTTP at /mcp, health at /healthz, Prometheus metrics at /metrics; also unix:PATH for "
        "a local socket, systemd for one that a socket unit passes",
    )
    for name, meaning in HTTP_FLAGS.items():
        http.add_argument(name, action="store_true", help=meaning)
    for name, (noun, meaning) in HTTP_VALUES.items():
        http.add_argument(name, metavar=noun, type=text, help=meaning)
    for name, (noun, meaning) in HTTP_LISTS.items():
        http.add_argument(name, metavar=noun, dest=_field(name) + "s", action="append", type=text, help=meaning)
    http.add_argument(
        "--log",
        metavar="FORM",
        type=one_of("text", "json"),
        help="text or json: the form of messages on standard error",
    )
    for name, (highest, meaning) in NUMBERS.items():
        http.add_argument(name, metavar="N", type=whole_number(highest), help=meaning)


def _field(name: str) -> str:
    return name.removeprefix("--").replace("-", "_")


def main(arguments: Arguments) -> int:
    """Serve until the host closes the connection. Returns the exit status."""
    options = serve_options(arguments)  # reports wrong usage before a root is opened
    # Directories may be given as operands, as users of other servers expect.
    workspace = arguments.workspace([*arguments.roots, *arguments.operands] if arguments.operands else ())

    def open_workspace(roots: Sequence[str] | None) -> Workspace:
        return arguments.workspace(roots) if roots else workspace

    return server.serve(open_workspace, options)


def parse_words(words: Sequence[str]) -> ServeOptions:
    """Parse the words after `eyespan serve`. Raises: UsageError."""
    values, operands = command_parser("serve").parse(words)
    return serve_options(Arguments(values, operands))


def serve_options(arguments: Arguments) -> ServeOptions:
    """Return the options of the server that a command line asks for. Raises: UsageError."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in arguments.values.items()
    }
    for name in (*HTTP_FLAGS, *HTTP_VALUES, *HTTP_LISTS, "--log"):
        if "http" not in values and not {_field(name), _field(name) + "s"}.isdisjoint(values):
            raise UsageError(f"{name} works only with --http")
    values["settings"] = settings_by_dialect(values.get("settings", ()), values.get("dialects", (DEFAULT_DIALECT,)))
    options = ServeOptions(**values, timeout_seconds=arguments.timeout_seconds)
    try:
        validate(options)
        for dialect, settings in options.settings.items():
            dialect_class(dialect)(**settings)
    except (TypeError, ValueError) as error:
        raise UsageError(f"--set: {error}") from None
    except InvalidOptions as error:
        raise UsageError(str(error)) from None
    return options
