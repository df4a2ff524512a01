"""The reference pages are made from the code."""

from __future__ import annotations

import pytest

from tools import reference


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_page_is_current(name):
    assert (reference.OUT / name).read_text("utf-8") == reference.PAGES[name](), "run python tools/reference.py"
