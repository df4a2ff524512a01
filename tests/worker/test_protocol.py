from __future__ import annotations

import pytest

from eyespan.errors import Unreadable
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
        framed('{"blobs": [], "facts": NaN}'),
        framed("[" * 100_000),
        framed('{"blobs": [], "facts": {"n": ' + "9" * 5000 + "}}"),
    ],
)
def test_an_invalid_response_is_one_error(worker, file, answer):
    with pytest.raises(Unreadable, match="invalid response"):
        worker.run("lie", file, {"answer": answer}, asked="data")

    assert echo(worker, file) == ECHOED


def test_the_reason_of_a_decoder_is_cut_to_a_length(worker, file):
    answer = framed('{"blobs": [], "error": "unreadable", "kind": 7, "reason": "' + "x" * 9000 + '"}')

    with pytest.raises(Unreadable) as caught:
        worker.run("lie", file, {"answer": answer}, asked="data")

    assert (caught.value.kind, len(caught.value.reason)) == ("7", 500)
