"""Stand-ins for the `os` module: systems that lack something, and calls that fail."""

from __future__ import annotations

import os


class FakeOs:
    """The `os` module without some of its names, or with others in their place."""

    def __init__(self, *missing, **replaced):
        self._missing = missing
        self._replaced = replaced

    def __getattr__(self, name):
        if name in self._missing:
            raise AttributeError(name)
        return self._replaced.get(name) or getattr(os, name)


def failing(number):
    """Return a function that fails with an errno."""

    def call(*_, **__):
        raise OSError(number, os.strerror(number))

    return call
