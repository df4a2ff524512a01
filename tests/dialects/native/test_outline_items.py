from __future__ import annotations

import pytest

from .answers import read_back


def rows_of(reply):
    """Return the rows of all outlines in an answer."""
    return [row for kind, _, rows in read_back(reply.text, None) if kind == "outline" for row in rows]


def follow(call, selector, budget):
    """Follow the continuations of an outline; return its rows and the number of calls."""
    rows, waiting, calls = [], [selector], 0
    while waiting:
        calls += 1
        assert calls < 200
        reply = call(waiting.pop(0), budget=budget, outline=True)
        assert not reply.is_error, reply.text
        rows += rows_of(reply)
        waiting = [*reply.structured.get("left_out", []), *waiting]
    return rows, calls


@pytest.fixture
def source(root):
    """Write `big.py`: classes with methods."""
    methods = "".join(f"    def method_{n}(self, value: int) -> int:\n        return value\n\n" for n in range(40))
    (root / "big.py").write_text("".join(f"class Class{n}:\n{methods}\n" for n in range(5)))


@pytest.mark.parametrize("budget", [100, 200, 1000])
def test_an_outline_over_the_budget_is_continued(source, call, budget):
    whole = rows_of(call("big.py", budget=100_000, outline=True))

    rows, calls = follow(call, "big.py", budget)

    assert len(whole) == 205
    assert rows == whole
    assert calls > 1


def test_the_outline_of_a_class(source, call):
    reply = call("big.py::Class2", outline=True)

    assert rows_of(reply)[0].endswith(" class Class2")
    assert len(rows_of(reply)) == 41
    assert reply.text.startswith(">outline of big.py::Class2, by ast #")
    assert follow(call, "big.py::Class2", 150)[0] == rows_of(reply)


def test_the_outline_of_a_range(call):
    assert rows_of(call("src/lib.py:8-16", outline=True)) == [
        "  8-12 def berths(self)",
        "  14-15 def enter(self, ship)",
    ]


def test_an_outline_that_the_caller_holds_is_one_line(source, call):
    first = call("big.py", outline=True)
    value = first.structured["parts"][0]["hash"]

    again = call("big.py", outline=True, known=[value])

    assert again.text == f">outline of big.py, by ast #{value} unchanged"
    assert again.structured["parts"][0]["unchanged"] is True


def test_many_symbols_on_one_line_are_listed_by_name_and_counted(root, call):
    (root / "min.py").write_text("a = 1\n" + ";".join(f"name_{n} = {n}" for n in range(300)) + "\nlast = 1\n")

    whole = call("min.py", outline=True).text.split("\n")[1:]
    rows, _ = follow(call, "min.py", 100)

    assert whole == ["1 a = 1", f"2 {', '.join(f'name_{n}' for n in range(40))}", ">… 260 more on line 2", "3 last = 1"]
    assert rows == [row for row in whole if not row.startswith(">")]


def test_the_rows_of_an_outline_are_charged(root, call, monkeypatch):
    (root / "many.md").write_text("# heading\n" * 50)
    assert not call("many.md", outline=True).is_error

    monkeypatch.setattr("eyespan.opened.SYMBOL_BYTES", 1 << 20)
    assert call("many.md", outline=True).error.code == "too_large"
