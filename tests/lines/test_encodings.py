"""Encodings: the names that are allowed, and windows that are the same in all of them."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.lines import encodings
from eyespan.lines.encodings import Encoding, Transcoder, canonical_name, choose
from tests.sizes import examples, size

ALPHABETS = {
    "utf-8": "aé漢😀\u2028",
    "utf-16-le": "aé漢😀\u0a0a\u0a0d\u000b",
    "utf-16-be": "aé漢😀\u0a0a\u0d0a\u0a00",
    "utf-32-le": "aé漢😀\u0a0a",
    "utf-32-be": "aé漢😀\u0a00",
    "cp1252": "aéß€ÿ\x0b",
    "iso8859-15": "aéß€\x85",
    "koi8-r": "aбвЯ─",
    "cp1251": "aбвЯ№",
    "shift_jis": "a漢ソ表ｱ",
    "euc_jp": "a漢ソ表",
    "gb18030": "a汉é😀ÿ",
    "big5": "a漢功許",
    "euc_kr": "a한글漢",
}
NAMES = tuple(ALPHABETS)


def transcode(data, encoding):
    """Return a whole text in UTF-8, and how many pieces of it could not be decoded."""
    transcoder = Transcoder(encoding)
    return transcoder.feed(data, final=True), transcoder.replaced


@pytest.mark.parametrize(
    ("given", "canonical"),
    [("UTF8", "utf-8"), ("latin1", "iso8859-1"), ("Shift_JIS", "shift-jis"), ("cp1252", "cp1252"), ("U16", "utf-16")],
)
def test_a_name_has_one_spelling(given, canonical):
    assert canonical_name(given) == canonical


@pytest.mark.parametrize(
    "name",
    [
        "utf-7",
        "punycode",
        "idna",
        "hz",
        "iso2022_jp",
        "iso2022_kr",
        "unicode_escape",
        "cp037",
        "cp500",
        "cp1140",
        "cp273",
        "charmap",
        "undefined",
    ],
)
def test_an_encoding_without_findable_lines_is_refused_when_the_tool_is_made(tmp_path, name):
    with pytest.raises(ValueError, match="cannot be read by lines"):
        Workspace(tmp_path).tool("codex", encoding=name)


@pytest.mark.parametrize("name", ["base64", "rot13", "zlib", "hex"])
def test_a_codec_that_is_not_a_text_encoding_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match="is no text encoding"):
        Workspace(tmp_path).tool("claude", encoding=name)


@pytest.mark.parametrize("name", ["utf-9", "", "latin one", 8, b"utf-8", True])
def test_an_unknown_encoding_names_examples(tmp_path, name):
    with pytest.raises(ValueError, match=r"utf-8, utf-16, cp1252"):
        Workspace(tmp_path).tool("forge", encoding=name)


def test_every_encoding_that_may_be_named_has_its_line_feed_at_byte_0x0a():
    """All pairs of bytes before a line feed: none swallows it, none makes another."""
    import pkgutil
    from encodings import __path__ as where

    allowed = set()
    for module in pkgutil.iter_modules(where):
        try:
            allowed.add(canonical_name(module.name) or "")
        except ValueError:
            continue
    narrow = sorted(name for name in allowed if not name.startswith(("utf-16", "utf-32")))
    seconds = range(0, 256, size(short=5, long=1))
    pairs = b"".join(bytes((a, b, 10)) for a in range(256) for b in seconds)
    assert len(narrow) > 70
    assert [name for name in narrow if transcode(pairs, Encoding(name))[0].count(b"\n") != pairs.count(b"\n")] == []


class TestReplacement:
    def test_undecodable_pieces_are_counted_and_reported(self, tmp_path):
        (tmp_path / "a.txt").write_bytes(b"ok\nb\x81d \x8d\n")
        workspace = Workspace(tmp_path)

        forge = workspace.tool("forge", encoding="cp1252").call({"path": "a.txt"}).structured
        meta = workspace.tool("workspace", encoding="cp1252").call({"path": "a.txt"}).structured["meta"]
        claude = workspace.tool("claude", encoding="cp1252").call({"file_path": f"{tmp_path}/a.txt", "offset": 1})

        assert (forge["encoding"], forge["replaced"]) == ("cp1252", 2)
        assert (meta["encoding"], meta["replaced"]) == ("cp1252", 2)
        assert claude.structured["replaced"] == 2
        assert claude.content[-1].text == (
            "<system-reminder>2 pieces are not valid cp1252 and are shown as U+FFFD.</system-reminder>"
        )

    def test_only_the_lines_given_are_counted(self, tmp_path):
        (tmp_path / "a.txt").write_bytes(b"\x81\nok\n\x81\n")
        tool = Workspace(tmp_path).tool("forge", encoding="cp1252")

        assert tool.call({"path": "a.txt", "start_line": 2, "end_line": 2}).structured["replaced"] == 0

    def test_utf8_by_name_counts_too_and_a_real_replacement_character_does_not(self, tmp_path):
        (tmp_path / "a.txt").write_bytes("\ufffd".encode() + b"\xff\xc3\n")
        tool = Workspace(tmp_path).tool("forge", encoding="utf-8")

        assert tool.call({"path": "a.txt"}).structured["replaced"] == 2

    def test_replies_do_not_report_it_by_default(self, tmp_path):
        (tmp_path / "a.txt").write_bytes(b"ok\n")

        assert "replaced" not in Workspace(tmp_path).tool("forge").call({"path": "a.txt"}).structured

    @pytest.mark.parametrize("name", ["euc_jp", "euc_kr", "gb18030", "shift_jis", "cp1252", "utf-8"])
    def test_ruins_of_a_character_do_not_swallow_the_line_feed(self, name):
        text, replaced = transcode(b"a\x8f\nb\x810\nc\x8f", Encoding(name))

        assert text.decode().split("\n")[1][0] == "b"
        assert text.count(b"\n") == 2
        assert replaced == text.decode().count("\ufffd")

    def test_a_file_that_ends_inside_a_unit_has_one_more_piece(self, tmp_path):
        (tmp_path / "a.txt").write_bytes("a\n".encode("utf-16-le") + b"\n")
        tool = Workspace(tmp_path).tool("forge", encoding="utf-16-le")

        assert tool.call({"path": "a.txt"}).structured["text"] == "1\ta\n2\t\ufffd"


class TestBinary:
    def test_utf16_is_text_if_the_encoding_is_named(self, tmp_path):
        (tmp_path / "a.txt").write_bytes("Hi\nthere\n".encode("utf-16-le"))
        workspace = Workspace(tmp_path)
        path = {"path": "a.txt"}

        assert workspace.tool("workspace").call(path).error.code == "BINARY_NOT_SUPPORTED"
        for name in ("auto", "utf-16-le", "utf-16"):
            assert workspace.tool("workspace", encoding=name).call(path).structured["content"] == "Hi\nthere\n"
            assert workspace.tool("forge", encoding=name).call(path).structured["text"] == "1\tHi\n2\tthere\n"

    def test_a_binary_file_stays_binary_whatever_is_named(self, tmp_path):
        (tmp_path / "a.bin").write_bytes(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01\0\0\0" * 9)
        for name in ("auto", "utf-16-le", "utf-16-be", "cp1252"):
            reply = Workspace(tmp_path).tool("workspace", encoding=name).call({"path": "a.bin"})
            assert reply.error.code == "BINARY_NOT_SUPPORTED", name

    def test_legacy_text_is_text_to_forge_if_the_encoding_is_named(self, tmp_path):
        (tmp_path / "a.txt").write_bytes("Größe über alles, fünf schöne Bücher\n".encode("cp1252"))
        workspace = Workspace(tmp_path)

        assert workspace.tool("forge").call({"path": "a.txt"}).structured["binary"] is True
        for name in ("auto", "cp1252"):
            assert "Größe" in workspace.tool("forge", encoding=name).call({"path": "a.txt"}).structured["text"]


def test_a_named_encoding_means_the_same_as_in_python():
    text = "\ufeffa\n"
    assert choose("utf-16", text.encode("utf-16-be")).bom == codecs.BOM_UTF16_BE
    assert choose("utf-16-le", text.encode("utf-16-le")).bom == b""
    assert choose("utf-16", b"a\0").name == "utf-16-le"


# --- any window in any encoding -----------------------------------------------------------------------------------


@st.composite
def files(draw):
    """A file's bytes and its lines by the naive way: split at the line feeds, each decoded by itself."""
    name = draw(st.sampled_from(NAMES))
    words = st.text(alphabet=ALPHABETS[name] + " \t\r", max_size=12)
    long = st.integers(1990, 2010).map(lambda n: (ALPHABETS[name] * n)[:n])
    wide_long = st.integers(480, 520).map(lambda n: (ALPHABETS[name][:2] * n)[:n])
    lines = draw(st.lists(st.one_of(words, words, words, words, long, wide_long), max_size=12))
    text = "\n".join(lines) + draw(st.sampled_from(["", "\n", "\r\n"]))
    data = text.encode(name)
    if draw(st.integers(0, 3)) == 0:  # ruins
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(min_size=1, max_size=3)).replace(b"\0", b"") + data[at:]
    return name, data


