"""The source of the accelerator: a build with any supported Python is loaded by all of them."""

from __future__ import annotations

import re
from pathlib import Path

from eyespan import _native

FORMAT = re.compile(r'(?:PyArg_Parse\w*|Py_BuildValue\w*)\([^;"]*"[^";]*#')
"""Built with the headers of Python 3.13, "y#" and the like raise SystemError in 3.11 and 3.12."""
RETURN = re.compile(r"Py_RETURN_\w+")
"""Built with the headers of Python 3.12 or 3.13, they return None without a reference, and 3.11 frees it in the end."""


def test_the_source_uses_nothing_that_means_something_else_in_an_older_python():
    found = []
    for file in sorted(Path(_native.__file__).parent.glob("*.c")):
        source = file.read_text(encoding="utf-8")
        found += [f"{file.name}: {match[0]}" for pattern in (FORMAT, RETURN) for match in pattern.finditer(source)]

    assert found == []
