"""The files of the page, and the headers that admit nothing but them."""

from __future__ import annotations

import os

FILES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    "page.svg": ("page.svg", "image/svg+xml"),
}
"""Name and type of each file, by the end of its address. The page refers to everything by relative addresses."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def load(name: str) -> bytes:
    """Return a file of the page, also from an archive of modules. Raises: OSError."""
    assert __spec__ is not None
    loader = __spec__.loader
    assert loader is not None
    # Every loader of files has this method, which its type does not name.
    data: bytes = loader.get_data(os.path.join(os.path.dirname(__file__), "static", name))  # type: ignore[attr-defined]
    return data
