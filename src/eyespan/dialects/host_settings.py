"""Settings that every dialect has, for hosts: what is done to an answer after the dialect has written it.

The documents of the dialects know none of them, so all are off by default; `eyespan serve` and `eyespan setup` turn on
those that serve users.

| setting | effect |
| --- | --- |
| `suggest` | the error of a missing file names files that were perhaps meant |
| `redact` | secrets are replaced by `«redacted:kind»` |
| `neutralise` | tags of these names in a file's contents, which pose as words of the host, are shown as `&lt;name` |
| `max_answer_tokens` | an answer that is estimated at more tokens has fewer lines; 0 is no limit |

What a setting changed is stated in a block of its own, so that the text of the dialect keeps its form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eyespan.dialects import forms, redaction
from eyespan.dialects.base import Dialect
from eyespan.dialects.suggestions import Suggestions
from eyespan.errors import NotFound, ReadError
from eyespan.escape import visible
from eyespan.model import Content, Reply, ReplyError, TextContent
from eyespan.tokens import estimate, fit

NOTE_TOKENS = 120
"""Kept free for the block that states what was left out."""
MAX_TRIES = 6
"""How often a call is made again with fewer lines."""

Run = Callable[[Any], Reply]


def with_limit(dialect: Dialect, arguments: Any) -> Any:
    """Return the arguments with a token budget of their own lowered to the limit."""
    limit = dialect.host.max_answer_tokens
    default = dialect.settings.get("budget")
    if limit and default is not None and isinstance(arguments, dict):
        asked = arguments.get("budget", default)
        if isinstance(asked, int) and asked > limit:
            return {**arguments, "budget": limit}
    return arguments


def hosted(dialect: Dialect, arguments: Any, reply: Reply, run: Run) -> Reply:
    """Return the reply as the host's settings have it. `run` makes a call with other arguments."""
    settings = dialect.host
    if reply.is_error:
        return reply
    if settings.max_answer_tokens and reply.facts["tokens"] > settings.max_answer_tokens:
        reply = _fitted(dialect, arguments, reply, run)
    if settings.redact and "redact" not in dialect.settings:
        reply = _redacted(reply)
    if settings.neutralise and reply.facts.get("lines") != 0:
        own = dialect.notice_tags if reply.facts.get("lines") else ()
        reply = _neutralised(reply, settings.neutralise, own)
    return reply


def suggested(error: ReadError, wording: ReplyError, suggestions: Suggestions) -> ReplyError:
    """Return the error of a missing file with the files that were perhaps meant."""
    near = suggestions.near(error.path) if type(error) is NotFound and error.path else []
    if not near:
        return wording
    near = [path for path in near if path.startswith("/") == error.path.startswith("/")] or near
    return ReplyError(wording.code, f"{wording.message} Did you mean {', '.join([visible(one) for one in near])}?")


# --- fewer lines -----------------------------------------------------------------------------------------------------


