"""The door for plugins: rows of the tree's extras, and rows of installed distributions."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from eyespan import Workspace, plugins, worker


def accept(name, row):
    if not isinstance(row, str):
        raise plugins.BrokenContract("a row is a text")


def test_every_extra_has_a_plugin_module():
    packages = [path.parent.name for path in (Path(plugins.__file__).parent / "extras").glob("*/__init__.py")]

    assert sorted(plugins.EXTRAS) == sorted(packages)
    assert len(plugins.own("__doc__")) == len(plugins.EXTRAS)


def test_names_and_files_that_the_tree_knows_ask_for_no_installed_plugin(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    code = (
        "import sys; from eyespan import Workspace; tool = Workspace('.').tool('native')\n"
        "print(tool.call({'files': ['a.py']}).is_error, 'importlib.metadata' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)

    assert (done.stdout, done.stderr) == ("False False\n", "")


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


def test_the_name_of_a_row_counts_not_only_that_of_its_entry_point(install):
    source = "from types import SimpleNamespace\nROW = SimpleNamespace(name='agenda')"
    install("acme-rows", "[eyespan.kinds]\nfirst = acme_rows:ROW\n", source)
    install("other-rows", "[eyespan.kinds]\nsecond = other_rows:ROW\n", source)

    assert [plugin.name for plugin in plugins.installed("kinds", lambda name, row: None)] == ["first"]
    assert plugins.problem("kinds", "second") == (
        "plugin second of other-rows 1.2 (other_rows:ROW): the name agenda is taken by acme-rows 1.2 (acme_rows:ROW)"
    )


def test_plugins_can_be_turned_off(install, monkeypatch):
    install("acme-rows", "[eyespan.kinds]\nagenda = acme_rows:ROW\n", "raise RuntimeError")
    monkeypatch.setenv(plugins.OFF, "1")

    assert (plugins.installed("kinds", accept), plugins.problems()) == ((), ())


# --- kinds ------------------------------------------------------------------------------------------------------------

DECODERS = """
import os, socket
from eyespan.errors import Unreadable
from eyespan.kinds import Kind

def _kind(name, reader, **fields):
    return Kind(name, reader, "an agenda", suffixes=(f".{name}",), **fields)

ROWS = (
    _kind("raises", "acme_raises"),
    _kind("returns", "acme_returns"),
    _kind("signed", "acme_raises", signature=lambda first_bytes: first_bytes[99]),
    *[_kind(name, "acme_decodes", decoder=f"acme_kinds:{name}") for name in "divide leave seven odd attempt".split()],
)

def divide(file, params):
    1 / 0

def leave(file, params):
    raise SystemExit(3)

def seven(file, params):
    return 7

def odd(file, params):
    return {1j: 1}, []

def attempt(file, params):
    attempts = {
        "open": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "own module": lambda: open(__file__),
        "connect": lambda: socket.socket(socket.AF_INET),
        "pair": lambda: socket.socketpair(),
        "fork": lambda: os.fork() or os._exit(0),
        "exec": lambda: os.execv("/bin/true", ["true"]),
    }
    refused = []
    for name, act in attempts.items():
        try:
            act()
        except OSError as error:
            refused.append(name)
    raise Unreadable("", kind="attempt", reason="refused: " + ", ".join(refused))
