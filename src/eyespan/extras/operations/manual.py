"""`eyespan manual`: the manual page, made from the parsers of the commands."""

from __future__ import annotations

from argparse import Action
from collections.abc import Iterable

from eyespan import __version__
from eyespan.cli.main import COMMANDS, command_parser, load_command
from eyespan.cli.options import COMMON, Arguments

HELP = """\
usage: eyespan manual

Prints the manual page of all commands, in the format of man.

  eyespan manual | man -l -                          read it
  eyespan manual > /usr/local/share/man/man1/eyespan.1   install it
"""


def main(arguments: Arguments) -> int:
    """Print the page."""
    arguments.reject_operands("manual")
    print(page(), end="")
    return 0


def page() -> str:
    """Return the manual page as roff."""
    lines = [
        f'.TH EYESPAN 1 "" "eyespan {__version__}"',
        ".SH NAME",
        _roff_text("eyespan - read files, for people and for AI agents"),
        ".SH SYNOPSIS",
        ".B eyespan",
        r"\fICOMMAND\fR [\fIoptions\fR]",
        ".SH COMMANDS",
    ]
    for name, (operands, text, _) in COMMANDS.items():
        lines += [
            ".TP",
            rf"\fB{_roff_text(name)}\fR {_roff_text(operands)}".rstrip(),
            _roff_text(text[:1].upper() + text[1:] + "."),
        ]
    for name in COMMANDS:
        command = load_command(name)
        lines += [
            f'.SH "EYESPAN {name.upper()}"',
            ".nf",
            *[_roff_text(line) for line in command.HELP.splitlines()],
            ".fi",
        ]
        sections = command_parser(name).sections()
        common = sections.pop(COMMON)
        for title, options in sections.items():
            lines += [f'.SS "{_roff_text(title)}"', *_rows(options)]
    lines += ['.SH "COMMON OPTIONS"', *_rows(common)]
    lines += [
        ".SH ENVIRONMENT",
        *_row("EYESPAN_TIMEOUT", "The longest time one call may take, in seconds, if --timeout is not given."),
        *_row("EYESPAN_TOKEN", "The bearer token of eyespan serve --http."),
        *_row("NO_COLOR", "If set, output has no colours."),
        ".SH EXIT STATUS",
        _roff_text("0: everything was read. 1: something could not be read. 2: wrong usage."),
    ]
    return "".join([f"{line}\n" for line in lines])


def _rows(options: Iterable[Action]) -> list[str]:
    rows = []
    for option in options:
        value = f" {option.metavar}" if option.metavar else ""
        rows += _row(", ".join(option.option_strings) + value, option.help or "")
    return rows


def _row(left: str, text: str) -> list[str]:
    return [".TP", rf"\fB{_roff_text(left)}\fR", _roff_text(text)]


def _roff_text(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped[:1] in (".", "'") else escaped
