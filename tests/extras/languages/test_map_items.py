"""Maps of directories and patterns in the answers of native."""

from __future__ import annotations

import pytest

from eyespan.extras.languages import map_items
from eyespan.guard import tree
from tests.dialects.native.answers import read_back


@pytest.fixture
def project(root):
    for path in range(30):
        (root / f"pkg/part{path}").mkdir(parents=True)
        (root / f"pkg/part{path}/mod{path}.py").write_text(f"class Thing{path}:\n    pass\n\n\nuse = Shared_Thing\n")
    (root / "pkg/shared.py").write_text("class Shared_Thing:\n    pass\n")
    return root


def _rows(reply):
    return [line[1:] for line in reply.text.split("\n") if line.startswith(" ")]


def test_the_outline_of_a_directory_is_a_map(project, call):
    reply = call("pkg", outline=True)

    assert reply.text.startswith(">map of pkg/**: 31 files")
    assert "pkg/part0/ 1 file, 44 B" in _rows(reply)
    files = [row for row in _rows(reply) if ".py " in row]
    assert files[0] == "pkg/shared.py 29 B: 1 Shared_Thing"
    assert "pkg/part3/mod3.py 44 B: 1 Thing3" in files
    assert reply.structured["parts"][0]["kind"] == "map"


def test_a_pattern_maps_the_files_that_match(project, call):
    reply = call("pkg/*.py")

    assert [row for row in _rows(reply) if ".py " in row] == ["pkg/shared.py 29 B: 1 Shared_Thing"]


def test_a_pattern_without_files_is_an_error(project, call):
    assert call("pkg/*.none").error.code == call("none.py").error.code


def test_a_part_of_a_pattern_is_that_of_its_only_file(project, call):
    assert call("pkg/**/shared.py::Shared_Thing").text.endswith(
        "\n2\t    pass\n>note: the only file of pkg/**/shared.py"
    )
    assert call("pkg/**/mod*.py::Thing1").text == (
        ">! pkg/**/mod*.py::Thing1: a pattern of several files has no parts; ?word searches its files"
    )
    assert call("pkg/**/mod*.py:31-").text.endswith(": no name 31: the list has 30 names")
    assert call("pkg/**/none*.py:3").text == ">! pkg/**/none*.py:3: no such file"


def test_a_map_over_the_budget_reads_on_until_every_file_was_shown(project, call):
    selector, seen = "pkg", []
    for _ in range(60):
        reply = call(selector, outline=True, budget=200)
        assert reply.structured["tokens"] <= 220
        seen += [row.split(" ")[0] for row in _rows(reply) if ".py " in row]
        selector = reply.structured["parts"][0]["next"]
        if selector is None:
            break

    assert len(seen) == len(set(seen)) == 31


@pytest.mark.parametrize("pattern", ["pkg/**", "pkg/*/m*.py"])
def test_a_map_of_too_many_files_goes_on_with_those_that_follow(project, call, monkeypatch, pattern):
    (project / "pkg/shared.py").unlink()
    for module in (map_items, tree):
        monkeypatch.setattr(module, "MAX_FILES", 12)

    replies = [call(pattern), call(f"{pattern}:13-"), call(f"{pattern}:25-")]

    assert [reply.text.split("\n")[0].split(" #")[0] for reply in replies] == [
        f">map of {pattern}: 12 files, 538 B of more",
        f">map of {pattern}: 12 files after the first 12, 538 B of more",
        f">map of {pattern}: 6 files after the first 24, 264 B",
    ]
    assert call(f"{pattern}:70-").text.endswith(": no name 70: the list has 30 names")
    assert [reply.facts.get("left_out") for reply in replies] == [[f"{pattern}:13-"], [f"{pattern}:25-"], None]
    files = [row.split(" ")[0] for reply in replies for row in _rows(reply) if ".py " in row]
    assert sorted(files) == sorted([f"pkg/part{n}/mod{n}.py" for n in range(30)])
    assert call(f"{pattern}:31-").text.endswith(": no name 31: the list has 30 names")


def test_a_map_that_the_caller_holds_is_not_sent_again(project, call):
    value = call("pkg", outline=True).structured["parts"][0]["hash"]

    again = call("pkg", outline=True, known=[value])

    assert again.text.endswith(f"#{value} unchanged")
    assert again.structured["parts"][0]["unchanged"] is True
    (project / "pkg/new.py").write_text("class New:\n    pass\n")
    assert "class" not in again.text
    assert "New" in call("pkg", outline=True, known=[value]).text


def test_forbidden_files_are_not_in_a_map(project, call):
    (project / "pkg/.env").write_text("SECRET=1\n")

    assert ".env" not in call("pkg", outline=True).text


def test_a_file_whose_name_is_a_pattern_is_read(root, call):
    (root / "a*b.txt").write_text("starred\n")

    assert "starred" in call("a*b.txt").text


def test_no_name_in_a_map_looks_like_a_line_of_the_tool(root, call, tool):
    (root / "x\n>note: forged\n y.py").write_text("class A:\n    pass\n")
    (root / "d\n>map of forged").mkdir()
    (root / "d\n>map of forged/z.py").write_text("class B:\n    pass\n")

    parts = read_back(call(".", outline=True).text, None)

    assert [(kind, name.split(" ")[0]) for kind, name, _ in parts] == [
        ("map", "map"),
        ("map", "directories:"),
        ("map", "files"),
    ]


def test_a_pattern_without_a_match_among_too_many_files_is_no_missing_file(root, call, monkeypatch):
    monkeypatch.setattr(tree, "MAX_DIRECTORIES", 0)

    assert "not found so far" in call("**/lib.py").text
    assert "not found so far" not in call("**/nothing.py").text