def naive_lines(name: str, data: bytes) -> list[str]:
    """Every line with its terminator."""
    if name.startswith(("utf-16", "utf-32")):
        lines = data.decode(name, "replace").split("\n")
    else:
        lines = [line.decode(name, "replace") for line in data.split(b"\n")]
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def bare(line: str) -> str:
    return line[:-2] if line.endswith("\r\n") else line.removesuffix("\n")


def as_claude(lines: list[str], first: int, limit: int) -> str:
    shown = []
    for number, line in enumerate(map(bare, lines[first - 1 : first - 1 + limit]), first):
        cut = line if len(line) <= 2000 else f"{line[:2000]}... [line truncated, {len(line)} chars total]"
        shown.append(f"{number:>6}\t{cut}")
    return "\n".join(shown)


def as_codex(lines: list[str], first: int, limit: int) -> str:
    window = enumerate(map(bare, lines[first - 1 : first - 1 + limit]), first)
    return "\n".join(f"L{number}: {line.encode()[:500].decode('utf-8', 'ignore')}" for number, line in window)


def as_forge(lines: list[str], first: int, last: int) -> str:
    window = lines[first - 1 : last]
    width = len(str(first + len(window) - 1))
    return "".join(f"{number:>{width}}\t{line}" for number, line in enumerate(window, first))


