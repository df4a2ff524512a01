"""Drive one contestant: send requests, time them, measure its memory.

Three kinds. A worker times the call inside its own process; an MCP server is timed as a round trip at a client that
reads a line and does nothing else; a command from its start to the end of its output. All of them answer `ask` with an
`Answer`, never with an exception.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path

MOST_CHARS = 64_000_000
"""A longer answer is not read to its end: no model could use it."""
PIPE_BYTES = 1 << 20
_ID = re.compile(rb'"id": ?(\d+)')


class Failure(Exception):
    """Raised if the contestant died, hung or answered without end."""


class Answer:
    """The result of a request: times in nanoseconds, and the text unless it failed."""

    def __init__(self, ns, text=None, chars=0, error="", offered=True, fatal=False, steady=True):
        self.ns = ns
        self.text = text
        self.chars = chars
        self.error = error
        self.offered = offered
        self.fatal = fatal
        """The process has ended or cannot be used again."""
        self.steady = steady

    @property
    def ms(self):
        return [ns / 1e6 for ns in self.ns]


class Process:
    """A contestant that lives through many requests; lines in, lines out."""

    def __init__(self, argv, env, limit, directory, work):
        self.limit = limit
        self.work = work
        self._rest = b""
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            cwd=directory,
            bufsize=0,
            start_new_session=True,
        )
        self._out = self._process.stdout.fileno()

    def send(self, message):
        self._send_bytes(json.dumps(message).encode() + b"\n")

    def _send_bytes(self, data):
        try:
            while data:
                data = data[self._process.stdin.write(data) :]
        except OSError as error:
            raise Failure(f"died ({error.strerror})") from None

    def line(self):
        """Return the next line; its pieces are joined once, so that a large answer costs little here."""
        end = time.monotonic() + self.limit
        pieces, self._rest, length = [self._rest], b"", len(self._rest)
        if b"\n" in pieces[0]:
            line, self._rest = pieces[0].split(b"\n", 1)
            return line
        while True:
            if not select.select([self._out], [], [], max(0.0, end - time.monotonic()))[0]:
                raise Failure(f"no answer in {self.limit:g} s")
            piece = os.read(self._out, 1 << 20)
            if not piece:
                raise Failure("died")
            at = piece.find(b"\n")
            if at >= 0:
                pieces.append(piece[:at])
                self._rest = piece[at + 1 :]
                return b"".join(pieces)
            pieces.append(piece)
            length += len(piece)
            if length > 2 * MOST_CHARS:
                raise Failure(f"unbounded answer, over {length // 1_000_000} MB")

    def _family(self):
        found, todo = [], [self._process.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            try:
                todo += [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
            except OSError:
                pass
        return found

    def reset_peak(self):
        for pid in self._family():
            try:
                Path(f"/proc/{pid}/clear_refs").write_text("5")
            except OSError:
                pass

    def peak_mb(self):
        """Return the peak memory since the last reset, children included."""
        total = 0
        for pid in self._family():
            try:
                found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
            except OSError:
                continue
            total += int(found[1]) if found else 0
        return total / 1024

    def close(self):
        try:
            self._process.stdin.close()
            self._process.wait(2)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()
        self._process.stdout.close()

    def kill(self):
        """End the process and its children, which share a session."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except OSError:
            pass
        self._process.wait()


class Worker(Process):
    """A process that speaks the protocol of workers/common.py."""

    def __init__(self, contestant, request, env, limit, directory, work):
        super().__init__(contestant.argv(request), env, limit, directory, work)
        try:
            json.loads(self.line())
        except (Failure, ValueError):
            self.kill()
            raise

    def ask(self, request, repeats=1):
        start = time.perf_counter_ns()
        try:
            self.send({**request, "repeats": repeats})
            found = json.loads(self.line())
        except Failure as error:
            return Answer([time.perf_counter_ns() - start], error=str(error), fatal=True)
        if "not_offered" in found:
            return Answer([], offered=False)
        if "error" in found:
            return Answer(found["ns"], error=found["error"])
        if found["chars"] > MOST_CHARS:
            return Answer(found["ns"], error=f"unbounded answer of {found['chars'] / 1e6:,.0f} MB")
        return Answer(found["ns"], chars=found["chars"], steady=found["steady"])

    def text(self, answer):
        """Return the text of the last answer."""
        dump = Path(self.work, "answer.txt")
        try:
            self.send({"op": "dump", "path": str(dump)})
            self.line()
            return dump.read_text(encoding="utf-8", errors="surrogatepass")
        except (Failure, OSError) as error:
            return f"(no text: {error})"
        finally:
            dump.unlink(missing_ok=True)


