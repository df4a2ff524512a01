"""Plain XML, walked through by one regular expression that stops only at the tags asked for.

Most elements of an office file say how a text looks. An XML parser calls back for each of them, which takes longer than
all the rest; one search over a part passes over them. What is told is what the parser would have told, and where that
cannot be known from the text alone (document types, comments, CDATA, other encodings, a prefix that means two things,
quotes or tags that do not pair) `Intricate` is raised before anything is told, and the caller parses. Damage between
the tags of interest goes unnoticed, as long as the part ends as it must; the package has a checksum for it.
"""

from __future__ import annotations

import re
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Event = tuple[str, str, dict[str, str] | None]
    """Text, "", {}; or "", tag, attributes; or, at its end, "", tag, None; or, all three at once, text, tag, {}."""

MAX_BYTES = 8 * 1024 * 1024
"""Of a part: all its tags are held at once."""
MAX_DEPTH = 256
_MAX_KEPT = 4096
_NONE: dict[str, str] = {}
_CONTROLS = bytes({*range(32)} - {9, 10, 13})
_DOUBTFUL = _CONTROLS + b"!?\r"
_SPACES = re.compile(r'xmlns(?::([^\s=:"<>/]+))?\s*=\s*(?:"([^"<]*)"|\')')
_ATTRIBUTES = re.compile(r'(?:\s+[^\s="\'<>/]+\s*=\s*"[^"<]*")*\s*/?')
_ATTRIBUTE = re.compile(r'([^\s="\'<>/]+)\s*=\s*"([^"<]*)"')
_HEAD = re.compile(r"(<\?xml\s[^<>?]*\?>)?\s*(<([^\s<>/!?]+)(?:\s[^<>]*)?(?<!/)>)")
_REFERENCE = re.compile(r"&([^;&]*);?")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


class Intricate(Exception):
    """This needs a parser."""


class Tags:
    """What is of interest in the parts of one kind, by names such as `w:p`.

    Of `told`, the start is told; of `ended`, which are some of these, also the end. `texts` are elements of text alone,
    which is told without them. Nothing of what is inside those `skipped` is told. A tag of `told` may name an attribute
    (`p:cNvPr descr`): without it, nobody minds whether the tag is told. `line` is an element that often holds one text
    and little else (`a:p a:r a:rPr a:t`: a paragraph of one run, the properties of the run, its text); such a one is
    told at once, as a text with its tag.
    """

    def __init__(
        self,
        told: Iterable[str],
        ended: Iterable[str] = (),
        texts: Iterable[str] = (),
        skipped: Iterable[str] = (),
        line: str = "",
    ) -> None:
        pairs = [tag.partition(" ")[::2] for tag in told]
        self.needs = {tag: attribute for tag, attribute in pairs if attribute}
        self.told, self.ended = frozenset(tag for tag, _ in pairs), frozenset(ended)
        self.texts, self.skipped, self.line = frozenset(texts), frozenset(skipped), line.split()
        self.heads: dict[bytes, tuple[str, bytes]] = {}
        """Of parts seen so far; most parts of a kind start alike. A job's process ends with it."""
        self._plans: dict[str | frozenset[tuple[str, str]], Plan] = {}

    def plan(self, first: str, rest: str, prefix_of: Callable[[str], str]) -> Plan:
        """How to look for them in a part with this first tag and this rest. Raises: Intricate."""
        nested = _SPACES.findall(rest) if "xmlns" in rest else []
        key = frozenset((*_SPACES.findall(first), *nested)) if nested else first
        plan = self._plans.get(key)
        if plan is None:
            plan = Plan(self, _SPACES.findall(first), nested, prefix_of)
            if len(self._plans) < _MAX_KEPT:
                self._plans[key] = plan
        return plan


class Plan:
    """How to look for tags in parts that bind the same prefixes to the same namespaces."""

    def __init__(
        self, tags: Tags, bound: list[tuple[str, str]], nested: list[tuple[str, str]], prefix_of: Callable[[str], str]
    ) -> None:
        """Raises: Intricate."""
        spaces = dict(bound)
        for prefix, space in (*bound, *nested):
            # A name without a prefix means one thing in all of a part only if its first tag says what.
            if not space or spaces.setdefault(prefix, space) != space or (not prefix and (prefix, space) not in bound):
                raise Intricate
        self._relations = {prefix for prefix, space in spaces.items() if prefix and "relationships" in space}
        names: dict[str, str] = {}  # what a tag is called in the file, to what it is called here
        for tag in tags.told | tags.texts | tags.skipped:
            short, colon, leaf = tag.rpartition(":")
            if short not in spaces:
                names[tag] = tag  # not in this file; but so most files have one expression
            for prefix, space in spaces.items():
                if prefix_of(space) == short + colon:
                    names[f"{prefix}:{leaf}" if prefix else leaf] = tag
        self.starts: dict[str, Event] = {name: ("", tag, _NONE) for name, tag in names.items()}
        self.ends: dict[str, Event] = {name: ("", tag, None) for name, tag in names.items() if tag in tags.ended}
        self.skipped = frozenset(name for name, tag in names.items() if tag in tags.skipped)
        texts = [name for name, tag in names.items() if tag in tags.texts]
        self.special = self.skipped.union(texts)
        self.kept: dict[str, dict[str, str]] = {}
        # Up to the next `<`, not `>`, which a value may hold: what is too much is seen when the attributes are read.
        needs = {name: f"(?=[^<]*{tags.needs[tag]})" for name, tag in names.items() if tag in tags.needs}
        start, text, end = _any_of(names, needs), _any_of(texts), _any_of((*self.ends, *self.skipped))
        self.line, line = "", "(?!)()"
        if tags.line:
            self.line = tags.line[0]
            name = next((name for name, tag in names.items() if tag == self.line), None)
            if name is None:
                raise Intricate  # its prefix stands for something else here
            prefix = name.removesuffix(self.line.rpartition(":")[2])
            one, run, look, text_of = (re.escape(prefix + tag.rpartition(":")[2]) for tag in tags.line)
            line = f"{one}><{run}>(?:<{look}[^<>]*/>)?<{text_of}>([^<]+)</{text_of}></{run}></{one}>"
        self.pattern = re.compile(
            rf'<(?:{line}|{text}(?: xml:space="[a-z]*")?>([^<]*)</{text}>|'
            rf"({start})(?=[\s/>])([^<>]*)>|/({end})\s*>)"
        )

    def attributes(self, written: str) -> dict[str, str]:
        """The attributes of a start tag, named as `package` does. Raises: Intricate."""
        if not _ATTRIBUTES.fullmatch(written):
            raise Intricate  # a `>` in a value, for one
        written_plainly = written.replace("\n", " ").replace("\t", " ")  # as XML has it for values
        found = {}
        for name, value in _ATTRIBUTE.findall(written_plainly):
            prefix, _, leaf = name.rpartition(":")
            if "xmlns" not in (name, prefix):
                found[f"r:{leaf}" if prefix in self._relations else leaf] = unescaped(value) if "&" in value else value
        if len(self.kept) < _MAX_KEPT:
            self.kept[written] = found
        return found


