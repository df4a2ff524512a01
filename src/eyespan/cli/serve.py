"""`eyespan serve`: the MCP server."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from eyespan import plugins, server
from eyespan.cli.main import command_parser
from eyespan.cli.options import (
    Arguments,
    Parser,
    UsageError,
    add_map,
    add_settings,
    settings_by_dialect,
    text,
    whole_number,
)
from eyespan.dialects import dialect_class
from eyespan.server.serve_options import DEFAULT_DIALECT, InvalidOptions, ServeOptions
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
  eyespan serve --audit reads.jsonl     log every call; `eyespan view --audit
                                        reads.jsonl` shows the log

In a host's configuration:
  {"mcpServers": {"eyespan": {"command": "eyespan",
                              "args": ["--root", "/work", "serve"]}}}
"""


FLAGS = {
    "--structured": "answers also as data, for hosts that call tools from code; other hosts then ignore the blocks",
    "--audit-required": "refuse to read while the line of --audit cannot be written",
    "--no-sandbox": "run without the kernel's sandbox around the server (`eyespan doctor` lists its layers)",
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
    for module in plugins.own("SERVE_OPTIONS"):
        import_module(module).add_options(parser)


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
    values["settings"] = settings_by_dialect(values.get("settings", ()), values.get("dialects", (DEFAULT_DIALECT,)))
    made: type[ServeOptions] = ServeOptions
    for module in plugins.own("SERVE_OPTIONS"):
        made = import_module(module).options_class(command_parser("serve"), values)
    options = made(**values, timeout_seconds=arguments.timeout_seconds)
    try:
        options.validate()
        for dialect, settings in options.settings.items():
            dialect_class(dialect)(**settings)
    except (TypeError, ValueError) as error:
        raise UsageError(f"--set: {error}") from None
    except InvalidOptions as error:
        raise UsageError(str(error)) from None
    return options
