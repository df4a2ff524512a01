"""Run the tests of the C accelerator under AddressSanitizer and UndefinedBehaviorSanitizer.

    python -m proof sanitizers [arguments of pytest]

Runs them twice: built for this processor, and built for processors without SSE2. CC chooses the compiler (gcc).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from proof import REPOSITORY

TESTS = (
    "tests/_native",
    "tests/test_tokens.py",
    "tests/guard/test_guard.py",
    "tests/guard/test_openat.py",
    "tests/dialects/native/test_holdings.py",
)
FLAGS = (
    *("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fno-omit-frame-pointer", "-fPIC", "-shared"),
    *("-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)
VARIANTS = {"SSE2 if the processor has it": (), "portable": ("-DEYESPAN_PORTABLE",)}


def main(argv: list[str] | None = None) -> int:
    compiler = os.environ.get("CC", "gcc")
    found = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory(prefix="eyespan-sanitizers-") as made:
        shutil.copytree(REPOSITORY / "src", Path(made, "src"))
        native = Path(made, "src/eyespan/_native")
        environment = {
            **os.environ,
            "LD_PRELOAD": found.stdout.strip(),
            "ASAN_OPTIONS": "detect_leaks=0",  # Python itself keeps memory at exit.
            "PYTHONMALLOC": "malloc",  # Python's own allocator would hide the end of a small bytes object.
            "PYTHONPATH": f"{made}/src",
            "EYESPAN_PURE": "",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        include = f"-I{sysconfig.get_path('include')}"
        for name, defines in VARIANTS.items():
            print(f"sanitizers: {name}", flush=True)
            source, target = str(native / "fast.c"), str(native / "_fast.abi3.so")
            subprocess.run([compiler, *FLAGS, *defines, include, source, "-o", target], check=True)
            # --capture=sys: the sanitizers write to the descriptor of standard error.
            tests = [str(REPOSITORY / test) for test in TESTS]
            command = [sys.executable, "-m", "pytest", *tests, "--rootdir", str(REPOSITORY), "--capture=sys"]
            status = subprocess.run([*command, *(argv or [])], cwd=REPOSITORY, env=environment).returncode
            if status != 0:
                return status
    return 0
