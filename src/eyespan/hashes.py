"""The hash that identifies contents, indexes and images."""

from __future__ import annotations

import hashlib


def blake2b() -> type[hashlib.blake2b]:
    """Return BLAKE2b without importing hashlib, which loads OpenSSL and takes two milliseconds of a new process.

    If no descriptor is free when hashlib is loaded, it lacks some of its hashes for the rest of the process.

    Raises: ImportError, OSError, if it cannot be loaded now.
    """
    try:
        from _blake2 import blake2b
    except ImportError as error:
        from eyespan.errors import shortage

        if shortage(error):
            raise
        from hashlib import blake2b
    return blake2b