"""
ORIGIN = "acme-kinds 1.2 (acme_kinds:ROWS)"


def test_a_plugin_that_fails_in_a_read_is_one_error_that_names_it_and_its_decoder_has_no_rights(install, tmp_path):
    for body in ("raises", "returns", "decodes"):
        answer = {"raises": "raise KeyError('what /etc/passwd')", "returns": "return 7"}.get(
            body, "opened.decode({}, c)"
        )
        install(f"acme-{body}", "", f"def read(opened, selection, c):\n    {answer}\n")
    install("acme-kinds", "[eyespan.kinds]\nfailing = acme_kinds:ROWS\n", DECODERS)
    names = ("raises", "returns", "signed", "divide", "leave", "seven", "odd", "attempt")
    for name in names:
        (tmp_path / f"a.{name}").write_bytes(b"\0one\n" if name == "signed" else b"one\n")
    worker.shared().stop()  # the next decoding process has the module path with the plugin

    with Workspace(tmp_path) as workspace:
        native = workspace.tool("native")
        answers = {name: native.call({"files": [f"a.{name}"]}).text.partition(": ")[2] for name in names}

    of_plugin = f"(plugin {ORIGIN})"
    assert answers == {
        "raises": f"the plugin {ORIGIN} failed: KeyError: 'what the file'",
        "returns": f"the plugin {ORIGIN} failed: TypeError: acme_returns.read returned no Document",
        "signed": f"the plugin {ORIGIN} failed: KeyError: 'what the file'",
        "divide": f"the decoder failed: division by zero {of_plugin}",
        "leave": f"the decoder failed: 3 {of_plugin}",
        "seven": f"the decoder failed: cannot unpack non-iterable int object {of_plugin}",
        "odd": f"the decoder failed: keys must be str, int, float, bool or None, not complex {of_plugin}",
        "attempt": f"refused: open, own module, connect, pair, fork, exec {of_plugin}",
    }
    assert plugins.problem("kinds", "signed") == (
        f"plugin signed of {ORIGIN}: its signature raised IndexError: index out of range"
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("Kind('image', 'acme_kind', suffixes=('.x',))", "the kind image is one of eyespan's own"),
        ("Kind('agenda', 'acme_kind')", "the kind agenda needs a signature or suffixes, and is no fallback"),
        (
            "Kind('agenda', 'acme_none', suffixes=('.x',))",
            "the kind agenda names the module acme_none, which does not exist",
        ),
        (
            "Kind('agenda', 'acme_kind', suffixes=('x',))",
            "the suffixes of agenda must start with a dot and be lower case",
        ),
        ("7", "a kind is an eyespan.kinds.Kind, not int"),
    ],
)
def test_a_row_that_breaks_its_contract_is_a_problem_in_doctor(install, directory, eyespan, row, reason):
    install("acme-kind", "[eyespan.kinds]\nagenda = acme_kind:ROW\n", f"from eyespan.kinds import Kind\nROW = {row}")

    code, out, err = eyespan("doctor", "--json")

    assert (code, err) == (1, "")
    assert [(row["name"], row["what"]) for row in json.loads(out) if row["name"].startswith("plugin")] == [
        ("plugin agenda", f"eyespan.kinds, from acme-kind 1.2 (acme_kind:ROW): {reason}"),
    ]


# --- dialects ---------------------------------------------------------------------------------------------------------

DIALECT = """
from eyespan.dialects.base import Dialect, only_text
from eyespan.errors import BadArguments
from eyespan.model import Lines, ReadRequest, Reply, ReplyError, TextContent, ToolSpec
class First(Dialect):
    name = "first"
    summary = "the first line"
    def _spec(self):
        return ToolSpec("first_line", "Read the first line.", {"type": "object"})
    def parse(self, arguments, admit):
        return arguments["path"]
    def run(self, arguments, engine, context):
        document = engine.read(ReadRequest(self.parse(arguments, engine.admit), Lines(1, 1)), context)
        return Reply((TextContent(bytes(only_text(document).data).decode()),))
    def render_error(self, error):
        return ReplyError(error.code, f"first: {error}")
