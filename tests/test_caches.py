"""One limit for all caches: the sizes are exact, the least recently used entries go first."""

from __future__ import annotations

import gc
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan import caches
from eyespan.caches import ENTRY_BYTES, CacheTable
from eyespan.context import CallContext
from eyespan.memory import COLLECT_BYTES
from tests.clock import Clock


@pytest.fixture(autouse=True)
def no_other_tables(monkeypatch):
    monkeypatch.setattr(caches, "_tables", [])


def test_a_value_is_found_until_it_is_dropped():
    table = CacheTable(10_000)
    table.put("a", "value", 100)

    assert (table.get("a"), table.get("b"), "a" in table, len(table)) == ("value", None, True, 1)
    assert table.size_bytes == 100 + ENTRY_BYTES
    table.drop("a")
    table.drop("a")
    assert (table.get("a"), table.size_bytes) == (None, 0)


def test_the_least_recently_used_entry_of_all_tables_is_dropped(monkeypatch):
    monkeypatch.setattr(caches, "MAX_BYTES", 3 * (1000 + ENTRY_BYTES))
    one, other = CacheTable(1 << 20), CacheTable(1 << 20)
    one.put(1, "x", 1000)
    other.put(2, "x", 1000)
    one.put(3, "x", 1000)
    one.get(1)
    other.put(4, "x", 1000)

    assert (1 in one, 2 in other, 3 in one, 4 in other) == (True, False, True, True)


def test_a_value_that_is_too_large_is_not_added_and_drops_no_other():
    table = CacheTable(5000)
    table.put("a", "x", 100)
    table.put("b", "x", 5000)

    assert ("a" in table, "b" in table) == (True, False)


def test_a_table_that_is_gone_takes_no_part_of_the_limit(monkeypatch):
    monkeypatch.setattr(caches, "MAX_BYTES", 3000)
    gone, table = CacheTable(1 << 20), CacheTable(1 << 20)
    gone.put(1, "x", 1500)
    del gone
    gc.collect()
    table.put(1, "x", 1000)
    table.put(2, "x", 1000)

    assert len(table) == 2


@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "get", "drop"]), st.integers(0, 2), st.integers(0, 5), st.integers(0, 3000)),
        max_size=60,
    )
)
def test_the_limits_hold_after_any_calls(steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(caches, "_tables", [])
        patch.setattr(caches, "MAX_BYTES", 6000)
        tables = [CacheTable(5000), CacheTable(4000, max_entries=2), CacheTable(8000)]
        for name, number, key, size in steps:
            table = tables[number]
            if name == "put":
                table.put(key, size, size)
            elif name == "drop":
                table.drop(key)
            else:
                assert table.get(key) in (None, *range(3001))
            for one in tables:
                assert one.size_bytes == sum(value + ENTRY_BYTES for value in one.values()) <= one.max_bytes
                assert len(one) <= one.max_entries
            assert sum(one.size_bytes for one in tables) <= 6000


def test_a_call_that_takes_much_memory_drops_what_is_not_used():
    clock = Clock()
    table = CacheTable(1 << 20, clock=clock.monotonic)
    table.put("old", "x", 10)
    table.put("used", "x", 10)
    clock.now += caches.UNUSED_SECONDS + 1
    table.get("used")
    table.put("young", "x", 10)

    small, large = CallContext(), CallContext()
    small.charge(1000)
    small.finish()
    assert table.size_bytes == 3 * (ENTRY_BYTES + 10)
    large.charge(COLLECT_BYTES + 1)
    large.finish()
    assert ("old" in table, "used" in table, "young" in table) == (False, True, True)


def test_a_call_that_takes_much_memory_leaves_the_latest_entries():
    one, other = CacheTable(8 << 20), CacheTable(8 << 20)
    for number in range(40):
        (one, other)[number % 2].put(number, "x", 100_000)
    large = CallContext()
    large.charge(COLLECT_BYTES + 1)
    large.finish()

    assert 900_000 < one.size_bytes + other.size_bytes <= caches.REST_BYTES
    assert 39 in other

    other.put("map", "x", 4 << 20)
    again = CallContext()
    again.charge(COLLECT_BYTES + 1)
    again.finish()

    assert (len(one), len(other)) == (0, 1)


def test_threads_share_a_table():
    table = CacheTable(20 * (ENTRY_BYTES + 10))

    def work(seed):
        for number in range(500):
            table.put((seed * number) % 40, number, 10)
            table.get(number % 40)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert table.size_bytes == len(table) * (ENTRY_BYTES + 10) <= table.max_bytes
