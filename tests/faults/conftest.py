from __future__ import annotations

import pytest

from . import fault_tree


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A directory with the tree of `fault_tree`."""
    directory = tmp_path_factory.mktemp("f")
    fault_tree.make(directory)
    return directory
