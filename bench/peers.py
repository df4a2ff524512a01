"""The read tools that eyespan is compared with: their sources and their installation.

Everything is below one directory outside the checkout, one directory for each peer, at the version named here, so that
a second run installs nothing. A peer that cannot be installed is reported with the reason and named in the results.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

INSTALL_SECONDS = 900


class Peer(NamedTuple):
    """One peer: `source` is npm or pip, `needs` the oldest Python it runs on, `probe` a file that an install has."""

    name: str
    source: str
    packages: tuple[str, ...]
    probe: str
    needs: tuple[int, int] = (3, 11)
    overrides: dict[str, str] = {}

    @property
    def version(self) -> str:
        return self.packages[0].rpartition("@" if self.source == "npm" else "==")[2]


PEERS = (
    Peer(
        "server-filesystem",
        "npm",
        ("@modelcontextprotocol/server-filesystem@2026.8.31",),
        "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
    ),
    Peer(
        "desktop-commander",
        "npm",
        ("@wonderwhy-er/desktop-commander@0.2.52",),
        "node_modules/@wonderwhy-er/desktop-commander/dist/index.js",
        # One of its dependencies asks for a version that was never published.
        overrides={"typedarray.prototype.slice": "1.0.5"},
    ),
    Peer(
        "gemini-cli-core",
        "npm",
        ("@google/gemini-cli-core@0.61.0",),
        "node_modules/@google/gemini-cli-core/dist/src/tools/read-file.js",
    ),
    Peer(
        "pi-coding-agent",
        "npm",
        ("@earendil-works/pi-coding-agent@0.87.1",),
        "node_modules/@earendil-works/pi-coding-agent/dist/core/tools/read.js",
    ),
    Peer(
        "openhands-tools",
        "pip",
        ("openhands-tools==1.58.0", "openhands-sdk==1.58.0"),
        "bin/python",
        needs=(3, 12),
    ),
    Peer("kimi-cli", "pip", ("kimi-cli==1.52.0",), "bin/python", needs=(3, 12)),
    Peer("deepagents", "pip", ("deepagents==0.7.32",), "bin/python"),
    Peer("langchain-community", "pip", ("langchain-community==0.4.2",), "bin/python"),
    Peer("strands-agents-tools", "pip", ("strands-agents-tools==0.8.10", "strands-agents"), "bin/python"),
)


def place(cache: Path, peer: Peer) -> Path:
    """Return the directory of a peer; its name contains the version, so another version is another install."""
    return cache / "peers" / f"{peer.name}-{peer.version}"


def installed(cache: Path, peer: Peer) -> bool:
    return (place(cache, peer) / ".done").exists() and (place(cache, peer) / peer.probe).exists()


def install(cache: Path, peer: Peer) -> str:
    """Install one peer and return the reason if that fails, else ""."""
    if installed(cache, peer):
        return ""
    directory = place(cache, peer)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        problem = _npm(directory, peer) if peer.source == "npm" else _pip(directory, peer)
    except subprocess.TimeoutExpired:
        problem = f"the install took longer than {INSTALL_SECONDS} s"
    except OSError as error:
        problem = str(error)
    if not problem and not (directory / peer.probe).exists():
        problem = f"the package has no {peer.probe}"
    if problem:
        shutil.rmtree(directory, ignore_errors=True)
        return problem
    (directory / ".done").write_text("\n".join(peer.packages) + "\n")
    return ""


def _npm(directory: Path, peer: Peer) -> str:
    if shutil.which("npm") is None:
        return "npm is not installed"
    (directory / "package.json").write_text(json.dumps({"private": True, "overrides": peer.overrides}))
    # No install scripts: they download binaries and run code, and none of these readers needs them.
    return _run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *peer.packages], directory)


def _pip(directory: Path, peer: Peer) -> str:
    python = find_python(peer.needs)
    if python is None:
        return f"needs Python {peer.needs[0]}.{peer.needs[1]} or later"
    return _run([python, "-m", "venv", "."], directory) or _run(
        ["bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.packages], directory
    )


def _run(command: list[str], directory: Path) -> str:
    done = subprocess.run(
        command, cwd=directory, capture_output=True, text=True, errors="replace", timeout=INSTALL_SECONDS
    )
    if done.returncode == 0:
        return ""
    lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
    return f"{command[0]} failed: {' '.join(lines[-3:])}"[:400]


def find_python(needs: tuple[int, int]) -> str | None:
    """Return a Python of at least this version: this one, one on the path, or one of pyenv."""
    if sys.version_info[:2] >= needs:
        return sys.executable
    names = [f"python3.{minor}" for minor in range(needs[1], needs[1] + 4)]
    found = [shutil.which(name) for name in names]
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found += [str(python) for python in sorted(kept.glob("3.*/bin/python"))]
    check = f"import sys, venv; sys.exit(sys.version_info[:2] < {needs!r})"
    for python in found:
        if python and subprocess.run([python, "-c", check], capture_output=True).returncode == 0:
            return python
    return None


def cache_folder() -> Path:
    """Return the directory of peers and data: outside the checkout, shared by all runs of this user."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "eyespan", "bench")


def main() -> int:
    """Install every peer, one after the other."""
    cache = cache_folder()
    missing = 0
    for peer in PEERS:
        problem = install(cache, peer)
        missing += bool(problem)
        print(f"{peer.name} {peer.version}: {problem or 'installed'}", flush=True)
    return missing


if __name__ == "__main__":
    sys.exit(main())
