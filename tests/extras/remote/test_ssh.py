"""`ssh host eyespan serve` as the command of an MCP client, with a real sshd on this machine."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time

import pytest

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
TOOLS = [SSHD, shutil.which("ssh"), shutil.which("ssh-keygen")]

pytestmark = pytest.mark.skipif(
    not all(TOOLS) or os.geteuid() != 0,
    reason="needs openssh-server and openssh-client, and root to start sshd",
)


@pytest.fixture
def ssh(tmp_path):
    """The words of an ssh command that reaches an sshd of this test."""
    tmp_path.chmod(0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": tmp_path / "host",
        "AuthorizedKeysFile": tmp_path / "user.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "PermitRootLogin": "prohibit-password",
    }
    (tmp_path / "sshd_config").write_text("".join([f"{name} {value}\n" for name, value in settings.items()]))
    os.makedirs("/run/sshd", exist_ok=True)
    assert SSHD is not None
    log = (tmp_path / "sshd.log").open("wb")
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(tmp_path / "sshd_config")], stderr=log)
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    options = ["-F", "none", "-i", str(tmp_path / "user"), "-o", "StrictHostKeyChecking=no"]
    options += ["-o", f"UserKnownHostsFile={tmp_path / 'known'}", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes"]
    yield ["ssh", *options, "-p", str(port), f"{getpass.getuser()}@127.0.0.1"]
    server.terminate()
    server.wait()
    log.close()


def test_a_server_on_another_machine_is_started_over_ssh(ssh, tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    (root / ".env").write_text("KEY=1\n")
    remote = [sys.executable, "-m", "eyespan", "--root", str(root), "serve"]
    process = subprocess.Popen(
        [*ssh, *remote], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(number, method, params):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, process.stderr.read()
        return json.loads(line)["result"]

    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    assert ask(1, "initialize", client)["serverInfo"]["name"] == "eyespan"
    process.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    (tool,) = ask(2, "tools/list", {})["tools"]
    read = ask(3, "tools/call", {"name": tool["name"], "arguments": {"files": ["a.txt"]}})
    denied = ask(4, "tools/call", {"name": tool["name"], "arguments": {"files": [".env"]}})
    process.stdin.close()

    assert "two" in read["content"][0]["text"]
    assert denied["isError"]
    assert "KEY" not in denied["content"][0]["text"]
    assert process.wait(timeout=60) == 0
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()
