"""Letting go of a descriptor that was only read from."""

from __future__ import annotations

import errno
import os


def close(fd: int) -> None:
    """Closes, whatever the system says of it.

    A close that fails has closed all the same (the number may be somebody else's already, so it is never tried again),
    and what it has to tell is about bytes written, of which there are none. Only a number that was not open is an
    error: that is a mistake of ours.
    """
    try:
        os.close(fd)
    except OSError as error:
        if error.errno == errno.EBADF:
            raise
