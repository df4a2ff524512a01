"""Gemini CLI's `read_file` and `read_many_files`, and the declared differences of the `gemini` dialect from it."""

from __future__ import annotations

import base64
import errno
import os
import random
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from eyespan.extras.families.gemini import END, MISSING, NEXT, NO_FILES
from proof.originals.child import Child
from proof.originals.rules import BINARY, HALF, STRICT, WRONG, Answer, Case, Rule, counted_empty
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "gemini"
PEER = "gemini-cli-core"
KINDS: dict[str, tuple[str, str]] = {}
"""The kind that the original takes a file for, and its type."""


class Original(Child):
    """The original, called from a small program of its own language."""

    def __init__(self, place: Path, root: Path) -> None:
        super().__init__(["node", str(Path(__file__).with_name("gemini.mjs")), str(place), str(root)])

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, Any]:
        """Return whether the call failed, and its text or its blocks."""
        answer = self.ask({"tool": tool, "args": arguments})
        content = answer["content"]
        KINDS.update(answer.get("kinds", {}))
        if isinstance(content, dict):
            content = [_block(content)]
        elif isinstance(content, list):
            blocks = [_block(one) for one in content]
            is_text = all(block["type"] == "text" for block in blocks)
            content = "".join([block["text"] for block in blocks]) if is_text else blocks
        return answer["failed"], content


