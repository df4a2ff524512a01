"""A path in a reply leads back to the same file when it is sent back: any roots, any names, every way to call."""

from __future__ import annotations

import json
import os
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.cli.call import reply_json
from eyespan.context import CallContext
from eyespan.escape import named_path, valid_text, written_path
from eyespan.server.service import Service
from tests.sizes import examples

often = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))

PIECES = [
    b"a",
    b"b",
    b"\xff",
    b"\xc3\xa9",
    b"\xc3",
    b"\\",
    b"\\udcff",
    b"\\udc5c",
    b"\\udc",
    b"udcff",
    b"5c",
    b" ",
    b".",
]
names = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map(b"".join).filter(lambda name: name.strip(b". "))
LAYOUTS = {
    "apart": (["one", "two", "three\udcff"], {}),
    "nested": (["one", "one/inner"], {}),
    "inner first": (["one/inner", "one"], {}),
    "linked": (["one", "link"], {"link": "two"}),
    "prefix": (["one", "one-more"], {}),
}


def call_library(tool, arguments):
    reply = tool.call(arguments)
    return None if reply.is_error else (reply.structured, reply.facts)


def call_command_line(tool, arguments):
    reply = json.loads(json.dumps(reply_json(tool.call(json.loads(json.dumps(arguments))))))
    return None if reply["is_error"] else (reply["structured"], reply["facts"])


def call_server(tool, arguments):
    service = Service(tool.workspace, [tool.dialect.name])
    params = {"name": tool.spec.name, "arguments": json.loads(json.dumps(arguments))}
    result = json.loads(json.dumps(service.handler("tools/call")(params, "test", CallContext())))
    facts = result["_meta"].get("eyespan/facts")
    return None if result["isError"] else (result.get("structuredContent", facts), facts)


WAYS = {"library": call_library, "command line": call_command_line, "server": call_server}


def workspace_paths(call, tool, path):
    structured, facts = call(tool, {"path": path, "max_lines": 1})
    yield {"path": structured["path"], "start_line": structured["next_start_line"]}
    yield {"path": facts["left_out"][0].removesuffix(":2-"), "start_line": 2}


def forge_paths(call, tool, path):
    structured, facts = call(tool, {"path": path, "head": 1})
    yield {"path": structured["path"], "start_line": 2}
    yield {"path": facts["left_out"][0].removesuffix(":2-"), "start_line": 2}


def codex_paths(call, tool, path):
    _, facts = call(tool, {"file_path": path, "limit": 1})
    yield {"file_path": facts["left_out"][0].removesuffix(":2-"), "offset": 2}


def claude_paths(call, tool, path):
    _, facts = call(tool, {"file_path": path, "limit": 1})
    yield {"file_path": facts["left_out"][0].removesuffix(":2-"), "offset": 1 if tool.dialect.name == "claude" else 2}


def native_paths(call, tool, path):
    structured, _ = call(tool, {"files": [{"path": path, "lines": "1"}]})
    yield {"files": [{"path": structured["parts"][0]["path"], "lines": "2-"}]}
    yield {"files": structured["parts"][0]["selector"].removesuffix(":1") + ":2-"}


CONTINUATIONS = {
    "workspace": workspace_paths,
    "workspace-upstream": workspace_paths,
    "forge": forge_paths,
    "codex": codex_paths,
    "codex-upstream": codex_paths,
    "claude": claude_paths,
    "claude-upstream": claude_paths,
    "native": native_paths,
}


def asked(path, dialect):
    """Return the path as a caller without other means than valid text writes it."""
    return written_path(path, escapes_backslashes=dialect.startswith("workspace"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", CONTINUATIONS)
@often
@given(st.sampled_from(sorted(LAYOUTS)), st.lists(names, min_size=1, max_size=3, unique=True))
def test_a_continuation_reads_on_in_the_same_file(dialect, way, layout, chosen):
    call, continuations = WAYS[way], CONTINUATIONS[dialect]
    with tempfile.TemporaryDirectory() as base:
        base = os.path.realpath(base)
        roots, links = LAYOUTS[layout]
        for link, target in links.items():
            os.mkdir(os.path.join(base, target))
            os.symlink(target, os.path.join(base, link))
        files = {}
        for root in roots:
            os.makedirs(os.path.join(base, root), exist_ok=True)
            for name in chosen:
                files[os.path.join(base, root, os.fsdecode(name))] = f"text {len(files)}"
        for path, text in files.items():
            with open(path, "w") as file:
                file.write(f"first\n{text}\nlast\n")
        with Workspace(*[os.path.join(base, root) for root in roots]) as workspace:
            tool = workspace.tool(dialect)
            for path, text in files.items():
                for arguments in continuations(call, tool, asked(path, dialect)):
                    assert text in json.dumps(tool.call(arguments).text), (path, arguments)


@given(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join).map(os.fsdecode))
def test_a_written_path_is_valid_text_and_names_the_same_path(path):
    written = written_path(path)

    assert valid_text(written) == written
    assert named_path(written) == path


def test_a_name_that_looks_like_an_escape_can_be_asked_for_as_it_is(tmp_path):
    (tmp_path / r"b\udcff.txt").write_text("literal\n")

    with Workspace(tmp_path) as workspace:
        assert workspace.tool("forge").call({"path": r"b\udcff.txt"}).structured["path"] == r"b\udc5cudcff.txt"


def test_escapes_of_valid_characters_do_not_evade_a_rule(tmp_path):
    from eyespan import Policy

    (tmp_path / "é.txt").write_text("hidden\n")

    with Workspace(tmp_path, policy=Policy(["é.txt"])) as workspace:
        reply = workspace.tool("forge").call({"path": r"\udcc3\udca9.txt"})

    assert reply.error.code == "SandboxViolation"


def test_files_of_one_name_in_two_roots_are_two_items_of_a_native_answer(tmp_path):
    for root in ("one", "two"):
        (tmp_path / root).mkdir()
        (tmp_path / root / "a.txt").write_text(f"{root}\n")

    with Workspace(tmp_path / "one", tmp_path / "two") as workspace:
        reply = workspace.tool("native").call({"files": ["a.txt", f"{tmp_path}/two/a.txt"]})

    assert [part["path"] for part in reply.structured["parts"]] == ["a.txt", f"{tmp_path}/two/a.txt"]


def test_an_error_names_a_file_of_another_root_by_its_whole_path(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()

    with Workspace(tmp_path / "one", tmp_path / "two") as workspace:
        reply = workspace.tool("workspace").call({"path": f"{tmp_path}/two/none.txt"})

    assert reply.error.message == f"NOT_FOUND: path not found: {tmp_path}/two/none.txt"
