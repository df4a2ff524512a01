"""The option parser of every command.

A command lists its options as rows (`Option`). `parse` reads the words of the command line by these rows, `describe`
makes help text of them. `Arguments` is the result of a parse and opens the workspace that the common options describe.
"""

from __future__ import annotations

import os

from eyespan.context import DEADLINE_SECONDS, as_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from eyespan.cli.detach import Process
    from eyespan.workspace import Workspace

HELP_WIDTH = 80
HELP_COLUMN = 26
"""Help text starts in this column, on a line of its own if the option is longer."""


class UsageError(Exception):
    """A command line that cannot be run. The message names the mistake and the way out."""


class Option:
    """One option: its names, its value or lack of one, and its help text.

    `value` is the placeholder shown in help; an option without one is a flag and sets its field to `constant`.
    `convert` makes the value from its text; it raises ValueError with a message that continues the option's name. A
    repeatable option collects its values in a tuple; of any other option the last value counts. The field is the
    option's last name without dashes, unless `field` names another. Help does not show the `aliases`.
    """

    __slots__ = ("aliases", "constant", "convert", "field", "is_repeatable", "names", "text", "value")

    def __init__(
        self,
        *names: str,
        aliases: tuple[str, ...] = (),
        text: str,
        value: str = "",
        field: str = "",
        convert: Callable[[str], Any] | None = None,
        is_repeatable: bool = False,
        constant: Any = True,
    ) -> None:
        self.names = names
        self.aliases = aliases
        self.text = text
        self.value = value
        self.field = field or names[-1].lstrip("-").replace("-", "_")
        self.convert = convert
        self.is_repeatable = is_repeatable
        self.constant = constant


COMMON = (
    Option(
        "--root",
        value="DIR",
        field="roots",
        is_repeatable=True,
        text="a directory that may be read (default: the current directory); repeatable",
    ),
    Option(
        "--config",
        value="FILE",
        text="a configuration file (default: eyespan.toml in the first root, if it exists)",
    ),
    Option(
        "--timeout",
        value="SECONDS",
        field="timeout_seconds",
        convert=as_seconds,
        text="the longest time one call may take (default: $EYESPAN_TIMEOUT, or 10)",
    ),
    Option("-h", "--help", text="print this help"),
)
"""The options that every command accepts, before or after the command's name."""


def _setting(text: str) -> tuple[str, str, Any]:
    """Parse [DIALECT.]NAME=VALUE. The value is JSON; any other text stands for itself."""
    import json

    name, equals, value = text.partition("=")
    dialect, _, setting = name.rpartition(".")
    if not equals or not setting:
        raise ValueError(f"must be NAME=VALUE or DIALECT.NAME=VALUE, not {text!r}")
    try:
        return dialect, setting, json.loads(value)
    except (ValueError, RecursionError):
        return dialect, setting, value


SET = Option(
    "--set",
    value="[DIALECT.]NAME=VALUE",
    field="settings",
    convert=_setting,
    is_repeatable=True,
    text="a setting of a dialect, as JSON or plain text; repeatable",
)
"""The option of every command that makes tools."""


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


class Arguments:
    """The parsed command line of one command.

    `values` holds the command's own options by field, without those that were not given. `operands` are the words that
    are no options. If the `process` can detach, a read that may block continues in a child process.
    """

    __slots__ = ("config", "operands", "process", "roots", "timeout_seconds", "values")

    def __init__(self, values: Mapping[str, Any], operands: Sequence[str], process: Process | None = None) -> None:
        own = dict(values)
        self.roots: tuple[str, ...] = own.pop("roots", ())
        self.config: str | None = own.pop("config", None)
        self.timeout_seconds: float = own.pop("timeout_seconds", DEADLINE_SECONDS)
        self.values: dict[str, Any] = own
        self.operands = tuple(operands)
        self.process = process

    def reject_operands(self, command: str) -> None:
        """Raise UsageError if there are operands, for a command that takes none."""
        if self.operands:
            raise UsageError(f"{command} takes no argument {self.operands[0]!r}. Try: eyespan {command} --help")

    def finish_loading(self) -> None:
        """Collect garbage as Python does by default, in a command that may run for long."""
        if self.process is not None:
            self.process.finish_loading()

    def workspace(self, roots: Sequence[str] = (), *, is_confined: bool = True) -> Workspace:
        """Open the workspace of the common options, or of other `roots`, with its configuration.

        `is_confined=False`: unless roots are given, every file of the machine is in the workspace, after those of the
        current directory. For a person who names files; never for a model.

        Raises: UsageError.
        """
        if self.process is not None and self.process.can_detach:
            from eyespan.guard import mounts

            mounts.before_waiting = self.process.detach
        from eyespan.workspace import Workspace

        try:
            return Workspace.configured(
                self.config,
                roots=roots or self.roots,
                beyond=() if is_confined else (os.path.abspath(os.sep),),
                deadline_seconds=self.timeout_seconds,
            )
        except (OSError, ValueError) as error:
            # Only a process that has found a configuration file has loaded its module.
            import sys

            from eyespan.escape import in_plain_words, visible

            config = sys.modules.get("eyespan.config")
            if config is not None and isinstance(error, (config.BadConfig, TimeoutError)):
                raise UsageError(visible(str(error))) from None
            raise UsageError(f"--root: {in_plain_words(error)}") from None


