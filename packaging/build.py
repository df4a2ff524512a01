"""Build and check what is published: `make dist`, or `python packaging/build.py [DIRECTORY]`.

    sdist              complete: `make run` and `make test` work in it
    abi3 wheels        manylinux and musllinux, x86-64 and ARM64, cross-compiled with the compiler of the ziglang wheel
    pure wheel         for every other system
    eyespan-mcp        sdist and wheel

Each file is checked by twine, check-wheel-contents and abi3audit; the wheels of this machine's type are installed in a
new environment and read a file. The tools are installed in build/dist-venv.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "build" / "dist-venv"
PINS = ROOT / "packaging" / "tools.txt"
"""The version of each tool and of what it needs, with the hashes of their files."""
TARGETS = {
    "manylinux_2_17_x86_64.manylinux2014_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64.manylinux2014_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
}
"""The C compiler's target by platform tag."""


def main(arguments: list[str]) -> int:
    """Build everything into a directory and check it. Returns 0, or raises CalledProcessError."""
    if arguments and arguments[0].startswith("-"):
        print(__doc__, end="")
        return 0 if arguments[0] in ("-h", "--help") else 2
    out = Path(arguments[0] if arguments else ROOT / "dist").resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    python = _tools()
    module = ROOT / "src" / "eyespan" / "_native" / "_fast.abi3.so"
    kept = module.read_bytes() if module.exists() else None
    try:
        _step("source archive")
        _build(python, ROOT, out, "--sdist")
        for tag, target in TARGETS.items():
            _step(f"wheel for {tag}")
            compiler = f"{python} -m ziglang cc -target {target}"
            _build(python, ROOT, out, "--wheel", CC=compiler, EYESPAN_PLATFORM=tag, LDFLAGS="-s")
        _step("pure wheel")
        _build(python, ROOT, out, "--wheel", EYESPAN_PURE="1")
    finally:
        if kept is not None:
            module.write_bytes(kept)  # a build for another machine replaced it
    _step("eyespan-mcp")
    _build(python, ROOT / "packaging" / "eyespan-mcp", out, "--sdist", "--wheel")
    _check(python, out)
    _try(out)
    for file in sorted(out.iterdir()):
        print(f"{file.stat().st_size:>10,}  {file.name}")
    return 0


def _tools() -> Path:
    python = TOOLS / "bin" / "python"
    if not python.exists():
        _step("build tools")
        venv.create(TOOLS, with_pip=True)
        _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", PINS)
    return python


def _build(python: Path, source: Path, out: Path, *what: str, **environment: str) -> None:
    _run(python, "-m", "build", "--no-isolation", "--outdir", out, *what, source, **environment)


def _check(python: Path, out: Path) -> None:
    files = sorted(out.iterdir())
    wheels = [file for file in files if file.suffix == ".whl"]
    compiled = [wheel for wheel in wheels if "abi3" in wheel.name]
    expected = len(TARGETS)
    if len(compiled) != expected:
        raise SystemExit(f"{expected} compiled wheels expected, {len(compiled)} built: a compiler failed, see above")
    _step("checks")
    _run(python, "-m", "twine", "check", "--strict", *files)
    _run(TOOLS / "bin" / "check-wheel-contents", *wheels)
    for wheel in compiled:
        _run(TOOLS / "bin" / "abi3audit", "--strict", wheel)


def _try(out: Path) -> None:
    """Install the wheel of this machine in a new environment, and read a file with it."""
    if sys.platform != "linux":
        return
    libc = "manylinux" if platform.libc_ver()[0] == "glibc" else "musllinux"
    wheel = next(file for file in out.iterdir() if libc in file.name and platform.machine() in file.name)
    _step(f"try {wheel.name}")
    trial = ROOT / "build" / "dist-trial"
    shutil.rmtree(trial, ignore_errors=True)
    venv.create(trial, with_pip=True)
    mcp = next(out.glob("eyespan_mcp-*.whl"))
    _run(trial / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, mcp)
    _run(trial / "bin" / "eyespan", "read", ROOT / "README.md:1")
    _run(trial / "bin" / "python", "-c", "from eyespan._native import BACKEND; assert BACKEND == 'c', BACKEND")


def _step(text: str) -> None:
    print(f"== {text}", flush=True)


def _run(*command: object, **environment: str) -> None:
    subprocess.run([str(word) for word in command], check=True, env={**os.environ, **environment}, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
