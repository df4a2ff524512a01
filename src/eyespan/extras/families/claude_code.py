"""Claude Code `Read` as it is shipped: numbered lines, whole texts up to 256 KB and 25,000 tokens, `allow_large`.

Limits and notices follow the program; docs/dialects/claude.md lists the differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eyespan.dialects.arguments import SAFE, Field
from eyespan.dialects.claude import MAX_PAGES, Claude
from eyespan.dialects.table import Paths


class ClaudeUpstream(Claude):
    """The tool as the shipped product behaves, but for what the conformance cases fix: the arrow, and BOMs."""

    name = "claude-upstream"
    summary = "as claude@2.1, the shipped product, with the arrow that its conformance cases have after the number"
    notice_tags = (*Claude.notice_tags, "[Truncated: PARTIAL view")
    settings = {
        **Claude.settings,
        "line_number_format": "arrow",
        "default_read_lines": None,
        "max_line_length": None,
        "max_tokens": 25_000,
        "max_bytes": 256 * 1024,
    }
    paths = Paths("file_path", shows_absolute=True, shows_normal=True, shows_slash=True)
    origin = 1
    is_closed = True
    trusts_pdf_names = False
    more_notice = "[Truncated: PARTIAL view \u2014 lines {first}-{last}{of} are shown; to read on, use offset {next}]"
    own_texts = {
        "directory": "EISDIR: illegal operation on a directory, read '{path}'",
        "binary": "This tool cannot read binary files. The file appears to be a binary {suffix_}file. Use a skill for "
        "this file type if one is available, or a shell command or script that can read the format.",
        **dict.fromkeys(("EACCES", "EPERM", "ENOTDIR", "system"), "{system}"),
    }

    def _configure(self, settings: Mapping[str, Any]) -> None:
        super()._configure(settings)
        text = "Read a large text whole, as far as the conversation has room for it; otherwise read parts of it."
        self.fields += (Field("allow_large", "boolean", text),)

    def check(self, values: dict[str, Any]) -> None:
        for name, least in (("offset", 0), ("limit", 1)):  # the product ignores numbers below the least
            if values[name] is not None and values[name] < least:
                values[name] = None

    def _description(self, roots: tuple[str, ...]) -> str:
        below = f" below {', '.join(roots)}" if roots else ""
        return (
            f"Reads a file{below}. Texts come with line numbers, counted from 1, up to 256 KB and 25,000 tokens; "
            "offset and limit read a part, allow_large reads more. Images are shown, PDFs page by page (pages, at "
            f"most {MAX_PAGES} a call), notebooks with outputs. Directories and missing files are errors."
        )

    def _number(self, name: str, what: str, minimum: int, rule: str) -> Field:
        return Field(name, "integer", f"The {what}", takes=("float", "text"), fits=SAFE, schema={"minimum": minimum})


class Claude21(ClaudeUpstream):
    """The tool as the shipped product behaves."""

    name = "claude@2.1"
    summary = "as Claude Code 2.1.328: `N<TAB>` flush left, whole texts up to 256 KB, 25,000 tokens, allow_large"
    settings = {**ClaudeUpstream.settings, "line_number_format": "flush"}
    hides_bom = True
