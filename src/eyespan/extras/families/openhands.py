"""OpenHands `file_editor`: the `view` command of a text editor tool, `cat -n` lines in a frame, images.

The commands that edit are refused. Names and texts follow the program; docs/dialects/openhands.md lists the
differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments, Wording
from eyespan.dialects.opened_lines import OpenedLines
from eyespan.dialects.table import Call, Gutter, Page, Paths
from eyespan.engine import Engine
from eyespan.escape import written_path
from eyespan.extras.families.text_editor import TextEditor, two_levels
from eyespan.guard.roots import Root
from eyespan.model import MIB, Limits, Lines, Reply, TextContent
from eyespan.opened import Opened

_MISSING = "Invalid `path` parameter: {path}. The path {path} does not exist. Please provide a valid path."


class PosixPaths(Paths):
    """Paths that are shown without `.`, doubled slashes and a slash at the end."""

    def shown(self, asked: str, roots: Sequence[Root]) -> str:
        return str(PurePosixPath(asked))


class OpenHands(TextEditor):
    """The tool, of which only `view` is available."""

    name = "openhands"
    own_paths = r"\A(?:NOTE: .*\n)?Here's the (?:result|files) .*|^/.*"
    summary = "file_editor of OpenHands, its view command: cat -n in a frame, view_range, directories, images"
    settings = {"max_characters": 16_000}
    needs_absolute_paths = True
    tool = "file_editor"
    is_closed = True
    wording = Wording(unknown="Extra inputs are not permitted: {name}")
    paths = PosixPaths(absolute="Invalid `path` parameter: {path}. The path should be an absolute path.")
    gutter = Gutter("\t", width=6)
    max_size = 10 * MIB
    hides_bom = True
    text_encoding = "bom"
    read_limits = Limits(max_file_bytes=10 * MIB)
    answers = {"any": "{body}"}
    refused = {}
    documents = frozenset(("image",))
    document_texts = {"image": "Image file {path} read successfully. Displaying image content."}
    error_form = "{}"
    error_texts = {
        **dict.fromkeys(("not_found", "ELOOP", "nul"), _MISSING),
        "ENAMETOOLONG": "{system}",
        "too_large": "File validation failed for {path}: File is too large. Maximum allowed size is 10MB.",
        "binary": "File validation failed for {path}: File appears to be binary and this file type cannot be read or "
        "edited by this tool.",
        "any": "Ran into {system} while trying to read {path}",
    }
    platform = "python"

    @property
    def anthropic_type(self) -> None:
        """Return None: the Messages API does not know this tool."""

    def in_range(self, call: Call, given: list[int]) -> Call:
        if not given:
            return call
        first, last = given if len(given) == 2 else (1, -1)
        return replace(call, selection=Lines(max(1, first), None if last == -1 else max(0, last - first + 1)))

    def page(self, call: Call, opened: Opened) -> Page:
        given = call["view_range"]
        if not given:
            return super().page(replace(call, values={**call.values, "view_range": None}), opened)
        if len(given) != 2:
            raise _invalid(given, "It should be a list of two integers.")
        total = OpenedLines(opened, 1).total()
        first, last = given[0], total if given[1] == -1 else min(given[1], total)
        if not 1 <= first <= total:
            text = f"Its first element `{first}` should be within the range of lines of the file: {[1, total]}."
            raise _invalid(given, text)
        if last < first:
            text = f"Its second element `{last}` should be greater than or equal to the first element `{first}`."
            raise _invalid(given, text)
        return replace(super().page(call, opened), total=total)

    def texts(self, call: Call, page: Page, path: str) -> Sequence[str]:
        body = f"{page.body}\n" if page.body else ""
        text = f"Here's the result of running `cat -n` on {written_path(path)}:\n{body}"
        given, total = call["view_range"], page.total
        if given and total is not None and given[1] > total:
            text = f"NOTE: We only show up to {total} since there're only {total} lines in this file.\n{text}"
        return [text]

    def list_directory(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        """Return the names in a directory, two levels deep, without hidden ones. Raises: ReadError."""
        if call["view_range"]:
            text = "The `view_range` parameter is not allowed when `path` points to a directory."
            raise _invalid(call["view_range"], text)
        path = self.paths.shown(call.path, engine.guard.roots)
        directory = self.paths.resolved(call.path, engine.guard.roots)
        hidden = sum([entry.name.startswith(".") for entry in engine.list(directory, context).entries])
        below = two_levels(directory, engine, context, follows_links=True)[0]
        names = [path + name.removeprefix(directory) for name in below]
        lead = f"Here's the files and directories up to 2 levels deep in {written_path(path)}, excluding hidden items:"
        lines = [lead, f"{written_path(path)}/", *names]
        if hidden:
            text = f"{hidden} hidden files/directories in this directory are excluded."
            lines += ["", f"{text} You can use 'ls -la {written_path(path)}' to see them."]
        return Reply((TextContent("\n".join(lines)),), measures={"lines": len(lines)})


def _invalid(given: list[int], text: str) -> BadArguments:
    return BadArguments("invalid_arguments", f"Invalid `view_range` parameter: {given}. {text}")
