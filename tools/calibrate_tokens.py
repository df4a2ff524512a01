"""Compare `eyespan.tokens` with the o200k vocabulary, write the table of its test, and fit its weights.

    pip install bpe-openai==0.1.4                      # carries the vocabulary; needs no network afterwards
    python tools/calibrate_tokens.py                   # print the error of the estimate for each corpus
    python tools/calibrate_tokens.py --write           # also write tests/token_counts/counts.json
    python tools/calibrate_tokens.py --fit DIR...      # also print weights fitted to these directories of text

Corpora: the files in tests/token_counts/corpus and tests/outline/fixtures, the logs of
tests/token_counts/generated_texts.py and the standard library of the Python that runs this. Each subdirectory of a
given directory is one more corpus.

The weights in use were fitted with directories made of Debian 12 packages (C headers, JavaScript, TypeScript, Go, Rust,
shell, CSS, HTML, YAML, README files, manual pages in seven languages, a handbook in thirteen, collections of sayings),
the message catalogues of Django 5.2 in eighteen languages and the Universal Declaration of Human Rights in thirteen.
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
PROMISED = ("prose", "cjk", "logs", "russian")
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


def folder_samples(folder: Path) -> Iterator[Sample]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_text("utf-8", "replace")[:MOST_CHARS]
            if len(text) > 300:
                yield path.relative_to(folder).parts[0], path.name, text


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def fitted(rows: list[tuple[str, dict[bytes, int], int]], rounds: int = 3000) -> dict[bytes, int]:
    """Return the weights with the least squared relative error, by coordinate descent.

    Each corpus counts about the same, however many files it has; the ones with a promised error count double. Bounds
    keep each weight plausible: a single character hardly ever costs more than a token, a pair of characters at most
    1.6, and neither is free.
    """
    names = [*tokens.WEIGHTS, *tokens.OTHER_WEIGHTS]
    sizes: dict[str, int] = {}
    for corpus, _, _ in rows:
        sizes[corpus] = sizes.get(corpus, 0) + 1
    columns = {name: [0.0] * len(rows) for name in names}
    wanted = []
    for number, (corpus, found, true) in enumerate(rows):
        weight = min(3.0, (12 / sizes[corpus]) ** 0.5) * (2 if corpus.split("-")[0] in PROMISED else 1)
        wanted.append(weight)
        for name in names:
            columns[name][number] = found.get(name, 0) / true * weight
    products = {a: {b: sum(map(float.__mul__, columns[a], columns[b])) for b in names} for a in names}
    goals = {a: sum(map(float.__mul__, columns[a], wanted)) for a in names}
    most = {name: 1.6 if len(name) > 1 else 2.4 if name in b"EL" else 0.3 if name == b"t" else 1.0 for name in names}
    least = {name: 0.0 if len(name) > 1 else 0.01 if name == b" " else 0.1 for name in names}
    chosen = dict(least)
    for _ in range(rounds):
        for a in names:
            own = products[a][a]
            if own > 1e-9:
                row = products[a]
                rest = sum(row[b] * chosen[b] for b in names) - own * chosen[a]
                chosen[a] = min(most[a], max(least[a], (goals[a] - rest) / own))
    return {name: round(1000 * value) for name, value in chosen.items()}


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
    parser.add_argument("--fit", nargs="*", metavar="FOLDER", type=Path)
    options = parser.parse_args()
    count = true_counter()
    known = list(samples())
    counts = [(corpus, name, text, count(text)) for corpus, name, text in known]
    if options.write:
        table = {digest(text): [corpus, name, true] for corpus, name, text, true in counts}
        head = {"vocabulary": "o200k_base", "made_with": "tools/calibrate_tokens.py and bpe-openai 0.1.4"}
        rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in table.items())
        TABLE.write_text(f'{json.dumps(head)[:-1]}, "counts": {{\n{rows}\n}}}}\n')
    if options.fit is not None:
        more = [(c, n, t, count(t)) for folder in options.fit for c, n, t in folder_samples(folder)]
        counts += more
        made = fitted([(corpus, tokens.features(text), true) for corpus, _, text, true in counts if true])
        for name in ("WEIGHTS", "OTHER_WEIGHTS"):
            print(f"{name} =", {key: made[key] for key in getattr(tokens, name) if made[key]})
        tokens._ALL_WEIGHTS.update(made)
    report([(corpus, name, tokens.estimate(text), true) for corpus, name, text, true in counts])


if __name__ == "__main__":
    main()