"""
ENTRY = "[eyespan.dialects]\nfirst = acme_first:First\n"


def test_a_dialect_is_named_by_its_class_its_module_or_its_entry_point(install, directory, eyespan):
    install("acme-first", ENTRY, DIALECT)
    from acme_first import First

    with Workspace(directory) as workspace:
        texts = [
            workspace.tool(given).call({"path": "poem.txt"}).text for given in (First, "acme_first:First", "first")
        ]
    printed = [
        json.loads(eyespan("call", given, '{"path": "poem.txt"}')[1])["content"][0]["text"]
        for given in ("acme_first:First", "first")
    ]

    assert texts + printed == ["one\n"] * 5
    assert json.loads(eyespan("schema", "acme_first:First")[1])["name"] == "first_line"
    assert "first_line the first line" in eyespan("dialects")[1]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("acme_none:First", "ModuleNotFoundError: No module named 'acme_none'"),
        ("acme_first:Other", "AttributeError: module 'acme_first' has no attribute 'Other'"),
        ("acme_first:ReadRequest", "a dialect is a subclass of eyespan.dialects.base.Dialect"),
        ("acme_odd:First", "SystemExit: 3"),
    ],
)
def test_a_class_that_is_no_dialect_is_wrong_usage(install, directory, eyespan, given, reason):
    install("acme-first", ENTRY, DIALECT)
    install("acme-odd", "", "raise SystemExit(3)")

    for words in (["call", given, "{}"], ["schema", given], ["serve", "--dialect", given]):
        assert eyespan(*words) == (2, "", f"eyespan: {given} is no dialect: {reason}\n")


def test_a_table_that_names_a_field_it_has_not_is_refused(install, directory, eyespan):
    source = "from eyespan.dialects.table import TableDialect\nclass Odd(TableDialect):\n    name = 'odd'\n"
    install("acme-odd", "", source)

    assert eyespan("call", "acme_odd:Odd", "{}") == (
        *(2, ""),
        "eyespan: odd: paths or window name the field 'path', which is not in fields\n",
    )


def test_a_value_that_is_no_dialect_is_refused(directory):
    with Workspace(directory) as workspace, pytest.raises(ValueError, match="int is no dialect: a dialect is a subcl"):
        workspace.tool(int)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("import Lines", "import NoLines", "cannot be imported: ImportError: cannot import name 'NoLines'"),
        ('name = "first"', 'name = "second"', "the class is named 'second', its entry point 'first'"),
        ("return ToolSpec", "return 7; ToolSpec", "its _spec() returns no ToolSpec"),
        ("return ToolSpec", "raise OSError; ToolSpec", "it cannot be made: OSError"),
    ],
)
def test_a_broken_dialect_is_one_line_for_who_asks_for_it(install, directory, before, after, reason):
    install("acme-first", ENTRY, DIALECT.replace(before, after))

    line = re.escape(f"plugin first of acme-first 1.2 (acme_first:First): {reason}")
    with Workspace(directory) as workspace, pytest.raises(ValueError, match=line):
        workspace.tool("first")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "return Reply(",
            "return 7; Reply(",
            "first: an internal error of the dialect first (acme_first) (TypeError); the log has the details",
        ),
        (
            'return arguments["path"]',
            "return arguments[7]",
            "first: an internal error of the plugin acme-first 1.2 (acme_first:First) (KeyError); "
            "the log has the details",
        ),
        ("return ReplyError", "raise OSError; ReplyError", "the path is outside the workspace"),
    ],
)
def test_a_dialect_that_fails_in_a_call_is_an_error_that_names_it(install, directory, before, after, message):
    install("acme-first", ENTRY, DIALECT.replace(before, after))

    with Workspace(directory) as workspace:
        path = "poem.txt" if "OSError" not in after else "/etc/passwd"
        reply = workspace.tool("first").call({"path": path})

    assert (reply.is_error, reply.text) == (True, message)


# --- without plugins --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [True, False])
def test_no_plugins_leaves_them_out(install, directory, eyespan, monkeypatch, before):
    install("acme-first", ENTRY, DIALECT)
    monkeypatch.setenv(plugins.OFF, "")
    words = ["call", "first", '{"path": "poem.txt"}']

    assert eyespan(*words)[0] == 0
    code, out, err = eyespan(*["--no-plugins"] * before, *words, *["--no-plugins"] * (not before))
    assert (code, out, err.partition(";")[0]) == (2, "", "eyespan: no dialect 'first'")
    rows = [row.split(maxsplit=1) for row in eyespan("doctor")[1].splitlines() if row.startswith("  plugin")]
    assert rows == [["plugins", "off (EYESPAN_NO_PLUGINS, --no-plugins)"]]
