"""The page in a real Chromium, driven by Selenium. `make browser` installs both."""

from __future__ import annotations

import json
import shutil
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from eyespan import Workspace
from eyespan.extras.http.page.activity import Activity
from eyespan.extras.http.page.api import Api, WorkspaceBackend
from eyespan.extras.http.page.local_server import ViewServer
from tests.extras.http.page.command import Browser, running

webdriver = pytest.importorskip("selenium.webdriver", reason="no browser driver: `make browser` installs it")
pytestmark = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")), reason="no Chromium: `make browser` installs it"
)
EVIL = "<img src=x onerror=document.title='evil'>.txt"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    from PIL import Image

    root = tmp_path_factory.mktemp("tree")
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text("def main():\n    return 1\n" * 1300)
    (root / "src" / "a b.txt").write_text("a name with a space\n")
    (root / EVIL).write_text("<script>document.title='evil'</script>\n")
    Image.new("RGB", (40, 30), "teal").save(root / "shot.png")
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["# A notebook\n"]}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (root / "nb.ipynb").write_text(json.dumps(notebook))
    return root


@pytest.fixture(scope="module")
def server(tree, tmp_path_factory):
    log = tmp_path_factory.mktemp("log") / "reads.jsonl"
    with Workspace(tree) as workspace:
        server = ViewServer(Api(WorkspaceBackend(workspace, Activity(str(log)))))
        server.log = log
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def driver(server, tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    profile = tmp_path_factory.mktemp("profile")
    for word in ("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking"):
        options.add_argument(f"--{word}")
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.get(f"{server.url}#{server.new_token()}")
    wait(lambda: is_ready(driver))
    yield driver
    driver.quit()


@pytest.fixture
def browser(driver, server):
    """The page, as it is after its start. Nothing that a test does may violate the policy of the page."""
    driver.set_window_size(1200, 800)
    driver.get(server.url)
    wait(lambda: is_ready(driver))
    yield driver
    messages = [entry["message"] for entry in driver.get_log("browser")]
    assert [text for text in messages if "favicon" not in text and "status of 401" not in text] == []


def is_ready(browser):
    return browser.execute_script("return document.body.dataset.ready") == "yes"


def wait(condition, seconds=20):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("the page did not get there")


def click(browser, text):
    for button in browser.find_elements("css selector", "#tree button"):
        if button.text == text:
            button.click()
            return
    raise AssertionError(f"no entry {text!r}")


def open_source(browser):
    click(browser, "src/")
    wait(lambda: any(button.text == "app.py" for button in browser.find_elements("css selector", "#tree button")))


def choose(browser, select, value):
    browser.execute_script(
        "const s=document.getElementById(arguments[0]);s.value=arguments[1];s.dispatchEvent(new Event('change'))",
        select,
        value,
    )


def answers(browser):
    return browser.find_element("id", "answers").text


def keep(browser, name):
    directory = Path(__file__).parents[4] / "build" / "screenshots"
    directory.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(directory / f"{name}.png"))


def test_the_token_leaves_the_address(browser, server):
    browser.get("about:blank")
    browser.get(f"{server.url}#{server.new_token()}")
    wait(lambda: is_ready(browser))
    assert "#" not in browser.current_url


def test_the_page_survives_a_reload(browser):
    browser.refresh()
    wait(lambda: is_ready(browser))


def test_a_text_is_shown_as_the_model_receives_it(browser):
    choose(browser, "dialect", "codex")
    choose(browser, "other", "native")
    open_source(browser)
    click(browser, "app.py")
    text = wait(lambda: "L1: def main():" in answers(browser) and answers(browser))
    assert "codex:" in text
    assert "native:" in text
    assert "tokens" in text
    keep(browser, "preview")


def test_reading_on_shows_the_next_lines_in_both_dialects(browser):
    choose(browser, "dialect", "codex")
    choose(browser, "other", "native")
    open_source(browser)
    click(browser, "app.py")
    wait(lambda: browser.find_elements("css selector", "#answers .next"))[0].click()
    wait(lambda: "L2001: def main():" in answers(browser))
    wait(lambda: "> src/app.py:2001-" in answers(browser))
    assert browser.find_element("css selector", "#arguments input[name=offset]").get_attribute("value") == "2001"
    assert browser.execute_script("return document.activeElement.id") == "answers"


@pytest.mark.parametrize(
    "dialect", ["opencode", "cline", "text-editor", "gemini", "kimi", "deepagents", "filesystem", "workspace"]
)
def test_a_name_with_a_space_is_read_in_every_dialect(browser, dialect):
    choose(browser, "dialect", dialect)
    open_source(browser)
    click(browser, "a b.txt")
    wait(lambda: answers(browser).startswith(f"{dialect}: ") and "a name with a space" in answers(browser))


def test_arguments_with_given_values_are_chosen_from_a_list(browser):
    choose(browser, "dialect", "text-editor")
    options = browser.find_elements("css selector", "#arguments select[name=command] option")
    assert [option.text for option in options] == ["", "view"]


def test_an_image_and_a_notebook_are_shown(browser):
    choose(browser, "dialect", "claude")
    click(browser, "shot.png")
    wait(lambda: browser.execute_script("return document.querySelector('#answers img')?.naturalWidth") == 40)
    keep(browser, "image")
    click(browser, "nb.ipynb")
    wait(lambda: "A notebook" in answers(browser))


def test_a_refusal_is_explained(browser):
    choose(browser, "dialect", "native")
    browser.execute_script("document.querySelector('#arguments input').value = '.env'")
    browser.find_element("css selector", "#arguments button").click()
    wait(lambda: "refused: policy_denied (rule **/.env)" in answers(browser))


