"""Compare what engines show of PDFs with public truth: tables, text, headings, the tests of olmOCR, and CPU time.

    python bench/documents.py --truth DIR     installs the engines and writes the table to standard output

DIR has, each if it is to be measured, all fetched by hand because they are not ours:

    icdar2013-dataset   from the tests of tabula-java: us-001.pdf beside us-001-str.xml
    olmocr              a checkout of allenai/olmocr, with its tests and the sample of its benchmark; the tests need
                        `pip install fuzzysearch rapidfuzz beautifulsoup4 tqdm`
    corpus              files/pdf and references.jsonl.gz: for each file the words that pypdf reads

Every engine runs in a process of its own, with default settings and without OCR. Of eyespan's answer the text of the
pages is compared: running headers and footers stand before it, and count for the recall of words alone.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import types
import unicodedata
from collections import Counter
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

Pairs = Counter[tuple[str, str, str]]
Cells = list[list[str]]
FILE_SECONDS = 60
"""An engine that answers no file within this time has failed on one."""
MAX_CELLS = 100
"""TEDS is measured for tables of at most so many cells."""


# --- engines ---------------------------------------------------------------------------------------------------------


def eyespan(path):
    """Return what `native` shows, call by call until nothing is left out."""
    from eyespan import Workspace

    wanted, found = [path.name], []
    with Workspace(path.parent) as workspace:
        tool = workspace.tool("native")
        while wanted:
            reply = tool.call({"files": wanted, "budget": 200_000})
            found += [line.removeprefix("\t") for line in reply.text.split("\n")]
            wanted = list((reply.structured or {}).get("left_out") or [])
    return "\n".join(found)


def decoder(path):
    """Return the pages as eyespan's decoder returns them, in this process, for its CPU time."""
    from eyespan.extras.documents.pdf import layout

    params = {"first": 1, "last": None, "max_pages": 10_000, "images": False, "max_px": 1568, "max_bytes": 1 << 28}
    params |= {"max_text_chars": 2_000_000, "layout": True, "textless": 0, "section": "", "seconds": 100.0}
    with path.open("rb") as file:
        return "\n".join([blob.decode("utf-8", "replace") for blob in layout.decode(file, params)[1]])


def pdfium(path):
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        return "\n".join(page.get_textpage().get_text_range() for page in document)


def liteparse(path):
    from liteparse import LiteParse

    return LiteParse(ocr_enabled=False, output_format="markdown", quiet=True).parse(path).text


def pdf_inspector(path):
    import pdf_inspector as engine

    return engine.process_pdf(str(path)).markdown or ""


def pdf_oxide(path):
    from pdf_oxide import PdfDocument

    return PdfDocument(str(path)).to_markdown_all()


def markitdown(path):
    from markitdown import MarkItDown

    return MarkItDown(enable_plugins=False).convert(path).text_content


def kreuzberg(path):
    from kreuzberg import ExtractionConfig, extract_file_sync

    return extract_file_sync(str(path), config=ExtractionConfig(output_format="markdown", disable_ocr=True)).content


def pymupdf4llm(path):
    import pymupdf4llm as engine

    return engine.to_markdown(str(path), show_progress=False)


ENGINES = (eyespan, decoder, liteparse, pdf_inspector, pdf_oxide, markitdown, kreuzberg, pymupdf4llm, pdfium)


def write_answers(name, paths):
    """Write a line for each file: its text, None for a failure, and the CPU seconds that it took."""
    call = next(engine for engine in ENGINES if engine.__name__ == name)
    for number, path in enumerate([*paths[:1], *paths]):
        start = time.process_time()
        try:
            text = call(Path(path))
        except Exception as error:
            text = None
            print(f"{name}: {Path(path).name}: {type(error).__name__}", file=sys.stderr)
        if number:  # the first call loads the engine
            print(json.dumps([path, text, time.process_time() - start]), flush=True)


def answers(name, place, paths):
    """Return the text and the CPU seconds of each file, by processes that begin after a file that ended or hung one."""
    found: dict[str, tuple[str | None, float]] = {}
    waiting = list(paths)
    while waiting:
        with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as taken:
            json.dump(waiting, given)
            given.seek(0)
            env = {**os.environ, "PYTHONPATH": place}
            process = subprocess.Popen([sys.executable, __file__, name], stdin=given, stdout=taken, env=env)
            size = -1
            while process.poll() is None and size != (size := os.fstat(taken.fileno()).st_size):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(FILE_SECONDS)
            process.kill()
            process.wait()
            taken.seek(0)
            lines = [line for line in taken.read().split("\n") if line.startswith("[")]
        found.update({path: (text, seconds) for path, text, seconds in map(json.loads, lines)})
        waiting = waiting[len(lines) :]
        if waiting:
            found[waiting.pop(0)] = (None, 0.0)
    return found


# --- tables ----------------------------------------------------------------------------------------------------------


def normal(text):
    plain = re.sub(r"\\([^\w\s])", r"\1", unicodedata.normalize("NFKC", text.replace("<br>", " ")))
    return re.sub(r"[^\w%.,+]|_", "", plain).lower()


