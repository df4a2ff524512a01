"""Compare every dialect with a naive reader of the whole file, for any bytes and any window.

The references below load the file, split it and follow the document of the dialect, without regard to memory or speed.
The block sizes of the real reader are reduced and varied, so that a few hundred bytes are many blocks; no answer may
depend on them. The limits of the dialects are reduced for the same reason.
"""

from __future__ import annotations

import base64
import contextlib
import json
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from eyespan import Workspace, kinds, model
from eyespan.dialects import codex, workspace
from eyespan.lines import binary, index
from eyespan.lines.finder import LineFinder
from eyespan.lines.reader import LineReader
from eyespan.model import Limits
from eyespan.source import Source
from tests.sizes import examples

SNIFF = 16
CODEX_LINE_BYTES = 20
CLAUDE_LINE_CHARS = 12
WORKSPACE_BYTES = 260

often = settings(
    max_examples=examples(300),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

# --- files ---------------------------------------------------------------------------------------------------------

TOKENS = [
    *(b"\n", b"\n", b"\n", b"\n", b"\r\n", b"\r\n", b"\r", b"\r\r\n", b"\n\n", b" ", b"\t", b"    ", b"a", b"word"),
    *(b"# note", b"// note", b"-- note", b"def f():", b"#", b"/", b"-", b"\x0b", b"\x0c", b"\x1c", b"x" * 9, b"y" * 40),
    *("é".encode(), "日本".encode(), "😀".encode(), "e\u0301".encode(), "\u2028".encode(), "\x85".encode()),
    *("\u00a0".encode(), "\u3000".encode(), "\ufeff".encode(), b"\xff", b"\xc0\x80", b"\xe2\x82", b"\xf0\x9f\x98"),
    *(b"\xed\xa0\x80", b"\xf0", b"\xf4\x90\x80\x80"),
]
STARTS = [b"", b"", b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0"]
any_bytes = st.builds(
    lambda start, pieces: start + b"".join(pieces),
    st.sampled_from(STARTS),
    st.lists(st.sampled_from(TOKENS), max_size=60),
)
with_nul = st.builds(lambda data, spot: data[:spot] + b"\0" + data[spot:], any_bytes, st.integers(0, 80))
files = st.one_of(any_bytes, any_bytes, with_nul, st.binary(max_size=200))

WIDE = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-32-le": b"\xff\xfe\0\0", "utf-32-be": b"\0\0\xfe\xff"}
wide_texts = st.text(st.sampled_from("a\n\n\r b\u0a0a\u0a00\u000a\u0d0a日😀é\u2028\u0100\u010a"), max_size=80)
wide_files = st.builds(
    lambda name, text, tail, holes: WIDE[name] + _holed(text.encode(name), holes) + tail,
    st.sampled_from(sorted(WIDE)),
    wide_texts,
    st.sampled_from([b"", b"", b"\n", b"\0", b"\n\0", b"\0\n\0"]),
    st.lists(st.tuples(st.integers(0, 300), st.sampled_from([b"\0\xd8", b"\xdc\0", b"\xff\xff"])), max_size=3),
)


def _holed(data: bytes, holes: list[tuple[int, bytes]]) -> bytes:
    """Insert code units that are not characters."""
    for spot, hole in holes:
        if len(data) >= 4:
            at = spot % (len(data) // 4) * 4
            data = data[:at] + hole + data[at + len(hole) :]
    return data


sizes = st.fixed_dictionaries(
    {
        "first_bytes": st.sampled_from([SNIFF, SNIFF + 1, 33, 64, 65536]),
        "block": st.sampled_from([1, 2, 3, 5, 8, 16, 31, 64, 256 * 1024]),
        "squeeze": st.sampled_from([0, 1, 7, 30, 100, 1 << 20]),
        "cheap": st.sampled_from([0, 10, 100, 1 << 23]),
        "stride": st.sampled_from([8, 16, 64, 65536]),
    }
)


@contextlib.contextmanager
def shrunk(sizes):
    with (
        mock.patch.object(Source, "max_first_bytes", sizes["first_bytes"]),
        mock.patch.multiple(
            LineReader,
            block_bytes=sizes["block"],
            squeeze_bytes=sizes["squeeze"],
        ),
        mock.patch.object(LineFinder, "cheap_bytes", sizes["cheap"]),
        mock.patch.object(index, "MIN_FILE_BYTES", 2 * sizes["stride"]),
        mock.patch.multiple(index, STRIDE=sizes["stride"], SCAN_BYTES=2 * sizes["stride"]),
        mock.patch.object(model, "SNIFF_BYTES", SNIFF),
        mock.patch.object(binary, "SNIFF_BYTES", SNIFF),
        mock.patch.multiple(
            codex.Codex, line_bytes=CODEX_LINE_BYTES, read_limits=Limits(max_line_bytes=CODEX_LINE_BYTES + 12)
        ),
        mock.patch.object(workspace.WorkspaceDialect, "read_limits", Limits(max_file_bytes=WORKSPACE_BYTES)),
    ):
        yield


class OneFile:
    """One file in one workspace, written again for every example."""

    def __init__(self, directory: str) -> None:
        self.path = Path(directory) / "file.txt"
        self.workspace = Workspace(directory)

    def call(self, dialect, data, arguments, sizes, **settings_):
        self.path.write_bytes(data)
        name = "path" if dialect.startswith(("workspace", "forge")) else "file_path"
        if dialect.startswith("claude"):
            settings_["max_line_length"] = CLAUDE_LINE_CHARS
        with shrunk(sizes):
            return self.workspace.tool(dialect, **settings_).call({name: str(self.path), **arguments})


@pytest.fixture(scope="module")
def one_file():
    with tempfile.TemporaryDirectory() as directory:
        made = OneFile(directory)
        yield made
        made.workspace.close()


def stored_lines(data: bytes) -> list[bytes]:
    """Return the lines with their terminators."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def bare(line: bytes) -> bytes:
    """Return a line without its terminator, LF or CR LF."""
    if line.endswith(b"\r\n"):
        return line[:-2]
    return line[:-1] if line.endswith(b"\n") else line


# --- codex ---------------------------------------------------------------------------------------------------------


def codex_line(number: int, line: bytes) -> str:
    text = bare(line).decode("utf-8", "replace")
    while len(text.encode()) > CODEX_LINE_BYTES:
        text = text[:-1]
    return f"L{number}: {text}"


def codex_slice(data: bytes, offset: int, limit: int) -> str:
    lines = stored_lines(data)
    if offset > len(lines):
        return "offset exceeds file length"
    shown = list(enumerate(lines, 1))[offset - 1 : offset - 1 + limit]
    return "\n".join(codex_line(number, line) for number, line in shown)


@often
@given(files, st.integers(1, 40), st.one_of(st.integers(1, 40), st.just(2**64 - 1)), sizes)
@example(
    b"x" * 33 + b"\r" + b"y" * 30 + b"\nz\n",
    1,
    5,
    {"first_bytes": 16, "block": 8, "squeeze": 0, "cheap": 0, "stride": 65536},
)
def test_codex_slice(one_file, data, offset, limit, sizes):
    reply = one_file.call("codex", data, {"offset": offset, "limit": limit}, sizes)

    assert reply.text == codex_slice(data, offset, limit)


RUST_BLANKS = {
    *(chr(n) for n in (9, 10, 11, 12, 13, 32, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)),
    *(chr(n) for n in range(0x2000, 0x200B)),
}


def codex_block(data: bytes, anchor: int, cap: int, levels: int, siblings: bool, header: bool) -> str:
    """Apply the rules of the indentation mode one by one, to all lines at once."""
    lines = stored_lines(data)
    texts = [bare(line).decode("utf-8", "replace") for line in lines]
    if anchor > len(texts):
        return "anchor_line exceeds file length"
    blank = [all(c in RUST_BLANKS for c in text) for text in texts]
    indents = []
    for text in texts:
        columns = 0
        for c in text:
            if c not in " \t":
                break
            columns += 4 if c == "\t" else 1
        indents.append(columns)
    effective: list[int] = []
    for n in range(len(texts)):
        effective.append(indents[n] if not blank[n] else effective[n - 1] if n else 0)
    comment = []
    for text in texts:
        while text and text[0] in RUST_BLANKS:
            text = text[1:]
        comment.append(text.startswith(("#", "//", "--")))
    at = anchor - 1
    floor = 0 if levels == 0 else max(0, effective[at] - 4 * levels)
    cap = min(cap, len(texts))
    if cap == 1:
        return codex_line(anchor, lines[at])
    chosen = {at}
    up, down = at - 1, at + 1
    up_open = down_open = True
    up_floor = down_floor = 0
    while len(chosen) < cap:
        before = len(chosen)
        if up_open:
            if (
                up < 0
                or effective[up] < floor
                or (effective[up] == floor and not siblings and up_floor and not (header and comment[up]))
            ):
                up_open = False
            else:
                up_floor += effective[up] == floor
                chosen.add(up)
                up -= 1
                if len(chosen) >= cap:
                    break
        if down_open:
            if (
                down >= len(texts)
                or effective[down] < floor
                or (effective[down] == floor and not siblings and down_floor)
            ):
                down_open = False
            else:
                down_floor += effective[down] == floor
                chosen.add(down)
                down += 1
        if len(chosen) == before:
            break
    order = sorted(chosen)
    while order and blank[order[0]]:
        order.pop(0)
    while order and blank[order[-1]]:
        order.pop()
    return "\n".join(codex_line(n + 1, lines[n]) for n in order)


code_lines = st.builds(
    lambda blanks, text, end: blanks + text + end,
    st.sampled_from([b"", b"", b"    ", b"\t", b"        ", b"  ", b" \t ", b"\t\t", b" " * 45, "\u00a0".encode()]),
    st.sampled_from(
        [
            b"",
            b"",
            b"x",
            b"# c",
            b"// c",
            b"-- c",
            b"\r",
            b"\x0b",
            b"\x1c",
            "\u3000".encode(),
            b"y" * 30,
            b"\xff",
            b"\xe2",
        ]
    ),
    st.sampled_from([b"\n", b"\n", b"\n", b"\r\n"]),
)
code_files = st.builds(
    lambda lines, end: b"".join(lines) + end,
    st.lists(code_lines, max_size=30),
    st.sampled_from([b"", b"", b"    z", b" "]),
)


@often
@given(
    st.one_of(code_files, code_files, files),
    st.integers(1, 32),
    st.integers(1, 35),
    st.integers(0, 4),
    st.booleans(),
    st.booleans(),
    sizes,
)
def test_codex_indentation(one_file, data, anchor, cap, levels, siblings, header, sizes):
    options = {
        "anchor_line": anchor,
        "max_lines": cap,
        "max_levels": levels,
        "include_siblings": siblings,
        "include_header": header,
    }
    reply = one_file.call("codex", data, {"mode": "indentation", "indentation": options}, sizes)

    assert reply.text == codex_block(data, anchor, cap, levels, siblings, header)


# --- workspace -----------------------------------------------------------------------------------------------------


def workspace_result(data: bytes, start: int, count: int, upstream: bool):
    if len(data) > WORKSPACE_BYTES:
        return "SIZE_LIMIT_EXCEEDED"
    if b"\0" in data[:SNIFF]:
        return "BINARY_NOT_SUPPORTED"
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\r\n", "\n")
    pieces = text.split("\n") if text else []
    closed = bool(pieces) and pieces[-1] == ""
    total = len(pieces) - (closed and not upstream)
    window = pieces[:total][start - 1 : start - 1 + count]
    last = start - 1 + len(window)
    truncated = bool(window) and last < total
    content = "\n".join(window)
    if window and not truncated and closed and not upstream:
        content += "\n"
    return {
        "content": content,
        "truncated": truncated,
        "next_start_line": last + 1 if truncated else None,
        "line_count": total,
        "returned_line_count": len(window),
        "byte_length": len(data),
    }


@pytest.mark.parametrize("upstream", [False, True])
@often
@given(data=files, start=st.integers(1, 40), count=st.integers(1, 40), sizes=sizes)
def test_workspace(one_file, upstream, data, start, count, sizes):
    dialect = "workspace-upstream" if upstream else "workspace"
    reply = one_file.call(dialect, data, {"start_line": start, "max_lines": count}, sizes)
    expected = workspace_result(data, start, count, upstream)

    if isinstance(expected, str):
        assert reply.error.code == expected
        return
    result = reply.structured
    meta = result["meta"]
    assert {
        "content": result["content"],
        "truncated": result["truncated"],
        "next_start_line": result["next_start_line"],
        "line_count": meta["line_count"],
        "returned_line_count": meta["returned_line_count"],
        "byte_length": meta["byte_length"],
    } == expected
    assert json.loads(reply.text) == result


@often
@given(data=any_bytes, count=st.integers(1, 7), sizes=sizes)
def test_workspace_windows_put_together_are_the_file(one_file, data, count, sizes):
    data = data.replace(b"\0", b"")[:WORKSPACE_BYTES]
    contents, start = [], 1
    while start is not None:
        reply = one_file.call("workspace", data, {"start_line": start, "max_lines": count}, sizes)
        contents.append(reply.structured["content"])
        start = reply.structured["next_start_line"]

    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\r\n", "\n")
    assert "\n".join(contents) == text


# --- forge ---------------------------------------------------------------------------------------------------------


def forge_is_binary(data: bytes) -> bool:
    sample = data[:SNIFF]
    if b"\0" in sample:
        return True
    for spare in range(4 if len(data) > SNIFF else 1):
        # A character that is cut by the end of the sample is valid.
        end = len(sample) - spare
        try:
            sample[:end].decode("utf-8")
        except UnicodeDecodeError:
            continue
        rest = sample[end:]
        if not rest or is_start_of_a_character(rest):
            return False
    return True


def is_start_of_a_character(rest: bytes) -> bool:
    """Return True if the bytes are the start of a valid character."""
    first = rest[0]
    length = 2 if 0xC2 <= first <= 0xDF else 3 if 0xE0 <= first <= 0xEF else 4 if 0xF0 <= first <= 0xF4 else 0
    if len(rest) >= length:
        return False
    for second in [rest[1:2]] if len(rest) > 1 else [bytes([n]) for n in range(0x80, 0xC0)]:
        try:
            (rest[:1] + second + rest[2:]).ljust(length, b"\x80").decode("utf-8")
        except UnicodeDecodeError:
            continue
        return True
    return False


NEEDS_NUMBERS = (
    ": the numbers of the last lines need a scan of the whole file. With show_line_numbers false the last lines are "
    "read without one"
)


def forge_result(data: bytes, arguments: dict, max_file: int, max_scan: int, numbers: bool):
    whole = not arguments
    if forge_is_binary(data):
        if not whole:
            return "Bad args: Line ranges are not supported for binary files"
        mark = "[truncated]" if len(data) > max_file else ""
        return {"text": f"[binary:base64]{mark}\n{base64.b64encode(data[:max_file]).decode()}", "binary": True}
    lines = stored_lines(data)
    total = len(lines)
    scan_error = "Read failed: Scan limit exceeded; narrow the range"
    if whole:
        if len(data) > max_file:
            return "Read failed: File too large; use start_line/end_line"
        first, last = 1, total
    else:
        if "tail" in arguments:
            first, last, needs_all = max(1, total - arguments["tail"] + 1), total, True
        else:
            first = arguments.get("start_line", 1)
            ends = [first + arguments[name] - 1 for name in ("limit", "head") if name in arguments]
            ends += [arguments["end_line"]] if "end_line" in arguments else []
            needs_all = not ends or min(ends) > total
            last = min([*ends, total])
        scanned = len(data) if needs_all else sum(map(len, lines[:last]))
        if scanned > max_scan and "tail" in arguments:
            if numbers:
                return f"{scan_error}{NEEDS_NUMBERS}"
            # Without numbers only the lines themselves count, and their place in the file stays unknown.
            end = b"".join(lines[first - 1 :])
            return scan_error if len(end) > max_scan else {"text": end.decode("utf-8", "replace"), "binary": False}
        if scanned > max_scan:
            return scan_error
        if total and first > total:
            return f"Bad args: start_line {first} exceeds file line count {total}"
    shown = lines[first - 1 : last]
    width = len(str(last))
    text = "".join(
        (f"{n:>{width}}\t" if numbers else "") + line.decode("utf-8", "replace") for n, line in enumerate(shown, first)
    )
    result = {"text": text, "binary": False}
    if shown:
        result.update(start_line=first, end_line=last)
    return result


forge_ranges = st.one_of(
    st.just({}),
    st.builds(lambda n: {"head": n}, st.integers(1, 30)),
    st.builds(lambda n: {"tail": n}, st.integers(1, 30)),
    st.builds(lambda n: {"tail": n}, st.integers(1, 5)),
    st.builds(lambda n: {"start_line": n}, st.integers(1, 30)),
    st.builds(lambda a, b: {"start_line": a, "end_line": a + b}, st.integers(1, 30), st.integers(0, 10)),
    st.builds(lambda n: {"end_line": n}, st.integers(1, 30)),
    st.builds(lambda n: {"limit": n}, st.integers(1, 30)),
    st.builds(
        lambda a, b, n: {"start_line": a, "end_line": a + b, "limit": n},
        st.integers(1, 20),
        st.integers(0, 10),
        st.integers(1, 10),
    ),
)
byte_limits = st.one_of(st.integers(0, 200), st.just(1 << 21))


@often
@given(files, forge_ranges, byte_limits, byte_limits, st.booleans(), sizes)
def test_forge(one_file, data, arguments, max_file, max_scan, numbers, sizes):
    limits = {"max_file_read_bytes": max_file, "max_scan_bytes": max_scan, "show_line_numbers": numbers}
    reply = one_file.call("forge", data, arguments, sizes, **limits)
    expected = forge_result(data, arguments, max_file, max_scan, numbers)

    if isinstance(expected, str):
        assert reply.text == expected
        return
    assert not reply.is_error, reply.text
    assert reply.text == expected["text"]
    keys = ("text", "binary", "start_line", "end_line")
    assert {key: reply.structured[key] for key in keys if key in reply.structured} == expected
    if not expected["binary"]:
        assert reply.structured.get("total_lines", len(stored_lines(data))) == len(stored_lines(data))


@often
@given(any_bytes, st.integers(0, 300), sizes)
def test_forge_scan_limit_is_met_exactly(one_file, data, slack, sizes):
    """The limit may be as large as the lines; one byte less is an error."""
    lines = stored_lines(data)
    if forge_is_binary(data) or not lines:
        return
    last = slack % len(lines) + 1
    size = sum(map(len, lines[:last]))

    just = one_file.call("forge", data, {"head": last}, sizes, max_scan_bytes=size)
    short = one_file.call("forge", data, {"head": last}, sizes, max_scan_bytes=size - 1)

    assert not just.is_error
    assert short.text == "Read failed: Scan limit exceeded; narrow the range"


# --- claude --------------------------------------------------------------------------------------------------------


def claude_result(data: bytes, first: int, limit: int, separator: str):
    wide = next((name for name in sorted(WIDE, reverse=True) if data.startswith(WIDE[name])), None)
    if wide is None and b"\0" in data[:SNIFF]:
        return None
    text = data[len(WIDE[wide]) :].decode(wide, "replace") if wide else data.decode("utf-8", "replace")
    lines = text.split("\n")
    ended = [line.removesuffix("\r") for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    shown = ended[first - 1 : first - 1 + limit]
    view = []
    for number, line in enumerate(shown, first):
        if len(line) > CLAUDE_LINE_CHARS:
            line = f"{line[:CLAUDE_LINE_CHARS]}... [line truncated, {len(line)} chars total]"
        view.append(f"{number:>6}{separator}{line}")
    return "\n".join(view), len(shown), len(ended), first - 1 + len(shown) < len(ended)


@pytest.mark.parametrize("dialect", ["claude", "claude-upstream"])
@often
@given(data=st.one_of(files, wide_files), offset=st.integers(0, 30), limit=st.integers(1, 40), sizes=sizes)
@example(
    b"x" * 12 + b"\r" + b"y" * 99 + b"\nz\n",
    0,
    5,
    {"first_bytes": 16, "block": 8, "squeeze": 0, "cheap": 0, "stride": 65536},
)
@example(
    b"x" * 12 + b"\r" + b"y" * 99 + b"\nz\n",
    0,
    5,
    {"first_bytes": 16, "block": 64, "squeeze": 30, "cheap": 0, "stride": 65536},
)
def test_claude(one_file, dialect, data, offset, limit, sizes):
    if kinds.detect(data, "file.txt") is not None:
        return  # an image or a PDF, by accident
    upstream = dialect == "claude-upstream"
    first = max(1, offset) if upstream else offset + 1
    reply = one_file.call(dialect, data, {"offset": offset, "limit": limit}, sizes)
    expected = claude_result(data, first, limit, "→" if upstream else "\t")

    if expected is None:
        assert reply.is_error
        assert "cannot read binary files" in reply.text
        return
    view, returned, total, more = expected
    assert not reply.is_error, reply.text
    facts = reply.structured
    assert facts["lines_returned"] == returned
    assert facts["truncated"] is more
    assert facts.get("total_lines", total) == total
    if total == 0:
        assert "contents are empty" in reply.text
    elif not returned:
        assert f"shorter than the provided offset ({offset}). The file has {total} lines." in reply.text
    else:
        assert reply.content[0].text == view
        assert len(reply.content) == 1  # lines cut by a given limit have no reminder
