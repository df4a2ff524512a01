"""`eyespan serve`: the MCP server."""

from __future__ import annotations

from collections.abc import Sequence

from eyespan import server
from eyespan.cli.options import COMMON, SET, Arguments, Option, UsageError, parse, settings_by_dialect, whole_number
from eyespan.dialects import dialect_class
from eyespan.server.options import DEFAULT_DIALECT, LOCAL_PREFIX, SYSTEMD, InvalidOptions, ServeOptions, validate
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


def _address(text: str) -> tuple[str, int]:
    if text == SYSTEMD or (text.startswith(LOCAL_PREFIX) and len(text) > len(LOCAL_PREFIX)):
        return text, 0
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"needs an IPv6 address in brackets: [{host}]:{port}")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"must be HOST:PORT, for example 127.0.0.1:8765, unix:PATH or systemd, not {text!r}")
    return host, int(port)


def _log_form(text: str) -> str:
    if text not in ("text", "json"):
        raise ValueError(f"must be text or json, not {text!r}")
    return text


_ONLY_HTTP = (
    Option("--allow-remote", text="listen on an address that other machines reach; a token is then required"),
    Option(
        "--allow-host",
        value="NAME",
        field="allow_hosts",
        is_repeatable=True,
        text="accept this Host header too, with its port if it has one; repeatable",
    ),
    Option(
        "--allow-origin",
        value="URL",
        field="allow_origins",
        is_repeatable=True,
        text="accept this Origin header (default: none); repeatable",
    ),
    Option(
        "--token-file",
        value="FILE",
        text="the file of the bearer token, made on first start; EYESPAN_TOKEN takes precedence",
    ),
    Option(
        "--no-token",
        text="require no token; only on a loopback address, for users who trust every local program",
    ),
    Option("--tls-cert", value="FILE", text="serve HTTPS with this certificate chain (PEM), and"),
    Option("--tls-key", value="FILE", text="... its private key; both are read again when they change"),
    Option("--otel", text="send metrics and traces to OpenTelemetry (OTEL_* variables; pip install 'eyespan[otel]')"),
    Option("--view", text="serve the page of `eyespan view` at /view: the tools of this server, and its reads, live"),
    Option("--log", value="FORM", convert=_log_form, text="text or json: the form of messages on standard error"),
    Option("--tokens", value="FILE", text="TOML: several callers, each with its own token, directories and dialects"),
    Option("--oauth-issuer", value="URL", text="accept the access tokens (signed JWTs) of this issuer instead, with"),
    Option("--oauth-resource", value="URL", text="... the public address of this server, which the tokens must name"),
    Option(
        "--oauth-scope",
        value="NAME",
        field="oauth_scopes",
        is_repeatable=True,
        text="... a scope that the tokens must have; repeatable",
    ),
)
OPTIONS = {
    "options": (
        Option(
            "--dialect",
            value="NAME",
            field="dialects",
            is_repeatable=True,
            text="the dialect of the tool (`eyespan dialects` lists them); repeatable",
        ),
        SET,
        Option("--rich", text="send PDFs as embedded documents too; most hosts cannot show them"),
        Option("--audit", value="FILE", text="log one JSON line per call: caller, path, size; never contents"),
        Option("--audit-required", text="refuse to read while that line cannot be written"),
        Option(
            "--audit-bytes",
            value="N",
            convert=whole_number(2**40),
            text=f"rotate the log at this size and keep four old files (default: {ServeOptions().audit_bytes})",
        ),
        Option(
            "--client-roots",
            text="over stdio: read only the directories that the client names, as far as they are below the roots",
        ),
        Option(
            "--no-sandbox",
            aliases=("--no-jail",),
            text="run without the kernel's sandbox around the server (`eyespan doctor` lists its layers)",
        ),
        Option(
            "--memory",
            value="MB",
            convert=whole_number(10**6, lowest=0),
            text=f"memory beyond that of the idle server (default: {ServeOptions().memory}; 0: no limit)",
        ),
    ),
    "over HTTP (pip install 'eyespan[http]')": (
        Option(
            "--http",
            value="HOST:PORT",
            convert=_address,
            text="serve streamable HTTP at /mcp, health at /healthz, Prometheus metrics at /metrics; also unix:PATH "
            "for a local socket, systemd for one that a socket unit passes",
        ),
        *_ONLY_HTTP,
        Option("--workers", value="N", convert=whole_number(64), text="processes that share the port (default: 1)"),
        Option("--calls", value="N", convert=whole_number(256), text="concurrent calls per process (default: 8)"),
        Option("--rate", value="N", convert=whole_number(10**9), text="calls per minute and caller (default: 600)"),
    ),
    "common options": COMMON,
}


def main(arguments: Arguments) -> int:
    """Serve until the host closes the connection. Returns the exit status."""
    options = serve_options(arguments)  # reports wrong usage before a root is opened
    # Directories may be given as operands, as users of other servers expect.
    workspace = arguments.workspace([*arguments.roots, *arguments.operands] if arguments.operands else ())

    def open_workspace(roots: Sequence[str] | None) -> Workspace:
        arguments.finish_loading()  # the server asks for a workspace when its modules are loaded
        return arguments.workspace(roots) if roots else workspace

    return server.serve(open_workspace, options)


def parse_words(words: Sequence[str]) -> ServeOptions:
    """Parse the words after `eyespan serve`. Raises: UsageError."""
    values, operands = parse("serve", words, [option for section in OPTIONS.values() for option in section])
    values.pop("help", None)
    return serve_options(Arguments(values, operands))


def serve_options(arguments: Arguments) -> ServeOptions:
    """Return the options of the server that a command line asks for. Raises: UsageError."""
    values = dict(arguments.values)
    if "http" not in values:
        for option in _ONLY_HTTP:
            if option.field in values:
                raise UsageError(f"{option.names[0]} works only with --http")
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