def test_names_and_contents_stay_text(browser):
    choose(browser, "dialect", "forge")
    click(browser, EVIL)
    wait(lambda: "<script>" in answers(browser))
    assert browser.title == "eyespan: what your agent sees"


def test_activity_is_live(browser, server):
    browser.find_element("id", "show-activity").click()
    entry = {"time": "2026-01-01T00:00:00Z", "caller": "agent", "dialect": "codex", "path": "x.py", "canonical": "x.py"}
    with server.log.open("a") as file:
        for lines in ("1-9", "5-7", "40-60"):
            line = {**entry, "range": lines, "bytes": 9, "tokens": 1234, "verdict": "read", "code": None, "ms": 1}
            file.write(json.dumps(line) + "\n")
    rows = "return [...document.querySelectorAll('#heat tbody tr')].map((row) => row.innerText)"
    row = wait(lambda: [row for row in browser.execute_script(rows) if row.startswith("x.py") and "60" in row])
    assert [line.split() for line in row] == [["x.py", "3", "1", "0", "27", "3,702", "1-9,", "5-7,", "40-60"]]
    assert not browser.find_element("id", "preview").is_displayed()
    keep(browser, "activity")


def test_the_page_works_at_400_pixels(browser):
    browser.set_window_size(400, 800)
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth + 1")
    keep(browser, "narrow")
    click(browser, "shot.png")
    wait(lambda: answers(browser))
    browser.find_element("id", "show-activity").click()
    wait(lambda: "shot.png" in browser.find_element("id", "heat").text)
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth + 1")
    keep(browser, "narrow-activity")


def test_the_page_is_dark_where_the_system_is(browser):
    browser.find_element("id", "show-activity").click()
    for scheme in ("dark", "light"):
        features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
        color = browser.execute_script("return getComputedStyle(document.body).color")
        keep(browser, f"{scheme}-activity")
        browser.find_element("id", "show-preview").click()
        keep(browser, f"{scheme}-preview")
        browser.find_element("id", "show-activity").click()
        assert color == {"dark": "rgb(255, 255, 255)", "light": "rgb(0, 0, 0)"}[scheme]


def test_the_page_of_a_server_shows_its_tools_and_its_reads(browser, tree):
    pytest.importorskip("httptools", reason="the HTTP server needs the extra [http]")
    from tests.server.clients import HttpServer

    served = HttpServer(tree, "--dialect", "codex", "--view")
    page = served.url.removesuffix("/mcp") + "/view"
    try:
        browser.get(f"{page}#{served.token}")
        wait(lambda: is_ready(browser))
        address = browser.current_url
        open_source(browser)
        click(browser, "app.py")
        wait(lambda: "L1: def main():" in answers(browser))
        browser.find_element("id", "show-activity").click()
        served.rpc("tools/call", {"name": "read_file", "arguments": {"file_path": str(tree / EVIL)}})
        wait(lambda: EVIL in browser.find_element("id", "heat").text)
        totals = browser.find_element("id", "totals").text
        keep(browser, "server")
        title = browser.title
        browser.get("about:blank")
        browser.get(f"{page}#wrong")
        trouble = wait(lambda: browser.find_element("id", "trouble").text)
        browser.find_element("id", "token").send_keys(served.token, "\n")
        entered = wait(lambda: browser.find_element("id", "roots").text)
    finally:
        browser.get("about:blank")
        served.end()

    assert address == f"{page}/"
    assert totals.startswith("2 reads, 0 of them again, 0 refused, ")
    assert totals.endswith(" tokens")
    assert title == "eyespan: what your agent sees"
    assert trouble == "The token is missing or wrong."
    assert entered.startswith(f"{tree}")


def test_the_command_opens_the_page_by_a_file(browser, tree, tmp_path):
    user_browser = Browser(tmp_path)
    with running(tree, **user_browser.environment) as (_, address, _):
        (file,) = user_browser.words()
        browser.get(file)
        wait(lambda: browser.current_url == address and is_ready(browser))
        click(browser, "shot.png")
        browser.get("about:blank")
        browser.get(address)
        wait(lambda: is_ready(browser))
        browser.get("about:blank")


def test_the_token_of_the_command_can_be_entered(browser, tree):
    with running(tree, "--no-open") as (_, address, token):
        browser.get(address)
        wait(lambda: browser.find_element("id", "trouble").text == "The token is missing or wrong.")
        browser.find_element("id", "token").send_keys(token, "\n")
        wait(lambda: is_ready(browser))
        assert not browser.find_element("id", "enter").is_displayed()
        browser.get("about:blank")


def test_pages_on_other_ports_do_not_get_the_cookie(browser, tree, tmp_path):
    with running(tree, "--no-open") as (_, address, token), running(tmp_path, "--no-open") as (_, other, _):
        browser.get(f"{address}#{token}")
        wait(lambda: is_ready(browser))
        browser.get(other)
        wait(lambda: browser.find_element("id", "trouble").text == "The token is missing or wrong.")
        sent = browser.execute_script("return document.cookie")
        found = browser.execute_cdp_cmd("Network.getCookies", {"urls": [other, address]})["cookies"]
        browser.get("about:blank")

    assert (sent, [cookie["path"] for cookie in found]) == ("", [urlsplit(address).path])
    assert [(cookie["httpOnly"], cookie["sameSite"], cookie["session"]) for cookie in found] == [(True, "Strict", True)]