def true_tables(path) -> list[dict[tuple[int, int], tuple[int, str]]]:
    """Return each table as its places, with the number and the text of the cell that covers them."""
    found = []
    for table in ElementTree.parse(path).getroot().iter("table"):
        places: dict[tuple[int, int], tuple[int, str]] = {}
        for number, (region, cell) in enumerate([(r, c) for r in table.iter("region") for c in r.iter("cell")]):
            down, right = (int(region.get(name) or 0) for name in ("row-increment", "col-increment"))
            row, column = int(cell.get("start-row", 0)), int(cell.get("start-col", 0))
            last_row, last_column = int(cell.get("end-row") or row), int(cell.get("end-col") or column)
            text = cell.findtext("content") or ""
            area = [(y + down, x + right) for y in range(row, last_row + 1) for x in range(column, last_column + 1)]
            places.update(dict.fromkeys(area, (number, text)))
        if places:
            found.append(places)
    return found


def shown_tables(markdown: str) -> list[Cells]:
    found: list[Cells] = [[]]
    for line in markdown.split("\n"):
        line = line.strip()
        if not line.startswith("|"):
            found.append([])
        elif not re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", line):
            found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line[1:].removesuffix("|"))])
    return [rows for rows in found if rows]


def pairs_of(places: dict[tuple[int, int], tuple[int, str]]) -> Pairs:
    """Return each cell with text and the next one to the right and below; empty cells between them do not count."""
    places = {place: (number, text) for place, (number, raw) in places.items() if (text := normal(raw))}
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
    return Counter([(a[1], b[1], way) for a, b, way in found])


def shown_pairs(rows: Cells) -> Pairs:
    cells = [(y, x, text) for y, row in enumerate(rows) for x, text in enumerate(row)]
    return pairs_of({(y, x): (number, text) for number, (y, x, text) in enumerate(cells)})


def grid_of(places: dict[tuple[int, int], tuple[int, str]]) -> Cells:
    """Return a true table as Markdown can show it: the text of a cell that covers several places in the first."""
    # Some files count rows and columns from 1, and a row or column without any cell is none.
    heights, widths = (sorted({place[axis] for place in places}) for axis in (0, 1))
    seen: set[int] = set()
    rows: Cells = []
    for y in heights:
        row = []
        for x in widths:
            number, text = places.get((y, x), (-1, ""))
            row.append("" if number in seen else text)
            seen.add(number)
        rows.append(row)
    return rows


def teds(one: Cells, other: Cells) -> float:
    """Return the similarity by tree edit distance, with rows aligned first, then the cells of each pair of rows."""

    def row_cost(a, b):
        return aligned_cost([text_of(c) for c in a], [text_of(c) for c in b], cell_distance, lambda _: 1)

    def text_of(cell):
        return " ".join(re.sub(r"\\([^\w\s])|[*`]", r"\1", cell.replace("<br>", " ")).split())

    nodes = max(sum([len(row) + 1 for row in rows]) for rows in (one, other)) + 1
    return 1 - aligned_cost(one, other, row_cost, lambda row: len(row) + 1) / nodes


def aligned_cost(first, second, cost, alone):
    """Return the least cost to make one list of the other: items are changed, left out or added."""
    above = [0.0]
    for item in second:
        above.append(above[-1] + alone(item))
    for item in first:
        own = [above[0] + alone(item)]
        for at, other in enumerate(second, 1):
            own.append(min(above[at] + alone(item), own[-1] + alone(other), above[at - 1] + cost(item, other)))
        above = own
    return above[-1]


@lru_cache(1 << 18)
def cell_distance(one: str, other: str) -> float:
    if one == other:
        return 0.0
    return aligned_cost(one, other, lambda a, b: a != b, lambda _: 1) / max(len(one), len(other))


def table_figures(truth: Path, texts) -> dict[str, float]:
    right = total = shown = 0
    scores = []
    for file in icdar_files(truth):
        tables = shown_tables(texts[str(file)] or "")
        true = true_tables(file.with_name(f"{file.stem}-str.xml"))
        wanted, got = (sum(map(make, found), Counter()) for make, found in ((pairs_of, true), (shown_pairs, tables)))
        right, total, shown = right + (wanted & got).total(), total + wanted.total(), shown + got.total()
        for places in true:
            cells = grid_of(places)
            if sum(map(len, cells)) <= MAX_CELLS:
                words = set(" ".join([text for _, text in places.values()]).split())
                near = [rows for rows in tables if words & set(" ".join([c for row in rows for c in row]).split())]
                scores.append(max([teds(cells, rows) for rows in near], default=0.0))
    recall, precision = right / total, right / max(1, shown)
    f1 = 2 * recall * precision / max(1e-9, recall + precision)
    return {"F1": f1, "recall": recall, "precision": precision, "TEDS": statistics.mean(scores)}


# --- text and headings -----------------------------------------------------------------------------------------------


