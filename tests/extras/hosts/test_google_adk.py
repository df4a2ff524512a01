"""The kit's own runner with a model double of its own base class: the tool is called, and what it shows arrives."""

import asyncio

import pytest

pytest.importorskip("google.adk", reason="google-adk is an extra; tools/hosts_frameworks.sh installs it")

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from eyespan.extras.hosts.google_adk import to_google_adk

from .samples import PDF, PNG


class Model(BaseLlm):
    """Calls the tool once and answers done after that. Keeps the requests."""

    call: types.FunctionCall
    requests: list = []

    async def generate_content_async(self, llm_request, stream=False):
        self.requests.append(llm_request.model_copy(deep=True))
        part = types.Part(function_call=self.call) if len(self.requests) == 1 else types.Part(text="done")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def run(tool, arguments):
    """The function response as the model got it, and the declaration it was shown."""
    model = Model(model="fake", call=types.FunctionCall(id="c1", name=tool.spec.name, args=arguments), requests=[])
    agent = LlmAgent(name="reader", model=model, tools=[to_google_adk(tool)])

    async def go():
        runner = InMemoryRunner(agent=agent, app_name="test")
        session = await runner.session_service.create_session(app_name="test", user_id="u")
        message = types.Content(role="user", parts=[types.Part(text="read it")])
        return [event async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message)]

    events = asyncio.run(go())
    assert events[-1].content.parts[0].text == "done"
    response = model.requests[-1].contents[-1].parts[0].function_response
    return response, model.requests[0].config.tools[0].function_declarations[0]


def test_text_arrives(workspace):
    response, declaration = run(workspace.tool("forge"), {"path": "hello.txt"})

    assert response.response == {"result": "1\thello\n2\tworld\n"}
    assert declaration.parameters_json_schema == workspace.tool("forge").spec.input_schema


def test_images_and_documents_arrive(album):
    response, _ = run(album, {"path": "hello.txt"})

    assert response.response["result"] == "seen"
    assert [(part.inline_data.data, part.inline_data.mime_type) for part in response.parts] == [
        (PNG, "image/png"),
        (PDF, "application/pdf"),
    ]


def test_a_failed_read_reaches_the_model_as_an_error(workspace):
    response, _ = run(workspace.tool("claude"), {"file_path": "relative"})

    assert response.response == {"error": "file_path must be an absolute path, not a relative path"}


def test_a_toolset_becomes_a_list(workspace):
    tools = workspace.toolset("filesystem")

    assert [tool.name for tool in to_google_adk(tools)] == [tool.spec.name for tool in tools]
