"""The blocks of the pages: code, commands and files that a reader may copy."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "proof/README.md", "packaging/eyespan-mcp/README.md"),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?<=\n\n)(?:    \S.*\n(?:(?:    .*)?\n)*)")


@dataclass(frozen=True)
class Block:
    """One block of a page. `language` is "indented" for a block without a fence."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page in order."""
    text = (ROOT / page).read_text("utf-8")
    found = []
    for match in _FENCE.finditer(text):
        body = re.sub(f"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        found.append(Block(page, _line(text, match.start()), match["language"] or "text", body))
    # The fenced blocks are blanked, line by line, so that their contents are no indented blocks.
    outside = _FENCE.sub(lambda match: "-\n" * match[0].count("\n") + "-", text)
    for match in _INDENTED.finditer(outside):
        body = re.sub("^    ", "", match[0], flags=re.MULTILINE).rstrip("\n") + "\n"
        found.append(Block(page, _line(outside, match.start()), "indented", body))
    return sorted(found, key=lambda block: block.line)


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


@dataclass(frozen=True)
class Command:
    """One command of a block, without its comment, and the lines printed below it in a console block."""

    words: tuple[str, ...]
    output: str


def commands(block: Block) -> list[Command]:
    """Return the commands of a block in order."""
    joined = block.text.replace("\\\n", " ")
    found: list[Command] = []
    for line in joined.splitlines(keepends=True):
        if block.language == "console" and not line.startswith("$ "):
            last = found.pop()
            found.append(Command(last.words, last.output + line))
        elif line.strip():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words:
                found.append(Command(tuple(words), ""))
    return found