def parse(command: str, words: Iterable[str], options: Iterable[Option]) -> tuple[dict[str, Any], list[str]]:
    """Return the values of the options by field, and the operands in order.

    `--name VALUE` and `--name=VALUE` are the same. `--` ends the options. Standard input is an operand: `-`, or with a
    selector `-:10-20`.
    Raises: UsageError.
    """
    known = {name: option for option in options for name in (*option.names, *option.aliases)}
    values: dict[str, Any] = {}
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            operands.extend(rest)
        elif word == "-" or not word.startswith("-") or word.startswith(("-:", "-!")):
            operands.append(word)
        else:
            name, equals, text = word.partition("=")
            option = known.get(name)
            if option is None:
                near = suggestion(name, known.values())
                raise UsageError(f"{command} has no option {name}{near} Try: eyespan {command} --help")
            if not option.value:
                if equals:
                    raise UsageError(f"{name} takes no value")
                values[option.field] = option.constant
                continue
            if not equals:
                text = next(rest, "")
                if text.startswith("--") and text.partition("=")[0] in known:
                    text = ""  # the next option, so the value is missing
            value = _convert(option, name, text)
            values[option.field] = (*values.get(option.field, ()), value) if option.is_repeatable else value
    return values, operands


def _convert(option: Option, name: str, text: str) -> Any:
    if not text:
        raise UsageError(f"{name} needs a value: {name} {option.value}")
    if option.convert is None:
        return text
    try:
        return option.convert(text)
    except ValueError as error:
        raise UsageError(f"{name} {error}") from None


def suggestion(name: str, options: Iterable[Option]) -> str:
    """Return the end of a sentence about a wrong option: "; did you mean --root?", or a full stop."""
    from eyespan.suggest import nearest

    near = nearest(name, [long for option in options for long in option.names if long.startswith("--")], most=1)
    return f"; did you mean {near[0]}?" if near else "."


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a converter that accepts only these texts."""

    def convert(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be {', '.join(choices[:-1])} or {choices[-1]}, not {text!r}")
        return text

    return convert


def whole_number(highest: int, *, lowest: int = 1) -> Callable[[str], int]:
    """Return a converter for whole numbers from `lowest` to `highest`."""

    def convert(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 20 or not lowest <= int(text) <= highest:
            raise ValueError(f"must be a whole number from {lowest} to {highest}, not {text!r}")
        return int(text)

    return convert


def describe(sections: Mapping[str, Iterable[Option]]) -> str:
    """Return the help text of the options, section by section, in lines of at most `HELP_WIDTH`."""
    lines = []
    for title, options in sections.items():
        lines += ["", title]
        for option in options:
            left = _synopsis(option)
            texts = wrap(option.text, HELP_WIDTH - HELP_COLUMN)
            if len(left) > HELP_COLUMN - 2:
                lines.append(left)
                left = ""
            lines.append(f"{left:<{HELP_COLUMN}}{texts[0]}")
            lines += [" " * HELP_COLUMN + text for text in texts[1:]]
    return "".join([f"{line}\n" for line in lines])


def wrap(text: str, width: int) -> list[str]:
    """Break a text between words. The standard `textwrap` imports `re`, which takes longer than the help."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def _synopsis(option: Option) -> str:
    names = ", ".join(option.names)
    return f"  {names} {option.value}" if option.value else f"  {names}"
