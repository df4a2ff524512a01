"""The text of a PDF page with its tables as rows and its columns in order.

The order of the text layer is the best order on real files, so it is kept. Only words that form a table are taken out
of it and shown as rows, at the place of the first of them. A page whose text layer jumps between columns of running
text from line to line is put in order by its columns. Pages with much right-to-left or rotated text stay as they are.
`words`, `columns` and `tables` find the parts, `tags` the tables that the author has tagged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from eyespan.decoders import pdf
from eyespan.decoders.pdf_text import characters, clean, joined_pairs
from eyespan.extras.documents.pdf.columns import in_columns
from eyespan.extras.documents.pdf.tables import Rules, Table, blocks_of
from eyespan.extras.documents.pdf.tags import tagged_tables
from eyespan.extras.documents.pdf.words import (
    Row,
    is_one_column,
    is_right_to_left,
    read_words,
    rows_of,
)

if TYPE_CHECKING:
    import pypdfium2


MAX_WORDS = 20_000
"""A page with more words is shown as it is."""


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Decode pages as `decoders.pdf` does, with their tables as rows. Raises: Unreadable."""
    return pdf.decode(file, params, page_text)


def page_text(page: pypdfium2.PdfPage, layer: Any) -> str:
    """Return the text of a page with its tables as rows."""
    text = characters(layer)
    plain = clean(text)
    if "\n" not in plain:
        return plain
    try:
        return _laid_out(page, layer, text, plain)
    except (ArithmeticError, ValueError, IndexError):
        return plain  # boxes of a damaged file can have any numbers, also none


def _laid_out(page: pypdfium2.PdfPage, layer: Any, text: str, plain: str) -> str:
    words, odd = read_words(page, layer, text)
    if not words or len(words) > MAX_WORDS or odd * 4 > len(words) or is_right_to_left(plain):
        return plain
    tagged = tagged_tables(page, layer, words, text)
    if tagged:
        taken = {word[4] for table in tagged for word in table.words}
        words = [word for word in words if word[4] not in taken]
    elif is_one_column(words):
        return plain
    rows = rows_of(words, text)
    if not tagged and sum([len(row) > 1 for row in rows]) < 3:
        return plain
    rules = Rules(page)
    jumps: list[float] = []
    runs = in_columns(rows, jumps)
    found = [block for run in runs for block in blocks_of(run, rules)]
    tables = [block for block in found if isinstance(block, Table)]
    if tagged:
        return _with_tables(text, tagged if jumps else [*tagged, *tables])
    if jumps:
        return joined_pairs("\n".join([line for block in found for line in _block_lines(block)]))
    return _with_tables(text, tables) if tables else plain


def _block_lines(block: Table | Row) -> list[str]:
    return block.lines() if isinstance(block, Table) else ["   ".join([segment.text for segment in block])]


_TAKEN, _TABLE = "\x00", "\x01"


def _with_tables(text: str, tables: list[Table]) -> str:
    """Return the text layer with the words of each table replaced by its rows."""
    shown = list(text.replace(_TABLE, " "))
    order = sorted(tables, key=lambda table: min(word[4] for word in table.words))
    for table in order:
        first = min(word[4] for word in table.words)
        for *_, start, end in table.words:
            shown[start:end] = _TAKEN * (end - start)
        shown[first] = _TABLE
    waiting = iter(order)
    lines: list[str] = []
    for line in clean("".join(shown).replace(_TAKEN, "\ufdd0")).split("\n"):
        rest = line.replace("\ufdd0", "").replace(_TABLE, "").strip()
        if rest or not ("\ufdd0" in line or _TABLE in line):
            lines.append(rest if "\ufdd0" in line else line.replace(_TABLE, ""))
        for _ in range(line.count(_TABLE)):
            lines += next(waiting).lines()
    return joined_pairs("\n".join(lines).rstrip())
