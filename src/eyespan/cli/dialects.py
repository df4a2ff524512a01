"""`eyespan dialects`: which tools there are."""

from __future__ import annotations

from eyespan.cli import Options
from eyespan.dialects import DIALECTS, dialect_class

HELP = """\
usage: eyespan dialects

The dialects: the name to use, the tool's own name, and what it is like. `eyespan schema DIALECT` shows one whole.
"""


def main(options: Options) -> int:
    width = max(map(len, DIALECTS))
    for name in DIALECTS:
        dialect = dialect_class(name)()
        print(f"{name:<{width}}  {dialect.spec.name:<10} {dialect.summary}")
    return 0
