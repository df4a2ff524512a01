"""`eyespan doctor`."""

from __future__ import annotations

import json


def test_each_part_has_one_row(directory, eyespan):
    rows = json.loads(eyespan("doctor", "--json")[1])

    assert {row["name"] for row in rows} >= {"guard", "inner loops"}
    assert len(eyespan("doctor")[1].splitlines()) == len(rows)
