"""Measure bulk reading: every file accounted for, memory, processor time, and an export that was killed.

    python bench/bulk.py                      100,000 files; some 20 minutes
    python bench/bulk.py --files 2000         shows that it runs
    python bench/bulk.py --peer markitdown    the same documents by a peer, which must be installed

The files are made below --directory, the same ones each time: generated text, code, tables, notebooks, documents,
images and archives, the modules of Python's standard library as real ones, and poison: bombs, pipes, denied names,
broken documents, odd names. The figures are processor seconds of this process and its children, because they hardly
depend on what else the machine does, and ratios to a bare read of the same files. The result is printed as JSON.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
import zlib
from pathlib import Path

WORDS = ("river", "stone", "window", "garden", "letter", "bridge", "market", "silver", "paper", "signal", "engine")
PER_DIRECTORY = 200
PEERS = {
    "markitdown": "from markitdown import MarkItDown; convert = MarkItDown().convert",
    "unstructured": "from unstructured.partition.auto import partition; convert = lambda p: partition(filename=p)",
}
"""How a peer converts a file."""


def sentence(rng: random.Random, count: int) -> str:
    return " ".join([rng.choice(WORDS) for _ in range(count)])


def a_text(rng: random.Random) -> bytes:
    return "".join([sentence(rng, 9) + ".\n" for _ in range(rng.randrange(5, 200))]).encode()


def a_module(rng: random.Random) -> bytes:
    return "".join(
        [f"def {rng.choice(WORDS)}_{n}(value):\n    return value + {n}\n\n\n" for n in range(rng.randrange(2, 40))]
    ).encode()


def a_page(rng: random.Random) -> bytes:
    return "".join([f"## {sentence(rng, 3)}\n\n{sentence(rng, 60)}\n\n" for _ in range(rng.randrange(1, 12))]).encode()


def a_table(rng: random.Random) -> bytes:
    return "".join(["id,name,value\n", *[f"{n},{rng.choice(WORDS)},{rng.random():.4f}\n" for n in range(150)]]).encode()


def a_notebook(rng: random.Random) -> bytes:
    cells = [
        {"cell_type": "code", "source": f"x = {n}", "metadata": {}, "outputs": [], "execution_count": n}
        for n in range(rng.randrange(1, 8))
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def a_word_file(rng: random.Random) -> bytes:
    body = "".join([f"<w:p><w:r><w:t>{sentence(rng, 20)}</w:t></w:r></w:p>" for _ in range(rng.randrange(2, 30))])
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        'Target="word/document.xml"/></Relationships>'
    )
    return zipped(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": relations,
            "word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>",
        }
    )


def a_pdf(rng: random.Random) -> bytes:
    stream = f"BT /F1 12 Tf 50 700 Td ({sentence(rng, 12)}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    made, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj%s endobj\n" % (number, one)
    start = len(made)
    made += b"xref\n0 6\n0000000000 65535 f \n" + b"".join([b"%010d 00000 n \n" % place for place in places])
    return made + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % start


def an_image(rng: random.Random) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")

    side = 32
    rows = b"".join([b"\0" + bytes([rng.randrange(256) for _ in range(side)]) for _ in range(side)])
    header = side.to_bytes(4, "big") * 2 + b"\x08\x00\x00\x00\x00"
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def zipped(files: dict[str, str | bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return made.getvalue()


BOMB = gzip.compress(b"\0" * (200 << 20), 9, mtime=0)
MAKERS = [
    *[("text.txt", a_text)] * 24,
    *[("module.py", a_module)] * 24,
    *[("page.md", a_page)] * 16,
    *[("table.csv", a_table)] * 8,
    *[("data.json", lambda rng: json.dumps({word: rng.random() for word in WORDS}).encode())] * 8,
    *[("log.txt.gz", lambda rng: gzip.compress(a_text(rng), mtime=0))] * 3,
    *[("all.zip", lambda rng: zipped({"a.txt": a_text(rng), "b.py": a_module(rng)}))] * 2,
    *[("book.ipynb", a_notebook)] * 3,
    *[("word.docx", a_word_file)] * 3,
    *[("one.pdf", a_pdf)] * 2,
    *[("image.png", an_image)] * 2,
    ("object.bin", lambda rng: rng.randbytes(3000)),
    ("broken.pdf", lambda rng: a_pdf(rng)[: rng.randrange(20, 300)]),
    ("broken.docx", lambda rng: a_word_file(rng)[: rng.randrange(20, 600)]),
    ("broken.png", lambda rng: an_image(rng)[:60]),
    ("odd\n\x1bname.txt", a_text),
]
"""Each maker has its share of the files."""
RARE = {".env": b"SECRET=1\n", "bomb.gz": BOMB, "pipe": None}
"""Poison that only every 500th directory holds; None is a pipe."""


def make_tree(root: Path, count: int) -> dict[str, int]:
    """Make the files once. Return how many of each sort there are."""
    counts = {"made": 0, "real": 0, "denied": 0, "pipes": 0}
    rng = random.Random(1)
    real = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    for number in range(count):
        directory = root / f"{number // PER_DIRECTORY:04}"
        if not number % PER_DIRECTORY:
            directory.mkdir(parents=True, exist_ok=True)
            if not number // PER_DIRECTORY % 10:
                for name, data in RARE.items():
                    if data is None:
                        if not (directory / name).exists():
                            os.mkfifo(directory / name)
                        counts["pipes"] += 1
                    else:
                        (directory / name).write_bytes(data)
                        counts["denied" if name == ".env" else "made"] += 1
        if not number % 20:
            (directory / f"{number}-{real[number // 20 % len(real)].name}").write_bytes(
                real[number // 20 % len(real)].read_bytes()
            )
            counts["real"] += 1
            continue
        name, maker = MAKERS[rng.randrange(len(MAKERS))]
        (directory / f"{number}-{name}").write_bytes(maker(rng))
        counts["made"] += 1
    return counts


def cpu_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def sample(pid: int, seconds: dict[int, float], is_reader: bool = True) -> int:
    """Note the processor time of a process and its descendants; return their memory, each page counted once.

    A process that reads waits only for its workers, so its fork server is asked for the time of its children.
    """
    total = 0
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        seconds[pid] = sum(map(int, fields[11:13] if is_reader else fields[11:15])) / os.sysconf("SC_CLK_TCK")
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if is_reader:
                command = Path(f"/proc/{child}/cmdline").read_bytes()
                total += sample(int(child), seconds, b"spawn_main" in command)
            else:
                total += sample(int(child), {}, is_reader=False)
    except OSError:
        pass  # it ended
    return total


def run_export(root: Path, out: Path, jobs: int, kill_at: float = 0) -> dict[str, object]:
    """Run `eyespan export`; kill it when its output has this many bytes. Return its figures."""
    started = time.monotonic()
    command = [sys.executable, "-m", "eyespan", "--root", root, "export", ".", "--to", out, "--jobs", str(jobs)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    memory: list[float] = []
    seconds: dict[int, float] = {}
    part = Path(f"{out}.part")
    while process.poll() is None:
        memory.append(round(sample(process.pid, seconds) / 1e6, 1))
        time.sleep(0.5)
        if kill_at and part.exists() and part.stat().st_size > kill_at:
            os.killpg(process.pid, signal.SIGKILL)
            break
    _, errors = process.communicate()
    tenths = [memory[at * len(memory) // 10 : (at + 1) * len(memory) // 10] for at in range(10)]
    return {
        "status": process.returncode,
        "cpu_seconds": round(sum(seconds.values()), 1),
        "wall_seconds": round(time.monotonic() - started, 1),
        "memory_mb_by_tenth": [max(tenth, default=0) for tenth in tenths],
        "summary": errors.decode().strip().rpartition("\r")[2].rpartition("\n")[2],
    }


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def bare_read(paths: list[Path]) -> float:
    before = cpu_seconds()
    for path in paths:
        with path.open("rb") as file:
            file.read()
    return round(cpu_seconds() - before, 2)


def accounted(root: Path, out: Path) -> dict[str, object]:
    """Compare the sources in the output with the files on disk."""
    expected = set()
    for directory, _, names in os.walk(root):
        expected.update([os.path.relpath(os.path.join(directory, name), root) for name in names if name != ".env"])
    seen: dict[str, int] = {}
    codes: dict[str, int] = {}
    keys: set[tuple[str, str, int]] = set()
    records = 0
    with out.open("rb") as file:
        for line in file:
            row = json.loads(line)
            seen[row["source"]] = seen.get(row["source"], 0) + 1
            keys.add((row["source"], row["version"], row["part"]))
            records += 1
            if row["error_code"]:
                codes[row["error_code"]] = codes.get(row["error_code"], 0) + 1
    return {
        "files": len(expected),
        "missing": len(expected - set(seen)),
        "unexpected": len(set(seen) - expected),
        "records": records,
        "duplicates": records - len(keys),
        "errors": codes,
    }


def peer_seconds(peer: str, paths: list[Path]) -> dict[str, object]:
    """Return the processor time of a peer for these files. It gets no pipes and no bombs."""
    program = f"""\
