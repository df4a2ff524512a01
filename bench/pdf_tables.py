"""Compare the tables of PDF answers with those of ICDAR 2013, by the pairs of adjacent cells.

    python bench/pdf_tables.py DIRECTORY                 eyespan itself
    python bench/pdf_tables.py DIRECTORY ANSWERS.json    answers of others: {"us-001.pdf": "Markdown"}

DIRECTORY has the data set below it, as in the tests of tabula-java: us-001.pdf beside us-001-str.xml. A pair is two
texts and their direction; empty cells between them do not count, and each pair counts as often as it occurs. Letters
are compared without case, blanks and most punctuation.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from eyespan import Workspace

Pairs = Counter[tuple[str, str, str]]


def normal(text: str) -> str:
    plain = re.sub(r"\\([^\w\s])", r"\1", unicodedata.normalize("NFKC", text))
    return re.sub(r"[^\w%.,+]|_", "", plain).lower()


def true_pairs(path: Path) -> Pairs:
    found: Pairs = Counter()
    for table in ElementTree.parse(path).getroot().iter("table"):
        places: dict[tuple[int, int], int] = {}
        texts: list[str] = []
        for region in table.iter("region"):
            down, right = (int(region.get(name) or 0) for name in ("row-increment", "col-increment"))
            for cell in region.iter("cell"):
                row, column = int(cell.get("start-row", 0)) + down, int(cell.get("start-col", 0)) + right
                last_row = int(cell.get("end-row") or cell.get("start-row", 0)) + down
                last_column = int(cell.get("end-col") or cell.get("start-col", 0)) + right
                text = normal(cell.findtext("content") or "")
                texts.append(text)
                area = [(y, x) for y in range(row, last_row + 1) for x in range(column, last_column + 1)]
                places.update({place: len(texts) - 1 for place in area if text})
        found += pairs_of(places, texts)
    return found


def shown_pairs(markdown: str) -> Pairs:
    found: Pairs = Counter()
    rows: list[list[str]] = []
    for line in [*markdown.split("\n"), ""]:
        if not line.startswith("|"):
            texts = [normal(cell) for row in rows for cell in row]
            places = [(y, x) for y, row in enumerate(rows) for x in range(len(row))]
            found += pairs_of({place: at for at, place in enumerate(places) if texts[at]}, texts)
            rows = []
        elif not re.fullmatch(r"\|(\s*:?-+:?\s*\|)+\s*", line):
            rows.append(re.split(r"(?<!\\)\|", line.strip()[1:-1]))
    return found


def pairs_of(places: dict[tuple[int, int], int], texts: list[str]) -> Pairs:
    """Return each cell with the next one to the right and below."""
    found = set()
    height, width = (max([place[axis] for place in places], default=-1) + 1 for axis in (0, 1))
    for (row, column), here in places.items():
        ways = {
            "right": [(row, x) for x in range(column + 1, width)],
            "below": [(y, column) for y in range(row + 1, height)],
        }
        for way, others in ways.items():
            following = next((places[place] for place in others if place in places), here)
            if following != here:
                found.add((here, following, way))
    return Counter([(texts[a], texts[b], way) for a, b, way in found])


def answer(path: Path) -> str:
    """Return the text of all pages."""
    tool, wanted, found = Workspace(path.parent).tool("native"), path.name, []
    while wanted:
        reply = tool.call({"files": wanted, "budget": 200_000})
        found += [line.removeprefix("\t") for line in reply.text.split("\n")]
        left = (reply.structured or {}).get("left") or []
        wanted = left[0] if left else ""
    return "\n".join(found)


def main(arguments: list[str]) -> None:
    directory = Path(arguments[0])
    answers = json.loads(Path(arguments[1]).read_text()) if len(arguments) > 1 else None
    right = total = shown = files = 0
    for truth in sorted(directory.rglob("*-str.xml")):
        path = truth.with_name(truth.name.replace("-str.xml", ".pdf"))
        if not path.exists():
            continue
        wanted = true_pairs(truth)
        got = shown_pairs(answer(path) if answers is None else answers.get(path.name, ""))
        files += 1
        right, total, shown = right + (wanted & got).total(), total + wanted.total(), shown + got.total()
    recall, precision = right / max(1, total), right / max(1, shown)
    f1 = 2 * recall * precision / max(1e-9, recall + precision)
    print(f"{files} files: F1 {f1:.3f}, recall {recall:.3f}, precision {precision:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
