"""Write the reference pages of docs/reference/ from the code: `python tools/reference.py`, `--check` compares only.

cli.md       every command and option
errors.md    every error: class, code, cause, remedy
settings.md  every setting of every dialect
api.md       the public names of the package, those that a program begins with first
schemas.md   the JSON Schemas of docs/schemas
pasted.md    the texts of other programs that are read as selectors
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import eyespan
from eyespan import errors
from eyespan.cli.main import COMMANDS, command_parser, load_command
from eyespan.dialects import dialect_class, dialect_names
from eyespan.extras.pasted.interpretations import EXAMPLES
from eyespan.extras.pasted.pasted_forms import ROWS

OUT = Path(__file__).resolve().parents[1] / "docs" / "reference"
LONG = 100
FIRST = ("Workspace", "Tool", "Reply", "ToolSpec")
LAST = ("CallContext",)
"""Classes that the page of public names begins and ends with."""
API_INTRODUCTION = [
    "The public names of `eyespan`. A `Workspace` is the files that may be read, a `Tool` is a dialect over",
    "them, and a `Reply` is an answer. Most programs need nothing else:",
    "",
    "```python",
    "from eyespan import Workspace",
    "",
    'with Workspace(".") as workspace:',
    '    tool = workspace.tool("native")',
    '    reply = tool.call({"files": ["README.md:1-5"]})',
    "    print(reply.text, reply.facts)",
    "```",
    "",
    "[Hosts](../hosts.md) has the functions of `eyespan.hosts`, which make definitions and results for model APIs.",
    "",
]
REMEDIES = {
    "binary": "Name a document kind that is installed (`eyespan doctor`), or read it with another tool.",
    "busy": "Try again.",
    "cancelled": "None: the caller cancelled the call.",
    "unsearched": "check the target, or export its directories one by one",
    "changed": "Read it again.",
    "closed": "Open the workspace again.",
    "internal": "Report it, with the log.",
    "invalid_path": "Write a path, without a scheme or a drive letter.",
    "invalid_range": "Write 3-9, 3-, 3+5, -50 or 1-5,40-45.",
    "io": "Check the file system.",
    "missing_part": "Install the extra that the message names.",
    "no_match": "Try another pattern; it is a regular expression.",
    "no_member": "List the archive or the tables first.",
    "no_revision": "Name a branch, a tag or a hash of the repository.",
    "no_such_part": "Ask for parts that this kind of file has.",
    "no_symbol": "Take one of the suggestions, or ask for the outline.",
    "not_found": "Check the name; similar names are suggested.",
    "not_regular": "Name a file. Directories are listed by `native` and `eyespan read`.",
    "outside_root": "Add its directory as a root.",
    "past_end": "Ask for less; the message gives the total.",
    "permission": "Run eyespan as a user who may read it.",
    "policy_denied": "Allow the name in the host's configuration (docs/security.md).",
    "scan_limit": "Raise `max_scan_bytes`, or ask for lines nearer to the start.",
    "store": "Check the store that the message names; see docs/remote.md.",
    "stuck": "Wait until the file system answers.",
    "timeout": "Ask for less, or raise the deadline.",
    "too_large": "Ask for part of it, or raise the limit.",
    "unreadable": "The file is damaged, encrypted or of an unknown version.",
    "window_too_large": "Ask for fewer lines.",
}


def cli_page() -> str:
    """Return the page of commands and options."""
    lines = ["# Commands", "", "Every command and option; `eyespan help COMMAND` prints the same.", ""]
    for name in COMMANDS:
        lines += [f"## eyespan {name}", "", "```text", load_command(name).HELP.rstrip(), "```", ""]
        lines += ["| option | meaning |", "| --- | --- |"]
        for option in [option for section in command_parser(name).sections().values() for option in section]:
            value = f" {option.metavar}" if option.metavar else ""
            names = ", ".join([f"`{each}{value}`" for each in option.option_strings])
            lines.append(f"| {names} | {_cell(option.help or '')} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def errors_page() -> str:
    """Return the page of errors."""
    lines = [
        "# Errors",
        "",
        "The codes of errors (`reply.error.code`, `ReadError.code`), with cause and remedy. A dialect writes its own",
        "text for each; `workspace` and `forge` have codes of their own (docs/dialects.md).",
        "",
        "| code | class | cause | remedy |",
        "| --- | --- | --- | --- |",
    ]
    rows = {}
    for name, cls in vars(errors).items():
        if inspect.isclass(cls) and issubclass(cls, errors.ReadError) and cls is not errors.ReadError:
            rows[cls.code] = rows.get(cls.code) or (name, inspect.getdoc(cls) or "")
    for code, (name, cause) in sorted(rows.items()):
        remedy = REMEDIES.get(code, "")
        if not remedy:
            raise SystemExit(f"tools/reference.py has no remedy for the code {code!r}")
        lines.append(f"| `{code}` | `{name}` | {_cell(cause)} | {remedy} |")
    return "\n".join(lines) + "\n"


def settings_page() -> str:
    """Return the page of settings."""
    lines = [
        "# Settings of dialects",
        "",
        "The settings of each dialect, which a host may change.",
        "",
        'In Python `workspace.tool("claude", line_number_format="arrow")`, on the command line',
        "`--set claude.line_number_format=arrow`, in `eyespan.toml` `[dialects.claude]`. Every dialect also has",
        "`allowed` (false refuses every call) and `encoding`.",
        "",
    ]
    for name in dialect_names():
        dialect = dialect_class(name)
        lines += [f"## {name}", ""]
        if not dialect.settings:
            lines += ["No settings of its own.", ""]
            continue
        lines += ["| setting | default | values |", "| --- | --- | --- |"]
        for setting, default in dialect.settings.items():
            values = ", ".join([f"`{value}`" for value in getattr(dialect, "choices", {}).get(setting, ())])
            if not values and setting in getattr(dialect, "limits", ()):
                values = "a whole number"
            lines.append(f"| `{setting}` | `{default!r}` | {values} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def api_page() -> str:
    """Return the page of public names."""
    lines = ["# Python", "", *API_INTRODUCTION]
    classes = [name for name in eyespan.__all__ if inspect.isclass(getattr(eyespan, name))]
    for name in [*FIRST, *[name for name in classes if name not in (*FIRST, *LAST)], *LAST]:
        value = getattr(eyespan, name)
        lines += [f"## {name}", "", _signature(name, value), "", inspect.getdoc(value) or "", ""]
        for member, function in vars(value).items():
            is_method = inspect.isfunction(function) or isinstance(function, classmethod)
            if member.startswith("_") or not is_method:
                continue
            inner = function.__func__ if isinstance(function, classmethod) else function
            lines += [f"### {name}.{member}", "", _signature(member, inner), "", inspect.getdoc(inner) or "", ""]
    functions = [name for name in eyespan.__all__ if inspect.isfunction(getattr(eyespan, name))]
    for name in functions:
        value = getattr(eyespan, name)
        lines += [f"## {name}", "", _signature(name, value), "", inspect.getdoc(value) or "", ""]
    return "\n".join(lines).rstrip() + "\n"


def schemas_page() -> str:
    """Return the page of the JSON Schemas."""
    lines = [
        "# JSON Schemas",
        "",
        "The forms of what eyespan takes and writes, as JSON Schemas (draft 2020-12) for editors and programs.",
        "`tests/test_json_schemas.py` compares them with what the commands write.",
        "",
    ]
    for path in sorted((OUT.parent / "schemas").glob("*.json")):
        schema = json.loads(path.read_text("utf-8"))
        lines += [f"## {schema['title']}", "", f"[The schema](../schemas/{path.name})", ""]
        lines += ["| field | type | meaning |", "| --- | --- | --- |"]
        for name, field in schema.get("properties", {}).items():
            types = field.get("type", "")
            shown = ", ".join(types) if isinstance(types, list) else types
            required = "" if name in schema.get("required", ()) else " (optional)"
            lines.append(f"| `{name}` | {shown}{required} | {_cell(field.get('description', ''))} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def pasted_page() -> str:
    """Return the page of pasted texts."""
    lines = [
        "# Pasted texts",
        "",
        "What `native` and `eyespan read` make of a text that is no selector; the rules are in",
        "[the page of selectors](../selectors.md#what-other-tools-print). The rows are the table in",
        "`src/eyespan/extras/pasted/pasted_forms.py`, and each is run as a test. `⏎` is the end of a line.",
        "",
        "| form | pasted | read as |",
        "| --- | --- | --- |",
    ]
    tables = [*[(row.name, row.examples) for row in ROWS], ("several paths or lines", EXAMPLES)]
    for name, examples in tables:
        for number, (text, meant) in enumerate(examples):
            lines.append(f"| {_cell(name) if not number else ''} | {_code(text)} | {_code(meant)} |")
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    shown = text.replace("|", "\\|").replace("\n", "⏎")
    ticks = "`" * (1 + max([len(run) for run in re.findall("`*", text)]))
    return f"{ticks} {shown} {ticks}" if "`" in text else f"`{shown}`"


def _signature(name: str, value: object) -> str:
    """Return a name with its parameters as a block, one parameter a line if it is long."""
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]  # a class or a function
    except (TypeError, ValueError):
        return f"```python\n{name}(...)\n```"
    plain = signature.replace(
        parameters=[one.replace(annotation=_annotation(one.annotation)) for one in signature.parameters.values()],
        return_annotation=signature.empty if inspect.isclass(value) else _annotation(signature.return_annotation),
    )
    text = f"{name}{plain}"
    if len(text) > LONG:
        end = text.rpartition(")")[2]
        parts = [str(one) for one in plain.parameters.values()]
        star = next((n for n, one in enumerate(plain.parameters.values()) if one.kind is one.KEYWORD_ONLY), None)
        if star is not None and not any(one.kind is one.VAR_POSITIONAL for one in plain.parameters.values()):
            parts.insert(star, "*")
        text = f"{name}(\n" + "".join([f"    {part},\n" for part in parts]) + f"){end}"
    return f"```python\n{text}\n```"


class _Plain(str):
    """An annotation that is written without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _annotation(annotation: Any) -> Any:
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


PAGES = {
    "cli.md": cli_page,
    "errors.md": errors_page,
    "settings.md": settings_page,
    "api.md": api_page,
    "pasted.md": pasted_page,
    "schemas.md": schemas_page,
}


def main(arguments: list[str]) -> int:
    """Write or compare the pages. Returns 1 if a compared page is out of date."""
    OUT.mkdir(exist_ok=True)
    old = [name for name, page in PAGES.items() if not _is_current(name, page())]
    if "--check" in arguments:
        if old:
            print(f"out of date: {', '.join(old)}; run python tools/reference.py", file=sys.stderr)
        return 1 if old else 0
    for name in old:
        (OUT / name).write_text(PAGES[name](), "utf-8")
    return 0


def _is_current(name: str, text: str) -> bool:
    path = OUT / name
    return path.exists() and path.read_text("utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
