"""A pytest plugin for measuring coverage: decoders run in this process instead of in the worker.

Behind its walls a child of the worker can open no file, so it cannot tell what it ran. What a decoder does is the same
here; that it does it over there is what tests/worker and the ordinary run of the same tests show.
"""

from __future__ import annotations

import json
import os

from eyespan.worker import client, fork_server


def _run(self, task, fd, params, *, asked, context=None):
    """As `Worker.run`, without the worker: the same frame around the answer, taken apart by the same code."""
    given = json.loads(json.dumps({"seconds": self.limits.seconds, **params}))
    try:
        decoder = fork_server.find(self._decoders[task])
        os.lseek(fd, 0, os.SEEK_SET)
        with open(fd, "rb", buffering=0, closefd=False) as file:
            facts, blobs = decoder(file, given)
        head = fork_server.pack({"facts": facts}, blobs)
    except Exception as error:
        head, blobs = fork_server.pack(fork_server.failure(error, task)), []
    head, blobs = client._parse(head + b"".join(blobs), asked, task)
    if "error" in head:
        raise client._error(head, asked, task)
    return head["facts"], blobs


def pytest_configure(config):
    client.Worker.run = _run
