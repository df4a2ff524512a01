"""Members of archives and compressed files: the same lines as the plain file, and nothing that a hostile one can do."""

from __future__ import annotations

import bz2
import difflib
import functools
import gc
import gzip
import io
import lzma
import os
import random
import resource
import struct
import sys
import tarfile
import time
import tracemalloc
import weakref
import zipfile
import zlib

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.engine import open_with
from eyespan.errors import (
    Binary,
    Cancelled,
    Missing,
    NoMember,
    NotFound,
    NotRegular,
    PolicyDenied,
    ReadError,
    ScanLimit,
    TimedOut,
    TooMuchMemory,
    Unreadable,
    WindowTooLarge,
)
from eyespan.extras.archives import tars
from eyespan.lines import index
from eyespan.memory import Ledger
from eyespan.model import MIB, Block, Limits, Lines, ReadRequest, Tail
from eyespan.source import RACY_NS
from eyespan.sources import cache as source_cache
from eyespan.sources import members, nested, streams
from eyespan.sources.members import DIRECTORY, FILE, TOO_LONG_NAME, Contents, MemberEntry, split_member
from tests.sizes import examples, size

DOCUMENTS = frozenset(["archive", "compressed"])


@pytest.fixture(autouse=True)
def forgetful():
    """Nothing that one test learned of a file is known to the next."""
    source_cache.clear()
    index._indexes.clear()


ALL = Lines()


def request(path, selection=ALL, member="", **more):
    more.setdefault("documents", DOCUMENTS)
    return ReadRequest(path, selection, member=member, **more)


def read(directory, path, selection=ALL, member="", **more):
    with Workspace(directory) as workspace:
        return workspace.engine.read(request(path, selection, member, **more))


def text_of(document):
    (part,) = document.parts
    return bytes(part.data)


def fails(directory, path, member="", selection=ALL, **more):
    """The error of a read that must end in one."""
    with pytest.raises(ReadError) as caught:
        read(directory, path, selection, member, **more)
    return caught.value


def settle():
    """Waits until the times of a file just written prove something: nothing is kept of younger ones."""
    time.sleep(1.5 * RACY_NS / 1e9)


def in_zip(data, name="member.txt", method=zipfile.ZIP_DEFLATED):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr("before.txt", b"other\n" * 100)
        archive.writestr(name, data)
        archive.writestr("after.txt", b"more\n")
    return packed.getvalue()


def in_tar(data, name="member.txt", mode="w", kind=tarfile.PAX_FORMAT):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode, format=kind) as archive:
        for one, body in (("before.txt", b"other\n" * 100), (name, data), ("after.txt", b"more\n")):
            info = tarfile.TarInfo(one)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return packed.getvalue()


def in_parts(compress):
    """A compressed file of several parts, one after the other, as tools that append or work in parallel make it."""

    def packed(data):
        step = len(data) // 3 + 1
        return b"".join(compress(data[at : at + step]) for at in range(0, len(data), step)) or compress(b"")

    return packed


SKIPPED = b"\x5e\x2a\x4d\x18" + (50).to_bytes(4, "little") + bytes(50)
"""A frame of zstd that holds no data of the file."""


def zstd(data):
    return zstandard.ZstdCompressor().compress(data)


CONTAINERS = {
    "gz": (gzip.compress, ""),
    "gz in parts": (in_parts(gzip.compress), ""),
    "gz and zeros": (lambda data: gzip.compress(data) + bytes(700), ""),
    "gz and garbage": (lambda data: gzip.compress(data) + b"garbage", ""),
    "bz2": (bz2.compress, ""),
    "bz2 in parts": (in_parts(bz2.compress), ""),
    "xz": (lzma.compress, ""),
    "xz in parts": (in_parts(lzma.compress), ""),
    "zst": (zstd, ""),
    "zst in parts": (in_parts(zstd), ""),
    "zst in parts and others": (in_parts(lambda data: zstd(data) + SKIPPED), ""),
    "zst with a checksum": (lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data), ""),
    "zst of unknown size": (lambda data: zstandard.ZstdCompressor(write_content_size=False).compress(data), ""),
    "zip stored": (lambda data: in_zip(data, method=zipfile.ZIP_STORED), "member.txt"),
    "zip deflated": (in_zip, "member.txt"),
    "zip bzip2": (lambda data: in_zip(data, method=zipfile.ZIP_BZIP2), "member.txt"),
    "zip in zip": (lambda data: in_zip(in_zip(data), "inner.zip"), "inner.zip!/member.txt"),
    "tar": (in_tar, "member.txt"),
    "tar gnu": (lambda data: in_tar(data, kind=tarfile.GNU_FORMAT), "member.txt"),
    "tar ustar": (lambda data: in_tar(data, kind=tarfile.USTAR_FORMAT), "member.txt"),
    "tar.gz": (lambda data: in_tar(data, mode="w:gz"), "member.txt"),
    "tar.bz2": (lambda data: in_tar(data, mode="w:bz2"), "member.txt"),
    "tar.xz": (lambda data: in_tar(data, mode="w:xz"), "member.txt"),
    "gz in tar": (lambda data: in_tar(gzip.compress(data), "member.gz"), "member.gz"),
    "tar.gz in zip in tar": (
        lambda data: in_tar(in_zip(in_tar(data, mode="w:gz"), "b.tgz"), "a.zip"),
        "a.zip!/b.tgz!/member.txt",
    ),
}


def lines(count, width=40):
    return b"".join(b"%07d %s\n" % (n, bytes([97 + n % 26]) * (n * 7 % width)) for n in range(1, count + 1))


