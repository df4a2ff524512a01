"""LangChain's own agent loop with its own fake model: the model calls the tool, and what it shows arrives."""

import asyncio

import pytest

pytest.importorskip("langchain.agents", reason="LangChain is an extra; tools/hosts_frameworks.sh installs it")

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage

from eyespan.extras.hosts.langchain import to_langchain

from .samples import PDF_BASE64, PNG_BASE64


class Model(FakeMessagesListChatModel):
    """A chat model with scripted answers. Records the tools it is given."""

    bound: list = []

    def bind_tools(self, tools, **_):
        self.bound.extend(tools)
        return self


def run(tool, arguments, awaited=False):
    call = {"name": tool.spec.name, "args": arguments, "id": "c1"}
    model = Model(responses=[AIMessage("", tool_calls=[call]), AIMessage("done")])
    agent = create_agent(model, tools=[to_langchain(tool)])
    asked = {"messages": [("user", "read it")]}
    messages = (asyncio.run(agent.ainvoke(asked)) if awaited else agent.invoke(asked))["messages"]
    (answer,) = [message for message in messages if isinstance(message, ToolMessage)]
    return answer, model


@pytest.mark.parametrize("awaited", [False, True])
def test_text_arrives(workspace, awaited):
    answer, model = run(workspace.tool("forge"), {"path": "hello.txt"}, awaited)

    assert (answer.content, answer.status) == ("1\thello\n2\tworld\n", "success")
    assert answer.artifact.structured["total_lines"] == 2
    assert model.bound[0].args_schema == workspace.tool("forge").spec.input_schema


@pytest.mark.parametrize("awaited", [False, True])
def test_images_and_documents_arrive(album, awaited):
    answer, _ = run(album, {"path": "hello.txt"}, awaited)

    assert answer.content == [
        {"type": "text", "text": "seen"},
        {"type": "image", "base64": PNG_BASE64, "mime_type": "image/png"},
        {"type": "file", "base64": PDF_BASE64, "mime_type": "application/pdf"},
    ]
    assert [block["type"] for block in answer.content_blocks] == ["text", "image", "file"]


@pytest.mark.parametrize("awaited", [False, True])
def test_a_failed_read_is_a_message_not_an_exception(workspace, awaited):
    answer, _ = run(workspace.tool("claude"), {"file_path": "relative", "config": 1, "other": [1]}, awaited)

    assert (answer.content, answer.status) == ("file_path must be an absolute path, not a relative path", "error")


def test_strict_takes_null_for_absent(workspace, tmp_path):
    tool = to_langchain(workspace.tool("codex"), strict=True)

    assert tool.args_schema["required"] == list(tool.args_schema["properties"])
    assert tool.invoke({"file_path": f"{tmp_path}/hello.txt", "offset": 2, "limit": None, "mode": None}) == "L2: world"


def test_an_agent_takes_a_whole_toolset(workspace):
    call = {"name": "read_multiple_files", "args": {"paths": ["hello.txt"]}, "id": "c1"}
    model = Model(responses=[AIMessage("", tool_calls=[call]), AIMessage("done")])
    agent = create_agent(model, tools=to_langchain(workspace.toolset("filesystem")))

    messages = agent.invoke({"messages": [("user", "read them")]})["messages"]

    (answer,) = [message for message in messages if isinstance(message, ToolMessage)]
    assert answer.content == "hello.txt:\nhello\nworld\n\n"
    assert len({tool.name for tool in model.bound}) == 10