def _block(content: Any) -> dict[str, Any]:
    if isinstance(content, str):
        return {"type": "text", "text": content}
    data = content["inlineData"]
    return {"type": "image", "data": data["data"], "mimeType": data["mimeType"]}


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a random range of a random file, or random patterns."""
    if rng.random() < 0.08:
        return "read_many_files", _random_patterns(rng, root, names)
    arguments: dict[str, Any] = {"file_path": random_path(rng, root, names)}
    for name in ("start_line", "end_line"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    return "read_file", spoiled(rng, arguments, "file_path")


PATTERNS = [
    *("*", "**", "**/*", "*.txt", "**/*.py", "src/**", "src/*", "src/**/*.md", "**/*.{md,json}", "{src,docs}/*"),
    *(
        "?ong.log",
        "[a-l]*",
        "[^a-l]*",
        "**/*[0-3].*",
        "SRC/*",
        "Src/Deep/*",
        "*.TXT",
        ".hidden/*",
        "linked/*",
        "**/deep/**",
    ),
    *(".", "src", "src/", "./long.log", "./src/*", "../outside*", "src/../long.log", "*.png", "**/*.png"),
    *(
        "a b/*",
        "nosuch*",
        "no/such/*",
        "!*",
        "#*",
        "**/.env",
        "*.bin",
        "binary*",
        "build/*",
        "**/node_modules/**",
        "link*",
    ),
    *("GEMINI.md", "*.md", "dangling*", "out.txt", "linked", "linked/deep/*", "**/linked/*", "*/*", "src/*/*", "*.pak"),
]


def _random_patterns(rng: random.Random, root: Path, names: list[str]) -> dict[str, Any]:
    if not (root / "build").exists():
        for name in (
            "build/out.js",
            "node_modules/p/index.js",
            "src/Build/x.txt",
            "GEMINI.md",
            "a.pak",
            "[x].md",
            "x.pyc",
        ):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"text of {name}\n")

    def pattern() -> str:
        chance = rng.random()
        if chance < 0.7:
            return rng.choice(PATTERNS)
        name = rng.choice([*names, "[x].md", "build/out.js"])
        return name.upper() if chance < 0.75 else f"{root}/{name}" if chance < 0.8 and name else name or "*.csv"

    arguments: dict[str, Any] = {"include": [pattern() for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))]}
    if rng.random() < 0.4:
        arguments["exclude"] = [pattern() for _ in range(rng.choice([0, 1, 2]))]
    if rng.random() < 0.3:
        arguments["useDefaultExcludes"] = rng.random() < 0.3
    if rng.random() < 0.03:
        arguments[rng.choice(["include", "exclude", "useDefaultExcludes"])] = rng.choice(["x", 3, [3], [""], None])
    return arguments


def _file(case: Case) -> str:
    """Return the file that the original reads: links are resolved, a mention is taken off, percent escapes decoded."""
    path = str(case.arguments["file_path"]).replace("\0", "")
    if path.startswith("@") and not os.path.exists(case.root / path):
        stripped = path[1:].lstrip("\\/")
        if stripped and (path[1:2] in "\\/" or not os.path.exists(case.root / f"@{stripped.split('/')[0]}")):
            path = stripped
    path = os.path.normpath(case.root / path)
    decoded = unquote(path, errors="strict")
    return os.path.realpath(decoded)


def _decoded(case: Case, own: Answer) -> Answer:
    """Return the error for a name that percent escapes or a mention make another one, which is missing."""
    return own if case.tool != "read_file" or os.path.exists(_file(case)) else (True, MISSING)


def _named_next(case: Case, own: Answer) -> Answer:
    """Return the answer with a next section in its notice, also at the end."""
    found = re.match(
        r"\nIMPORTANT: .*\nStatus: Showing lines \d+-(\d+) of .*\nAction: .* 'read_file' call\.(?=\n)", own[1]
    )
    if found is None:
        return own
    text = f" For example, to read the next section of the file, use start_line: {int(found[1]) + 1}."
    return own[0], found[0] + text + own[1][found.end() :]


def _past_end(case: Case, own: Answer) -> Answer:
    """Return the empty range that the original answers with."""
    if not own[0] or "is after the end" not in own[1]:
        return own
    lines = _decoded_text(Path(_file(case)).read_bytes()).split("\n")
    first = case.arguments["start_line"]
    if first <= len(lines):  # the empty piece after the last line feed
        return own
    last = min(case.arguments.get("end_line") or len(lines), len(lines))
    return False, NEXT.format(first=len(lines) + 1, last=last, total=len(lines), next=last + 1, body="")


def _decoded_text(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def _by_kind(case: Case, own: Answer) -> Answer:
    """Return a file as the original shows its kind, which it takes from names and the share of odd characters."""
    if case.tool == "read_file":
        path = _file(case)
        found = _shown(path, case.root)
        return own if found is None or own[1] == "params" else (False, found if isinstance(found, str) else [found])
    found: dict[str, Any] = {}
    for block in own[1] if isinstance(own[1], list) else [{"type": "text", "text": own[1]}]:
        if block["type"] != "text":  # an image by its contents, whose name decides in the original
            before = max(found, default="")  # the files come in order
            found[min([path for path in KINDS if path > before and _is(path, block)])] = block
            continue
        text, _, skipped = block["text"].partition("Skipped:\n")
        for piece in re.split(r"(?m)^(?=--- /.* ---$)|(?=\n?--- End of content ---\Z)", text):
            if head := re.match(r"--- (/.*) ---\n\n", piece):
                found[head[1]] = piece
        names = re.findall(r"(?m)^(/.*?) \((?:Error reading|asset file)", skipped)
        found.update({name: "" for name in names if os.path.isfile(name)})
    blocks = []
    for path in sorted(found):
        shown = _shown(path, case.root)
        if isinstance(shown, str):
            found[path] = f"--- {path} ---\n\n{shown}\n\n"
        elif shown is not None:
            found[path] = shown if _is_asked(path, case.arguments["include"]) else ""
        blocks.append({"type": "text", "text": found[path]} if isinstance(found[path], str) else found[path])
    blocks = [block for block in blocks if block.get("text") != ""]
    blocks.append({"type": "text", "text": END if blocks else NO_FILES})
    return own[0], _joined(blocks)


def _is(path: str, block: Any) -> bool:
    return os.path.isfile(path) and base64.b64encode(Path(path).read_bytes()).decode() == block["data"]


def _is_asked(path: str, include: list[str]) -> bool:
    stem, suffix = os.path.splitext(os.path.basename(path))
    return any(suffix.lower() in one.lower() or stem in one for one in include)


def _joined(blocks: list[Any]) -> Any:
    """Return blocks, or one text if there is nothing else."""
    is_text = all(block["type"] == "text" for block in blocks)
    return "".join([block["text"] for block in blocks]) if is_text else blocks


def _shown(path: str, root: Path) -> Any:
    """Return the note or the block that the original makes of a file; None for a text by lines."""
    kind, media_type = KINDS.get(path, ("text", ""))
    if kind == "text" or not os.path.isfile(path):
        return None
    if kind == "svg":
        return Path(path).read_text("utf-8")
    if kind == "binary":
        return f"Cannot display content of binary file: {os.path.relpath(path, root)}"
    return {"type": "image", "data": base64.b64encode(Path(path).read_bytes()).decode(), "mimeType": media_type}


def _null(case: Case, own: Answer) -> Answer:
    """Return the refusal of null."""
    types = [(name, case.schema["properties"][name]["type"]) for name, value in case.arguments.items() if value is None]
    return (True, f"params/{types[0][0]} must be {types[0][1]}") if types else own


def _loops(case: Case) -> bool:
    try:
        os.stat(_file(case))
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _leads_outside(case: Case) -> bool:
    return not f"{_file(case)}/".startswith(f"{case.root}/")


def _is_odd(case: Case) -> bool:
    return "\0" in unquote(case.arguments["file_path"])


def _excluded_nothing(case: Case, own: Answer) -> Answer:
    """Return the error for an exclusion of the root itself."""
    is_root = any(os.path.normpath(one) == "." for one in case.arguments.get("exclude", []))
    return (True, "Error during file search: empty pattern list") if is_root else own


RULES = (
    Rule("a NUL in a path is refused", refused=_is_odd, refused_here=_is_odd),
    Rule("a loop of links", refused=_loops),
    Rule("files outside the roots", refused=_leads_outside),
    WRONG,
    STRICT,
    HALF,
    Rule("the empty piece after the last line feed is no line", table={"keeps_last_end": False}, files=counted_empty),
    BINARY,
    Rule("a next section is named only if there is one", answer=_named_next),
    Rule("a start after the end is an error", answer=_past_end),
    Rule(
        "contents decide on kinds, not names or the share of odd bytes; skipped files are listed",
        table={"max_skipped": 10**6},
        answer=_by_kind,
    ),
    Rule("an exclusion of the root matches nothing", answer=_excluded_nothing),
    Rule("null is absent", answer=_null),
    Rule("percent escapes are part of a name, and a mention may be absolute", answer=_decoded),
)
