"""The base of all dialects: translators between the arguments and answers of a tool and the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from eyespan.context import CallContext
from eyespan.engine import Engine
from eyespan.errors import ReadError
from eyespan.model import Document, Reply, ReplyError, TextContent, TextPart, ToolSpec

Admit = Callable[[str, bool], str]
BYTES_PER_TOKEN = 4

CHANGED = "The file changed while it was read; the lines may come from two versions of it. Read it again."
CHANGED_DOCUMENT = "The file changed while it was read; what is shown may be of two versions of it. Read it again."


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Settings of every dialect that act on an answer after it is written: see `eyespan.extras.hosts.host_settings`."""

    suggest: bool = False
    redact: bool = False
    neutralise: tuple[str, ...] = ()
    max_answer_tokens: int = 0

    @property
    def acts(self) -> bool:
        """Return True if they may change an answer."""
        return bool(self.suggest or self.redact or self.neutralise or self.max_answer_tokens)

    def admits(self, reply: Reply) -> bool:
        """Return True if a reply is within the limit of this host."""
        return not self.max_answer_tokens or host_tokens(reply) <= self.max_answer_tokens


def host_tokens(reply: Reply) -> int:
    """Return the tokens of a reply as a host counts them: the estimate, or a token for four bytes of text if more.

    Claude Code, Codex and Gemini CLI measure the answers of MCP servers by their length.
    """
    return max(int(reply.facts["tokens"]), least_tokens(reply))


