"""The inner loops of reading text in pure Python, for installations without a C compiler.

`count` and `nth` search line feeds in a block, `number` puts numbers before lines. The C twin has the same names, the
same arguments and, byte for byte, the same results. Data is bytes, bytearray or a contiguous memoryview.
"""

from __future__ import annotations

from collections.abc import Mapping

from eyespan._native.cuts import cut_bytes

_NONE_CUT: Mapping[int, int] = {}


def count(data: bytes | bytearray | memoryview, start: int = 0, end: int | None = None) -> int:
    """Return the number of line feeds in `data[start:end]`."""
    if isinstance(data, memoryview):
        data = data.tobytes()  # views cannot count before Python 3.14; a copy takes less than a tenth of the count
    return data.count(10, start, end)


def nth(data: bytes | bytearray | memoryview, n: int, start: int = 0) -> int:
    """Return the offset just after the n-th line feed (from 1) from `start` on, or -1 if there are fewer."""
    if isinstance(data, memoryview):
        data = data.tobytes()
    low, high = start if start >= 0 else max(0, start + len(data)), len(data)
    if n < 1 or data.count(10, low, high) < n:
        return -1
    # Halving by count reads every byte twice in all; find() would take as many calls as there are lines.
    while high - low > 512:
        middle = (low + high) >> 1
        here = data.count(10, low, middle)
        if here >= n:
            high = middle
        else:
            n -= here
            low = middle
    at = low - 1
    for _ in range(n):
        at = data.find(10, at + 1)
    return at + 1


def number(
    data: bytes | bytearray | memoryview,
    first: int,
    lead: str = "",
    width: int = 0,
    mark: str = "\t",
    keep_ends: bool = False,
    max_chars: int = 0,
    max_bytes: int = 0,
    totals: Mapping[int, int] = _NONE_CUT,
) -> tuple[str, int]:
    """Number the lines of `data` from `first`: `lead`, the number right-aligned in `width`, `mark`, the line.

    With `keep_ends` every line keeps its terminator; otherwise terminators (LF, and one CR before it) are removed and
    lines are joined by LF with none at the end. Invalid UTF-8 becomes U+FFFD, one for each maximal ill-formed part.
    `max_chars` shortens a line to that many characters and appends its length, which `totals` has by line number for
    lines of which `data` has only a prefix; `max_bytes` shortens silently to that many bytes of UTF-8, between
    characters. 0 is no limit. Returns the text, and how many lines were shortened.
    """
    text = str(data, "utf-8", "replace")
    if not text:
        return "", 0
    if keep_ends:
        lines = text.split("\n")
        last = lines.pop()
        lines = [line + "\n" for line in lines]
        if last:
            lines.append(last)
    else:
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        lines = text.split("\n")
        if not lines[-1] and text.endswith("\n"):
            lines.pop()
    cut = set()
    if max_chars and len(max(lines, key=len)) > max_chars:
        cut = {i for i, line in enumerate(lines) if len(line) > max_chars}
        lines = [
            line if len(line) <= max_chars
            # `data` may hold only a prefix of the line, so the length comes from `totals`.
            else f"{line[:max_chars]}... [line truncated, {totals.get(first + i, len(line))} chars total]"
            for i, line in enumerate(lines)
        ]  # fmt: skip
    if max_bytes and len(max(lines, key=len)) * 4 > max_bytes:
        whole = lines
        lines = [line if len(line) * 4 <= max_bytes else cut_bytes(line, max_bytes) for line in lines]
        cut.update([i for i, line in enumerate(whole) if len(line) > len(lines[i])])
    joint = "" if keep_ends else "\n"
    if width:
        return joint.join([f"{lead}{i:>{width}}{mark}{line}" for i, line in enumerate(lines, first)]), len(cut)
    return joint.join([f"{lead}{i}{mark}{line}" for i, line in enumerate(lines, first)]), len(cut)
