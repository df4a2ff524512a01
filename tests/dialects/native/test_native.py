from __future__ import annotations

import json

import pytest

from eyespan import tokens
from eyespan.dialects.native import Native


def test_schema_and_description_cost_little():
    spec = Native().spec

    assert spec.name == "read"
    assert tokens.estimate(json.dumps([spec.description, spec.input_schema])) <= 400


def test_the_definition_costs_350_tokens_at_most():
    vocabulary = pytest.importorskip("bpe_openai", reason="bpe-openai is not installed")
    spec = Native().spec
    definition = {"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}

    assert len(vocabulary.get_encoding("o200k_base").encode_ordinary(json.dumps(definition))) <= 350


@pytest.mark.parametrize(
    "taught", ["40- to the end", "@HEAD~3", "@v1..v2", "?regex", "303::", "known", "map", "-50", "p3-5", "!/"]
)
def test_the_definition_teaches_each_kind_of_selector(taught):
    spec = Native().spec

    assert taught in spec.description + json.dumps(spec.input_schema)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"numbers": 0}, "numbers must be"),
        ({"budget": 10}, "budget must be"),
    ],
)
def test_invalid_settings_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        Native(**settings)


def test_anchors_need_a_number_on_every_line():
    with pytest.raises(ValueError, match="anchors need a number on every line"):
        Native(anchors=True, numbers=5)
