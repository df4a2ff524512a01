"""Finds the command, runs it and prints help."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import NoReturn

from eyespan.cli.detach import Process, discard_output, prepare_streams
from eyespan.cli.options import COMMON, Arguments, Option, UsageError, describe, parse, suggestion

COMMANDS = {
    "read": ("PATH[:LINES]...", "show files: eyespan read app.py:10-20 build.log:-50"),
    "call": ("DIALECT [JSON]", "make one tool call, as a model would"),
    "schema": ("DIALECT", "print the tool definition of a dialect, for a host"),
    "dialects": ("", "list the dialects"),
    "doctor": ("", "report the state of this installation"),
    "serve": ("[DIR...]", "run the MCP server: eyespan serve --dialect claude"),
    "view": ("", "open a page that shows what a model receives"),
    "export": ("TARGET...", "read many files into records, for retrieval"),
    "audit": ("FILE", "summarize an audit log of the server"),
    "completions": ("SHELL", "print completions for bash, zsh or fish"),
    "manual": ("", "print the manual page"),
}
"""Operands and help text by command. The command `read` is the module `eyespan.cli.read`, and so on.

A command's module has `HELP` (usage and examples), `OPTIONS` (rows by section) and `main(arguments)`, which returns the
exit status. It may set `LEAVES_AT_ONCE`: nothing is left to finalize at its end. Or `CAN_DETACH`: a read that may block
continues in a child process, so a kill may leave that child; only for a command that ends soon. A command that may run
for long calls `Arguments.finish_loading`.
"""

USAGE = """\
eyespan: read files, for people and for AI agents

usage: eyespan COMMAND [--root DIR]... [--config FILE] [--timeout SECONDS] ...
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


def _run_command(argv: list[str], process: Process | None) -> int:
    name, words = _split_command(argv)
    if name == "help" and words and not words[0].startswith("-"):
        name, words = words[0], ["--help"]
    own = words[: words.index("--")] if "--" in words else words
    if name in ("-V", "--version", "version") or (name in COMMANDS and {"-V", "--version"} & {*own}):
        from eyespan import __version__

        print(f"eyespan {__version__}")
        return 0
    if name in ("", "--help", "-h", "help"):
        parse("eyespan", words if not name else [], COMMON)
        print(overview(), end="")
        return 0 if name else 2
    if name not in COMMANDS:
        raise UsageError(_unknown_command(name))
    command = load_command(name)
    values, operands = parse(name, words, [*_rows(command), *COMMON])
    if values.pop("help", False):
        print(command.HELP + describe(command.OPTIONS), end="")
        return 0
    if process is not None:
        process.skips_teardown = getattr(command, "LEAVES_AT_ONCE", False)
        process.can_detach = getattr(command, "CAN_DETACH", False)
    code: int = command.main(Arguments(values, operands, process))
    return code


def _unknown_command(name: str) -> str:
    from eyespan.suggest import nearest

    if name.startswith("-"):
        return f"no option {name}{suggestion(name, COMMON)} Try: eyespan --help"
    if "/" in name or "." in name:
        return f"no command {name!r}. To show a file: eyespan read {name}"
    near = nearest(name, COMMANDS, most=1)
    found = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(COMMANDS)}."
    return f"no command {name!r}; {found} Try: eyespan --help"


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


def load_command(name: str) -> ModuleType:
    """Return the module of a command."""
    module = f"eyespan.cli.{name}"
    __import__(module)
    return sys.modules[module]


def _rows(command: ModuleType) -> list[Option]:
    return [option for section in command.OPTIONS.values() for option in section]


def overview() -> str:
    """Return the help text of `eyespan --help`."""
    lines = [f"  {f'{name} {operands}':<26}{text}" for name, (operands, text) in COMMANDS.items()]
    version = Option("-V", "--version", text="print the version")
    options = describe({"common options": (*COMMON, version)})
    more = "\n`eyespan help COMMAND` explains a command, with examples.\n"
    return "\n".join([USAGE, "commands", *lines, ""]) + options + more
