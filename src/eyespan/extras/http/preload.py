"""Loads the modules that calls need, before the first call of a server that runs for weeks.

Memory around a module that is loaded during a large call cannot be returned to the system. All modules take 3 MB and
50 ms. Decoders and grammars are not among them: workers load those.
"""

from __future__ import annotations

import os
import sys
from codecs import lookup

PACKAGES = ("dialects.native", "guard", "lines", "policy", "readers", "selectors", "sources", "sources.git")
"""Packages of eyespan of which every module is loaded."""
MODULES = (
    "dialects.resource",
    "outline.cache",
    "outline.isolated",
    "outline.maps",
    "outline.names",
    "outline.render",
    "suggest",
    "tokens",
    "worker.client",
    "worker.fork_client",
    "worker.launch",
    "worker.tasks",
)
LEFT_OUT = frozenset(("guard.portable",))
"""Modules for systems that have no such calls as Linux has."""
STANDARD = ("csv", "difflib", "gc", "mimetypes", "re2", "unicodedata")
ENCODINGS = (
    "cp1252",
    "utf-16-le",
    "utf-16-be",
    "utf-32-le",
    "utf-32-be",
    "gb18030",
    "big5hkscs",
    "cp932",
    "euc_jp",
    "cp949",
)


def load_all() -> None:
    """Load the modules and the tables of encodings. One that cannot be loaded fails when a call needs it."""
    names = [f"eyespan.{name}" for name in MODULES]
    for package in PACKAGES:
        names += _modules_of(package)
    for name in (*names, *STANDARD):
        try:
            __import__(name)
        except ImportError:
            pass  # a system without it, or an extra that is not installed
    for encoding in ENCODINGS:
        try:
            lookup(encoding)
        except LookupError:
            pass


def _modules_of(package: str) -> list[str]:
    """Return the names of a package's own modules, as far as they are files."""
    try:
        __import__(f"eyespan.{package}")
        files = os.listdir(sys.modules[f"eyespan.{package}"].__path__[0])
    except (ImportError, OSError):
        return []
    names = sorted(file.removesuffix(".py") for file in files if file.endswith(".py"))
    return [f"eyespan.{package}.{name}" for name in names if name != "__init__" and f"{package}.{name}" not in LEFT_OUT]
