"""Every conformance case, one test each. How a case is staged and compared is told in the README beside its data."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.server.service import PLAIN, Service

SETS = Path(__file__).parent / "conformance"
WHOLE_MACHINE = {"codex", "claude"}
SEEDS = ("codex", "workspace", "forge", "claude")
TOOLSETS = sorted(path.parent.name for path in SETS.glob("*/cases.jsonl") if path.parent.name not in SEEDS)
"""The sets whose cases name a tool and give the content blocks that an MCP server sends."""


def load(name):
    """Return the cases of a set, each with the dialects that it is meant for."""
    # Lines end at LF and nowhere else: some cases hold U+2028, at which splitlines() would break them.
    cases = []
    for line in (SETS / name / "cases.jsonl").read_text(encoding="utf-8").split("\n"):
        if line:
            case = json.loads(line)
            dialect = case.get("dialect", "any")
            dialects = [dialect] if dialect != "any" else [name, f"{name}-upstream"]
            cases.append(pytest.param(case, dialects, id=case["id"]))
    return cases


@pytest.mark.parametrize(("case", "dialects"), load("codex"))
def test_codex(case, dialects):
    for dialect in dialects:
        check_codex(case, dialect, Workspace("/"), f"{SETS}/codex/files")


def check_codex(case, dialect, workspace, files):
    path = case.get("file_path", f"{files}/{case.get('file')}")

    reply = workspace.tool(dialect).call({**case["args"], "file_path": path})

    if case["ok"]:
        assert (reply.error, reply.text) == (None, case["output"])
    else:
        assert reply.error is not None
        assert reply.error.message == case["error"]


@pytest.mark.parametrize(("case", "dialects"), load("workspace"))
def test_workspace(case, dialects, tmp_path):
    check_staged("workspace", case, dialects, tmp_path)


@pytest.mark.parametrize(("case", "dialects"), load("forge"))
def test_forge(case, dialects, tmp_path):
    check_staged("forge", case, dialects, tmp_path)


@pytest.mark.parametrize(("case", "dialects"), load("claude"))
def test_claude(case, dialects, tmp_path):
    check_staged("claude", case, dialects, tmp_path)


@pytest.mark.parametrize(
    ("name", "case"), [pytest.param(name, case.values[0], id=case.id) for name in TOOLSETS for case in load(name)]
)
def test_toolsets(name, case, tmp_path):
    check_toolset(name, case, tmp_path)


def check_toolset(name, case, tmp_path, place=None):
    root, names = staged(name, case, tmp_path)
    opened: str | Path = root
    if place is not None:
        opened, names = place(root, is_whole_machine=False)
    expect = filled(case["expect"], names)
    with Workspace(opened) as workspace:
        service = Service(
            workspace, [case["dialect"]], replace(PLAIN, settings={case["dialect"]: case.get("settings", {})})
        )
        params = {"name": case["tool"], "arguments": filled(case["args"], names)}
        result = service.handler("tools/call")(params, "test", CallContext())
    blocks = [with_base64(block) for block in result["content"]]
    assert result["isError"] is ("error" in expect)
    if "error" in expect:
        assert blocks == [{"type": "text", "text": expect["error"]["message"]}]
    elif "blocks" in expect:
        assert blocks == expect["blocks"]
    elif "text_contains" in expect:
        assert [part for part in expect["text_contains"] if part not in blocks[0]["text"]] == []
    else:
        assert blocks == [{"type": "text", "text": expect["text"]}]


def with_base64(value):
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return {key: with_base64(item) for key, item in value.items()} if isinstance(value, dict) else value


def staged(name, case, tmp_path):
    """Return the root that a case needs, and the texts that its places stand for.

    Cases without steps of their own share one copy of their set.
    """
    base = tmp_path.resolve() if "setup" in case else tmp_path.resolve().parent / f"conformance-{name}"
    root, outside = base / "root", base / "outside"
    if not base.exists() or "setup" in case:
        copy_files(name, root)
        outside.mkdir()
        (outside / "secret.txt").write_text("outside secret\n")
    names = {"{root}": str(root), "{outside}": str(outside)}
    for step in case.get("setup", []):
        stage(step, root, names)
    return root, names


def copy_files(name, root):
    own_files = SETS / name / "files"
    shutil.copytree(own_files if own_files.exists() else SETS / "files", root)
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def check_staged(name, case, dialects, tmp_path, place=None):
    """Check one case in its dialects.

    `place` moves the staged files elsewhere; it returns the root and the texts of its places.
    """
    root, names = staged(name, case, tmp_path)
    opened: str | Path = "/" if name in WHOLE_MACHINE else root
    if place is not None:
        opened, names = place(root, is_whole_machine=name in WHOLE_MACHINE)
    expect = filled(case["expect"], names)
    settings = dict(case.get("config", {}))
    if case.get("policy") == "deny":
        settings["allowed"] = False
    file = case.get("file")
    data = (root / file).read_bytes() if file and (root / file).is_file() else b""
    arguments = filled(case.get("args"), names)
    for dialect in dialects:
        tool = Workspace(opened).tool(dialect, **settings)
        check_tool(tool, name, case, arguments, expect, data)


def check_tool(tool, name, case, arguments, expect, data):
    if case.get("call") == "definition":
        check_definition(tool, expect["definition"], name)
        assert expect.get("config", {}).items() <= dict(tool.dialect.settings).items()
        return
    if "tool" in case and case["tool"] not in (tool.spec.name, *tool.spec.aliases):
        assert expect["error"]["code"] == "UnknownTool"
        return
    replies = [tool.call(arguments) for _ in range(case.get("repeat", 1))]
    assert all(reply == replies[0] for reply in replies)
    check_reply(replies[0], expect, name, data)


def stage(step, root, names):
    path = root / step["path"]
    path.parent.mkdir(parents=True, exist_ok=True)
    match step["op"]:
        case "write":
            data = step["text"].encode() if "text" in step else base64.b64decode(step.get("base64", ""))
            path.write_bytes(data * step.get("repeat", 1) + base64.b64decode(step.get("append_base64", "")))
        case "symlink":
            path.symlink_to(filled(step["target"], names))
        case "mkdir":
            path.mkdir(exist_ok=True)
        case "fifo":
            os.mkfifo(path)
        case "utime":
            nanoseconds = round(step["mtime_ms"] * 1_000_000)
            os.utime(path, ns=(nanoseconds, nanoseconds))
        case other:
            pytest.fail(f"no such step: {other}")


def filled(value, names):
    if isinstance(value, str):
        for name, path in names.items():
            value = value.replace(name, path)
        return value
    if isinstance(value, list):
        return [filled(item, names) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, names) for key, item in value.items()}
    return value


def check_reply(reply, expect, name, data):
    if "error" in expect:
        check_error(reply.error, expect["error"])
        return
    assert reply.error is None
    if name == "claude":
        check_blocks(reply, expect, data)
    else:
        check_fields(reply.structured, expect)


def check_error(error, expect):
    assert error is not None
    if "code_any" in expect or "code" in expect:
        assert error.code in (expect.get("code_any") or [expect["code"]])
    if "message" in expect:
        assert error.message == expect["message"]
    for part in expect.get("message_contains", []):
        assert part in error.message
    for part in expect.get("message_excludes", []):
        assert part not in error.message


def check_fields(got, expect):
    for key, want in expect.items():
        name, _, kind = key.rpartition("_")
        if kind == "length" and key not in got:
            assert len(got[name]) == want
        elif kind == "sha256" and key not in got:
            assert hashlib.sha256(got[name].encode()).hexdigest() == want
        elif isinstance(want, dict):
            check_fields(got[key], want)
        else:
            assert got[key] == want
            assert isinstance(got[key], bool) == isinstance(want, bool)


def check_blocks(reply, expect, data):
    if {"text", "text_sha256"} & set(expect):
        assert reply.content[0].type == "text"
        check_fields(
            {"text": reply.content[0].text},
            {k: expect[k] for k in ("text", "text_length", "text_sha256") if k in expect},
        )
    if "block_types" in expect:
        assert [block.type for block in reply.content] == expect["block_types"]
    for want in expect.get("blocks_include", []):
        wanted = data if want.get("data") == "file" else base64.b64decode(want["data_base64"])
        assert (want["type"], want["media_type"], wanted) in [
            (block.type, block.media_type, block.data) for block in reply.content if block.type != "text"
        ]
    joined = "\n".join(block.text for block in reply.content if block.type == "text")
    at = 0
    for part in expect.get("text_contains_in_order", []):
        found = joined.find(part, at)
        assert found >= 0, f"{part!r} is not in {joined[at:]!r}"
        at = found + len(part)
    for part in expect.get("text_excludes", []):
        assert part not in joined
    check_fields(reply.structured or {}, expect.get("meta", {}))


def check_definition(tool, expect, name):
    spec = tool.spec
    if name == "workspace":
        assert expect == {"name": spec.name, "description": spec.description, "parameters": spec.input_schema}
        return
    properties = spec.input_schema["properties"]
    assert spec.name == expect["name"]
    if "aliases" in expect:
        assert sorted(spec.aliases) == sorted(expect["aliases"])
    if "required" in expect:
        assert spec.input_schema["required"] == expect["required"]
    for field, kind in expect.get("types", {}).items():
        assert properties[field]["type"] == kind
    for part in expect.get("description_contains", []):
        assert part in spec.description
    for part in expect.get("description_excludes", []):
        assert part not in spec.description
