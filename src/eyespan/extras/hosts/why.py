"""`eyespan why`: what the reads of a host's transcript cost, and what they would cost in each dialect."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from eyespan.cli.options import Arguments, Parser, UsageError
from eyespan.dialects import dialect_names
from eyespan.dialects.forms import arguments_of, path_field, read_on
from eyespan.escape import in_plain_words, plural, visible
from eyespan.extras.hosts.transcripts import FORMS, PLACES, HostRead, Transcript, sessions
from eyespan.tokens import estimate
from eyespan.tool import Tool
from eyespan.workspace import Workspace

HELP = """\
usage: eyespan why [TRANSCRIPT...] [options]

Shows what the reads of a host's transcript cost, how much of that the model
already had, and what the same lines of today's files cost in each dialect, in
as many calls as it needs.

  eyespan why                                    all of the three hosts below
  eyespan why ~/.claude/projects/my-project      Claude Code, one project
  eyespan why ~/.codex/sessions/2026             Codex
  eyespan why ~/.gemini/tmp/*/chats --json       Gemini CLI, as JSON
  eyespan view --why ~/.claude/projects          the same in the browser

It reads the transcripts and the files they name, below the directory that each
session worked in or below --root, and sends nothing anywhere. Tokens are
estimates. Exit status: 0; 1 if a transcript cannot be read or has no reads.
"""
_NUMBERED = re.compile(r"\s*(\d+)\s?[\t:|→]")
"""A line of an answer that begins with its number."""
MAX_LISTED = 20
"""Files that the report for a person lists."""
MAX_CALLS = 50
"""Calls of one dialect for one read."""


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def main(arguments: Arguments) -> int:
    """Print the report."""
    paths = list(arguments.operands) or [one for one in PLACES if os.path.isdir(os.path.expanduser(one))]
    if not paths:
        raise UsageError(f"no transcripts in {', '.join(PLACES)}. Name one: eyespan why PATH")
    report = WhyReport()
    try:
        for session in sessions(paths):
            _show_progress(session)
            report.add(session, arguments)
    except OSError as error:
        print(f"eyespan why: {in_plain_words(error)}", file=sys.stderr)
        return 1
    finally:
        _show_progress(None)
    if not report.reads:
        known = (
            f"no file is a transcript of {', '.join(FORMS)}" if not report.hosts else "none of their calls reads a file"
        )
        print(f"eyespan why: no reads found: {known}", file=sys.stderr)
        return 1
    print(json.dumps(report.as_json(), indent=2) if arguments.values.get("json") else "\n".join(report.lines()))
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
        self._report = WhyReport()
        self._error: str | None = None
        self.thread = Thread(target=self._run, daemon=True)

    def __call__(self) -> dict[str, Any]:
        """Return the figures so far; the first call starts the work."""
        with suppress(RuntimeError):  # it was started before
            self.thread.start()
        is_complete = not self.thread.is_alive()
        return {**self._report.as_json(), "is_complete": is_complete, "error": self._error}

    def _run(self) -> None:
        try:
            for session in sessions(self._paths):
                self._report.add(session, self._arguments)
        except (OSError, UsageError) as failure:
            self._error = in_plain_words(failure)


@dataclass(frozen=True, slots=True)
class CountedRead:
    """One read of a host."""

    path: str
    tokens: int
    held: int
    """Tokens of lines that an earlier answer of the same session showed, unchanged."""
    repeated: dict[str, int]
    """Tokens of the same lines in each dialect that shows them."""


@dataclass(slots=True)
class WhyReport:
    """The reads of all sessions."""

    transcripts: int = 0
    hosts: set[str] = field(default_factory=set)
    reads: list[CountedRead] = field(default_factory=list)

    def add(self, session: Transcript, arguments: Arguments) -> None:
        """Count the reads of a session."""
        self.transcripts += session.records > 0
        self.hosts |= {session.host} - {""}
        shown = HeldLines()
        again = _Again.of(session, arguments) if session.reads else None
        for read in session.reads:
            tokens = estimate(read.answer)
            held = min(tokens, shown.held_tokens(read))
            self.reads.append(CountedRead(read.path, tokens, held, dict(again.costs(read)) if again else {}))

    def as_json(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        reads = self.reads[:]  # the thread of a live report adds more
        compared = [read for read in reads if read.repeated]
        by_path: dict[str, list[CountedRead]] = {}
        by_dialect: dict[str, list[CountedRead]] = {}
        for read in reads:
            by_path.setdefault(read.path, []).append(read)
            for name in read.repeated:
                by_dialect.setdefault(name, []).append(read)
        files = {
            path: {**_sums(each), "held_tokens": sum([read.held for read in each])} for path, each in by_path.items()
        }
        dialects = {
            name: {**host, "host_tokens": host["tokens"], "tokens": sum([read.repeated[name] for read in each])}
            for name, each in by_dialect.items()
            for host in [_sums(each)]
        }
        return {
            "transcripts": self.transcripts,
            "hosts": sorted(self.hosts),
            **_sums(reads),
            "held_tokens": sum([read.held for read in reads]),
            "repeated_reads": len([read for read in reads if read.held == read.tokens]),
            "compared": {
                **_sums(compared),
                "dialects": dict(sorted(dialects.items(), key=lambda item: (-item[1]["reads"], _share(item[1])))),
            },
            "not_compared": len(reads) - len(compared),
            "files": dict(sorted(files.items(), key=lambda item: -item[1]["tokens"])),
        }

    def lines(self) -> Iterator[str]:
        """Yield the report for a person."""
        all_reads = self.as_json()
        compared, files, tokens, held = [all_reads[key] for key in ("compared", "files", "tokens", "held_tokens")]
        counts = f"{plural(all_reads['reads'], 'read')} in {plural(self.transcripts, 'transcript')}"
        yield f"{counts} ({', '.join(all_reads['hosts'])})"
        yield f"  {tokens:>12,}  tokens of answers (estimated)"
        share = 100 * held // max(1, tokens)
        yield f"  {held:>12,}  of them in lines that the model already had, unchanged ({share} %)"
        yield f"  {all_reads['repeated_reads']:>12,}  reads that showed nothing new"
        yield ""
        missing = f"{all_reads['not_compared']:,} could not be repeated"
        yield f"The same lines of {plural(compared['reads'], 'read')}, from today's files ({missing}):"
        if compared["reads"]:
            yield f"  {compared['tokens']:>12,}       the host's tool"
        for name, cost in compared["dialects"].items():
            some = "" if cost["reads"] == compared["reads"] else f" ({cost['reads']:,} of the reads)"
            yield f"  {cost['tokens']:>12,} {_share(cost):>5.0%} {name}{some}"
        yield ""
        yield "The costliest files: tokens, reads, tokens that the model already had"
        for path, cost in list(files.items())[:MAX_LISTED]:
            yield f"  {cost['tokens']:>12,} {cost['reads']:>5} {cost['held_tokens']:>9,}  {visible(path)}"
        if len(files) > MAX_LISTED:
            yield f"  and {len(files) - MAX_LISTED:,} more, with --json"


def _sums(reads: list[CountedRead]) -> dict[str, int]:
    return {"reads": len(reads), "tokens": sum([read.tokens for read in reads])}


def _share(cost: dict[str, int]) -> float:
    return cost["tokens"] / max(1, cost["host_tokens"])


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
