"""`python -m eyespan`.

Python puts the current directory first on the module path, and the current directory is often the one whose files are
read. It is taken off before anything else is imported, so a `json.py` in it is not run. Python itself has imported
`runpy` by then; `python -P -m eyespan` and the `eyespan` command never use the current directory.
"""

import os  # loaded already, as `sys` is
import sys


def remove_current_directory(path: list[str], package_parent: str) -> None:
    """Take the first entry off a module path. If eyespan itself was found there, it becomes the last entry."""
    first = path.pop(0)
    if first == package_parent:
        path.append(first)


if __spec__ is not None and not getattr(sys.flags, "safe_path", False):
    remove_current_directory(sys.path, os.path.dirname(sys.modules["eyespan"].__path__[0]))

from eyespan.cli import run  # noqa: E402  the module path comes first

run()
