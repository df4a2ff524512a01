"""The command line. Parsed by hand: argparse alone would double the time that `eyespan read` takes to start."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

    from eyespan.config import Config
    from eyespan.workspace import Workspace

HELP = """\
eyespan: reads files for people and for AI agents.

usage: eyespan COMMAND [--root DIR]... [--config FILE] ...

commands
  read PATH[:LINES]...       show files:  eyespan read app.py:10-20 build.log:-50
  call DIALECT [JSON]        one tool call, as a model would make it
  schema DIALECT             the tool definition, as a host wants it
  dialects                   the dialects and what each is
  doctor                     what is on: guard, sandbox, readers
  serve                      the MCP server, for agents:  eyespan serve --dialect claude
  audit FILE                 what an audit log of the server says

common options
  --root DIR                 a folder that may be read; repeat it for several (default: the current folder)
  --config FILE              a configuration file (default: eyespan.toml in the first root, if there is one)
  --version, --help          `eyespan COMMAND --help` teaches a command with examples
"""

_COMMANDS = {
    "read": "eyespan.cli.read",
    "call": "eyespan.cli.call",
    "schema": "eyespan.cli.schema",
    "dialects": "eyespan.cli.dialects",
    "doctor": "eyespan.cli.doctor",
    "serve": "eyespan.cli.serve",
    "audit": "eyespan.cli.audit",
}


_leaves_at_once = False
"""The command that ran has nothing to put away at the end."""


class Usage(Exception):
    """The command was called wrongly: what is wrong, and what to do."""


class Options:
    """The options common to all commands, and what is left for the command itself."""

    __slots__ = ("config", "rest", "roots")

    def __init__(self, roots: list[str], config: str | None, rest: list[str]) -> None:
        self.roots = roots
        self.config = config
        self.rest = rest

    def workspace(self) -> tuple[Workspace, Mapping[str, Any]]:
        """The workspace these options describe, and what the configuration says of `[tools.read_file]`.

        Raises: Usage.
        """
        from eyespan.workspace import Workspace

        roots = self.roots or [os.getcwd()]
        for root in roots:
            if not os.path.isdir(root):
                raise Usage(f"--root {root}: there is no such folder")
        config = self.configuration(roots)
        if config is None:
            return Workspace(*roots), {}
        if config.roots and not self.roots:
            roots = list(config.roots)
        try:
            return Workspace(*roots, policy=config.policy()), config.forge
        except (NotADirectoryError, ValueError) as error:
            raise Usage(str(error)) from None

    def configuration(self, roots: list[str]) -> Config | None:
        """What the file of `--config` says, or that of the first root; None if there is none.

        Raises: Usage.
        """
        if self.config is None and not os.path.lexists(os.path.join(roots[0], "eyespan.toml")):
            return None
        from eyespan.config import BadConfig, load
        from eyespan.errors import ReadError

        try:
            return load(roots, self.config)
        except BadConfig as error:
            raise Usage(str(error)) from None
        except ReadError as error:
            raise Usage(f"{self.config or 'eyespan.toml'}: {error}") from None


def run() -> NoReturn:
    """The entry point: never returns, and takes a closed pipe for success."""
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would flush once more at exit and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except KeyboardInterrupt:
        code = 130
    if _leaves_at_once:
        # All is written and nothing is left open that matters: taking the interpreter down in order costs 2 ms.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def main(argv: list[str]) -> int:
    """Runs one command: 0, 1 when something could not be read, 2 for wrong usage."""
    try:
        name, options = _split(argv)
        if name == "--version":
            from eyespan import __version__

            print(f"eyespan {__version__}")
            return 0
        if name in ("", "--help", "-h", "help"):
            print(HELP, end="")
            return 0 if name else 2
        module = _COMMANDS.get(name)
        if module is None:
            raise Usage(f"no command {name!r}; there are {', '.join(_COMMANDS)}. Try: eyespan --help")
        __import__(module)
        command = sys.modules[module]
        if "--help" in options.rest or "-h" in options.rest:
            print(command.HELP, end="")
            return 0
        global _leaves_at_once
        _leaves_at_once = getattr(command, "LEAVES_AT_ONCE", False)
        code: int = command.main(options)
        return code
    except Usage as error:
        print(f"eyespan: {error}", file=sys.stderr)
        return 2


def _split(argv: list[str]) -> tuple[str, Options]:
    """The command, the common options wherever they stand, and the rest in order."""
    roots: list[str] = []
    config: str | None = None
    rest: list[str] = []
    name = ""
    at = 0
    while at < len(argv):
        word = argv[at]
        at += 1
        if word == "--":
            rest.extend(argv[at - 1 :] if name else argv[at:])
            break
        option, equals, value = word.partition("=")
        if option in ("--root", "--config"):
            if not equals:
                if at >= len(argv):
                    raise Usage(f"{option} needs a value")
                value = argv[at]
                at += 1
            if option == "--root":
                roots.append(value)
            else:
                config = value
        elif not name:
            name = word
        else:
            rest.append(word)
    return name, Options(roots, config, rest)
