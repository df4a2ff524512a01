"""The latest reads: each caller sees its own, of all workers, and long names fit."""

from __future__ import annotations

import pytest

from eyespan.extras.http import read_ring
from eyespan.extras.http.read_ring import AuditAndRing, CallerName, ReadRing, holder_of


def line(path="a.py", caller="ann", **facts):
    return {"caller": caller, "dialect": "codex", "path": path, "verdict": "read", "bytes": 1, "ms": 0.1, **facts}


def paths(events):
    return [event["path"] for event in events]


def test_reads_are_kept_in_order_and_a_position_leads_on():
    ring = ReadRing()
    ring.add(line("a.py"))
    ring.add(line("b.py"))
    new, kept, last = ring.since("", "ann")
    ring.add(line("c.py"))

    assert (paths(new), paths(kept)) == (["a.py", "b.py"], ["a.py", "b.py"])
    assert paths(ring.since(last, "ann")[0]) == ["c.py"]
    assert paths(ring.since(last, "ann")[1]) == ["a.py", "b.py", "c.py"]


@pytest.mark.parametrize("after", ["", "x", "-1", "1.2", "9" * 40, "\u0663"])
def test_a_position_that_is_none_is_the_start(after):
    ring = ReadRing()
    ring.add(line())

    assert paths(ring.since(after, "ann")[0]) == ["a.py"]


def test_a_caller_sees_only_its_own_reads_whatever_its_client_is_named():
    ring = ReadRing()
    ring.add(line("ann.py", CallerName("ann (bob)", "ann")))
    ring.add(line("bob.py", CallerName("bob (x)", "bob")))
    ring.add(line("trick.py", CallerName("bob (x) (y)", "bob (x)")))

    assert {name: paths(ring.since("", name)[0]) for name in ("ann", "bob", "bob (x)", "ann (bob)", "")} == {
        "ann": ["ann.py"],
        "bob": ["bob.py"],
        "bob (x)": ["trick.py"],
        "ann (bob)": [],
        "": [],
    }
    assert holder_of("stdio") == "stdio"


def test_the_oldest_reads_make_place():
    ring = ReadRing()
    for number in range(read_ring.SLOTS + 5):
        ring.add(line(f"{number}"))

    assert paths(ring.since("", "ann")[1]) == [str(number) for number in range(5, read_ring.SLOTS + 5)]


@pytest.mark.parametrize("char", ["x", "\u20ac", "\x01", "\U0001f600", "\udc80"])
@pytest.mark.parametrize("length", [100, 5000])
def test_names_of_any_length_fit(char, length):
    ring = ReadRing()
    name = char * length
    ring.add(line(name, CallerName(name, "ann"), canonical=name, range=name, code=name, rule=name))

    (event,) = ring.since("", "ann")[0]

    assert event["verdict"] == "read"
    assert len(event["path"]) <= 1003


def test_the_rows_of_all_workers_are_read():
    ring = ReadRing(2)
    ring.add(line("first.py"))
    ring.take_row(1)
    ring.add(line("second.py"))
    last = ring.since("", "ann")[2]
    ring.take_row(0)
    ring.add(line("third.py"))

    assert sorted(paths(ring.since("", "ann")[0])) == ["first.py", "second.py", "third.py"]
    assert paths(ring.since(last, "ann")[0]) == ["third.py"]


def test_a_log_that_cannot_be_written_is_an_error():
    class Full:
        def write(self, line):
            raise OSError(28, "no space left")

    ring = ReadRing()

    with pytest.raises(OSError, match="no space left"):
        AuditAndRing(Full(), ring).write(line())
    assert paths(ring.since("", "ann")[0]) == ["a.py"]


def test_names_for_the_tree_of_the_page_are_no_reads():
    ring = ReadRing()
    log = AuditAndRing(None, ring)
    log.write(line(".", dialect="view"))
    log.write(line("a.py"))

    assert paths(ring.since("", "ann")[0]) == ["a.py"]
