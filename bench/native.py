"""Compare C with Python: every primitive of `_native` in both backends, interleaved in one run.

    python bench/native.py [rounds]

Prints the best time of each backend and their ratio; on a shared machine only the ratio means anything.
"""

import sys
from time import perf_counter

from eyespan._native import _fast, pure

SOURCE = b"".join(b"    value_%d = compute(%d, mode)  # step\n" % (i, i * 7) for i in range(2000))
LOG = b"".join(
    b"2025-01-01T00:00:%02d.%06d INFO worker-%d " % (i % 60, i, i % 8) + b"x" * 60 + b"\n" for i in range(2000)
)
MIXED = b"".join(
    b"    name_%d = " % i + ("Größe → ok" if i % 4 == 0 else "plain ascii text").encode() + b"\n" for i in range(2000)
)
CRLF = SOURCE.replace(b"\n", b"\r\n")
LONG = b"".join(b"%d " % i + b"y" * 3000 + b"\n" for i in range(200))

CODEX = {"lead": "L", "mark": ": ", "max_bytes": 500}
CLAUDE = {"width": 6, "max_chars": 2000}
FORGE = {"mark": ":", "keep_ends": True}


def cases():
    block = (SOURCE * 20)[: 1 << 20]
    small = block[:65536]
    lines, small_lines = pure.count(block), pure.count(small)
    yield "count, 1 MiB source", lambda b: b.count(block)
    yield "count, 4 KiB", lambda b: b.count(block, 0, 4096)
    yield "nth, middle of 1 MiB", lambda b: b.nth(block, lines // 2)
    yield "nth, last of 64 KiB", lambda b: b.nth(small, small_lines)
    for style_name, style in (("codex", CODEX), ("claude", CLAUDE), ("forge", FORGE)):
        for name, data in (("source", SOURCE), ("log", LOG), ("mixed", MIXED), ("crlf", CRLF), ("long", LONG)):
            yield (
                f"number, {style_name}, {name} {len(data) >> 10} KB",
                lambda b, d=data, s=style: b.number(d, 1000, **s),
            )
    few = SOURCE[: pure.nth(SOURCE, 200)]
    yield "number, codex, 200 lines", lambda b: b.number(few, 1, **CODEX)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    todo = list(cases())
    best = {(name, b): float("inf") for name, _ in todo for b in (_fast, pure)}
    for _ in range(rounds):
        for name, call in todo:
            for backend in (_fast, pure):
                start = perf_counter()
                call(backend)
                best[name, backend] = min(best[name, backend], perf_counter() - start)
    print(f"{'':36}{'C us':>10}{'Python us':>12}{'ratio':>8}   best of {rounds}")
    for name, _ in todo:
        fast, slow = best[name, _fast] * 1e6, best[name, pure] * 1e6
        print(f"{name:36}{fast:10.1f}{slow:12.1f}{slow / fast:7.1f}x")


if __name__ == "__main__":
    main()