MANY = size(short=1_500, long=40_000)
PLAIN = {
    "empty": b"",
    "one line": b"one line\n",
    "no end": b"one\ntwo\nthree",
    "crlf": b"one\r\ntwo\r\n\r\nfour",
    "blank lines": b"\n\n\n",
    "bad utf-8": b"\xff\xfe\n\xe2\x82\nend\n",
    "large": lines(MANY),
    "one long line": b"x" * 300_000 + b"\nend\n",
}
SELECTIONS = [
    Lines(),
    Lines(1, 1),
    Lines(2, 2),
    Lines(3, None),
    Lines(MANY // 2, 50),
    Lines(MANY - 1, 10),
    Lines(MANY + 10_000, 3),
    Tail(1),
    Tail(3),
    Tail(3, numbered=False),
    Tail(MANY // 4),
    Block(2, 20),
]


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_window_is_that_of_the_plain_file(container, tmp_path):
    pack, member = CONTAINERS[container]
    first = size(short=list(CONTAINERS).index(container) % 2, long=0)
    for name, data in PLAIN.items():
        (tmp_path / "plain").write_bytes(data)
        (tmp_path / "packed").write_bytes(pack(data))
        for number, selection in enumerate(SELECTIONS[first :: size(short=2, long=1)]):
            both = ({}, {"limits": Limits(max_line_bytes=80, max_line_chars=20), "total": "exact"})
            for more in size(short=both[number % 2 :][:1], long=both):
                plain = read(tmp_path, "plain", selection, **more)
                packed = read(tmp_path, "packed", selection, member, **more)

                assert (packed.kind, packed.parts) == (plain.kind, plain.parts), (name, selection)


@pytest.mark.parametrize("container", ["gz", "gz in parts", "xz", "zip deflated", "tar.gz"])
def test_wide_encodings_are_read_too(container, tmp_path):
    pack, member = CONTAINERS[container]
    data = "één\ntwee\ndrie\n".encode("utf-16")
    (tmp_path / "plain").write_bytes(data)
    (tmp_path / "packed").write_bytes(pack(data))

    found = read(tmp_path, "packed", Lines(2, 1), member, encoding="bom")

    assert found.parts == read(tmp_path, "plain", Lines(2, 1), encoding="bom").parts
    assert text_of(found) == b"twee\n"


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_window_of_any_member_in_any_order(data, tmp_path):
    name, (pack, member) = data.draw(st.sampled_from(sorted(CONTAINERS.items())))
    body = data.draw(
        st.binary(max_size=300) | st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\xc3\xa9"])).map(b"".join)
    )
    (tmp_path / "plain").write_bytes(body)
    (tmp_path / "packed").write_bytes(pack(body))
    windows = st.builds(Lines, st.integers(1, 9), st.none() | st.integers(0, 9)) | st.builds(Tail, st.integers(0, 9))
    for selection in data.draw(st.lists(windows, min_size=1, max_size=4)):
        try:
            expected = read(tmp_path, "plain", selection).parts
        except Binary:
            assert isinstance(fails(tmp_path, "packed", member, selection), Binary)
        else:
            assert read(tmp_path, "packed", selection, member).parts == expected, name


@pytest.mark.parametrize(
    "container",
    [
        *("gz", "gz in parts", "bz2 in parts", "xz", "zst", "zst in parts and others", "zst with a checksum"),
        *("zst of unknown size", "zip deflated", "tar.gz"),
    ],
)
def test_bytes_are_the_same_wherever_one_jumps(container, tmp_path, monkeypatch):
    """Small steps, so that every way of going back and forth is taken."""
    for name, value in (
        ("STEP_BYTES", 1000),
        ("CHECKPOINT_BYTES", 5000),
        ("RECENT_BYTES", 3000),
        ("FAR_RECENT_BYTES", 6000),
        ("MAX_CHECKPOINTS", 6),
    ):
        monkeypatch.setattr(nested, name, value)
    monkeypatch.setattr(nested, "LOOK_BACK_BYTES", 2000)
    dice = random.Random(7)
    data = dice.randbytes(40_000) + bytes(60_000) + lines(3000)
    pack, member = CONTAINERS[container]
    (tmp_path / "packed").write_bytes(pack(data))
    settle()
    for _ in range(3):  # from nothing, then with what the reads before have learned
        with Workspace(tmp_path) as workspace:
            source = open_with(workspace.engine.guard, request("packed", member=member), CallContext()).source
            with source:
                for _ in range(60):
                    offset, size = dice.randrange(len(data) + 10), dice.choice((1, 10, 999, 20_000))
                    assert source.read_fully(offset, size) == data[offset : offset + size]


def test_a_late_line_is_reached_from_a_checkpoint_the_second_time(tmp_path, monkeypatch):
    data = lines(400_000, 60)
    (tmp_path / "app.log.gz").write_bytes(gzip.compress(data, 1))
    settle()
    decoded = []
    real = streams.Inflate.read
    monkeypatch.setattr(streams.Inflate, "read", lambda self, size: decoded.append(real(self, size)) or decoded[-1])

    def work():
        decoded.clear()
        found = read(tmp_path, "app.log.gz", Lines(390_000, 3))
        return text_of(found), sum(map(len, decoded))

    first, second = work(), work()

    assert first[0] == second[0] == b"".join(data.splitlines(True)[389_999:390_002])
    assert first[1] > len(data) * 0.9
    assert second[1] < 9 * MIB < len(data) / 1.5


def test_a_file_that_was_replaced_is_read_anew(tmp_path):
    path = tmp_path / "app.log.gz"
    for word in (b"one", b"two"):
        data = (word + b" line of this file\n") * 400_000
        path.write_bytes(gzip.compress(data, 1))
        settle()

        assert text_of(read(tmp_path, "app.log.gz", Lines(300_000, 1))) == word + b" line of this file\n"


def test_lines_of_the_archive_and_of_its_members_are_not_confused(tmp_path):
    data = lines(100_000)
    other = data[8:]
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("one", data)
        archive.writestr("two", other)
    settle()
    for _ in range(2):
        for member, body in (("one", data), ("two", other)):
            wanted = b"".join(body.splitlines(True)[90_000:90_002])
            assert text_of(read(tmp_path, "a.zip", Lines(90_001, 2), member)) == wanted
        raw = read(tmp_path, "a.zip", Lines(90_001, 2), text_rule="any", documents=frozenset())
        all_lines = (tmp_path / "a.zip").read_bytes().split(b"\n")
        assert text_of(raw) == b"".join(line + b"\n" for line in all_lines[90_000:90_002])


def test_the_size_is_marked_as_exact_once_the_end_was_read(tmp_path):
    data = lines(400_000)
    (tmp_path / "a.gz").write_bytes(gzip.compress(data, 1))

    start = read(tmp_path, "a.gz", Lines(1, 5)).facts
    whole = read(tmp_path, "a.gz", Lines(1, 5), total="exact").facts

    assert not start.exact
    assert (whole.exact, whole.size_bytes) == (True, len(data))


# --- who asks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["codex", "workspace", "forge", "claude"])
def test_the_four_dialects_take_a_compressed_file_for_binary_as_ever(dialect, tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"text\n" * 1000 + bytes(range(256))))
    arguments = {"file_path" if dialect in ("codex", "claude") else "path": str(tmp_path / "a.gz")}

    reply = Workspace(tmp_path).tool(dialect).call(arguments)

    assert "text" not in reply.text


def test_without_the_kind_a_compressed_file_is_what_its_bytes_are(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"text\n" + bytes(1000)))

    assert isinstance(fails(tmp_path, "a.gz", documents=frozenset()), Binary)
    assert isinstance(fails(tmp_path, "a.gz", documents=frozenset(["archive"])), Binary)


