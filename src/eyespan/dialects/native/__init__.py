"""eyespan's own tool, `read`: several files and pieces of files in one call, within one budget.

A call names targets (docs/selectors.md). Each becomes an item of the answer: text by lines, an outline, the names in a
directory, pages, images, or the reason why it cannot be read. All items share the budget; what does not fit is listed
with the selector that reads it, so nothing is cut silently and reading on always makes progress. docs/native.md
describes the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eyespan import kinds, plugins
from eyespan.context import CallContext
from eyespan.dialects.base import Admit, Dialect
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.arguments import HIGHEST_BUDGET, LEAST_BUDGET, NativeArgs, parse_arguments
from eyespan.dialects.native.call import answer
from eyespan.dialects.native.holdings import Holdings
from eyespan.dialects.native.items import describe
from eyespan.dialects.native.rows import EVERY, Style
from eyespan.engine import Engine
from eyespan.errors import ReadError
from eyespan.model import Reply, ReplyError, ToolSpec

DEFAULT_BUDGET = 10_000


class Native(Dialect):
    """The native dialect."""

    name = "native"
    instructions = (
        "One call takes several files, ranges (app.py:10-40, log:-50), symbols (app.py::Class.method) and searches "
        "(src/?word), and answers within one budget. Images, PDF pages and notebooks are returned as such; office "
        "files, sheets, mail, archives, databases and git revisions as text."
    )
    summary = (
        "eyespan's own: many files and ranges in one call, selectors, a token budget, symbols, hashes, honest facts"
    )
    own_paths = rf"^{own_lines.SIGN}(?:.*left out, over the budget of \d+:$(?:\n .*)*|.*)"
    settings = {
        "budget": DEFAULT_BUDGET,
        "numbers": EVERY,
        "fold": True,
        "remember": False,
        "redact": False,
        "anchors": False,
        "changes": False,
    }

    def _configure(self, settings: Mapping[str, Any]) -> None:
        budget, every = settings["budget"], settings["numbers"]
        if type(budget) is not int or not LEAST_BUDGET <= budget <= HIGHEST_BUDGET:
            raise ValueError(
                f"budget must be a number of tokens from {LEAST_BUDGET} to {HIGHEST_BUDGET}, not {budget!r}"
            )
        if type(every) is not int or not 1 <= every <= 100:
            raise ValueError(f"numbers must be from 1 (every line) to 100 (every hundredth), not {every!r}")
        if settings["anchors"] and every != 1:
            raise ValueError(f"anchors need a number on every line, not numbers={every!r}")
        self.budget = budget
        self.style = Style(every, settings["anchors"])
        self.redact = bool(settings["redact"])
        self.folds, self.remembers = bool(settings["fold"]), bool(settings["remember"])
        self.holdings = Holdings()
        self.documents = frozenset({"native"})
        self.all_documents = self.documents | {kinds.SOURCES}
        if settings["changes"]:
            self.members = (self, plugins.load(plugins.own("CHANGES")[0])(self))

    def _spec(self) -> ToolSpec:
        return ToolSpec("read", _description(self.style, self.remembers), _schema(self.budget, self.remembers))

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        context = context or CallContext(engine.deadline_seconds)
        return answer(self, self.parse(arguments, engine.admit), engine, context)

    def parse(self, arguments: Any, admit: Admit) -> NativeArgs:
        return parse_arguments(arguments, self.budget)

    def render_error(self, error: ReadError) -> ReplyError:
        return ReplyError(error.code, own_lines.write([own_lines.failure(describe(error))]))


# --- the words of the tool -----------------------------------------------------------------------------------------


def _description(style: Style, remembers: bool) -> str:
    if style.every == 1:
        numbers = f"Lines come as number{':anchor' if style.has_anchors else ''}, tab, text."
    else:
        numbers = f"Lines come as tab, text; one in {style.every} has its number before the tab."
    return (
        "Reads files, documents, images; many parts in one call, by selectors after the path: "
        "a.py:10-20,40- lines (40- to the end), app.log:-50 last lines, a.c:120:8 place, "
        "lib.py::Class.method symbol, a.py:303:: function around a line, "
        "src/ names, src?regex matching lines in src or src/**/*.py, "
        "a.py@HEAD~3 revision, a.py@v1..v2 diff, "
        "doc.pdf:p3-5, nb.ipynb:c2-4, book.xlsx:Sheet1!A1:D20, logs.zip!/app.log. "
        f"{numbers} Lines starting with > are the tool's: > path:lines/total #hash before each part, "
        f">… 35-62 hidden lines{', >= 1-9 lines shown before' if remembers else ''}; "
        "last, what exceeds the budget, as selectors."
    )


def _schema(budget: int, remembers: bool) -> dict[str, Any]:
    fresh = {"type": "boolean", "description": "Send everything, whatever you hold"}
    return {
        "type": "object",
        "properties": {
            "files": {
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
                "description": "Paths, with selectors",
            },
            "budget": {"type": "integer", "description": f"Tokens of the answer (default {budget})"},
            "known": {"type": "array", "items": {"type": "string"}, "description": "Hashes you hold"},
            "outline": {"type": "boolean", "description": "Symbols instead of text; map of a directory"},
            "document": {"type": "boolean", "description": "HTML as text"},
            **({"fresh": fresh} if remembers else {}),
        },
        "required": ["files"],
    }
