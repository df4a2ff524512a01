from __future__ import annotations

import json

import pytest

from eyespan import tokens
from eyespan.dialects.native import Native


def test_schema_and_description_cost_little():
    spec = Native().spec

    assert spec.name == "read"
    assert tokens.estimate(json.dumps([spec.description, spec.input_schema])) <= 400


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"separator": "dash"}, "separator must be one of tab, colon, pipe, arrow, blank"),
        ({"numbers": -1}, "numbers must be"),
        ({"budget": 10}, "budget must be"),
    ],
)
def test_invalid_settings_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        Native(**settings)
