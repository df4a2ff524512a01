"""Charts of xls workbooks: the kind, the title, the axes and the saved values of each series."""

from __future__ import annotations

import struct

from eyespan.extras.documents.shared import drawings, number_formats
from eyespan.extras.documents.sheets.formula_tokens import ERRORS

_SERIES, _SERIES_TEXT, _TEXT, _LINKED, _INDEX, _BEGIN, _END = 0x1003, 0x100D, 0x1025, 0x1027, 0x1065, 0x1033, 0x1034
_NUMBER, _LABEL, _BOOL_OR_ERROR = 0x0203, 0x0204, 0x0205
_KINDS = {
    0x1017: "bar",
    0x1018: "line",
    0x1019: "pie",
    0x101A: "area",
    0x101B: "scatter",
    0x103E: "radar",
    0x103F: "surface",
    0x1040: "radar",
}
_TITLE, _AXES = 1, (2, 3, 7)
_VALUES, _KEYS, _SIZES = 1, 2, 3
_MAX_SERIES = 1000


class Chart:
    """A chart while its records are read."""

    def __init__(self) -> None:
        self._kinds: list[str] = []
        self._title = ""
        self._axes: list[str] = []
        self._names: list[str] = []
        self._points: dict[int, dict[int, dict[int, str]]] = {_VALUES: {}, _KEYS: {}, _SIZES: {}}
        self._index = 0
        self._depth = 0
        self._series_depth = -1
        """The depth of the current series; -1 outside of a series."""
        self._text = ""

    def add(self, code: int, record: bytes) -> None:
        """Add a record; one that is cut is left out."""
        try:
            self._add(code, record)
        except (struct.error, IndexError):
            pass

    def _add(self, code: int, record: bytes) -> None:
        if code in _KINDS:
            if _KINDS[code] not in self._kinds:
                self._kinds.append(_KINDS[code])
        elif code == _BEGIN:
            self._depth += 1
        elif code == _END:
            self._depth -= 1
            if self._depth <= self._series_depth:
                self._series_depth = -1
        elif code == _SERIES and len(self._names) < _MAX_SERIES:
            self._names.append("")
            self._series_depth = self._depth
        elif code == _TEXT:
            self._text = ""
        elif code == _SERIES_TEXT:
            text = " ".join(_text(record, 2, "<B").split())
            if self._series_depth >= 0:
                self._names[-1] = self._names[-1] or text
            else:
                self._text = text
        elif code == _LINKED:
            self._add_title(int.from_bytes(record[:2], "little"))
        elif code == _INDEX:
            self._index = int.from_bytes(record[:2], "little")
        elif code in (_NUMBER, _LABEL, _BOOL_OR_ERROR) and self._index in self._points:
            point, series = struct.unpack_from("<HH", record)
            self._points[self._index].setdefault(series, {})[point] = _value(code, record)

    def _add_title(self, place: int) -> None:
        if self._text and place == _TITLE:
            self._title = self._text
        elif self._text and place in _AXES:
            self._axes.append(self._text)
        self._text = ""

    def blocks(self) -> list[str]:
        """Return the chart as blocks."""
        keys, values, sizes = self._points[_KEYS], self._points[_VALUES], self._points[_SIZES]
        rows = drawings.Series()
        for number, name in enumerate(self._names):
            if number in values:  # others are lines that are computed from a series
                rows.append(name, keys.get(number, {}), values[number], sizes.get(number, {}))
        return drawings.table_blocks(self._kinds, self._title, self._axes, rows)


def _value(code: int, record: bytes) -> str:
    if code == _NUMBER:
        return number_formats.rounded(struct.unpack_from("<d", record, 6)[0])
    if code == _LABEL:
        return " ".join(_text(record, 6, "<H").split())
    return ERRORS.get(record[6], "#ERROR") if record[7] else str(bool(record[6])).upper()


def _text(record: bytes, at: int, form: str) -> str:
    """Return a text with its length and its flags before it."""
    (count,) = struct.unpack_from(form, record, at)
    at += struct.calcsize(form)
    is_wide = record[at] & 1
    return record[at + 1 : at + 1 + count * (1 + is_wide)].decode("utf-16-le" if is_wide else "latin-1", "replace")
