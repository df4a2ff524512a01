"""eyespan as its users get it: built from this checkout and installed in an environment of its own.

An editable install would add what the development environment loads at start to every figure.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
WATCHED = ("src/**/*.py", "src/**/*.c", "pyproject.toml", "hatch_build.py")


def install(cache: Path) -> Path:
    """The environment that holds this checkout's eyespan; made anew when the sources have changed."""
    place = cache / "eyespan"
    mark = place / ".sources"
    wanted = _sources()
    if mark.exists() and mark.read_text() == wanted:
        return place
    if not (place / "bin" / "python").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
    mark.unlink(missing_ok=True)
    # A copy, because building in place would replace the accelerator that the development environment has loaded.
    copy = cache / "checkout"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    for name in ("src", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        elif source.exists():
            shutil.copy(source, copy / name)
    # An old pip writes a command that imports `re`, half as long again as Python takes to start.
    subprocess.run([place / "bin" / "python", *PIP, "--upgrade", "pip"], check=True)
    subprocess.run([place / "bin" / "python", *PIP, "--force-reinstall", "--no-deps", copy], check=True)
    shutil.rmtree(copy)
    mark.write_text(wanted)
    return place


def _sources() -> str:
    """A digest of everything that the build depends on, this Python included."""
    digest = hashlib.sha256(sys.version.encode())
    for pattern in WATCHED:
        for path in sorted(CHECKOUT.glob(pattern)):
            digest.update(str(path.relative_to(CHECKOUT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def revision() -> str:
    """The commit that is measured; marked where the sources differ from it."""
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
