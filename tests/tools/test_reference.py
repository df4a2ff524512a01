"""The reference pages are made from the code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pages_are_current():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EYESPAN_")}
    done = subprocess.run(
        [sys.executable, "tools/reference.py", "--check"], cwd=ROOT, env=environment, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
