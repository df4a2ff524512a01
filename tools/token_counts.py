"""Compare `eyespan.tokens` with the o200k vocabulary, and write the table of its test.

    pip install bpe-openai==0.1.4                      # carries the vocabulary; needs no network afterwards
    python tools/token_counts.py                       # print the error of the estimate for each corpus
    python tools/token_counts.py --write               # also write tests/token_counts/counts.json

Corpora: the files in tests/token_counts/corpus and tests/outline/fixtures, the logs of
tests/token_counts/generated_texts.py and the standard library of the Python that runs this.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE / "src"), str(HERE)]

from eyespan import tokens  # noqa: E402  (found through the path set above)

TABLE = HERE / "tests" / "token_counts" / "counts.json"
MOST_CHARS = 24_000
Sample = tuple[str, str, str]
"""Corpus, name, text."""


def samples() -> Iterator[Sample]:
    """Yield every text whose true count the test knows."""
    from tests.token_counts.generated_texts import GENERATED

    for path in sorted((HERE / "tests" / "token_counts" / "corpus").iterdir()):
        yield path.stem.split("-")[0], path.name, path.read_text("utf-8")
    for path in sorted((HERE / "tests" / "outline" / "fixtures").glob("*")):
        yield "code", path.name, path.read_text("utf-8")
    for name, make in GENERATED.items():
        yield "logs", name, make()
    yield from stdlib()


def stdlib() -> Iterator[Sample]:
    """Yield every ninth module of the standard library."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    left_out = ("site-packages", "test", "tests", "idlelib", "lib2to3", "pydoc_data", "__pycache__", "config")
    paths = [p for p in sorted(folder.rglob("*.py")) if not p.relative_to(folder).parts[0].startswith(left_out)]
    for path in paths[::9]:
        text = path.read_text("utf-8", "replace")
        if len(text) > 1000:
            yield "stdlib", path.relative_to(folder).as_posix(), text[:MOST_CHARS]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def report(rows: list[tuple[str, str, int, int]]) -> None:
    corpora: dict[str, list[tuple[int, int]]] = {}
    for corpus, _, guess, true in rows:
        corpora.setdefault(corpus, []).append((guess, true))
    print(f"{'corpus':16}{'files':>6}{'tokens':>9}{'off by':>8}{'median':>8}{'worst':>8}")
    for corpus, pairs in corpora.items():
        true = sum(t for _, t in pairs)
        off = sum(g for g, _ in pairs) / true - 1
        errors = sorted(abs(g / t - 1) for g, t in pairs)
        print(f"{corpus:16}{len(pairs):6}{true:9}{off:8.1%}{errors[len(errors) // 2]:8.1%}{errors[-1]:8.1%}")


def true_counter() -> Callable[[str], int]:
    try:
        import bpe_openai
    except ImportError:
        sys.exit("this needs the vocabulary: pip install bpe-openai==0.1.4")
    encoding = bpe_openai.get_encoding("o200k_base")
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    count = true_counter()
    known = list(samples())
    counts = [(corpus, name, text, count(text)) for corpus, name, text in known]
    if options.write:
        table = {digest(text): [corpus, name, true] for corpus, name, text, true in counts}
        head = {"vocabulary": "o200k_base", "made_with": "tools/token_counts.py and bpe-openai 0.1.4"}
        rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in table.items())
        TABLE.write_text(f'{json.dumps(head)[:-1]}, "counts": {{\n{rows}\n}}}}\n')
    report([(corpus, name, tokens.estimate(text), true) for corpus, name, text, true in counts])


if __name__ == "__main__":
    main()
