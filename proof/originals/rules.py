"""Declared differences from an original, each checked by computing the original's answer again.

A rule is the change that makes eyespan's answer the original's: of fields of the dialect's table, of the files, of the
roots, or of the answer itself. A difference is declared if eyespan with the changes of one to three rules gives exactly
the original's answer. For refusals a rule can state the reason instead, computed from the arguments and the files; the
words are not compared then, and such calls are counted apart.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from eyespan import Workspace
from eyespan.dialects import dialect_class
from eyespan.dialects.base import Dialect, ToolsetDialect
from eyespan.model import ANY_IS_TEXT, ImageContent, Reply, TextContent
from eyespan.tool import Tool

Answer = tuple[bool, Any]
"""Whether a call failed, and its text or its blocks."""
Parts = Callable[["Case", Answer], list[tuple[str, dict[str, Any], Answer]]]
"""What turns a call for several files, and an answer to it, into calls for each file and their shares of the answer."""
MAX_RULES = 3
"""The most rules that explain one difference."""


@dataclass(frozen=True, slots=True)
class Case:
    """One call."""

    tool: str
    arguments: dict[str, Any]
    root: Path
    schema: Mapping[str, Any]

    @property
    def is_invalid(self) -> bool:
        """Return True if the arguments do not fit the schema of the tool."""
        return not Draft202012Validator(self.schema).is_valid(self.arguments)

    @property
    def names_nothing(self) -> bool:
        """Return True if one of the arguments names no file, and none of them names one."""
        texts = [value for value in self.arguments.values() if isinstance(value, str)]
        names = [name for text in texts for name in (text, text.lstrip("@/"))]
        return bool(texts) and not any(os.path.isfile(self.root / name) for name in names)

    def file(self, name: str = "path") -> Path:
        """Return the file that an argument names."""
        return Path(os.path.normpath(self.root / str(self.arguments.get(name, "")).lstrip("@")))

    def contents(self, name: str = "path") -> bytes:
        """Return the contents of the file that an argument names; b"" if it cannot be read."""
        try:
            return self.file(name).read_bytes()
        except (OSError, ValueError):
            return b""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A declared difference."""

    name: str
    table: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the dialect's table that the original has otherwise."""
    files: Callable[[bytes], bytes] | None = None
    """What turns every file into one of which eyespan shows what the original shows of the first."""
    has_machine: bool = False
    """The original reads outside the roots."""
    answer: Callable[[Case, Answer], Answer] | None = None
    """What turns eyespan's answer into the original's."""
    refused: Callable[[Case], bool] | None = None
    """Whether both refuse the call for this reason, in other words."""
    refused_here: Callable[[Case], bool] | None = None
    """Whether eyespan alone refuses it for this reason."""


