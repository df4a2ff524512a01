"""One job, in the process that decodes: load the decoder, run it, write the response."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from eyespan.worker import protocol

Decoder = Callable[[BinaryIO, Mapping[str, Any]], tuple[Mapping[str, Any], list[bytes]]]

CODECS = (
    *("ascii", "cp437", "cp1252", "latin-1", "utf-8-sig"),
    *("utf-16", "utf-16-be", "utf-16-le", "utf-32-be", "utf-32-le"),
)
"""Encodings that decoders and their libraries use by name. Each is a module that is imported when it is first used."""
NO_OP_TASK = ""
"""The task without a decoder: its response has only the layers of the sandbox."""


def load_decoder(reference: str) -> Decoder:
    """Import a decoder, `module:function`, and rehearse it. Raises: ImportError, AttributeError.

    Libraries import modules when they first need them, and inside the sandbox no module can be imported. So a decoder's
    module may have a `rehearse()` that does everything once, on data of its own.
    """
    if not reference:
        return _decode_nothing
    module, _, name = reference.partition(":")
    is_known = module in sys.modules
    for encoding in CODECS:
        codecs.lookup(encoding)
    __import__(module)
    decoder: Decoder = getattr(sys.modules[module], name)
    rehearse = getattr(sys.modules[module], "rehearse", None)
    if rehearse is not None and not is_known:
        rehearse()
    return decoder


def _decode_nothing(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    return {}, []


def run(decoder: Decoder, params: Mapping[str, Any], *, fd: int, response: int, layers: dict[str, bool]) -> None:
    """Decode the file of `fd` and write the response to the descriptor `response`. Called inside the sandbox."""
    try:
        with contextlib.suppress(OSError):
            os.lseek(fd, 0, os.SEEK_SET)
        with open(fd, "rb", buffering=0, closefd=False) as file:
            facts, blobs = decoder(file, params)
        header = protocol.pack({"facts": facts, "layers": layers}, blobs)
    except BaseException as error:
        error.__traceback__ = error.__context__ = None  # frees what the decoder held, which may be all memory
        header, blobs = protocol.pack({**protocol.error_header(error), "layers": layers}), []
    for data in (header, *blobs):
        _write_all(response, data)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def main(arguments: str) -> None:
    """Run one job in this process, for `no_fork`: the file is standard input, the response standard output."""
    from eyespan.sandbox.decoder import DecoderSandbox

    job = json.loads(arguments)
    response = os.dup(1)
    os.dup2(2, 1)
    try:
        decoder = load_decoder(job["decoder"])
    except (Exception, SystemExit) as error:  # whatever the module of a plugin raises
        _write_all(response, protocol.pack(protocol.error_header(error)))
        return
    sandbox = DecoderSandbox(memory_bytes=job["memory_bytes"], seconds=job["seconds"])
    run(decoder, job["params"], fd=0, response=response, layers=sandbox.apply())
