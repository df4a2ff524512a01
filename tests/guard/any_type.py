"""A set that contains every type of file system, so that any machine counts as local."""

from __future__ import annotations


class AnyType:
    def __contains__(self, _type):
        return True
