"""Defects that lose a part of a file without a word: in readers, decoders, outlines and bulk reading."""

from proof.mutate.defect import SRC, Defect

UNITS = "tests/test_accounting.py -k"
DOCUMENTS = f"{SRC}/extras/documents"
BULK = f"{SRC}/extras/bulk"


def _defect(name: str, file: str, old: str, new: str, tests: str) -> Defect:
    return Defect(name=f"lost: {name}", file=file, old=old, new=new, tests=tests)


DEFECTS = (
    # --- tables ---
    _defect(
        "the rows of a CSV file begin one late",
        f"{DOCUMENTS}/tables/reader.py",
        "if self._first <= number <= last:",
        "if self._first < number <= last:",
        f"{UNITS} csv",
    ),
    _defect(
        "a window of a CSV file ends one early",
        f"{DOCUMENTS}/tables/reader.py",
        "last = self._first + self._count - 1",
        "last = self._first + self._count - 2",
        f"{UNITS} csv",
    ),
    _defect(
        "a row of Parquet between two windows",
        f"{DOCUMENTS}/tables/parquet.py",
        "[count, first - 1]",
        "[count, first]",
        f"{UNITS} parquet",
    ),
    _defect(
        "a row of SQLite between two windows",
        f"{DOCUMENTS}/tables/sqlite.py",
        "(count, first - 1))",
        "(count, first))",
        f"{UNITS} sqlite",
    ),
    _defect(
        "the rest of a table is not named",
        f"{DOCUMENTS}/tables/tabular.py",
        "    if total is None or after > total:\n",
        "    if total is None or after < total:\n",
        f"{UNITS} rows",
    ),
    _defect(
        "cells that are cut are not counted",
        f"{DOCUMENTS}/tables/tabular.py",
        "            self._cut_cells += sum([self._is_cut(value) for value in shown])\n",
        "",
        "tests/extras/documents/tables/test_tabular.py",
    ),
    # --- sheets ---
    _defect(
        "the last row of a sheet",
        f"{DOCUMENTS}/sheets/sheet.py",
        "for number in range(first_row, last_row + 1):",
        "for number in range(first_row, last_row):",
        f"{UNITS} rows",
    ),
    _defect(
        "the last row that the library returns",
        f"{DOCUMENTS}/sheets/sheet.py",
        "nrows=max(1, area[2] - start[0] + 1)",
        "nrows=200",
        f"{UNITS} xlsx",
    ),
    _defect(
        "labels of an xls file after row 200",
        f"{DOCUMENTS}/sheets/biff.py",
        "        self._put(row, column, _long_text(record, 6))\n",
        "        if row < 200:\n            self._put(row, column, _long_text(record, 6))\n",
        f"{UNITS} xls",
    ),
    _defect(
        "charts of an xls file are not counted",
        f"{DOCUMENTS}/sheets/biff.py",
        "                charts += is_chart\n",
        "",
        "tests/extras/documents/sheets/test_biff.py",
    ),
    _defect(
        "formulas of an xls file are not counted",
        f"{DOCUMENTS}/sheets/biff.py",
        "        self._formulas += 1\n",
        "",
        "tests/extras/documents/sheets/test_biff.py",
    ),
    _defect(
        "further merged cells are not counted",
        f"{DOCUMENTS}/sheets/cells.py",
        'f" and {more} more" if more > 0 else ""',
        '""',
        "tests/extras/documents/sheets/test_sheet.py",
    ),
    # --- documents ---
    _defect(
        "slides after the first 200",
        f"{DOCUMENTS}/office/pptx.py",
        'for element in root.iter() if NAMES[element.tag] == "p:sldId"]',
        'for element in root.iter() if NAMES[element.tag] == "p:sldId"][:200]',
        f"{UNITS} pptx",
    ),
    _defect(
        "cells of a Word table",
        f"{DOCUMENTS}/office/docx.py",
        "                rows[-1] += self._cells(element)\n",
        "                rows[-1] = [] if len(rows) > 200 else self._cells(element)\n",
        f"{UNITS} docx",
    ),
    _defect(
        "chapters of a book that are missing are not counted",
        f"{DOCUMENTS}/web/epub.py",
        "    if missing:\n",
        "    if False:\n",
        "tests/extras/documents/web/test_epub.py",
    ),
    _defect(
        "the last chapter of a book",
        f"{DOCUMENTS}/web/epub.py",
        "    for chapter in chapters:\n",
        "    for chapter in chapters[:200]:\n",
        f"{UNITS} epub",
    ),
    _defect(
        "the rest of a long header of a mail",
        f"{DOCUMENTS}/mail/eml.py",
        'return parsed if is_whole else f"{parsed} [{left} characters left out]"',
        "return parsed",
        "tests/extras/documents/mail/test_eml.py",
    ),
    _defect(
        "the end of a text that is too long is not named",
        f"{DOCUMENTS}/shared/markdown_pieces.py",
        'data[:end] + b"[the rest is left out: more than %d MiB of text]\\n" % (MAX_TEXT_BYTES >> 20)',
        "data[:end]",
        "tests/extras/documents/shared",
    ),
    _defect(
        "rows of a chart after the limit are not counted",
        f"{DOCUMENTS}/shared/drawings.py",
        "    if left_out > 0:\n",
        "    if False:\n",
        "tests/extras/documents/shared/test_drawings.py",
    ),
    # --- archives and outlines ---
    _defect(
        "further members of an archive are not counted",
        f"{SRC}/extras/archives/archive.py",
        "    if len(entries) > len(listed):\n",
        "    if False:\n",
        "tests/extras/archives/test_archive.py tests/sources/test_archives.py",
    ),
    _defect(
        "the last line of a Python definition",
        f"{SRC}/outline/python.py",
        "                last=file_line(node.end_lineno or node.lineno),\n",
        "                last=file_line((node.end_lineno or node.lineno) - 1),\n",
        "tests/outline",
    ),
    _defect(
        "the last line of a section",
        f"{SRC}/outline/model.py",
        "    last = heading.last\n",
        "    last = heading.last - 1\n",
        "tests/outline",
    ),
    # --- bulk ---
    _defect(
        "rows between two windows of an export",
        f"{BULK}/windows.py",
        "        first = last + 1\n",
        "        first = last + 2\n",
        "tests/extras/bulk/test_windows.py",
    ),
    _defect(
        "attachments are not named",
        f"{BULK}/windows.py",
        '    if facts.get("attachments"):\n',
        "    if False:\n",
        "tests/extras/bulk/test_windows.py",
    ),
    _defect(
        "the members of an archive",
        f"{BULK}/reading.py",
        "            return names\n",
        "            return []\n",
        "tests/extras/bulk/test_windows.py",
    ),
    _defect(
        "members that are nested too deep are not counted",
        f"{BULK}/reading.py",
        'facts={**record.facts, "left_out": left_out}',
        "facts=record.facts",
        "tests/extras/bulk/test_windows.py",
    ),
    _defect(
        "members after the limit of bytes are not counted",
        f"{BULK}/reading.py",
        "                self._append(replace(rest, error_message=message), kind)\n",
        "",
        "tests/extras/bulk/test_windows.py",
    ),
    _defect(
        "a name that is not UTF-8 does not lead back",
        f"{BULK}/reading.py",
        "source=written_path(record.source)",
        "source=valid_text(record.source)",
        "tests/extras/bulk/test_bulk.py",
    ),
    _defect(
        "the encoding of a text is not recorded",
        f"{BULK}/reading.py",
        "    if is_read_by_lines(opened.kind):\n        found",
        "    if False:\n        found",
        "tests/extras/bulk/test_bulk.py",
    ),
    _defect(
        "a directory that is not searched to its end",
        f"{BULK}/walk.py",
        "        yield directory, Unsearched(error), None\n",
        "        return\n",
        "tests/extras/bulk/test_bulk.py",
    ),
    _defect(
        "a pattern without a file",
        f"{BULK}/walk.py",
        "    if not has_match:\n",
        "    if False:\n",
        "tests/extras/bulk/test_bulk.py",
    ),
    _defect(
        "the exit status of an export that is not complete",
        f"{BULK}/command.py",
        "    return 1 if report.unsearched else 0\n",
        "    return 0\n",
        "tests/extras/bulk/test_bulk.py",
    ),
    _defect(
        "characters between two parts of a line",
        f"{BULK}/chunks.py",
        "        at += chars\n",
        "        at += chars + 1\n",
        f"{UNITS} one_line",
    ),
    # --- what is said about a file ---
    _defect(
        "the audit log names lines that were not shown",
        f"{SRC}/recorder.py",
        "    recorder.note_shown(reply, tool.path_map)\n",
        "",
        "tests/test_recorder.py",
    ),
    _defect(
        "Western letters of another script",
        f"{SRC}/lines/detect.py",
        "and name not in LATIN:",
        "and False:",
        "tests/lines/test_latin.py",
    ),
    _defect(
        "signs between letters are signs",
        f"{SRC}/lines/latin.py",
        "    if not _LETTER_SIGN.search(texts[COMMON]):\n",
        "    if True:\n",
        "tests/lines/test_latin.py",
    ),
    _defect(
        "Chinese in UTF-16 without a byte order mark",
        f"{SRC}/lines/encodings.py",
        "narrow + sum(map(text.count, _CJK_SIGNS)) + (unit_bytes == 4)",
        "narrow",
        "tests/lines/test_detect.py",
    ),
)
