"""Entries in the texts of configuration files: everything around them keeps its bytes."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.extras.hosts.config_text import entry_of, is_bare, with_entry, without_entry

ENTRY = {"command": "/bin/eyespan", "args": ["serve", "--dialect", "native"]}
KEY = "mcpServers"
JSON = [
    "",
    "{}",
    "{}\n",
    "{ }",
    '{"a": 1}',
    '{\n  "mcpServers": {}\n}\n',
    '{\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
    '{\n\t"a": {"mcpServers": 3},\n\t"mcpServers": {"other": {}}, // trailing\n}\n',
    '// a comment with { and "\n{\n  /* "mcpServers": { */ "theme": "dark", // mode\n}\n',
    '{"mcpServers": {"a": 1,},}',
]


@pytest.mark.parametrize("text", JSON)
def test_an_entry_of_json_is_added_and_read_back(text):
    assert entry_of("json", with_entry("json", text, KEY, "eyespan", ENTRY), KEY, "eyespan") == ENTRY


@pytest.mark.parametrize("text", [text for text in JSON if text.strip()])
def test_the_text_of_other_entries_stays(text):
    edited = with_entry("json", text, KEY, "eyespan", ENTRY)
    removed = without_entry("json", edited, KEY, "eyespan")

    assert [token for token in text.split() if token.strip("{},") not in removed] == []
    assert entry_of("json", removed, KEY, "eyespan") is None


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=6), values, max_size=4),
    st.none() | st.dictionaries(st.text(max_size=6), values, max_size=3),
    st.sampled_from([None, 1, 2, "\t"]),
)
def test_adding_and_removing_changes_no_other_value(around, servers, indent):
    config = {**around, **({} if servers is None else {"mcpServers": servers})}
    if not isinstance(config.get("mcpServers", {}), dict):
        del config["mcpServers"]
    text = json.dumps(config, indent=indent)

    edited = with_entry("json", text, KEY, "eyespan", ENTRY)

    there = {**config, "mcpServers": {**config.get("mcpServers", {}), "eyespan": ENTRY}}
    assert json.loads(edited) == there
    removed = json.loads(without_entry("json", edited, KEY, "eyespan"))
    before = {**config, "mcpServers": {k: v for k, v in config.get("mcpServers", {}).items() if k != "eyespan"}}
    assert removed == before


def test_an_entry_is_replaced():
    once = with_entry("json", '{"mcpServers": {"a": {}}}', KEY, "eyespan", {"command": "old"})

    assert json.loads(with_entry("json", once, KEY, "eyespan", ENTRY)) == {"mcpServers": {"a": {}, "eyespan": ENTRY}}


@pytest.mark.parametrize("text", ["[]", "{", '{"mcpServers": 3}', '{"a" 1}', "nonsense", '{"mcpServers": {"a": }}'])
def test_json_that_cannot_be_edited_is_refused(text):
    with pytest.raises(ValueError, match=r"JSON|object"):
        with_entry("json", text, KEY, "eyespan", ENTRY)


TOML = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # why\n\n[profiles.a]\nmodel = "z"\n'


@pytest.mark.parametrize("text", ["", TOML, TOML.rstrip("\n")])
def test_an_entry_of_toml_is_added_and_removed(text):
    edited = with_entry("toml", text, "mcp_servers", "eyespan", ENTRY)

    assert tomllib.loads(edited)["mcp_servers"]["eyespan"] == ENTRY
    assert without_entry("toml", edited, "mcp_servers", "eyespan").strip() == text.strip()


def test_an_entry_in_the_middle_of_toml_is_removed_alone():
    other = '[mcp_servers.other]\ncommand = "y"\n'
    text = '[mcp_servers.eyespan]\ncommand = "x"\n[mcp_servers.eyespan.env]\nA = "1"\n' + other

    assert without_entry("toml", text, "mcp_servers", "eyespan") == other


YAML = "# mine\nGOOSE_MODEL: x\nextensions:\n  developer:\n    enabled: true\nother: 1\n"


@pytest.mark.parametrize("text", ["", YAML, "a: 1", "extensions: {}\n"])
def test_an_entry_of_yaml_is_added_and_removed(text):
    edited = with_entry("yaml", text, "extensions", "eyespan", ENTRY)

    assert '  eyespan:\n    command: "/bin/eyespan"\n    args: ["serve", "--dialect", "native"]\n' in edited
    assert entry_of("yaml", edited, "extensions", "eyespan") is True
    assert "eyespan" not in without_entry("yaml", edited, "extensions", "eyespan")


DEEP = "extensions:\n    # first\n\n    developer:\n        eyespan:\n            a: 1\nother: 1\n"


@pytest.mark.parametrize("text", [YAML, DEEP])
def test_other_entries_of_yaml_stay(text):
    edited = with_entry("yaml", text, "extensions", "eyespan", ENTRY)

    assert without_entry("yaml", edited, "extensions", "eyespan") == text


def test_an_entry_of_yaml_has_the_indentation_of_the_others():
    edited = with_entry("yaml", DEEP, "extensions", "eyespan", {"cmd": "x"})

    assert edited == DEEP.replace("extensions:\n", 'extensions:\n    eyespan:\n        cmd: "x"\n')


def test_a_file_of_one_entry_is_bare_without_it():
    for form, key in (("json", KEY), ("toml", "mcp_servers"), ("yaml", "extensions")):
        alone = with_entry(form, "", key, "eyespan", ENTRY)
        assert is_bare(form, without_entry(form, alone, key, "eyespan"), key)


@pytest.mark.parametrize(
    ("form", "key", "text"),
    [
        ("json", KEY, '{\r\n  // mine\r\n  "mcpServers": {\r\n    "a": {},\r\n  }\r\n}\r\n'),
        ("toml", "mcp_servers", TOML.replace("\n", "\r\n")),
        ("yaml", "extensions", YAML.replace("\n", "\r\n")),
    ],
)
def test_lines_that_end_at_crlf_keep_their_ends(form, key, text):
    edited = with_entry(form, text, key, "eyespan", ENTRY)

    assert edited.count("\n") == edited.count("\r\n") > text.count("\n")
    assert entry_of(form, edited, key, "eyespan")
    assert without_entry(form, edited, key, "eyespan") == text
