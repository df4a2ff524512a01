"""pi `read`: lines without numbers, at most 2,000 of them and 50 KB, a notice with the next offset, images.

Names, limits and notices follow the program; docs/dialects/pi.md lists the differences.
"""

from __future__ import annotations

from eyespan.dialects.arguments import LAX, Field, Wording
from eyespan.dialects.table import Paths, Window
from eyespan.extras.families.similar_names import LookalikeDialect
from eyespan.model import ANY_IS_TEXT

MAX_LINES = 2000
_SHOWING = "{body}\n\n[Showing lines {first}-{last} of {total}%s. Use offset={next} to continue.]"


class Pi(LookalikeDialect):
    """The tool as the program has it."""

    name = "pi"
    summary = "read of pi: lines without numbers, 2,000 lines or 50 KB per call, a notice with the next offset"
    instructions = "At most 2,000 lines or 50 KB of text per call; offset reads on. Images are returned as such."
    tool = "read"
    description = (
        f"Reads a file. Text comes as it is, at most {MAX_LINES} lines or 50KB per call; offset and limit read on. "
        "Images come as attachments."
    )
    fields = (
        Field("path", "string", "The file to read, relative or absolute", required=True, takes=("number",)),
        Field("offset", "number", "The first line to read, counted from 1", takes=LAX),
        Field("limit", "number", "The most lines to read", minimum=0, hides_bounds=True, takes=LAX),
    )
    wording = Wording(
        'Validation failed for tool "read":\n  - {}',
        missing="{name}: must have required properties {name}",
        type="{name}: must be {type}",
    )
    paths = Paths(has_mentions=True, shows_absolute=True, shows_normal=True)
    window = Window(first="offset", count="limit", max_lines=MAX_LINES)
    max_size = 50 << 10
    answers = {
        "full": _SHOWING % " (50.0KB limit)",
        "capped": _SHOWING % "",
        "long_line": "[Line {first} exceeds 50.0KB limit and cannot be shown.]",
        "more": "{body}\n\n[{left} more lines in file. Use offset={next} to continue.]",
        "any": "{body}",
    }
    refused = {"past_end": "Offset {offset} is beyond end of file ({total} lines total)"}
    documents = frozenset(("image",))
    document_texts = {"image": "Read image file [{type}]"}
    text_rule = ANY_IS_TEXT
    refuses = frozenset()
    system_call = "access"
    error_texts = {"system": "{system}", "nul": "{system}"}
