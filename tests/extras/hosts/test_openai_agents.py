"""The Agents SDK's own runner with its own scripted model: the model calls the tool, and what it shows arrives."""

import asyncio
import json
from copy import deepcopy

import pytest

pytest.importorskip("agents", reason="openai-agents is an extra; tools/hosts_frameworks.sh installs it")

from agents import Agent, RunConfig, Runner
from agents.strict_schema import ensure_strict_json_schema
from agents.testing import ScriptedModel, assistant_message, function_call

from eyespan.dialects import dialect_names
from eyespan.extras.hosts.openai_agents import to_openai_agents
from eyespan.extras.hosts.schemas import openai_strict

from .samples import PDF_BASE64, PNG_BASE64


def run(tool, arguments, strict=False):
    call = function_call(tool.spec.name, arguments, call_id="c1")
    model = ScriptedModel([[call], [assistant_message("done")]])
    agent = Agent(name="reader", model=model, tools=[to_openai_agents(tool, strict=strict)])
    result = asyncio.run(Runner.run(agent, "read it", run_config=RunConfig(tracing_disabled=True)))
    assert result.final_output == "done"
    (item,) = [item for item in result.to_input_list() if item.get("type") == "function_call_output"]
    assert item["call_id"] == "c1"
    return item["output"]


def test_text_arrives(workspace):
    assert run(workspace.tool("forge"), '{"path": "hello.txt"}') == [
        {"type": "input_text", "text": "1\thello\n2\tworld\n"}
    ]


def test_images_and_documents_arrive(album):
    text, image, document = run(album, '{"path": "hello.txt"}')

    assert text == {"type": "input_text", "text": "seen"}
    assert (image["type"], image["image_url"]) == ("input_image", f"data:image/png;base64,{PNG_BASE64}")
    assert document == {
        "type": "input_file",
        "file_data": f"data:application/pdf;base64,{PDF_BASE64}",
        "filename": "hello.txt.pdf",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ('{"path": "none"}', "Read failed: "),
        ('{"path": ', "the arguments are not valid JSON"),
        ("[]", "Bad args: arguments must be an object"),
    ],
)
def test_a_failed_read_is_told_to_the_model(workspace, arguments, message):
    (block,) = run(workspace.tool("forge"), arguments)

    assert block["text"].startswith(message)


def test_strict_takes_null_for_absent(workspace, tmp_path):
    arguments = {"file_path": f"{tmp_path}/hello.txt", "offset": 2, "limit": None, "mode": None, "indentation": None}

    assert run(workspace.tool("codex"), json.dumps(arguments), strict=True) == [
        {"type": "input_text", "text": "L2: world"}
    ]


@pytest.mark.parametrize("name", dialect_names())
def test_the_sdks_own_helper_finds_nothing_to_add_to_our_strict_schemas(workspace, name):
    ours = openai_strict(workspace.toolset(name)[0].spec.input_schema)

    assert ensure_strict_json_schema(deepcopy(ours)) == ours


def test_a_toolset_becomes_a_list(workspace):
    tools = workspace.toolset("filesystem")

    assert [tool.name for tool in to_openai_agents(tools)] == [tool.spec.name for tool in tools]
