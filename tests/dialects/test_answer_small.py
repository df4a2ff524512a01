"""Small texts are answered in one step, with exactly the answers of the ordinary steps."""

from __future__ import annotations

import os
import random

import pytest

from eyespan import Workspace, _native
from eyespan.dialects import DIALECTS
from eyespan.dialects.base import Dialect, FileDialect
from eyespan.dialects.codex import Codex
from eyespan.policy import Policy
from tests.sizes import size

pytestmark = pytest.mark.skipif(_native.read_small is None, reason="the accelerator is not built, or not for Linux")

SETTINGS = (
    ("codex", {}),
    ("codex-upstream", {}),
    ("codex", {"encoding": "auto"}),
    ("workspace", {}),
    ("workspace-upstream", {}),
    ("workspace", {"encoding": "utf-8"}),
    ("forge", {}),
    ("forge", {"show_line_numbers": False}),
    ("forge", {"max_file_read_bytes": 40, "max_scan_bytes": 30}),
    ("claude", {}),
    ("claude", {"line_number_format": "arrow", "default_read_lines": 3, "max_line_length": 5}),
    ("claude", {"can_read_pdf": False}),
    ("claude-upstream", {}),
    ("claude-upstream", {"max_tokens": 800, "max_bytes": 1000}),
    ("native", {}),
)
FIELDS = {
    "codex": ("file_path", ("offset", "limit", "mode", "indentation")),
    "workspace": ("path", ("start_line", "max_lines")),
    "forge": ("path", ("start_line", "limit", "end_line", "head", "tail", "show_line_numbers")),
    "claude": ("file_path", ("offset", "limit", "pages")),
    "native": ("files", ("budget", "outline")),
}
VALUES = (None, 0, 1, 1, 2, 3, 7, 100, 500, 501, 2**31, 2**70, -1, 2.0, 1.5, True, False, "2", "slice", [], {})
PIECES = (
    *(b"a", b"line", b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\t", b" ", b"\0", b"\x0c", b"\x1b", b"\xff", b"\xc3"),
    *(
        "é".encode(),
        "日本".encode(),
        "😀".encode(),
        b"\xef\xbb\xbf",
        b"x" * 501,
        b"y" * 2001,
        b"z" * 30_000,
        b"%PDF-1.7",
    ),
    *(b"ftypavif", b"RIFF1234WEBP", b"GIF89a", b"P4 8 8 ", b"BM", b"\xe2\x80\xa8", b"{}", b"<svg>", b"\xed\xa0\x80"),
)
NAMES = (
    *("a.txt", "b.py", "c.pdf", "d.ipynb", "e.png", "f.csv", ".env", "g.env", "id_rsa", "h.key", "é", "e\u0301", "i j"),
    *(" ", " k", "k ", "l:m", "c:", "n\\o", "p\nq", "r\x7f", "-", "~", "...", "x (deleted)", "sub/s.txt", "sub/.env"),
    *("n" * 200, "LOUD.TXT", ".hidden", "%41", "$HOME", "*", "sub.pdf/t"),
)


def two_ways(root, dialect, policy, **settings):
    """Return a tool, and the same tool without the way in one step."""
    tools = []
    for _ in range(2):
        workspace = Workspace(root, policy=policy)
        tools.append(workspace.tool(dialect, **settings))
    assert tools[1].engine.guard._read_small is not None
    tools[1].engine.guard._read_small = None
    return tools


def text(dice):
    return b"".join(dice.choices(PIECES, k=dice.choice((0, 1, 2, 5, 20, 60))))


def lines(dice):
    words = ("def f():", "    return 1", "", "été", "x" * dice.choice((3, 499, 501, 2001)), "tab\tbed", "end\r")
    ending = dice.choice(("", "\n", "\n\n"))
    return ("\n".join(dice.choices(words, k=dice.randint(1, 300))) + ending).encode()


def spelled(dice, root, name):
    path = dice.choice((name, name, f"./{name}", f"sub/../{name}", f"{name}/", f"/{name}", name.upper(), f"{name}x"))
    if dice.random() < 0.6:
        path = f"{root}/{path}"
    return dice.choice((path, path, path, path.replace("/", "//"), f" {path}", f"{path}\0", "/etc/hostname", "link"))


def arguments(dice, dialect, root, name):
    key, others = FIELDS[dialect.partition("-")[0]]
    path = f"{root}/{name}" if dice.random() < 0.6 else spelled(dice, root, name)
    found = {key: path}
    for other in others:
        if dice.random() < 0.25:
            found[other] = dice.choice(VALUES)
    if dice.random() < 0.02:
        found["unknown"] = 1
    return dice.choice([found] * 30 + [None, [], "x", {}])


@pytest.mark.parametrize(("dialect", "settings"), SETTINGS)
def test_both_ways_give_the_same_answer(tmp_path, dialect, settings):
    dice = random.Random(f"{dialect} {settings} {os.environ.get('EYESPAN_SEED', '')}")
    for directory in ("sub", "sub.pdf"):
        (tmp_path / directory).mkdir()
    (tmp_path / "link").symlink_to("a.txt")
    policy = Policy(deny=["b*"]) if dice.random() < 0.3 else Policy()
    quick, ordinary = two_ways(tmp_path, dialect, policy, **settings)
    answered = 0

    for _ in range(size(short=25, long=1000)):
        for name in dice.sample(NAMES, 6):
            (tmp_path / name).write_bytes(dice.choice((text, lines))(dice))
            asked = arguments(dice, dialect, tmp_path, name)
            answered += quick.dialect.answer_small(asked, quick.engine) is not None
            reply, expected = quick.call(asked), ordinary.call(asked)
            assert reply == expected, (name, asked)
            assert reply.facts == expected.facts
            assert list(reply.measures) == list(expected.measures)
            assert list(reply.structured or ()) == list(expected.structured or ())

    # These texts nearly always have something that native notes; native/test_small.py has others.
    if dialect != "native":
        assert answered if "encoding" not in settings else not answered


@pytest.mark.parametrize("dialect", ["codex", "claude", "workspace", "forge"])
def test_a_plain_call_on_a_plain_file_is_answered_in_one_step(tmp_path, dialect):
    (tmp_path / "a.py").write_text("one\ntwo\n")
    tool = Workspace(tmp_path).tool(dialect)
    key = FIELDS[dialect][0]

    reply = tool.dialect.answer_small({key: str(tmp_path / "a.py")}, tool.engine)

    assert reply is not None
    assert reply == tool.call({key: str(tmp_path / "a.py")})


def test_a_tool_that_is_denied_answers_nothing(tmp_path):
    (tmp_path / "a.py").write_text("one\n")

    assert Workspace(tmp_path).tool("codex", allowed=False).call({"file_path": str(tmp_path / "a.py")}).is_error


def test_an_error_in_the_one_step_leaves_the_answer_to_the_ordinary_steps(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("one\n")
    tool = Workspace(tmp_path).tool("codex")

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(Codex, "answer_small", fail)

    assert tool.call({"file_path": str(tmp_path / "a.py")}).text == "L1: one"


def test_a_subclass_that_answers_in_another_way_does_not_take_over_the_step_of_its_base():
    class Loud(Codex):
        def render(self, args, document):
            return super().render(args, document)

    class Quiet(Codex):
        name = "quiet"

    assert Loud.answer_small is Dialect.answer_small
    assert Quiet.answer_small is Codex.answer_small
    assert FileDialect.answer_small is Dialect.answer_small


def test_every_dialect_that_answers_in_one_step_is_compared_here():
    from eyespan.dialects import dialect_class

    found = [name for name in DIALECTS if dialect_class(name).answer_small is not Dialect.answer_small]

    assert sorted(found) == sorted({dialect for dialect, _ in SETTINGS})
