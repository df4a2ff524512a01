"""The other end of "bare echo over pipes": `python echo.py BYTES` answers each line with a line of that size."""

from __future__ import annotations

import os
import sys

ANSWER = b"x" * (int(sys.argv[1]) - 1) + b"\n"

while block := os.read(0, 65536):
    for _ in range(block.count(b"\n")):
        os.write(1, ANSWER)
