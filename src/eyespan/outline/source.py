"""Source code of languages other than Python."""

from __future__ import annotations

from eyespan.outline.model import Outline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.model import Pulse


def look(data: bytes, language: str, isolated: bool, pulse: Pulse | None) -> Outline:
    return Outline((), "shape", language, complete=False)
