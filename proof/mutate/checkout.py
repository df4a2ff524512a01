"""A copy of the checkout into which defects are inserted."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import types
from pathlib import Path

from proof import REPOSITORY
from proof.mutate.defect import SRC, Defect

DEADLINE_SECONDS = 300
"""A run that takes longer counts as failed: a defect that hangs is noticed."""

_PYTEST = ("-m", "pytest", "-q", "-p", "no:randomly", "-p", "proof.mutate.first_example")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+?\.py(?:::\w+(?:\[.*?\])?)?)(?: - |$)", re.MULTILINE)
"""A line of pytest's summary: a test that failed, or a file that cannot be imported."""


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
        self.environment = {**os.environ, "PYTHONPATH": str(directory / "src")}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)  # byte code halves the time of a run
        self._inserted = 0
        self._build()
        imported = self._python("-c", "import eyespan; print(eyespan.__file__)").stdout.strip()
        if Path(imported) != directory / SRC / "__init__.py":
            raise SystemExit(f"the tests would import {imported} instead of the copy")

    def first_failure(self, defect: Defect) -> str | None:
        """Insert a defect, run its tests, remove it, and return the first test that failed; None if all passed."""
        path = self.root / defect.file
        original, mtime_ns = path.read_text(), path.stat().st_mtime_ns
        self._inserted += 1
        path.write_text(original.replace(defect.old, defect.new))
        # A second of its own: Python takes byte code for that of a text of the same second and size.
        os.utime(path, ns=(mtime_ns, mtime_ns + self._inserted * 1_000_000_000))
        try:
            if path.suffix == ".c":
                self._build()
            return self._run_tests(shlex.split(defect.tests))
        finally:
            path.write_text(original)
            os.utime(path, ns=(mtime_ns, mtime_ns))
            if path.suffix == ".c":
                self._build()

    def failures(self, tests: list[str]) -> list[str]:
        """Run tests without a defect and return those that fail."""
        done = self._python(*_PYTEST, *tests)
        if done.returncode == 4:  # pytest prints some parameters otherwise than it takes them
            done = self._python(*_PYTEST, *sorted({test.partition("[")[0] for test in tests}))
        if done.returncode in (0, 1):
            return _FAILED.findall(done.stdout)
        raise SystemExit(f"the tests cannot be repeated: {(done.stdout + done.stderr)[-500:]}")

    def _build(self) -> None:
        """Compile the accelerator of the copy with the flags of the build hook."""
        hook = types.ModuleType("hatchling.builders.hooks.plugin.interface")
        hook.BuildHookInterface = object  # type: ignore[attr-defined]  # all that hatch_build.py imports from it
        sys.modules.setdefault(hook.__name__, hook)
        from hatch_build import compile_module

        problem = compile_module(self.root / SRC / "_native")
        if problem:
            raise SystemExit(f"the accelerator cannot be built: {problem}")

    def _run_tests(self, tests: list[str]) -> str | None:
        try:
            done = self._python(*_PYTEST, "-x", *tests, deadline_seconds=DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            return f"no end within {DEADLINE_SECONDS} s"
        if done.returncode == 0:
            return None
        if done.returncode in (4, 5):  # pytest found no such path, or selected no test
            raise SystemExit(f"no such tests: {tests}")
        failed = _FAILED.search(done.stdout)
        return failed[1] if failed else (done.stdout + done.stderr)[-200:].strip()

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
