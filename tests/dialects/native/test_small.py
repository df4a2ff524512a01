"""Small files: the answer in one step is that of the ordinary steps."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import Workspace, _native, kinds
from eyespan.context import CallContext
from eyespan.dialects.native import Native, small
from eyespan.engine import Engine
from eyespan.guard import Guard
from eyespan.policy import Policy
from eyespan.recorder import watched
from tests.sizes import examples, size

needs_c = pytest.mark.skipif(_native.read_small is None, reason="the accelerator has no step for small files here")

PIECES = ["a", "    b = 1", "\t", "  ", "\n", "\n", "\r\n", "\r", "é", "語", "\u200b", "\x1b$B", "\x0c", "+AGE-", "~{"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
STARTS = st.sampled_from(
    ["", "# coding: utf-7\n", "charset=hz-gb-2312\n", "%PDF-1.4\n", "BZh9\n", "a,b\n1,2\n", "\ufeff"]
)
NAMES = st.sampled_from(
    ["a.py", "a.csv", "a.html", "d/a.txt", "a b.py", "a@b.py", 'a".py', "é.py", "a#1.py", "a.ipynb"]
)


def both(tool, arguments):
    """Return the answer of the tool, and that of the ordinary steps; the versions shown before do not matter."""
    quick = tool.call(arguments)
    with (
        mock.patch.object(Native, "answer_small", return_value=None),
        mock.patch.object(Engine, "read_batch", return_value=None),
    ):
        return quick, tool.call(arguments)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("small")
    (directory / "d").mkdir()
    with Workspace(directory) as workspace:
        yield directory, workspace


@settings(deadline=None, max_examples=examples(200))
@given(
    NAMES, STARTS, TEXTS, st.sampled_from([{}, {"numbers": 1}, {"numbers": 0}, {"budget": 50}, {"separator": "pipe"}])
)
def test_an_answer_in_one_step_is_that_of_the_ordinary_steps(place, name, start, text, options):
    directory, workspace = place
    path = directory / name
    path.write_text(start + text, newline="")
    tool = workspace.tool("native", **options)

    for asked in (name, str(path), [name]):
        quick, ordinary = both(tool, {"files": asked})
        assert quick == ordinary
        assert quick.measures == ordinary.measures
    path.unlink()


@needs_c
def test_an_ordinary_file_is_answered_in_one_step(place):
    directory, workspace = place
    (directory / "b.py").write_text("def f():\n    return 1\n")

    with mock.patch.object(Native, "run", side_effect=AssertionError):
        reply = workspace.tool("native").call({"files": ["b.py"]})

    assert reply.text.partition("\n")[2] == "1\tdef f():\n\t    return 1"


def test_other_links_of_a_file_are_noted(place):
    directory, workspace = place
    (directory / "c.py").write_text("x = 1\n")
    os.link(directory / "c.py", directory / "other.py")

    assert workspace.tool("native").call({"files": "c.py"}).text.endswith("\n>note: 2 hard links")


def test_a_version_that_was_shown_in_one_step_is_compared_later(place):
    directory, workspace = place
    tool = workspace.tool("native")
    (directory / "v.py").write_text("one\ntwo\n")
    value = tool.call({"files": "v.py"}).structured["parts"][0]["hash"]
    (directory / "v.py").write_text("one\n2\n")

    assert f"changed since #{value}: 2" in tool.call({"files": "v.py", "known": [value]}).text


NAMES_OF_TARGETS = st.text("abc./_-:\\ \n\té\"'@!?*#[]{}<>|`$~", max_size=6) | st.sampled_from(
    ["a", "b/c.py", None, {}]
)


@given(
    st.lists(
        st.tuples(NAMES_OF_TARGETS, st.sampled_from(["", ".py", ".pdf", ".CSV", ".ipynb"])), min_size=1, max_size=3
    )
)
def test_names_are_plain_together_if_each_is(targets):
    names = [name + suffix if isinstance(name, str) else name for name, suffix in targets]
    suffixes = kinds.text_rules(kinds.shown_in("native"))[1]

    each = all(small._is_plain(name) and not name.lower().endswith(suffixes) for name in names)

    assert small._are_plain(names, suffixes) == each


# --- many files -----------------------------------------------------------------------------------------------------

TREE_NAMES = (
    *("a.py", "b.txt", "d/c.md", "d/e/f.go", "d/LOUD.TXT", "no_suffix", ".env", "d/id_rsa", "x.pem", "a.csv", "a.html"),
    *(
        "n.ipynb",
        "p.pdf",
        "i.svg",
        "x y.txt",
        "é.py",
        "a@b.py",
        "a:3",
        "h#1",
        "link",
        "out",
        "way/c.md",
        "pipe",
        "none",
    ),
    *("d", "d/", "", ".", "./a.py", "../a.py", "d//c.md", "hard", "harder", "unread", "a.py:2-3", "b.txt:-1", "d/*.md"),
    *("a.py::f", "b.txt?o", "/etc/hostname", "A.PY", "deny/it.txt", "a.pyx", "aa.py"),
)
STARTS_OF_TEXTS = (
    *(
        "",
        "",
        "",
        "#!/bin/sh\n",
        "import os\n",
        "<svg>\n",
        " \n<?xml?><svg/>\n",
        "<?php\n",
        "#define a_width 1\n",
        "%PDF-1\n",
    ),
    *("RIFF1234WEBP", "P1 1 1\n1\n", "P5 8 8 255\n", "{\\rtf1 }", "/* XPM */\n", "%!PS-Adobe EPSF\n%%BoundingBox: 1\n"),
    *(
        "abcdftypavif",
        "Gbcdftypavif",
        "BZh91AY&SY",
        "P" + "x" * 29 + "mimetypeapplication/epub+zip",
        "From a\n",
        "+/v8-",
    ),
    *(
        "# -*- coding: utf-7 -*-\n+AGE-\n",
        "charset=HZ-GB-2312 ~{\n",
        "SQLite format 3",
        "PAR1",
        "GIF89a\n",
        "II*",
        "\ufeff",
    ),
)
PARTS_OF_TEXTS = (
    *(
        "line\n",
        "\n",
        "    def f(x):\n",
        "\treturn 1\n",
        "été\n",
        "日本語のテキスト\n",
        "😀 ok\n",
        "“quoted” — dash…\n",
        "word " * 9 + "\n",
    ),
    *(
        "x" * 3000 + "\n",
        "1234567\n",
        "A_B_C-d.e/f\n",
        "a  b   c\n",
        ">\n",
        "> note\n",
        "open",
        "\u200b\n",
        "\x1b[1m\n",
        "\r\n",
    ),
    *(
        "\u0f40\u1200\n",
        "\u00ad\n",
        "\u0600\u06dd\n",
        "\ufe0f\n",
        "\U00020000\n",
        "a\x0cb\n",
        "ᚠ\n",
        "ﬁ\n",
        "Ａ\n",
        "\u3164\n",
    ),
)


def tar_text():
    """Return text whose beginning is the header of a tar archive by its checksum."""
    block = bytearray(b"x" * 512)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o  " % sum(block)
    return bytes(block) + b"\n"


def make_tree(root, dice):
    """Make files of all sorts below a new root; return the names to ask for."""
    outside = root.with_name(f"{root.name} outside")
    outside.mkdir()
    (outside / "c.md").write_text("outside\n")
    for name in ("d/e", "deny"):
        (root / name).mkdir(parents=True)
    for name in TREE_NAMES:
        is_name = name not in ("", ".", "none", "d", "link", "out", "pipe") and not name.endswith(("/", "*.md"))
        is_below = ".." not in name and not name.startswith(("/", "way/")) and (root / name).parent.is_dir()
        if is_name and is_below and dice.random() < 0.9:
            write_text(root / name, dice)
    (root / "link").symlink_to("a.py")
    (root / "out").symlink_to(outside / "c.md")
    (root / "way").symlink_to(outside)
    os.mkfifo(root / "pipe")
    (root / "hard").unlink(missing_ok=True)
    if (root / "harder").exists():
        os.link(root / "harder", root / "hard")
    if (root / "unread").exists():
        (root / "unread").chmod(0)


def write_text(path, dice):
    how = dice.random()
    if how < 0.06:
        path.write_bytes(
            dice.choice(
                [b"", b"\0", b"\xff\xfea\0", b"\xe9t\xe9\n", b"a\xffb\n", tar_text(), b"\n" * 60_000, b"a\n" * 40_000]
            )
        )
    else:
        mild = PARTS_OF_TEXTS[:3] if how < 0.5 else PARTS_OF_TEXTS[:13] if how < 0.8 else PARTS_OF_TEXTS
        text = dice.choice((*STARTS_OF_TEXTS, *[""] * 30)) + "".join(
            dice.choices(mild, k=dice.choice((0, 1, 3, 20, 60)))
        )
        path.write_text(text + dice.choice(("", "\n", "\n", "\n")), newline="")


def test_batches_and_single_steps_give_the_same_answers(tmp_path):
    dice = random.Random(f"batches {os.environ.get('EYESPAN_SEED', '')}")
    batches = 0
    whole = Guard.read_batch

    def counted(self, *arguments):
        nonlocal batches
        found = whole(self, *arguments)
        batches += found is not None and bool(found[1][0])
        return found

    for number in range(size(short=8, long=200)):
        root = tmp_path / f"tree {number}" if number % 4 == 0 else tmp_path / f"tree{number}"
        make_tree(root, dice)
        with (
            Workspace(root, policy=Policy(deny=["deny/**"])) as workspace,
            mock.patch.object(Guard, "read_batch", counted),
        ):
            tool = workspace.tool(
                "native", **dice.choice([{}, {"budget": 200_000}, {"numbers": 1, "separator": "pipe"}])
            )
            for _ in range(6):
                names = dice.sample(dice.choice((TREE_NAMES, TREE_NAMES[:6])), dice.choice((2, 3, 6)))
                names += dice.sample(TREE_NAMES, dice.choice((0, 0, 9)))
                names += dice.choices(names, k=dice.choice((0, 0, 1)))
                names = [f"{root}/{name}" if dice.random() < 0.3 else name for name in names]
                arguments = {"files": names}
                if dice.random() < 0.5:
                    arguments["budget"] = dice.choice((1, 50, 120, 400, 2000, 100_000, 200_001))
                quick, ordinary = both(tool, arguments)
                assert quick == ordinary, arguments
                assert quick.facts == ordinary.facts
                assert list(quick.structured or ()) == list(ordinary.structured or ())
                assert [list(part) for part in (quick.structured or {}).get("parts", ())] == [
                    list(part) for part in (ordinary.structured or {}).get("parts", ())
                ]

    assert batches > 10 or _native.read_batch is None


@pytest.fixture
def many(tmp_path):
    for number in range(30):
        (tmp_path / f"f{number}.py").write_text(f"def f{number}():\n    return {number}\n")
    with Workspace(tmp_path) as workspace:
        yield workspace


NAMES_OF_MANY = [f"f{number}.py" for number in range(30)]


@needs_c
def test_ordinary_files_are_answered_without_opening_them_one_by_one(many):
    with mock.patch.object(Engine, "open", side_effect=AssertionError):
        reply = many.tool("native").call({"files": NAMES_OF_MANY})

    assert [part["path"] for part in reply.structured["parts"]] == NAMES_OF_MANY


@needs_c
def test_only_the_other_files_of_a_call_are_opened(many):
    opened = []
    whole = Engine.open

    def noted(self, request, context=None):
        opened.append(request.path)
        return whole(self, request, context)

    with mock.patch.object(Engine, "open", noted):
        reply = many.tool("native").call({"files": ["none.py", *NAMES_OF_MANY, "f1.py:2"]})

    assert set(opened) == {"none.py", "f1.py", "f1.py:2"}
    assert len(reply.structured["parts"]) == 31


def test_the_versions_of_a_batch_are_compared_later(many):
    tool = many.tool("native")
    parts = tool.call({"files": NAMES_OF_MANY}).structured["parts"]
    Path(many.roots[0].path, "f3.py").write_text("def g():\n    return 3\n")

    reply = tool.call({"files": NAMES_OF_MANY, "known": [part["hash"] for part in parts]})

    assert f"changed since #{parts[3]['hash']}: 1" in reply.text
    assert reply.text.count(" unchanged") == 29


def test_a_recorder_records_every_file_of_a_batch(many):
    _, recorder, _ = watched(many.tool("native"), {"files": NAMES_OF_MANY}, CallContext())

    assert [(one["canonical"], one["range"]) for one in recorder.files.values()] == [
        (name, "1-2") for name in NAMES_OF_MANY
    ]


def test_a_call_that_is_cancelled_or_late_reads_nothing(many):
    cancelled, late = CallContext(), CallContext(0.0)
    cancelled.cancelled = True

    codes = [many.tool("native").call({"files": NAMES_OF_MANY}, context=one).error.code for one in (cancelled, late)]

    assert codes == ["cancelled", "timeout"]


def test_a_context_that_is_used_again_leaves_no_invalid_text_in_an_answer(many):
    context = CallContext()
    tool = many.tool("native")
    tool.call({"files": NAMES_OF_MANY}, context=context)

    reply = tool.call({"files": ["no\udc80ne.py", "f1.py"]}, context=context)

    json.dumps([reply.text, reply.structured], ensure_ascii=False).encode()  # raises for lone surrogates


def test_the_memory_of_a_batch_is_charged_and_returned(many):
    context = CallContext()
    charged = []
    whole = context.charge
    context.charge = lambda size_bytes: (charged.append(size_bytes), whole(size_bytes))

    reply = many.tool("native").call({"files": NAMES_OF_MANY}, context=context)

    assert sum(charged) >= 2 * len(reply.text)
    assert context._charged_bytes == 0
