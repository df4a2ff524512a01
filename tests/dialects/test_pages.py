"""The public page of each dialect: its tables agree with the conformance cases, and every case is in one of them."""

from __future__ import annotations

import fnmatch
import json
import re
from pathlib import Path

import pytest

from eyespan.dialects import dialect_class, dialect_names

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "dialects"
WORDS = {"seed": "document", "implementation": "program", "choice": "choice"}


def cases(name):
    lines = (ROOT / "tests/conformance" / name / "cases.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def rows(name):
    """Return who decides and the patterns of cases, for every row of a page that names cases."""
    found = []
    for line in (PAGES / f"{name}.md").read_text("utf-8").split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 4 and cells[3].startswith("`"):
            found.append((cells[0], {word.strip() for word in cells[2].split(",")}, re.findall(r"`([^`]+)`", cells[3])))
    return found


SETS = sorted(path.parent.name for path in (ROOT / "tests/conformance").glob("*/cases.jsonl"))
BY_ROWS = [name for name in SETS if name != "codex"]


@pytest.mark.parametrize("name", SETS)
def test_every_set_of_cases_has_a_page_that_the_index_links_to(name):
    assert (PAGES / f"{name}.md").exists()
    assert f"(dialects/{name}.md)" in (ROOT / "docs/dialects.md").read_text("utf-8")


@pytest.mark.parametrize("name", BY_ROWS)
def test_every_case_belongs_to_exactly_one_row(name):
    patterns = [pattern for _, _, group in rows(name) for pattern in group]

    matches = {case["id"]: [p for p in patterns if fnmatch.fnmatchcase(case["id"], p)] for case in cases(name)}

    assert {case: found for case, found in matches.items() if len(found) != 1} == {}


@pytest.mark.parametrize("name", BY_ROWS)
def test_a_row_names_those_who_decide_its_cases(name):
    known = cases(name)
    wrong = {}
    for situation, deciders, patterns in rows(name):
        ids = [case for case in known if any(fnmatch.fnmatchcase(case["id"], pattern) for pattern in patterns)]
        expected = {WORDS[case["source"]] for case in ids}
        if deciders != expected:
            wrong[situation] = (deciders, expected)

    assert wrong == {}


@pytest.mark.parametrize("name", BY_ROWS)
def test_every_pattern_of_a_page_matches_a_case(name):
    ids = [case["id"] for case in cases(name)]
    patterns = [pattern for _, _, group in rows(name) for pattern in group]

    assert [pattern for pattern in patterns if not fnmatch.filter(ids, pattern)] == []


def test_the_page_of_codex_lists_every_error_text_of_its_cases():
    text = (PAGES / "codex.md").read_text("utf-8")

    assert {case["error"] for case in cases("codex") if not case["ok"] and f"`{case['error']}`" not in text} == set()


def test_the_page_of_codex_counts_its_cases():
    assert f"{len(cases('codex'))} cases" in (PAGES / "codex.md").read_text("utf-8")


@pytest.mark.parametrize("dialect", [name for name in dialect_names() if name != "native"])
def test_the_index_lists_every_dialect_and_every_setting(dialect):
    text = (ROOT / "docs/dialects.md").read_text("utf-8")

    assert f"`{dialect}`" in text
    assert [name for name in dialect_class(dialect).settings if f"`{name}`" not in text] == []


@pytest.mark.parametrize("dialect", ["forge", "claude"])
def test_the_defaults_of_the_index_are_those_of_the_dialects(dialect):
    text = (ROOT / "docs/dialects.md").read_text("utf-8")
    for name, default in dialect_class(dialect).settings.items():
        (row,) = [line for line in text.split("\n") if line.startswith(f"| `{dialect}` |") and f"`{name}`" in line]
        shown = "none" if default is None else str(default).lower() if isinstance(default, bool) else str(default)
        assert shown in row.split(" | ")[2], name
