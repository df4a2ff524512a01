from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    import tree

    folder = tmp_path_factory.mktemp("f")
    tree.make(folder)
    return folder