import sys, time
{PEERS[peer]}
before, failed = time.process_time(), 0
for path in sys.stdin.read().split("\\0"):
    try:
        convert(path)
    except Exception:
        failed += 1
print(time.process_time() - before, failed)
"""
    names = "\0".join([str(path) for path in paths]).encode()
    done = subprocess.run([sys.executable, "-c", program], input=names, capture_output=True, check=False)
    if done.returncode:
        return {"peer": peer, "error": done.stderr.decode().strip().rpartition("\n")[2]}
    seconds, failed = done.stdout.split()[-2:]
    return {"peer": peer, "files": len(paths), "cpu_seconds": round(float(seconds), 2), "failed": int(failed)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--jobs", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--peer", action="append", default=[], choices=PEERS)
    parser.add_argument("--peer-files", type=int, default=1000)
    arguments = parser.parse_args()
    base = arguments.directory or Path(tempfile.mkdtemp(prefix="eyespan-bulk-"))
    root = base / "tree"
    figures: dict[str, object] = {"tree": make_tree(root, arguments.files)}
    paths = [Path(d) / n for d, _, names in sorted(os.walk(root)) for n in sorted(names) if n not in ("pipe", ".env")]
    figures["bare_read_cpu_seconds"] = min(bare_read(paths), bare_read(paths))
    figures["megabytes"] = round(sum([path.stat().st_size for path in paths]) / 1e6)
    hashes = {}
    for jobs in arguments.jobs:
        out = base / f"jobs{jobs}.jsonl"
        out.unlink(missing_ok=True)
        figures[f"export_{jobs}"] = run_export(root, out, jobs)
        hashes[f"jobs{jobs}"] = sha256(out)
        print(json.dumps(figures), file=sys.stderr, flush=True)
    whole = base / f"jobs{arguments.jobs[0]}.jsonl"
    figures["accounted"] = accounted(root, whole)
    broken = base / "broken.jsonl"
    for each in (broken, Path(f"{broken}.part"), Path(f"{broken}.resumed")):
        each.unlink(missing_ok=True)
    jobs = arguments.jobs[-1]
    size = whole.stat().st_size
    figures["killed"] = [run_export(root, broken, jobs, kill_at=size * share) for share in (0.3, 0.6)]
    figures["resumed"] = run_export(root, broken, jobs)
    hashes["resumed"] = sha256(broken)
    figures["is_identical"] = len(set(hashes.values())) == 1
    plain = [path for path in paths if "bomb" not in path.name][: arguments.peer_files]
    if arguments.peer:
        part = base / "peer.jsonl"
        part.unlink(missing_ok=True)
        sample = base / "sample"
        sample.mkdir(exist_ok=True)
        for number, path in enumerate(plain):
            if not (sample / f"{number}-{path.name}").exists():
                os.link(path, sample / f"{number}-{path.name}")
        figures["peer_files_bare"] = bare_read(plain)
        figures["peer_files_ours"] = run_export(sample, part, 1)
        figures["peers"] = [peer_seconds(peer, plain) for peer in arguments.peer]
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
