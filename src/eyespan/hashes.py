"""The one hash that contents, indexes and pictures are told apart by."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import hashlib


def blake2b() -> type[hashlib.blake2b]:
    """The hash, without the OpenSSL that hashlib loads beside it: two of the milliseconds of a new process.

    Nor without need: a hashlib that is loaded while no descriptor is free lacks some of its hashes for good.

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
