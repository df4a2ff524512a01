"""The result that each dialect's document gives for a file."""

from __future__ import annotations

import codecs
import hashlib
import re

from proof.exact.callers import Wrong
from proof.exact.tree import LOOKED_AT_BYTES

EXACT, WITH_LOSS, REFUSED = "byte for byte", "by the rule", "refused"


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _bare_lines(text: str) -> list[str]:
    """Split a text into lines without LF or CRLF; a last line without an end counts, an empty one does not."""
    lines = text.split("\n")
    last = lines.pop()
    return [line.removesuffix("\r") for line in lines] + ([last] if last else [])


def _has_nul(data: bytes) -> bool:
    return b"\0" in data[:LOOKED_AT_BYTES]


def _wide(data: bytes) -> str | None:
    return {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(data[:2])


def _is_utf8_so_far(data: bytes) -> bool:
    """Return True if the first bytes are UTF-8; a character cut by their end is no error."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data[:LOOKED_AT_BYTES], len(data) <= LOOKED_AT_BYTES)
    except UnicodeDecodeError:
        return False
    return True


def _cut_to_bytes(line: str, most: int) -> str:
    return line if len(line.encode()) <= most else line.encode()[:most].decode("utf-8", "ignore")


def _cut_to_chars(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[:most]}... [line truncated, {len(line)} chars total]"


def judge_codex(name: str, data: bytes, got) -> str:
    expected = [_cut_to_bytes(line, 500) for line in _bare_lines(_decoded(data))]
    _same(got, expected)
    return EXACT if "".join(line + "\n" for line in got).encode() == data else WITH_LOSS


def judge_claude(name: str, data: bytes, got) -> str:
    wide = _wide(data)
    if wide is None and _has_nul(data):
        return _refused(got, "cannot read binary files")
    text = _decoded(data) if wide is None else data[2:].decode(wide, "replace")
    _same(got, [_cut_to_chars(line, 2000) for line in _bare_lines(text)])
    return EXACT if "".join(line + "\n" for line in got).encode() == data else WITH_LOSS


def judge_workspace(name: str, data: bytes, got) -> str:
    if len(data) > 1 << 20:
        return _refused(got, "SIZE_LIMIT_EXCEEDED")
    if _has_nul(data):
        return _refused(got, "BINARY_NOT_SUPPORTED")
    _same(got, [_decoded(data.removeprefix(codecs.BOM_UTF8)).replace("\r\n", "\n")])
    return EXACT if got[0].encode() == data else WITH_LOSS


def judge_forge(name: str, data: bytes, got) -> str:
    if any(c < " " for c in name):
        return _refused(got, "control characters")
    if _has_nul(data) or not _is_utf8_so_far(data):
        if got != (data[:204_800], len(data) > 204_800):
            raise Wrong(f"other bytes: {str(got)[:100]}")
        return WITH_LOSS if got[1] else EXACT
    _same(got, [_decoded(data)])
    return EXACT if got[0].encode() == data else WITH_LOSS


def judge_native(name: str, data: bytes, got) -> str:
    wide = _wide(data)
    if isinstance(got, str):
        raise Wrong(got)
    rows, notes = got
    is_described = len(rows) == 1 and rows[0].startswith("binary data of unknown type")
    if wide is None and _has_nul(data) and not is_described:
        raise Wrong(f"should be described as binary: {str(got)[:100]}")
    if is_described:
        if not _has_nul(data) and _is_valid(data):
            raise Wrong("a text is described as binary")
        return REFUSED
    encoding = next((re.match(r"(\S+) by ", note).group(1) for note in notes if re.match(r"\S+ by ", note)), "utf-8")
    if (wide or "utf-8") != encoding and (wide or _is_valid(data)):
        raise Wrong(f"detected as {encoding}")
    has_bom = wide is not None or "byte order mark" in notes
    if has_bom != (wide is not None or data.startswith(codecs.BOM_UTF8)):
        raise Wrong(f"a byte order mark: {has_bom}")
    body = data[(2 if wide else 3) if has_bom else 0 :]
    text = body.decode(encoding, "replace") if encoding != "utf-8" else _decoded(body)
    if encoding not in ("utf-8", wide) and "\ufffd" in text:
        # The number of bytes that one replacement character stands for differs between codecs.
        _same(
            [re.sub("\ufffd+", "\ufffd", row) for row in rows],
            [re.sub("\ufffd+", "\ufffd", row) for row in _bare_lines(text)],
        )
        return WITH_LOSS
    _same(rows, _bare_lines(text))
    if ("no newline at the end" in notes) != (bool(text) and not text.endswith("\n")):
        raise Wrong(f"the end of the file: {sorted(notes)}")
    if any("line ends" in note or note == "CRLF" for note in notes) != ("\r\n" in text):
        raise Wrong(f"line ends: {sorted(notes)}")
    # From rows and notes the caller can write the same file again, unless line ends are mixed.
    end = "\r\n" if "CRLF" in notes else "\n"
    again = "".join(row + end for row in rows)
    again = again.removesuffix(end) if "no newline at the end" in notes else again
    lead = data[: 2 if wide else 3] if has_bom else b""
    try:
        return EXACT if lead + again.encode(encoding) == data else WITH_LOSS
    except UnicodeEncodeError:
        return WITH_LOSS


def _is_valid(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _refused(got, words: str) -> str:
    if not isinstance(got, str) or words not in got:
        raise Wrong(f"should be refused ({words}): {str(got)[:100]}")
    return REFUSED


def _same(got, expected: list[str]) -> None:
    """Compare by hash, as the promise is worded. Raises: Wrong, with the first difference."""
    if isinstance(got, str):
        raise Wrong(f"refused: {got[:200]}")
    if not isinstance(got, list):
        raise Wrong(f"neither lines nor text: {str(got)[:100]}")
    if _hash(got) != _hash(expected):
        at = next((at for at, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), len(got))
        here, there = "".join(got[at : at + 1]), "".join(expected[at : at + 1])
        column = next(
            (i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), min(len(here), len(there))
        )
        raise Wrong(
            f"{len(got)} lines for {len(expected)}; the first difference is in line {at + 1}, character {column + 1}: "
            f"{here[column : column + 40]!r} for {there[column : column + 40]!r}"
        )


def _hash(pieces: list[str]) -> bytes:
    seen = hashlib.sha256()
    for piece in pieces:
        seen.update(len(piece).to_bytes(8, "big"))
        seen.update(piece.encode("utf-8", "surrogatepass"))
    return seen.digest()
