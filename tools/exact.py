"""Is what a caller gets what is on disk? A tree of odd files, read on to its end in every dialect, compared by hash.

    python tools/exact.py [--files 10000] [--seed N] [--mcp DIALECT] [--dialect D...] [--folder DIR]

Each file is read the way a model reads: ask, look at what came, ask for what follows, until the answer says that there
is no more. The text is put together again from the answers alone (numbers and gutters taken off) and compared with the
file. Where a dialect by its document loses something (long lines cut, CRLF shown as LF, bytes that are no UTF-8
replaced), the rule is written down here, from the document and not from the code, and the text must be exactly what the
rule makes of the file; what the document refuses must be refused. Anything else is a failure: exit status 1.
"""

from __future__ import annotations

import argparse
import base64
import codecs
import collections
import hashlib
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from eyespan import Workspace

SEED = 20_260_131
EXACT, WITH_LOSS, REFUSED = "byte for byte", "by the rule", "refused"
LOOKED_AT_BYTES = 8192
"""How far the documents look for what makes a file binary."""

# --- the tree ------------------------------------------------------------------------------------------------------

WORDS = [
    "harbour",
    "net",
    "tide",
    "keel",
    "rope",
    "lamp",
    "gull",
    "mast",
    "anchor",
    "drift",
    "→",
    "über",
    "naïve",
    "漢字",
    "🦀",
    "=",
    "(",
    ")",
    "{",
    "}",
    "'x'",
    '"y"',
    "0",
    "17",
    "-3.5",
    "#",
    "//",
    "\t",
]
SEPARATORS = ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\u200b", "\u202e", "\ufeff", "\U000e0041")
ODD_NAMES = (
    "with blank {n}", "-dash{n}", "a..b{n}", "ünï{n}", "漢字{n}", "q'uo\"te{n}", "$(x){n}", "semi;{n}", "{n}.tar",
    "~{n}", "%41{n}", "star*{n}",
    "a:10-20 {n}", "x::y{n}", "v@1{n}", "[{n}]", "new\nline{n}", "{n}" + "n" * 200, "e\u0301{n}",
)  # fmt: skip


def make_tree(root: Path, count: int, seed: int, most: int = 2_500_000) -> list[str]:
    """`count` files under `root`, the same for the same seed, none of much over `most` bytes; their names in it."""
    chance = random.Random(seed)
    names = []
    for n in range(count):
        style = chance.choice(STYLES)
        folder = f"d{n % 97}/s{n % 7}"
        pattern = chance.choice(ODD_NAMES) if chance.random() < 0.2 else "plain{n}"
        name = f"{folder}/{pattern.format(n=n)}{chance.choice(('.txt', '.log', '.py', '', '.md'))}"
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(style(chance, min(most, _size(chance))))
        names.append(name)
    return names


def _size(chance: random.Random) -> int:
    """Most files are small; one in two hundred has some MB."""
    most = chance.choices((0, 60, 2_000, 20_000, 150_000, 2_500_000), (4, 15, 60, 16, 4.5, 0.5))[0]
    return chance.randrange(most + 1)


def _lines(chance: random.Random, size: int, *, end: tuple[str, ...] = ("\n",), extra: tuple[str, ...] = ()) -> str:
    pieces = []
    while size > 0:
        words = chance.choices((*WORDS, *extra), k=chance.randrange(0, 12))
        line = " " * chance.choice((0, 0, 2, 4, 8)) + " ".join(words) + chance.choice(end)
        if size > 20_000:
            line *= chance.randrange(1, 40)
        pieces.append(line)
        size -= len(line)
    text = "".join(pieces)
    return text if chance.random() < 0.75 else text.rstrip("\r\n")


def _long(chance: random.Random, size: int) -> str:
    """Lines around and beyond every limit there is: 500 bytes, 2,000 characters, a block, 64 KiB."""
    pieces = []
    while size > 0:
        length = chance.choice((499, 500, 501, 1999, 2000, 2001, 2002, 4000, 8191, 8192, 66_000))
        character = chance.choice("xé漢🦀")
        line = character * min(length, size + 1) + chance.choice(("", "\r", "é")) + "\n"
        pieces.append(line)
        size -= len(line)
    return "".join(pieces)


def _damaged(chance: random.Random, size: int) -> bytes:
    data = bytearray(_lines(chance, size).encode())
    for _ in range(chance.randrange(1, 6)):
        bad = chance.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\xe9", b"\x80\x80", b"\xc0\xaf"))
        at = chance.randrange(len(data) + 1)
        data[at:at] = bad
    return bytes(data)


