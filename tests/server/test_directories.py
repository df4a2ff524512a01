"""The directories that a server reads."""

from __future__ import annotations

import os

from .clients import StdioServer


def test_directories_are_arguments_of_serve(tmp_path, monkeypatch):
    for name in ("work/a", "work/b", "other"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x.txt").write_text(f"{name}\n")
    monkeypatch.chdir(tmp_path)
    client = StdioServer(str(tmp_path / "work" / "b"), "--dialect", "claude", root=tmp_path / "work" / "a")
    try:
        results = [client.call("Read", file_path=os.fspath(tmp_path / "work" / name / "x.txt")) for name in ("a", "b")]
        outside = client.call("Read", file_path=os.fspath(tmp_path / "other" / "x.txt"))
    finally:
        client.close()

    assert [result["isError"] for result in (*results, outside)] == [False, False, True]
