"""The files that `fault_sweep` and `cold_start` read."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import subprocess
import tarfile
import zipfile
from base64 import b64encode
from pathlib import Path

import zstandard
from PIL import Image

SECRET = b"not to be read\n"


def make(directory: Path) -> None:
    """Make the tree: `root` is the workspace; nothing beside it may appear in an answer."""
    root = directory / "root"
    (root / "directory").mkdir(parents=True)
    (root / "denied").mkdir()
    (directory / "outside").mkdir()
    (directory / "outside/secret.txt").write_bytes(SECRET)
    (root / "denied/secret.txt").write_bytes(SECRET)
    (root / "directory/small.txt").write_bytes("".join(f"line {n} — ünï\n" for n in range(1, 31)).encode())
    (root / "directory/medium.txt").write_bytes(b"".join(b"medium line %d of the file\n" % n for n in range(1, 2501)))
    (root / "directory/code.py").write_text(
        "".join(f"def f{n}(x):\n    if x:\n        return {n}\n\n" for n in range(20))
    )
    (root / "directory/code.c").write_text("".join(f"int f{n}(int x) {{\n    return {n};\n}}\n" for n in range(20)))
    (root / "directory/binary").write_bytes(bytes(range(256)) * 300)
    (root / "large.txt").write_bytes(
        b"".join(b"%08d a line of the large file, as long as any other\n" % n for n in range(150_000))
    )
    (root / "wide.txt").write_bytes(
        "\ufeff".encode("utf-16-le") + "".join(f"wide {n} ☃\n" for n in range(20_000)).encode("utf-16-le")
    )
    (root / "table.csv").write_text("a,b\n" + "".join(f"{n},{n * n}\n" for n in range(100)))
    (root / "link").symlink_to("directory/small.txt")
    (root / "absolute").symlink_to(root / "directory/small.txt")
    (root / "way").symlink_to(root / "directory")
    (root / "out").symlink_to(directory / "outside/secret.txt")
    (root / "innocent").symlink_to("denied/secret.txt")
    os.mkfifo(root / "pipe")
    text = b"".join(b"inner line %d\n" % n for n in range(1, 301))
    with zipfile.ZipFile(root / "pack.zip", "w", zipfile.ZIP_DEFLATED) as pack:
        pack.writestr("inner/one.txt", text)
        pack.writestr("inner/two.txt", b"two\n")
        pack.writestr("image.png", _image())
    with tarfile.open(root / "pack.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo("inner/one.txt")
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text))
    (root / "text.gz").write_bytes(gzip.compress(text, mtime=0))
    (root / "text.bz2").write_bytes(bz2.compress(text))
    (root / "text.xz").write_bytes(lzma.compress(text))
    (root / "text.zst").write_bytes(zstandard.compress(text))
    (root / "latin.txt").write_bytes("Größe, Übermut und Straße, naïve café, señor\n".encode("latin-1") * 40)
    _documents(root)
    _repository(root / "repository")


def _image() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), (200, 30, 60)).save(buffer, "PNG")
    return buffer.getvalue()


def _documents(root: Path) -> None:
    (root / "image.png").write_bytes(_image())
    Image.new("RGB", (200, 100), "white").save(root / "pages.pdf", "PDF")
    cells = [{"cell_type": "code", "source": f"print({n})", "metadata": {}, "outputs": []} for n in range(30)]
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    (root / "book.ipynb").write_text(json.dumps(book))
    drawn = {"output_type": "display_data", "metadata": {}, "data": {"image/png": b64encode(_image()).decode()}}
    book["cells"] = [{**cells[0], "outputs": [drawn]}]
    (root / "drawn.ipynb").write_text(json.dumps(book))


def _repository(directory: Path) -> None:
    """Make two commits, the first in a pack. Without git, make nothing."""
    if shutil.which("git") is None:
        return
    directory.mkdir()
    who = {f"GIT_{role}_{field}": "a" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments):
        subprocess.run(["git", *arguments], cwd=directory, env=environment, check=True, capture_output=True)

    git("init", "-q")
    (directory / "file.txt").write_text("as it was\n" * 50)
    (directory / "packed.txt").write_text("packed\n" * 500)
    git("add", ".")
    git("commit", "-q", "-m", "one")
    git("tag", "v1")
    git("gc", "-q")
    (directory / "file.txt").write_text("as it is\n" * 50)
    git("add", ".")
    git("commit", "-q", "-m", "two")
