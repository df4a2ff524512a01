"""Mails: the headers a reader looks at, the text, and a list of what is attached."""

from __future__ import annotations

import email
import email.charset
import email.headerregistry
import email.iterators
import email.policy
import functools
from typing import TYPE_CHECKING, Any

from eyespan.decoders import html, markdown
from eyespan.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from email.message import EmailMessage, MIMEPart
    from typing import BinaryIO

KIND = "eml"
MAX_BYTES = 64 * 1024 * 1024
HEADERS = ("From", "To", "Cc", "Reply-To", "Date", "Subject")

# Inside the sandbox no module can be imported: parse one mail that makes the parser import everything it needs.
email.message_from_bytes(
    b'From: "a" <a@b.c>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: =?utf-8?b?YQ==?=\n'
    b'Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain; charset="utf-8"\n'
    b"Content-Transfer-Encoding: quoted-printable\n\na=3D\n--x\nContent-Disposition: attachment; filename*=utf-8''a\n"
    b"Content-Transfer-Encoding: base64\n\nYQ==\n--x--\n",
    policy=email.policy.default,
).as_string()


MAX_HEADER_CHARS = 8192
"""The standard parser takes minutes for a header of 100 kB that is made for it."""


class _Policy(email.policy.EmailPolicy):
    """The default one, for headers of a bounded length."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        return value if hasattr(value, "name") else _parsed(name, value[:MAX_HEADER_CHARS])


@functools.lru_cache(maxsize=256)
def _parsed(name: str, value: str) -> Any:
    """Each once: the parser asks again and again what type a part is."""
    return email.policy.default.header_fetch_parse(name, value)


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """The mail as Markdown.

    Raises: Missing, Unreadable.
    """
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Unreadable("", kind=KIND, reason=f"it has more than {MAX_BYTES} bytes")
    policy: Any = _Policy()
    message: EmailMessage = email.message_from_bytes(data, policy=policy)
    headers = [f"{name}: {value}" for name in HEADERS if (value := _header(message, name))]
    if not headers:
        raise Unreadable("", kind=KIND, reason="it has none of the headers of a mail")
    blocks = ["\n".join(headers)]
    attached = []
    body = message.get_body(("plain", "html"))
    if body is not None:
        blocks += _body(body)
    for part in message.walk():
        if part is not body and not part.is_multipart() and (part.get_filename() or part.is_attachment()):
            size = len(part.get_payload(decode=True) or b"")
            attached.append(f"- {_plain(part.get_filename() or 'unnamed')} ({part.get_content_type()}, {size} bytes)")
    if attached:
        blocks += ["Attachments:", "\n".join(attached)]
    return {"attachments": len(attached)}, [markdown.finish(blocks)]


def _header(message: EmailMessage, name: str) -> str:
    try:
        values = message.get_all(name) or []
        return _plain(", ".join(str(value) for value in values))
    except Exception:  # the standard parser raises many things for headers that are not what they should be
        return ""


def _body(part: MIMEPart) -> list[str]:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else str(payload).encode("utf-8", "replace")
    charset = part.get_content_charset()
    if part.get_content_type() == "text/html":
        return html.convert(html.text_of(data, charset))[1]
    return [html.text_of(data, charset)]


def _plain(text: str) -> str:
    """One line of valid text: bytes that no header may hold are kept as surrogates by the parser."""
    return " ".join(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split())
