"""`eyespan completions`: completion scripts for shells, made from the parsers of the commands."""

from __future__ import annotations

from argparse import Action

from eyespan.cli.main import COMMANDS, command_parser
from eyespan.cli.options import COMMON, Arguments, UsageError
from eyespan.dialects import dialect_names

HELP = """\
usage: eyespan completions SHELL

Prints a script that completes commands, options, dialects, file names and the
names after a selector's sign.

  source <(eyespan completions bash)                         in ~/.bashrc
  eyespan completions zsh > "${fpath[1]}/_eyespan"           once
  eyespan completions fish > ~/.config/fish/completions/eyespan.fish
"""
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


def _options_of(command: str) -> list[Action]:
    return [option for section in command_parser(command).sections().values() for option in section]


def _dialects() -> str:
    return " ".join(dialect_names())


def _valued(values: tuple[str, ...]) -> str:
    every = [option for command in COMMANDS for option in _options_of(command) if option.metavar in values]
    return "|".join(dict.fromkeys([name for option in every for name in option.option_strings]))


def _bash() -> str:
    cases = []
    for command in COMMANDS:
        names = " ".join([name for option in _options_of(command) for name in option.option_strings])
        cases.append(f'    {command}) options="{names}" ;;')
    common = command_parser("dialects").sections()[COMMON]
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
    {_valued(DIRECTORIES)}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
    {_valued(FILES)}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    --dialect) mapfile -t COMPREPLY < <(compgen -W "{_dialects()}" -- "$word"); return ;;
    --color) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word"); return ;;
  esac
  case "$command" in
{chr(10).join(cases)}
    *) options="{" ".join([name for option in common for name in option.option_strings])}" ;;
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
    commands = "\n".join([f"    '{name}:{_quoted(text)}'" for name, (_, text, _) in COMMANDS.items()])
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


def _zsh_option(option: Action) -> str:
    noun = str(option.metavar or "")
    action = {"FILE": "_files", "DIR": "_files -/"}.get(noun, "")
    value = f":{noun.lower().replace(':', ' ')}:{action}" if noun else ""
    if "--dialect" in option.option_strings:
        value = f":dialect:({_dialects()})"
    repeat = "*" if noun else ""
    return " ".join([f"'{repeat}{name}[{_quoted(option.help or '')}]{value}'" for name in option.option_strings])


def _quoted(text: str) -> str:
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def _fish() -> str:
    lines = [
        "# fish completion for eyespan: eyespan completions fish > ~/.config/fish/completions/eyespan.fish",
        "complete -c eyespan -n __fish_use_subcommand -f",
    ]
    for name, (_, text, _) in COMMANDS.items():
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
            each = option.option_strings
            names = " ".join([f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in each])
            value = ""
            if option.metavar:
                value = " -r" if option.metavar in (*FILES, *DIRECTORIES) else " -x"
            if "--dialect" in each:
                value = f" -x -a '{_dialects()}'"
            lines.append(f"{here} {names}{value} -d {_fish_quoted(option.help or '')}")
    return "".join([f"{line}\n" for line in lines])


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
