"""Answers keep their budget, whatever they show: text, logs, tables, images, searches, outlines, differences."""

from __future__ import annotations

import io
import json
import random
import re

import pytest
from PIL import Image

from eyespan import Workspace, tokens

from .test_fold import source

BUDGETS = (150, 1000, 5000)


def log_line(chance, at):
    """Return a line of a log in one of the usual forms."""
    place = f"{chance.randint(0, 255)}.{chance.randint(0, 255)}"
    forms = (
        f"2024-03-{at % 28 + 1:02} 10:{at % 60:02}:00,{at % 1000:03} INFO [main] c.a.OrderService - order {at} handled",
        f'10.0.{place} - - [01/Mar/2024:10:00:{at % 60:02} +0000] "GET /api/v1/items/{at} HTTP/1.1" 200 {at * 37}',
        f'{{"ts": "2024-03-01T10:00:00.{at:06}Z", "trace": "{chance.randbytes(16).hex()}", "ms": {at % 999}}}',
        f"[{at:5}.{chance.randint(0, 999999):06}] usb 1-{at % 9}: new high-speed USB device number {at % 99}",
        f"[{at}] {chance.randbytes(4).hex()}-{chance.randbytes(2).hex()} state=RUNNING -> DONE worker-{at % 40}",
    )
    return forms[at % len(forms)]


def picture(width, height):
    data = io.BytesIO()
    Image.new("RGB", (width, height), (10, 200, 30)).save(data, "PNG")
    return data.getvalue()


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("kinds")
    chance = random.Random(7)
    (root / "app.log").write_text("".join(f"{log_line(chance, at)}\n" for at in range(4000)))
    (root / "big.py").write_text(source([9] * 120, before=30))
    (root / "big.md").write_text("".join(f"## Part {n}\n\nSome words about part {n} of it.\n\n" for n in range(400)))
    (root / "big.json").write_text("{" + ",\n".join(f'"key_{n}": [{n}, "{n:x}"]' for n in range(900)) + "}\n")
    (root / "t.csv").write_text("id,name,sum\n" + "".join(f"{n},name {n},{n * 1.7:.3f}\n" for n in range(3000)))
    (root / "one.txt").write_text("word " * 30_000)
    (root / "crlf.txt").write_bytes(b"".join(b"line %d\xe9\r\n" % n for n in range(3000)))
    cell = {"cell_type": "code", "source": "x = 1", "outputs": [], "metadata": {}}
    notebook = {"cells": [cell] * 60, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (root / "nb.ipynb").write_text(json.dumps(notebook))
    for n in range(8):
        (root / f"icon{n}.png").write_bytes(picture(32, 32))
    (root / "wide.png").write_bytes(picture(1500, 1200))
    return root


CALLS = (
    *("app.log", "app.log:-2000", "app.log:5-", "app.log?RUNNING", "big.py", "big.py::Harbour", "big.py:200::"),
    *("big.py?value_3", "big.md", "big.md::Part 3", "big.json", "t.csv", "t.csv:rows 5-2000", "one.txt", "crlf.txt"),
    *("nb.ipynb", ".", ".?name", "wide.png", "missing.py", "one.txt:1:9000"),
    ["wide.png", "app.log", "big.py::Harbour"],
    [f"icon{n}.png" for n in range(8)],
    ["app.log", "big.py", "t.csv", "one.txt", "big.json"],
)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("outline", [False, True])
def test_no_answer_exceeds_its_budget(tree, budget, outline):
    with Workspace(tree) as workspace:
        tool = workspace.tool("native")
        replies = {str(files): tool.call({"files": files, "budget": budget, "outline": outline}) for files in CALLS}

    spent = {files: reply.facts["tokens"] for files, reply in replies.items()}
    assert {files: cost for files, cost in spent.items() if cost > budget} == {}
    assert all(reply.structured is None or reply.structured["tokens"] == spent[at] for at, reply in replies.items())


@pytest.mark.parametrize(("count", "budget"), [(1, 200), (2, 300), (8, 1000)])
def test_files_with_long_names_keep_the_budget(tmp_path, count, budget):
    names = [f"{'/'.join(['harbour', 'q7x-w4', 'Boats.v2'] * 4)}/part{n}/Pier_z9.py" for n in range(count)]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(source([9] * 30, before=30))
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": names, "budget": budget})

    assert reply.facts["tokens"] <= budget
    assert len(reply.structured["left_out"]) == count


def test_answers_keep_their_budget_by_an_exact_count(tree):
    vocabulary = pytest.importorskip("bpe_openai", reason="bpe-openai is not installed")
    encode = vocabulary.get_encoding("o200k_base").encode_ordinary
    with Workspace(tree) as workspace:
        tool = workspace.tool("native")
        over = {}
        for files in CALLS:
            for budget in BUDGETS:
                cost = len(encode(tool.call({"files": files, "budget": budget}).text))
                if cost > 1.02 * budget:
                    over[str(files), budget] = cost

    assert over == {}


@pytest.mark.parametrize(("size", "cost"), [((32, 32), 2), ((750, 1), 1), ((1500, 1200), 2400)])
@pytest.mark.parametrize("form", ["PNG", "GIF", "JPEG", "WEBP"])
def test_an_image_costs_its_pixels(size, cost, form):
    data = io.BytesIO()
    Image.new("RGB", size).save(data, form)

    assert tokens.estimate_image(data.getvalue()) == cost


def test_an_image_that_exceeds_its_budget_is_scaled_down(tree):
    with Workspace(tree) as workspace:
        tool = workspace.tool("native")
        large, small = [tool.call({"files": "wide.png", "budget": budget}) for budget in (5000, 500)]

    sides = [Image.open(io.BytesIO(reply.content[1].data)).width for reply in (large, small)]
    assert sides[0] > 1400
    assert 400 < sides[1] < 620
    assert large.facts["tokens"] > 2000 > 500 >= small.facts["tokens"]


def test_the_rows_of_a_table_are_followed_to_its_end(tree):
    waiting, seen = ["t.csv"], []
    with Workspace(tree) as workspace:
        tool = workspace.tool("native")
        while waiting:
            reply = tool.call({"files": waiting.pop(0), "budget": 5000})
            seen += re.findall(r"^\d*\t\| (\d+) ", reply.text, re.MULTILINE)
            part = reply.structured["parts"][0]
            assert (part["next"] is not None) == bool(reply.structured.get("left_out"))
            waiting += reply.structured.get("left_out", [])

    assert seen == [str(n) for n in range(3000)]
