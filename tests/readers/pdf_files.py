"""PDF files for tests, written object by object."""

from __future__ import annotations

FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def write_pdf(objects: dict[int, str | bytes]) -> bytes:
    """Return a file with these objects; object 1 is the catalog."""
    out = bytearray(b"%PDF-1.7\n")
    places = {}
    for number, body in sorted(objects.items()):
        places[number] = len(out)
        data = body.encode("latin-1") if isinstance(body, str) else body
        out += b"%d 0 obj\n%b\nendobj\n" % (number, data)
    start = len(out)
    size = max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n"
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)
    return bytes(out)


def stream(text: str, dictionary: str = "") -> str:
    return f"<< /Length {len(text)} {dictionary} >>\nstream\n{text}\nendstream"


def words(*placed: tuple[float, float, str], size: float = 10) -> str:
    """Return the content of a page: each text at its x and y, in this order."""
    shown = [f"1 0 0 1 {x} {y} Tm ({_escaped(text)}) Tj" for x, y, text in placed]
    return f"BT /F1 {size} Tf {' '.join(shown)} ET"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def pages(
    *contents: str,
    catalog: str = "",
    annotations: str = "",
    more: dict[int, str | bytes] | None = None,
    box: str = "0 0 612 792",
    fonts: str = "",
) -> bytes:
    """Return a file with a page for each content. Objects: 1 catalog, 2 pages, 3 font, 10, 12 ... pages; `more` others.

    `annotations` are those of the first page, `fonts` more of them with their names.
    """
    numbers = [10 + 2 * at for at in range(len(contents))]
    kids = " ".join([f"{number} 0 R" for number in numbers])
    objects: dict[int, str | bytes] = {
        1: f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(numbers)} >>",
        3: FONT,
        **(more or {}),
    }
    for number, content in zip(numbers, contents, strict=True):
        extra = f"/Annots [{annotations}]" if annotations and number == 10 else ""
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Contents {number + 1} 0 R "
            f"/Resources << /Font << /F1 3 0 R {fonts} >> >> {extra} >>"
        )
        objects[number + 1] = stream(content)
    return write_pdf(objects)
