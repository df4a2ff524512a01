"""Answer a call for one small text file in one step: the ordinary case, in which there is nothing to note.

The result is that of the ordinary steps, or None where they have to answer.
"""

from __future__ import annotations

from eyespan import kinds, tokens
from eyespan.dialects.native import loaded, own_lines, text_facts
from eyespan.dialects.native.fitted import digest, version_of
from eyespan.dialects.native.gutter import Run
from eyespan.lines.detect import VALID_UTF8, detect
from eyespan.model import Reply, TextContent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.dialects.native import Native
    from eyespan.engine import Engine

_SIGNS = frozenset("\"'@!?*#[]{}<>|`$~ ")
"""Signs of a path that mean something in a selector or a header."""


def answer_small(dialect: Native, path: str, max_chars: int, sure: int, engine: Engine) -> Reply | None:
    """Return the answer for all of a small text file; None if the ordinary steps are needed.

    `max_chars` is the text that is read for an answer; an answer whose estimate is `sure` times below the budget is
    within it.
    """
    if not _SIGNS.isdisjoint(path):
        return None
    found = engine.read_small(path, 1, loaded.MAX_ROWS, None, max_chars, wants_data=True, has_one_link=True)
    if found is None:
        return None
    text, _, _, total, count, _, ends_open, relative, data = found
    if data is None or ends_open or count != total or text_facts.may_hide(text) or text_facts.may_mix_indentation(text):
        return None
    if kinds.detect(data, relative, dialect.documents) is not None or kinds.compression(data) is not None:
        return None
    if detect(data) is not VALID_UTF8:
        return None
    rows = Run(1, data, count)
    lines = "1" if count == 1 else f"1-{count}"
    value = digest(relative, rows)
    shown = f"{own_lines.SIGN} {path}:{lines}/{total} #{value}\n{dialect.style.write(rows)}"
    cost = tokens.estimate(shown)
    if cost * sure > dialect.budget:
        return None
    if (relative, value) not in dialect.versions:
        dialect.versions.keep(relative, value, version_of(rows))
    facts: dict[str, Any] = {
        "path": relative,
        "selector": f"{path}:{lines}",
        "hash": value,
        "lines": count,
        "total_lines": total,
        "tokens": cost,
        "next": None,
    }
    structured = {"parts": [facts], "tokens": cost, "budget": dialect.budget}
    return Reply((TextContent(shown),), structured, None, (), {"lines": count})
