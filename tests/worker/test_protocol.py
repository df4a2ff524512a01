from __future__ import annotations

import json
import tracemalloc

import pytest

from eyespan.errors import Unreadable
from eyespan.worker import protocol
from tests.bad_worker import ECHOED, echo


def framed(text, extra=b""):
    return (len(text).to_bytes(4, "big") + text.encode() + extra).decode("latin-1")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "\0",
        "\xff\xff\xff\xff{}",
        framed("{}"),
        framed("[]"),
        framed('{"blobs": [-1]}'),
        framed('{"blobs": [true]}', b"x"),
        framed('{"blobs": [10]}'),
        framed('{"blobs": []}', b"more"),
        framed('{"blobs": [10], "facts": {}}', b"less"),
        framed('{"blobs": [2], "facts": {}}', b"more"),
        framed('{"blobs": [], "facts": []}'),
        framed('{"blobs": [], "facts": {"n": NaN}}'),
        framed('{"blobs": [], "facts": {"n": -Infinity}}'),
        framed("[" * 100_000),
        framed('{"blobs": [], "facts": {"n": ' + "9" * 5000 + "}}"),
        framed('{"blobs": [], "facts": {"n": [' + "[]," * 160_000 + "0]}}"),
        framed('{"blobs": [], "facts": {"n": [' + "0," * 300_000 + "0]}}"),
    ],
)
def test_an_invalid_response_is_one_error(worker, file, answer):
    with pytest.raises(Unreadable, match="invalid response"):
        worker.run("lie", file, {"answer": answer}, asked="data")

    assert echo(worker, file) == ECHOED


def test_the_reason_of_a_decoder_is_cut_to_a_length(worker, file):
    answer = framed('{"blobs": [], "error": "unreadable", "reason": "' + "x" * 9000 + '"}')

    with pytest.raises(Unreadable) as caught:
        worker.run("lie", file, {"answer": answer}, asked="data")

    assert (caught.value.kind, len(caught.value.reason)) == ("lie", 500)


def test_commas_and_brackets_in_strings_are_no_values(worker, file):
    text = "[," * 300_000
    answer = framed('{"blobs": [], "facts": {"text": "' + text + '"}}')

    assert worker.run("lie", file, {"answer": answer}, asked="data") == ({"text": text}, [])


@pytest.mark.parametrize(
    ("start", "size"),
    [
        (b"", 0),
        (b"\0\0\0\x0d{", 0),
        (b'\0\0\0\x0d{"blobs":[7]}', 24),
        (b"\0\0\0\x0dinvalid JSON.", -1),
        (b"\0\0\0\x02{}", -1),
    ],
)
def test_the_size_of_a_response_is_known_with_its_header(start, size):
    assert protocol.response_size(bytearray(start)) == size


@pytest.mark.parametrize(
    "rows",
    [
        [["heading", "heading", "h1", n, n, n, 0, "heading", 0] for n in range(1000, 5000)],
        [[] for _ in range(20_000)],
        ["\U0001f600" + "a" * 10_000 for _ in range(10)],
    ],
    ids=["symbols", "lists", "wide"],
)
def test_a_parsed_header_takes_no_more_than_is_charged(rows):
    text = json.dumps({"facts": {"symbols": rows}, "blobs": []}).encode()
    data = bytearray(len(text).to_bytes(4, "big") + text)
    tracemalloc.start()
    made = json.loads(text)
    size_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert made["blobs"] == []
    assert size_bytes <= protocol.header_memory(data)


@pytest.mark.parametrize("sizes", [[], [0], [3], [2, 3], [0, 2, 0, 3, 0]])
@pytest.mark.parametrize("is_apart", [False, True])
def test_blobs_are_found_in_their_order(sizes, is_apart):
    blobs = [bytes([65 + number]) * size for number, size in enumerate(sizes)]
    data = bytearray(protocol.pack({"facts": {}}, blobs) + b"".join(blobs))
    rest = protocol.take_blobs(data) if is_apart else None

    assert protocol.parse(data, "asked", "echo", rest)[1] == blobs


def test_a_large_blob_is_in_memory_once():
    tracemalloc.start()
    data = bytearray(protocol.pack({"facts": {}}, [bytes(8_000_000)]) + bytes(8_000_000))
    rest = protocol.take_blobs(data)
    before_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    _, (blob,) = protocol.parse(data, "asked", "echo", rest)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(blob) == 8_000_000
    assert peak_bytes - before_bytes < 100_000
