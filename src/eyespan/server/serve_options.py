"""The settings of one server: what `eyespan serve` was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from eyespan.context import DEADLINE_SECONDS
from eyespan.dialects import dialect_class

DEFAULT_DIALECT = "native"


class InvalidOptions(Exception):
    """Options that contradict each other or name something that cannot be used. The message explains which."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of `eyespan serve`, by the names they have on the command line."""

    transport: ClassVar[str] = "eyespan.server.stdio:serve"
    """The function that serves: `serve(workspace_factory, options)`."""
    dialects: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of dialects, from `--set`; they take precedence over those of the configuration file."""
    structured: bool = False
    """Answer with structured content too, for hosts that call tools from code."""
    timeout_seconds: float = DEADLINE_SECONDS
    audit: str | None = None
    audit_required: bool = False
    audit_bytes: int = 16 * 1024 * 1024
    no_sandbox: bool = False
    max_answer_tokens: int = 10_000
    """An answer of more tokens has fewer lines; 0 is no limit. Hosts cut longer ones: Claude Code above 50,000
    characters, Codex above 48,000 bytes, Gemini CLI above 40,000 characters."""
    memory: int = 1024
    """Megabytes that the process may take in addition to what it has at its start; 0 is no limit."""

    def validate(self) -> None:
        """Check the rules that hold between options. Raises: InvalidOptions."""
        for dialect in self.dialects:
            try:
                dialect_class(dialect)
            except ValueError as error:
                raise InvalidOptions(str(error)) from None
        if self.audit_required and self.audit is None:
            raise InvalidOptions("--audit-required needs --audit FILE")