def _any_of(names: Iterable[str], needs: Mapping[str, str] = MappingProxyType({})) -> str:
    """A pattern for any of these names; those of one prefix together, which is twice as fast as one by one."""
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        prefix, colon, leaf = name.rpartition(":")
        groups.setdefault(re.escape(prefix + colon), []).append(re.escape(leaf) + needs.get(name, ""))
    return "(?:" + ("|".join(f"{prefix}(?:{'|'.join(leaves)})" for prefix, leaves in groups.items()) or "(?!)") + ")"


def unescaped(text: str) -> str:
    """Text with its references replaced. Raises: Intricate, for one that XML itself does not define."""
    return _REFERENCE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    name = found[1]
    if name in _ENTITIES and found[0].endswith(";"):
        return _ENTITIES[name]
    try:
        code = int(name[2:], 16) if name.startswith("#x") else int(name.removeprefix("#"))
        if name.startswith("#") and found[0].endswith(";") and chr(code).encode() not in _CONTROLS:
            return chr(code)
    except (ValueError, OverflowError):
        pass
    raise Intricate


def scan(data: bytes, tags: Tags, prefix_of: Callable[[str], str]) -> list[Event]:
    """All that is of interest in a part, in its order.

    Raises: Intricate.
    """
    if len(data) > MAX_BYTES:
        raise Intricate
    at = data.find(b">", data.find(b"?>") + 2 if data.startswith(b"<?") else 0) + 1
    head = data[:at]
    known = tags.heads.get(head)
    if known is None:
        known = _head(head, tags)
    first, end = known
    rest = data[at:]
    if not rest.endswith(end) and not rest.rstrip().endswith(end):
        raise Intricate
    plain = len(rest.translate(None, _DOUBTFUL)) == len(rest)
    if not plain and (b"<!" in rest or b"<?" in rest or rest.translate(None, _CONTROLS) != rest):
        raise Intricate
    try:
        text = rest.decode("utf-8")
    except UnicodeDecodeError:
        raise Intricate from None
    if not plain:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    plan = tags.plan(first, text, prefix_of)
    return _events(plan, first, text)


def _head(head: bytes, tags: Tags) -> tuple[str, bytes]:
    """The first tag of a part that starts so, and how it must end. Raises: Intricate."""
    try:
        text = head.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Intricate from None
    found = _HEAD.fullmatch(text)
    if found is None or (found[1] and "encoding" in found[1] and "utf-8" not in found[1].lower()):
        raise Intricate
    if len(tags.heads) < _MAX_KEPT:
        tags.heads[head] = found[2], f"</{found[3]}>".encode()
    return found[2], f"</{found[3]}>".encode()


def _events(plan: Plan, first: str, rest: str) -> list[Event]:
    events: list[Event] = []
    tell = events.append
    starts, ends, kept, special = plan.starts, plan.ends, plan.kept, plan.special
    open_tags: list[str] = []
    skipping, skipped_depth = "", 0
    line = plan.line
    for whole, leaf, opened, written, closed in chain(plan.pattern.findall(first), plan.pattern.findall(rest)):
        if skipping:
            if opened == skipping and not written.endswith("/"):
                skipped_depth += 1
            elif closed == skipping:
                skipped_depth -= 1
                if not skipped_depth:
                    skipping = ""
        elif whole:
            tell((unescaped(whole) if "&" in whole else whole, line, _NONE))
        elif leaf:
            tell((unescaped(leaf) if "&" in leaf else leaf, "", _NONE))
        elif closed:
            if not open_tags or open_tags.pop() != closed:
                raise Intricate  # the end of something else than was begun last
            tell(ends[closed])
        elif opened in special:
            if opened in plan.skipped:
                if not written.endswith("/"):
                    skipping, skipped_depth = opened, 1
            elif written.strip() != "/":
                raise Intricate  # a text with tags in it
        elif opened:
            if written:
                tell(("", starts[opened][1], kept.get(written) or plan.attributes(written)))
            else:
                tell(starts[opened])
            if opened in ends:
                if written and written[-1] == "/":
                    tell(ends[opened])
                else:
                    open_tags.append(opened)
                    if len(open_tags) > MAX_DEPTH:
                        raise Intricate
    if open_tags or skipping:
        raise Intricate
    return events
