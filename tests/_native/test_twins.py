"""Both backends of `_native`, on the same bytes, against a reference too plain to be wrong."""

import os
import re
import subprocess
import sys
import threading
from itertools import accumulate

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyespan._native import pure
from tests.sizes import examples

try:
    from eyespan._native import _fast
except ImportError as error:
    _fast = None
    absence = f"the C accelerator is not built: {error}"
else:
    absence = ""

BACKENDS = [
    pytest.param(pure, id="python"),
    pytest.param(_fast, id="c", marks=pytest.mark.skipif(_fast is None, reason=absence)),
]
both = pytest.mark.parametrize("backend", BACKENDS)

# Sanitizers and busy machines are slow; nothing here is about time.
untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# The pieces from which trouble is made: ends of lines, characters of every size, every way to be ill-formed.
PIECES = [
    b"\n", b"\n", b"\r\n", b"\r", b"\0", b"\t", b"\x0b", b"\x0c", b" ", b"a", b"bcd", b"x" * 15, b"y" * 16, b"z" * 70,
    "é".encode(), "߿".encode(), "€".encode(), "퟿".encode(), "\ufffd".encode(), "\u2028".encode(), "\x85".encode(),
    "😀".encode(), "\U0010ffff".encode(), "\ufeff".encode(),
    b"\x80", b"\xbf", b"\xc0\x80", b"\xc2", b"\xe0\x80\x80", b"\xe2\x82", b"\xe2", b"\xed\xa0\x80", b"\xed\x9f",
    b"\xf0\x80", b"\xf0\x90", b"\xf0\x9f\x98", b"\xf4\x90", b"\xf4\x8f\xbf", b"\xf5", b"\xff",
]  # fmt: skip
dirty = st.one_of(st.binary(max_size=300), st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join))
styles = st.fixed_dictionaries(
    {"first": st.one_of(st.integers(0, 12), st.sampled_from([98, 995, 99_998, 10**17 - 2, 10**17, 2**63 - 1, -3]))},
    optional={
        "lead": st.sampled_from(["", "L", "→ ", "\0", "\ud800", "x" * 300]),
        "width": st.sampled_from([0, 1, 3, 6, 19, 100, 101, 400]),
        "mark": st.sampled_from(["", "\t", ": ", "→", "|\n", "m" * 230]),
        "keep_ends": st.booleans(),
        "max_chars": st.one_of(st.integers(0, 40), st.sampled_from([2000, 2**62])),
        "max_bytes": st.one_of(st.integers(0, 120), st.sampled_from([500, 2**62])),
        "totals": st.dictionaries(st.integers(0, 12), st.one_of(st.integers(0, 10**6), st.just(2**70)), max_size=5),
    },
)


def spelled(data, first, lead="", width=0, mark="\t", keep_ends=False, max_chars=0, max_bytes=0, totals=None):
    """Number lines by the contract of `number`, one line and one character at a time."""
    text, lines = data.decode("utf-8", "replace"), []
    while text:
        line, end, text = text.partition("\n")
        if keep_ends:
            line += end
        elif end and line.endswith("\r"):
            line = line[:-1]
        if max_chars and len(line) > max_chars:
            total = (totals or {}).get(first + len(lines), len(line))
            line = line[:max_chars] + f"... [line truncated, {total} chars total]"
        if max_bytes:
            sizes = accumulate(len(char.encode()) for char in line)
            line = "".join(char for char, size in zip(line, sizes, strict=True) if size <= max_bytes)
        lines.append(lead + str(first + len(lines)).rjust(width) + mark + line)
    return ("" if keep_ends else "\n").join(lines)


# count and nth


@both
@untimed
@given(data=dirty, start=st.integers(-400, 400), end=st.none() | st.integers(-400, 400))
def test_count_is_that_of_the_slice(backend, data, start, end):
    assert backend.count(data, start, end) == list(data[start:end]).count(10)


@both
@untimed
@given(data=dirty, n=st.integers(-2, 70), start=st.integers(-400, 400))
def test_nth_is_found_where_counting_on_fingers_finds_it(backend, data, n, start):
    begin = max(0, start + len(data)) if start < 0 else start
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10 and at >= begin]

    assert backend.nth(data, n, start) == (ends[n - 1] if 1 <= n <= len(ends) else -1)


