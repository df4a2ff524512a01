"""`eyespan.toml`: wrong files are refused with a message, and a file in the workspace can only narrow access."""

from __future__ import annotations

import pytest

from eyespan.config import BadConfig, Config, load
from eyespan.errors import NotFound


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"roots = " + b"[" * 5000, "nested too deeply"),
        (b"a = " + b"{a=" * 5000, "nested too deeply"),
        (b'roots = ["a\\u0000b"]', "NUL"),
        (b"roots = [\xff]", "utf-8"),
        (b"roots = [1]", "non-empty strings"),
        (b"= broken", "Invalid"),
        (b"[policy]\ndeny = 1", "policy.deny must be of type list"),
        (b"[policy]\ndenny = []", "unknown key policy.denny; the known keys are policy.deny, policy.allow"),
        (b"[tools.read_file]\nmax_scan_bytes = true", "tools.read_file.max_scan_bytes must be of type int"),
        (b"policy = 1", "policy must be a table"),
        (b"other = 1", "unknown key other; the known keys are roots, policy, tools"),
    ],
)
def test_a_wrong_configuration_is_refused_with_a_message(text, message, tmp_path):
    (tmp_path / "eyespan.toml").write_bytes(text)

    with pytest.raises(BadConfig, match=message):
        load([str(tmp_path)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[policy]\nallow = ['*.pem']", "policy.allow works only in a file outside the roots"),
        ("roots = ['/']", "is not inside the workspace"),
        ("roots = ['..']", "is not inside the workspace"),
    ],
)
def test_a_configuration_inside_the_workspace_cannot_widen_access(text, message, tmp_path):
    (tmp_path / "eyespan.toml").write_text(text)

    with pytest.raises(BadConfig, match=message):
        load([str(tmp_path)])


def test_a_configuration_inside_the_workspace_can_narrow_access(tmp_path):
    (tmp_path / "eyespan.toml").write_text('roots = ["src"]\n[policy]\ndeny = ["*.log"]\n')

    assert load([str(tmp_path)]) == Config(roots=(f"{tmp_path}/src",), deny=("*.log",))


def test_a_configuration_outside_the_workspace_can_allow_names(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "host.toml").write_text('[policy]\nallow = ["*.pem"]\n')

    assert load([str(tmp_path / "work")], str(tmp_path / "host.toml")) == Config(allow=("*.pem",))


def test_without_a_file_the_defaults_apply_unless_the_file_was_named(tmp_path):
    assert load([str(tmp_path)]) == Config()
    with pytest.raises(NotFound):
        load([str(tmp_path)], str(tmp_path / "none.toml"))