class Judge:
    """Eyespan's answers for a dialect, under any rules."""

    def __init__(self, dialect: str, rules: Sequence[Rule], root: Path, parts: Parts | None = None) -> None:
        self._root = root
        self._rules = rules
        self._parts = parts
        found = dialect_class(dialect)
        self._members: Sequence[type[Dialect]] = found.tools if issubclass(found, ToolsetDialect) else (found,)
        self._tools: dict[tuple[Rule, ...], tuple[Path, dict[str, Tool]]] = {}
        self._open: list[Workspace] = []
        self._copies: list[tempfile.TemporaryDirectory[str]] = []
        self._known: Counter[tuple[Rule, ...]] = Counter()
        """The rules that explained differences so far: tried first."""
        self._read: tuple[Case | None, dict[tuple[Rule, ...], Answer]] = (None, {})
        """The last call, and its answers by the rules that change what is read, not the answer."""

    def close(self) -> None:
        for workspace in self._open:
            workspace.close()
        for copy in self._copies:
            copy.cleanup()

    def case(self, tool: str, arguments: dict[str, Any]) -> Case:
        """Return a call with the schema of its tool."""
        tools = self._variant(())[1]
        return Case(tool, arguments, self._root, tools[tool].spec.input_schema)

    def answer(self, case: Case, rules: tuple[Rule, ...] = ()) -> Answer:
        """Return the answer under rules."""
        if self._read[0] is not case:
            self._read = case, {}
        reading = tuple([rule for rule in rules if rule.table or rule.files or rule.has_machine])
        if reading not in self._read[1]:
            root, tools = self._variant(reading)
            above, other = str(self._root.parent), str(root.parent)
            given = _renamed(case.arguments, above, other)
            self._read[1][reading] = _renamed(_answer(tools[case.tool].call(given)), other, above)
        answer = self._read[1][reading]
        for rule in rules:
            if rule.answer is not None:
                answer = _changed(rule.answer, case, answer)
        return answer

    def reason(self, case: Case, theirs: Answer, ours: Answer) -> tuple[str, bool] | None:
        """Return the rules that explain two unlike answers, and whether they were recomputed; None if none does."""
        known = sorted(self._known, key=lambda rules: -self._known[rules])
        found = next((rules for rules in known if self.answer(case, rules) == theirs), None)
        found = found or self._combined(case, theirs, (), ours)
        if found is None:
            return self._refused(case, theirs, ours) or self._by_parts(case, theirs, ours)
        for rule in found:  # rules that were known together may do with fewer of them here
            fewer = tuple([one for one in found if one is not rule])
            found = fewer if fewer and self.answer(case, fewer) == theirs else found
        self._known[found] += 1
        return "; ".join([rule.name for rule in found]), True

    def _refused(self, case: Case, theirs: Answer, ours: Answer) -> tuple[str, bool] | None:
        """Return the rule whose reason to refuse a call applies; None if there is none, or the call was not refused."""
        for rule in self._rules if ours[0] else ():
            applies = rule.refused if theirs[0] else rule.refused_here
            if applies is not None and _holds(applies, case):
                return rule.name, False
        return None

    def _by_parts(self, case: Case, theirs: Answer, ours: Answer) -> tuple[str, bool] | None:
        """Return the rules that explain each part of two answers about several files; None if a part has none."""
        pairs = list(zip(self._parts(case, theirs), self._parts(case, ours), strict=False)) if self._parts else []
        found = set()
        for (tool, arguments, part), (_, _, own) in pairs:
            if part != own:
                one = self.case(tool, arguments)
                found.add(self.reason(one, part, own) if self.answer(one) == own else None)
        if not found or None in found:
            return None
        reasons = [reason for reason in found if reason is not None]
        names = sorted({reason[0] for reason in reasons})
        return "; ".join(names), all(is_recomputed for _, is_recomputed in reasons)

    def _combined(self, case: Case, theirs: Answer, rules: tuple[Rule, ...], before: Answer) -> tuple[Rule, ...] | None:
        """Return the fewest rules, these among them, that make the original's answer; each must change the answer."""
        tried = []
        for rule in self._rules:
            if rule.refused is rule.refused_here and rule not in rules:
                more = tuple([one for one in self._rules if one in rules or one is rule])
                answer = self.answer(case, more)
                if answer == theirs:
                    return more
                if answer != before:
                    tried.append((more, answer))
        found = None
        for more, answer in tried if len(rules) + 1 < MAX_RULES else ():
            found = found or self._combined(case, theirs, more, answer)
        return found

    def _variant(self, rules: tuple[Rule, ...]) -> tuple[Path, dict[str, Tool]]:
        if rules not in self._tools:
            changes = [rule.files for rule in rules if rule.files is not None]
            root = self._copy(changes) if changes else self._root
            roots = [root, "/"] if any(rule.has_machine for rule in rules) else [root]
            workspace = Workspace(*roots)
            self._open.append(workspace)
            table = {name: value for rule in rules for name, value in rule.table.items()}
            made = [workspace.tool(type("Variant", (member,), dict(table))) for member in self._members]
            self._tools[rules] = root, {tool.spec.name: tool for tool in made}
        return self._tools[rules]

    def _copy(self, changes: Sequence[Callable[[bytes], bytes]]) -> Path:
        """Return a copy of the root, and of what is beside it, in which every file is changed.

        Its path is as long as that of the root, so that limits on the length of an answer fall on the same place.
        """
        above = self._root.parent
        place = tempfile.TemporaryDirectory(prefix="o" * (len(above.name) - 8), dir=above.parent)
        self._copies.append(place)
        shutil.copytree(above, place.name, symlinks=True, dirs_exist_ok=True)
        for file in Path(place.name).rglob("*"):
            if file.is_symlink() and f"{os.readlink(file)}/".startswith(f"{above}/"):
                target = place.name + os.readlink(file).removeprefix(str(above))
                file.unlink()
                file.symlink_to(target)
            elif file.is_file() and not file.is_symlink():
                data = file.read_bytes()
                for change in changes:
                    data = change(data)
                file.write_bytes(data)
        return Path(place.name, self._root.name)


