"""Mailboxes (mbox) as Markdown: every mail under a heading with its number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import read_whole, unreadable
from eyespan.extras.documents.mail import eml
from eyespan.extras.documents.shared import markdown_pieces

MAX_BYTES = 64 * 1024 * 1024
MAX_MAILS = 2000
_START = re.compile(rb"(?:^|(?<=\n\n)|(?<=\r\n\r\n))From [^\r\n]*\r?\n")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the mails to Markdown. Raises: Missing, Unreadable."""
    data = read_whole(file, MAX_BYTES)
    mails = _START.split(data)[1:]
    if not mails:
        raise unreadable("not a mailbox: it has no line that starts a mail")
    blocks: list[str] = []
    for number, mail in enumerate(mails[:MAX_MAILS], 1):
        blocks.append(f"## Mail {number}")
        blocks += eml.mail_blocks(_QUOTED.sub(rb"\1", mail))[0] or ["[without the usual headers]"]
    if len(mails) > MAX_MAILS:
        blocks.append(f"[{len(mails) - MAX_MAILS} more mails are left out]")
    return {"mails": len(mails)}, [markdown_pieces.finish(blocks)]
