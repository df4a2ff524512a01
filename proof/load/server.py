"""The server under load, and the resources that it holds."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from proof.load.answers import DIALECTS


class Server:
    """A real `eyespan serve --http` on the tree `work` in a directory."""

    def __init__(
        self, directory: Path, *, clients: int, workers: int, calls: int, extra_arguments: tuple[str, ...] = ()
    ) -> None:
        self.tokens = [f"load-{number}-{os.urandom(16).hex()}" for number in range(clients)]
        callers = [
            f'[client{number}]\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\nrate = 1000000\n'
            for number, token in enumerate(self.tokens)
        ]
        (directory / "tokens.toml").write_text("\n".join(callers))
        self.root = directory / "work"
        argv = [sys.executable, "-m", "eyespan", "--root", str(self.root), "serve", "--http", "127.0.0.1:0"]
        argv += ["--tokens", str(directory / "tokens.toml"), "--workers", str(workers)]
        # On a busy machine a document takes longer than the usual deadline, and the bytes are what is compared.
        argv += ["--calls", str(calls), "--timeout", "60", *extra_arguments]
        for dialect in DIALECTS:
            argv += ["--dialect", dialect]
        self.log = directory / "stderr"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(argv, stderr=log, stdin=subprocess.DEVNULL)
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/mcp.*\n", self.log.read_text())):
            if self.process.poll() is not None:
                raise SystemExit(f"the server did not start: {self.log.read_text()}")
            time.sleep(0.05)
        self.port = int(found[1])
        self.banner = found[0].strip()

    def end(self) -> int:
        """Ask the server to end and return its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def held(self) -> dict[str, int]:
        """Count descriptors, threads and resident bytes of the server and of the processes it started.

        The server is not dumpable, so only root can count its descriptors; for another user the size of the
        descriptor table takes their place.
        """
        total = Counter({"descriptors": 0, "threads": 0, "rss_bytes": 0, "children": 0, "children_rss_bytes": 0})
        for pid in (self.process.pid, *_descendants(self.process.pid)):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
                try:
                    descriptors = len(os.listdir(f"/proc/{pid}/fd"))
                except PermissionError:
                    descriptors = _status_number("FDSize", status)
            except OSError:
                continue  # The process has ended.
            rss_bytes = 1024 * _status_number("VmRSS", status)
            total.update(descriptors=descriptors, threads=_status_number("Threads", status))
            if pid == self.process.pid:
                total.update(rss_bytes=rss_bytes)
            else:
                total.update(children=1, children_rss_bytes=rss_bytes)
        return dict(total)

    def held_at_rest(self, seconds: float) -> dict[str, int]:
        """Return the least that the server held within some seconds without requests: endings take a moment."""
        least: dict[str, int] = {}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.25)
            least = {name: min(least.get(name, value), value) for name, value in self.held().items()}
        return least


def _status_number(name: str, status: str) -> int:
    """Return a number of /proc/PID/status; 0 if it is missing, as VmRSS is for a process that ends."""
    found = re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)
    return int(found[1]) if found else 0


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue  # The process has ended.
            children.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(entry))
    found, pending = [], [pid]
    while pending:
        more = children.get(pending.pop(), [])
        found += more
        pending += more
    return found
