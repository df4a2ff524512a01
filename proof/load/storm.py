"""All clients at once, in several processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from proof.load import good, hostile
from proof.load.client import Client
from proof.load.server import Server


class Observed(NamedTuple):
    """The observations of all clients, and the most that the server held meanwhile."""

    counts: Counter[str]
    times: list[tuple[str, float]]
    wrong: list[str]
    most_held: dict[str, int]


def storm(
    server: Server,
    seconds: float,
    *,
    max_requests: int,
    seed: str,
    processes: int,
    hostile_share: float,
    fill_rounds: int = 0,
) -> Observed:
    """Run a client for each token of the server for some seconds or requests, spread over several processes."""
    plan = {
        "root": str(server.root),
        "port": server.port,
        "tokens": server.tokens,
        "hostile": hostile_share,
        "seed": seed,
        "fill": fill_rounds,
        "requests": max_requests,
    }
    context = multiprocessing.get_context("spawn")
    running = []
    for first in range(processes):
        here, there = context.Pipe(duplex=False)
        numbers = list(range(first, len(server.tokens), processes))
        process = context.Process(target=_run_clients, args=(numbers, plan, seconds, there))
        process.start()
        there.close()
        running.append((process, here))
    observed = Observed(Counter(), [], [], {})
    for process, here in running:
        while not here.poll(1.0):
            for name, value in server.held().items():
                observed.most_held[name] = max(observed.most_held.get(name, 0), value)
        try:
            counts, times, wrong = here.recv()
        except EOFError:
            observed.wrong.append("a process of clients died")
            continue
        observed.counts.update(counts)
        observed.times.extend(times)
        observed.wrong.extend(wrong)
        process.join()
    return observed


def _run_clients(numbers: list[int], plan: dict[str, Any], seconds: float, answer: Any) -> None:
    """Run the clients of one process and send their counts, times and complaints through the pipe `answer`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    root = Path(plan["root"])
    texts = {path.name: path.read_bytes().decode().split("\n")[:-1] for path in sorted(root.glob("text*.txt"))}
    blobs = {path.name: path.read_bytes() for path in sorted(root.glob("image*.png"))}
    clients = [Client(number, plan, texts, blobs) for number in numbers]

    async def run_all() -> None:
        await asyncio.gather(
            *[client.run(seconds, fill=good.FILL, good=good.REQUESTS, hostile=hostile.REQUESTS) for client in clients]
        )

    asyncio.run(run_all())
    counts: Counter[str] = Counter()
    for client in clients:
        counts += client.counts
    times = [row for client in clients for row in client.seconds]
    answer.send((counts, times, [complaint for client in clients for complaint in client.wrong]))
    answer.close()
