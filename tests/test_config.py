"""`eyespan.toml`: wrong files are refused with a message, and a file in the workspace can only narrow access."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eyespan import Policy, Workspace, config, workspace
from eyespan.config import WORKSPACE_LIMITS, BadConfig, Config, load
from eyespan.errors import NotFound
from tests.sizes import examples


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"roots = " + b"[" * 5000, "nested too deeply"),
        (b"a = " + b"{a=" * 5000, "nested too deeply"),
        (b'roots = ["a\\u0000b"]', "NUL"),
        (b"roots = [\xff]", "not UTF-8"),
        (b"roots = [1]", "non-empty strings"),
        (b"= broken", "Invalid"),
        (b"[policy]\ndeny = 1", "policy.deny must be of type list"),
        (b"[policy]\ndenny = []", "unknown key policy.denny; the known keys are policy.deny, policy.allow"),
        (b"[tools.read_file]\nmax_scan_bytes = true", "tools.read_file.max_scan_bytes must be of type int"),
        (b"policy = 1", "policy must be a table"),
        (b"other = 1", "unknown key other; the known keys are roots, policy, tools, dialects"),
        (b'"a\\nb" = 1', r"unknown key a\\x0ab; the known keys"),
        (
            b"[tools.read_file]\nmax_scan_bytes = " + b"9" * 5000,
            "Exceeds the limit",
        ),
        (b"roots = [\n'a',\n0x" + b"f" * 5000 + b"]", "roots must be a list of non-empty strings"),
        (b"roots = 0x" + b"f" * 5000, "roots must be of type list"),
        (b"[tools.read_file]\nmax_scan_bytes = 0x" + b"f" * 5000, "Exceeds the limit"),
        (b"a" + b".a" * 30_000 + b" = 1", r"a\.a\.a.* has more than 16 parts"),
        (b"[a" + b".a" * 30_000 + b"]", r"a\.a\.a.* has more than 16 parts"),
        (b"a = {b" + b".a" * 30_000 + b" = 1}", r"b\.a\.a.* has more than 16 parts"),
        (b"[policy]\ndeny = " + b"[" * 5000, "nested too deeply"),
        (b"a = 2020-99-99", "eyespan.toml: "),
        (b"[policy]\ndeny = ['/']", "policy.deny: an empty pattern matches nothing"),
        (b"[policy]\ndeny = ['[z-a]']", "policy.deny: a class of characters that matches nothing"),
        (b"[policy]\ndeny = [" + b"'a'," * 501 + b"]", "policy.deny has 501 rules; at most 500 are accepted"),
        (b"[policy]\ndeny = ['" + b"a" * 257 + b"']", "policy.deny: 'aaa.* is longer than 256 characters"),
        (b"[policy]\ndeny = ['" + b"a/" * 16 + b"']", "policy.deny: 'a/a/.*' has more than 16 components"),
        (b"roots = [" + b"'a'," * 65 + b"]", "roots: more than 64 roots"),
        (b"#" * 65_537, "larger than 65536 bytes"),
        (
            b"[tools.read_file]\nmax_file_read_bytes = -1",
            "tools.read_file: max_file_read_bytes must be a whole number from 0",
        ),
    ],
)
def test_a_wrong_configuration_is_refused_with_a_message(text, message, tmp_path):
    (tmp_path / "eyespan.toml").write_bytes(text)

    with pytest.raises(BadConfig, match=message) as caught:
        load([str(tmp_path)])

    assert str(caught.value).startswith(f"{tmp_path}/eyespan.toml: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(tmp_path)) + 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[policy]\nallow = ['*.pem']", "policy.allow works only in a file outside the roots"),
        ("roots = ['/']", "is not inside the workspace"),
        ("roots = ['..']", "is not inside the workspace"),
        ("roots = ['link']", "is not inside the workspace"),
        ("[tools.read_file]\nmax_file_read_bytes = 204801", "max_file_read_bytes can only be lowered from 204800"),
        ("[tools.read_file]\nmax_scan_bytes = 2097153", "max_scan_bytes can only be lowered from 2097152"),
    ],
)
def test_a_configuration_inside_the_workspace_cannot_widen_access(text, message, tmp_path):
    (tmp_path / "link").symlink_to("/")
    (tmp_path / "eyespan.toml").write_text(text)

    with pytest.raises(BadConfig, match=message):
        load([str(tmp_path)])


def test_a_configuration_inside_the_workspace_can_narrow_access(tmp_path):
    (tmp_path / "eyespan.toml").write_text('roots = ["src"]\n[policy]\ndeny = ["*.log"]\n')

    name = str(tmp_path / "eyespan.toml")
    assert load([str(tmp_path)]) == Config(roots=(f"{tmp_path}/src",), deny=("*.log",), name=name, is_inside=True)


def test_a_configuration_inside_the_workspace_can_lower_limits(tmp_path):
    (tmp_path / "eyespan.toml").write_text("[tools.read_file]\nmax_file_read_bytes = 204800\nmax_scan_bytes = 5\n")

    assert load([str(tmp_path)]).settings["forge"] == {"max_file_read_bytes": 204_800, "max_scan_bytes": 5}


def test_a_named_configuration_inside_the_workspace_cannot_widen_access_either(tmp_path):
    (tmp_path / "other.toml").write_text("[tools.read_file]\nmax_scan_bytes = 9000000000\n")

    with pytest.raises(BadConfig, match="can only be lowered"):
        load([str(tmp_path)], str(tmp_path / "other.toml"))
    (tmp_path / "other.toml").write_text("#" * (WORKSPACE_LIMITS.max_bytes + 1))
    with pytest.raises(BadConfig, match="larger than 65536 bytes, which is too much for a file in the workspace"):
        load([str(tmp_path)], str(tmp_path / "other.toml"))


def test_a_configuration_outside_the_workspace_can_raise_limits_and_be_larger(tmp_path):
    (tmp_path / "work").mkdir()
    rules = ", ".join(f"'rule{number}/*.txt'" for number in range(5000))
    (tmp_path / "host.toml").write_text(f"[policy]\ndeny = [{rules}]\n[tools.read_file]\nmax_scan_bytes = 9000000000\n")

    config = load([str(tmp_path / "work")], str(tmp_path / "host.toml"))

    assert (len(config.deny), config.settings["forge"]["max_scan_bytes"]) == (5000, 9_000_000_000)
    (tmp_path / "host.toml").write_text("#" * ((1 << 20) + 1))
    with pytest.raises(BadConfig, match="larger than 1048576 bytes"):
        load([str(tmp_path / "work")], str(tmp_path / "host.toml"))


def test_a_configuration_outside_the_workspace_can_allow_names(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "host.toml").write_text('[policy]\nallow = ["*.pem"]\n')

    name = str(tmp_path / "host.toml")
    assert load([str(tmp_path / "work")], name) == Config(allow=("*.pem",), name=name)


@pytest.mark.parametrize("is_named", [False, True])
def test_a_configuration_that_becomes_a_link_out_while_it_is_read_can_only_narrow_access(
    tmp_path, monkeypatch, is_named
):
    file = tmp_path / "work/eyespan.toml"
    file.parent.mkdir()
    file.write_text('[policy]\nallow = ["*.pem"]\n')
    (tmp_path / "elsewhere.toml").touch()
    read = config._read

    def read_and_swap(*given):
        data = read(*given)
        file.unlink()
        file.symlink_to(tmp_path / "elsewhere.toml")
        return data

    monkeypatch.setattr(config, "_read", read_and_swap)

    with pytest.raises(BadConfig, match=r"policy\.allow works only in a file outside the roots"):
        load([str(file.parent)], str(file) if is_named else None)


def test_a_root_of_a_configuration_that_becomes_a_link_out_is_not_opened(tmp_path, monkeypatch):
    (tmp_path / "work/sub").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "work/eyespan.toml").write_text('roots = ["sub"]\n')
    monkeypatch.chdir(tmp_path / "work")
    assert Workspace.from_config().roots[0].canonical == str(tmp_path / "work/sub")
    load_config, loaded = workspace._load_config, []

    def load_and_swap(*given):
        found = load_config(*given)
        loaded.append(found)
        if len(loaded) == 2:  # the first is for the rules of the directory that was given
            os.rmdir("sub")
            os.symlink("../outside", "sub")
        return found

    monkeypatch.setattr(workspace, "_load_config", load_and_swap)

    with pytest.raises(BadConfig, match="roots: a directory became a link out of the workspace"):
        Workspace.from_config()


def test_a_root_that_does_not_exist_is_an_error_of_its_key(tmp_path, monkeypatch):
    (tmp_path / "eyespan.toml").write_text('roots = ["none"]\n')
    monkeypatch.chdir(tmp_path)

    with pytest.raises(BadConfig, match=r"eyespan\.toml: roots: .*none"):
        Workspace.from_config()


def test_a_configuration_may_begin_with_a_bom_and_have_long_words(tmp_path):
    (tmp_path / "eyespan.toml").write_bytes(b"\xef\xbb\xbf# " + b"a" * 900 + b"\n[policy]\ndeny = ['x']\n")

    assert load([str(tmp_path)]).deny == ("x",)


def test_without_a_file_the_defaults_apply_unless_the_file_was_named(tmp_path):
    assert load([str(tmp_path)]) == Config()
    with pytest.raises(NotFound):
        load([str(tmp_path)], str(tmp_path / "none.toml"))


FILES = ("plan.md", "sub/plan.md", "sub/deep/plan.md", "sub/deep/.env", "other/plan.md", ".aws/credentials")
RULES = st.sampled_from(
    ["sub/plan.md", "sub/deep/", "deep/plan.md", "plan.md", "/plan.md", "sub/*/plan.md", "**/deep/**", "other/", "*.md"]
)


@settings(max_examples=examples(500, short=15))
@given(
    st.lists(RULES, max_size=2),
    st.lists(RULES, max_size=2),
    st.lists(st.sampled_from([".", "sub", "sub/deep", "other", ".aws", "sub/.."]), max_size=2, unique=True),
)
@example(["sub/plan.md"], [], ["sub"])
@example([], ["sub/deep/"], ["sub"])
def test_no_file_in_the_workspace_widens_what_the_host_allows(host, deny, roots):
    with tempfile.TemporaryDirectory() as top, contextlib.chdir(top):
        for name in FILES:
            os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
            with open(name, "w") as file:
                file.write("text\n")

        def readable() -> set[str]:
            with Workspace.from_config(policy=Policy(deny=host)) as workspace:
                tool = workspace.tool("native")
                return {name for name in FILES if tool.call({"path": os.path.join(top, name)}).error is None}

        before = readable()
        with open("eyespan.toml", "w") as file:
            file.write(f"roots = {json.dumps(roots)}\npolicy.deny = {json.dumps(deny)}\n")

        assert readable() <= before - {name for name in FILES if Policy(deny=deny).rule_against(name)}
