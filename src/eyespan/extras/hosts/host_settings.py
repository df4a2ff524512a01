"""Settings that every dialect has, for hosts: what is done before a dialect reads, and to its answer.

The documents of the dialects know none of them, so all are off by default; `eyespan serve` and `eyespan setup` turn on
those that serve users. The core finds `settled` through `eyespan.plugins`.

| setting | effect |
| --- | --- |
| `suggest` | a path is also tried without what surrounds it: `@path`, `file://path`, `~/path`, `path/`, `a/../b` |
| `redact` | secrets are replaced by `«redacted:kind»` |
| `neutralise` | tags of these names in a file's contents, which pose as words of the host, are shown as `&lt;name` |
| `max_answer_tokens` | a longer answer (a token is at most four bytes) has fewer files, pages or lines; 0: no limit |

What a setting changed is stated in a block of its own, so that the text of the dialect keeps its form.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from eyespan.dialects import forms, redaction
from eyespan.dialects.base import BYTES_PER_TOKEN, Dialect, host_tokens, least_tokens
from eyespan.dialects.path_map import in_paths
from eyespan.errors import BadArguments, ReadError
from eyespan.model import Content, Reply, TextContent
from eyespan.tokens import estimate, fit

NOTE_TOKENS = 120
"""Kept free for the block that states what was left out."""
MAX_TRIES = 6
"""How often a call is made again for less."""

Run = Callable[[Any], Reply]
Structure = Callable[[str, int], str]
"""Returns a text with the symbols of a file and their lines, within a number of tokens."""


def settled(dialect: Dialect, arguments: Any, run: Run, structure: Structure) -> Reply:
    """Answer a call by `run`, and change the reply as the settings of the host have it."""
    arguments = _with_limit(dialect, arguments)
    if dialect.host.suggest:
        run = _with_plain_paths(run)
    return _hosted(dialect, arguments, run(arguments), run, structure)


def _with_plain_paths(run: Run) -> Run:
    """Return a function that makes a call with its paths as they are, or else with those that odd spellings mean.

    The guard judges the result as any other path. A name may begin with `@` or `~`.
    """

    def run_either(arguments: Any) -> Reply:
        plain = in_paths(arguments, _plain_path) if isinstance(arguments, dict) else arguments
        for given in (arguments, plain) if plain != arguments else ():
            with suppress(BadArguments, ReadError):
                reply = run(given)
                if not reply.is_error:
                    return reply
        return run(arguments)

    return run_either


def _plain_path(path: str) -> str:
    path = path.removeprefix("@")
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://").removeprefix("localhost"))
    if path.startswith("~/"):
        path = os.path.expanduser(path)
    if "/../" in path:
        path = os.path.normpath(path)
    return path.rstrip("/") or path


def _with_limit(dialect: Dialect, arguments: Any) -> Any:
    """Return the arguments with a token budget of their own lowered to the limit."""
    limit = dialect.host.max_answer_tokens
    default = dialect.settings.get("budget")
    if limit and default is not None and isinstance(arguments, dict):
        asked = arguments.get("budget", default)
        if isinstance(asked, int) and asked > limit:
            return {**arguments, "budget": limit}
    return arguments


def _hosted(dialect: Dialect, arguments: Any, reply: Reply, run: Run, structure: Structure) -> Reply:
    """Return the reply as the host's settings have it. `run` makes a call with other arguments."""
    limit = dialect.host.max_answer_tokens
    if reply.is_error or not limit or least_tokens(reply) <= limit:  # a longer one is not cleaned as a whole
        cleaned = _cleaned(dialect, reply)
        if cleaned.is_error or dialect.host.admits(cleaned):
            return cleaned
    return _fitted(dialect, arguments, reply, run, structure)


def _cleaned(dialect: Dialect, reply: Reply) -> Reply:
    """Return the reply without secrets and without tags of the host, as far as the settings have it."""
    settings = dialect.host
    if reply.is_error:
        return reply
    if settings.redact and "redact" not in dialect.settings:
        reply = _redacted(reply)
    if settings.neutralise and reply.measures.get("lines") != 0:
        own = dialect.notice_tags if reply.measures.get("lines") else ()
        reply = _neutralised(reply, settings.neutralise, own)
    return reply


# --- a shorter answer ------------------------------------------------------------------------------------------------


