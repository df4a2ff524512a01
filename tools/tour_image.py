"""Draw docs/tour.svg: a terminal with the output of `make run`. Run it after that output changes."""

from __future__ import annotations

import html
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
STYLE = """
  .back { fill: #f6f8fa; stroke: #d0d7de } .text { fill: #1f2328 } .dim { fill: #6e7781 } .bold { fill: #0550ae }
  .bold { font-weight: 700 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; stroke: #30363d } .text { fill: #e6edf3 } .dim { fill: #7d8590 } .bold { fill: #79c0ff }
  }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
"""
KINDS = {"\x1b[1m": "bold", "\x1b[2m": "dim", "\x1b[0m": "text"}
WIDTH = 104
PAGE = HERE / "docs" / "tour.svg"


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
    """Draw one line of the image; spaces that would collapse become no-break spaces."""
    spans, kind = [], "text"
    for piece in re.split(r"(\x1b\[\dm)", line.expandtabs(8)):
        if piece in KINDS:
            kind = KINDS[piece]
        elif piece:
            spans.append(f'<tspan class="{kind}">{html.escape(piece).replace(" ", chr(0xA0))}</tspan>')
    return f'<text x="16" y="{19 * number + 6}">{"".join(spans)}</text>'


def image() -> str:
    """Return the image as SVG."""
    text = "\x1b[1m$ make run\x1b[0m\n" + on_terminal([sys.executable, "examples/tour.py"]).rstrip("\n")
    text = re.sub(r'"mtime_ms": [\d.]+', '"mtime_ms": 1763251200000.0', text)  # of a clone, so another one each time
    cut = [line if len(line) < WIDTH + 12 else line[: WIDTH + 8] + "…" for line in text.split("\n")]
    height = 19 * len(cut) + 22
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * 8 + 32} {height}" role="img">',
        "<title>eyespan at work</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="back" x="0.5" y="0.5" width="{WIDTH * 8 + 31}" height="{height - 1}" rx="8"/>',
        *(row(line, number) for number, line in enumerate(cut, 1)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    PAGE.write_text(image(), encoding="utf-8")


if __name__ == "__main__":
    main()
