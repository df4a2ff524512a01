"""The benchmark is a set of scripts beside each other, not part of the package."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
