"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

from eyespan.plugins import Command

_HERE = "eyespan.extras.operations"

COMMANDS = {
    "audit": Command("FILE", "summarize an audit log of the server", f"{_HERE}.audit_summary"),
    "completions": Command("SHELL", "print completions for bash, zsh or fish", f"{_HERE}.completions"),
    "manual": Command("", "print the manual page", f"{_HERE}.manual"),
}
ATTACK_RUN = f"{_HERE}.attack:attacks"
"""What `eyespan doctor --attack` runs; the rows `ATTACKS` of other extras are part of it."""
