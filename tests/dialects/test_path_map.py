"""Paths of a host that has the files elsewhere: accepted in arguments, and shown in answers."""

from __future__ import annotations

import json
import pickle

import pytest

from eyespan import Workspace
from eyespan.cli.main import main
from eyespan.config import BadConfig
from eyespan.context import CallContext
from eyespan.dialects import dialect_names, forms
from eyespan.dialects.path_map import PathMap
from eyespan.recorder import facts, watched

HOST = "/workspace"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Make a project whose file has lines that look like those of dialects, and a file next to it."""
    directory = tmp_path_factory.mktemp("maps").resolve()
    (directory / "project" / "sub").mkdir(parents=True)
    inside = f"{directory}/project/inside"
    rows = [f"{start}{inside}{end}" for start, end in [("> ", ""), (" ", ""), ("", ":"), ("--- ", " ---"), ("", "")]]
    (directory / "project" / "a.txt").write_text("\n".join(["start", *rows, "last\n"]))
    (directory / "project-two").mkdir()
    (directory / "secret.txt").write_text("secret\n")
    return directory


@pytest.fixture(scope="module")
def mapped(place):
    with Workspace(place / "project", map={HOST: str(place / "project")}) as workspace:
        yield workspace


def every_tool(workspace):
    return [tool for name in dialect_names() for tool in workspace.toolset(name)]


def everything_in(reply):
    texts = [reply.text, json.dumps(reply.structured), json.dumps(dict(reply.measures)), *reply.notes]
    return "\n".join([*texts, "" if reply.error is None else reply.error.message])


@pytest.mark.parametrize("path", ["a.txt", "none.txt", "", "sub", "a.txt/x", "../secret.txt"])
def test_every_tool_answers_with_the_paths_of_the_host(place, mapped, path):
    with Workspace(place / "project") as workspace:
        for tool, real in zip(every_tool(mapped), every_tool(workspace), strict=True):
            wanted = real.call(forms.arguments_of(tool.dialect, f"{place}/project/{path}".rstrip("/"), "/"))
            reply = tool.call(forms.arguments_of(tool.dialect, f"{HOST}/{path}".rstrip("/"), "/"))

            contents, shown = f"{place}/project/inside", everything_in(reply)
            counts = [everything_in(one).count(contents) for one in (reply, wanted)]
            assert (reply.is_error, counts[0]) == (wanted.is_error, counts[1]), tool
            assert str(place / "project") not in shown.replace(contents, ""), tool


def test_the_error_of_one_file_of_several_names_the_path_of_the_host(place, mapped):
    reply = mapped.tool("native").call({"files": [f"{HOST}/a.txt", f"{HOST}/none.txt"]})

    assert reply.structured["parts"][1]["error"]["message"].startswith(f"{HOST}/none.txt: no such file")
    assert str(place) not in everything_in(reply).replace(f"{place}/project/inside", "")


@pytest.mark.parametrize("name", dialect_names())
def test_a_mapped_path_does_not_leave_the_roots(place, name):
    with Workspace(place / "project", map={"/up": str(place)}) as workspace:
        tool = workspace.toolset(name)[0]
        reply = tool.call(forms.arguments_of(tool.dialect, "/up/secret.txt", "/"))

    assert reply.is_error
    assert "secret\n" not in reply.text


@pytest.mark.parametrize("name", [name for name in dialect_names() if name not in ("filesystem", "claude-upstream")])
def test_the_call_that_reads_on_names_the_path_of_the_host(place, name):
    (place / "project" / "long.txt").write_text("row of a long file\n" * 3000)
    with Workspace(place / "project", map={HOST: str(place / "project")}) as workspace:
        tool = workspace.toolset(name, max_answer_tokens=2000)[0]
        arguments = forms.arguments_of(tool.dialect, f"{HOST}/long.txt", "/")
        reply = tool.call(arguments)

    assert str(place) not in everything_in(reply)


@pytest.mark.parametrize(
    ("given", "local"),
    [
        ("/workspace", "/home/me"),
        ("/workspace/a.py:1-2", "/home/me/a.py:1-2"),
        ("/workspace:1", "/home/me:1"),
        ("@/workspace/a", "@/home/me/a"),
        ("file:///workspace/a", "file:///home/me/a"),
        ('["/workspace/a", "/workspace/b"]', '["/home/me/a", "/home/me/b"]'),
        ('File "/workspace/a.py", line 3', 'File "/home/me/a.py", line 3'),
        ("/workspace/deep/a", "/srv/deep/a"),
        ("/workspace-2/a", "/workspace-2/a"),
        ("/workspace.old/a", "/workspace.old/a"),
        ("app/workspace/a", "app/workspace/a"),
        ("app/(group)/workspace/a", "app/(group)/workspace/a"),
        ("/data/workspace", "/data/workspace"),
        (r"c:\Users\me\a b.py", "/mnt/c/Users/me/a b.py"),
        (r"C:\a.py?\w+", r"/mnt/c/a.py?\w+"),
    ],
)
def test_only_whole_directories_at_the_beginning_of_a_path_are_mapped(given, local):
    paths = PathMap({"/workspace/": "/home/me/", "/workspace/deep": "/srv/deep", "C:\\": "/mnt/c"})

    assert paths.inward(given) == local


def test_two_directories_that_are_exchanged_are_mapped_once():
    paths = PathMap({"/one": "/two", "/two": "/one"})

    assert (paths.inward("/one/a"), paths.outward("/two/a /one/b")) == ("/two/a", "/one/a /two/b")


@pytest.mark.parametrize("wrong", [{"work": "/a"}, {"": "/a"}, {"/": "/a"}, {"/a": "/"}, {"/a": "b"}, {"/a": 3}])
def test_a_map_without_two_absolute_directories_is_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match="map"):
        Workspace(tmp_path, map=wrong)


def test_a_map_is_part_of_copies(mapped):
    copies = [pickle.loads(pickle.dumps(mapped)), mapped.excluding(["x"])]

    assert [one.path_map.directories for one in copies] == [mapped.path_map.directories] * 2


def test_the_definition_names_the_directory_of_the_host(mapped, place):
    description = mapped.tool("claude", describes_roots=True).spec.description

    assert (HOST in description, str(place) in description) == (True, False)


def test_native_remembers_lines_by_the_path_of_the_host(place):
    with Workspace(place / "project", place / "project-two", map={HOST: str(place)}) as workspace:
        (place / "project-two" / "b.txt").write_text("one\ntwo\n")
        tool = workspace.tool("native", remember=True)
        tool.call({"files": f"{HOST}/project-two/b.txt:1"})

        assert tool.unseen(f"{HOST}/project-two/b.txt", 1, 2) == [f"{HOST}/project-two/b.txt:2"]


def test_call_and_read_take_maps(place, capsysbinary, monkeypatch):
    monkeypatch.chdir(place)
    options = ["--root", "project", "--map", f"{HOST}=project"]
    main(["call", "forge", json.dumps({"path": f"{HOST}/none.txt"}), *options])
    called = json.loads(capsysbinary.readouterr().out)["error"]["message"]
    statuses = [main(["read", f"{HOST}/{name}", *options]) for name in ("a.txt:1", "none.txt")]
    shown = capsysbinary.readouterr()

    assert called == f"Read failed: No such file or directory: {HOST}/none.txt"
    assert (statuses, shown.out.split(), str(place).encode() in shown.err) == ([0, 1], [b"1", b"start"], False)


@pytest.mark.parametrize("given", ["/a", "/a=", "a=/b", "/=/b"])
def test_a_wrong_map_is_wrong_usage(place, capsys, given):
    assert (main(["call", "forge", "{}", "--map", given]), "--map" in capsys.readouterr().err) == (2, True)


def test_a_configuration_of_the_host_has_maps(place):
    config = place / "host.toml"
    config.write_text(f'roots = ["project"]\n[map]\n"{HOST}" = "project"\n')
    with Workspace.from_config(config, map={"/other": str(place)}) as workspace:
        assert workspace.path_map.directories == {HOST: f"{place}/project", "/other": str(place)}


@pytest.mark.parametrize("text", ['"/a" = 3', 'a = "/b"'])
def test_a_wrong_map_of_a_configuration_is_refused(place, text):
    config = place / "wrong.toml"
    config.write_text(f"[map]\n{text}\n")
    with pytest.raises(BadConfig, match=r"wrong\.toml: map: "):
        Workspace.from_config(config, roots=[place / "project"])


def test_a_configuration_in_the_workspace_has_no_maps(tmp_path):
    (tmp_path / "eyespan.toml").write_text('[map]\n"/a" = "/b"\n')
    with pytest.raises(BadConfig, match="map works only in a file outside the roots"):
        Workspace.from_config(roots=[tmp_path])


def test_the_audit_log_names_the_lines_of_a_mapped_file(place):
    with Workspace(place / "project-two", place / "project", map={HOST: str(place)}) as workspace:
        _, recorder, _ = watched(workspace.tool("native"), {"files": f"{HOST}/project/a.txt:2-3"}, CallContext())

    assert facts(recorder)["range"] == "2-3"
