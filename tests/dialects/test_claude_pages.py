"""The argument `pages` of the dialect `claude`."""

from __future__ import annotations

import pytest

from eyespan import Workspace
from tests.test_selectors_everywhere import pdf


@pytest.fixture
def read(tmp_path):
    (tmp_path / "book.pdf").write_bytes(pdf(4, 2))
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("claude")
        yield lambda pages: tool.call({"file_path": str(tmp_path / "book.pdf"), "pages": pages})


@pytest.mark.parametrize(
    ("pages", "shown"), [("3", [3]), (" 3 ", [3]), ("2-2", [2]), ("2-4", [2, 3, 4]), ("1 - 2", [1, 2]), ("3-9", [3, 4])]
)
def test_a_page_or_a_range_of_pages_is_shown(read, pages, shown):
    reply = read(pages)

    assert [number for number in range(1, 5) if f"page {number} line 2" in reply.text] == shown


@pytest.mark.parametrize("pages", ["0", "3-", "-3", "3-2", "a", "1-b", "1,2", "\u0663"])
def test_anything_else_is_refused_with_an_example(read, pages):
    message = read(pages).error.message

    assert 'as in "3" or "1-5"' in message


def test_a_page_after_the_last_one_is_refused_with_their_number(read):
    assert "pages starts at 5, but the PDF has only 4 pages" in read("5").error.message