def _changed(change: Callable[[Case, Answer], Answer], case: Case, own: Answer) -> Answer:
    """Return the answer as a rule changes it; arguments of a wrong type change nothing."""
    try:
        return change(case, own)
    except (AttributeError, KeyError, OSError, TypeError, ValueError):
        return own


def _holds(applies: Callable[[Case], bool], case: Case) -> bool:
    try:
        return applies(case)
    except (AttributeError, KeyError, OSError, TypeError, ValueError):
        return False


def _answer(reply: Reply) -> Answer:
    if reply.error is not None:
        return True, reply.error.message
    if all(isinstance(block, TextContent) for block in reply.content):
        return False, "".join([block.text for block in reply.content if isinstance(block, TextContent)])
    return False, [_block(block) for block in reply.content]


def _block(block: Any) -> dict[str, str]:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    kind = "image" if isinstance(block, ImageContent) else "file"
    return {"type": kind, "data": base64.b64encode(block.data).decode(), "mimeType": block.media_type}


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, (list, tuple)):
        return type(value)([_renamed(item, old, new) for item in value])
    return {key: _renamed(item, old, new) for key, item in value.items()} if isinstance(value, dict) else value


def lines_at(separators: str) -> Callable[[bytes], bytes]:
    """Return the change of files in which other characters than a line feed end lines as well."""
    others = [one.encode() for one in separators]

    def change(data: bytes) -> bytes:
        data = data.replace(b"\r\n", b"\n")
        for one in others:
            data = data.replace(one, b"\n")
        return data

    return change


def counted_empty(data: bytes) -> bytes:
    """Return a file in which the empty piece after a final line feed, or that of an empty file, is a line."""
    end = b"\n\0" if data.startswith(b"\xff\xfe") else b"\n"
    return data + end if not data or data.endswith(end) else data