@both
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 63, 64, 65, 127, 129, 2047, 2049, 4032, 8160, 32769, 70_001])
@pytest.mark.parametrize("every", [1, 2, 3, 64, 1000])
def test_large_blocks_are_counted_at_every_density(backend, size, every):
    data = (b"." * (every - 1) + b"\n") * (size // every) + b"." * (size % every)
    lines = size // every

    assert backend.count(data) == lines
    assert backend.count(data, end=-1) == lines - (bool(data) and data[-1] == 10)
    for n in {1, 2, lines // 2, lines - 1, lines} - {0, -1}:
        assert backend.nth(data, n) == (n * every if n <= lines else -1)
    assert backend.nth(data, lines + 1) == -1


@both
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: memoryview(bytearray(b"\n" + data))[1:]])
def test_bytes_may_come_in_any_buffer(backend, kind):
    data = kind(b"a\nb\n\nc")

    assert (backend.count(data), backend.nth(data, 2), backend.number(data, 1)[0]) == (3, 4, "1\ta\n2\tb\n3\t\n4\tc")


@both
@pytest.mark.parametrize("far", [2**63 - 1, 2**63, 2**70])
def test_indices_beyond_the_machine_are_clipped(backend, far):
    data = b"a\nb\n"

    assert [backend.count(data, -far, far), backend.count(data, far), backend.nth(data, far)] == [2, 0, -1]
    assert [backend.nth(data, -far), backend.nth(data, 2, -far), backend.nth(data, 1, far)] == [-1, 4, -1]


@both
@pytest.mark.parametrize("call", ["count", "nth", "number"])
def test_text_is_not_bytes(backend, call):
    with pytest.raises(TypeError):
        getattr(backend, call)("text", 1)


@both
@pytest.mark.parametrize("call", ["count", "nth"])
def test_an_index_that_is_no_number_is_a_type_error(backend, call):
    with pytest.raises(TypeError):
        getattr(backend, call)(b"a\n", 1, "2")


# number


@both
@settings(untimed, max_examples=examples(600))
@given(data=dirty, style=styles)
def test_numbering_is_as_spelled(backend, data, style):
    assert backend.number(data, **style)[0] == spelled(data, **style)


@both
@settings(untimed, max_examples=examples(300))
@given(data=dirty, style=styles)
def test_the_lines_that_numbering_shortens_are_counted(backend, data, style):
    text, cut = backend.number(data, **style)

    limited = {name: value for name, value in style.items() if name != "first"}
    unlimited = limited | {"max_chars": 0, "max_bytes": 0}
    lines = enumerate(re.findall(rb"[^\n]*\n|[^\n]+", data), style["first"])
    shortened = [spelled(line, number, **limited) != spelled(line, number, **unlimited) for number, line in lines]
    assert (text, cut) == (spelled(data, **style), sum(shortened))


@both
@pytest.mark.parametrize("keep_ends", [False, True])
@pytest.mark.parametrize("piece", sorted(set(PIECES)))
def test_a_cut_may_fall_on_every_byte_of_a_character(backend, piece, keep_ends):
    for before in range(14, 19):
        data = b"first\n" + b"a" * before + piece + b"tail\r\n" + piece + b"\nlast" + piece
        for limit in range(1, before + 12):
            for style in ({"max_bytes": limit}, {"max_chars": limit}, {"max_chars": limit, "max_bytes": limit + 20}):
                style |= {"first": 9, "keep_ends": keep_ends, "totals": {10: 12345}}
                assert backend.number(data, **style)[0] == spelled(data, **style)


@both
@pytest.mark.parametrize("limits", [{}, {"max_chars": 2000}, {"max_bytes": 500}, {"max_chars": 70_000}])
@pytest.mark.parametrize("char", ["a", "é", "€", "😀"])
def test_very_long_lines(backend, char, limits):
    data = ("short\n" + char * 100_000 + "\r\n" + "x" + char * 100_000 + "\nend").encode() + b"\xff" * 3000

    assert backend.number(data, 1, **limits)[0] == spelled(data, 1, **limits)


@both
def test_numbers_grow_across_every_power_of_ten(backend):
    for width in (0, 3, 6):
        assert backend.number(b"\n" * 12_000, 0, "<", width, ">")[0] == spelled(b"\n" * 12_000, 0, "<", width, ">")


