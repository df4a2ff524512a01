"""Real hosts as processes, without the settings of this user and without access to other machines."""

from __future__ import annotations

import os
import subprocess

BIN = os.environ.get("EYESPAN_HOSTS_BIN", "")
"""The directory of the hosts' programs; tools/hosts.sh sets it."""
UV = os.environ.get("EYESPAN_HOSTS_UV", "")
"""The program uv; tools/hosts.sh sets it."""


def run(arguments, project, home, **environment):
    """Run a host without settings, keys and servers of this user, and with loopback as its only network."""
    proxies = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        arguments,
        cwd=project,
        env={"PATH": os.pathsep.join([BIN, os.environ["PATH"]]), "HOME": str(home), **proxies, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def run_claude_code(options, project, home, model, config, **environment):
    """Ask Claude Code to read files, with a fake model and the servers of one file alone."""
    ours = ["--mcp-config", str(config), "--strict-mcp-config"]
    out = run(
        ["claude", "-p", "read them", *ours, *options],
        project,
        home,
        CLAUDE_CONFIG_DIR=f"{home}/config",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        ANTHROPIC_BASE_URL=model.url,
        ANTHROPIC_API_KEY="dummy",
        IS_SANDBOX="1",
        **environment,
    )
    assert out.strip() == "done"


def anthropic_blocks(content):
    """Return the blocks of a result without those that Claude Code adds: where it keeps a copy of an image."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [block for block in blocks if not block.get("text", "").startswith("[Image: source: ")]
