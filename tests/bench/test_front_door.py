"""The forms and mistakes of bench/front_door.py, on a small tree."""

from __future__ import annotations

import pytest

from bench import front_door


@pytest.fixture
def repository(tmp_path):
    for path in ("src/core/reader.py", "src/api/routes.ts", "docs/guide/start.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("".join(f"line {number} of {path}\n" for number in range(1, 41)))
    return tmp_path


def test_every_form_is_read(repository):
    failures: list[str] = []
    front_door.measure_forms([repository], 1, failures)

    assert failures == []


def test_every_mistake_is_read_or_answered_with_the_file(repository):
    failures: list[str] = []
    table, _ = front_door.measure_paths([repository], 3, failures)

    assert failures == []
    assert all(sum(results.values()) for results in table.values())
