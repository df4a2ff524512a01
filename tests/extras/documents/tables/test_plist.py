"""Binary property lists."""

from __future__ import annotations

import datetime
import io
import plistlib

import pytest

from eyespan.errors import Unreadable
from eyespan.extras.documents.tables import plist


def shown(value):
    return plist.decode(io.BytesIO(plistlib.dumps(value, fmt=plistlib.FMT_BINARY)), {})[1][0].decode()


def test_values_are_json():
    value = {
        "when": datetime.datetime(2024, 1, 2),
        "raw": bytes(20),
        "n": [1, 1.5, True],
        "id": plistlib.UID(3),
        "é": "",
    }

    assert shown(value) == (
        '{\n "id": "UID 3",\n "n": [\n  1,\n  "1.5",\n  true\n ],\n "raw": "[data of 20 bytes: '
        f'{bytes(16).hex()}...]",\n "when": "2024-01-02T00:00:00",\n "é": ""\n}}\n'
    )


def test_a_list_that_repeats_itself_is_cut(monkeypatch):
    monkeypatch.setattr(plist, "MAX_VALUES", 50)
    value = ["x"] * 9
    for _ in range(9):
        value = [value] * 9

    assert shown(value).endswith("[the rest is left out: too many values]\n")


def test_damage_is_refused():
    with pytest.raises(Unreadable, match="not a property list"):
        plist.decode(io.BytesIO(b"bplist00" + b"\xff" * 40), {})
