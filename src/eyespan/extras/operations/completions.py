"""`eyespan completions`: scripts that let a shell complete, and the words that they ask for."""

from __future__ import annotations

from collections.abc import Sequence

from eyespan.cli.main import COMMANDS, command_parser, overview
from eyespan.cli.options import Arguments, UsageError
from eyespan.dialects import dialect_names

HELP = """\
usage: eyespan completions SHELL

Prints a script that completes commands, options, dialects and file names. The
script asks `eyespan completions words`, so it stays right after an update.

  source <(eyespan completions bash)                         in ~/.bashrc
  eyespan completions zsh > "${fpath[1]}/_eyespan"           once
  eyespan completions fish > ~/.config/fish/completions/eyespan.fish
"""
SCRIPTS = {
    "bash": """\
# bash completion for eyespan: source <(eyespan completions bash)
_eyespan() {
  mapfile -t COMPREPLY < <(eyespan completions words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _eyespan eyespan
""",
    "zsh": """\
#compdef eyespan
# zsh completion for eyespan: eyespan completions zsh > "${fpath[1]}/_eyespan"
local -a found
found=(${(f)"$(eyespan completions words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
if (( $#found )); then compadd -a found; else _files; fi
""",
    "fish": """\
# fish completion for eyespan: eyespan completions fish > ~/.config/fish/completions/eyespan.fish
complete -c eyespan -a '(eyespan completions words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
""",
}
VALUES = {"--color": ("auto", "always", "never"), "--for": ("mcp", "openai", "anthropic")}
TAKES_DIALECT = ("call", "schema")


def main(arguments: Arguments) -> int:
    """Print the script for a shell, or the words that complete the last one of a command line."""
    words = arguments.operands
    if words[:1] == ("words",):
        print("".join([f"{word}\n" for word in completed(words[1:])]), end="")
        return 0
    if len(words) != 1 or words[0] not in SCRIPTS:
        given = f", not {' '.join(words)!r}" if words else ""
        raise UsageError(f"completions needs the name of a shell: {', '.join(SCRIPTS)}{given}")
    print(SCRIPTS[words[0]], end="")
    return 0


def completed(words: Sequence[str]) -> list[str]:
    """Return what can stand for the last word; nothing where files and directories can."""
    *before, last = words or ("",)
    command = next((word for word in before if word in COMMANDS), "")
    parser = command_parser(command) if command else overview()
    options = {name: each for section in parser.sections().values() for each in section for name in each.option_strings}
    named = before[-1] if before and before[-1] in options and options[before[-1]].nargs != 0 else ""
    known: Sequence[str] = ()
    if named == "--dialect" or (not named and command in TAKES_DIALECT):
        known = dialect_names()
    if named:
        known = VALUES.get(named, known)
    elif last.startswith("-"):
        known = list(options)
    elif not command:
        known = [*COMMANDS, "help"]
    elif command == "completions":
        known = list(SCRIPTS)
    return [word for word in known if word.startswith(last)]
