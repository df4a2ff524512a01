"""The options of the commands: parsers of `argparse`, converters, and the arguments that a command receives.

All words that are no options are operands, in any order with the options. `Arguments` opens the workspace that the
common options describe.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from eyespan.config import BadConfig
from eyespan.context import DEADLINE_SECONDS, as_seconds
from eyespan.dialects.path_map import PathMap
from eyespan.escape import in_plain_words, visible
from eyespan.guard import mounts
from eyespan.suggest import nearest
from eyespan.workspace import Workspace

if TYPE_CHECKING:
    from eyespan.cli.detach import Process

COMMON = "common options"
"""The title of the options that every command accepts, before or after the command's name."""


class UsageError(Exception):
    """A command line that cannot be run. The message names the mistake and the way out."""


class Parser(argparse.ArgumentParser):
    """The options of one command. `text` is its usage, an empty line, and its description."""

    def __init__(self, command: str, text: str) -> None:
        usage, _, description = text.removeprefix("usage: ").partition("\n\n")
        super().__init__(
            command,
            usage,
            description,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=26, width=80),
            argument_default=argparse.SUPPRESS,
            add_help=False,
            allow_abbrev=False,
            exit_on_error=False,
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def sections(self) -> dict[str, list[argparse.Action]]:
        """Return the options by section, without those that help does not show."""
        groups = {str(group.title): group._group_actions for group in self._action_groups}
        shown = {title: [one for one in each if one.help != argparse.SUPPRESS] for title, each in groups.items()}
        return {title: options for title, options in shown.items() if options}

    def parse(self, words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
        """Return the values of the options that were given, and the operands in order.

        `--` ends the options. Standard input is an operand: `-`, or with a selector `-:10-20`.
        Raises: UsageError.
        """
        end = list(words).index("--") if "--" in words else len(words)
        try:
            values, operands = self.parse_known_args(words[:end])
        except argparse.ArgumentError as error:
            raise UsageError(self._message(error)) from None
        for word in operands:
            if word != "-" and word.startswith("-") and not word.startswith(("-:", "-!")):
                name = word.partition("=")[0]
                near = suggestion(name, [each for option in self._actions for each in option.option_strings])
                raise UsageError(f"{self.prog} has no option {name}{near} Try: eyespan {self.prog} --help")
        return vars(values), [*operands, *words[end + 1 :]]

    def _message(self, error: argparse.ArgumentError) -> str:
        names = (error.argument_name or "").split("/")
        option = next(one for one in self._actions if names[-1] in one.option_strings)
        if option.nargs == 0:
            return f"{names[-1]} takes no value"
        if error.message in ("expected one argument", _NO_VALUE):
            return f"{names[-1]} needs a value: {names[-1]} {option.metavar}"
        return f"{names[-1]} {error.message}"


def add_common_options(parser: Parser) -> None:
    """Add the options that every command accepts."""
    common = parser.add_argument_group(COMMON)
    common.add_argument(
        "--root",
        metavar="DIR",
        dest="roots",
        action="append",
        type=text,
        help="a directory that may be read (default: the current directory); repeatable",
    )
    common.add_argument(
        "--config",
        metavar="FILE",
        type=text,
        help="a configuration file (default: eyespan.toml in the first root, if it exists)",
    )
    common.add_argument(
        "--timeout",
        metavar="SECONDS",
        dest="timeout_seconds",
        type=_seconds,
        help="the longest time one call may take (default: $EYESPAN_TIMEOUT, or 10)",
    )
    common.add_argument(
        "--no-plugins",
        action="store_true",
        help="leave out the plugins of other distributions (`eyespan doctor` lists them)",
    )
    common.add_argument("-V", "--version", action="store_true", help="print the version")
    common.add_argument("-h", "--help", action="store_true", help="print this help")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about a wrong name: "; did you mean --root?", or a full stop."""
    by_word = {one.lstrip("-"): one for one in known if len(one) > 2}
    near = nearest(name.lstrip("-"), by_word, most=1)
    return f"; did you mean {by_word[near[0]]}?" if near else "."


# --- converters ----------------------------------------------------------------------------------------------------

_NO_VALUE = "has no value"


def text(given: str) -> str:
    """Return a text that is not empty."""
    if not given:
        raise argparse.ArgumentTypeError(_NO_VALUE)
    return given


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a converter that accepts only these texts."""

    def convert(given: str) -> str:
        if given not in choices:
            listed = f"{', '.join(choices[:-1])} or {choices[-1]}"
            raise argparse.ArgumentTypeError(f"must be {listed}, not {given!r}")
        return given

    return convert


def whole_number(highest: int, *, lowest: int = 1) -> Callable[[str], int]:
    """Return a converter for whole numbers from `lowest` to `highest`."""

    def convert(given: str) -> int:
        if not given.isascii() or not given.isdigit() or len(given) > 20 or not lowest <= int(given) <= highest:
            raise argparse.ArgumentTypeError(f"must be a whole number from {lowest} to {highest}, not {given!r}")
        return int(given)

    return convert


def _seconds(given: str) -> float:
    try:
        return as_seconds(given)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


# --- settings of dialects --------------------------------------------------------------------------------------------


def add_settings(group: argparse._ActionsContainer) -> None:
    """Add `--set`, the option of every command that makes tools."""
    group.add_argument(
        "--set",
        metavar="[DIALECT.]NAME=VALUE",
        dest="settings",
        action="append",
        type=_setting,
        help="a setting of a dialect, as JSON or plain text; repeatable",
    )


def _setting(given: str) -> tuple[str, str, Any]:
    """Parse [DIALECT.]NAME=VALUE. The value is JSON; any other text stands for itself."""
    name, equals, value = text(given).partition("=")
    dialect, _, setting = name.rpartition(".")
    if not equals or not setting:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE or DIALECT.NAME=VALUE, not {given!r}")
    try:
        return dialect, setting, json.loads(value)
    except (ValueError, RecursionError):
        return dialect, setting, value


def add_map(group: argparse._ActionsContainer) -> None:
    """Add `--map`, the option of the commands whose caller may have the files elsewhere."""
    group.add_argument(
        "--map",
        metavar="FROM=TO",
        action="append",
        type=_mapping,
        help="paths below FROM, as the host names them, are those below TO; repeatable",
    )


def _mapping(given: str) -> tuple[str, str]:
    host, equals, local = text(given).partition("=")
    if not equals or not local:
        raise argparse.ArgumentTypeError(f"must be FROM=TO, such as /workspace=/home/me/project, not {given!r}")
    local = os.path.abspath(os.path.expanduser(local))
    try:
        PathMap({host: local})
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{given}: {error}") from None
    return host, local


def settings_by_dialect(given: Iterable[tuple[str, str, Any]], dialects: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the values of `--set` by dialect. A name without a dialect belongs to each of `dialects`.

    Raises: UsageError for a dialect that the command does not use.
    """
    settings: dict[str, dict[str, Any]] = {}
    for dialect, name, value in given:
        if dialect and dialect not in dialects:
            raise UsageError(f"--set {dialect}.{name}: the dialect is {' and '.join(dialects)}")
        for each in [dialect] if dialect else dialects:
            settings.setdefault(each, {})[name] = value
    return settings


# --- arguments -----------------------------------------------------------------------------------------------------


class Arguments:
    """The parsed command line of one command.

    `values` holds the command's own options by name, without those that were not given. `operands` are the words that
    are no options. If the `process` can detach, a read that may block continues in a child process.
    """

    def __init__(self, values: Mapping[str, Any], operands: Sequence[str], process: Process | None = None) -> None:
        own = dict(values)
        self.roots: list[str] = own.pop("roots", [])
        self.config: str | None = own.pop("config", None)
        self.timeout_seconds: float = own.pop("timeout_seconds", DEADLINE_SECONDS)
        self.map: dict[str, str] = dict(own.pop("map", ()))
        self.values: dict[str, Any] = own
        self.operands = tuple(operands)
        self.process = process

    def reject_operands(self, command: str) -> None:
        """Raise UsageError if there are operands, for a command that takes none."""
        if self.operands:
            raise UsageError(f"{command} takes no argument {self.operands[0]!r}. Try: eyespan {command} --help")

    def workspace(self, roots: Sequence[str] = (), *, is_confined: bool = True) -> Workspace:
        """Open the workspace of the common options, or of other `roots`, with its configuration.

        `is_confined=False`: unless roots are given, every file of the machine is in the workspace, after those of the
        current directory. For a person who names files; never for a model.

        Raises: UsageError.
        """
        if self.process is not None and self.process.can_detach:
            mounts.before_waiting = self.process.detach
        try:
            return Workspace.from_config(
                self.config,
                roots=roots or self.roots,
                beyond=() if is_confined else (os.path.abspath(os.sep),),
                deadline_seconds=self.timeout_seconds,
                ignore=not self.values.get("no_ignore", False),
                map=self.map,
            )
        except (BadConfig, TimeoutError) as error:
            raise UsageError(visible(str(error))) from None
        except (OSError, ValueError) as error:
            raise UsageError(in_plain_words(error)) from None