class Mcp(Process):
    """An MCP server over standard input and output."""

    def __init__(self, contestant, request, env, limit, directory, work):
        super().__init__(contestant.argv(request), env, limit, directory, work)
        self._calls = contestant.calls
        self._in_flight = contestant.in_flight
        self._last_id = 0
        try:
            client = {"name": "bench", "version": "1"}
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
            self._exchange([("initialize", hello)])
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            self._exchange([("tools/list", {})])
        except Failure:
            self.kill()
            raise

    def _exchange(self, requests):
        """Return the answers to requests, in their order; at most `in_flight` wait for an answer at a time."""
        first, answers = self._last_id + 1, {}
        for number, (method, params) in enumerate(requests, first):
            if number - first - len(answers) == self._in_flight:
                self._take_answer(answers)
            self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        self._last_id += len(requests)
        while len(answers) < len(requests):
            self._take_answer(answers)
        return [answers[number] for number in range(first, self._last_id + 1)]

    def _take_answer(self, answers):
        """Read lines until one is an answer, whose id may be at either end; answer requests of the server."""
        while True:
            line = self.line()
            number = _ID.search(line[:300]) or _ID.search(line[-300:])
            if number is None:
                continue
            if b'"method"' not in line[:300]:
                answers[int(number[1])] = line
                return
            message = json.loads(line)
            result = {"roots": []} if message["method"] == "roots/list" else {}
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def ask(self, request, repeats=1):
        calls = self._calls(request)
        if calls is None:
            return Answer([], offered=False)
        times, lines, lengths = [], [], set()
        requests = [("tools/call", {"name": tool, "arguments": arguments}) for tool, arguments in calls]
        for _ in range(repeats):
            start = time.perf_counter_ns()
            try:
                lines = self._exchange(requests)
            except Failure as error:
                return Answer([time.perf_counter_ns() - start], error=str(error), fatal=True)
            times.append(time.perf_counter_ns() - start)
            lengths.add(sum(map(len, lines)))
        texts = []
        for line in lines:
            message = json.loads(line)
            if "error" in message:
                return Answer(times, error=str(message["error"].get("message"))[:300])
            result = message["result"]
            text = "".join([block.get("text", "") for block in result.get("content", [])])
            if result.get("isError"):
                return Answer(times, error=text[:300])
            texts.append(text)
        chars = sum(map(len, texts))
        if chars > MOST_CHARS:
            return Answer(times, error=f"unbounded answer of {chars / 1e6:,.0f} MB")
        # The length differs with the number of digits of the id.
        return Answer(times, "\n".join(texts), chars, steady=max(lengths) - min(lengths) <= 4 * len(lines))

    def text(self, answer):
        return answer.text


class Command:
    """A fresh process for each request."""

    def __init__(self, contestant, request, env, limit, directory, work):
        self._contestant = contestant
        self._env = env
        self.limit = limit
        self._directory = directory
        self._work = work
        self._peak = 0.0

    def ask(self, request, repeats=1):
        argv = self._contestant.argv(request)
        if argv is None:
            return Answer([], offered=False)
        times, lengths, output = [], set(), b""
        for _ in range(repeats):
            start = time.perf_counter_ns()
            try:
                output = self._run(argv, self._env)
            except (Failure, OSError) as error:
                return Answer([time.perf_counter_ns() - start], error=str(error))
            times.append(time.perf_counter_ns() - start)
            lengths.add(len(output))
        return Answer(times, output.decode("utf-8", "replace"), len(output), steady=len(lengths) == 1)

    def text(self, answer):
        return answer.text

    def weigh(self, request, shim):
        """Run the command once more under the shim that reports its peak memory; not timed."""
        argv = self._contestant.argv(request)
        if argv is None or shim is None:
            return
        report = Path(self._work, "peak.txt")
        try:
            self._run([shim, "peak", *argv], {**self._env, "FLOOR_PEAK": str(report)})
            self._peak = max(self._peak, int(report.read_text()) / 1024)
        except (Failure, OSError, ValueError):
            pass
        report.unlink(missing_ok=True)

    def _run(self, argv, env):
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            cwd=self._directory,
            bufsize=0,
            start_new_session=True,
        )
        out = process.stdout.fileno()
        try:
            fcntl.fcntl(out, fcntl.F_SETPIPE_SZ, PIPE_BYTES)  # a command must not wait for its reader
        except (AttributeError, OSError):
            pass
        end = time.monotonic() + self.limit
        pieces, length = [], 0
        try:
            while True:
                if not select.select([out], [], [], max(0.0, end - time.monotonic()))[0]:
                    raise Failure(f"no answer in {self.limit:g} s")
                piece = os.read(out, PIPE_BYTES)
                if not piece:
                    break
                pieces.append(piece)
                length += len(piece)
                if length > MOST_CHARS:
                    raise Failure(f"unbounded answer, over {length // 1_000_000} MB")
            if process.wait(max(0.1, end - time.monotonic())):
                raise Failure(f"{Path(argv[0]).name} ended with status {process.returncode}")
        except BaseException:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except OSError:
                pass
            process.wait()
            raise
        finally:
            process.stdout.close()
        return b"".join(pieces)

    def reset_peak(self):
        self._peak = 0.0

    def peak_mb(self):
        return self._peak

    def close(self):
        pass


class Floor:
    """The compiled floor: it times itself and returns no text."""

    def __init__(self, contestant, request, env, limit, directory, work):
        self._contestant = contestant
        self.limit = limit

    def ask(self, request, repeats=1):
        argv = self._contestant.argv(request)
        if argv is None:
            return Answer([], offered=False)
        done = subprocess.run([*argv, str(repeats)], capture_output=True, text=True, timeout=self.limit * repeats)
        if done.returncode:
            return Answer([], error=done.stderr.strip()[:200])
        return Answer([int(line) for line in done.stdout.split()], "")

    def text(self, answer):
        return None

    def reset_peak(self):
        pass

    def peak_mb(self):
        return 0.0

    def close(self):
        pass
