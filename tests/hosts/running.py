"""Real hosts as processes: nothing of this machine's user reaches them, and nothing of them leaves the machine."""

from __future__ import annotations

import os
import subprocess

BIN = os.environ.get("EYESPAN_HOSTS_BIN", "")
"""The folder of the hosts' programs; tools/hosts.sh sets it."""
UV = os.environ.get("EYESPAN_HOSTS_UV", "")
"""The program uv; likewise."""


def run(arguments, project, home, **environment):
    """Runs a host with nothing of this machine's user: no settings, no keys, no other server, no way off loopback."""
    nowhere = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        arguments,
        cwd=project,
        env={"PATH": os.pathsep.join([BIN, os.environ["PATH"]]), "HOME": str(home), **nowhere, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
