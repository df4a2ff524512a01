"""Mails as Markdown: the main headers, all texts, the messages that are attached, and a list of other attachments."""

from __future__ import annotations

import codecs
import email
import email.charset
import email.headerregistry
import email.iterators
import email.policy
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from eyespan.decoders.files import read_whole, unreadable
from eyespan.extras.documents.shared import markdown_pieces
from eyespan.extras.documents.web import html

if TYPE_CHECKING:
    from email.message import EmailMessage, MIMEPart


MAX_BYTES = 64 * 1024 * 1024
HEADERS = ("From", "To", "Cc", "Reply-To", "Date", "Subject")

# In the sandbox no module can be imported, so this mail makes the parser load all that it imports on first use.
email.message_from_bytes(
    b'From: "a" <a@b.c>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: =?utf-8?b?YQ==?=\n'
    b'Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain; charset="utf-8"\n'
    b"Content-Transfer-Encoding: quoted-printable\n\na=3D\n--x\nContent-Disposition: attachment; filename*=utf-8''a\n"
    b"Content-Transfer-Encoding: base64\n\nYQ==\n--x--\n",
    policy=email.policy.default,
).as_string()


MAX_DEPTH = 50
MAX_HEADER_CHARS = 8192
"""The standard parser takes minutes for a malicious header of 100 kB."""


class _Policy(email.policy.EmailPolicy):
    """The default policy, with a limit on the length of headers."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        if hasattr(value, "name"):
            return value
        parsed, left = _parsed(name, value[:MAX_HEADER_CHARS]), len(value) - MAX_HEADER_CHARS
        is_whole = left <= 0 or name.lower().startswith("content-")
        return parsed if is_whole else f"{parsed} [{left} characters left out]"


@functools.lru_cache(maxsize=256)
def _parsed(name: str, value: str) -> Any:
    """Parse a header; cached, because the parser requests the type of a part many times."""
    return email.policy.default.header_fetch_parse(name, value)


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the mail to Markdown. What has none of the headers of a mail is shown as text.

    Raises: Missing, Unreadable.
    """
    data = read_whole(file, MAX_BYTES)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = html.decode_text(data).encode("utf-8", "replace")
    blocks, attached = mail_blocks(data)
    if not blocks:
        text = html.decode_text(data)
        if "\0" in text:
            raise unreadable("not a mail: it has none of the usual headers")
        blocks = ["[not a mail: it has none of the usual headers]", text] if text.strip() else []
    return {"attachments": attached}, [markdown_pieces.finish(blocks)]


def mail_blocks(data: bytes) -> tuple[list[str], int]:
    """Return a mail as blocks, and the number of its attachments; no blocks if it has none of the usual headers.

    Raises: Missing, Unreadable.
    """
    policy: Any = _Policy()
    message: EmailMessage = email.message_from_bytes(data, policy=policy)
    blocks = _header_block(message)
    if not blocks:
        return [], 0
    attached: list[str] = []
    _add_part(message, blocks, attached)
    if attached:
        blocks += ["Attachments:", "\n".join(attached)]
    return blocks, len(attached)


def _add_part(part: Any, blocks: list[str], attached: list[str], depth: int = 0) -> None:
    """Add the texts of a part, and of the messages in it, to `blocks`, and a line for everything else to `attached`."""
    kind, payload = part.get_content_type(), part.get_payload()
    if part.get_content_maintype() in ("multipart", "message") and isinstance(payload, list):
        if depth > MAX_DEPTH:
            blocks.append(f"[parts that are nested more than {MAX_DEPTH} times are left out]")
            return
        others: list[Any] = []
        if kind == "multipart/alternative":
            payload, others = _alternatives(payload)
        elif kind == "message/rfc822":
            blocks += ["---", "Attached message:", *_header_block(payload[0])]
        elif kind == "message/delivery-status":
            blocks += [_one_line(", ".join([f"{name}: {value}" for name, value in one.items()])) for one in payload]
            return
        for one in payload:
            _add_part(one, blocks, attached, depth + 1)
        for other in others:
            _add_part(other, [], attached, depth + 1)
    elif part.get_filename() or part.is_attachment() or part.get_content_maintype() != "text":
        size = len(part.get_payload(decode=True) or b"")
        if size or part.get_filename() or part.is_attachment():
            attached.append(f"- {_one_line(part.get_filename() or 'unnamed')} ({kind}, {size} bytes)")
    else:
        blocks += _body(part)


def _alternatives(parts: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the part to show, plain text if there is some, and those of the others that can have attachments."""
    plain = [
        one for one in parts if one.get_content_type() == "text/plain" and (one.get_payload(decode=True) or b"").strip()
    ]
    rich = [one for one in parts if one.is_multipart() or one.get_content_type() == "text/html"]
    main = [*plain, *rich, *parts][:1]
    return main, [one for one in parts if one not in main and (one.is_multipart() or one.get_filename())]


def _header_block(message: EmailMessage) -> list[str]:
    headers = [f"{name}: {value}" for name in HEADERS if (value := _header(message, name))]
    return ["\n".join(headers)] if headers else []


def _header(message: EmailMessage, name: str) -> str:
    try:
        values = message.get_all(name) or []
        return _one_line(", ".join(str(value) for value in values))
    except Exception:  # the standard parser raises many types for invalid headers
        return ""


def _body(part: MIMEPart) -> list[str]:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else str(payload).encode("utf-8", "replace")
    charset = part.get_content_charset()
    if part.get_content_type() == "text/html":
        return html.convert(html.decode_text(data, charset))[1]
    return [html.decode_text(data, charset)]


def _one_line(text: str) -> str:
    """Return text as one line of valid Unicode. The parser represents invalid bytes as surrogates."""
    return " ".join(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split())
