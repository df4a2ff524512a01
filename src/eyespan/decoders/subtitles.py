"""Subtitles (srt, vtt) as text: one line for each, with the time at which it is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders import html, markdown
from eyespan.decoders.files import read_whole, unreadable

MAX_BYTES = 64 * 1024 * 1024
_TIME = re.compile(r"((?:\d+:)?\d{1,2}:\d\d)[.,]\d+\s*-->")
_SPEAKER = re.compile(r"<v(?:\.[^ >]*)?\s+([^>]*)>")
_TAG = re.compile(r"<[^<>\n]*>|\{\\[^{}\n]*\}")


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the subtitles to lines. Raises: Unreadable."""
    text = html.decode_text(read_whole(file, MAX_BYTES)).replace("\r\n", "\n").replace("\r", "\n")
    lines: list[str] = []
    cue: list[str] | None = None
    count = 0
    for line in [*text.split("\n"), ""]:
        found = _TIME.match(line)
        if found:
            count += 1
            cue = [f"[{found[1]}]"]
        elif cue is not None:
            if line.strip():
                cue.append(" ".join(_TAG.sub("", _SPEAKER.sub(r"\1: ", line)).split()))
            elif len(cue) > 1:
                lines.append(" ".join(cue))
                cue = None
    if not count:
        raise unreadable("no subtitles: it has no line with times")
    return {"subtitles": count}, [markdown.encode("\n".join(lines) + "\n" if lines else "")]
