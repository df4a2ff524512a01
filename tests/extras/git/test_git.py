"""Files of the past: what git itself shows of a revision, read without git."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import subprocess
import tracemalloc
import zlib

import pytest

from eyespan import Policy, Workspace
from eyespan.context import CallContext
from eyespan.errors import (
    Binary,
    Cancelled,
    NoRevision,
    NotFound,
    NotRegular,
    OutsideRoot,
    PolicyDenied,
    ReadError,
    TimedOut,
    Unreadable,
)
from eyespan.extras.git import packs
from eyespan.extras.git.at_revision import open_at
from eyespan.guard import Guard
from eyespan.model import Lines, ReadRequest, Tail
from tests.sizes import size

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="repositories are made with git")

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
    **{
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "a"), ("EMAIL", "a@b"))
    },
    **{f"GIT_{who}_DATE": "1700000000 +0000" for who in ("AUTHOR", "COMMITTER")},
}


def git(directory, *words, data=None):
    done = subprocess.run(["git", *words], cwd=directory, env=ENVIRONMENT, input=data, capture_output=True, check=True)
    return done.stdout


def read(directory, path, revision, selection=None, *, policy=None, roots=None, **more):
    with Workspace(*(roots or [directory]), policy=policy) as workspace:
        request = ReadRequest(path, selection or Lines(), revision=revision, **more)
        return workspace.engine.read(request)


def shown(directory, path, revision, **more):
    (part,) = read(directory, path, revision, **more).parts
    return bytes(part.data)


def fails(directory, path, revision, **more):
    with pytest.raises(ReadError) as caught:
        read(directory, path, revision, **more)
    return caught.value


def body(number):
    """A text that changes little from one number to the next, so that packs keep differences."""
    rows = [f"line {n}: {n * 7919 % 1000}\n" for n in range(1, 800)]
    for row in range(0, number * 13 % 800, 40):
        rows[row] = f"changed in version {number}\n"
    return "".join(rows)


@pytest.fixture(scope="module", params=["loose", "packed", "sha256"])
def repository(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp(request.param)
    git(directory, "init", "-q", "-b", "main", *(["--object-format=sha256"] if request.param == "sha256" else []))
    (directory / "src").mkdir()
    for number in range(12):
        (directory / "src" / "a.txt").write_text(body(number))
        (directory / "same.txt").write_text("always the same\n")
        if number == 5:
            (directory / "late.txt").write_text("from five on\n")
        git(directory, "add", ".")
        git(directory, "commit", "-q", "-m", f"version {number}")
        if number == 3:
            git(directory, "tag", "v3")
            git(directory, "tag", "-a", "-m", "with words", "note3")
            git(directory, "tag", "-a", "-m", "a tag of a tag", "twice3", "note3")
    git(directory, "branch", "side/way", "HEAD~4")
    git(directory, "checkout", "-q", "side/way")
    (directory / "same.txt").write_text("on the side\n")
    git(directory, "commit", "-q", "-am", "side")
    git(directory, "checkout", "-q", "main")
    git(directory, "merge", "-q", "--no-edit", "side/way")
    if request.param != "loose":
        git(directory, "gc", "-q", "--aggressive", "--prune=now")
        git(directory, "pack-refs", "--all")
    (directory / "src" / "a.txt").write_text("not yet committed\n")
    return directory


REVISIONS = [
    *("HEAD", "@", "main", "refs/heads/main", "heads/main", "side/way", "v3", "note3", "twice3", "tags/v3"),
    *("HEAD~1", "HEAD~5", "HEAD~~", "HEAD^", "HEAD^2", "HEAD^2~1", "HEAD^1~2^", "v3~2", "note3^{}", "note3^{commit}~1"),
    *("HEAD^0", "HEAD~0", "@~3"),
]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("path", ["src/a.txt", "same.txt"])
def test_what_git_shows_is_what_is_read(path, revision, repository):
    assert shown(repository, path, revision) == git(repository, "show", f"{revision}:{path}")


def test_a_file_of_the_past_is_charged_until_it_is_closed(repository):
    """What was read to find it is free at once, and buffers are after `drop_buffers`."""
    call = CallContext()
    request = ReadRequest("src/a.txt", revision="HEAD~5")
    with Workspace(repository) as workspace, workspace.engine.open(request, call) as opened:
        first_bytes = opened.source.read_fully(0, 1000)
        charged_bytes, refundable_bytes = call.memory.charged_bytes, call.memory.loan_start()
        opened.source.drop_buffers()
        kept_bytes = call.memory.charged_bytes
        again = opened.source.read_fully(0, 1000)
    closed_bytes = call.memory.charged_bytes
    call.finish()

    assert first_bytes == again == git(repository, "show", "HEAD~5:src/a.txt")[:1000]
    assert charged_bytes > 1000
    assert kept_bytes <= len(body(0)) + 1000
    assert (refundable_bytes, closed_bytes) == (0, 0)


def test_every_commit_by_its_hash_full_and_short(repository):
    for commit in git(repository, "rev-list", "--all").decode().split():
        wanted = git(repository, "show", f"{commit}:src/a.txt")

        assert shown(repository, "src/a.txt", commit) == wanted
        assert shown(repository, "src/a.txt", commit[:12]) == wanted
        assert shown(repository, "src/a.txt", commit[:12].upper()) == wanted


def test_windows_are_those_of_the_text_then(repository):
    lines = git(repository, "show", "v3:src/a.txt").splitlines(True)

    assert shown(repository, "src/a.txt", "v3", selection=Lines(100, 5)) == b"".join(lines[99:104])
    found = read(repository, "src/a.txt", "v3", Tail(3))
    assert (bytes(found.parts[0].data), found.parts[0].first_line) == (b"".join(lines[-3:]), len(lines) - 2)
    assert (found.facts.path, found.facts.size_bytes) == ("src/a.txt@v3", sum(map(len, lines)))


def test_a_file_that_is_gone_from_the_disk_is_still_in_the_past(repository, tmp_path):
    shutil.copytree(repository / ".git", tmp_path / ".git")

    assert shown(tmp_path, "same.txt", "v3") == b"always the same\n"
    assert shown(tmp_path, "src/a.txt", "v3") == body(3).encode()


@pytest.mark.parametrize("revision", ["HEAD", "v3", "twice3", "HEAD^2~1", "nowhere"])
def test_each_file_of_the_repository_is_opened_once(revision, repository, monkeypatch):
    opened = []
    really_open = Guard.open
    monkeypatch.setattr(
        Guard, "open", lambda self, path, **more: opened.append(path) or really_open(self, path, **more)
    )
    request = ReadRequest("src/a.txt", Lines(), revision=revision)
    with Workspace(repository) as workspace, contextlib.suppress(NoRevision):
        open_at(workspace.engine.guard, request, CallContext()).close()

    assert sorted(opened) == sorted(set(opened))
    assert any(path.endswith("/HEAD") for path in opened)


@pytest.mark.parametrize(
    ("path", "revision", "words"),
    [
        ("src/a.txt", "nowhere", "no revision 'nowhere'"),
        ("src/a.txt", "deadbeef", "no revision"),
        ("src/a.txt", "HEAD~99", "goes back too far"),
        ("src/a.txt", "HEAD^3", "goes back too far"),
        ("src/a.txt", "HEAD@{1}", "no revision"),
        ("src/a.txt", "HEAD^{tree}", "no revision"),
        ("src/a.txt", "HEAD~x", "no revision"),
        ("src/a.txt", "../../etc/passwd", "no revision"),
        ("src/a.txt", "..", "no revision"),
        ("src/a.txt", "config", "no revision"),
        ("late.txt", "v3", "does not exist in revision 'v3'"),
        ("same.txt/x", "v3", "does not exist"),
        ("nothing.txt", "v3", "does not exist"),
    ],
)
def test_what_is_not_there_is_reported(path, revision, words, repository):
    error = fails(repository, path, revision)

    assert isinstance(error, NoRevision)
    assert isinstance(error, NotFound)
    assert words in str(error)
    assert (error.path, error.revision) == (path, revision)


def test_a_tree_or_a_file_is_no_revision(repository):
    tree = git(repository, "rev-parse", "HEAD^{tree}").decode().strip()

    assert "is a tree" in str(fails(repository, "same.txt", tree))
    assert isinstance(fails(repository, "same.txt", tree[:12]), NoRevision)


def test_directories_are_no_files(repository):
    assert isinstance(fails(repository, "src", "HEAD"), NotRegular)
    assert isinstance(fails(repository, ".", "HEAD"), NotRegular)


def test_an_ambiguous_hash_is_reported(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    seen = {}
    number = 0
    while True:
        message = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\n%d\n" % number
        digest = hashlib.sha1(b"commit %d\0" % len(message) + message).hexdigest()
        number += 1
        if digest[:4] in seen:
            break
        seen[digest[:4]] = message
    for one in (message, seen[digest[:4]]):
        git(tmp_path, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", data=one)

    assert "beginning of 2 commits" in str(fails(tmp_path, "a", digest[:4]))


# --- where the repository is -----------------------------------------------------------------------------------------


def test_a_repository_in_a_directory_of_the_root(repository):
    path = f"{repository.name}/src/a.txt"

    assert shown(repository.parent, path, "v3") == body(3).encode()
    assert shown(repository.parent, str(repository / "src" / "a.txt"), "v3") == body(3).encode()
    assert shown(repository.parent, f"{repository.name}/src/../src/./a.txt", "v3") == body(3).encode()


def test_no_repository_is_reported(tmp_path):
    (tmp_path / "a").write_text("x")

    assert "no git repository" in str(fails(tmp_path, "a", "HEAD"))


def test_a_worktree_is_read_where_its_repository_is_in_the_workspace(tmp_path):
    (tmp_path / "home").mkdir()
    git(tmp_path / "home", "init", "-q", "-b", "main")
    (tmp_path / "home" / "a").write_text("one\n")
    git(tmp_path / "home", "add", ".")
    git(tmp_path / "home", "commit", "-q", "-m", "one")
    git(tmp_path / "home", "worktree", "add", "-q", "-b", "other", "../work")
    (tmp_path / "work" / "a").write_text("two\n")
    git(tmp_path / "work", "commit", "-q", "-am", "two")

    assert shown(tmp_path, "work/a", "HEAD") == b"two\n"
    assert shown(tmp_path, "home/a", "HEAD") == b"one\n"
    assert shown(tmp_path / "work", "a", "HEAD", roots=[tmp_path / "work", tmp_path / "home"]) == b"two\n"
    error = fails(tmp_path / "work", "a", "HEAD")
    assert isinstance(error, NoRevision)
    assert "outside the workspace" in error.reason


def test_a_repository_that_points_out_of_the_workspace_gives_nothing_away(tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    git(secret, "init", "-q", "-b", "main")
    (secret / "a").write_text("secret\n")
    git(secret, "add", ".")
    git(secret, "commit", "-q", "-m", "one")
    commit = git(secret, "rev-parse", "HEAD").decode().strip()
    for name, make in {
        "pointer": lambda at: (at / ".git").write_text(f"gitdir: {secret}/.git\n"),
        "link": lambda at: (at / ".git").symlink_to(secret / ".git"),
        "objects": lambda at: (
            git(at, "init", "-q"),
            (at / ".git/objects/info/alternates").write_text(f"{secret}/.git/objects\n"),
        ),
        "common": lambda at: (git(at, "init", "-q"), (at / ".git/commondir").write_text(f"{secret}/.git\n")),
        "link to objects": lambda at: (
            git(at, "init", "-q"),
            shutil.rmtree(at / ".git/objects"),
            (at / ".git/objects").symlink_to(secret / ".git/objects"),
        ),
    }.items():
        directory = tmp_path / name
        directory.mkdir()
        make(directory)

        error = fails(directory, "a", commit)

        assert isinstance(error, (NoRevision, Unreadable, OutsideRoot)), name
        assert "secret" not in str(error)
    assert shown(tmp_path, "objects/a", commit) == b"secret\n"  # with the lender inside the root it is no secret


def test_nothing_of_the_configuration_is_obeyed(repository, tmp_path):
    directory = tmp_path / "hostile"
    shutil.copytree(repository, directory)
    trap = directory / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    trap.chmod(0o755)
    with open(directory / ".git" / "config", "a", encoding="utf-8") as config:
        config.write(
            f"[core]\nfsmonitor = {trap}\nsshCommand = {trap}\npager = {trap}\nhooksPath = {directory}\n"
            f'[filter "x"]\nsmudge = {trap}\n[diff "x"]\ntextconv = {trap}\n'
            f'[remote "o"]\nurl = ext::{trap}\npromisor = true\n'
        )
    (directory / ".gitattributes").write_text("* filter=x diff=x\n")

    assert shown(directory, "same.txt", "v3") == b"always the same\n"
    fails(directory, "same.txt", "ab" * (32 if "sha256" in str(repository) else 20))
    assert not (tmp_path / "ran").exists()


# --- rules -----------------------------------------------------------------------------------------------------------


def test_rules_hold_for_the_past_too(repository):
    policy = Policy(deny=["src/**"])

    assert isinstance(fails(repository, "src/a.txt", "v3", policy=policy), PolicyDenied)
    assert isinstance(fails(repository, "x/../src/a.txt", "v3", policy=policy), PolicyDenied)
    assert isinstance(fails(repository, ".env", "v3"), PolicyDenied)
    assert isinstance(fails(repository, "../other/a", "v3"), OutsideRoot)


def test_a_rule_against_the_repository_is_one_against_the_past(repository):
    assert isinstance(fails(repository, "same.txt", "v3", policy=Policy(deny=[".git/"])), PolicyDenied)


# --- odd contents ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    directory = tmp_path_factory.mktemp("odd")
    git(directory, "init", "-q", "-b", "main")
    (directory / "empty").write_text("")
    (directory / "with space ünï").write_text("x\n")
    (directory / "link").symlink_to("empty")
    (directory / "run").write_text("#!/bin/sh\n")
    (directory / "run").chmod(0o755)
    (directory / "zeros.bin").write_bytes(bytes(1000))
    dice = random.Random(1)
    rows = [f"{dice.random()} {n}\n" for n in range(400_000)]
    (directory / "large").write_text("".join(rows))
    git(directory, "add", ".")
    git(directory, "commit", "-q", "-m", "one")
    rows[5] = "changed\n"
    (directory / "large").write_text("".join(rows))
    git(directory, "commit", "-q", "-am", "two")
    return directory


def test_odd_files(odd):
    assert shown(odd, "empty", "HEAD") == b""
    assert shown(odd, "with space ünï", "HEAD") == b"x\n"
    assert shown(odd, "run", "HEAD") == b"#!/bin/sh\n"
    assert isinstance(fails(odd, "zeros.bin", "HEAD"), Binary)
    assert "symbolic link" in fails(odd, "link", "HEAD").reason


@pytest.mark.parametrize("packed", [False, True])
def test_a_large_file_is_read_as_it_is_decoded(odd, packed):
    if packed:
        git(odd, "gc", "-q", "--prune=now")
    whole = (odd / "large").read_bytes().splitlines(True)

    assert shown(odd, "large", "HEAD", selection=Lines(390_000, 2)) == b"".join(whole[389_999:390_001])
    assert shown(odd, "large", "HEAD~1", selection=Lines(5, 2)) != b"".join(whole[4:6])


def test_what_would_be_too_large_to_put_together_is_reported(odd, monkeypatch):
    git(odd, "gc", "-q", "--prune=now")
    monkeypatch.setattr(packs, "MAX_OBJECT_BYTES", 1 << 20)
    outcomes = []
    for revision in ("HEAD", "HEAD~1"):
        try:
            shown(odd, "large", revision, selection=Lines(1, 1))
            outcomes.append("read")
        except Unreadable as error:
            outcomes.append(error.reason)

    assert sorted(outcomes) == ["it is larger than 1 MiB, the limit for files stored as deltas", "read"]


def test_it_can_be_stopped(odd):
    with Workspace(odd) as workspace:
        request = ReadRequest("large", Tail(1), revision="HEAD")
        with pytest.raises(TimedOut):
            workspace.engine.read(request, CallContext(0))
        context = CallContext()
        context.cancelled = True
        with pytest.raises(Cancelled):
            workspace.engine.read(request, context)


# --- damaged and hostile ---------------------------------------------------------------------------------------------


def test_a_pack_whose_differences_go_in_circles(repository, tmp_path):
    if "packed" not in str(repository):
        pytest.skip("only packs have differences")
    directory = tmp_path / "circles"
    shutil.copytree(repository, directory)
    (pack,) = (directory / ".git/objects/pack").glob("*.pack")
    data = bytearray(pack.read_bytes())
    pack.chmod(0o644)
    for at in range(12, len(data) - 20, 7):
        data[at] = 0xF0 | data[at] & 0x0F  # type 7: a difference to an object by its name
    pack.write_bytes(data)

    assert isinstance(fails(directory, "src/a.txt", "v3"), ReadError)


def outcome(directory, path, revision):
    try:
        shown(directory, path, revision)
    except ReadError as error:
        return error.code if str(error) else "no words"
    return "read"


@pytest.mark.parametrize("seed", range(4))
def test_damage_never_does_more_than_fail(seed, repository, tmp_path):
    dice = random.Random(f"{seed} {repository.name}")
    directory = tmp_path / "damaged"
    shutil.copytree(repository, directory)
    files = sorted(path for path in (directory / ".git").rglob("*") if path.is_file() and "hooks" not in str(path))
    seen = set()
    for _ in range(size(short=15, long=50)):
        path = dice.choice(files)
        whole = path.read_bytes()
        data = bytearray(whole)
        for _ in range(dice.choice((1, 4, 40))):
            if data:
                data[dice.randrange(len(data))] = dice.randrange(256)
        if dice.random() < 0.2:
            data = data[: dice.randrange(len(data) + 1)]
        path.chmod(0o644)
        path.write_bytes(data)
        for revision in ("HEAD~3", "v3", "note3"):
            seen.add(outcome(directory, "src/a.txt", revision))
        path.write_bytes(whole)
    assert not seen & {"internal", "no words"}
    assert "read" in seen


def test_a_loose_object_that_is_a_bomb(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    commit = b"tree " + b"ab" * 20 + b"\n\nx\n"
    for digest, kind, data in (
        ("cd" * 20, b"commit", commit),
        ("ab" * 20, b"tree", b"100644 a\0" + b"\xef" * 20),
        ("ef" * 20, b"blob", bytes(100 << 20)),
    ):
        place = tmp_path / ".git/objects" / digest[:2]
        place.mkdir()
        size = 1 << 40 if kind == b"blob" else len(data)
        (place / digest[2:]).write_bytes(zlib.compress(b"%s %d\0" % (kind, size) + data, 1))

    error = fails(tmp_path, "a", "cd" * 20, selection=Tail(1), text_rule="any")

    assert isinstance(error, Unreadable)


def loose_object(directory, kind, data):
    stored = b"%s %d\0" % (kind, len(data)) + data
    digest = hashlib.sha1(stored).hexdigest()
    path = directory / ".git" / "objects" / digest[:2] / digest[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(stored, 1))
    return digest


def peak_of(directory, revision, first_line=b"text\n"):
    """Return the most memory that Python took to read a file at a revision."""
    tracemalloc.start()
    try:
        assert shown(directory, "a.txt", revision, selection=Lines(1, 1)).startswith(first_line)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def small_commit(directory, message=b""):
    blob = loose_object(directory, b"blob", b"text\n")
    tree = loose_object(directory, b"tree", b"100644 a.txt\0" + bytes.fromhex(blob))
    return loose_object(directory, b"commit", b"tree " + tree.encode() + b"\n" + message)


def test_a_commit_of_millions_of_lines_is_no_list(tmp_path):
    git(tmp_path, "init", "-q")
    commit = small_commit(tmp_path, b"a\n" * 2_000_000)

    assert peak_of(tmp_path, commit) < 8 << 20


def test_a_chain_of_large_tags_takes_the_memory_of_one(tmp_path):
    git(tmp_path, "init", "-q")
    digest = small_commit(tmp_path)
    for number in range(4):
        digest = loose_object(tmp_path, b"tag", b"object " + digest.encode() + b"\n%d" % number + bytes(4 << 20))

    assert peak_of(tmp_path, digest) < 8 << 20


def test_a_configuration_of_many_lines_is_no_list(tmp_path):
    git(tmp_path, "init", "-q")
    commit = small_commit(tmp_path)
    (tmp_path / ".git" / "config").write_bytes(b"[core]" + b"\n" * 1_000_000 + b" worktree = ..\n")

    assert peak_of(tmp_path, commit) < 8 << 20


def test_a_large_file_of_deltas_is_built_once(tmp_path):
    git(tmp_path, "init", "-q")
    text = b"text\n" * ((4 << 20) // 5)
    for number in range(3):
        (tmp_path / "a.txt").write_bytes(text + b"%d\n" % number)
        git(tmp_path, "add", "a.txt")
        git(tmp_path, "commit", "-q", "-m", "a")
    git(tmp_path, "repack", "-q", "-a", "-d", "-f")
    git(tmp_path, "prune-packed")

    peaks = [peak_of(tmp_path, revision) for revision in ("HEAD", "HEAD~1", "HEAD~2")]

    assert max(peaks) < 12 << 20  # the base, the result, and buffers


def test_a_commit_with_more_parents_than_any_has(tmp_path):
    git(tmp_path, "init", "-q")
    tree = loose_object(tmp_path, b"tree", b"")
    data = b"tree " + tree.encode() + b"\n" + (b"parent " + tree.encode() + b"\n") * 10_001
    commit = loose_object(tmp_path, b"commit", data)

    assert fails(tmp_path, "a.txt", commit).reason == "corrupt repository"


def test_a_packed_ref_without_end(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / ".git" / "packed-refs").write_bytes(b"a" * (3 << 20))

    assert fails(tmp_path, "a.txt", "main").reason == "corrupt repository"


def test_deltas_that_name_their_base_by_hash_are_applied(repository, tmp_path):
    directory = tmp_path / "by_hash"
    shutil.copytree(repository, directory)
    git(directory, "-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d", "-f")
    commits = git(directory, "rev-list", "--all").decode().split()

    for commit in commits:
        assert shown(directory, "src/a.txt", commit) == git(directory, "show", f"{commit}:src/a.txt")
        assert shown(directory, "src/a.txt", commit[:10]) == shown(directory, "src/a.txt", commit)
