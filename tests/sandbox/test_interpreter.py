from __future__ import annotations

import json
import mimetypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from eyespan.sandbox import interpreter

linux = pytest.mark.skipif(sys.platform != "linux", reason="the paths and program headers of Linux")


@pytest.mark.parametrize("way", ["-c", "script"])
def test_the_current_directory_and_that_of_the_script_are_not_part_of_the_interpreter(way, tmp_path):
    code = "import json; from eyespan.sandbox import interpreter; print(json.dumps(interpreter.readable()))"
    (tmp_path / "script.py").write_text(code)
    argv = ["-c", code] if way == "-c" else [str(tmp_path / "script.py")]

    found = json.loads(subprocess.run([sys.executable, *argv], cwd=tmp_path, capture_output=True, check=True).stdout)

    assert str(tmp_path) not in found
    assert str(Path(interpreter.__file__).parents[2]) in found


def test_the_files_of_mimetypes_are_readable():
    assert set(mimetypes.knownfiles) <= set(interpreter.MIME_TYPES)


@linux
def test_the_interpreter_and_its_loader_are_executable():
    found = interpreter.executable()

    assert found[0] == sys.executable
    assert all(os.path.isfile(path) for path in found)


@pytest.mark.parametrize("path", [__file__, "/none"])
def test_what_is_no_program_has_no_loader(path):
    assert interpreter._loader_of(path) == ""
