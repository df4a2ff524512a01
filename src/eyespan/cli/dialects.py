"""`eyespan dialects`: list the dialects."""

from __future__ import annotations

from eyespan.cli.options import Arguments
from eyespan.dialects import dialect_class, dialect_names
from eyespan.dialects.base import ToolsetDialect

HELP = """\
usage: eyespan dialects

Lists the dialects: the name to use, the name of the tool, and a summary.
`eyespan schema DIALECT` prints the whole definition of one.
"""


def main(arguments: Arguments) -> int:
    """Print one line per dialect."""
    arguments.reject_operands("dialects")
    width = max(map(len, dialect_names()))
    for name in dialect_names():
        dialect = dialect_class(name)()
        tool = f"{len(dialect.members)} tools" if isinstance(dialect, ToolsetDialect) else dialect.spec.name
        print(f"{name:<{width}}  {tool:<10} {dialect.summary}")
    return 0
