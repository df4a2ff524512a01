"""Print the share of docstring sentences that are hard to read: `python tools/prose.py [--list] [PATH...]`.

Two habits make a sentence hard to read: it begins with a wh-word or "as" ("What the request selects"), or it lets code
talk ("says", "tells"). Counts both in every docstring below the paths (src/eyespan), strings after an assignment
included. `--list` prints each sentence with its place.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[1] / "src" / "eyespan"
WH_WORDS = frozenset(
    "what whatever whether how where wherever which whichever who whoever whom whose why as".split()  # noqa: SIM905
)
TALK = re.compile(r"\b(tell|tells|telling|told|say|says|saying|said)\b", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'`(]?[A-Z])|\n\s*\n")
FIRST_WORD = re.compile(r"[A-Za-z]+")


class Sentence(NamedTuple):
    """A sentence of a docstring and its place."""

    path: Path
    line: int
    text: str

    @property
    def is_hard(self) -> bool:
        first = FIRST_WORD.match(self.text)
        starts_with_wh = first is not None and first[0].lower() in WH_WORDS
        return starts_with_wh or TALK.search(_without_code(self.text)) is not None


def sentences(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of all docstrings of a Python file."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for text in SENTENCE_END.split(node.value.value):
                words = " ".join(text.split())
                if FIRST_WORD.search(words):
                    yield Sentence(path, node.lineno, words)


def measure(paths: list[Path]) -> tuple[int, list[Sentence]]:
    """Return the number of sentences and those that are hard to read."""
    files = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    found = [sentence for file in files for sentence in sentences(file)]
    return len(found), [sentence for sentence in found if sentence.is_hard]


def _without_code(text: str) -> str:
    """Remove names in backquotes and quotations: they are not the author's own words."""
    return re.sub(r"`[^`]*`|\"[^\"]*\"", "", text)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[SOURCE], metavar="PATH")
    parser.add_argument("--list", action="store_true", help="print each sentence that is hard to read")
    options = parser.parse_args(argv)
    total, hard = measure(options.paths)
    if options.list:
        for sentence in hard:
            print(f"{sentence.path}:{sentence.line}: {sentence.text}")
    print(f"{len(hard)} of {total} docstring sentences are hard to read: {len(hard) / max(total, 1):.1%}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