def _fitted(dialect: Dialect, arguments: Any, reply: Reply, run: Run, structure: Structure) -> Reply:
    """Return an answer of fewer files, pages or lines, made by the dialect itself; else the blocks cut at the limit."""
    most = dialect.host.max_answer_tokens
    limit = most - NOTE_TOKENS
    tokens = least if (least := least_tokens(reply)) > most else host_tokens(reply)
    if "budget" in dialect.settings and isinstance(arguments, dict):  # the dialect names what it leaves out
        asked = arguments.get("budget") or dialect.settings["budget"]
        smaller = _cleaned(dialect, run({**arguments, "budget": int(min(asked, most) * 0.95 * limit / tokens)}))
        if host_tokens(smaller) <= most:
            return smaller
    portion = _entries(dialect, arguments) or _pages(dialect, arguments, reply) or _window(dialect, arguments, reply)
    count = portion.count if portion is not None else 0
    # The symbols of a file take a twentieth of the answer at most.
    listed = structure(portion.path, most // 20) if portion is not None and portion.path else ""
    for _ in range(MAX_TRIES):
        count = min(count - 1, int(count * 0.95 * limit / max(1, tokens)))
        if portion is None or count < 1:
            break
        narrower = portion.first(count)
        shorter = _cleaned(dialect, _with_note(run(narrower), listed)) if narrower is not None else None
        shown = portion.shown(shorter, count) if shorter is not None and not shorter.is_error else 0
        if shorter is None or not shown:
            break
        tokens = host_tokens(shorter)
        if tokens <= limit:
            following = portion.after(shown)
            call = f" Read on with {json.dumps(following, ensure_ascii=False)}." if following else ""
            return _with_note(shorter, f"{portion.named(shown)} {most:,} tokens, the limit of this host.{call}")
        count = min(count, shown)
    if portion is not None and portion.unit == "Files":  # the first file alone is too long
        call = f"Then read the other files with {json.dumps(portion.after(1), ensure_ascii=False)}."
        return _with_note(_shortened(dialect, portion.first(1), run, structure), call)
    cleaned = _cleaned(dialect, _beginning(reply, most))
    cut = _cut(cleaned, limit)
    shown, whole, lost = _line_count(cut), _line_count(reply), len(cleaned.content) - len(cut.content)
    after = f", after {shown:,} of {whole:,} lines" if shown < whole else ""
    advice = f"{lost} further parts are left out. " * bool(lost) + "Ask for fewer files, pages or lines in one call."
    return _with_note(cut, f"The answer is cut at {most:,} tokens, the limit of this host{after}. {advice}")


def _shortened(dialect: Dialect, arguments: Any, run: Run, structure: Structure) -> Reply:
    """Return the reply to a call, shortened if it is over the limit."""
    reply = run(arguments)
    cleaned = _cleaned(dialect, reply)
    is_long = not reply.is_error and host_tokens(cleaned) > dialect.host.max_answer_tokens - NOTE_TOKENS
    return _fitted(dialect, arguments, reply, run, structure) if is_long else cleaned


@dataclass(frozen=True, slots=True)
class _Portion:
    """What a call asks for, counted in units that its arguments can name."""

    unit: str
    number: int
    """The number of the first."""
    count: int
    call: Callable[[int, int | None], dict[str, Any] | None]
    """Make the arguments for the units from a number to another; None is the last that was asked for."""
    shown: Callable[[Reply, int], int]
    """Count the units in an answer to a call for so many."""
    path: str = ""
    """The file, for lines of one."""

    def first(self, count: int) -> dict[str, Any] | None:
        return self.call(self.number, self.number + count - 1)

    def after(self, count: int) -> dict[str, Any] | None:
        return self.call(self.number + count, None)

    def named(self, count: int) -> str:
        return f"{self.unit} {self.number}-{self.number + count - 1} are shown, as many as fit"


def _entries(dialect: Dialect, arguments: Any) -> _Portion | None:
    """Return the files of a call that lists several."""
    field = forms.path_field(dialect.spec.input_schema)
    entries = arguments.get(field) if isinstance(arguments, dict) and field else None
    if field is None or not isinstance(entries, list) or len(entries) < 2:
        return None
    return _Portion(
        unit="Files",
        number=1,
        count=len(entries),
        call=lambda first, last: {**arguments, field: entries[first - 1 : last]},
        shown=lambda reply, count: count,
    )


def _pages(dialect: Dialect, arguments: Any, reply: Reply) -> _Portion | None:
    """Return the pages of a document that an answer shows, for a tool that takes pages."""
    pages = (reply.structured or {}).get("pages_returned")
    if not pages or forms.PAGES_FIELD not in dialect.spec.input_schema["properties"]:
        return None
    end = (reply.structured or {})["total_pages"] if reply.measures.get("left_out") else pages[-1]

    def call(first: int, last: int | None) -> dict[str, Any]:
        last = min(end, first + len(pages) - 1) if last is None else last
        return {**arguments, forms.PAGES_FIELD: f"{first}-{last}"}

    return _Portion(
        unit="Pages",
        number=pages[0],
        count=len(pages),
        call=call,
        shown=lambda reply, count: len((reply.structured or {}).get("pages_returned", ())),
    )


def _window(dialect: Dialect, arguments: Any, reply: Reply) -> _Portion | None:
    """Return the lines of one file that an answer shows; None if the tool names none."""
    given = arguments if isinstance(arguments, dict) else {}
    path = next((given[name] for name in forms.PATH_FIELDS if given.get(name)), None)
    if isinstance(path, list) and len(path) == 1:
        path = path[0].get("path") if isinstance(path[0], dict) else path[0]
    if not isinstance(path, str) or not reply.measures.get("lines"):
        return None
    start, end = forms.lines_of(dialect, arguments)
    return _Portion(
        unit="Lines",
        number=start or 1,
        count=reply.measures["lines"],
        call=lambda first, last: forms.following(dialect, arguments, f"{path}:{first}-{last or end or ''}"),
        shown=lambda reply, count: int(reply.measures.get("lines") or 0),
        path=path,
    )


def _beginning(reply: Reply, most: int) -> Reply:
    """Return the reply with the start of its texts: more than fits, so that half a secret at their end is cut off."""
    chars = 4 * BYTES_PER_TOKEN * most
    content = tuple([TextContent(one.text[:chars]) if isinstance(one, TextContent) else one for one in reply.content])
    structured = _map_texts(reply.structured, lambda text: text[:chars]) if reply.structured else reply.structured
    return replace(reply, content=content, structured=structured)


def _cut(reply: Reply, limit: int) -> Reply:
    """Return the reply with its longest text cut, or else the blocks that fit, and the texts of its result cut."""
    kept: list[Content] = []
    texts = [one for one in reply.content if isinstance(one, TextContent)]
    longest = max(texts, key=lambda one: len(one.text), default=None)
    room = limit - host_tokens(Reply(tuple([one for one in reply.content if one is not longest])))
    left = limit
    for block in reply.content:
        most = room if block is longest and room > 0 else left
        shown = TextContent(_cut_text(block.text, most)) if isinstance(block, TextContent) else block
        tokens = host_tokens(Reply((shown,)))
        if tokens <= left and shown != TextContent(""):
            left -= tokens
            kept.append(shown)
    measures = {name: value for name, value in reply.measures.items() if name != "lines"}
    structured = _map_texts(reply.structured, lambda text: _cut_text(text, limit)) if reply.structured else None
    if structured is not None and "truncated" in structured:
        structured["truncated"] = True
    return replace(reply, content=tuple(kept), structured=structured, measures=measures)


def _cut_text(text: str, limit: int) -> str:
    """Return as much of the start of a text as the limit admits, by both counts of `host_tokens`: whole lines, or the
    start of the first."""
    size_bytes = limit * BYTES_PER_TOKEN
    start = text.encode("utf-8", "replace")[:size_bytes].decode("utf-8", "ignore")
    start = start if estimate(start) <= limit else start[: fit(start, limit)]
    return start if len(start) == len(text) or "\n" not in start else start[: start.rindex("\n") + 1]


def _line_count(reply: Reply) -> int:
    return sum([len(one.text.removesuffix("\n").split("\n")) for one in reply.content if type(one) is TextContent])


def _with_note(reply: Reply, note: str) -> Reply:
    return replace(reply, content=(*reply.content, TextContent(note))) if note else reply


# --- contents --------------------------------------------------------------------------------------------------------


def _redacted(reply: Reply) -> Reply:
    changed = 0

    def redact(text: str) -> str:
        nonlocal changed
        lines = text.split("\n")
        by_line = redaction.secrets(lines)
        changed += sum(map(len, by_line))
        return "\n".join([redaction.redacted(line, one) for line, one in zip(lines, by_line, strict=True)])

    reply = _with_texts(reply, redact)
    return _with_note(reply, f"{changed} secrets are replaced by «redacted:kind»." if changed else "")


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
    return _with_note(reply, note if changed else "")


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