def _fitted(dialect: Dialect, arguments: Any, reply: Reply, run: Run) -> Reply:
    """Return an answer of fewer lines, made by the dialect itself; else the blocks cut at the limit."""
    limit = dialect.host.max_answer_tokens - NOTE_TOKENS
    lines = _Lines.asked_for(dialect, arguments, reply)
    tokens = reply.facts["tokens"]
    count = lines.count if lines is not None else 0
    for _ in range(MAX_TRIES):
        count = min(count - 1, int(count * 0.95 * limit / max(1, tokens)))
        if lines is None or count < 1:
            break
        narrower = lines.first_lines(count)
        shorter = run(narrower) if narrower is not None else None
        if shorter is None or shorter.is_error or not shorter.facts.get("lines"):
            break
        tokens, shown = shorter.facts["tokens"], shorter.facts["lines"]
        if tokens <= limit:
            return _with_note(shorter, lines.note(shown, dialect.host.max_answer_tokens))
        count = min(count, shown)
    note = (
        f"The answer is cut at {dialect.host.max_answer_tokens:,} tokens, the limit of this host. "
        "Ask for fewer files, pages or lines in one call."
    )
    return _with_note(_cut(reply, limit), note)


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of one file that a call asks for."""

    dialect: Dialect
    arguments: Any
    path: str
    first: int
    count: int
    last: int | None

    @classmethod
    def asked_for(cls, dialect: Dialect, arguments: Any, reply: Reply) -> _Lines | None:
        """Return the lines that an answer shows; None if the tool names none, or several files."""
        field = forms.path_field(dialect.spec.input_schema)
        path = arguments.get(field) if isinstance(arguments, dict) and field else None
        if isinstance(path, list) and len(path) == 1:
            path = path[0].get("path") if isinstance(path[0], dict) else path[0]
        if path is None and isinstance(arguments, dict):
            path = next((arguments[name] for name in forms.PATH_FIELDS if isinstance(arguments.get(name), str)), None)
        if not isinstance(path, str) or not reply.facts.get("lines"):
            return None
        first, last = forms.lines_of(dialect, arguments)
        return cls(dialect, arguments, path, first or 1, reply.facts["lines"], last)

    def first_lines(self, count: int) -> dict[str, Any] | None:
        """Return the arguments that read the first of the lines."""
        return self._lines(self.first, self.first + count - 1)

    def _lines(self, first: int, last: int | None) -> dict[str, Any] | None:
        return forms.following(self.dialect, self.arguments, f"{self.path}:{first}-{last or ''}")

    def note(self, shown: int, limit: int) -> str:
        """Return the lines that are shown, and the call that reads on."""
        end = self.first + shown - 1
        following = self._lines(end + 1, self.last)
        call = f" Read on with {json.dumps(following, ensure_ascii=False)}." if following else ""
        return f"Lines {self.first}-{end} are shown, as many as fit {limit:,} tokens, the limit of this host.{call}"


def _cut(reply: Reply, limit: int) -> Reply:
    """Return the reply with its text cut at a number of tokens. A result object would repeat the text, so it goes."""
    kept: list[Content] = []
    for block in reply.content:
        if not isinstance(block, TextContent):
            kept.append(block)
            continue
        text = block.text if estimate(block.text) <= limit else block.text[: fit(block.text, max(0, limit))]
        limit -= estimate(text)
        if text:
            kept.append(TextContent(text))
    measures = {name: value for name, value in reply.measures.items() if name != "lines"}
    return replace(reply, content=tuple(kept), structured=None, measures=measures)


def _with_note(reply: Reply, note: str) -> Reply:
    return replace(reply, content=(*reply.content, TextContent(note)))


# --- contents --------------------------------------------------------------------------------------------------------


def _redacted(reply: Reply) -> Reply:
    changed = 0

    def redact(text: str) -> str:
        nonlocal changed
        lines = text.split("\n")
        found = redaction.secrets(lines)
        changed += sum(map(len, found))
        return "\n".join([redaction.redacted(line, one) for line, one in zip(lines, found, strict=True)])

    reply = _with_texts(reply, redact)
    return _with_note(reply, f"{changed} secrets are replaced by «redacted:kind».") if changed else reply


def _neutralised(reply: Reply, names: tuple[str, ...], own: tuple[str, ...]) -> Reply:
    changed = 0
    pattern = re.compile(f"<(?=/?(?:{'|'.join(map(re.escape, names))})[\\s/>])", re.IGNORECASE)

    def neutralise(text: str) -> str:
        nonlocal changed
        lines = text.split("\n")
        for number, line in enumerate(lines):
            if own and line.startswith(own):  # a line of the dialect: those of the file begin with a number
                continue
            lines[number], count = pattern.subn("&lt;", line)
            changed += count
        return "\n".join(lines)

    reply = _with_texts(reply, neutralise)
    note = f"{changed} tags in the contents pose as words of the host; their < is shown as &lt;."
    return _with_note(reply, note) if changed else reply


def _with_texts(reply: Reply, change: Callable[[str], str]) -> Reply:
    content = tuple([TextContent(change(one.text)) if isinstance(one, TextContent) else one for one in reply.content])
    structured = reply.structured
    if structured is not None:
        before = [one.text for one in reply.content if isinstance(one, TextContent)]
        after = [one.text for one in content if isinstance(one, TextContent)]
        known = dict(zip(before, after, strict=True))
        structured = _map_texts(structured, lambda text: known[text] if text in known else change(text))
    return replace(reply, content=content, structured=structured)


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _map_texts(one, change) for key, one in value.items()}
    return [_map_texts(one, change) for one in value] if isinstance(value, list) else value
