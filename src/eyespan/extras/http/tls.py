"""TLS: a context from certificate and key, as files or as text that a keeper has read."""

from __future__ import annotations

import os
import ssl

from eyespan.server.serve_options import InvalidOptions


def load_files(certificate: str, key: str) -> tuple[bytes, bytes]:
    """Read certificate chain and key. Raises: OSError."""
    with open(certificate, "rb") as file:
        chain = file.read()
    with open(key, "rb") as file:
        return chain, file.read()


def context_of(chain: bytes, key: bytes) -> ssl.SSLContext:
    """Return a context for TLS 1.2 and newer. Raises: InvalidOptions.

    The module `ssl` reads only files, and inside the sandbox there are none, so the text goes through memory with a
    descriptor.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    fd = os.memfd_create("eyespan-tls", os.MFD_CLOEXEC) if hasattr(os, "memfd_create") else -1
    if fd < 0:
        raise InvalidOptions("TLS needs Linux; put a proxy in front of the server")
    try:
        text = chain + b"\n" + key
        if os.write(fd, text) != len(text):
            raise InvalidOptions("the certificate is too large")
        context.load_cert_chain(f"/proc/self/fd/{fd}", password=lambda: b"")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise InvalidOptions(f"the certificate and its key cannot be used: {_reason(error)}") from None
    finally:
        os.close(fd)
    return context


def _reason(error: Exception) -> str:
    """Return the reason that OpenSSL gives, without its names: "key values mismatch"."""
    reason = getattr(error, "reason", None) or ""
    return "not in PEM format" if reason in ("", "PEM_LIB", "NO_START_LINE") else reason.replace("_", " ").lower()
