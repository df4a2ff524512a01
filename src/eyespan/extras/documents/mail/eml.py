"""Mails as Markdown: the main headers, the text and a list of attachments."""

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
    headers = [f"{name}: {value}" for name in HEADERS if (value := _header(message, name))]
    if not headers:
        return [], 0
    blocks = ["\n".join(headers)]
    attached = []
    body = message.get_body(("plain", "html"))
    if body is not None:
        blocks += _body(body)
    for part in message.walk():
        if part is not body and not part.is_multipart() and (part.get_filename() or part.is_attachment()):
            size = len(part.get_payload(decode=True) or b"")
            attached.append(
                f"- {_one_line(part.get_filename() or 'unnamed')} ({part.get_content_type()}, {size} bytes)"
            )
    if attached:
        blocks += ["Attachments:", "\n".join(attached)]
    return blocks, len(attached)


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
