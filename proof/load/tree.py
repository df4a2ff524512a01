"""The tree that the server under load reads from."""

from __future__ import annotations

import os
import random
import struct
import zlib
from pathlib import Path

PDF_PAGES = 12


def make_tree(root: Path, seed: int) -> None:
    """Make texts of several sizes and scripts, images, a PDF, and the files that hostile clients ask for."""
    dice = random.Random(seed)
    words = ["harbour", "mönch", "漢字", "🚢", "tide", "ëst", "\u200bnaïve", "line", "x" * 40, "Ω"]
    for number in range(40):
        count = dice.choice([3, 40, 400, 3000, 12000])
        lines = [" ".join(dice.choices(words, k=dice.randrange(1, 12))) for _ in range(count)]
        (root / f"text{number:02}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for number in range(6):
        (root / f"image{number}.png").write_bytes(_noise_png(40 + 30 * number, 60, number))
    (root / "book.pdf").write_bytes(_pdf(PDF_PAGES))
    (root / "bomb.png").write_bytes(_blank_png(20032, 20032))
    (root / ".env").write_text("SECRET=1\n")
    with (root / "endless.txt").open("wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(root / "pipe")
    (root / "out").symlink_to("/etc/passwd")


def page_text(page: int) -> str:
    """Return the text of a page of the PDF; pages count from 1."""
    return f"Page {page} of the harbour book"


def _noise_png(width: int, height: int, seed: int) -> bytes:
    dice = random.Random(seed)
    body = zlib.compress(b"".join([b"\0" + dice.randbytes(3 * width) for _ in range(height)]))
    return _png(struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), body)


def _blank_png(width: int, height: int) -> bytes:
    """Return an image without content: a small file of any number of pixels."""
    packer = zlib.compressobj(9)
    row = bytes(1 + (width + 7) // 8)
    body = b"".join([packer.compress(row * 64) for _ in range(height // 64)]) + packer.flush()
    return _png(struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0), body)


def _png(header: bytes, body: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def _pdf(pages: int) -> bytes:
    """Return a PDF of plain text pages."""
    kids = " ".join([f"{4 + 2 * n} 0 R" for n in range(pages)])
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n in range(pages):
        text = f"BT /F1 12 Tf 72 720 Td ({page_text(n + 1)}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(text)} >>\nstream\n{text}\nendstream")
    data, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{each}\nendobj\n".encode()
    table = "".join([f"{offset:010d} 00000 n \n" for offset in offsets])
    size = len(objects) + 1
    trailer = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return data + f"{trailer}startxref\n{len(data)}\n%%EOF\n".encode()
