"""OpenCode `read`: numbered lines in `<content>`, listings of directories, images and PDFs.

Names, limits, numbering and notices follow the program; docs/dialects/opencode.md lists the differences.
"""

from __future__ import annotations

from eyespan.context import CallContext
from eyespan.dialects.arguments import SAFE, Field, Wording
from eyespan.dialects.table import Call, Gutter, Paths, Window
from eyespan.engine import Engine
from eyespan.escape import valid_text, written_path
from eyespan.extras.families.similar_names import SimilarDialect
from eyespan.extras.families.tree_listing import is_directory
from eyespan.model import Reply, TextContent

MAX_LINES = 2000
MAX_BYTES = 50 << 10
_FRAME = "<path>{path}</path>\n<type>file</type>\n<content>\n{body}\n\n(%s)\n</content>"


class OpenCode(SimilarDialect):
    """The tool as the program has it."""

    name = "opencode"
    own_paths = "\\A<path>.*"
    summary = "read of OpenCode: `N: line` in <content>, 50 KB per call, directories, images and PDFs"
    instructions = (
        "Text is returned by lines, at most 2,000 lines and 50 KB per call; offset reads on. Directories are listed; "
        "images and PDFs are returned as such."
    )
    sends_documents = True
    tool = "read"
    description = (
        f"Reads a file or lists a directory. Text comes by lines with numbers, as `<line>: <content>`, at most "
        f"{MAX_LINES} lines and {MAX_BYTES >> 10} KB per call; offset reads on. Lines over 2000 characters are cut. "
        "Images and PDFs come as attachments; directories end with a slash in listings."
    )
    fields = (
        Field("filePath", "string", "The file or directory to read", required=True),
        Field("offset", "integer", "The first line or entry to read, counted from 1", minimum=0, fits=SAFE),
        Field("limit", "integer", f"The most lines or entries to read ({MAX_LINES} by default)", minimum=0, fits=SAFE),
    )
    wording = Wording(
        "The read tool was called with invalid arguments: {}.\n"
        "Please rewrite the input so it satisfies the expected schema."
    )
    paths = Paths("filePath", shows_absolute=True)
    window = Window(first="offset", count="limit", lines=MAX_LINES)
    gutter = Gutter(": ")
    line_chars = 2000
    line_mark = "... (line truncated to 2000 chars)"
    max_size = MAX_BYTES
    hides_bom = True
    answers = {
        "full": _FRAME % "Output capped at 50 KB. Showing lines {first}-{last}. Use offset={next} to continue.",
        "more": _FRAME % "Showing lines {first}-{last} of {total}. Use offset={next} to continue.",
        "any": _FRAME % "End of file - total {total} lines",
    }
    refused = {"past_end": "Offset {first} is out of range for this file ({total} lines)"}
    documents = frozenset(("image", "pdf"))
    document_texts = {"image": "Image read successfully", "pdf": "PDF read successfully"}
    error_texts = {"binary": "Cannot read binary file: {path}", "not_found": "File not found: {path}"}

    def list_directory(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        roots = engine.guard.roots
        path = self.paths.resolved(call.path, roots)
        first, limit = call["offset"] or 1, MAX_LINES if call["limit"] is None else call["limit"]
        listing = engine.list(path, context)
        entries = listing.entries
        names = [valid_text(entry.name) + "/" * is_directory(path, entry, engine, context) for entry in entries]
        chosen = names[first - 1 : first - 1 + limit]
        total = f"more than {len(names)}" if listing.partial else str(len(names))
        end = f"{total} entries"
        has_more = first - 1 + len(chosen) < len(names)
        if has_more or listing.partial:
            end = f"Showing {len(chosen)} of {total} entries."
            if has_more:
                end += f" Use 'offset' parameter to read beyond entry {first + len(chosen)}"
        lines = [f"<path>{written_path(self.paths.shown(call.path, roots))}</path>", "<type>directory</type>"]
        text = "\n".join([*lines, "<entries>", "\n".join(chosen), f"\n({end})", "</entries>"])
        return Reply((TextContent(text),), None, None, (), {"lines": len(chosen)})
