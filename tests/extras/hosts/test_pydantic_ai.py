"""Pydantic AI's own agent loop with its own function model: the model calls the tool, and what it shows arrives."""

import pytest

pytest.importorskip("pydantic_ai", reason="Pydantic AI is an extra; tools/hosts_frameworks.sh installs it")

from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from eyespan.extras.hosts.pydantic_ai import to_pydantic_ai

from .samples import PDF, PNG


def run(tool, *calls):
    """The tool's answers to the calls of one run, and the definition that the model was shown."""
    shown, left = [], [ModelResponse([ToolCallPart(tool.spec.name, arguments)]) for arguments in calls]

    def model(messages, info):
        shown.append(info.function_tools[0])
        return left.pop(0) if left else ModelResponse([TextPart("done")])

    result = Agent(FunctionModel(model), tools=[to_pydantic_ai(tool)]).run_sync("read it")
    assert result.output == "done"
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart)], shown[0]


def test_text_arrives(workspace):
    (answer,), definition = run(workspace.tool("forge"), {"path": "hello.txt"})

    assert (answer.content, answer.outcome) == ("1\thello\n2\tworld\n", "success")
    assert answer.metadata.structured["total_lines"] == 2
    assert definition.parameters_json_schema == workspace.tool("forge").spec.input_schema


def test_images_and_documents_arrive(album):
    (answer,), _ = run(album, {"path": "hello.txt"})
    text, image, document = answer.content

    assert text == "seen"
    assert isinstance(image, BinaryContent)
    assert (image.data, image.media_type) == (PNG, "image/png")
    assert (document.data, document.media_type) == (PDF, "application/pdf")


def test_failed_reads_reach_the_model_and_do_not_count_as_retries(workspace):
    answers, _ = run(workspace.tool("claude"), *[{"file_path": f"relative{number}"} for number in range(4)])

    assert [(answer.content, answer.outcome) for answer in answers] == [
        ("file_path must be an absolute path, not a relative path", "failed")
    ] * 4


def test_a_toolset_becomes_a_list(workspace):
    tools = workspace.toolset("filesystem")

    assert [tool.name for tool in to_pydantic_ai(tools)] == [tool.spec.name for tool in tools]
