"""Draw the images of the README. Run it after what they show changes.

docs/tour.svg is a terminal with the output of `make run`. docs/compare.svg shows the same question to a host's own tool
and to eyespan.
"""

from __future__ import annotations

import html
import os
import pty
import re
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path

from examples.tour import make_files
from eyespan import Workspace

HERE = Path(__file__).resolve().parent.parent
STYLE = """
  .back { fill: #f6f8fa; stroke: #d0d7de } .text { fill: #1f2328 } .dim { fill: #59636e } .bold { fill: #0550ae }
  .own { fill: #0f5f59 } .bad { fill: #a11d1d } .host { fill: #9a5b13 } .bold { font-weight: 700 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; stroke: #30363d } .text { fill: #e6edf3 } .dim { fill: #9198a1 } .bold { fill: #79c0ff }
    .own { fill: #6fd6c9 } .bad { fill: #ffa8a0 } .host { fill: #f0b96b }
  }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
"""
KINDS = {"\x1b[1m": "bold", "\x1b[2m": "dim", "\x1b[36m": "own", "\x1b[31m": "bad", "\x1b[0m": "text"}
WIDTH = 104
PAGE = HERE / "docs" / "tour.svg"
COMPARED = HERE / "docs" / "compare.svg"


def on_terminal(command: list[str]) -> str:
    """Return the output of a command on a terminal, colours included."""
    parent, child = pty.openpty()
    process = subprocess.Popen(command, stdout=child, stderr=child, cwd=HERE)
    os.close(child)
    seen = b""
    try:
        while piece := os.read(parent, 65536):
            seen += piece
    except OSError:
        pass  # EIO: the other side of the terminal is closed
    process.wait()
    return seen.decode().replace("\r\n", "\n")


def row(line: str, number: int) -> str:
    """Draw one line of the image, without what exceeds it; spaces that would collapse become no-break spaces."""
    spans, kind, room = [], "text", WIDTH
    for piece in re.split(r"(\x1b\[\d+m)", line.expandtabs(8)):
        if piece in KINDS:
            kind = KINDS[piece]
        elif piece and room:
            shown = piece if len(piece) <= room else f"{piece[: room - 1]}…"
            spans.append(f'<tspan class="{kind}">{html.escape(shown).replace(" ", chr(0xA0))}</tspan>')
            room -= len(shown)
    return f'<text x="16" y="{19 * number + 6}">{"".join(spans)}</text>'


def drawn(title: str, lines: list[str], shapes: str = "") -> str:
    """Return lines of a terminal as SVG, with further shapes."""
    height = 19 * len(lines) + 22
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * 8 + 32} {height}" role="img">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="back" x="0.5" y="0.5" width="{WIDTH * 8 + 31}" height="{height - 1}" rx="8"/>',
        *(row(line, number) for number, line in enumerate(lines, 1)),
        *([shapes] if shapes else []),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def image() -> str:
    """Return the image of the tour."""
    text = "\x1b[1m$ make run\x1b[0m\n" + on_terminal([sys.executable, "examples/tour.py"]).rstrip("\n")
    text = re.sub(r'"mtime_ms": [\d.]+', '"mtime_ms": 1763251200000.0', text)  # of a clone, so another one each time
    return drawn("eyespan at work", text.split("\n"))


def compared() -> str:
    """Return the image of two answers: the lines that a host's tool shows first, and the symbol that was asked for."""
    with tempfile.TemporaryDirectory() as directory:
        make_files(Path(directory))
        workspace = Workspace(directory)
        host = workspace.tool("claude@2.1").call({"file_path": f"{directory}/fleet.py"})
        own = workspace.tool("native").call({"files": ["fleet.py::moor_200"]})
    before, after = host.facts["tokens"], own.facts["tokens"]
    left = [*host.text.split("\n")[:8], "…", *host.text.split("\n")[-4:-2]]
    left = [line if len(line) < 50 else f"{line[:48]}…" for line in left]
    header, *lines = own.text.split("\n")
    rows = [
        "\x1b[1mWhat does moor_200 in fleet.py do?\x1b[0m  A file of 500 functions, 3,000 lines.",
        "",
        _beside("Read, as in Claude Code 2.1", "read, of eyespan"),
        _beside('\x1b[2m{"file_path": "fleet.py"}\x1b[0m', '\x1b[2m{"files": ["fleet.py::moor_200"]}\x1b[0m'),
        *[_beside(*pair) for pair in zip_longest(left, [f"\x1b[36m{header}\x1b[0m", *lines], fillvalue="")],
        "",
        _beside(f"\x1b[1m{before:,} tokens\x1b[0m", f"\x1b[1m{after} tokens\x1b[0m"),
        "",
    ]
    bars = [("host", 16, 375), ("own", 422, max(2, 375 * after // before))]
    top = 19 * len(rows) - 8
    shapes = [f'<rect class="{kind}" x="{x}" y="{top}" width="{width}" height="14" rx="2"/>' for kind, x, width in bars]
    return drawn("The same question to the tool of Claude Code and to eyespan", rows, "\n".join(shapes))


def _beside(left: str, right: str) -> str:
    shown = re.sub(r"\x1b\[\d+m", "", left.expandtabs(8))
    return left.expandtabs(8) + " " * (52 - len(shown)) + right.expandtabs(8)


def main() -> None:
    PAGE.write_text(image(), encoding="utf-8")
    COMPARED.write_text(compared(), encoding="utf-8")


if __name__ == "__main__":
    main()