def test_a_compressed_archive_is_no_text_for_who_wants_only_compressed_files(tmp_path):
    (tmp_path / "a.tgz").write_bytes(in_tar(b"text\n", mode="w:gz"))

    assert isinstance(fails(tmp_path, "a.tgz", documents=frozenset(["compressed"])), Binary)


def test_a_plain_file_that_begins_like_a_compressed_one_is_a_plain_file(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"BZh is how bzip2 files begin\n")

    assert text_of(read(tmp_path, "a.txt")) == b"BZh is how bzip2 files begin\n"


def test_streaming_gives_the_same_lines(tmp_path):
    data = lines(30_000)
    (tmp_path / "a.zip").write_bytes(in_zip(data))
    with Workspace(tmp_path).engine.open(request("a.zip", Lines(), "member.txt"), CallContext()) as opened:
        parts = list(opened.stream())

    assert b"".join(bytes(part.data) for part in parts) == data
    assert len(parts) > 3


# --- names -----------------------------------------------------------------------------------------------------------


def names_zip(directory, *names):
    with zipfile.ZipFile(directory / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, f"this is {name!a}\n")


ODD_NAMES = [
    "../../etc/passwd",
    "/etc/shadow",
    "a:10-20",
    "with space",
    "ünï",
    "日本",
    "-n",
    "a!/b",
    "tab\there",
    "." * 200,
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_only_names(name, tmp_path):
    names_zip(tmp_path, *ODD_NAMES)
    (tmp_path / "a.tar").write_bytes(in_tar(b"in the tar\n", name))

    assert text_of(read(tmp_path, "a.zip", member=name)) == f"this is {name!a}\n".encode()
    assert text_of(read(tmp_path, "a.tar", member=name)) == b"in the tar\n"
    assert sorted(os.listdir(tmp_path)) == ["a.tar", "a.zip"]


def test_names_that_archivers_spell_differently_are_found(tmp_path):
    (tmp_path / "a.tar").write_bytes(in_tar(b"x\n", "./app/./today.log"))
    names_zip(tmp_path, "win\\style.txt")

    assert text_of(read(tmp_path, "a.tar", member="app/today.log")) == b"x\n"
    assert text_of(read(tmp_path, "a.zip", member="win/style.txt")) == b"this is 'win\\\\style.txt'\n"


def test_a_name_in_the_old_code_page_is_found_either_way(tmp_path):
    packed = in_zip(b"x\n", "grXXn.txt").replace(b"grXXn", b"gr\x81\x81n")
    (tmp_path / "a.zip").write_bytes(packed)

    assert text_of(read(tmp_path, "a.zip", member="grüün.txt")) == b"x\n"


def test_of_two_members_with_one_name_the_last_counts(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a", "old\n")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", "new\n")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for body in (b"old\n", b"new\n"):
            info = tarfile.TarInfo("a")
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    (tmp_path / "a.tar").write_bytes(packed.getvalue())

    assert text_of(read(tmp_path, "a.zip", member="a")) == text_of(read(tmp_path, "a.tar", member="a")) == b"new\n"


def test_long_names_in_every_spelling(tmp_path):
    name = "/".join(["longname" * 10] * 6) + "/näme.txt"
    for kind in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        (tmp_path / "a.tar").write_bytes(in_tar(b"x\n", name, kind=kind))

        assert text_of(read(tmp_path, "a.tar", member=name)) == b"x\n"


def test_a_missing_member_is_reported_with_what_is_near(tmp_path):
    names_zip(tmp_path, "app/today.log", "app/yesterday.log")

    error = fails(tmp_path, "a.zip", "today.log")

    assert isinstance(error, NoMember)
    assert isinstance(error, NotFound)
    assert (error.member, error.suggestions, error.path) == ("today.log", ("app/today.log",), "a.zip")
    assert "app/today.log" in str(error)


@pytest.mark.parametrize("name", ["a.txt", "a.png"])
def test_a_member_of_what_is_no_archive(name, tmp_path):
    (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n" if name.endswith("png") else b"text\n")

    error = fails(tmp_path, name, "x")

    assert isinstance(error, Unreadable)
    assert error.reason == "not a known type of archive"


def test_too_deep_is_reported(tmp_path):
    data = b"x\n"
    for _ in range(4):
        data = in_zip(data)
    (tmp_path / "a.zip").write_bytes(data)

    error = fails(tmp_path, "a.zip", "!/".join(["member.txt"] * 4))

    assert isinstance(error, Unreadable)
    assert error.reason == "more than 3 archives inside each other"


# --- rules -----------------------------------------------------------------------------------------------------------


def test_rules_hold_for_members_too(tmp_path):
    names_zip(tmp_path, "app/.env", "id_rsa", "app/readme")
    (tmp_path / "b.tar").write_bytes(in_tar(b"x\n", "./keys/server.pem"))
    outer = in_zip((tmp_path / "a.zip").read_bytes(), "inner.zip")
    (tmp_path / "c.zip").write_bytes(outer)

    for path, member in (("a.zip", "app/.env"), ("a.zip", "id_rsa"), ("b.tar", "keys/server.pem")):
        assert isinstance(fails(tmp_path, path, member), PolicyDenied)
    assert isinstance(fails(tmp_path, "c.zip", "inner.zip!/app/.env"), PolicyDenied)
    listed = [member["name"] for member in read(tmp_path, "a.zip").extra["members"]]
    assert listed == ["app/readme"]
    assert "app/.env" not in fails(tmp_path, "a.zip", "app/env").suggestions


def test_a_hard_link_does_not_get_around_a_rule(tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo(".env")
        info.size = 7
        archive.addfile(info, io.BytesIO(b"secret\n"))
        link = tarfile.TarInfo("innocent")
        link.type, link.linkname = tarfile.LNKTYPE, ".env"
        archive.addfile(link)
    (tmp_path / "a.tar").write_bytes(packed.getvalue())

    assert isinstance(fails(tmp_path, "a.tar", "innocent"), PolicyDenied)


# --- links, directories and other things ----------------------------------------------------------------------------


@pytest.fixture
def things(tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, kind, target in (
            ("dir", tarfile.DIRTYPE, ""),
            ("dir/file", tarfile.REGTYPE, ""),
            ("hard", tarfile.LNKTYPE, "dir/file"),
            ("harder", tarfile.LNKTYPE, "hard"),
            ("lost", tarfile.LNKTYPE, "nowhere"),
            ("self", tarfile.LNKTYPE, "self"),
            ("soft", tarfile.SYMTYPE, "/etc/passwd"),
            ("pipe", tarfile.FIFOTYPE, ""),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            info.size = 5 if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(b"text\n"))
    (tmp_path / "a.tar").write_bytes(packed.getvalue())
    return tmp_path


def test_hard_links_lead_to_their_member(things):
    assert text_of(read(things, "a.tar", member="hard")) == b"text\n"
    assert text_of(read(things, "a.tar", member="harder")) == b"text\n"
    assert "missing member" in fails(things, "a.tar", "lost").reason
    assert isinstance(fails(things, "a.tar", "self"), Unreadable)


def test_symbolic_links_are_not_followed(things):
    assert "'/etc/passwd'" in fails(things, "a.tar", "soft").reason
    info = zipfile.ZipInfo("soft")
    info.create_system, info.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(things / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")

    assert "symbolic link" in fails(things, "a.zip", "soft").reason


def test_other_things_are_no_files(things):
    assert isinstance(fails(things, "a.tar", "pipe"), NotRegular)


def test_a_listing_shows_every_member(things):
    found = read(things, "a.tar")

    assert found.kind == "archive"
    assert found.extra["total_members"] == 8
    assert found.parts[0].text.splitlines()[:4] == [
        "tar archive, 8 members",
        "             dir/",
        "           5 dir/file",
        "             hard -> dir/file",
    ]


@pytest.mark.parametrize("name", ["dir", "dir/", "./dir"])
def test_a_directory_is_listed(name, things):
    found = read(things, "a.tar", member=name)

    assert [member["name"] for member in found.extra["members"]] == ["dir/file"]


def test_a_listing_has_an_end_and_says_so(tmp_path):
    names_zip(tmp_path, *[f"file{n}" for n in range(1500)])

    found = read(tmp_path, "a.zip")

    assert (found.extra["total_members"], len(found.extra["members"]), found.extra["truncated"]) == (1500, 1000, True)
    assert found.parts[0].text.endswith("... 500 more members")


def test_names_in_a_listing_stay_on_their_lines(tmp_path):
    names_zip(tmp_path, "a\nb", "c\u202ed", "e" * 400)

    shown = read(tmp_path, "a.zip").parts[0].text.split("\n")

    assert len(shown) == 4
    assert all(line.isprintable() and len(line) < 330 for line in shown)


def test_an_empty_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w"):
        pass

    assert read(tmp_path, "a.zip").extra["total_members"] == 0
    assert isinstance(fails(tmp_path, "a.zip", "x"), NoMember)


# --- documents inside ------------------------------------------------------------------------------------------------


def test_a_picture_in_an_archive_is_shown(tmp_path):
    from PIL import Image

    picture = io.BytesIO()
    Image.new("RGB", (20, 10), "red").save(picture, "PNG")
    (tmp_path / "a.zip").write_bytes(in_zip(picture.getvalue(), "red.png"))

    found = read(tmp_path, "a.zip", member="red.png", documents=DOCUMENTS | {"image"})

    assert found.parts[0].data == picture.getvalue()


def test_a_document_in_an_archive_has_a_largest_size(tmp_path, monkeypatch):
    monkeypatch.setattr(nested, "MAX_SPOOL_BYTES", 1000)
    (tmp_path / "a.zip").write_bytes(in_zip(b"\x89PNG\r\n\x1a\n" + bytes(2000), "red.png"))

    error = fails(tmp_path, "a.zip", "red.png", documents=DOCUMENTS | {"image"})

    assert isinstance(error, Unreadable)
    assert "larger" in error.reason


# --- hostile and damaged ---------------------------------------------------------------------------------------------


def test_an_encrypted_member_is_reported(tmp_path):
    packed = bytearray(in_zip(b"text\n" * 100))
    for magic, at in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        place = packed.find(magic)
        while place >= 0:
            packed[place + at] |= 1
            place = packed.find(magic, place + 1)
    (tmp_path / "a.zip").write_bytes(packed)

    assert fails(tmp_path, "a.zip", "member.txt").reason == "the member is encrypted"
    assert "(encrypted)" in read(tmp_path, "a.zip").parts[0].text


def test_an_unknown_method_is_reported(tmp_path):
    packed = in_zip(b"text\n" * 100).replace(b"\x08\0", b"\x09\0")
    (tmp_path / "a.zip").write_bytes(packed)

    assert "deflate64" in fails(tmp_path, "a.zip", "member.txt").reason


def test_zstd_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "a.zst").write_bytes(zstd(b"text\n"))

    error = fails(tmp_path, "a.zst")

    assert isinstance(error, Missing)
    assert "eyespan[archives]" in error.install


@functools.cache
def zeros(size):
    """So many MiB of zeros as a bare deflate stream, made from a few of them."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(32 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (size // 32) + zlib.compressobj(9, wbits=-15).flush()


def zip_of(packed, size, checksum=0, name=b"bomb"):
    """A zip whose only member is this raw deflate stream."""
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 45, 0, 8, 0, 0, checksum, 0xFFFFFFFF, 0xFFFFFFFF, len(name), 20)
    large = struct.pack("<2H2Q", 1, 16, size, len(packed))
    central = struct.pack(
        *("<4s6H3L5H2L", b"PK\1\2", 45, 45, 0, 8, 0, 0, checksum, 0xFFFFFFFF, 0xFFFFFFFF, len(name), 20, 0, 0, 0, 0, 0)
    )
    directory = central + name + large
    start = len(local) + len(name) + len(large) + len(packed)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(directory), start, 0)
    return local + name + large + packed + directory + end


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.fixture
def free_mib(monkeypatch):
    """Return the output in MiB that is allowed at any ratio, which is less in the short form."""
    monkeypatch.setattr(nested, "FREE_BYTES", size(short=8 * MIB, long=nested.FREE_BYTES))
    return nested.FREE_BYTES // MIB


@pytest.mark.parametrize("selection", [Tail(5), Lines(1_000_000, 5), Lines(1, 3)])
def test_ten_gigabytes_of_nothing_are_refused(selection, free_mib, tmp_path):
    bomb = zeros(10 * 1024)
    (tmp_path / "a.gz").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\3" + bomb + bytes(8))
    (tmp_path / "a.zip").write_bytes(zip_of(bomb, 10 * 1024 * MIB))
    before = peak_bytes()
    limits = Limits(max_line_bytes=8000)
    for path, member in (("a.gz", ""), ("a.zip", "bomb")):
        error = fails(tmp_path, path, member, selection, text_rule="any", limits=limits, total="exact")

        assert isinstance(error, Unreadable)
        assert "decompression bomb" in error.reason
    assert peak_bytes() - before < 32 * MIB


def test_a_small_file_of_zeros_is_no_bomb(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(3 * MIB)))

    found = read(tmp_path, "a.gz", text_rule="any")

    assert text_of(found) == bytes(3 * MIB)


def quick_xz(data):
    return lzma.compress(data, preset=0)


@pytest.mark.parametrize("pack", [quick_xz, bz2.compress, zstd])
def test_the_sharper_bombs_of_other_formats(pack, free_mib, tmp_path):
    once = pack(bytes((free_mib + 16) * MIB))
    (tmp_path / "a").write_bytes(once)
    before = peak_bytes()

    error = fails(tmp_path, "a", selection=Tail(1), text_rule="any", limits=Limits(max_line_bytes=8000))

    assert isinstance(error, Unreadable)
    assert peak_bytes() - before < 48 * MIB


def test_what_lies_too_far_is_not_looked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(nested, "MAX_DECODED_BYTES", MIB)
    (tmp_path / "a.gz").write_bytes(gzip.compress(lines(100_000), 1))

    assert text_of(read(tmp_path, "a.gz", Lines(1, 1), total="no")) == lines(1)
    assert isinstance(fails(tmp_path, "a.gz", selection=Lines(95_000, 1)), ScanLimit)


def test_limits_of_the_request_hold(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(lines(100_000), 1))

    assert isinstance(fails(tmp_path, "a.gz", limits=Limits(max_window_bytes=MIB)), WindowTooLarge)
    limits = Limits(max_scan_bytes=100_000)
    assert isinstance(fails(tmp_path, "a.gz", selection=Lines(75_000, 1), limits=limits), ScanLimit)


def test_decoding_can_be_stopped(tmp_path):
    (tmp_path / "a.tgz").write_bytes(in_tar(lines(size(short=50_000, long=500_000)), mode="w:gz"))
    with Workspace(tmp_path) as workspace:
        with pytest.raises(TimedOut):
            workspace.engine.read(request("a.tgz", Tail(1), "member.txt"), CallContext(0))
        context = CallContext()
        context.cancelled = True
        with pytest.raises(Cancelled):
            workspace.engine.read(request("a.tgz"), context)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
def test_padding_without_end_ends_with_the_deadline(tmp_path, pack):
    packed = tmp_path / "a.packed"
    packed.write_bytes(pack(lines(10)))
    os.truncate(packed, 1 << 40)  # zeros after the last part, in a file that takes no room
    with Workspace(tmp_path) as workspace, pytest.raises(TimedOut):
        workspace.engine.read(request("a.packed", Tail(1)), CallContext(0.2))


def test_a_directory_of_too_many_members_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(members, "MAX_MEMBERS", 2)
    (tmp_path / "a.zip").write_bytes(in_zip(b"x\n"))
    (tmp_path / "a.tar").write_bytes(in_tar(b"x\n"))

    for path in ("a.zip", "a.tar"):
        assert read(tmp_path, path).extra["complaint"] == "it has more than 2 members"
        assert text_of(read(tmp_path, path, member="member.txt")) == b"x\n"
        assert isinstance(fails(tmp_path, path, "after.txt"), Unreadable)


def tar_header(name, kind, size=0):
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.USTAR_FORMAT)


def padded(body):
    return body + bytes(-len(body) % 512)


WIDE = "\U0001f600" + "a" * size(short=20_000, long=100_000)
"""A name that takes four bytes a character in memory, and little more than one in the archive."""


def tar_of_wide_names(count):
    body = WIDE.encode() + b"\0"
    one = tar_header("long", b"L", len(body)) + padded(body) + tar_header("x", b"0")
    return one * count + bytes(1024)


def tar_of_wide_targets(count):
    body = WIDE.encode() + b"\0"
    one = tar_header("long", b"K", len(body)) + padded(body) + tar_header("x", b"2")
    return one * count + bytes(1024)


def tar_of_wide_pax_names(count):
    line = f"path={WIDE}\n".encode()
    body = b"%d " % (len(line) + len(str(len(line))) + 1) + line
    one = tar_header("pax", b"x", len(body)) + padded(body) + tar_header("x", b"0")
    return one * count + bytes(1024)


def zip_of_wide_names(count):
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        for number in range(count):
            archive.writestr(f"{number:05}" + WIDE[:5_000], b"")
    return found.getvalue()


def grown_bytes(work):
    """The most memory that Python's objects took at once, above the start."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("pack", "count"),
    [
        (tar_of_wide_names, 100),
        (tar_of_wide_targets, 100),
        (tar_of_wide_pax_names, 100),
        (zip_of_wide_names, size(short=100, long=1600)),
    ],
)
def test_names_take_a_bounded_amount_of_memory(pack, count, tmp_path, monkeypatch):
    most_bytes = size(short=MIB // 4, long=members.MAX_NAME_BYTES)
    monkeypatch.setattr(members, "MAX_NAME_BYTES", most_bytes)
    (tmp_path / "a").write_bytes(pack(count))
    found = []

    grown = grown_bytes(lambda: found.append(read(tmp_path, "a").extra))

    assert found[0]["complaint"] == members.TOO_MANY_NAMES == "the names of its members take more than 8 MiB"
    assert 0 < found[0]["total_members"] < count
    assert grown < size(short=2 * MIB, long=24 * MIB)


def test_global_headers_take_a_bounded_amount_of_memory(tmp_path):
    with (tmp_path / "a.tar").open("wb") as file:
        for number in range(size(short=4, long=8)):
            body = b"".join([b"24 %08x=aaaaaaaaaaa\n" % (number << 20 | key) for key in range(10_000)])
            file.write(tar_header("global", b"g", len(body)) + padded(body))
        file.write(in_tar(b"x\n"))

    grown = grown_bytes(lambda: read(tmp_path, "a.tar"))

    assert text_of(read(tmp_path, "a.tar", member="member.txt")) == b"x\n"
    assert grown < 4 * MIB


def test_the_cache_counts_the_bytes_of_names(tmp_path):
    settled = [tmp_path / f"{number}.tar" for number in range(8)]
    for path in settled:
        path.write_bytes(tar_of_wide_names(1))
    settle()

    for path in settled:
        read(tmp_path, path.name)

    kept = sum(each.name_bytes for each in source_cache._contents.values())
    assert 0 < kept <= source_cache.MAX_CONTENTS_BYTES


def test_a_huge_header_is_not_taken_in(tmp_path):
    size = members.MAX_HEADER_BYTES + 512
    packed = in_tar(bytes(size))
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, size
    (tmp_path / "a.tar").write_bytes(info.tobuf() + bytes(size) + packed)

    assert fails(tmp_path, "a.tar", "member.txt").reason == "it has a header larger than 1 MiB"


def test_headers_without_end_are_not_parsed_to_their_end(tmp_path, monkeypatch):
    monkeypatch.setattr(tars, "MAX_EXTENSION_BYTES", 2048)
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XGLTYPE, 512
    header = info.tobuf() + b"13 comment=x\n".ljust(512, b"\0")
    (tmp_path / "many.tar").write_bytes(header * 5 + in_tar(b"x\n"))
    (tmp_path / "some.tar").write_bytes(header * 4 + in_tar(b"x\n"))

    assert fails(tmp_path, "many.tar", "member.txt").reason == "the headers of a member are larger than 4 MiB"
    assert read(tmp_path, "some.tar", ALL, "member.txt") is not None


def test_a_directory_that_claims_to_be_huge(tmp_path):
    packed = bytearray(in_zip(b"x\n"))
    end = packed.rfind(b"PK\5\6")
    packed[end + 12 : end + 16] = struct.pack("<L", 0x7FFFFFFF)
    (tmp_path / "a.zip").write_bytes(packed)

    assert isinstance(fails(tmp_path, "a.zip", "member.txt"), Unreadable)


@pytest.mark.parametrize("name", ["gz", "bz2", "xz", "zst", "zip deflated", "tar.gz"])
def test_what_ends_too_early_is_not_taken_for_the_whole(name, tmp_path):
    pack, member = CONTAINERS[name]
    packed = pack(random.Random(3).randbytes(100_000).hex().encode())
    (tmp_path / "a").write_bytes(packed[: len(packed) // 2])

    error = fails(tmp_path, "a", member, Tail(1))

    assert isinstance(error, Unreadable)


def test_a_wrong_checksum_is_reported(tmp_path):
    packed = bytearray(in_zip(b"a text\n" * 9, method=zipfile.ZIP_DEFLATED))
    for magic, at in ((b"PK\1\2", 16), (b"PK\3\4", 14)):
        place = packed.find(magic, packed.find(magic) + 1)
        packed[place + at] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(packed)

    assert fails(tmp_path, "a.zip", "member.txt").reason == "wrong checksum"


def test_a_member_under_another_name_than_the_directory_says(tmp_path):
    packed = in_zip(b"x\n").replace(b"member.txt", b"rebmem.txt", 1)
    (tmp_path / "a.zip").write_bytes(packed)

    assert "another name" in fails(tmp_path, "a.zip", "member.txt").reason


def test_a_damaged_end_does_not_hide_what_comes_before_it(tmp_path):
    packed = in_tar(b"text\n", mode="w")
    (tmp_path / "a.tar").write_bytes(packed[:2048] + b"garbage" * 100)

    assert text_of(read(tmp_path, "a.tar", member="before.txt")) == b"other\n" * 100
    assert isinstance(fails(tmp_path, "a.tar", "after.txt"), Unreadable)
    assert "cannot be listed to its end" in read(tmp_path, "a.tar").parts[0].text


def test_a_sparse_member_is_reported(tmp_path):
    info = tarfile.TarInfo("holes")
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 512
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    (tmp_path / "a.tar").write_bytes(bytes(header) + bytes(512) + in_tar(b"x\n"))

    assert "sparse" in fails(tmp_path, "a.tar", "holes").reason
    assert text_of(read(tmp_path, "a.tar", member="member.txt")) == b"x\n"


def outcome(directory, selection, member):
    try:
        read(directory, "a", selection, member, text_rule="any")
    except ReadError as error:
        return error.code if str(error) else "no words"
    return "read"


@pytest.mark.parametrize("name", sorted(CONTAINERS))
def test_damage_never_does_more_than_fail(name, tmp_path):
    pack, member = CONTAINERS[name]
    data = lines(300)
    packed = pack(data)
    dice = random.Random(f"damage {name}")
    seen = set()
    for _ in range(size(short=20, long=200)):
        damaged = bytearray(packed)
        for _ in range(dice.choice((1, 1, 2, 8))):
            at = dice.randrange(len(damaged))
            match dice.randrange(4):
                case 0:
                    damaged[at] ^= 1 << dice.randrange(8)
                case 1:
                    del damaged[at : at + dice.choice((1, 7, 600))]
                case 2:
                    damaged[at:at] = dice.randbytes(dice.choice((1, 7, 600)))
                case 3:
                    damaged[at : at + 4] = dice.choice((b"\xff" * 4, bytes(4), b"\x7f\xff\xff\xff"))
            if not damaged:
                damaged = bytearray(b"x")
        (tmp_path / "a").write_bytes(damaged)
        for selection, inner in ((Lines(), member), (Tail(3), member), (Lines(), "")):
            seen.add(outcome(tmp_path, selection, inner))
    assert "unreadable" in seen
    assert not seen & {"internal", "no words"}


def test_a_window_beyond_what_a_codec_may_hold_is_reported_with_a_way_out(tmp_path):
    wide = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 96 * MIB}]
    with lzma.open(tmp_path / "a.xz", "wb", filters=wide) as file:
        file.write(b"a line\n")

    error = fails(tmp_path, "a.xz")

    assert "takes more than 72 MiB of memory; unpack it and read the unpacked file" in str(vars(error))


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pack", "most_bytes"),
    [
        pytest.param(gzip.compress, 2 * MIB, id="gz"),
        pytest.param(bz2.compress, 9 * MIB, id="bz2"),
        pytest.param(lambda data: lzma.compress(data, preset=0), 5 * MIB, id="xz -0"),
        pytest.param(lambda data: lzma.compress(data, preset=6), 13 * MIB, id="xz -6"),
        pytest.param(zstd, 8 * MIB, id="zst"),
    ],
)
def test_a_call_pays_for_the_codec_and_what_it_holds(tmp_path, pack, most_bytes):
    (tmp_path / "a").write_bytes(pack(bytes(20 * MIB)))
    call = CallContext()
    with Workspace(tmp_path) as workspace:
        source = open_with(workspace.engine.guard, request("a"), call).source
        with source:
            while source.read_at(source._reached, MIB):
                pass
            held = len(source._recent) + source._stream.codec_bytes(0)
            charged = call.memory.charged_bytes
        after = call.memory.charged_bytes
    call.finish()

    assert source.size_bytes == 20 * MIB
    assert (held <= charged <= most_bytes, after) == (True, 0)


@functools.cache
def with_a_large_dictionary():
    """Return 13 MiB of lines, whose end takes more memory than the 12 MiB of `small_ledger`."""
    chain = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 16 * MIB}]
    return lzma.compress(b"a line\n" * (13 * MIB // 7), filters=chain)


def small_ledger():
    return Ledger(max_bytes=12 * MIB)


def test_a_codec_that_holds_more_than_a_call_may_take_is_too_large(tmp_path):
    """Its beginning can be read: the dictionary grows with what was decoded."""
    (tmp_path / "a.xz").write_bytes(with_a_large_dictionary())
    late = Lines(13 * MIB // 7, 1)

    with Workspace(tmp_path) as workspace:
        early = workspace.engine.read(request("a.xz", Lines(1000, 1)), CallContext(ledger=small_ledger()))
        with pytest.raises(TooMuchMemory):
            workspace.engine.read(request("a.xz", late), CallContext(ledger=small_ledger()))

    assert text_of(early) == b"a line\n"


@pytest.mark.parametrize("pack", [bz2.compress, quick_xz, zstd])
def test_a_codec_is_free_once_its_stream_is_closed(tmp_path, pack):
    """A cycle would hold its window until garbage is collected, and each step back opens another stream."""
    (tmp_path / "a").write_bytes(pack(b"text\n" * 1000))
    gc.disable()
    try:
        with Workspace(tmp_path) as workspace:
            engine = workspace.engine
            with open_with(engine.guard, request("a"), CallContext()).source as source:
                source.read_at(0, 10)
                codec = source._stream._make()
                decoder = getattr(codec, "_decoder", codec)
                codec.decompress(pack(b"text\n")[:10], 0)
                del codec
                references = sys.getrefcount(decoder)
    finally:
        gc.enable()

    assert references == 2  # the variable and the argument of the call


class Passes(tuple):
    """Members that count how often they are gone through."""

    count = 0

    def __iter__(self):
        Passes.count += 1
        return super().__iter__()


@pytest.mark.parametrize(
    ("member", "found"),
    [
        ("a!/b.zip", ("a!/b.zip", "")),
        ("a!/b.zip!/c!/d", ("a!/b.zip", "c!/d")),
        ("./a!/b.zip!/", ("a!/b.zip", "/")),
        ("d!/x", None),
        ("x!/" * 4000, None),
        ("a" + "!/x" * 4000, None),
    ],
)
def test_a_name_is_split_in_one_pass_over_the_members(member, found):
    entries = Passes(
        [MemberEntry(name, what, 0, 0) for name, what in (("a", FILE), ("a!/b.zip", FILE), ("d", DIRECTORY))]
    )
    Passes.count = 0

    split = split_member(member, Contents("zip", entries))

    assert (split and (split[0].name, split[1]), Passes.count) == (found, 1)


def test_a_long_name_is_compared_with_few_of_the_similar_ones(tmp_path, monkeypatch):
    names = ["".join(random.Random(number).choices("ab", k=190)) for number in range(500)]
    names_zip(tmp_path, *names)
    compared = []
    ratio = difflib.SequenceMatcher.ratio
    monkeypatch.setattr(difflib.SequenceMatcher, "ratio", lambda self: compared.append(1) or ratio(self))

    error = fails(tmp_path, "a.zip", "ab" * 95)

    assert isinstance(error, NoMember)
    assert 0 < len(compared) < 150


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_791, 65_792, 270_000])
@pytest.mark.parametrize("step", [1, 7, 5000])
def test_zstd_is_decoded_in_small_steps(size, step):
    data = random.Random(size).randbytes(size // 2) + bytes(size - size // 2)
    packed = zstandard.ZstdCompressor(level=1).compress(data) + b"the rest"
    codec = streams._Zstd(zstandard)
    found = b""
    at = 0
    while not codec.eof:
        piece = b""
        if codec.needs_input:
            piece = packed[at : at + step]
            at += step
            assert piece
        more = codec.decompress(piece, 3000)
        found += more
        assert len(more) <= 3000

    assert codec.window_bytes(packed[:18]) >= size
    assert found == data
    assert codec.unused_data + packed[at:] == b"the rest"


def test_blocks_of_zstd_that_repeat_a_byte_are_not_decoded_at_once():
    block = ((128 * 1024) << 3 | 1 << 1).to_bytes(3, "little") + b"x"
    packed = b"\x28\xb5\x2f\xfd\x00\x38" + block * 1000
    codec = streams._Zstd(zstandard)

    assert codec.decompress(packed, 10) == b"x" * 10
    assert len(codec._output) < streams._Zstd.MAX_OUTPUT_BYTES


@pytest.mark.parametrize("preset", range(10))
def test_the_dictionary_of_xz_is_known_before_it_is_decoded(preset):
    sizes = [1 << bits for bits in (18, 20, 21, 22, 22, 23, 23, 24, 25, 26)]
    filters = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": preset}]

    assert streams._xz_dictionary_bytes(lzma.compress(b"text", preset=preset)) == sizes[preset]
    assert streams._xz_dictionary_bytes(lzma.compress(b"text", filters=filters)) == sizes[preset]
    assert streams._xz_dictionary_bytes(lzma.compress(b"")) == 0


def test_an_error_frees_the_codec(tmp_path):
    """The frames of a traceback hold it, and the collector counts objects, not bytes."""
    (tmp_path / "a.xz").write_bytes(with_a_large_dictionary())
    made = []
    real = streams.XzStream.__init__

    def note(self, *arguments):
        real(self, *arguments)
        made.append(weakref.ref(self))

    with pytest.MonkeyPatch.context() as patch, Workspace(tmp_path) as workspace:
        patch.setattr(streams.XzStream, "__init__", note)
        gc.collect()
        gc.disable()
        try:
            reply = workspace.tool("native").call({"files": "a.xz:-3"}, context=CallContext(ledger=small_ledger()))
            alive = [one for one in made if one() is not None]
        finally:
            gc.enable()

    assert "because it is compressed with a dictionary of 16 MiB" in reply.text
    assert (bool(made), alive) == (True, [])


def test_a_closed_source_frees_its_codec_even_if_an_error_holds_the_stream(tmp_path):
    (tmp_path / "a").write_bytes(lzma.compress(bytes(MIB)))
    call = CallContext()
    with Workspace(tmp_path) as workspace:
        source = open_with(workspace.engine.guard, request("a"), call).source
        with source:
            source.read_at(0, 1000)
            stream = source._stream
            had_codec = stream._codec is not None
    call.finish()

    assert (had_codec, stream._codec) == (True, None)


def test_going_back_frees_the_codec_before_another_is_made(tmp_path):
    (tmp_path / "a").write_bytes(lzma.compress(bytes(6 * MIB)))
    call = CallContext()
    with Workspace(tmp_path) as workspace:
        source = open_with(workspace.engine.guard, request("a"), call).source
        with source:
            source.read_at(5 * MIB, 1000)
            stream = source._stream
            had_codec = stream._codec is not None
            source.read_at(0, 1000)
            has_codec = source._stream._codec is not None
    call.finish()

    assert (had_codec, stream._codec, has_codec) == (True, None, True)


def test_a_dictionary_that_takes_too_much_memory_is_named_as_the_cause(tmp_path):
    ledger = small_ledger()
    (tmp_path / "a.log.xz").write_bytes(with_a_large_dictionary())
    tool = Workspace(str(tmp_path)).tool("native")

    assert "a line\n" in tool.call({"files": "a.log.xz:1-5"}, context=CallContext(ledger=ledger)).text + "\n"
    refused = tool.call({"files": "a.log.xz:-1"}, context=CallContext(ledger=ledger))
    assert refused.error.code == "too_large"
    assert refused.text == (
        ">! a.log.xz:-1: reading so far into it takes more than 12 MiB of memory, because it is compressed with a "
        "dictionary of 16 MiB; unpack it and read the unpacked file"
    )


@pytest.mark.parametrize("name", ["n/" * 5000 + "x", "n" * 600_000])
def test_a_name_that_no_file_can_have_ends_the_list_of_members(tmp_path, name):
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.GNU_FORMAT) as archive:
        for member in ("first.txt", name, "last.txt"):
            archive.addfile(tarfile.TarInfo(member))

    text = Workspace(str(tmp_path)).tool("native").call({"files": "a.tar"}).text

    assert [line.strip() for line in text.split("\n")[1:]] == [
        "1\ttar archive, 1 member",
        "0 first.txt",
        f"... the archive cannot be listed to its end: {TOO_LONG_NAME}",
    ]
