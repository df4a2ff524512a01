"""Servers of buckets that the tests start: our own, and the real ones that `make remote` installs."""

from __future__ import annotations

import base64
import hmac
import http.client
import importlib.util
import logging
import os
import socket
import subprocess
import tempfile
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .bucket_server import BUCKET, BucketServer


class Own:
    """Our own server."""

    scheme = "s3"

    def __init__(self) -> None:
        self._server = BucketServer(self.scheme)
        self.environment = self._server.environment
        self.url = self._server.root

    def put(self, key: str, body: bytes) -> None:
        self._server.files[key] = body
        self._server.etags[key] = f'"{hash(body):x}"'

    def page(self, size: int) -> None:
        """Set the number of names in one answer."""
        self._server.page_size = size

    def fail_with(self, fault) -> None:
        """Answer the next request with a fault."""
        self._server.faults = [fault]

    def close(self) -> None:
        self._server.close()


class OwnGoogle(Own):
    """Our own server, with the XML interface of Google."""

    scheme = "gs"


class OwnAzure(Own):
    """Our own server, with the interface of Azure."""

    scheme = "az"


class Moto:
    """S3 by moto."""

    def __init__(self) -> None:
        import boto3
        from moto.server import ThreadedMotoServer

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.environment = {
            "AWS_ENDPOINT": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "word-of-the-host",
            "AWS_REGION": "us-east-1",
        }
        self._client = boto3.client(
            "s3",
            endpoint_url=self.environment["AWS_ENDPOINT"],
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="word-of-the-host",
        )
        self._client.create_bucket(Bucket=BUCKET)
        self.url = f"s3://{BUCKET}"

    def put(self, key: str, body: bytes) -> None:
        self._client.put_object(Bucket=BUCKET, Key=key, Body=body, ACL="public-read")

    def close(self) -> None:
        self._server.stop()


class Program:
    """A server of buckets in a process of its own."""

    def __init__(self, command: list[str], port: int, **environment: str) -> None:
        variables = {**os.environ, **environment}
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=variables)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Azurite:
    """Azure by azurite, a server for Node."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        port = free_port()
        key = base64.b64encode(b"word-of-the-host").decode()
        command = [str(AZURITE), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--silent"]
        command += ["--location", self._directory.name, "--skipApiVersionCheck"]
        self._program = Program(command, port, AZURITE_ACCOUNTS=f"account:{key}")
        self.environment = {
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/account",
            "AZURE_STORAGE_ACCOUNT_NAME": "account",
            "AZURE_STORAGE_ACCOUNT_KEY": key,
        }
        self.url = f"az://{BUCKET}"
        self._port = port
        self._send(f"/account/{BUCKET}", "restype=container", {}, b"")

    def _send(self, path: str, query: str, more: dict[str, str], body: bytes) -> None:
        headers = {**more, "x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        lines = [
            "PUT",
            "",
            "",
            str(len(body) or ""),
            *[""] * 8,
            *[f"{name}:{headers[name]}" for name in sorted(headers)],
        ]
        lines += [f"/account{path}", *([query.replace("=", ":")] if query else [])]
        signature = base64.b64encode(hmac.digest(b"word-of-the-host", "\n".join(lines).encode(), "sha256")).decode()
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        signed = {**headers, "Authorization": f"SharedKey account:{signature}"}
        connection.request("PUT", f"{path}?{query}" if query else path, body, signed)
        assert connection.getresponse().status == 201
        connection.close()

    def put(self, key: str, body: bytes) -> None:
        self._send(f"/account/{BUCKET}/{quote(key)}", "", {"x-ms-blob-type": "BlockBlob"}, body)

    def close(self) -> None:
        self._program.close()
        self._directory.cleanup()


class S3rver:
    """S3 by s3rver, a server for Node."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        port = free_port()
        command = [str(S3RVER), "-d", self._directory.name, "-a", "127.0.0.1", "-p", str(port), "--silent"]
        self._program = Program([*command, "--configure-bucket", BUCKET], port)
        self.environment = {
            "AWS_ENDPOINT": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "S3RVER",
            "AWS_SECRET_ACCESS_KEY": "S3RVER",
            "AWS_REGION": "us-east-1",
        }
        self.url = f"s3://{BUCKET}"

    def put(self, key: str, body: bytes) -> None:
        import boto3

        client = boto3.client(
            "s3",
            endpoint_url=self.environment["AWS_ENDPOINT"],
            region_name="us-east-1",
            aws_access_key_id="S3RVER",
            aws_secret_access_key="S3RVER",
        )
        client.put_object(Bucket=BUCKET, Key=key, Body=body)

    def close(self) -> None:
        self._program.close()
        self._directory.cleanup()


_PROGRAMS = Path(__file__).resolve().parents[3] / "build" / "servers" / "node_modules" / ".bin"
S3RVER = _PROGRAMS / "s3rver"
AZURITE = _PROGRAMS / "azurite-blob"


def _has_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


_ALL: list[tuple[str, Any, bool]] = [
    ("moto", Moto, _has_module("moto")),
    ("s3rver", S3rver, S3RVER.exists()),
    ("azurite", Azurite, AZURITE.exists()),
]
REAL = {name: store for name, store, is_there in _ALL if is_there}
"""The real servers of this machine."""
STORES = {"own": Own, "own-google": OwnGoogle, "own-azure": OwnAzure, **REAL}
