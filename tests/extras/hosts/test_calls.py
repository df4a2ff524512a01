"""Tool calls of each API, answered with the items of that API."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from eyespan.hosts import afrom_tool_call, afrom_tool_calls, from_tool_call, from_tool_calls

from .samples import PDF_BASE64, PNG_BASE64

VIEW = "     1\thello\n     2\tworld"


def responses(name, arguments, call_id="c1"):
    return {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": name, "arguments": arguments}


def chat(name, arguments, call_id="c1"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def anthropic(name, arguments, call_id="c1"):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


@pytest.fixture
def claude(workspace):
    return workspace.tool("claude")


@pytest.fixture
def hello(tmp_path):
    return {"file_path": f"{tmp_path}/hello.txt"}


def test_a_call_of_responses_is_answered_with_a_function_call_output(claude, hello):
    item = from_tool_call(claude, responses("Read", json.dumps(hello)))

    assert item == {"type": "function_call_output", "call_id": "c1", "output": VIEW}


def test_a_call_of_chat_completions_is_answered_with_a_tool_message(claude, hello):
    item = from_tool_call(claude, chat("Read", json.dumps(hello)))

    assert item == {"role": "tool", "tool_call_id": "c1", "content": VIEW}


def test_a_call_of_anthropic_is_answered_with_a_tool_result(claude, hello):
    item = from_tool_call(claude, anthropic("Read", hello))

    assert item == {"type": "tool_result", "tool_use_id": "c1", "content": VIEW, "is_error": False}


def test_a_failed_read_has_the_error_flag_if_the_api_has_one(claude):
    item = from_tool_call(claude, anthropic("Read", {"file_path": "/nowhere"}))

    assert item["is_error"] is True
    assert item["content"] == "Access denied: the file is outside the folders that may be read."


def test_calls_may_be_objects_and_arguments_a_dictionary_or_text(claude, hello):
    text = json.dumps(hello)
    item = SimpleNamespace(type="function_call", call_id="c1", name="Read", arguments=text)
    call = SimpleNamespace(type="function", id="c1", function=SimpleNamespace(name="Read", arguments=hello))
    block = SimpleNamespace(type="tool_use", id="c1", name="Read", input=text.encode())

    assert from_tool_call(claude, item)["output"] == VIEW
    assert from_tool_call(claude, call)["content"] == VIEW
    assert from_tool_call(claude, block)["content"] == VIEW


def test_responses_accept_text_images_and_files(album):
    item = from_tool_call(album, responses("look", '{"path": "hello.txt"}'))

    assert item["output"] == [
        {"type": "input_text", "text": "seen"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG_BASE64}", "detail": "auto"},
        {
            "type": "input_file",
            "filename": "hello.txt.pdf",
            "file_data": f"data:application/pdf;base64,{PDF_BASE64}",
        },
    ]


def test_anthropic_accepts_text_images_and_documents(album):
    item = from_tool_call(album, anthropic("look", {"path": "hello.txt"}))

    assert item["content"] == [
        {"type": "text", "text": "seen"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_BASE64}},
        {
            "type": "document",
            "title": "hello.txt.pdf",
            "source": {"type": "base64", "media_type": "application/pdf", "data": PDF_BASE64},
        },
    ]


def test_a_tool_message_describes_images_and_files(album):
    item = from_tool_call(album, chat("look", '{"path": "hello.txt"}'))

    assert item["content"] == [
        {"type": "text", "text": "seen"},
        {"type": "text", "text": "[image/png, 69 bytes]"},
        {"type": "text", "text": "[application/pdf, 8 bytes]"},
    ]


def test_a_turn_of_chat_ends_with_a_user_message_with_the_images(album):
    calls = [chat("look", '{"path": "hello.txt"}', "c1"), chat("look", '{"path": "none"}', "c2")]

    first, second, attachments = from_tool_calls(album, calls)

    assert (first["tool_call_id"], second["tool_call_id"], second["content"]) == (
        "c1",
        "c2",
        "not seen: No such file or directory",
    )
    assert attachments == {
        "role": "user",
        "content": [
            {"type": "text", "text": "hello.txt:"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG_BASE64}"}},
            {
                "type": "file",
                "file": {"filename": "hello.txt", "file_data": f"data:application/pdf;base64,{PDF_BASE64}"},
            },
        ],
    }


def test_a_turn_of_anthropic_is_one_user_message(claude, hello):
    calls = [anthropic("Read", hello, "c1"), anthropic("Read", hello, "c2")]

    (message,) = from_tool_calls(claude, calls)

    assert message["role"] == "user"
    assert [block["tool_use_id"] for block in message["content"]] == ["c1", "c2"]


def test_a_turn_without_calls_adds_nothing(claude):
    assert from_tool_calls(claude, []) == []


def test_the_async_functions_answer_the_same(album, claude, hello):
    calls = [anthropic("Read", hello, "c1"), anthropic("look", {"path": "hello.txt"}, "c2"), anthropic("no", {}, "c3")]
    tools = [claude, album]

    assert asyncio.run(afrom_tool_call(tools, calls[1])) == from_tool_call(tools, calls[1])
    assert asyncio.run(afrom_tool_calls(iter(tools), calls)) == from_tool_calls(iter(tools), calls)


@pytest.mark.parametrize("alias", ["Read", "read", "read_file", "read-file", "ReadFile"])
def test_a_tool_answers_to_its_aliases(workspace, alias):
    item = from_tool_call([workspace.tool("forge")], responses(alias, '{"path": "hello.txt", "head": 1}'))

    assert item["output"] == "1\thello\n"


def test_a_name_takes_precedence_over_an_alias(workspace):
    tools = [workspace.tool("forge"), workspace.tool("workspace")]

    item = from_tool_call(tools, responses("read_file", '{"path": "hello.txt"}'))

    assert json.loads(item["output"])["content"] == "hello\nworld\n"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("Write", "{}", "There is no tool 'Write'; there is: Read."),
        (None, "{}", "There is no tool None; there is: Read."),
        ("\ud800", "{}", "There is no tool '\\ud800'; there is: Read."),
        ("Read", '{"file_path": ', "the arguments are not valid JSON: Expecting value: line 1 column 15 (char 14)"),
        ("Read", '{"limit": NaN}', "the arguments are not valid JSON: NaN is not JSON"),
        ("Read", "[" * 100_000, "the arguments are nested too deeply"),
        ("Read", b"\xff", "the arguments are not valid JSON"),
        ("Read", '{"limit": ' + "9" * 5000 + "}", "the arguments are not valid JSON"),
        ("Read", "[]", "the arguments must be an object with file_path"),
        ("Read", "", "file_path is required and must be a string"),
        ("Read", None, "file_path is required and must be a string"),
        ("Read", 7, "the arguments must be an object with file_path"),
    ],
)
def test_a_mistake_of_the_model_is_answered_with_an_error(claude, name, arguments, message):
    item = from_tool_call(claude, anthropic(name, arguments))

    assert item["is_error"] is True
    assert item["content"].startswith(message)
    item["content"].encode()


@pytest.mark.parametrize(
    "call",
    [
        None,
        "Read",
        {},
        {"type": "text", "text": "hi"},
        {"type": "server_tool_use", "id": "c1", "name": "Read", "input": {}},
        {"type": "function_call", "name": "Read", "arguments": "{}"},
        {"name": "Read", "arguments": "{}"},
    ],
)
def test_an_object_that_is_not_a_tool_call_raises(claude, call):
    with pytest.raises(TypeError, match="not a tool call"):
        from_tool_call(claude, call)


def test_two_tools_of_one_name_are_ambiguous(workspace):
    with pytest.raises(ValueError, match="two of the tools have the name 'Read'"):
        from_tool_call([workspace.tool("claude"), workspace.tool("forge")], responses("Read", "{}"))


def test_nulls_of_a_strict_call_are_dropped(workspace, hello):
    codex = workspace.tool("codex")
    arguments = {
        **hello,
        "offset": 2,
        "limit": None,
        "mode": None,
        "indentation": {
            "anchor_line": None,
            "max_levels": None,
            "include_siblings": None,
            "include_header": None,
            "max_lines": None,
        },
    }
    call = responses("read_file", json.dumps(arguments))

    assert from_tool_call(codex, call, strict=True)["output"] == "L2: world"
    assert from_tool_call(codex, call)["output"].startswith("failed to parse function arguments: limit: invalid type")


def test_an_empty_answer_is_an_empty_string(workspace, tmp_path):
    (tmp_path / "empty").touch()
    forge = workspace.tool("forge")

    assert from_tool_call(forge, responses("Read", '{"path": "empty"}'))["output"] == ""
    assert from_tool_call(forge, anthropic("Read", {"path": "empty"}))["content"] == ""


def gemini(name, arguments, call_id="c1"):
    return {"functionCall": {"id": call_id, "name": name, "args": arguments}}


def test_a_call_of_gemini_is_answered_with_a_function_response(claude, hello):
    item = from_tool_call(claude, gemini("Read", hello))

    assert item == {"functionResponse": {"id": "c1", "name": "Read", "response": {"output": VIEW}}}


@pytest.mark.parametrize("wrap", [lambda call: call, lambda call: SimpleNamespace(function_call=call)])
def test_a_call_of_gemini_may_be_an_object(claude, hello, wrap):
    call = wrap(SimpleNamespace(id=None, name="Read", args=hello))

    item = from_tool_call(claude, call)

    assert item == {"functionResponse": {"name": "Read", "response": {"output": VIEW}}}


def test_a_turn_of_gemini_is_one_content_with_images_in_their_responses(album):
    (content,) = from_tool_calls(album, [gemini("look", {"path": "hello.txt"}), gemini("look", {"path": 3}, "c2")])

    first, second = [part["functionResponse"] for part in content["parts"]]
    assert content["role"] == "user"
    assert first["response"] == {"output": "seen"}
    assert first["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": PNG_BASE64}},
        {"inlineData": {"mimeType": "application/pdf", "data": PDF_BASE64}},
    ]
    assert second["id"] == "c2"


def test_a_failed_read_of_gemini_is_an_error(claude):
    item = from_tool_call(claude, gemini("Read", {"file_path": "/nowhere"}))

    assert list(item["functionResponse"]["response"]) == ["error"]
