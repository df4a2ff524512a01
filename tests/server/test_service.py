"""Tools and resources of one caller, in process."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.dialects import dialect_names, forms
from eyespan.server.mcp_names import COMMON_METHODS, RpcError
from eyespan.server.serve_options import ServeOptions
from eyespan.server.service import PLAIN, Service
from tests.test_selectors_everywhere import pdf

from .clients import TEMPLATE

FIXTURES = Path(__file__).parents[1] / "fixtures"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082"
)


@pytest.fixture
def service(tree):
    """Return a function that makes services over the same workspace."""
    with Workspace(tree) as workspace:
        yield lambda *dialects, max_result_bytes=None, **options: Service(
            workspace, dialects, replace(PLAIN, **options), max_result_bytes=max_result_bytes
        )


def ask(service, method, **params):
    return service.handler(method)(params, "judge", CallContext())


def call(service, tool, **arguments):
    return ask(service, "tools/call", name=tool, arguments=arguments)


def listed(service):
    return ask(service, "tools/list")["tools"]


def test_every_common_method_has_a_handler(service):
    made = service("codex")

    assert all(callable(made.handler(method)) for method in COMMON_METHODS)


# --- tools ---------------------------------------------------------------------------------------------------------


def test_native_is_the_default_dialect(service):
    assert [tool["name"] for tool in listed(service())] == ["read"]


def test_a_definition_has_the_schema_of_the_dialect_byte_for_byte(service, tree):
    spec = Workspace(tree).tool("codex").spec

    (tool,) = listed(service("codex"))

    assert json.dumps(tool["inputSchema"]) == json.dumps(spec.input_schema)
    assert tool["description"] == spec.description
    assert tool["_meta"] == {"anthropic/alwaysLoad": True}
    assert tool["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


def test_several_dialects_get_prefixed_names_and_answer_to_unique_names_without_prefix(service, tree):
    made = service("codex", "claude", "workspace")

    prefixed = call(made, "codex_read_file", file_path=str(tree / "hello.txt"))
    unique = call(made, "Read", file_path=str(tree / "hello.txt"))
    with pytest.raises(RpcError) as ambiguous:
        call(made, "read_file", path="hello.txt")

    assert [tool["name"] for tool in listed(made)] == ["codex_read_file", "claude_Read", "workspace_read_file"]
    assert prefixed["content"][0]["text"] == "L1: hello\nL2: world"
    assert unique["isError"] is False
    assert ambiguous.value.code == -32602


def test_the_instructions_have_at_most_1500_characters(service, tmp_path):
    deep = tmp_path / "/".join(["a directory with a long name"] * 20)
    deep.mkdir(parents=True)

    with Workspace(deep) as workspace:
        alone = [Service(workspace, [name]).instructions for name in dialect_names()]
    together = service(*dialect_names()).instructions

    assert max(map(len, [*alone, together])) <= 1500
    assert "Reads files below its directories with read;" in alone[dialect_names().index("native")]


def test_the_instructions_name_the_roots_as_the_host_does(tree):
    with Workspace(tree, map={"/workspace": str(tree)}) as workspace:
        assert Service(workspace, ["codex"]).instructions.startswith("Reads files below /workspace with read_file;")


def test_only_the_workspace_dialect_answers_with_structured_content(service, tree):
    workspace, claude = service("workspace"), service("claude")

    structured = call(workspace, "read_file", path="hello.txt")
    blocks = call(claude, "Read", file_path=str(tree / "hello.txt"))

    assert set(listed(workspace)[0]["outputSchema"]["required"]) == set(structured["structuredContent"])
    assert json.loads(structured["content"][0]["text"]) == structured["structuredContent"]
    assert "outputSchema" not in listed(claude)[0]
    assert "structuredContent" not in blocks
    own = {"lines_returned": 2, "truncated": False, "total_lines": 2}
    assert blocks["_meta"] == {"eyespan/facts": {**own, "tokens": 11, "bytes": 25, "lines": 2, "file_bytes": 12}}
    assert structured["_meta"]["eyespan/facts"]["total_lines"] == 2


def test_facts_do_not_repeat_contents(service, tree):
    made = service("forge")

    result = call(made, listed(made)[0]["name"], path=str(tree / "hello.txt"))

    assert "hello" not in json.dumps(result["_meta"]["eyespan/facts"]).replace("hello.txt", "")


def test_a_refused_read_is_an_error_result(service, tree):
    result = call(service("claude"), "Read", file_path=str(tree / ".env"))

    assert result["isError"] is True
    assert result["_meta"] == {"eyespan/error": {"code": "policy_denied"}}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": "nope"}),
        ("tools/call", {"name": ["Read"]}),
        ("resources/read", {"uri": 7}),
        ("completion/complete", {"ref": {"type": "ref/prompt"}}),
        ("completion/complete", {"ref": {"type": "ref/prompt"}, "argument": {}}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": TEMPLATE}, "argument": {"value": 1}}),
    ],
)
def test_wrong_parameters_are_a_protocol_error(service, method, params):
    with pytest.raises(RpcError) as refused:
        ask(service("claude"), method, **params)

    assert refused.value.code == -32602


def test_an_image_is_an_image_block(service, tree):
    (tree / "dot.png").write_bytes(PNG)

    block = call(service("claude"), "Read", file_path=str(tree / "dot.png"))["content"][0]

    assert (block["type"], block["mimeType"]) == ("image", "image/png")
    assert block["data"].startswith(b"\x89PNG")


def test_a_document_is_a_note(service, tree):
    data = (FIXTURES / "pdfs/book.pdf").read_bytes()
    (tree / "a b.pdf").write_bytes(data)
    made = service("claude", settings={"claude": {"pdf": "document"}})

    block = call(made, "Read", file_path=str(tree / "a b.pdf"))["content"][0]

    note = f"[A document of type application/pdf, {len(data)} bytes, which is not sent over MCP.]"
    assert block == {"type": "text", "text": note}


def test_a_result_that_is_too_large_is_an_error_the_model_understands(service, tree):
    result = call(service("claude", max_result_bytes=20), "Read", file_path=str(tree / "src" / "app.py"))

    assert result["isError"] is True
    assert result["_meta"] == {"eyespan/error": {"code": "answer_too_large"}}
    assert "Ask for fewer lines" in result["content"][0]["text"]


def test_a_name_that_is_not_utf_8_is_escaped_or_read(service, tree):
    made = service("claude")
    (tree / os.fsdecode(b"bad\xffname.txt")).write_text("x\n")

    by_escape = call(made, "Read", file_path=str(tree) + "/\ud800.txt")
    by_bytes = call(made, "Read", file_path=str(tree / os.fsdecode(b"bad\xffname.txt")))
    with pytest.raises(RpcError) as unknown:
        ask(made, "tools/call", name="\udfff")

    assert by_escape["isError"] is True
    assert by_bytes["content"][0]["text"] == "     1\tx"
    assert unknown.value.as_json()["message"] == "Unknown tool: \\udfff"


# --- resources -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["{name}", "{root}/{name}"])
def test_a_file_is_a_resource_with_ranges(service, tree, spelling):
    uri = f"file:///{spelling.format(name='src/app.py', root=str(tree).lstrip('/'))}?start=3&limit=2"

    (contents,) = ask(service(), "resources/read", uri=uri)["contents"]

    assert contents["uri"] == uri
    assert contents["text"] == "line 3\nline 4\n"
    assert contents["mimeType"] == "text/x-python"
    assert contents["_meta"]["eyespan/facts"]["total_lines"] == 100


def test_a_binary_file_is_a_blob(service):
    (contents,) = ask(service(), "resources/read", uri="file:///blob.bin")["contents"]

    assert contents["blob"] == bytes(range(256))
    assert "text" not in contents


@pytest.mark.parametrize(
    "uri",
    [
        "file:///.env",
        "file:///out",
        "file:////etc/passwd",
        "file:///../../etc/passwd",
        "file:///%2e%2e/%2e%2e/etc/passwd",
        "file://evil/hello.txt",
        "http://localhost/hello.txt",
        "hello.txt",
        "file:///hello.txt?start=0",
        "file:///hello.txt?start=x",
        "file:///hello.txt?other=1",
        "file:///pipe",
        "file:///src",
        "file:///none.txt",
        "file:///a%00b",
        "file:///",
    ],
)
def test_a_resource_that_may_not_be_read_is_a_protocol_error_with_its_uri(service, uri):
    with pytest.raises(RpcError) as refused:
        ask(service(), "resources/read", uri=uri)

    assert (refused.value.code, refused.value.data) == (-32002, {"uri": uri})
    assert "root:" not in refused.value.message


def complete(service, value, name="path"):
    params = {"ref": {"type": "ref/resource", "uri": TEMPLATE}, "argument": {"name": name, "value": value}}
    return ask(service, "completion/complete", **params)["completion"]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("s", ["src/"]),
        ("src/", ["src/app.py"]),
        ("{tree}/hel", ["{tree}/hello.txt"]),
        (".e", []),  # .env is denied, so it is not listed either
        ("../", []),
        ("/etc/", []),
    ],
)
def test_paths_are_completed_within_the_roots(service, tree, value, found):
    values = complete(service(), value.format(tree=tree))["values"]

    assert values == [path.format(tree=tree) for path in found]


def test_only_the_path_of_the_template_is_completed(service):
    assert complete(service(), "s", name="start") == {"values": [], "total": 0, "hasMore": False}


def test_a_long_completion_is_cut_and_reports_that(service, tree):
    (tree / "many").mkdir()
    for number in range(150):
        (tree / "many" / f"f{number:03}").touch()

    completion = complete(service(), "many/f")

    assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (100, 150, True)


def test_resources_are_offered_by_a_template_and_not_listed(service):
    made = service()

    assert ask(made, "resources/templates/list")["resourceTemplates"][0]["uriTemplate"] == TEMPLATE
    assert ask(made, "resources/list") == {"resources": []}


KINDS = ("hello.txt", "long.txt", "wide.txt", "pixel.png", "data.bin", "empty.txt", "nb.ipynb", "doc.pdf", ".", "gone")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    directory = tmp_path_factory.mktemp("kinds")
    (directory / "hello.txt").write_text("hello\nworld\n")
    (directory / "long.txt").write_text("".join([f"line {number}\n" for number in range(6000)]))
    (directory / "wide.txt").write_text("word " * 40_000)
    (directory / "pixel.png").write_bytes(PNG)
    (directory / "data.bin").write_bytes(bytes(range(256)) * 40)
    (directory / "empty.txt").touch()
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "1", "outputs": [], "execution_count": 1}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (directory / "nb.ipynb").write_text(json.dumps(notebook))
    (directory / "doc.pdf").write_bytes(pdf(3, 3))
    return directory


@pytest.mark.parametrize("name", dialect_names())
def test_structured_content_is_valid_by_the_listed_schema_in_every_dialect(kinds, name):
    with Workspace(kinds) as workspace:
        service = Service(workspace, (name,), ServeOptions(structured=True, max_answer_tokens=2000))
        tool, schema = next(iter(service.toolsets()[name])), listed(service)[0]["outputSchema"]
        found = {}
        for path in KINDS:
            arguments = forms.arguments_of(tool.dialect, path, str(kinds))
            found[path] = call(service, tool.spec.name, **arguments)

    for result in found.values():
        if not result["isError"]:
            jsonschema.validate(json.loads(json.dumps(result["structuredContent"], default=str)), schema)
    data = found["hello.txt"]["structuredContent"]
    assert "hello" in data.get("text", data.get("content"))
    assert data.get("text") not in data.get("result", {}).values()


def test_the_tool_for_changes_is_listed_if_its_setting_is_on(tree):
    service = Service(Workspace(tree), ["native"], replace(PLAIN, settings={"native": {"changes": True}}))
    listed = service.handler("tools/list")({}, "", CallContext(5))["tools"]
    result = service.handler("tools/call")({"name": "changes", "arguments": {}}, "", CallContext(5))

    assert [one["name"] for one in listed] == ["read", "changes"]
    assert service.remembers
    assert result["content"] == [{"type": "text", "text": ">changed: 0"}]
