"""The door for plugins: rows of the tree's extras, and rows of installed distributions."""

from __future__ import annotations

import pytest

from eyespan import plugins


def accept(name, row):
    if not isinstance(row, str):
        raise plugins.BrokenContract("a row is a text")


def test_every_extra_has_a_plugin_module():
    assert len(plugins.own("__doc__")) == len(plugins.EXTRAS) == 7


def test_an_installed_row_is_found_with_its_origin(install):
    install("acme-rows", "[eyespan.kinds]\nagenda = acme_rows:ROW\n", "ROW = 'agenda'")

    assert plugins.installed("kinds", accept) == (
        plugins.Plugin("kinds", "agenda", "agenda", "acme-rows 1.2 (acme_rows:ROW)"),
    )
    assert plugins.problems() == ()


def test_an_entry_point_may_refer_to_several_rows(install):
    install("acme-rows", "[eyespan.kinds]\nboth = acme_rows:ROWS\n", "ROWS = ('a', 'b')")

    assert [plugin.row for plugin in plugins.installed("kinds", accept)] == ["a", "b"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('no library')", "cannot be imported: RuntimeError: no library"),
        ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
        ("OTHER = 1", "cannot be imported: AttributeError: module 'acme_rows' has no attribute 'ROW'"),
        ("ROW = 7", "a row is a text"),
        ("this is no Python", "cannot be imported: SyntaxError: invalid syntax (acme_rows.py, line 1)"),
    ],
)
def test_a_broken_plugin_is_one_line_and_no_error(install, source, reason):
    install("acme-rows", "[eyespan.kinds]\nagenda = acme_rows:ROW\n", source)

    assert plugins.installed("kinds", accept) == ()
    assert list(map(str, plugins.problems())) == [f"plugin agenda of acme-rows 1.2 (acme_rows:ROW): {reason}"]


def test_the_second_plugin_of_a_name_is_left_out(install):
    install("acme-rows", "[eyespan.kinds]\nagenda = acme_rows:ROW\n", "ROW = 'first'")
    install("other-rows", "[eyespan.kinds]\nagenda = other_rows:ROW\n", "ROW = 'second'")

    assert [plugin.row for plugin in plugins.installed("kinds", accept)] == ["first"]
    assert [problem.reason for problem in plugins.problems()] == [
        "the name agenda is taken by acme-rows 1.2 (acme_rows:ROW)"
    ]


def test_plugins_can_be_turned_off(install, monkeypatch):
    install("acme-rows", "[eyespan.kinds]\nagenda = acme_rows:ROW\n", "raise RuntimeError")
    monkeypatch.setenv(plugins.OFF, "1")

    assert (plugins.installed("kinds", accept), plugins.problems()) == ((), ())
