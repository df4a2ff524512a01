"""Install eyespan as its users do: built from this checkout, in a separate environment.

An editable install would add the start-up cost of the development environment to every figure.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
WATCHED = ("src/**/*.py", "src/**/*.c", "pyproject.toml", "constraints.txt", "hatch_build.py", "bench/install.py")


def install(cache: Path) -> Path:
    """Return the environment with eyespan of this checkout; make it again if the sources have changed."""
    place = cache / "eyespan"
    mark = place / ".sources"
    wanted = _sources()
    if mark.exists() and mark.read_text() == wanted:
        return place
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    # A copy: building in place would replace the accelerator that the development environment has loaded.
    copy = cache / "checkout"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    for name in ("src", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        elif source.exists():
            shutil.copy(source, copy / name)
    # The command that an old pip writes imports `re`, which takes half as long as the start of Python.
    subprocess.run([place / "bin" / "python", *PIP, "--upgrade", "pip"], check=True)
    subprocess.run([place / "bin" / "python", *PIP, "-c", CHECKOUT / "constraints.txt", copy], check=True)
    shutil.rmtree(copy)
    mark.write_text(wanted)
    return place


def _sources() -> str:
    """Return a digest of everything that the build depends on, this Python included."""
    digest = hashlib.sha256(sys.version.encode())
    for pattern in WATCHED:
        for path in sorted(CHECKOUT.glob(pattern)):
            digest.update(str(path.relative_to(CHECKOUT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def revision() -> str:
    """Return the commit that is measured, with a suffix if the sources differ from it."""
    try:
        commit = subprocess.run(
            ["git", "-C", CHECKOUT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            ["git", "-C", CHECKOUT, "status", "--porcelain", "--", "src"], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit} with changes" if changed else commit
