"""A copy of the checkout into which defects are inserted."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import types
from pathlib import Path

from proof import REPOSITORY
from proof.mutate.defect import SRC, Defect

DEADLINE_SECONDS = 900
"""A run that takes longer counts as failed: a defect that hangs is noticed."""


class Checkout:
    """The files of the checkout that git knows or would add, copied to a directory, with the accelerator built."""

    def __init__(self, directory: Path) -> None:
        self.root = directory
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=REPOSITORY,
            capture_output=True,
            check=True,
        )
        for name in listed.stdout.decode().split("\0"):
            if name and (REPOSITORY / name).is_file():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPOSITORY / name, directory / name)
        self.environment = {**os.environ, "PYTHONPATH": str(directory / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        self._build()
        imported = self._python("-c", "import eyespan; print(eyespan.__file__)").stdout.strip()
        if Path(imported) != directory / SRC / "__init__.py":
            raise SystemExit(f"the tests would import {imported} instead of the copy")

    def first_failure(self, defect: Defect) -> str | None:
        """Insert a defect, run its tests, remove it, and return the first test that failed; None if all passed."""
        path = self.root / defect.file
        original = path.read_text()
        path.write_text(original.replace(defect.old, defect.new))
        try:
            if path.suffix == ".c":
                self._build()
            return self._run_tests(defect.tests)
        finally:
            path.write_text(original)
            if path.suffix == ".c":
                self._build()

    def _build(self) -> None:
        """Compile the accelerator of the copy with the flags of the build hook."""
        hook = types.ModuleType("hatchling.builders.hooks.plugin.interface")
        hook.BuildHookInterface = object  # type: ignore[attr-defined]  # all that hatch_build.py imports from it
        sys.modules.setdefault(hook.__name__, hook)
        from hatch_build import compile_module

        problem = compile_module(self.root / SRC / "_native")
        if problem:
            raise SystemExit(f"the accelerator cannot be built: {problem}")

    def _run_tests(self, tests: str) -> str | None:
        command = ["-m", "pytest", "-x", "-q", "-p", "no:randomly", *shlex.split(tests)]
        try:
            done = self._python(*command, deadline_seconds=DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            return f"no end within {DEADLINE_SECONDS} s"
        if done.returncode == 0:
            return None
        if done.returncode in (4, 5):  # pytest found no such path, or selected no test
            raise SystemExit(f"no such tests: {tests}")
        lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED tests", "ERROR tests"))]
        return lines[0].partition(" ")[2].partition(" - ")[0] if lines else (done.stdout + done.stderr)[-200:].strip()

    def _python(self, *arguments: str, deadline_seconds: float | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            errors="replace",  # A failing test may print anything.
            timeout=deadline_seconds,
        )