def words(text: str) -> list[str]:
    text = re.sub(r"\\([^\w\s])", r"\1", text.replace("<br>", " "))
    text = unicodedata.normalize("NFKC", re.sub(r"[*_`~]", " ", text)).replace("\u00ad", "").replace("\ufffe", "")
    return re.findall(r"[^\W_]+", text.lower())


def text_figures(references: dict[str, str], texts) -> dict[str, float]:
    recalls, in_order = [], []
    for file, reference in references.items():
        wanted, got = words(reference), words(texts[file] or "")
        if wanted:
            recalls.append((Counter(wanted) & Counter(got)).total() / len(wanted))
        if len(wanted) > 1:
            beside = Counter(pairwise(wanted))
            in_order.append((beside & Counter(pairwise(got))).total() / beside.total())
    return {"recall": statistics.mean(recalls), "pairs": statistics.mean(in_order), "files": len(recalls)}


def olm_figures(truth: Path, texts) -> dict[str, str]:
    """Return how many of the tests pass, without those of formulas, all and by kind."""
    passed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    tests = olm_tests(truth)
    for line in (truth / "olmocr/olmocr/bench/sample_data/dataset.jsonl").read_text().splitlines():
        facts = json.loads(line) if line.strip() else {"type": "math"}
        if facts["type"] != "math" and facts["page"] == 1:
            text = texts[str(truth / "olmocr/olmocr/bench/sample_data/pdfs" / facts["pdf"])] or ""
            passed[facts["type"]] += tests.load_single_test(facts).run(re.split(r"(?m)^>Page \d+ of .*\n", text)[-1])[0]
        if facts["type"] != "math":
            total[facts["type"]] += 1
    return {"all": f"{passed.total()} of {total.total()}", **{kind: f"{passed[kind]}/{total[kind]}" for kind in total}}


def olm_tests(truth: Path):
    """Return the module with the tests of olmOCR, without what it needs for formulas."""
    stubs = {"olmocr.repeatdetect": ("RepeatDetector",), "olmocr.bench.katex.render": ("render_equation",)}
    stubs["olmocr.bench.katex.render"] += ("compare_rendered_equations",)
    for name, place in (
        ("olmocr", "olmocr/olmocr"),
        ("olmocr.bench", "olmocr/olmocr/bench"),
        ("olmocr.bench.katex", ""),
    ):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(truth / place)] if place else []
    for name, members in stubs.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(dict.fromkeys(members))
    return import_module("olmocr.bench.tests")


# --- the run ---------------------------------------------------------------------------------------------------------


def icdar_files(truth: Path) -> list[Path]:
    found = sorted((truth / "icdar2013-dataset").rglob("*-str.xml"))
    files = [path.with_name(path.name.replace("-str.xml", ".pdf")) for path in found]
    return [file for file in files if file.exists()]


def references_of(truth: Path) -> dict[str, str]:
    path = truth / "corpus/references.jsonl.gz"
    if not path.exists():
        return {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    found = {str(truth / "corpus/files" / e["file"]): e["ref"].get("pypdf") for e in entries if e["file"][:4] == "pdf/"}
    return {file: text if isinstance(text, str) else "\n".join(text) for file, text in found.items() if text}


def measure(truth: Path, places: dict[str, str], log=sys.stderr) -> str:
    """Return the table; `places` has the directory where each engine is installed, "" for ours."""
    references, tables = references_of(truth), icdar_files(truth)
    olm = sorted((truth / "olmocr/olmocr/bench/sample_data/pdfs").rglob("*.pdf"))
    files = [*map(str, tables), *references, *map(str, olm)]
    rows = [
        "| engine | F1 | TEDS | recall | pairs | olmOCR | with headings | CPU s | failed |",
        "| --- |" + " --- |" * 8,
    ]
    for name, place in places.items():
        print(f"{name}: {len(files)} files", file=log, flush=True)
        found = answers(name, place, files)
        texts = {path: text for path, (text, _) in found.items()}
        shown = [text for text in texts.values() if text and text.strip()]
        cells = [name]
        of_tables = table_figures(truth, texts) if tables else {}
        of_text = text_figures(references, texts) if references else {}
        cells += [f"{of[key]:.3f}" if of else "" for of, key in ((of_tables, "F1"), (of_tables, "TEDS"))]
        cells += [f"{of_text[key]:.3f}" if of_text else "" for key in ("recall", "pairs")]
        cells.append(", ".join([f"{k} {v}" for k, v in olm_figures(truth, texts).items()]) if olm else "")
        cells.append(f"{sum([re.search('(?m)^#+ ', text) is not None for text in shown])} of {len(shown)}")
        seconds, failed = sum([spent for _, spent in found.values()]), sum([text is None for text in texts.values()])
        cells += [f"{seconds:.2f}", str(failed)]
        rows.append(f"| {' | '.join(cells)} |")
        print(rows[-1], file=log, flush=True)
    return "\n".join(rows)


if __name__ == "__main__":
    write_answers(sys.argv[1], json.load(sys.stdin))
