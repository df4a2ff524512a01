"""`eyespan why`: what the reads of a host's transcript cost, and what they would cost in each dialect."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from threading import Thread
from typing import Any

from eyespan.cli.options import Arguments, Parser, UsageError, whole_number
from eyespan.dialects import dialect_names
from eyespan.dialects.forms import arguments_of, path_field, read_on
from eyespan.escape import in_plain_words, visible
from eyespan.extras.hosts.transcripts import HostRead, Transcript, sessions
from eyespan.tokens import estimate
from eyespan.tool import Tool
from eyespan.workspace import Workspace

HELP = """\
usage: eyespan why TRANSCRIPT... [options]

Shows what the reads of a host's transcript cost, how much of that the model
already had, and what the same lines of today's files cost in each dialect, in
as many calls as it needs.

  eyespan why ~/.claude/projects/my-project      Claude Code, all sessions
  eyespan why ~/.codex/sessions/2026             Codex
  eyespan why ~/.gemini/tmp/*/chats --json       Gemini CLI, as JSON
  eyespan view --why ~/.claude/projects          the same in the browser

It reads the transcripts and the files they name, below the directory that each
session worked in or below --root, and sends nothing anywhere. Tokens are
estimates. Exit status: 0; 1 if a transcript cannot be read or has no reads.
"""
_NUMBERED = re.compile(r"\s*(\d+)\s?[\t:|→]")
"""A line of an answer that begins with its number."""
MAX_CALLS = 50
"""Calls of one dialect for one read."""


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--files", metavar="N", type=whole_number(1000), help="how many of the costliest files are listed (default: 10)"
    )


def main(arguments: Arguments) -> int:
    """Print the report."""
    if not arguments.operands:
        raise UsageError("why needs a transcript or a directory of them. Try: eyespan why --help")
    report = WhyReport()
    try:
        for session in sessions(list(arguments.operands)):
            _show_progress(session)
            report.add(session, arguments)
    except OSError as error:
        print(f"eyespan why: {in_plain_words(error)}", file=sys.stderr)
        return 1
    finally:
        _show_progress(None)
    if not report.reads:
        known = "their records are of no known host" if not report.hosts else "none of their calls reads a file"
        print(f"eyespan why: no reads in {report.transcripts} transcripts: {known}", file=sys.stderr)
        return 1
    most = arguments.values.get("files", 10)
    print(json.dumps(report.as_json(), indent=2) if arguments.values.get("json") else "\n".join(report.lines(most)))
    return 0


def _show_progress(session: Transcript | None) -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K" + (visible(os.path.basename(session.source))[:70] if session else ""))
        sys.stderr.flush()


class LiveReport:
    """The report of transcripts for the page, which grows session by session in a thread of its own."""

    def __init__(self, paths: list[str], arguments: Arguments) -> None:
        self._paths = paths
        self._arguments = arguments
        self._state: dict[str, Any] = {**WhyReport().as_json(), "is_complete": False, "error": None}
        self.thread = Thread(target=self._run, daemon=True)

    def __call__(self) -> dict[str, Any]:
        """Return the figures so far; the first call starts the work."""
        with suppress(RuntimeError):  # it was started before
            self.thread.start()
        return self._state

    def _run(self) -> None:
        report, error = WhyReport(), None
        try:
            for session in sessions(self._paths):
                report.add(session, self._arguments)
                self._state = {**self._state, **report.as_json()}
        except (OSError, UsageError) as failure:
            error = in_plain_words(failure) if isinstance(failure, OSError) else str(failure)
        self._state = {**self._state, "is_complete": True, "error": error}


@dataclass(slots=True)
class FileCost:
    """The reads of one file."""

    reads: int = 0
    tokens: int = 0
    held: int = 0


@dataclass(slots=True)
class DialectCost:
    """The reads that a dialect repeated whole."""

    reads: int = 0
    tokens: int = 0
    host_tokens: int = 0
    """What the same reads cost in the host's tool."""

    def add(self, tokens: int, host_tokens: int) -> None:
        """Count one read."""
        self.reads += 1
        self.tokens += tokens
        self.host_tokens += host_tokens

    @property
    def share(self) -> float:
        """Return the cost as a part of the host's."""
        return self.tokens / max(1, self.host_tokens)


@dataclass(slots=True)
class WhyReport:
    """Counts over the reads of all sessions."""

    transcripts: int = 0
    hosts: set[str] = field(default_factory=set)
    reads: int = 0
    tokens: int = 0
    held: int = 0
    """Tokens of lines that an earlier answer of the same session showed, unchanged."""
    repeated: int = 0
    """Reads of which every line was held."""
    files: dict[str, FileCost] = field(default_factory=dict)
    compared: DialectCost = field(default_factory=DialectCost)
    """Reads whose lines at least one dialect shows again."""
    by_dialect: dict[str, DialectCost] = field(default_factory=dict)

    def add(self, session: Transcript, arguments: Arguments) -> None:
        """Count the reads of a session."""
        self.transcripts += 1
        self.hosts |= {session.host} - {""}
        if not session.reads:
            return
        shown = HeldLines()
        again = _Again.of(session, arguments)
        for read in session.reads:
            tokens = estimate(read.answer)
            held = min(tokens, shown.held_tokens(read))
            cost = self.files.setdefault(read.path, FileCost())
            for one in (self, cost):
                one.reads += 1
                one.tokens += tokens
                one.held += held
            self.repeated += held == tokens
            costs = dict(again.costs(read)) if again is not None else {}
            for name, repeated in costs.items():
                self.by_dialect.setdefault(name, DialectCost()).add(repeated, tokens)
            if costs:
                self.compared.add(tokens, tokens)

    def as_json(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        return {
            "transcripts": self.transcripts,
            "hosts": sorted(self.hosts),
            "reads": self.reads,
            "tokens": self.tokens,
            "held_tokens": self.held,
            "repeated_reads": self.repeated,
            "compared": {
                "reads": self.compared.reads,
                "tokens": self.compared.tokens,
                "dialects": {name: asdict(cost) for name, cost in self._dialects()},
            },
            "not_compared": self.reads - self.compared.reads,
            "files": {
                path: {"reads": cost.reads, "tokens": cost.tokens, "held_tokens": cost.held}
                for path, cost in sorted(self.files.items(), key=lambda item: -item[1].tokens)
            },
        }

    def lines(self, most_files: int) -> Iterable[str]:
        """Yield the report for a person."""
        share = 100 * self.held // max(1, self.tokens)
        yield f"{self.reads:,} reads in {self.transcripts:,} transcripts ({', '.join(sorted(self.hosts))})"
        yield f"  {self.tokens:>12,}  tokens of answers (estimated)"
        yield f"  {self.held:>12,}  of them in lines that the model already had, unchanged ({share} %)"
        yield f"  {self.repeated:>12,}  reads that showed nothing new"
        yield ""
        not_compared = f"{self.reads - self.compared.reads:,} could not be repeated"
        yield f"The same lines of {self.compared.reads:,} reads, from today's files ({not_compared}):"
        if self.compared.reads:
            yield f"  {self.compared.tokens:>12,}       the host's tool"
        for name, there in self._dialects():
            some = "" if there.reads == self.compared.reads else f" ({there.reads:,} of the reads)"
            yield f"  {there.tokens:>12,} {there.share:>5.0%} {name}{some}"
        yield ""
        yield "The costliest files: tokens, reads, tokens that the model already had"
        for path, cost in sorted(self.files.items(), key=lambda item: -item[1].tokens)[:most_files]:
            yield f"  {cost.tokens:>12,} {cost.reads:>5} {cost.held:>9,}  {visible(path)}"
        if len(self.files) > most_files:
            yield f"  and {len(self.files) - most_files:,} more; --files N lists N of them"

    def _dialects(self) -> list[tuple[str, DialectCost]]:
        return sorted(self.by_dialect.items(), key=lambda item: (-item[1].reads, item[1].share))


class HeldLines:
    """The lines that earlier answers of a session showed, by file."""

    def __init__(self) -> None:
        self._lines: dict[str, set[str]] = {}
        self._texts: dict[str, list[str]] = {}

    def held_tokens(self, read: HostRead) -> int:
        """Return the tokens of lines shown before, and add the lines of this answer.

        Numbered lines are compared one by one. An answer without numbers is held if an earlier one contains it.
        """
        lines = read.answer.splitlines(keepends=True)
        numbered = {line.rstrip() for line in lines if _NUMBERED.match(line)}
        seen = self._lines.setdefault(read.path, set())
        texts = self._texts.setdefault(read.path, [])
        if 2 * len(numbered) > len(lines):
            held = estimate("".join([line for line in lines if line.rstrip() in seen]))
            if numbered <= seen:
                held = estimate(read.answer)
        else:
            held = estimate(read.answer) if any(read.answer.strip() in text for text in texts) else 0
            texts.append(read.answer)
        seen |= numbered
        return held


class _Again:
    """The dialects over the directory of a session, to read its files again."""

    def __init__(self, workspace: Workspace) -> None:
        self._root = workspace.roots[0].path
        self._tools: dict[str, Tool] = {}
        for name in dialect_names():
            tool = workspace.toolset(name)[0]
            if path_field(tool.spec.input_schema) is not None:
                self._tools[name] = tool

    @classmethod
    def of(cls, session: Transcript, arguments: Arguments) -> _Again | None:
        """Return the dialects, or None if the directory is gone."""
        if arguments.roots:
            return cls(arguments.workspace())
        if not os.path.isdir(session.directory):
            return None
        return cls(arguments.workspace([session.directory]))

    def costs(self, read: HostRead) -> Iterator[tuple[str, int]]:
        """Yield the dialects that show the lines of a read, in as many calls as it takes, with the tokens of all."""
        first, last = _lines_shown(read)
        for name, tool in self._tools.items():
            arguments = arguments_of(tool.dialect, read.path, self._root, first=first, last=last)
            tokens = 0
            for number, reply in enumerate(read_on(tool.dialect, arguments, tool.call, last)):
                if reply is None or reply.is_error or number == MAX_CALLS:
                    break
                tokens += reply.facts["tokens"]
            else:
                yield name, tokens


def _lines_shown(read: HostRead) -> tuple[int, int]:
    """Return the first and the last line of an answer: by their numbers, or as many as there are."""
    lines = read.answer.splitlines()
    numbers = [int(match[1]) for line in lines if (match := _NUMBERED.match(line))]
    if 2 * len(numbers) > len(lines):
        return numbers[0], numbers[-1]
    first = read.first or 1
    return first, min(read.last or sys.maxsize, first + len(lines) - 1)
