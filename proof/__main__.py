"""Run one proof: `python -m proof NAME [options]`; without a name, list the proofs."""

from __future__ import annotations

import sys
from importlib import import_module

PROOFS = {
    "exact": (
        "proof.exact.command",
        "read 10,000 odd files to their end in every dialect and compare them with the disk",
    ),
    "load": ("proof.load.command", "run the HTTP server with 64 clients, some hostile, and compare every answer"),
    "bombs": ("proof.bombs.command", "read small bombs in every dialect and over HTTP, and measure memory and time"),
    "stores": ("proof.hostile_stores", "read from stores that answer with bombs, and measure memory and time"),
    "cap": ("proof.cap", "read files of 1 KB to 1 GB in every dialect of a server, and count each answer as hosts do"),
    "promises": ("proof.promises", "measure the figures promised in docs/security.md"),
    "fuzz": ("proof.fuzz.command", "feed damaged inputs to every parser and check every answer"),
    "sanitizers": ("proof.sanitizers", "run the tests of the C accelerator under AddressSanitizer and UBSan"),
    "mutate": ("proof.mutate.command", "insert deliberate defects, one at a time, and check that a test fails"),
    "originals": ("proof.originals.command", "compare dialects with the programs that they follow, on random calls"),
    "coverage": ("proof.coverage.command", "measure the lines and branches that the tests of the core run"),
}


def main(argv: list[str]) -> int:
    if not argv or argv[0] not in PROOFS:
        print("usage: python -m proof NAME [options]\n", file=sys.stderr)
        for name, (_, purpose) in PROOFS.items():
            print(f"  {name:<11} {purpose}", file=sys.stderr)
        return 2
    module = import_module(PROOFS[argv[0]][0])
    sys.argv[0] = f"python -m proof {argv[0]}"
    status: int = module.main(argv[1:])
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