def _late_nul(chance: random.Random, size: int) -> bytes:
    data = _lines(chance, size + LOOKED_AT_BYTES + 100).encode()
    at = chance.randrange(LOOKED_AT_BYTES, len(data))
    return data[:at] + b"\0" + data[at:]


def _latin(chance: random.Random, size: int) -> bytes:
    return "".join(c for c in _lines(chance, size, extra=("é", "ß", "Ñandú")) if ord(c) < 256).encode("latin-1")


STYLES = (
    lambda chance, size: _lines(chance, size).encode(),
    lambda chance, size: _lines(chance, size).encode("ascii", "ignore"),
    lambda chance, size: _lines(chance, size, end=("\r\n",)).encode(),
    lambda chance, size: _lines(chance, size, end=("\n", "\r\n", "\r", "\n\n\n", "\r\r\n")).encode(),
    lambda chance, size: _lines(chance, size, end=("\r",)).encode(),
    lambda chance, size: _lines(chance, size, extra=SEPARATORS).encode(),
    lambda chance, size: _long(chance, size).encode(),
    lambda chance, size: codecs.BOM_UTF8 + _lines(chance, size).encode(),
    lambda chance, size: ("\ufeff" + _lines(chance, size)).encode("utf-16-le"),
    lambda chance, size: ("\ufeff" + _lines(chance, size, end=("\n", "\r\n"))).encode("utf-16-be"),
    _damaged,
    _latin,
    _late_nul,
    lambda chance, size: chance.randbytes(size),
    lambda chance, size: b"\n" * chance.randrange(5) if size < 1000 else b"\r\n" * (size // 2),
)

# --- callers: one for each way to read on ------------------------------------------------------------------------


class Wrong(Exception):
    """An answer that no rule explains."""


class Answer:
    """What came back, by whatever way."""

    def __init__(self, text: str, structured, error: str | None) -> None:
        self.text = text
        self.structured = structured
        self.error = error


def library(workspace: Workspace, dialect: str, **settings):
    tool = workspace.tool(dialect, **settings)

    def call(arguments) -> Answer:
        reply = tool.call(arguments)
        text = reply.content[0].text if reply.content else ""
        return Answer(text, reply.structured, reply.error.message if reply.error else None)

    return call


class Server:
    """The same over MCP: one server process, one JSON object a line."""

    def __init__(self, root: Path, dialect: str) -> None:
        command = [sys.executable, "-m", "eyespan.server", "--root", str(root), "--dialect", dialect]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._count = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "exact", "version": "1"}}
        self._ask("initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._tool = self._ask("tools/list", {})["tools"][0]["name"]

    def _send(self, message) -> None:
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _ask(self, method: str, params):
        self._count += 1
        self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise Wrong("the server is gone")
            message = json.loads(line)
            if message.get("id") == self._count:
                if "error" in message:
                    raise Wrong(f"the server refuses the call: {message['error']}")
                return message["result"]

    def __call__(self, arguments) -> Answer:
        result = self._ask("tools/call", {"name": self._tool, "arguments": arguments})
        text = result["content"][0].get("text", "") if result["content"] else ""
        facts = result.get("structuredContent") or result.get("_meta", {}).get("eyespan/facts")
        return Answer(text, facts, text if result.get("isError") else None)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


def read_codex(call, root: Path, name: str):
    """Lines without their ends; a slice that is full may have another behind it."""
    lines: list[str] = []
    while True:
        answer = call({"file_path": str(root / name), "offset": len(lines) + 1})
        if answer.error is not None:
            if "offset exceeds file length" in answer.error:
                return lines
            raise Wrong(answer.error)
        got = answer.text.split("\n")
        for line in got:
            lines.append(_without(line, f"L{len(lines) + 1}: "))
        if len(got) < 2000:
            return lines


def read_claude(call, root: Path, name: str, first: int = 0, mark: str = "\t"):
    lines: list[str] = []
    while True:
        answer = call({"file_path": str(root / name), "offset": len(lines) + first})
        if answer.error is not None:
            return answer.error
        facts = answer.structured
        if not facts["lines_returned"]:
            if facts.get("total_lines") != len(lines) or not answer.text.startswith("<system-reminder>"):
                raise Wrong(f"no lines, and yet {facts}")
            return lines
        got = answer.text.split("\n")
        if len(got) != facts["lines_returned"]:
            raise Wrong(f"{len(got)} lines, said to be {facts['lines_returned']}")
        for line in got:
            lines.append(_without(line, f"{len(lines) + 1:>6}{mark}"))
        if not facts["truncated"]:
            return lines


def read_workspace(call, root: Path, name: str):
    """The text itself, a window at a time."""
    windows, start = [], 1
    while True:
        answer = call({"path": name, "start_line": start, "max_lines": 500})
        if answer.error is not None:
            return answer.error
        windows.append(answer.structured["content"])
        if answer.structured["meta"]["byte_length"] != (root / name).stat().st_size:
            raise Wrong("another size")
        following = answer.structured["next_start_line"]
        if following is None:
            return ["\n".join(windows)]
        if following <= start:
            raise Wrong(f"reading on from {start} leads to {following}")
        start = following


def read_forge(call, root: Path, name: str, numbers: bool = True):
    """All of it, or bytes, or ranges where all of it is too much."""
    answer = call({"path": name, "show_line_numbers": numbers})
    if answer.error is None and answer.structured["binary"]:
        data = base64.b64decode(answer.structured["base64"])
        if answer.text.partition("\n")[2] != answer.structured["base64"]:
            raise Wrong("the text and the result differ")
        return (data, answer.structured["truncated"])
    if answer.error is None:
        return ["".join(_numbered_off(answer.text, 1) if numbers else [answer.text])]
    if "File too large" not in answer.error:
        return answer.error
    lines: list[str] = []
    while True:
        start = len(lines) + 1
        answer = call({"path": name, "start_line": start, "limit": 3000, "show_line_numbers": numbers})
        if answer.error is not None:
            if f"exceeds file line count {len(lines)}" in answer.error:
                return ["".join(lines)]
            return answer.error
        got = _numbered_off(answer.text, start) if numbers else _feeds(answer.text)
        lines += got
        if len(got) < 3000:
            return ["".join(lines)]


def read_native(call, root: Path, name: str, budget: int = 100_000):
    """Rows, and what is said beside them; every answer names what follows."""
    rows: list[str] = []
    said: set[str] = set()
    asked = name
    column = 1
    for _ in range(100_000):
        answer = call({"files": [asked], "budget": budget})
        if answer.error is not None:
            return answer.error
        (part,) = answer.structured["parts"]
        head, *lines = answer.text.split("\n")
        match = re.search(r":(\d+)(?::(\d+))?(?:-(\d+)(?::(\d+))?)?/(\d+|\?) #\d+$", head)
        if match is None:
            said.update(head.rpartition(": ")[2].split("; "))
            return rows, said
        first, start, last, end, _total = match.groups()
        first, last = int(first), int(last or first)
        if (int(start or 1), first) != (column, len(rows) + (column == 1)):
            raise Wrong(f"asked for {asked[-60:]!r}, got {head[-60:]!r}")
        for number in range(first, last + 1):
            line = lines.pop(0)
            lead = (
                f"{number}:{column}\t" if column > 1 else f"{number}\t" if number == first or number % 5 == 0 else "\t"
            )
            text = "" if lead == "\t" and not line else _without(line, lead)
            if column > 1:
                rows[-1] += text
            else:
                rows.append(text)
            column = 1
        if end is not None:
            column = len(rows[-1]) + 1
            if int(end) != column - 1:
                raise Wrong(f"{head[-60:]!r}, but the row ends at {column - 1}")
        said.update(lines[0].removeprefix("note: ").split("; ") if lines and lines[0].startswith("note: ") else ())
        if part["next"] is None:
            return rows, said
        asked = part["next"]
    raise Wrong("it never ends")


def _without(line: str, lead: str) -> str:
    if not line.startswith(lead):
        raise Wrong(f"{line[:40]!r} does not begin with {lead!r}")
    return line[len(lead) :]


def _feeds(text: str) -> list[str]:
    """The lines of a text with their line feeds; nothing else ends a line."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _numbered_off(text: str, first: int) -> list[str]:
    lines = _feeds(text)
    width = len(str(first + len(lines) - 1))
    return [_without(line, f"{number:>{width}}\t") for number, line in enumerate(lines, first)]


# --- rules: what each document makes of a file -------------------------------------------------------------------


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _bare_lines(text: str) -> list[str]:
    """Lines without LF or CRLF; a last line without an end is a line, an end at the end opens none."""
    lines = text.split("\n")
    last = lines.pop()
    return [line.removesuffix("\r") for line in lines] + ([last] if last else [])


def _has_nul(data: bytes) -> bool:
    return b"\0" in data[:LOOKED_AT_BYTES]


def _wide(data: bytes) -> str | None:
    return {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(data[:2])


def _is_utf8_so_far(data: bytes) -> bool:
    """Whether the bytes looked at are UTF-8; a character that only the looking cut in two is none that is bad."""
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
    if wide is None and _has_nul(data):
        return _refused(got, "binary")
    if isinstance(got, str):
        raise Wrong(got)
    rows, said = got
    told = next((re.match(r"(\S+) by ", word).group(1) for word in said if re.match(r"\S+ by ", word)), "utf-8")
    if (wide or "utf-8") != told and (wide or _is_valid(data)):
        raise Wrong(f"taken for {told}")
    mark = wide is not None or "byte order mark" in said
    if mark != (wide is not None or data.startswith(codecs.BOM_UTF8)):
        raise Wrong(f"a byte order mark: {mark}")
    body = data[(2 if wide else 3) if mark else 0 :]
    text = body.decode(told, "replace") if told != "utf-8" else _decoded(body)
    if told not in ("utf-8", wide) and "\ufffd" in text:
        # What is no character of the encoding that was guessed; how many bytes one stands for is the codec's affair.
        _same(
            [re.sub("\ufffd+", "\ufffd", row) for row in rows],
            [re.sub("\ufffd+", "\ufffd", row) for row in _bare_lines(text)],
        )
        return WITH_LOSS
    _same(rows, _bare_lines(text))
    if ("no newline at the end" in said) != (bool(text) and not text.endswith("\n")):
        raise Wrong(f"the end of the file: {sorted(said)}")
    if any("line ends" in word or word == "CRLF" for word in said) != ("\r\n" in text):
        raise Wrong(f"line ends: {sorted(said)}")
    # From what is said the caller writes the same file again, unless line ends are mixed.
    end = "\r\n" if "CRLF" in said else "\n"
    again = "".join(row + end for row in rows)
    again = again.removesuffix(end) if "no newline at the end" in said else again
    lead = b"" if not mark else data[: 2 if wide else 3]
    try:
        return EXACT if lead + again.encode(told) == data else WITH_LOSS
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
    """Compared by hash, as the promise says; where it differs, the first difference is told."""
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


WAYS = {
    "codex": (read_codex, judge_codex, {}),
    "codex-upstream": (read_codex, judge_codex, {}),
    "workspace": (read_workspace, judge_workspace, {}),
    "workspace-upstream": (read_workspace, judge_workspace, {}),
    # Ranges may reach through the whole of a large file; the default would end them after 2 MiB.
    "forge": (read_forge, judge_forge, {"max_scan_bytes": 1 << 30}),
    "claude": (read_claude, judge_claude, {}),
    "claude-upstream": (lambda call, root, name: read_claude(call, root, name, 1, "→"), judge_claude, {}),
    "native": (read_native, judge_native, {}),
}


def check(root: Path, names: list[str], dialect: str, call) -> tuple[collections.Counter[str], list[str]]:
    """Reads every file in one dialect; how many came back how, and what no rule explains."""
    read, judge, _ = WAYS[dialect]
    counts: collections.Counter[str] = collections.Counter()
    failures = []
    for name in names:
        data = (root / name).read_bytes()
        try:
            counts[judge(name, data, read(call, root, name))] += 1
        except Wrong as wrong:
            failures.append(f"{dialect}: {name[:100]!r} ({len(data)} bytes): {wrong}")
    return counts, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--dialect", action="append", choices=tuple(WAYS))
    parser.add_argument("--mcp", action="append", choices=tuple(WAYS), help="also over MCP (stdio), in this dialect")
    parser.add_argument("--folder", help="keep the tree here; an existing one is read as it is")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        root = Path(given.folder or made, "tree")
        names = make_tree(root, given.files, given.seed)
        size = sum((root / name).stat().st_size for name in names)
        print(f"{len(names)} files, {size / 1e6:.0f} MB, seed {given.seed}\n")
        print(f"| dialect | {EXACT} | {WITH_LOSS} | {REFUSED} | wrong | seconds |\n|---|---|---|---|---|---|")
        failures = []
        with Workspace(root) as workspace:
            ways = [(name, library(workspace, name, **WAYS[name][2])) for name in given.dialect or WAYS]
            for dialect in given.mcp or ["workspace"]:
                ways.append((f"{dialect}, MCP", Server(root, dialect)))
            for title, call in ways:
                started = time.monotonic()
                counts, wrong = check(root, names, title.removesuffix(", MCP"), call)
                failures += wrong
                row = [
                    counts[EXACT],
                    counts[WITH_LOSS],
                    counts[REFUSED],
                    len(wrong),
                    f"{time.monotonic() - started:.0f}",
                ]
                print(f"| {title} | {' | '.join(map(str, row))} |", flush=True)
                if isinstance(call, Server):
                    call.close()
    for failure in failures[:40]:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
