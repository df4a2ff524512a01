"""Definitions and answers, checked with the providers' own packages: types, schema helpers and clients."""

import os
import re
import subprocess
import sys
from copy import deepcopy

import pytest

pytest.importorskip("openai", reason="a judge, not a dependency; tools/hosts_frameworks.sh installs it")
pytest.importorskip("anthropic", reason="a judge, not a dependency; tools/hosts_frameworks.sh installs it")

from anthropic import transform_schema
from anthropic.types import MessageParam, ToolResultBlockParam, ToolUnionParam
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolMessageParam, ChatCompletionToolParam
from openai.types.responses import FunctionToolParam
from openai.types.responses.response_input_param import FunctionCallOutput
from pydantic import TypeAdapter

from eyespan.dialects import dialect_names
from eyespan.hosts import from_tool_call, from_tool_calls, to_anthropic, to_openai

from .fakes import Call, FakeAnthropic, FakeOpenAI
from .test_calls import anthropic, chat, responses
from .test_packaging import ROOT


def judged(kind, value):
    """The value after validation against a provider's type: equal to what went in, if nothing was dropped."""
    return TypeAdapter(kind).dump_python(TypeAdapter(kind).validate_python(value), mode="python")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", dialect_names())
def test_definitions_fit_the_providers_types(workspace, name, strict):
    tool = workspace.toolset(name)[0]

    for kind, definition in (
        (FunctionToolParam, to_openai(tool, strict=strict)),
        (ChatCompletionToolParam, to_openai(tool, strict=strict, api="chat")),
        (ToolUnionParam, to_anthropic(tool, strict=strict)),
    ):
        assert judged(kind, definition) == definition


@pytest.mark.parametrize("name", dialect_names())
def test_anthropics_own_helper_finds_nothing_unsupported_in_our_strict_schemas(workspace, name):
    """It moves a `default` into the description, though the API takes it; apart from that ours stays as it is."""
    ours = to_anthropic(workspace.toolset(name)[0], strict=True)["input_schema"]
    for schema in ours["properties"].values():
        schema.pop("default", None)

    assert transform_schema(deepcopy(ours)) == ours


def fits(kind, value):
    TypeAdapter(kind).validate_python(value)
    return True


def test_answers_fit_the_providers_types(album):
    text, arguments = '{"path": "hello.txt"}', {"path": "hello.txt"}

    assert fits(FunctionCallOutput, from_tool_call(album, responses("look", text)))
    assert fits(ChatCompletionToolMessageParam, from_tool_call(album, chat("look", text)))
    assert fits(ToolResultBlockParam, from_tool_call(album, anthropic("look", arguments)))
    assert fits(list[ChatCompletionMessageParam], from_tool_calls(album, [chat("look", text)]))
    assert fits(list[MessageParam], from_tool_calls(album, [anthropic("look", arguments)]))


def example(provider):
    """The example of the documentation that uses this provider's own client."""
    found = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/cookbook.md").read_text(), re.MULTILINE | re.DOTALL)
    return next(text for text in found if f"from {provider} import" in text)


def mypy(tmp_path, program):
    """Return what `mypy --strict` says about a program that uses this checkout."""
    pytest.importorskip("mypy", reason="tools/hosts_frameworks.sh installs it")
    (tmp_path / "loop.py").write_text(program)
    options = ["--strict", "--follow-imports", "silent", "--cache-dir", str(tmp_path / "cache")]
    return subprocess.run(
        [sys.executable, "-m", "mypy", *options, "loop.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    ).stdout


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google"])
def test_the_examples_pass_strict_types(tmp_path, provider):
    if provider == "google":
        pytest.importorskip("google.genai", reason="tools/hosts_frameworks.sh installs it")

    said = mypy(tmp_path, f'MODEL = "fake"\n{example(provider)}')

    assert said == "Success: no issues found in 1 source file\n"


TYPED = """
from typing import assert_type

from anthropic.types import ToolUnionParam
from eyespan import Workspace
from eyespan.hosts import to_anthropic, to_openai
from openai.types.chat import ChatCompletionToolParam
from openai.types.responses import FunctionToolParam

workspace = Workspace(".")
tool, toolset = workspace.tool("native"), workspace.toolset("filesystem")
assert_type(to_anthropic(tool), ToolUnionParam)
assert_type(to_anthropic(toolset, strict=True), list[ToolUnionParam])
assert_type(to_openai(tool), FunctionToolParam)
assert_type(to_openai(toolset, strict=True), list[FunctionToolParam])
assert_type(to_openai(tool, api="chat"), ChatCompletionToolParam)
assert_type(to_openai(toolset, api="chat"), list[ChatCompletionToolParam])
"""


def test_definitions_have_the_types_of_the_packages(tmp_path):
    assert mypy(tmp_path, TYPED) == "Success: no issues found in 1 source file\n"


def test_the_example_for_anthropic_runs_with_its_own_client(tmp_path, monkeypatch):
    (tmp_path / "hello.txt").write_text("hello\n")
    monkeypatch.chdir(tmp_path)
    with FakeAnthropic([Call("Read", {"file_path": f"{tmp_path}/hello.txt"}), Call("Read", {})]) as model:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
        exec(example("anthropic"), {"MODEL": "fake"})

    first, second = model.results()
    assert (first["content"], first["is_error"]) == ("     1\thello", False)
    assert (second["content"], second["is_error"]) == ("file_path is required and must be a string", True)


def test_the_example_for_openai_runs_with_its_own_client(tmp_path, monkeypatch):
    (tmp_path / "hello.txt").write_text("hello\nworld\n")
    monkeypatch.chdir(tmp_path)
    arguments = {"file_path": f"{tmp_path}/hello.txt", "offset": 2, "limit": None, "mode": None, "indentation": None}
    with FakeOpenAI([Call("read_file", arguments)]) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "dummy")
        exec(example("openai"), {"MODEL": "fake"})

    assert [result["output"] for result in model.results()] == ["L2: world"]
    assert model.tool("read_file")["strict"] is True
