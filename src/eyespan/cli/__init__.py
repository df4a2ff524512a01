"""The command line. Parsed by hand: argparse alone would double the time that `eyespan read` takes to start."""

from __future__ import annotations

import os
import sys

from eyespan.context import DEADLINE_SECONDS, CallContext, as_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

    from eyespan.config import Config
    from eyespan.workspace import Workspace

HELP = """\
eyespan: reads files for people and for AI agents.

usage: eyespan COMMAND [--root DIR]... [--config FILE] [--timeout SECONDS] ...

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
  --timeout SECONDS          the longest one call may take (10), whatever its file system does
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
_steps_aside = False
"""The command that runs must end whatever its file system does: see `_step_aside`."""
_told: int | None = None
"""Where the process that does the work tells its exit status, if it is not the one that was started."""


class Usage(Exception):
    """The command was called wrongly: what is wrong, and what to do."""


class Options:
    """The options common to all commands, and what is left for the command itself."""

    __slots__ = ("config", "rest", "roots", "timeout_seconds")

    def __init__(
        self, roots: list[str], config: str | None, rest: list[str], timeout_seconds: float = DEADLINE_SECONDS
    ) -> None:
        self.roots = roots
        self.config = config
        self.rest = rest
        self.timeout_seconds = timeout_seconds

    def workspace(self) -> tuple[Workspace, Mapping[str, Any]]:
        """The workspace these options describe, and what the configuration says of `[tools.read_file]`.

        Raises: Usage.
        """
        roots = self.roots or [os.getcwd()]
        if _steps_aside:
            from eyespan.guard import mounts

            mounts.before_waiting = _step_aside
        workspace = self._opened(roots, None)
        config = self.configuration(workspace)
        if config is None:
            return workspace, {}
        workspace.close()
        if config.roots and not self.roots:
            roots = list(config.roots)
        return self._opened(roots, config), config.forge

    def _opened(self, roots: list[str], config: Config | None) -> Workspace:
        from eyespan.workspace import Workspace

        policy = None if config is None else config.policy()
        try:
            return Workspace(*roots, policy=policy, deadline_seconds=self.timeout_seconds)
        except (OSError, ValueError) as error:
            raise Usage(f"--root: {error}") from None

    def configuration(self, workspace: Workspace) -> Config | None:
        """What the file of `--config` says, or that of the first root; None if there is none.

        Raises: Usage.
        """
        root = workspace.roots[0]
        if self.config is None and root.never_hangs:
            try:
                os.stat("eyespan.toml", dir_fd=root.fd, follow_symlinks=False)
            except OSError:
                return None
        from eyespan.config import BadConfig, load
        from eyespan.errors import ReadError
        from eyespan.guard import blocking

        roots = [root.path for root in workspace.roots]
        try:
            # In a thread: a file that does not answer must not keep the command from saying so.
            return blocking.within(CallContext(self.timeout_seconds), lambda _: load(roots, self.config), key="config")
        except BadConfig as error:
            raise Usage(str(error)) from None
        except ReadError as error:
            raise Usage(f"{self.config or 'eyespan.toml'}: {error}") from None


def run() -> NoReturn:
    """The entry point: never returns, and takes a closed pipe for success."""
    global _steps_aside
    _steps_aside = hasattr(os, "fork")
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would flush once more at exit and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except KeyboardInterrupt:
        code = 130
    if _leaves_at_once or _is_stuck():
        # All is written and nothing is left open that matters: taking the interpreter down in order costs 2 ms, and
        # would wait for whatever still waits.
        sys.stdout.flush()
        sys.stderr.flush()
        if _told is not None:
            _tell(code)
        os._exit(code)
    sys.exit(code)


def _step_aside() -> None:
    """Goes on in a new process, before anything is done that may never return.

    A process that waits for a hung FUSE mount cannot end, not even when it is killed. So another one does the waiting;
    the one that was started, which touches nothing, passes the exit status on and is gone.
    """
    global _told, _leaves_at_once
    told, tells = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)
        _told = tells
        _leaves_at_once = True
        return
    import signal

    os.close(tells)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from a terminal it goes to both, and the other one knows what to do

    def end(number: int, _frame: object) -> None:
        os.kill(child, number)
        os._exit(128 + number)

    signal.signal(signal.SIGTERM, end)
    status = os.read(told, 1)
    if not status:  # it ended otherwise
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(code if code >= 0 else 128 - code)
    os._exit(status[0])


def _tell(code: int) -> None:
    """Lets go of all that somebody may be waiting for the end of, and tells how it went."""
    assert _told is not None
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.write(_told, bytes([code & 255]))


def _is_stuck() -> bool:
    blocking = sys.modules.get("eyespan.guard.blocking")
    return blocking is not None and blocking.stuck() > 0


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
        global _leaves_at_once, _steps_aside
        _leaves_at_once = getattr(command, "LEAVES_AT_ONCE", False)
        _steps_aside = _steps_aside and getattr(command, "STEPS_ASIDE", True)
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
    timeout_seconds = DEADLINE_SECONDS
    name = ""
    at = 0
    while at < len(argv):
        word = argv[at]
        at += 1
        if word == "--":
            rest.extend(argv[at - 1 :] if name else argv[at:])
            break
        option, equals, value = word.partition("=")
        if option in ("--root", "--config", "--timeout"):
            if not equals:
                if at >= len(argv):
                    raise Usage(f"{option} needs a value")
                value = argv[at]
                at += 1
            if option == "--root":
                roots.append(value)
            elif option == "--config":
                config = value
            else:
                try:
                    timeout_seconds = as_seconds(value)
                except ValueError as error:
                    raise Usage(f"--timeout {error}") from None
        elif not name:
            name = word
        else:
            rest.append(word)
    return name, Options(roots, config, rest, timeout_seconds)
