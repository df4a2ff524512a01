"""Compare read tools on the same files and requests, in one run.

    python bench/run.py                    everything: peers are installed, files made (2.5 GB), ten minutes
    python bench/run.py --quick            small files, the peer that installs quickly, two minutes
    python bench/run.py --rows file,many   some rows
    python bench/run.py --only kimi        some contestants, and the floors

Peers, files and work go below $XDG_CACHE_HOME/eyespan/bench (or ~/.cache/eyespan/bench). A full run writes
results.json, RESULTS.md and chart.svg beside this file; a quick one writes to the cache directory.

The comparison is fair: all contestants have the same files, warm in the page cache, and the same requests; they take
turns within each pass; peers run with their defaults, without network where that is allowed, with telemetry off and a
scratch home directory. An answer that is wrong, endless or missing after LIMIT_SECONDS is a failure, never a time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import contestants as who
import data as files
import drive
import goals
import install
import peers
import report
import workloads as rows_of

HERE = Path(__file__).resolve().parent
SECONDS_A_TURN = 0.6
START_SECONDS = 120
LIMIT_SECONDS = 30
BUSY_LOAD = 0.5
"""A load above this affects the figures; the load of the set-up itself counts too."""
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TMPDIR")


class Entry:
    """The results of one contestant in one row."""

    def __init__(self, contestant):
        self.contestant = contestant
        self.samples = []
        self.outcome = ""
        self.chars = 0
        self.peak_mb = 0.0
        self.numbered = False
        self.failed_ms = None

    @property
    def failed(self):
        return self.outcome not in ("", "ok")

    def as_json(self):
        samples = sorted(self.samples)
        found = {
            "role": self.contestant.role,
            "version": self.contestant.version,
            "ok": self.outcome == "ok",
            "outcome": self.outcome,
            "calls": len(samples),
            "median_ms": _round(statistics.median(samples)) if samples else None,
            "p99_ms": _round(samples[min(len(samples) - 1, int(len(samples) * 0.99))]) if len(samples) >= 50 else None,
            "best_ms": _round(samples[0]) if samples else None,
            "peak_mb": round(self.peak_mb, 1) if self.peak_mb else None,
            "chars": self.chars,
            "numbered": self.numbered,
        }
        if self.failed and self.failed_ms:
            found["failed_after_ms"] = _round(self.failed_ms)
        return found


def _round(ms):
    return float(f"{ms:.4g}")


class Run:
    """One benchmark: contestants, rows and results."""

    def __init__(self, data, cache, everyone, rows, shim):
        self.data = data
        self.work = cache / "work"
        self.home = cache / "home"
        self.everyone = everyone
        self.rows = rows
        self.shim = shim
        self.entries = {row.name: {} for row in rows}
        self._pool = files.log_pool()
        self._broken = {}
        """Contestants that do not start, with the reason."""

    def run(self, passes):
        start = time.monotonic()
        for turn in range(passes):
            for row in self.rows:
                if row.request is None:
                    continue
                taking = [contestant for contestant in self.everyone if row.name in contestant.rows]
                if not taking:
                    continue
                self._before(row)
                for again in range(row.rounds):
                    shift = (turn * row.rounds + again) % len(taking)
                    for contestant in taking[shift:] + taking[:shift]:
                        # A peer takes seconds to start; eyespan, the floors and the commands do not.
                        if again == 0 or contestant.role != who.PEER:
                            self._turn(row, contestant)
                self._print(turn, row, time.monotonic() - start)
        self.data.grow.unlink(missing_ok=True)

    def _entry(self, name, contestant):
        return self.entries[name].setdefault(contestant.name, Entry(contestant))

    def _before(self, row):
        """Prepare the page cache for a row."""
        if row.name == "growing":
            if not self.data.grow.exists():
                shutil.copyfile(self.data.log, self.data.grow)
            _warm(self.data.grow)
        elif Path(row.request.get("path", "/")).is_file():
            _warm(Path(row.request["path"]))

    def _with(self, contestant, request, use):
        """Start a contestant, use it and end it; return the reason if it does not start, else ""."""
        if contestant.name in self._broken:
            return self._broken[contestant.name]
        env = {name: value for name, value in os.environ.items() if name in KEPT_VARIABLES}
        env.update(HOME=str(self.home), NO_COLOR="1", DO_NOT_TRACK="1", **contestant.env)
        self.work.mkdir(parents=True, exist_ok=True)
        try:
            driver = contestant.kind(contestant, request, env, START_SECONDS, self.data.directory, self.work)
            driver.limit = LIMIT_SECONDS
        except (drive.Failure, OSError, ValueError) as error:
            self._broken[contestant.name] = f"does not start: {self._plain(str(error))}"
            return self._broken[contestant.name]
        try:
            use(driver)
        finally:
            driver.close()
        return ""

    def _turn(self, row, contestant):
        entry = self._entry(row.name, contestant)
        if entry.failed:
            return
        if row.name == "start":
            self._start(contestant, entry)
            return
        use = self._grow if row.name == "growing" else self._ask
        problem = self._with(contestant, row.request, lambda driver: use(row, contestant, entry, driver))
        if problem:
            entry.outcome = problem

    def _start(self, contestant, entry):
        start = time.perf_counter_ns()

        def ready(driver):
            entry.samples.append((time.perf_counter_ns() - start) / 1e6)
            entry.peak_mb = max(entry.peak_mb, driver.peak_mb())

        entry.outcome = self._with(contestant, {"op": "window", "path": "", "start": 1, "count": 2}, ready) or "ok"

    def _ask(self, row, contestant, entry, driver):
        request = row.request
        again = self._entry(row.then, contestant) if row.then and contestant.role != who.FLOOR else None
        driver.reset_peak()
        first = driver.ask(request)  # counts in rows about first calls only: it has the work that a tool does once
        if not self._judge(row, entry, driver, first, keep=row.first):
            if again is not None:
                again.outcome = entry.outcome
            return
        driver.reset_peak()
        repeats = self._repeats(first, row, contestant)
        if again is not None:
            self._judge(row, again, driver, driver.ask(request, repeats))
        elif not row.first:
            self._judge(row, entry, driver, driver.ask(request, repeats), check=False)
        if isinstance(driver, drive.Command) and entry.peak_mb == 0:
            driver.weigh(request, self.shim)
            for each in (entry, again):
                if each is not None:
                    each.peak_mb = driver.peak_mb()

    def _plain(self, error):
        """Shorten an error for a table and remove the paths of this machine."""
        text = " ".join(error.split()).replace(str(self.data.directory), "...").replace(str(self.work.parent), "...")
        return text if len(text) <= 110 else f"{text[:107]}..."

    def _repeats(self, first, row, contestant):
        """Return the number of calls that fit in a turn; the first call on a large file is not representative."""
        seconds = sum(first.ns) / 1e9
        if row.then is not None and contestant.role == who.OURS and contestant.kind is not drive.Command:
            return 40
        return max(1, min(row.most, int(SECONDS_A_TURN / max(seconds, 1e-6))))

    def _judge(self, row, entry, driver, answer, keep=True, check=True):
        """Record an answer and return True if the contestant may continue."""
        if not answer.offered:
            entry.outcome = "not offered"
            return False
        if answer.error:
            entry.outcome = "failed: " + self._plain(answer.error)
            entry.failed_ms = max(answer.ms, default=None)
            return False
        if keep:
            entry.samples += answer.ms
            entry.peak_mb = max(entry.peak_mb, driver.peak_mb())
        entry.chars = max(entry.chars, answer.chars)
        if not answer.steady:
            entry.outcome = "wrong: not the same answer every time"
            return False
        if not check or entry.contestant.role == who.FLOOR:
            entry.outcome = entry.outcome or "ok"
            return True
        verdict = row.check(driver.text(answer))
        entry.outcome, entry.numbered = verdict.outcome, verdict.numbered
        if not verdict.ok:
            entry.failed_ms = max(answer.ms, default=None)
        return verdict.ok

    def _grow(self, row, contestant, entry, driver):
        size = self.data.log.stat().st_size
        os.truncate(self.data.grow, size)
        last = files.last_line(self.data.grow)
        try:
            row.check = rows_of.log_window(last - rows_of.TAIL_LINES + 1, last)
            if not self._judge(row, entry, driver, driver.ask(row.request), keep=False):
                return  # the file is in the caches, and the answer was right
            driver.reset_peak()
            spent = 0.0
            for _ in range(row.most):
                last = files.append_log(self.data.grow, self._pool, last)
                row.check = rows_of.log_window(last - rows_of.TAIL_LINES + 1, last)
                answer = driver.ask(row.request)
                spent += sum(answer.ns) / 1e9
                if not self._judge(row, entry, driver, answer) or spent > 4 * SECONDS_A_TURN:
                    break
            if isinstance(driver, drive.Command):
                driver.weigh(row.request, self.shim)
                entry.peak_mb = driver.peak_mb()
        finally:
            os.truncate(self.data.grow, size)

    def _print(self, turn, row, seconds):
        for name in filter(None, (row.name, row.then)):
            for who_, entry in self.entries[name].items():
                found = entry.as_json()
                shown = f"{found['median_ms']:>11.3f} ms" if found["median_ms"] is not None else " " * 14
                print(
                    f"[{seconds:5.0f} s] pass {turn + 1} {name:12} {who_:34} {shown} {found['peak_mb'] or 0:8.1f} MB  "
                    f"{found['outcome']}",
                    file=sys.stderr,
                    flush=True,
                )

    def as_json(self):
        found = {}
        for row in self.rows:
            if self.entries[row.name]:
                told = {name: entry.as_json() for name, entry in self.entries[row.name].items()}
                found[row.name] = {"title": row.title, "contestants": told}
        return found


def _warm(path):
    """Read a file into the page cache, so that a first call measures the tool and not the disk."""
    block = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(block):
            pass


def machine():
    """Describe the machine and the versions."""

    def first(path, pattern):
        try:
            found = re.search(pattern, Path(path).read_text())
        except OSError:
            return ""
        return found[1].strip() if found else ""

    memory = first("/proc/meminfo", r"MemTotal:\s+(\d+)")
    return {
        "processor": first("/proc/cpuinfo", r"model name\s*:\s*(.+)") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(int(memory) / 1e6) if memory else None,
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "node": _version(["node", "--version"]),
        "coreutils": _version(["wc", "--version"]),
    }


def _version(command):
    try:
        words = subprocess.run(command, capture_output=True, text=True).stdout.split("\n")[0].split()
    except OSError:
        return None
    return words[-1].lstrip("v") if words else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small files and few peers: two minutes")
    parser.add_argument("--only", help="contestants whose name has one of these, separated by commas")
    parser.add_argument("--rows", help="rows, separated by commas: window,tail")
    parser.add_argument("--passes", type=int, default=1, help="turns of every contestant in every row")
    parser.add_argument("--cache", type=Path, default=peers.cache_folder(), help="where peers and files are kept")
    parser.add_argument("--data", type=Path, help="where the files are, if not in the cache directory")
    parser.add_argument("--out", type=Path, help="where the results go")
    arguments = parser.parse_args()
    if sys.platform != "linux":
        print("the benchmark reads /proc for memory: it runs on Linux", file=sys.stderr)
        return 2
    cache = arguments.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise every start would compile all modules again
    missing = install_peers(cache, arguments)
    place = install.install(cache)
    data = files.make((arguments.data or cache / "data").resolve(), arguments.quick)
    floor = who.build_floor(cache)
    everyone, absent = gather(cache, place, data, floor, arguments)
    missing.update(absent)
    rows = rows_of.workloads(data)
    if arguments.rows:
        wanted = arguments.rows.split(",")
        wanted += [row.then for row in rows if row.name in wanted]
        rows = [row for row in rows if row.name in wanted]
    run = Run(data, cache, everyone, rows, floor)
    started, load = time.monotonic(), os.getloadavg()[0]
    if load > BUSY_LOAD:
        print(f"the machine is busy (load {load:.1f}): the figures will say little", file=sys.stderr)
    run.run(arguments.passes)
    found = run.as_json()
    results = {
        "eyespan": {"version": _eyespan_version(place), "commit": install.revision()},
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine(),
        "load_before": round(load, 2),
        "quick": arguments.quick,
        "passes": arguments.passes,
        "seconds": round(time.monotonic() - started),
        "isolated": bool(who.NO_NETWORK),
        "peers": {peer.name: {"version": peer.version, "missing": missing.get(peer.name, "")} for peer in peers.PEERS},
        "missing": {name: why for name, why in missing.items() if name not in {peer.name for peer in peers.PEERS}},
        "goals": goals.judge(found, is_quick=arguments.quick),
        "rows": found,
    }
    whole = not (arguments.quick or arguments.only or arguments.rows)
    out = arguments.out or (HERE if whole else cache / "quick")
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (out / "RESULTS.md").write_text(report.markdown(results))
    (out / "chart.svg").write_text(report.chart(results))
    print(report.summary(results))
    print(f"written: {out / 'results.json'}, RESULTS.md, chart.svg")
    return 0


def install_peers(cache, arguments):
    """Install what this run needs and return the missing peers with the reason."""
    missing = {}
    for peer in peers.PEERS:
        if arguments.only and not any(word in peer.name for word in arguments.only.split(",")):
            missing[peer.name] = "not asked for"
        elif arguments.quick and not arguments.only and peer.name != "server-filesystem":
            missing[peer.name] = "not part of a quick run"
        elif problem := peers.install(cache, peer):
            missing[peer.name] = problem
            print(f"missing: {peer.name} {peer.version}: {problem}", file=sys.stderr, flush=True)
    return missing


def gather(cache, place, data, floor, arguments):
    """Return the contestants of this run, and those of eyespan that are missing."""
    home = cache / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    config = cache / "bench.toml"
    config.write_text(f"[tools.read_file]\nmax_scan_bytes = {1 << 60}\n")
    missing = {} if floor else {"bare pread": "no C compiler"}
    python, script = place / "bin" / "python", place / "bin" / "eyespan"
    found = who.ours(python, script, data, config) + who.floors(python, floor, data) + who.commands()
    rivals = who.rivals(cache, data, home)
    if arguments.quick and not arguments.only:
        rivals = [contestant for contestant in rivals if contestant.name.startswith("server-filesystem")]
    found += rivals
    if arguments.only:
        words = arguments.only.split(",")
        found = [c for c in found if c.role == who.FLOOR or any(word in c.name for word in words)]
    return found, missing


def _eyespan_version(place):
    done = subprocess.run([place / "bin" / "eyespan", "--version"], capture_output=True, text=True)
    return done.stdout.split()[-1] if done.stdout.split() else ""


if __name__ == "__main__":
    sys.exit(main())
