"""Fixtures of the dialects' tests."""

from __future__ import annotations

import pytest

from eyespan import opened


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch):
    """A busy machine must not cost an answer its outline."""
    monkeypatch.setattr(opened, "COURTESY_SECONDS", 8.0)
