"""Damaged documents, 200 of a kind; `make fuzz` reads thousands."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent.parent / "tools" / "fuzz_documents.py"
spec = importlib.util.spec_from_file_location("fuzz_documents", TOOL)
fuzz_documents = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz_documents)


@pytest.mark.parametrize("kind", sorted(fuzz_documents.KINDS))
def test_damaged_documents_break_no_promise(kind):
    broken, outcomes = fuzz_documents.run(kind, 200, seed=20)

    assert broken == []
    assert sum(outcomes.values()) == 200
    assert len(outcomes) > 1  # some were read and some were not: the damage was neither nothing nor everything