@both
def test_numbering_is_the_same_in_memory_of_any_size(backend):
    """A short text, one that takes a huge page, one that is too long for it, and the same again."""
    pieces = [b"x" * 99 + b"\n", b"y" * 99 + b"\n"]
    for count in (10, 4_000, 30_000, 4_000, 10):
        data = b"".join([pieces[number % 2] for number in range(count)])

        numbered = backend.number(data, 1, mark=":")[0]

        assert numbered == "\n".join([f"{number}:{'yx'[number % 2] * 99}" for number in range(1, count + 1)])


@both
def test_a_total_of_another_line_is_not_used(backend):
    assert backend.number(b"abc\nabc", 1, max_chars=2, totals={2: 900})[0] == (
        "1\tab... [line truncated, 3 chars total]\n2\tab... [line truncated, 900 chars total]"
    )


@both
def test_totals_may_come_from_any_mapping(backend):
    class Squares(dict):
        def get(self, key, default=None):
            return backend.number(b"x", key * key, mark="")[0]  # also: a call within a call

    assert backend.number(b"abc\n" * 2, 2, max_chars=1, totals=Squares())[0] == (
        "2\ta... [line truncated, 4x chars total]\n3\ta... [line truncated, 9x chars total]"
    )


@both
def test_numbering_within_numbering_leaves_the_outer_text_whole(backend):
    class Key:
        def __hash__(self):
            return hash(2)

        def __eq__(self, other):
            backend.number(b"inner\n" * 5000, 1)
            return False

    outer = b"one\ntwo, which is long\nthree"

    assert backend.number(outer, 1, max_chars=5, totals={Key(): 7})[0] == spelled(outer, 1, max_chars=5)


@both
@pytest.mark.parametrize("wrong", [{"first": "1"}, {"max_chars": "9"}, {"no": 1}])
def test_senseless_styles_are_refused(backend, wrong):
    with pytest.raises(TypeError):
        backend.number(b"a\nb", **{"first": 1} | wrong)


@pytest.mark.skipif(_fast is None, reason=absence)
@pytest.mark.parametrize(
    "style",
    [
        {"lead": "L", "mark": ": ", "max_bytes": 500},
        {"width": 6, "mark": "→", "max_chars": 2000, "totals": {3: 99_999}},
        {"mark": ":", "keep_ends": True},
    ],
)
def test_the_styles_in_use_never_leave_c(monkeypatch, style):
    data = b"ascii\r\n\n" + b"long " * 1000 + "\nünïcode\n".encode() + "€".encode() * 3000 + b"\n\xff\xe2\x82\n" * 300
    expected = pure.number(data, 1, **style)
    monkeypatch.delattr(pure, "number")

    assert _fast.number(data, 1, **style) == expected


@both
def test_threads_do_not_share_what_they_write_to(backend):
    blocks = [bytes([97 + i]) * 30 + b"\n" for i in range(4)]
    answers = [set() for _ in blocks]

    def work(i):
        for _ in range(30):
            answers[i].add((backend.number(blocks[i] * 3000, 1)[0], backend.count(blocks[i] * 3000)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [{(spelled(block * 3000, 1), 3000)} for block in blocks]


# which backend


def python(code, **environment):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True).stdout


def test_the_environment_can_ask_for_python():
    code = "from eyespan import _native; print(_native.BACKEND, _native.number.__module__)"

    assert python(code, EYESPAN_PURE="1") == "python eyespan._native.pure\n"


@pytest.mark.skipif(_fast is None, reason=absence)
def test_a_build_is_used_unless_the_environment_forbids_it():
    assert python("from eyespan import _native; print(_native.BACKEND)", EYESPAN_PURE="") == "c\n"


@pytest.mark.parametrize("body", ["REVISION = 0", "raise OSError('made for another machine')", "REVISION = 1"])
def test_a_build_that_does_not_fit_is_passed_over(body):
    code = f"""
import sys
class Stale:
    def find_spec(self, name, path=None, target=None):
        if name == "eyespan._native._fast":
            from importlib.machinery import ModuleSpec
            return ModuleSpec(name, self)
    def create_module(self, spec): pass
    def exec_module(self, module): exec({body!r}, vars(module))
sys.meta_path.insert(0, Stale())
from eyespan import _native
print(_native.BACKEND, _native.count(b"a\\n"))
"""
    assert python(code, EYESPAN_PURE="") == "python 1\n"
