"""Make the scripts of the benchmark importable: they are not part of the package."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
