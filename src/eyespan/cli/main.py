"""Finds the command, runs it and prints help."""

from __future__ import annotations

import sys

from eyespan.cli.detach import Process, discard_output
from eyespan.cli.options import COMMON, Arguments, Option, UsageError, describe, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn

COMMANDS = {
    "read": ("PATH[:LINES]...", "show files: eyespan read app.py:10-20 build.log:-50"),
    "call": ("DIALECT [JSON]", "make one tool call, as a model would"),
    "schema": ("DIALECT", "print the tool definition of a dialect, for a host"),
    "dialects": ("", "list the dialects"),
    "doctor": ("", "report how this installation opens, isolates and decodes files"),
    "serve": ("", "run the MCP server: eyespan serve --dialect claude"),
    "audit": ("FILE", "summarize an audit log of the server"),
}
"""Operands and help text by command. The command `read` is the module `eyespan.cli.read`, and so on.

A command's module has `HELP` (usage and examples), `OPTIONS` (rows by section) and `main(arguments)`, which returns the
exit status. It may set `LEAVES_AT_ONCE`: nothing is left to finalize at its end. Or `IS_SERVER`: the process that was
started must do the work. A command that may run for long calls `Arguments.finish_loading`.
"""

USAGE = """\
eyespan: read files, for people and for AI agents

usage: eyespan COMMAND [--root DIR]... [--config FILE] [--timeout SECONDS] ...
"""


def run() -> NoReturn:
    """Run the command of `sys.argv` and exit. A reader that closes our output early is no error."""
    process = Process()
    try:
        code = main(sys.argv[1:], process)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        code = 0
    except KeyboardInterrupt:
        code = 130
    process.exit(code)


def main(argv: list[str], process: Process | None = None) -> int:
    """Run one command. Returns 0, 1 when something could not be read, or 2 for wrong usage."""
    try:
        return _run_command(argv, process)
    except UsageError as error:
        print(f"eyespan: {error}", file=sys.stderr)
        return 2


def _run_command(argv: list[str], process: Process | None) -> int:
    name, words = _split_command(argv)
    if name == "--version":
        from eyespan import __version__

        print(f"eyespan {__version__}")
        return 0
    if name in ("", "--help", "-h", "help"):
        parse("eyespan", words if not name else [], COMMON)
        print(_overview(), end="")
        return 0 if name else 2
    if name not in COMMANDS:
        raise UsageError(f"no command {name!r}; the commands are {', '.join(COMMANDS)}. Try: eyespan --help")
    command = _module(name)
    values, operands = parse(name, words, [*_rows(command), *COMMON])
    if values.pop("help", False):
        print(command.HELP + describe(command.OPTIONS), end="")
        return 0
    if process is not None:
        process.skips_teardown = getattr(command, "LEAVES_AT_ONCE", False)
        process.can_detach = process.can_detach and not getattr(command, "IS_SERVER", False)
    code: int = command.main(Arguments(values, operands, process))
    return code


def _split_command(argv: list[str]) -> tuple[str, list[str]]:
    """Separate the command's name from the other words. Only common options may stand before it."""
    valued = {name for option in COMMON if option.value for name in option.names}
    at = 0
    while at < len(argv) and argv[at] != "--":
        name, equals, _ = argv[at].partition("=")
        if name not in valued:
            return argv[at], [*argv[:at], *argv[at + 1 :]]
        at += 1 if equals else 2
    return "", argv


def _module(name: str) -> ModuleType:
    module = f"eyespan.cli.{name}"
    __import__(module)
    return sys.modules[module]


def _rows(command: ModuleType) -> list[Option]:
    return [option for section in command.OPTIONS.values() for option in section]


def _overview() -> str:
    """Return the help text of `eyespan --help`."""
    lines = [f"  {f'{name} {operands}':<26}{text}" for name, (operands, text) in COMMANDS.items()]
    version = Option("--version", text="print the version")
    options = describe({"common options": (*COMMON, version)})
    more = "\n`eyespan COMMAND --help` explains a command, with examples.\n"
    return "\n".join([USAGE, "commands", *lines, ""]) + options + more
