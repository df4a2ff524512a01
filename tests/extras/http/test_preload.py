"""A server has loaded all that calls need before the first call."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile

from eyespan.extras.http import preload

CALLS = """
import json, sys
from eyespan import Workspace
from eyespan.extras.http import preload

preload.load_all()
workspace = Workspace(sys.argv[1])
tools = [workspace.tool("native"), workspace.tool("claude")]
for tool in tools:
    tool.call({"files": "a.txt"} if tool.dialect == "native" else {"file_path": f"{sys.argv[1]}/a.txt"})
before = set(sys.modules)
for file in "b.py b.py::f c.zip c.zip!/x.txt d.csv e.ipynb f.json g.gz wrong.txt src/b.py h.txt".split():
    tools[0].call({"files": file})
    tools[1].call({"file_path": f"{sys.argv[1]}/{file}"})
tools[0].call({"files": ".", "outline": True})
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_calls_load_no_further_module_of_the_package(tmp_path):
    (tmp_path / "a.txt").write_text("x\n")
    (tmp_path / "b.py").write_text("def f():\n    pass\n")
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("x.txt", "x\n")
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    (tmp_path / "e.ipynb").write_text(json.dumps({"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    (tmp_path / "f.json").write_text('{"a": 1}\n')
    (tmp_path / "g.gz").write_bytes(b"\x1f\x8b")
    (tmp_path / "h.txt").write_bytes("文字化け\n".encode("cp932") * 40)
    done = subprocess.run([sys.executable, "-c", CALLS, tmp_path], capture_output=True, text=True, check=True)

    assert [name for name in json.loads(done.stdout) if name.startswith("eyespan")] == []


def test_a_module_that_is_missing_is_no_error(monkeypatch):
    monkeypatch.setattr(preload, "PACKAGES", ("no_such_package",))
    monkeypatch.setattr(preload, "MODULES", ("no_such_module",))
    monkeypatch.setattr(preload, "ENCODINGS", ("no-such-encoding",))

    preload.load_all()
