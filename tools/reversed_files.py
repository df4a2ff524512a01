"""A pytest plugin that runs the tests in reverse order, to find tests that need others to run before them.

Usage: PYTHONPATH=$PWD pytest -p tools.reversed_files
"""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.reverse()
