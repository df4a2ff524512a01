from __future__ import annotations

import hashlib
import os
import sys
from errno import EMFILE

import pytest

from eyespan import hashes


def test_it_is_blake2b():
    assert (
        hashes.blake2b()(b"some bytes", digest_size=8).digest()
        == hashlib.blake2b(b"some bytes", digest_size=8).digest()
    )


def test_without_the_small_hash_the_large_one_is_taken(monkeypatch):
    monkeypatch.setitem(sys.modules, "_blake2", None)

    assert hashes.blake2b() is hashlib.blake2b


def test_a_hash_that_cannot_be_loaded_now_is_not_looked_for_elsewhere(monkeypatch):
    """A hashlib that was loaded at such a moment would lack it as long as the process lives."""
    words = f"_blake2.so: cannot open shared object file: {os.strerror(EMFILE)}"

    class Refuses:
        def find_spec(self, name, path=None, target=None):
            if name in ("_blake2", "hashlib"):
                raise ImportError(words)

    monkeypatch.setattr(sys, "meta_path", [Refuses(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "_blake2", raising=False)

    with pytest.raises(ImportError, match="cannot open shared object"):
        hashes.blake2b()
