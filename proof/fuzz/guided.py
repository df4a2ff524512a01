"""Run a target under atheris (libFuzzer): inputs that reach new code are kept and damaged further.

atheris is not a dependency: `pip install atheris`. It takes over the process and ends it, so it gets a separate one.
It keeps inputs in the directory of the corpus, and other runs start from them.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import NoReturn

from proof.fuzz.target import Target


def main(target_name: str, choose, *, runs: int, seconds: int, seed: int, corpus: Path, findings: Path) -> NoReturn:
    """Run until libFuzzer ends the process, with status 0 if nothing was found."""
    import atheris

    with atheris.instrument_imports(include=["eyespan"], enable_loader_override=False):
        target: Target = choose(target_name)
        target.open()
        target.check(target.seeds()[0])  # imports everything that is imported on first use
    seeds = target.seeds()
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(data)

    def mutate(data: bytes, most: int, number: int) -> bytes:
        dice = random.Random(number)
        if dice.random() < 0.3:
            return atheris.Mutate(data, most)
        return target.mutate(dice, data, dice.choice(seeds))[:most]

    def crossed(data: bytes, other: bytes, most: int, number: int) -> bytes:
        dice = random.Random(number)
        return target.mutate(dice, data, other)[:most]

    options = [
        "fuzz",
        f"-runs={runs}",
        f"-seed={seed + 1}",
        f"-max_total_time={seconds}",
        f"-timeout={int(target.deadline_seconds)}",
        "-max_len=65536",
        "-rss_limit_mb=2048",
        f"-artifact_prefix={findings}/{target.name}-",
        "-print_final_stats=1",
        str(corpus),
    ]
    atheris.Setup(options, target.check, custom_mutator=mutate, custom_crossover=crossed)
    atheris.Fuzz()
    raise AssertionError("libFuzzer returned")
