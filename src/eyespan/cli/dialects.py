"""`eyespan dialects`: list the dialects."""

from __future__ import annotations

from eyespan.cli.options import Arguments, Option
from eyespan.dialects import DIALECTS, dialect_class

HELP = """\
usage: eyespan dialects

Lists the dialects: the name to use, the name of the tool, and a summary.
`eyespan schema DIALECT` prints the whole definition of one.
"""
OPTIONS: dict[str, tuple[Option, ...]] = {}


def main(arguments: Arguments) -> int:
    """Print one line per dialect."""
    arguments.reject_operands("dialects")
    width = max(map(len, DIALECTS))
    for name in DIALECTS:
        dialect = dialect_class(name)()
        print(f"{name:<{width}}  {dialect.spec.name:<10} {dialect.summary}")
    return 0