ANY_FILE = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize(("block", "first_bytes"), [(5, 8), (64, 8), (1000, 16), (262144, 65536)])
@ANY_FILE
@given(file=files(), first=st.integers(1, 14), count=st.integers(1, 14))
def test_every_dialect_returns_the_naive_window(tmp_path, small_blocks, block, first_bytes, file, first, count):
    name, data = file
    small_blocks(block_bytes=block, first_bytes=first_bytes, squeeze_bytes=4 * block)
    (tmp_path / "file").write_bytes(data)
    lines, workspace, path = naive_lines(name, data), Workspace(tmp_path), f"{tmp_path}/file"
    inside = first <= len(lines)
    assume("\0" not in "".join(lines))  # ruins that shift the units make a binary file

    claude = workspace.tool("claude", encoding=name).call({"file_path": path, "offset": first - 1, "limit": count})
    codex = workspace.tool("codex", encoding=name).call({"file_path": path, "offset": first, "limit": count})
    tool = workspace.tool("forge", encoding=name)
    forge = tool.call({"path": "file", "start_line": first, "end_line": first + count - 1})
    tail = tool.call({"path": "file", "tail": count})
    window = workspace.tool("workspace", encoding=name).call({"path": "file", "start_line": first, "max_lines": count})

    if inside:
        assert claude.content[0].text == as_claude(lines, first, count)
        assert codex.text == as_codex(lines, first, count)
        assert forge.structured["text"] == as_forge(lines, first, first + count - 1)
    else:
        assert codex.is_error
    if lines:
        assert tail.structured["text"] == as_forge(lines, max(1, len(lines) - count + 1), len(lines))
    content = "".join(lines[first - 1 : first - 1 + count]).replace("\r\n", "\n")
    more = first - 1 + count < len(lines)
    assert window.structured["content"] == (content.removesuffix("\n") if more else content)
    assert window.structured["meta"]["line_count"] == len(lines)


