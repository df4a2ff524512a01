"""Find the command, run it, print help."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from eyespan import __version__, plugins
from eyespan.cli.detach import Process, discard_output, prepare_streams
from eyespan.cli.options import Arguments, Parser, UsageError, add_common_options, suggestion
from eyespan.escape import visible
from eyespan.plugins import Command


def _command(name: str, operands: str, text: str) -> dict[str, Command]:
    return {name: Command(operands, text, f"eyespan.cli.{name}")}


COMMANDS = {
    **_command("read", "PATH[:LINES]...", "show files: eyespan read app.py:10-20 build.log:-50"),
    **_command("call", "DIALECT [JSON]", "make one tool call, as a model would"),
    **_command("dialects", "", "list the dialects"),
    **_command("serve", "[DIR...]", "run the MCP server: eyespan serve --dialect claude"),
    **{name: command for commands in plugins.own("COMMANDS") for name, command in commands.items()},
}
"""The commands of the core and of the extras.

A command's module has `HELP` (usage and examples) and `main(arguments)`, which returns the exit status, and where it
has options of its own, `add_options(parser)`. It may set `CAN_DETACH`: a read that may block continues in a child
process, so a kill may leave that child; only for a command that ends soon.
"""

USAGE = """\
usage: eyespan FILE[:LINES]...
       eyespan COMMAND [--root DIR]... [--config FILE] [--timeout SECONDS] ...

eyespan: read files, for people and for AI agents

commands:
"""


def run() -> NoReturn:
    """Run the command of `sys.argv` and exit. A reader that closes our output early is no error."""
    process = Process()
    prepare_streams()
    try:
        code = main(sys.argv[1:], process)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        code = 0
    except OSError as error:
        # Commands handle errors of the files they read, so this is an error of standard output: a full disk.
        discard_output()
        print(f"eyespan: cannot write the output: {error.strerror or error}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        discard_output()
        code = 130
    process.exit(code)


def main(argv: list[str], process: Process | None = None) -> int:
    """Run one command. Returns 0, 1 when something could not be read, or 2 for wrong usage."""
    try:
        return _run_command(argv, process)
    except UsageError as error:
        print(f"eyespan: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        if not (origin := plugins.origin_of(error)):
            raise
        print(f"eyespan: the plugin {origin} failed: {visible(plugins.describe(error))}", file=sys.stderr)
        return 1


def _run_command(argv: list[str], process: Process | None) -> int:
    name, words = _split_command(argv)
    if name == "help" and words and not words[0].startswith("-"):
        name, words = words[0], ["--help"]
    if name in ("-V", "--version", "version"):
        print(f"eyespan {__version__}")
        return 0
    if name in ("", "--help", "-h", "help"):
        parser = overview()
        parser.parse(words if not name else [])
        print(parser.format_help(), end="")
        return 0 if name else 2
    if name.startswith("-") and (later := [word for word in words if word in COMMANDS]):
        raise UsageError(f"{name} stands after the command: eyespan {later[0]} ... {name} ...")
    if name not in COMMANDS and (_names_file(name) or (name.startswith("-") and any(map(_names_file, words)))):
        name, words = "read", [name, *words]
    if name not in COMMANDS:
        what, known = ("option", _common_options()) if name.startswith("-") else ("command", COMMANDS)
        raise UsageError(f"no {what} {name!r}{suggestion(name, known)} Try: eyespan --help")
    parser = command_parser(name)
    values, operands = parser.parse(words)
    if values.pop("version", False):
        print(f"eyespan {__version__}")
        return 0
    if values.pop("help", False):
        print(parser.format_help(), end="")
        return 0
    if values.pop("no_plugins", False):
        os.environ[plugins.OFF] = "1"  # for this process and all that it starts
    command = load_command(name)
    if process is not None:
        process.can_detach = getattr(command, "CAN_DETACH", False)
    code: int = command.main(Arguments(values, operands, process))
    return code


def _names_file(name: str) -> bool:
    """Return True for a word that is no command but a file or standard input, as in `eyespan FILE`."""
    return name[:2] in ("-", "-:") or (name[:1] != "-" and (bool(set(name) & set("/.:?@!")) or os.path.lexists(name)))


def _split_command(argv: list[str]) -> tuple[str, list[str]]:
    """Separate the command's name from the other words. Only common options may stand before it."""
    at = 0
    common = {name: takes_value for name, takes_value in _common_options().items() if name not in _ANSWERED}
    while at < len(argv) and argv[at] != "--":
        name, equals, _ = argv[at].partition("=")
        if name not in common:
            return argv[at], [*argv[:at], *argv[at + 1 :]]
        at += 2 if common[name] and not equals else 1
    return "", argv


_ANSWERED = ("-V", "--version", "-h", "--help")
"""The common options that are commands as well."""


def _common_options() -> dict[str, bool]:
    """Return the names of the common options, each with True if it takes a value."""
    (options,) = overview().sections().values()
    return {name: option.nargs != 0 for option in options for name in option.option_strings}


def load_command(name: str) -> ModuleType:
    """Return the module of a command."""
    return import_module(COMMANDS[name].module)


def command_parser(name: str) -> Parser:
    """Return the parser of a command, with the common options."""
    command = load_command(name)
    parser = Parser(name, command.HELP)
    if hasattr(command, "add_options"):
        command.add_options(parser)
    add_common_options(parser)
    return parser


def overview() -> Parser:
    """Return the parser of a command line without a command."""
    lines = [f"  {f'{name} {operands}':<26}{text}\n" for name, (operands, text, _) in COMMANDS.items()]
    more = "\n`eyespan help COMMAND` explains a command, with examples."
    parser = Parser("eyespan", USAGE + "".join(lines) + more)
    add_common_options(parser)
    return parser
