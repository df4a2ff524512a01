"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

from eyespan.plugins import Command

_HERE = "eyespan.extras.operations"

COMMANDS = {
    "doctor": Command("", "report the state of this installation", f"{_HERE}.doctor"),
    "completions": Command("SHELL", "print completions for bash, zsh or fish", f"{_HERE}.completions"),
    "manual": Command("", "print the manual page", f"{_HERE}.manual"),
}
