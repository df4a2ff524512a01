"""Compare documents with the libraries people use today: time and memory, as ratios, in one run.

    python bench/documents.py                 everything: peers are installed, files made, some five minutes
    python bench/documents.py pdf-all jpeg    some rows
    python bench/documents.py --quick         small files, one pass: shows that it runs
    python bench/documents.py --baseline DIR  also an earlier release: a checkout with its environment in .venv
    python bench/documents.py --truth DIR     what engines show of PDFs, compared with public truth: see pdf_quality.py

Every contender runs in a separate process, with one call on a small file before those that count; contenders take
turns within each pass. The figure is the median of all passes. One more process for each makes a single call, imports
and the start of our worker included: the cold figure. Every answer is compared with the contents of the file: one that
is wrong, or missing after --limit seconds, is a failure and never a time. Memory is the peak of the process; ours
decodes in another one, so the decoder also runs alone. Peers and files are kept below the cache directory of
bench/run.py. kreuzberg runs outside any sandbox, in which it does not work. docling runs by its readers of office files
alone: for PDFs it needs models that it downloads.

A whole run writes documents.json and DOCUMENTS.md beside this file; any other run writes to the cache directory.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import document_files as files
import install
import peers
from report import goal_value, ms, verdict

HERE = Path(__file__).resolve().parent
INSTALL_SECONDS = 600
BUSY_LOAD = 0.5
SLOW_SECONDS = 15
"""A contender that takes longer for a call makes one in the whole run, besides the cold one."""
PEERS = {
    # directory: (distribution, version, extras)
    "pypdf": ("pypdf", "7.0.1", ""),
    "pdfminer": ("pdfminer.six", "20260107", ""),
    "markitdown": ("markitdown", "0.1.8", "[pdf,docx,pptx,xlsx]"),
    "kreuzberg": ("kreuzberg", "4.10.4", ""),
    "docling": ("docling-slim", "2.143.0", "[format-docx,format-pptx,format-xlsx]"),
}
PDF_PEERS = {
    "liteparse": ("liteparse", "2.17.0", ""),
    "pdf_inspector": ("pdf-inspector", "1.25.2", ""),
    "pdf_oxide": ("pdf_oxide", "0.3.78", ""),
    "markitdown": PEERS["markitdown"],
    "kreuzberg": PEERS["kreuzberg"],
    "pymupdf4llm": ("pymupdf4llm", "0.3.4", ""),
}
"""The engines of pdf_quality.py."""
OWN, DECODER, TABLES = "eyespan", "eyespan, its decoder alone", "eyespan, with tables, links and forms"
BEFORE, BASELINE = "eyespan, release before", "baseline"


class Contender(NamedTuple):
    """A contender: `call` is a function of document_calls.py, `peer` the package that it needs."""

    name: str
    role: str
    call: str
    peer: str = ""


class Case(NamedTuple):
    """One row: a file, the function that makes it, the check of answers, the contenders."""

    title: str
    file: str
    make: object
    check: str
    contenders: tuple[Contender, ...]


def _ours(call, decoder=""):
    found = [Contender(OWN, "eyespan", call), Contender(BEFORE, "eyespan", call, BASELINE)]
    return [*found, Contender(DECODER, "eyespan", decoder)] if decoder else found


PILLOW = (
    Contender("Pillow, plain", "peer", "pillow_plain"),
    Contender("Pillow, thumbnail", "peer", "pillow_thumbnail"),
)
MARKITDOWN = Contender("markitdown", "peer", "markitdown", "markitdown")
KREUZBERG = Contender("kreuzberg", "peer", "kreuzberg", "kreuzberg")
OFFICE = (MARKITDOWN, KREUZBERG, Contender("docling", "peer", "docling", "docling"))
CASES = {
    "pdf-all": Case(
        "all text of a PDF of 300 pages",
        "text.pdf",
        files.make_pdf,
        "all_pages",
        (
            *_ours("eyespan_pdf", "decoder_pdf"),
            Contender(TABLES, "eyespan", "eyespan_layout"),
            Contender("bare pdfium", "floor", "pdfium"),
            Contender("pypdf", "peer", "pypdf", "pypdf"),
            Contender("pdfminer.six", "peer", "pdfminer", "pdfminer"),
            MARKITDOWN,
            KREUZBERG,
        ),
    ),
    "pdf-page": Case(
        "page 250 of it alone",
        "text.pdf",
        files.make_pdf,
        "page-250",
        (
            *_ours("eyespan_page"),
            Contender("bare pdfium", "floor", "pdfium_page"),
            Contender("pypdf", "peer", "pypdf_page", "pypdf"),
            Contender("pdfminer.six", "peer", "pdfminer_page", "pdfminer"),
        ),
    ),
    "pdf-page-5": Case("page 5 of it alone", "text.pdf", files.make_pdf, "page-5", tuple(_ours("eyespan_page_5"))),
    "jpeg": Case(
        "a JPEG of 24 megapixels, shown at 1568 px",
        "photo.jpg",
        files.make_jpeg,
        "picture",
        (*_ours("eyespan_picture", "decoder_picture"), *PILLOW),
    ),
    "png": Case(
        "a PNG of 48 megapixels, shown at 1568 px",
        "photo.png",
        files.make_png,
        "picture",
        (*_ours("eyespan_picture", "decoder_picture"), *PILLOW),
    ),
    "sheet": Case(
        "a sheet of 20,000 rows and 10 columns",
        "rows.xlsx",
        files.make_sheet,
        "all_rows",
        (*_ours("eyespan_text", "decoder_text"), *OFFICE),
    ),
    "docx": Case(
        "a document of 2,000 paragraphs",
        "paragraphs.docx",
        files.make_docx,
        "paragraphs",
        (*_ours("eyespan_text", "decoder_text"), *OFFICE),
    ),
    "pptx": Case(
        "200 slides with notes",
        "slides.pptx",
        files.make_pptx,
        "all_slides",
        (*_ours("eyespan_text", "decoder_text"), *OFFICE),
    ),
    "worker": Case("an empty job of the worker", "text.pdf", files.make_pdf, "process", tuple(_ours("empty_job"))),
}
# `at_most` and `at_least` compare these: (row, contender), by default its median in milliseconds.
GOALS = (
    ("pdf-all", "1.2 times bare pdfium", "at_most", 1.2, "times", OWN, "bare pdfium"),
    ("pdf-all", "2 times bare pdfium with tables", "at_most", 2, "times", TABLES, "bare pdfium"),
    ("pdf-all", "5 times faster than pypdf", "at_least", 5, "times faster", OWN, "pypdf"),
    ("pdf-page", "flat: page 250 no slower than 1.2 times page 5", "at_most", 1.2, "times", OWN, ("pdf-page-5", OWN)),
    ("jpeg", "2.5 times faster than plain Pillow", "at_least", 2.5, "times faster", OWN, "Pillow, plain"),
    ("jpeg", "under 80 MB", "at_most", 80, "MB", DECODER, None),
    ("sheet", "20 times faster than markitdown", "at_least", 20, "times faster", OWN, "markitdown"),
    ("docx", "20 times faster than markitdown", "at_least", 20, "times faster", OWN, "markitdown"),
    ("pptx", "20 times faster than markitdown", "at_least", 20, "times faster", OWN, "markitdown"),
    ("worker", "10 ms", "at_most", 10, "ms", OWN, None),
    *(
        (row, "1.5 times the release before", "at_most", 1.5, "times", OWN, BEFORE)
        for row in ("pdf-all", "pdf-page", "jpeg", "png", "sheet", "docx", "pptx")
    ),
)
REASONS = {
    # (row, beginning of the goal): the measured reason why it is missed. Shown only where it is missed.
    (
        "pdf-all",
        "5",
    ): "Bare pdfium, which does all of the work, is itself less than 5 times as fast as pypdf on this file.",
    ("pptx", "20"): "The rows tell what the decoder alone and an empty job of the worker take; together they are less "
    "than a call. The rest is not explained in full: a new process touches its memory for the first time, which was "
    "seen to slow the decoder down by some milliseconds.",
}


def judge(rows):
    """Return the goals with the measured values; `held` is None where one is missing."""
    found = []
    for row, text, how, limit, unit, name, other in GOALS:
        ours = _entry(rows, row, name)
        measured = None
        if other is None:
            measured = ours and ours["peak_mb" if unit == "MB" else "median_ms"]
        else:
            theirs = _entry(rows, *(other if isinstance(other, tuple) else (row, other)))
            if ours and theirs:
                pair = (ours["median_ms"], theirs["median_ms"])
                measured = pair[0] / pair[1] if how == "at_most" else pair[1] / pair[0]
        held = None if measured is None else measured <= limit if how == "at_most" else measured >= limit
        against = "" if other is None else " ".join(other) if isinstance(other, tuple) else other
        value = None if measured is None else float(f"{measured:.4g}")
        found.append(
            {"row": row, "goal": text, "limit": limit, "unit": unit, "measured": value, "held": held}
            | {"against": against}
        )
    return found


def reason(goal):
    return next((t for (row, start), t in REASONS.items() if row == goal["row"] and goal["goal"].startswith(start)), "")


def _entry(rows, row, name):
    entry = rows.get(row, {}).get("contestants", {}).get(name)
    return entry if entry and entry["ok"] else None


# --- running ----------------------------------------------------------------------------------------------------------


def tell(text):
    print(text, file=sys.stderr, flush=True)


def install_peer(peer, cache):
    """Return the reason why it is not installed, or ""."""
    name, version, extras = (PDF_PEERS | PEERS)[peer]
    place = cache / "documents" / "peers" / f"{peer}-{version}"
    if place.exists():
        return ""
    tell(f"installing {name} {version} (at most {INSTALL_SECONDS} seconds)")
    half = place.with_suffix(".half")  # an interrupted install has no such file
    shutil.rmtree(half, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", str(half)]
    try:
        subprocess.run(
            [*command, f"{name}{extras}=={version}"],
            check=True,
            timeout=INSTALL_SECONDS,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"not installed within {INSTALL_SECONDS} seconds"
    except (subprocess.CalledProcessError, OSError) as error:
        lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        return f"cannot be installed: {lines[-1][:120] if lines else 'no reason given'}"
    half.rename(place)
    return ""


class Run:
    """Contenders that take turns, and their results."""

    def __init__(self, cache, chosen, options, missing):
        self.cache, self.chosen, self.options, self.missing = cache, chosen, options, missing
        self.entries = {row: {} for row in chosen}
        self.started = time.monotonic()

    def run(self, passes):
        for turn in range(passes + 1):  # the first is the cold call
            for row in self.chosen:
                taking = [c for c in CASES[row].contenders if not self.missing.get(c.peer)]
                shift = turn % len(taking)
                for contender in taking[shift:] + taking[:shift]:
                    if not (turn == 0 and contender.name == DECODER):
                        self._turn(row, contender, cold=turn == 0)

    def _turn(self, row, contender, cold):
        entry = self.entries[row].setdefault(
            contender.name,
            {"role": contender.role, "outcome": "ok", "samples": [], "cold_ms": None, "peak_mb": 0.0, "size": 0},
        )
        if entry["outcome"] != "ok" or (entry["samples"] and entry["samples"][0] > 1000 * SLOW_SECONDS):
            return
        found = self._process(CASES[row], contender, cold)
        entry["outcome"] = found["outcome"]
        if found["outcome"] == "ok":
            samples = [1000 * sample for sample in found["samples"]]
            if cold:
                entry["cold_ms"] = samples[0]
            else:
                entry["samples"] += samples
                entry["peak_mb"] = max(entry["peak_mb"], found["peak_mb"])
                entry["size"] = found["size"]
        shown = ms(statistics.median(entry["samples"])) if entry["samples"] else ms(entry["cold_ms"]) + " cold"
        seconds = time.monotonic() - self.started
        peak = f"{entry['peak_mb']:6.0f} MB"
        tell(f"[{seconds:4.0f} s] {row:10} {contender.name:28} {shown:>14} {peak}  {found['outcome']}")

    def _process(self, case, contender, cold):
        directory = self.cache / "documents"
        size = "small" if self.options.quick else "full"
        small = "-" if cold else str(directory / "small" / case.file)
        calls = ("1", "0") if cold else (str(self.options.calls), str(self.options.seconds))
        python, script = sys.executable, HERE / "document_calls.py"
        if contender.peer == BASELINE:
            python, script = (self.options.baseline / part for part in (".venv/bin/python", "bench/document_calls.py"))
        command = [str(python), str(script), contender.call, str(directory / size / case.file)]
        env = dict(os.environ)
        if contender.peer in PEERS:
            env["PYTHONPATH"] = str(directory / "peers" / f"{contender.peer}-{PEERS[contender.peer][1]}")
        try:
            done = subprocess.run(
                [*command, small, case.check, *calls],
                capture_output=True,
                text=True,
                env=env,
                timeout=self.options.limit,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return {"outcome": f"not there within {self.options.limit:.0f} s"}
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
            return {"outcome": f"failed: {last.replace(str(directory), '...')[:110]}"}
        return json.loads(done.stdout.splitlines()[-1])

    def as_json(self):
        return {
            row: {"title": CASES[row].title, "contestants": {name: _told(e) for name, e in entries.items()}}
            for row, entries in self.entries.items()
        }


def _told(entry):
    samples = entry["samples"]

    def short(value):
        return None if value is None else float(f"{value:.4g}")

    return {
        "role": entry["role"],
        "ok": entry["outcome"] == "ok" and bool(samples),
        "outcome": entry["outcome"],
        "calls": len(samples),
        "median_ms": short(statistics.median(samples)) if samples else None,
        "best_ms": short(min(samples)) if samples else None,
        "cold_ms": short(entry["cold_ms"]),
        "peak_mb": short(entry["peak_mb"]) if samples else None,
        "size": entry["size"],
    }


# --- report -----------------------------------------------------------------------------------------------------------


def markdown(results) -> str:
    machine = results["machine"]
    missed = [goal for goal in results["goals"] if goal["held"] is False]
    held = sum([goal["held"] is True for goal in results["goals"]])
    lines = [
        "# Documents: benchmark results" + (" (quick run)" if results["quick"] else ""),
        "",
        f"eyespan {results['eyespan']['version']} ({results['eyespan']['commit']}), {results['date']}, one run of "
        f"{results['passes']} passes, {results['seconds'] // 60 + 1} minutes. {machine['processor']}, "
        f"{machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, Python {machine['python']}; "
        f"load before the run {results['load_before']}. Peers: "
        + ", ".join(f"{PEERS[name][0]} {version}" for name, version in results["peers"].items())
        + "".join(f"; missing: {_peer_name(name)} ({why})" for name, why in results["missing"].items() if why)
        + ".",
        "",
        "Made by `python bench/documents.py`, which installs the peers and makes the files; nothing here is written by "
        "hand. Everyone reads the same files, each in a process of its own, in turns. Median and best are of calls "
        "after a first one on a small file; cold is one call in a new process, imports included. Every answer is "
        "compared with what is in the file. Memory is the peak of the process; eyespan decodes in a sandboxed one, "
        "whose memory is that of the decoder alone.",
        "",
        "## Goals",
        "",
        f"{held} held, {len(missed)} missed.",
        "",
        "| row | goal | limit | measured | against | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for goal in results["goals"]:
        limit, measured = (goal_value(goal[key], goal["unit"]) for key in ("limit", "measured"))
        lines.append(f"| {goal['row']} | {goal['goal']} | {limit} | {measured} | {goal['against']} | {verdict(goal)} |")
    if missed:
        lines += ["", "Missed, and why:", ""]
        lines += [f"- {goal['row']}, {goal['goal']}: {reason(goal) or 'not known.'}" for goal in missed]
    lines += ["", "## Rows"]
    for name, row in results["rows"].items():
        lines += [
            "",
            f"### {name}: {row['title']}",
            "",
            "| | median | of eyespan's | best | cold | calls | peak MB | |",
        ]
        lines.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
        own = row["contestants"].get(OWN, {}).get("median_ms")
        for who, entry in sorted(row["contestants"].items(), key=lambda item: item[1]["median_ms"] or 1e12):
            shown = f"**{who}**" if entry["role"] == "eyespan" else who
            ratio = f"{entry['median_ms'] / own:.2f}" if own and entry["median_ms"] else ""
            times = [ms(entry["median_ms"]), ratio, ms(entry["best_ms"]), ms(entry["cold_ms"]), str(entry["calls"])]
            peak = f"{entry['peak_mb']:.0f}" if entry["peak_mb"] else ""
            lines.append(f"| {shown} | {' | '.join(times)} | {peak} | {entry['outcome'].replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def _peer_name(peer):
    return BEFORE if peer == BASELINE else PEERS[peer][0]


def make_files(cache):
    for size in ("small", "full"):
        for case in CASES.values():
            path = cache / "documents" / size / case.file
            if not path.exists():
                tell(f"making {size}/{case.file}")
                path.parent.mkdir(parents=True, exist_ok=True)
                half = path.with_name(f"half.{case.file}")
                case.make(half, size == "small")
                half.rename(path)


def compare_pdfs(truth, cache, is_alone):
    """Print the table of pdf_quality.py for eyespan and the engines that can be installed."""
    import pdf_quality

    places = {"eyespan": "", "decoder": "", "pdfium": ""}
    for peer in () if is_alone else PDF_PEERS:
        if why := install_peer(peer, cache):
            tell(f"missing: {peer}: {why}")
        else:
            places[peer] = str(cache / "documents" / "peers" / f"{peer}-{PDF_PEERS[peer][1]}")
    print(pdf_quality.measure(truth, places))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="row", help=", ".join(CASES))
    parser.add_argument("--quick", action="store_true", help="small files, one pass")
    parser.add_argument("--passes", type=int, help="3, or 1 with --quick")
    parser.add_argument("--calls", type=int, default=15, help="at most so many a turn")
    parser.add_argument("--seconds", type=float, default=1.5, help="and no more of them after so long")
    parser.add_argument("--limit", type=float, default=120, help="seconds a turn may take")
    parser.add_argument("--no-peers", action="store_true", help="without what has to be installed")
    parser.add_argument("--baseline", type=Path, metavar="DIR", help="a checkout of an earlier release")
    parser.add_argument("--truth", type=Path, metavar="DIR", help="compare PDFs with the truth in this directory alone")
    parser.add_argument("--cache", type=Path, default=peers.cache_folder())
    parser.add_argument("--out", type=Path, help="where the results go")
    options = parser.parse_args()
    if unknown := set(options.rows) - set(CASES):
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    if sys.platform != "linux":
        tell("the benchmark reads /proc for memory: it runs on Linux")
        return 2
    from run import machine

    from eyespan import __version__

    cache = options.cache.resolve()
    if options.truth:
        return compare_pdfs(options.truth.resolve(), cache, bool(options.no_peers))
    missing = {peer: "not asked for" if options.no_peers else install_peer(peer, cache) for peer in PEERS}
    if options.baseline is None:
        missing[BASELINE] = "not asked for"
    for peer, why in missing.items():
        if why:
            tell(f"missing: {_peer_name(peer)}: {why}")
    make_files(cache)
    load = os.getloadavg()[0]
    if load > BUSY_LOAD:
        tell(f"the machine is busy (load {load:.1f}): the figures will say little")
    run = Run(cache, options.rows or list(CASES), options, missing)
    passes = options.passes or (1 if options.quick else 3)
    run.run(passes)
    rows = run.as_json()
    results = {
        "eyespan": {"version": __version__, "commit": install.revision()},
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine(),
        "load_before": round(load, 2),
        "quick": options.quick,
        "passes": passes,
        "seconds": round(time.monotonic() - run.started),
        "peers": {peer: PEERS[peer][1] for peer in PEERS},
        "missing": {peer: why for peer, why in missing.items() if why},
        "goals": judge(rows),
        "rows": rows,
    }
    whole = not (options.quick or options.rows or options.no_peers)
    out = options.out or (HERE if whole else cache / "quick")
    out.mkdir(parents=True, exist_ok=True)
    (out / "documents.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (out / "DOCUMENTS.md").write_text(markdown(results))
    for goal in results["goals"]:
        mark = {True: "held  ", False: "MISSED", None: "-     "}[goal["held"]]
        print(f"{mark} {goal['row']:9} {goal['goal']}: {goal_value(goal['measured'], goal['unit'])}")
    print(f"written: {out / 'documents.json'}, DOCUMENTS.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