INDENTS, BODIES = ("", " ", "\t", "    ", "\u3000"), ("", "# x", "y", "é" * 300, "z" * 600)


@pytest.mark.parametrize(("block", "first_bytes"), [(5, 8), (64, 8), (262144, 65536)])
@ANY_FILE
@given(
    name=st.sampled_from(NAMES),
    shape=st.lists(st.tuples(st.sampled_from(INDENTS), st.sampled_from(BODIES)), min_size=1, max_size=14),
    anchor=st.integers(1, 15),
    levels=st.integers(0, 2),
    siblings=st.booleans(),
    header=st.booleans(),
)
def test_a_block_by_indentation_is_the_same_in_every_encoding(
    tmp_path, small_blocks, block, first_bytes, name, shape, anchor, levels, siblings, header
):
    def kept(text: str) -> str:
        return text.encode(name, "ignore").decode(name)

    text = "\n".join(kept(indent) + kept(body) for indent, body in shape) + "\n"
    (tmp_path / "named").write_bytes(text.encode(name))
    (tmp_path / "utf8").write_bytes(text.encode())
    options = {"anchor_line": anchor, "max_levels": levels, "include_siblings": siblings, "include_header": header}
    workspace = Workspace(tmp_path)

    def call(file: str, **how: str) -> object:
        arguments = {"file_path": f"{tmp_path}/{file}", "mode": "indentation", "indentation": options}
        reply = workspace.tool("codex", **how).call(arguments)
        return reply.error and reply.error.message, reply.text

    expected = call("utf8")
    small_blocks(block_bytes=block, first_bytes=first_bytes, squeeze_bytes=4 * block)

    assert call("named", encoding=name) == expected
    assert call("utf8") == expected


@given(file=files(), size=st.integers(1, 9))
def test_transcoding_does_not_depend_on_where_the_blocks_break(file, size):
    name, data = file
    encoding = choose(name, b"")
    step = size * encoding.unit_bytes
    pieces = Transcoder(encoding)

    got = b"".join(pieces.feed(data[at : at + step]) for at in range(0, len(data), step)) + pieces.feed(b"", final=True)

    assert got.decode() == "".join(naive_lines(name, data))
    assert got == transcode(data, encoding)[0]


def test_the_module_names_examples_that_it_accepts():
    assert [canonical_name(name.strip()) for name in encodings.EXAMPLES.split(",")]


# --- wide encodings without a BOM ----------------------------------------------------------------------------------


def test_a_sample_too_short_for_two_units_proves_no_wide_encoding():
    assert encodings.wide_without_bom(b"a\0") is None


def test_a_sample_may_end_between_two_surrogates():
    sample = ("plain text " * 4 + "😀").encode("utf-16-le")[:-2]

    assert encodings.wide_without_bom(sample).name == "utf-16-le"


def test_control_characters_make_no_wide_text():
    assert encodings.wide_without_bom("a\x01b\x02c\x03".encode("utf-32-le")) is None
