"""`eyespan completions`: completion scripts for shells, made from the tables of commands and options."""

from __future__ import annotations

from eyespan.cli.main import COMMANDS, load_command
from eyespan.cli.options import COMMON, Arguments, Option, UsageError
from eyespan.dialects import DIALECTS

HELP = """\
usage: eyespan completions SHELL

Prints a script that completes commands, options, dialects, file names and the
names after a selector's sign.

  source <(eyespan completions bash)                         in ~/.bashrc
  eyespan completions zsh > "${fpath[1]}/_eyespan"           once
  eyespan completions fish > ~/.config/fish/completions/eyespan.fish
"""
OPTIONS = {"common options": COMMON}
SHELLS = ("bash", "zsh", "fish")
TAKES_FILES = ("read", "audit")
TAKES_DIALECT = ("call", "schema")
FILES = ("FILE",)
DIRECTORIES = ("DIR",)


def main(arguments: Arguments) -> int:
    """Print the script for a shell."""
    words = arguments.operands
    if len(words) != 1 or words[0] not in SHELLS:
        given = f", not {' '.join(words)!r}" if words else ""
        raise UsageError(f"completions needs the name of a shell: {', '.join(SHELLS)}{given}")
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[words[0]](), end="")
    return 0


def _options_of(command: str) -> list[Option]:
    sections = load_command(command).OPTIONS.values()
    return list({option.names: option for section in sections for option in section}.values())


def _dialects() -> str:
    return " ".join(DIALECTS)


def _valued(options: list[Option], values: tuple[str, ...]) -> str:
    return "|".join([name for option in options if option.value in values for name in option.names])


def _bash() -> str:
    cases = []
    for command in COMMANDS:
        options = _options_of(command)
        names = " ".join([name for option in options for name in option.names])
        cases.append(f'    {command}) options="{names}" ;;')
    every = [option for command in COMMANDS for option in _options_of(command)]
    return f"""\
# bash completion for eyespan: source <(eyespan completions bash)
_eyespan() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="" options="" each
  COMPREPLY=()
  for each in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$each" in
      {"|".join(COMMANDS)}) command="$each"; break ;;
    esac
  done
  case "$before" in
    {_valued(every, DIRECTORIES)}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
    {_valued(every, FILES)}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    --dialect) mapfile -t COMPREPLY < <(compgen -W "{_dialects()}" -- "$word"); return ;;
    --color) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word"); return ;;
  esac
  case "$command" in
{chr(10).join(cases)}
    *) options="{" ".join([name for option in COMMON for name in option.names])} --version" ;;
  esac
  if [[ "$word" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    return
  fi
  case "$command" in
    "") mapfile -t COMPREPLY < <(compgen -W "{" ".join(COMMANDS)} help" -- "$word") ;;
    {"|".join(TAKES_DIALECT)}) mapfile -t COMPREPLY < <(compgen -W "{_dialects()}" -- "$word") ;;
    completions) mapfile -t COMPREPLY < <(compgen -W "{" ".join(SHELLS)}" -- "$word") ;;
    {"|".join(TAKES_FILES)}) compopt -o filenames -o nospace; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
  esac
}}
complete -F _eyespan eyespan
"""


def _zsh() -> str:
    commands = "\n".join([f"    '{name}:{_quoted(text)}'" for name, (_, text) in COMMANDS.items()])
    cases = []
    for command in COMMANDS:
        rows = [_zsh_option(option) for option in _options_of(command)]
        if command in TAKES_FILES:
            rows.append("'*:file:_files'")
        elif command in TAKES_DIALECT:
            rows.append(f"'1:dialect:({_dialects()})'")
        elif command == "completions":
            rows.append(f"'1:shell:({' '.join(SHELLS)})'")
        joined = " \\\n        ".join(rows)
        cases.append(f"    {command})\n      _arguments -s \\\n        {joined} ;;")
    return f"""\
#compdef eyespan
# zsh completion for eyespan: eyespan completions zsh > "${{fpath[1]}}/_eyespan"
_eyespan() {{
  local -a commands
  commands=(
{commands}
  )
  local context state line
  _arguments -C '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
  case $line[1] in
{chr(10).join(cases)}
  esac ;;
  esac
}}
_eyespan "$@"
"""


def _zsh_option(option: Option) -> str:
    action = {"FILE": "_files", "DIR": "_files -/"}.get(option.value, "")
    value = f":{option.value.lower().replace(':', ' ')}:{action}" if option.value else ""
    if option.names[-1] == "--dialect":
        value = f":dialect:({_dialects()})"
    repeat = "*" if option.is_repeatable else ""
    rows = [f"'{repeat}{name}[{_quoted(option.text)}]{value}'" for name in option.names]
    return " ".join(rows)


def _quoted(text: str) -> str:
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def _fish() -> str:
    lines = [
        "# fish completion for eyespan: eyespan completions fish > ~/.config/fish/completions/eyespan.fish",
        "complete -c eyespan -n __fish_use_subcommand -f",
    ]
    for name, (_, text) in COMMANDS.items():
        lines.append(f"complete -c eyespan -n __fish_use_subcommand -a {name} -d {_fish_quoted(text)}")
    for command in COMMANDS:
        here = f"complete -c eyespan -n '__fish_seen_subcommand_from {command}'"
        if command not in TAKES_FILES:
            lines.append(f"{here} -f")
        if command in TAKES_DIALECT:
            lines.append(f"{here} -a '{_dialects()}'")
        if command == "completions":
            lines.append(f"{here} -a '{' '.join(SHELLS)}'")
        for option in _options_of(command):
            names = " ".join([f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names])
            value = ""
            if option.value:
                value = " -r" if option.value in (*FILES, *DIRECTORIES) else " -x"
            if option.names[-1] == "--dialect":
                value = f" -x -a '{_dialects()}'"
            lines.append(f"{here} {names}{value} -d {_fish_quoted(option.text)}")
    return "".join([f"{line}\n" for line in lines])


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
