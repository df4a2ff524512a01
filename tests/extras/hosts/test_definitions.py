"""Tool definitions: the texts and schemas of the dialect, byte for byte, in the form of each API."""

import pytest

from eyespan.dialects import dialect_names
from eyespan.extras.hosts.schemas import anthropic_strict, openai_strict
from eyespan.hosts import from_tool_call, to_anthropic, to_mcp, to_openai


@pytest.mark.parametrize("name", dialect_names())
def test_each_definition_has_the_texts_and_schema_of_the_dialect_unchanged(workspace, name):
    tool = workspace.toolset(name)[0]
    spec = tool.spec
    words = {"name": spec.name, "description": spec.description}

    flat = {**words, "parameters": spec.input_schema, "strict": False}
    assert to_openai(tool) == {"type": "function", **flat}
    assert to_openai(tool, api="chat") == {"type": "function", "function": flat}
    if name != "text-editor":
        assert to_anthropic(tool) == {**words, "input_schema": spec.input_schema}
    mcp = to_mcp(tool)
    assert mcp.pop("annotations") == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    mcp.pop("_meta", None)  # hints for single hosts
    assert bool(mcp.pop("outputSchema", None)) == name.startswith(("workspace", "filesystem"))  # results are objects
    assert mcp == {**words, "inputSchema": spec.input_schema}


def test_the_built_in_tool_of_an_api_is_given_by_its_type(workspace):
    built_in = {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}

    assert to_anthropic(workspace.tool("text-editor")) == built_in
    limited = workspace.tool("text-editor", max_characters=10_000)
    assert to_anthropic(limited) == {**built_in, "max_characters": 10_000}


def test_a_call_of_the_built_in_tool_is_answered(workspace):
    call = {"type": "tool_use", "id": "t", "name": "str_replace_based_edit_tool"}
    views = [{"command": "view", "path": "hello.txt"}, {"command": "create", "path": "x", "file_text": ""}]

    items = [from_tool_call(workspace.tool("text-editor"), {**call, "input": view}) for view in views]

    assert [item["is_error"] for item in items] == [False, True]
    assert items[0]["content"].startswith("1: ")


@pytest.mark.parametrize("name", dialect_names())
def test_strict_definitions_are_strict(workspace, name):
    tool = workspace.toolset(name)[0]

    assert to_openai(tool, strict=True)["strict"] is True
    assert to_openai(tool, strict=True)["parameters"] == openai_strict(tool.spec.input_schema)
    assert to_openai(tool, strict=True, api="chat")["function"]["strict"] is True
    assert to_anthropic(tool, strict=True)["strict"] is True
    assert to_anthropic(tool, strict=True)["input_schema"] == anthropic_strict(tool.spec.input_schema)


def test_a_definition_may_be_changed_without_changing_the_tool(workspace):
    tool = workspace.tool("claude")

    for definition in (to_openai(tool)["parameters"], to_anthropic(tool)["input_schema"], to_mcp(tool)["inputSchema"]):
        definition["properties"].clear()

    assert "file_path" in tool.spec.input_schema["properties"]


def test_an_unknown_api_is_refused(workspace):
    with pytest.raises(ValueError, match='api must be "responses" or "chat"'):
        to_openai(workspace.tool("claude"), api="completions")


@pytest.mark.parametrize("convert", [to_openai, to_anthropic, to_mcp])
def test_a_toolset_becomes_a_list_of_definitions(workspace, convert):
    tools = workspace.toolset("filesystem")

    assert convert(tools) == [convert(tool) for tool in tools]
    assert len(convert(tools)) == 10


def test_options_apply_to_every_tool_of_a_toolset(workspace):
    made = to_openai(workspace.toolset("gemini"), strict=True, api="chat")

    assert [(one["function"]["name"], one["function"]["strict"]) for one in made] == [
        ("read_file", True),
        ("read_many_files", True),
    ]


def test_calls_of_a_toolset_are_answered_by_the_tool_they_name(workspace):
    call = {"type": "tool_use", "id": "t", "name": "read_text_file", "input": {"path": "hello.txt", "head": 1}}

    item = from_tool_call(workspace.toolset("filesystem"), call)

    assert (item["content"], item["is_error"]) == ("hello", False)