def least_tokens(reply: Reply) -> int:
    """Return a token for four bytes of text."""
    size_bytes = sum([len(one.text.encode("utf-8", "replace")) for one in reply.content if type(one) is TextContent])
    return -(-size_bytes // BYTES_PER_TOKEN)


HOST_DEFAULTS = {one.name: one.default for one in fields(HostSettings)}


class Dialect:
    """One tool: its schema, how arguments are checked, and how answers and errors are worded."""

    name = ""
    summary = ""
    """One line for people who choose a dialect."""
    instructions = (
        "Text is returned by lines: for a large file, ask for the range you need. Images, PDF pages and notebooks are "
        "returned as such."
    )
    """What the dialect shows, for a model: part of the instructions of an MCP server."""
    settings: Mapping[str, Any] = {}
    """The settings of this dialect with their defaults; every dialect also has `allowed`, `encoding` and those of
    `HostSettings`.

    `encoding`: None is the rule of the dialect's document, "auto" detects it, anything else names an encoding.
    """
    choices: Mapping[str, tuple[str, ...]] = {}
    """The values of settings that have few."""
    limits: tuple[str, ...] = ()
    """The settings that are whole numbers from 0 on. A configuration file in the workspace can only lower them."""
    output_schema: Mapping[str, Any] | None = None
    """The schema of `Reply.structured`, if an MCP server sends that as structured content: only for a dialect whose
    result is an object. Hosts that show their model an answer ignore the content blocks then."""
    first_offset = 1
    """The value of the argument `offset` for the first line."""
    needs_absolute_paths = False
    """Relative paths are refused."""
    notice_tags: tuple[str, ...] = ()
    """How lines begin that the dialect itself writes as the host's words."""
    own_paths = ""
    """A regular expression of the parts of a text that the dialect writes and that name paths; "" if it names none."""
    sends_documents = False
    """An MCP server sends documents as embedded resources."""
    can_be_off: tuple[str, ...] = ()
    """Those of them that None lifts."""

    def __init__(self, **settings: Any) -> None:
        known = {"allowed": True, "encoding": None, **HOST_DEFAULTS, **self.settings}
        unknown = sorted(set(settings) - set(known))
        if unknown:
            raise TypeError(f"{self.name} has no setting {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        for name, value in settings.items():
            self._check_setting(name, value, known[name])
        known.update(settings)
        self._given_settings = settings
        self.allowed: bool = known["allowed"]
        self.encoding: str | None = None if known["encoding"] is None else _known_encoding(known["encoding"])
        known["neutralise"] = tuple(known["neutralise"])
        self.host = HostSettings(**{name: known[name] for name in HOST_DEFAULTS})
        self.members: tuple[Dialect, ...] = (self,)
        """The tools of the dialect."""
        self._configure(known)
        self.spec: ToolSpec = self._spec()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the class and the settings given to it, without the memory between calls."""
        return _with_settings, (type(self), self._given_settings)

    def _check_setting(self, name: str, value: Any, default: Any) -> None:
        """Check the type of a value. Raises: ValueError."""
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise ValueError(f"{name} must be true or false, not {value!r}")
        elif name == "neutralise":
            if not (isinstance(value, (list, tuple)) and all(isinstance(one, str) and one for one in value)):
                raise ValueError(f"neutralise must be a list of names of tags, not {value!r}")
        elif name in self.choices:
            if value not in self.choices[name]:
                known = " or ".join([f'"{choice}"' for choice in self.choices[name]])
                raise ValueError(f"{name} must be {known}, not {value!r}")
        elif name in (*self.limits, "max_answer_tokens"):
            is_off = value is None and name in self.can_be_off
            if not is_off and (type(value) is not int or not 0 <= value < 2**62):
                raise ValueError(f"{name} must be a whole number from 0 to 2**62 - 1, not {value!r}")

    def _configure(self, settings: Mapping[str, Any]) -> None:
        """Take over the dialect's own settings. Raises: ValueError for an invalid value."""

    def _spec(self) -> ToolSpec:
        raise NotImplementedError  # abstract

    def set_roots(self, roots: Sequence[str]) -> None:
        """Take note of the roots of the workspace, for a dialect whose definition names them."""

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        """Answer one call.

        Raises: BadArguments, ReadError.
        """
        raise NotImplementedError  # abstract

    def parse(self, arguments: Any, admit: Admit) -> Any:
        """Check the arguments of a call. `admit(path, lexical)` checks a path's name without access to the disk.

        Raises: BadArguments, ReadError.
        """
        raise NotImplementedError  # abstract

    def render_error(self, error: ReadError) -> ReplyError:
        """Return the dialect's own code and text for a read that failed."""
        raise NotImplementedError  # abstract


class ToolsetDialect(Dialect):
    """A dialect of several tools: each is a dialect of the same name, with the same settings."""

    tools: tuple[type[Dialect], ...] = ()

    def _configure(self, settings: Mapping[str, Any]) -> None:
        self.members = tuple([tool(**self._given_settings) for tool in self.tools])

    def _spec(self) -> ToolSpec:
        return self.members[0].spec


def _with_settings(dialect: type[Dialect], settings: dict[str, Any]) -> Dialect:
    return dialect(**settings)


def _known_encoding(encoding: object) -> str | None:
    from eyespan.lines.encodings import canonical_name

    return canonical_name(encoding)


ENCODING_FACTS = ("encoding", "encoding_confidence", "replaced")


def encoding_facts(document: Document) -> dict[str, Any]:
    """Return how the text was decoded, for a result object; empty unless the host set `encoding`."""
    extra = document.extra
    return {name: extra[name] for name in ENCODING_FACTS if name in extra} if extra else {}


def encoding_note(document: Document) -> str | None:
    """Return a note on the decoding of a text: a guess, or bytes that could not be decoded; None if all is well."""
    extra = document.extra
    if not extra:
        return None
    notes = []
    if "encoding_confidence" in extra:
        notes.append(
            f"The encoding was guessed to be {extra['encoding']} (confidence {extra['encoding_confidence']:g})."
        )
    if extra.get("replaced"):
        notes.append(f"{extra['replaced']} pieces are not valid {extra['encoding']} and are shown as U+FFFD.")
    return " ".join(notes) or None


def text_notes(document: Document) -> tuple[str, ...]:
    """Return notes on a text that was read: a change during the read, its decoding."""
    return tuple([note for note in (document.facts.changed and CHANGED, encoding_note(document)) if note])


def only_text(document: Document) -> TextPart:
    """Return the one part of a text document."""
    part: Any = document.parts[0]
    text_part: TextPart = part
    return text_part