def whole_characters(data: bytes) -> bytes:
    """Return UTF-16 without half a character at its end."""
    return data[: len(data) // 2 * 2] if data.startswith((b"\xff\xfe", b"\xfe\xff")) else data


def other_encoding(codec: str) -> Rule:
    """Return the rule for an original that takes text that is not UTF-8 for another encoding."""

    def change(data: bytes) -> bytes:
        try:
            data.decode()
        except UnicodeDecodeError:
            return data.decode(codec, "replace").encode()
        return data

    return Rule("text that is not UTF-8 is shown as U+FFFD, not guessed", files=change)


def whole(value: Any) -> Any:
    """Return the number that a text or a boolean stands for, and None as it is."""
    return int(float(value)) if isinstance(value, str) else value if value is None else int(value)


@cache
def collated(names: tuple[str, ...]) -> list[str]:
    """Return names as `localeCompare` of JavaScript orders them."""
    program = "console.log(JSON.stringify(JSON.parse(process.argv[1]).sort((a, b) => a.localeCompare(b))))"
    done = subprocess.run(["node", "-e", program, json.dumps(names)], capture_output=True, check=True)
    return list(json.loads(done.stdout))


def javascript(number: float) -> str:
    """Return a whole number as JavaScript writes it."""
    text = repr(float(number))
    return text if abs(number) >= 1e21 else str(int(Decimal(text)))


def _as_doubles(case: Case, own: Answer) -> Answer:
    """Return the answer with the numbers of the arguments as JavaScript writes them."""
    text = own[1]
    for value in case.arguments.values():
        if isinstance(text, str) and isinstance(value, (int, float)) and abs(value) > 2**53:
            text = text.replace(str(int(value)), javascript(value))
    return own[0], text


def _large(case: Case) -> bool:
    """Return True if an argument is a number that a double does not hold."""
    return any(type(value) is int and abs(value) >= 2**53 for value in case.arguments.values())


def _unescaped(case: Case, own: Answer) -> Answer:
    """Return the answer with lone surrogates as they are."""
    return own[0], own[1].replace("\\ud800", "\ud800") if isinstance(own[1], str) else own[1]


def _lists_outside(case: Case) -> bool:
    """Return True for a directory outside the root, which other programs may change meanwhile."""
    names = [value for value in case.arguments.values() if isinstance(value, str)]
    return _is_outside(case) and any((case.root / name).is_dir() for name in names)


def _is_outside(case: Case) -> bool:
    """Return True if a text of the arguments names something outside the root."""
    for value in case.arguments.values():
        try:
            real = os.path.realpath(case.root / value) if isinstance(value, str) else str(case.root)
        except ValueError:  # no name
            continue
        if not f"{real}/".startswith(f"{case.root}/"):
            return True
    return False


INVALID = "[invalid]"
"""Stands for the refusal of wrong arguments in the many words of pydantic and the like."""


def _null(case: Case, own: Answer) -> Answer:
    return (True, INVALID) if None in case.arguments.values() else own


def _huge(case: Case, own: Answer) -> Answer:
    """Return the refusal of a float that pydantic does not take for a whole number."""
    is_huge = any(type(value) is float and abs(value) >= 2**63 for value in case.arguments.values())
    return (True, INVALID) if is_huge else own


HALF = Rule("half a character of UTF-16 is shown as U+FFFD", files=whole_characters)
DOUBLES = Rule("numbers over 2**53 are exact", answer=_as_doubles)
LARGE = Rule("numbers over 2**53 are exact", refused=_large)
NULL = Rule("null is absent", answer=_null)
PYDANTIC = (NULL, Rule("numbers over 2**53 are exact", answer=_huge))
SURROGATES = Rule("a lone surrogate is written with an escape", answer=_unescaped)


def _is_blank(case: Case) -> bool:
    path = str(next(iter(case.arguments.values()), ""))
    return path != path.strip() or not path


BLANKS = Rule("blanks around a path are part of it", refused=_is_blank, refused_here=_is_blank)
LISTS_OUTSIDE = Rule("directories outside the roots are not listed", refused_here=_lists_outside)
BOTH_OUTSIDE = Rule("files outside the roots", refused=_is_outside)
OUTSIDE = Rule("files outside the roots are refused", has_machine=True)
BINARY = Rule("binary files are refused", table={"text_rule": ANY_IS_TEXT, "refuses": frozenset()})
EMPTY_PIECE = Rule("the empty piece after the last line feed is no line", files=counted_empty)
CRLF = Rule("CR before a line feed is part of the line end", files=lambda data: data.replace(b"\r\n", b"\r\r\n"))
BOM_LINE = Rule("a BOM alone is a line", files=lambda data: b"" if data == b"\xef\xbb\xbf" else data)


def _is_wrong(case: Case) -> bool:
    return case.is_invalid or _has_fraction(list(case.arguments.values()))


def _has_fraction(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, list) and any(map(_has_fraction, value)))


WRONG = Rule("arguments that do not fit the schema, or are no integers", refused=_is_wrong)
STRICT = Rule(
    "arguments that do not fit the schema, or are no integers, where the original takes them", refused_here=_is_wrong
)
GENERAL = (
    WRONG,
    OUTSIDE,
    EMPTY_PIECE,
    CRLF,
    BINARY,
    BOM_LINE,
    Rule("only a line feed ends a line", files=lines_at("\r")),
    Rule("only a line feed ends a line", files=lines_at("\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")),
    Rule("a start after the end is an error", table={"refused": {}}),
    Rule("a path that names no file", refused=lambda case: case.names_nothing),
)
"""Rules of several originals."""
