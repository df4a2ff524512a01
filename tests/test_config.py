"""`eyespan.toml`: what cannot be meant is told, in words and as nothing else."""

from __future__ import annotations

import pytest

from eyespan.config import BadConfig, load


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"roots = " + b"[" * 5000, "nested too deeply"),
        (b"a = " + b"{a=" * 5000, "nested too deeply"),
        (b'roots = ["a\\u0000b"]', "NUL"),
        (b"roots = [\xff]", "utf-8"),
        (b"roots = [1]", "non-empty strings"),
        (b"[policy]\ndeny = 1", "must be of type list"),
        (b"policy = 1", "must be a table"),
        (b"other = 1", "unknown key other"),
    ],
)
def test_a_configuration_that_cannot_be_meant_is_refused_in_words(text, words, tmp_path):
    (tmp_path / "eyespan.toml").write_bytes(text)

    with pytest.raises(BadConfig, match=words):
        load([str(tmp_path)])
