"""Fit the weights of `eyespan.tokens` to the o200k vocabulary, and write them.

    pip install bpe-openai==0.1.4 numpy scipy
    python tools/fit_token_weights.py DIR... --write             # fit to the texts below these directories
    python tools/fit_token_weights.py --measure DIR...           # measure the weights in use on other texts

Every piece of the texts is one equation: the cost by its weights should be the number of its tokens. A piece that
occurs often counts more, by `POWER`, and files of one suffix are limited, so that no language outweighs the others.
Random letters of every block of Unicode, base64 and hexadecimal digits are added, because few texts have them.

The weights in use were fitted to 700 files of each of 47 repositories in some 40 languages, and to message catalogues
in 100 languages.
"""

from __future__ import annotations

import argparse
import base64
import random
import sys
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE / "src"))

from eyespan import tokens as model  # noqa: E402  (found through the path set above)

POWER = 0.8
MOST_TIMES = 2000
ROUNDS = 220
STEP = 4
"""The weights of character groups are multiples of this, so that they compress well."""
MOST_CHARS = 40_000
LEAST_CHARS = 1500
PER_SUFFIX = 150


def texts(directories: list[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the texts below the directories, at most `PER_SUFFIX` with one suffix below each."""
    for directory in directories:
        taken: Counter[str] = Counter()
        paths = sorted(path for path in directory.rglob("*") if ".git" not in path.parts and path.is_file())
        random.Random(1).shuffle(paths)
        for path in paths:
            if taken[path.suffix] < PER_SUFFIX:
                try:
                    text = path.read_text("utf-8")[:MOST_CHARS]
                except (UnicodeDecodeError, OSError):
                    continue
                if len(text) >= LEAST_CHARS and "\0" not in text:
                    taken[path.suffix] += 1
                    yield path, text


def generated() -> Iterator[str]:
    """Yield texts that few files have."""
    chance = random.Random(9)
    for number in range(40):
        data = chance.randbytes(4000)
        yield base64.b64encode(data).decode()
        yield data.hex().upper() if number % 2 else data.hex()
    for start in range(0x80, 0x20000, 0x80):
        letters = [chr(code) for code in range(start, start + 0x80) if unicodedata.category(chr(code))[0] in "LM"]
        for _ in range(6 if letters else 0):
            yield "".join(chance.choices(letters, k=chance.randrange(2, 8)))


def fitted(pieces: Counter[str], count: Callable[[str], int]) -> bytes:
    """Return the weights with the least squared error, by gradient descent."""
    import numpy as np
    from scipy import sparse

    names = [piece for piece, times in pieces.items() if (times > 1 or len(piece) < 14) and model.places(piece)]
    starts, places = [0], []
    for piece in names:
        places += model.places(piece)
        starts.append(len(places))
    table = sparse.csr_matrix((np.ones(len(places), np.float32), places, starts), shape=(len(names), model.SIZE))
    columns = table.T.tocsr()
    wanted = np.array([count(piece) - 1 for piece in names], float)
    importance = np.minimum([pieces[piece] for piece in names], MOST_TIMES) ** POWER
    weights = np.zeros(model.SIZE)
    weights[model.BLOCKS : model.OTHER_PAIRS] = 0.5  # a character that no text has
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for number in range(1, ROUNDS + 1):
        cost = table @ weights
        error = importance * (np.maximum(cost, 0) - wanted) * ((cost > 0) | (wanted > 0))
        slope = columns @ error / importance.sum() + 1e-6 * weights
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        rate = 0.03 * (1 - number / (ROUNDS + 20))
        weights -= rate * mean / (1 - 0.9**number) / (np.sqrt(square / (1 - 0.999**number)) + 1e-9)
    return _rounded(weights)


def _rounded(weights: Any) -> bytes:
    import numpy as np

    whole = np.clip(np.round(weights * model.UNIT), -127, 127)
    whole[model.GROUPS :] = np.clip(np.round(whole[model.GROUPS :] / STEP), -8, 7) * STEP
    return bytes(whole.astype(np.int8).tobytes())


def measure(directories: list[Path], count: Callable[[str], int]) -> None:
    """Print the quantiles of the true count, relative to the estimate."""
    found = sorted(
        (count(text[:size]) / model.estimate(text[:size]), path)
        for number, (path, text) in enumerate(texts(directories))
        for size in [(3500, 8000, 18000)[number % 3]]
    )
    print(f"{len(found)} texts: tokens relative to the estimate")
    for quantile in (0, 0.01, 0.05, 0.5, 0.95, 0.99, 1):
        ratio, path = found[min(len(found) - 1, int(quantile * len(found)))]
        print(f"{quantile:5.0%} {ratio:7.3f}  {path}")


def main() -> None:
    """Fit or measure."""
    import bpe_openai

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    count = lambda text: len(encode(text))  # noqa: E731
    if not options.measure:
        pieces: Counter[str] = Counter()
        for _, text in texts(options.directory):
            pieces.update(model.piece_pattern().findall(text))
        for text in generated():
            pieces.update(model.piece_pattern().findall(text))
        weights = fitted(pieces, count)
        if options.write:
            (HERE / "src/eyespan.tokens.bin").write_bytes(zlib.compress(weights, 9))
        model._weights = memoryview(weights).cast("b")
    measure(options.directory, count)


if __name__ == "__main__":
    main()
