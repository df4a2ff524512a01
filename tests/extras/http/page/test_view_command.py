"""`eyespan view` as a process: what it prints, what it passes to the browser, and who is admitted."""

from __future__ import annotations

import http.client
import json
import os
import re
import stat
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.extras.http.page.command import Browser, running


def ask(address, end, **headers):
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port)
    connection.request("GET", parts.path + end, headers=headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer, data


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    return root


def children(process):
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="looks for child processes in /proc")
def test_the_process_that_was_started_answers_the_first_request(tree):
    with running(tree, "--no-open") as (process, address, token):
        answer, data = ask(address, "api/names?path=.", Authorization=f"Bearer {token}")

        assert (answer.status, json.loads(data)["entries"]) == (200, [{"name": "a.txt", "type": "file"}])
        assert (process.poll(), children(process)) == (None, "")


@pytest.fixture
def browser(tmp_path):
    return Browser(tmp_path)


def test_the_browser_gets_a_private_file_and_no_token(tree, browser):
    with running(tree, **browser.environment) as (_, address, token):
        (given,) = browser.words()
        page = Path(unquote(urlsplit(given).path))
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (page, page.parent)]
        (target,) = re.findall(r'url=([^"]+)"', page.read_text())
        opening = target.removeprefix(f"{address}#")
        status = ask(address, "api/state", Authorization=f"Bearer {opening}")[0].status

    assert given.startswith("file:///")
    assert modes == [0o600, 0o700]
    assert (status, token != opening) == (200, True)
    assert not page.parent.exists()


def test_without_a_browser_no_file_is_written(tree, browser):
    with running(tree, "--no-open", **browser.environment) as (_, address, _):
        assert ask(address, "")[0].status == 200
        assert os.listdir(browser.environment["TMPDIR"]) == []


def test_directories_may_be_arguments(tree, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with running(tree, str(other), "--no-open") as (_, address, token):
        _, data = ask(address, "api/state", Authorization=f"Bearer {token}")

    assert json.loads(data)["roots"] == [str(tree), str(other)]
