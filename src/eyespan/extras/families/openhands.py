"""OpenHands `file_editor`: the `view` command of a text editor tool, `cat -n` lines in a frame, images.

The commands that edit are refused. Names and texts follow the program; docs/dialects/openhands.md lists the
differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eyespan.dialects.arguments import Wording
from eyespan.dialects.base import Admit
from eyespan.dialects.table import Call, Gutter, Page
from eyespan.extras.families.text_editor import TextEditor
from eyespan.model import MIB, Limits


class OpenHands(TextEditor):
    """The tool, of which only `view` is available."""

    name = "openhands"
    own_paths = r"\AHere's the result of .*|^/.*"
    summary = "file_editor of OpenHands, its view command: cat -n in a frame, view_range, directories, images"
    settings = {"max_characters": 16_000}
    needs_absolute_paths = True
    tool = "file_editor"
    wording = Wording()
    gutter = Gutter("\t", width=6)
    read_limits = Limits(max_file_bytes=10 * MIB)
    refused = {
        "past_end": "Invalid `view_range` parameter: {view_range}. Its first element `{first}` should be within the "
        "range of lines of the file: [1, {total}].",
    }
    documents = frozenset(("image",))
    error_form = "{}"
    error_texts = {
        "not_found": "Invalid `path` parameter: {path}. The path {path} does not exist. Please provide a valid path.",
        "too_large": "File validation failed for {path}: File is too large. Maximum allowed size is 10MB.",
        "binary": "File validation failed for {path}: File appears to be binary and this file type cannot be read or "
        "edited by this tool.",
        "any": "Ran into {system} while trying to read {path}",
    }
    platform = "python"

    @property
    def anthropic_type(self) -> None:
        """Return None: the Messages API does not know this tool."""

    def parse(self, arguments: Any, admit: Admit) -> Call:
        call = super().parse(arguments, admit)
        if not call.path.startswith("/"):
            text = "The path should be an absolute path, starting with `/`."
            raise self.wording.bad(f"Invalid `path` parameter: {call.path}. {text}")
        return call

    def texts(self, call: Call, page: Page, path: str) -> Sequence[str]:
        text = f"Here's the result of running `cat -n` on {call.path}:\n{page.body}\n"
        given = call["view_range"]
        if given is not None and page.total is not None and given[1] > page.total:
            total = page.total
            return [f"NOTE: We only show up to {total} since there're only {total} lines in this file.\n{text}"]
        return [text]
