"""The page in a real Chromium, driven by Selenium. `make browser` installs both."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from eyespan import Workspace
from eyespan.cli.options import Arguments
from eyespan.extras.hosts.why import LiveReport
from eyespan.extras.http.page.activity import Activity
from eyespan.extras.http.page.api import Api, WorkspaceBackend
from eyespan.extras.http.page.local_server import ViewServer
from tests.extras.hosts.test_why import claude_code
from tests.extras.http.page.command import Browser, running

webdriver = pytest.importorskip("selenium.webdriver", reason="no browser driver: `make browser` installs it")
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("chromium", "chromedriver", "curl"))), reason="no Chromium: `make browser` installs it"
)
FIXTURES = Path(__file__).parents[3] / "fixtures"
IMAGES = Path(__file__).parents[4] / "build" / "screenshots"
AXE = Path(__file__).parents[4] / "build" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
EVIL = "<img src=x onerror=document.title='evil'>.txt"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    from PIL import Image

    root = tmp_path_factory.mktemp("tree")
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text("def main():\n    return 1\n" * 1300)
    (root / "src" / "a b.txt").write_text("a name with a space\n")
    (root / ".env").write_text("KEY=1\n")
    shutil.copy(FIXTURES / "pdfs" / "unicode.pdf", root / "paper.pdf")
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
    for word in (
        *("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking"),
        *("hide-scrollbars", "force-device-scale-factor=1"),
    ):
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
    resize(driver, 1280)
    visit(driver, server)
    yield driver
    messages = [entry["message"] for entry in driver.get_log("browser")]
    assert [text for text in messages if "status of 401" not in text] == []


def is_ready(browser):
    script = "return document.body.dataset.ready === 'yes' && !document.querySelector('[aria-busy]')"
    return browser.execute_script(script)


def wait(condition, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("the page did not get there")


def resize(browser, width, scheme="light"):
    size = {"width": width, "height": 860, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)


def visit(browser, server, **state):
    """Open the page with a state, as a copied link does."""
    browser.get("about:blank")
    browser.get(f"{server.url}#?{urlencode(state)}")
    wait(lambda: is_ready(browser))


def state_of(browser):
    return dict(parse_qsl(urlsplit(browser.current_url).fragment.removeprefix("?")))


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


def text_of(browser, selector):
    return browser.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)


def press(browser, *keys):
    for key in keys:
        browser.switch_to.active_element.send_keys(key)


def focused(browser):
    return browser.execute_script("return document.activeElement.id || document.activeElement.textContent")


def keep(browser, name):
    IMAGES.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(IMAGES / f"view-{name}.png"))


def write_reads(server, *reads):
    """Append reads to the audit log of the server."""
    entry = {"time": "2026-01-01T00:00:00Z", "caller": "agent", "dialect": "codex", "mtime_ns": 1, "rule": None}
    entry |= {"bytes": 9, "tokens": 1234, "verdict": "read", "code": None, "ms": 1}
    with server.log.open("a") as file:
        for read in reads:
            file.write(json.dumps({**entry, "canonical": read.get("path"), **read}) + "\n")


def rows(browser, table):
    script = "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)].map((row) => row.innerText)"
    return [row.split() for row in browser.execute_script(script, table)]


def copied(browser):
    """Click every copy button; return what each has copied."""
    browser.execute_script(
        "window.copied = {}; navigator.clipboard.writeText = async (text) => { window.copied[window.what] = text; }"
    )
    for button in browser.find_elements("css selector", ".tools button"):
        browser.execute_script("window.what = arguments[0].textContent; arguments[0].click()", button)
    return browser.execute_script("return window.copied")


def read_files(browser):
    cells = "return [...document.querySelectorAll('#events td:nth-child(4)')].map((cell) => cell.innerText)"
    return browser.execute_script(cells)


# --- session and address ---------------------------------------------------------------------------------------------


def test_the_token_leaves_the_address(browser, server):
    browser.get("about:blank")
    browser.get(f"{server.url}#{server.new_token()}")
    wait(lambda: is_ready(browser))
    assert "#" not in browser.current_url


def test_a_copied_link_shows_the_same_call(browser, server, tree):
    arguments = json.dumps({"file_path": f"{tree}/src/app.py", "offset": 5, "limit": 2})
    visit(browser, server, file="src/app.py", dialect="codex", args=arguments, compare="native")
    text = wait(lambda: "native: " in answers(browser) and answers(browser))
    browser.refresh()
    wait(lambda: "native: " in answers(browser))
    again = answers(browser)

    assert "L5: def main():\nL6:     return 1\n" in text
    assert [line for line in again.split("\n") if " ms" not in line] == [
        line for line in text.split("\n") if " ms" not in line
    ]


def test_back_and_forward_change_the_file(browser):
    click(browser, EVIL)
    wait(lambda: "<script>" in answers(browser))
    click(browser, "nb.ipynb")
    wait(lambda: "A notebook" in answers(browser))
    browser.back()
    wait(lambda: "<script>" in answers(browser))
    browser.back()
    wait(lambda: browser.find_element("id", "overview").is_displayed())
    browser.forward()
    wait(lambda: "<script>" in answers(browser))

    assert state_of(browser) == {"file": EVIL}


def test_a_link_opens_the_directories_above_its_file(browser, server):
    visit(browser, server, file="src/app.py")
    current = wait(lambda: browser.find_elements("css selector", "#tree [aria-current=true]"))

    assert [button.text for button in current] == ["app.py"]


# --- the start -------------------------------------------------------------------------------------------------------


def test_the_start_shows_costs_largest_files_and_hidden_names(browser):
    lead = wait(lambda: "with native" in text_of(browser, "#cost") and text_of(browser, "#cost"))
    wait(lambda: not text_of(browser, "#cost-note").startswith("Measuring"))
    lead = text_of(browser, "#cost")
    largest = rows(browser, "largest")

    assert re.fullmatch(
        r"Reading these 6 files costs [\d,]+ tokens in your host’s tool \(claude@.+\), [\d,]+ with native: \d+ % \w+\.",
        lead,
    )
    assert [row[0] for row in largest][:2] == ["src/app.py", "paper.pdf"]
    assert all(len(row) >= 4 for row in largest)
    assert text_of(browser, "#hidden-text") == "Rules hide 1 name from every tool:"
    assert text_of(browser, "#hidden-rules") == "**/.env ×1"


def test_another_host_is_measured(browser):
    wait(lambda: "with native" in text_of(browser, "#cost"))
    wait(lambda: not text_of(browser, "#cost-note").startswith("Measuring"))
    choose(browser, "host", "forge")
    wait(lambda: "(forge)" in text_of(browser, "#cost"))


def test_the_search_finds_files_by_words_and_keys_open_them(browser):
    wait(lambda: text_of(browser, "#largest tbody"))
    press(browser, "/")
    press(browser, *"src app")
    found = wait(lambda: text_of(browser, "#found"))
    counted = text_of(browser, "#found-count")
    press(browser, Keys.ARROW_DOWN, Keys.ENTER)
    wait(lambda: "def main" in answers(browser))

    assert (found, counted, state_of(browser)) == ("src/app.py", "1 file", {"file": "src/app.py"})


# --- keyboard --------------------------------------------------------------------------------------------------------


def test_the_tree_is_one_tab_stop_with_arrow_keys(browser):
    stops = browser.find_elements("css selector", "#tree button[tabindex='0']")
    browser.execute_script("arguments[0].focus()", stops[0])
    press(browser, Keys.END)
    last = focused(browser)
    press(browser, Keys.HOME, Keys.ARROW_RIGHT)
    wait(lambda: any(item.text == "app.py" for item in browser.find_elements("css selector", "#tree button")))
    press(browser, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    inner = focused(browser)
    press(browser, Keys.ARROW_LEFT)
    above = focused(browser)
    press(browser, Keys.ARROW_LEFT)

    assert (len(stops), last, inner, above) == (1, "shot.png", "app.py", "src/")
    assert not any(item.text == "app.py" for item in browser.find_elements("css selector", "#tree button"))
    assert len(browser.find_elements("css selector", "#tree button[tabindex='0']")) == 1


def test_a_question_mark_opens_the_help(browser):
    press(browser, "?")
    is_open = browser.find_element("id", "help").is_displayed()
    press(browser, Keys.ESCAPE)

    assert (is_open, browser.find_element("id", "help").is_displayed()) == (True, False)


# --- answers ---------------------------------------------------------------------------------------------------------


def test_a_text_is_shown_as_the_model_receives_it(browser):
    choose(browser, "dialect", "codex")
    choose(browser, "other", "native")
    open_source(browser)
    click(browser, "app.py")
    text = wait(lambda: "L1: def main():" in answers(browser) and answers(browser))

    assert re.match(r"codex: [\d,]+ tokens 1 block", text)
    assert "native: " in text


def test_code_has_styles_and_its_text_is_unchanged(browser, server):
    visit(browser, server, file="src/app.py", dialect="claude", lines="1-2")
    spans = "return [...document.querySelectorAll('.line span')].map((span) => [span.className, span.textContent])"
    pieces = browser.execute_script(spans)
    text = browser.execute_script("return document.querySelector('.answer pre').textContent")

    assert pieces[:4] == [["gutter", "     1\t"], ["keyword", "def"], ["name", "main"], ["gutter", "     2\t"]]
    assert text.startswith("     1\tdef main():\n     2\t    return 1")


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ({"dialect": "claude"}, ".line:first-child"),
        ({"dialect": "native"}, ".line:nth-child(2)"),
        ({"dialect": "codex", "compare": "native", "diff": "1"}, ".diff .same"),
    ],
    ids=["claude", "native", "differences"],
)
def test_long_lines_wrap_beneath_their_text(browser, server, tree, state, line):
    words = "word-" * 100
    (tree / "long.txt").write_text(f"{words}\n\nend\n")
    visit(browser, server, file="long.txt", **state)
    lefts = browser.execute_script(
        """
        const line = document.querySelector(arguments[0]);
        const text = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
        while (!text.nextNode().data.includes("word"));
        const range = document.createRange();
        range.setStart(text.currentNode, text.currentNode.data.indexOf("word"));
        range.setEnd(text.currentNode, text.currentNode.data.length);
        return [...range.getClientRects()].map((part) => Math.round(part.left));
        """,
        line,
    )

    assert len(lefts) > 1
    assert max(lefts) - min(lefts) <= 1


def test_a_selected_answer_is_copied_as_it_is(browser, server, tree):
    (tree / "blank.txt").write_text("one\n\n\nfour\n")
    visit(browser, server, file="blank.txt", dialect="claude")
    browser.execute_script("getSelection().selectAllChildren(document.querySelector('.answer pre'))")

    selected = browser.execute_script("return getSelection().toString()")
    assert selected.rstrip("\n") == "     1\tone\n     2\t\n     3\t\n     4\tfour"


def test_the_path_has_most_of_the_form(browser, server):
    visit(browser, server, file="src/app.py", dialect="codex")
    widths = "return [...document.querySelectorAll('#arguments input')].map((field) => field.offsetWidth)"
    path, *others = browser.execute_script(widths)

    assert path > sum(others)


def test_the_outline_leaves_the_file_in_sight(browser, server, tree):
    resize(browser, 1280)
    many = tree / "many"
    many.mkdir()
    for n in range(60):
        (many / f"f{n:02}.py").write_text("def one():\n    return 1\n")
    visit(browser, server, file="many/f59.py")
    browser.find_element("css selector", "#outline summary").click()
    place = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
    bottom = lambda selector: browser.execute_script(place, selector)  # noqa: E731
    wait(lambda: bottom("#tree [aria-current]") <= bottom("#tree") + 1)


def test_reading_on_shows_the_next_lines_in_both_dialects(browser):
    choose(browser, "dialect", "codex")
    choose(browser, "other", "native")
    open_source(browser)
    click(browser, "app.py")
    wait(lambda: browser.find_elements("css selector", "#answers .next"))[0].click()
    wait(lambda: "L2001: def main():" in answers(browser))
    wait(lambda: "> src/app.py:2001-" in answers(browser))
    assert browser.find_element("css selector", "#arguments input[name=offset]").get_attribute("value") == "2001"
    assert focused(browser) == "answers"


def test_differences_align_the_lines_of_two_dialects(browser, server):
    visit(browser, server, file="src/app.py", lines="1-2", dialect="claude", compare="native")
    browser.find_element("id", "differences").click()
    cells = "return [...document.querySelectorAll('.diff tbody td')].map((cell) => [cell.className, cell.textContent])"
    found = wait(lambda: browser.execute_script(cells))

    assert found[0] == ["", ""]
    assert found[1][0] == "right"
    assert found[1][1].startswith("> src/app.py:1-2/2600 #")
    assert found[2:4] == [["same", "     1\tdef main():"], ["same", "1\tdef main():"]]
    assert state_of(browser)["diff"] == "1"


def test_the_outline_leads_to_a_symbol(browser, server, tree):
    (tree / "shapes.py").write_text("class Circle:\n    def area(self):\n        return 3\n\n\ndef main():\n    pass\n")
    visit(browser, server, file="shapes.py", dialect="codex")
    browser.find_element("css selector", "#outline summary").click()
    symbols = wait(lambda: browser.find_elements("css selector", "#symbols button"))
    names = [symbol.text for symbol in symbols]
    symbols[-1].click()
    wait(lambda: "L6: def main():" in answers(browser) and "Circle" not in answers(browser))
    (tree / "shapes.py").unlink()

    assert names == ["class Circle", "def area(self)", "def main()"]
    assert state_of(browser)["lines"] == "6-7"


def test_calls_are_kept_as_links(browser, server):
    visit(browser, server, file="src/a b.txt", dialect="codex")
    visit(browser, server, file="nb.ipynb", dialect="claude")
    browser.find_element("css selector", "#history summary").click()
    links = browser.find_elements("css selector", "#calls a")
    first = [link.text.split(" ")[0] for link in links][:2]
    links[1].click()
    wait(lambda: "a name with a space" in answers(browser))

    assert first == ["claude:", "codex:"]


def test_copy_buttons_copy_what_they_name(browser, server, tree):
    visit(browser, server, file="src/a b.txt", dialect="codex")
    found = copied(browser)
    call = {"name": "read_file", "arguments": {"file_path": f"{tree}/src/a b.txt"}}
    ran = subprocess.run([sys.executable, "-c", found["Python"]], capture_output=True, text=True, check=True)

    assert text_of(browser, "#copied") == "Setup: copied"
    assert json.loads(found["Call"]) == call
    assert found["Answer"] == "L1: a name with a space"
    assert ran.stdout == "L1: a name with a space\n"
    assert json.loads(found["curl"].split(" -d ")[1].strip("'"))["params"] == call
    assert found["Setup"] == f"eyespan setup claude-code --dialect codex --root '{tree}'"


@pytest.mark.parametrize(
    "dialect", ["opencode", "cline", "text-editor", "gemini", "kimi", "deepagents", "filesystem", "workspace"]
)
def test_a_name_with_a_space_is_read_in_every_dialect(browser, server, dialect):
    visit(browser, server, file="src/a b.txt", dialect=dialect)
    wait(lambda: answers(browser).startswith(f"{dialect}: ") and "a name with a space" in answers(browser))


def test_arguments_with_given_values_are_chosen_from_a_list(browser, server):
    visit(browser, server, file="src/a b.txt", dialect="text-editor")
    options = browser.find_elements("css selector", "#arguments select[name=command] option")
    assert [option.text for option in options] == ["", "view"]


def test_an_image_and_a_notebook_are_shown(browser):
    choose(browser, "dialect", "claude")
    click(browser, "shot.png")
    wait(lambda: browser.execute_script("return document.querySelector('#answers img')?.naturalWidth") == 40)
    click(browser, "nb.ipynb")
    wait(lambda: "A notebook" in answers(browser))


def test_the_pages_of_a_pdf_stand_beside_their_text(browser, server):
    visit(browser, server, file="paper.pdf", dialect="native")
    browser.find_element("css selector", "#answers .next").click()
    image = wait(lambda: browser.find_elements("css selector", ".beside .other img"))[0]
    text = browser.find_element("css selector", ".beside .text")

    assert "second line of the page" in text.text
    assert text.rect["x"] + text.rect["width"] < image.rect["x"]
    assert abs(text.rect["y"] - image.rect["y"]) < 40


def test_a_refusal_is_explained(browser, server):
    visit(browser, server, dialect="native", args=json.dumps({"files": ".env"}))
    wait(lambda: "refused: policy_denied (rule **/.env)" in answers(browser))


def test_arguments_are_read_from_the_form(browser, server):
    visit(browser, server, file="src/app.py", dialect="codex")
    browser.find_element("css selector", "#arguments input[name=offset]").send_keys("7")
    browser.find_element("css selector", "#arguments input[name=limit]").send_keys("1\n")
    wait(lambda: "\nL7: def main():" in answers(browser) and "L8:" not in answers(browser))
    assert json.loads(state_of(browser)["args"])["offset"] == 7


def test_names_and_contents_stay_text(browser):
    choose(browser, "dialect", "forge")
    click(browser, EVIL)
    wait(lambda: "<script>" in answers(browser))
    assert browser.title == f"{EVIL} · eyespan"


HOSTILE_TEXTS = {
    "markup.html": "<script>evil()</script><img src=x onerror=evil()><svg onload=evil()>",
    "drawing.svg": "<svg xmlns='http://www.w3.org/2000/svg' onload='evil()'><script>evil()</script></svg>",
    "notes.md": "[x](javascript:evil()) <iframe srcdoc='<script>parent.evil()</script>'></iframe> ![x](x)",
    "data.json": '{"__proto__": {"x": 1}, "a": "</script><script>evil()</script>"}',
    "code.js": "</pre></code><script>evil()</script>\n`${evil()}`",
    "ansi.log": "\x1b]8;;javascript:evil()\x07x\x1b[2J\x9b31m<b onclick=evil()>",
    "mail.eml": "Subject: <script>evil()</script>\nContent-Type: text/html\n\n<script>evil()</script>",
    "table.csv": '=HYPERLINK("javascript:evil()"),<img src=x onerror=evil()>\n' * 3,
    "direction\u202etxt.exe": "\u202e<script>evil()</script>\u2028<script>evil()</script>",
    "line\nbreak.txt": "<base href='https://evil.example/'><meta http-equiv=refresh content='0;url=javascript:evil()'>",
    "' onmouseover='evil()' x='.txt": "'-evil()-'",
    '" autofocus onfocus="evil().txt': '"><script>evil()</script>',
    "javascript:evil().txt": "javascript:evil()",
    "${evil()}{{evil()}}.py": "x = '${evil()}{{evil()}}'",
    "&lt;script&gt;evil()&lt;.txt": "&lt;script&gt;evil()&lt;/script&gt;",
}


@pytest.mark.parametrize("dialect", ["native", "claude", "forge", "codex"])
def test_no_name_or_text_runs_a_script(browser, server, tree, dialect):
    """Every hostile file is opened in the page, and nothing in it becomes an element or runs."""
    hostile = tree / "hostile"
    hostile.mkdir(exist_ok=True)
    for name, text in HOSTILE_TEXTS.items():
        (hostile / name).write_text(text)
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["<script>evil()</script>"]}
    outputs = [{"output_type": "display_data", "metadata": {}, "data": {"text/html": "<script>evil()</script>"}}]
    code = {"cell_type": "code", "metadata": {}, "source": "1", "outputs": outputs, "execution_count": 1}
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell, code]}
    (hostile / "book.ipynb").write_text(json.dumps(book))
    forbidden = (
        "script:not([src]), iframe, object, embed, base, [onload], [onerror], [onclick], [onfocus], [href^=java]"
    )
    script = {"source": "window.ran = 0; window.evil = () => { window.ran += 1; }"}
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
    try:
        for name in (*HOSTILE_TEXTS, "book.ipynb"):
            visit(browser, server, file=f"hostile/{name}", dialect=dialect)
            wait(lambda: answers(browser))
            shown = "return [window.ran, document.querySelectorAll(arguments[0]).length]"
            assert browser.execute_script(shown, forbidden) == [0, 0], name
            assert urlsplit(browser.current_url).netloc == urlsplit(server.url).netloc
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
        shutil.rmtree(hostile)


# --- activity --------------------------------------------------------------------------------------------------------


def test_activity_is_live(browser, server):
    browser.find_element("id", "show-activity").click()
    wait(lambda: text_of(browser, "#totals"))
    write_reads(server, *[{"path": "x.py", "range": lines} for lines in ("1-9", "5-7", "40-60")])
    row = wait(lambda: [row for row in rows(browser, "heat") if row[0] == "x.py" and "40-60" in row])

    assert row == [["x.py", "3", "1", "0", "27", "3,702", "1-9,", "40-60"]]
    assert "tokens read again unchanged, in " in text_of(browser, "#totals")
    assert len(browser.find_elements("css selector", ".heat rect")) >= 3
    assert not browser.find_element("id", "preview").is_displayed()


def test_activity_is_ordered_by_time_and_filtered(browser, server):
    denied = {"verdict": "refused", "code": "policy_denied", "rule": "**/.env", "tokens": 0}
    write_reads(
        server,
        {"path": "late.py", "time": "2026-01-02T00:00:02Z", "caller": "one"},
        {"path": "early.py", "time": "2026-01-02T00:00:01Z", "caller": "one", "dialect": "native"},
        {"path": ".env", "time": "2026-01-02T00:00:03Z", "caller": "two", **denied},
    )

    def files(**filters):
        visit(browser, server, view="activity", **filters)
        return wait(lambda: read_files(browser))

    assert files(caller="one") == ["late.py", "early.py"]
    assert files(caller="one", by="native") == ["early.py"]
    assert files(verdict="refused: policy_denied", caller="two") == [".env"]
    assert files(match="LATE") == ["late.py"]
    assert text_of(browser, "#filtered").startswith("1 of ")
    assert browser.find_elements("css selector", "#timeline rect")


def test_a_filter_is_part_of_the_address(browser, server):
    write_reads(server, {"path": "y.py", "caller": "three"})
    visit(browser, server, view="activity")
    wait(lambda: "three" in text_of(browser, "#filters select[name=caller]"))
    browser.execute_script(
        "const s=document.querySelector('#filters [name=caller]');s.value='three';"
        "s.dispatchEvent(new Event('input',{bubbles:true}))"
    )

    assert state_of(browser) == {"view": "activity", "caller": "three"}
    assert read_files(browser) == ["y.py"]


# --- transcripts -----------------------------------------------------------------------------------------------------


def test_transcripts_are_offered_with_the_command_that_shows_them(browser):
    browser.find_element("id", "show-why").click()

    assert "eyespan view --why ~/.claude/projects" in text_of(browser, "#why-start")
    assert not browser.find_element("id", "why-found").is_displayed()
    assert state_of(browser) == {"view": "why"}


def test_the_reads_of_a_host_are_counted_and_compared(browser, harbour):
    browser.get(f"{harbour.url}#{harbour.new_token()}")
    wait(lambda: is_ready(browser))
    visit(browser, harbour, view="why")
    wait(lambda: text_of(browser, "#why-note").startswith("2 transcripts"))
    lead, compared, files = text_of(browser, "#why-lead"), rows(browser, "again"), rows(browser, "costly")
    browser.execute_script("navigator.clipboard.writeText = async (text) => { window.text = text; }")
    browser.find_element("id", "copy-why").click()
    report = wait(lambda: browser.execute_script("return window.text"))
    browser.execute_script("arguments[0].click()", browser.find_element("link text", "src/boats.py"))
    wait(lambda: "The boats of a harbour" in answers(browser))

    assert re.match(r"5 reads of Claude Code cost [\d,]+ tokens\. [\d,]+ of them \(\d+ %\)", lead)
    assert compared[0][:2] == ["your", "host"]
    assert {row[0] for row in compared[1:]} >= {"native", "codex", "claude"}
    assert [row[:2] for row in files] == [["docs/guide.md", "1"], ["src/boats.py", "3"], ["README.md", "1"]]
    assert report.startswith("5 reads of Claude Code: ")
    assert "| native | " in report


# --- layouts ---------------------------------------------------------------------------------------------------------

BOATS = '''\
"""The boats of a harbour."""

from dataclasses import dataclass

BERTHS = 40


@dataclass
class Boat:
    name: str
    length_m: float = 9.5  # of the hull


class Harbour:
    """A harbour with berths."""

    def __init__(self, berths: int = BERTHS) -> None:
        self.berths = berths
        self.boats: list[Boat] = []

    def enter(self, boat: Boat) -> bool:
        """Give a boat a berth; return False if all are taken."""
        if len(self.boats) >= self.berths:
            return False
        self.boats.append(boat)
        return True
'''


def write_transcripts(directory, root):
    """Write two sessions of Claude Code: each file is read, and one of them again in parts."""
    directory.mkdir()
    for number, names in enumerate((("src/boats.py", "docs/guide.md", "src/boats.py"), ("README.md", "src/boats.py"))):
        records = []
        for name in names:
            lines = (root / name).read_text().splitlines()[: None if name == "docs/guide.md" else 20]
            answer = "".join([f"{n}\t{line}\n" for n, line in enumerate(lines, 1)])
            records += claude_code(root, root / name, {"limit": len(lines)}, answer, len(records))
        (directory / f"{number}.jsonl").write_text("".join([json.dumps(record) + "\n" for record in records]))
    return directory


@pytest.fixture(scope="module")
def harbour():
    """A server with files and reads as in a project, for the images."""
    with tempfile.TemporaryDirectory(prefix="eyespan-") as directory:
        root, log = Path(directory, "harbour"), Path(directory, "reads.jsonl")
        (root / "src").mkdir(parents=True)
        (root / "docs").mkdir()
        (root / "src" / "boats.py").write_text(BOATS)
        (root / "src" / "tides.json").write_text(
            json.dumps([{"hour": n, "metres": n % 7} for n in range(400)], indent=1)
        )
        (root / "docs" / "guide.md").write_text("# Guide\n\n" + "Boats enter by the north gate.\n" * 300)
        (root / "README.md").write_text("# Harbour\n\nBerths for forty boats.\n")
        (root / ".env").write_text("KEY=1\n")
        shutil.copy(FIXTURES / "pdfs" / "unicode.pdf", root / "docs" / "paper.pdf")
        with Workspace(root) as workspace:
            transcripts = write_transcripts(Path(directory, "transcripts"), root)
            report = LiveReport([str(transcripts)], Arguments({}, []))
            server = ViewServer(Api(WorkspaceBackend(workspace, Activity(str(log)), report)))
            server.log = log
            for n in range(240):
                path, lines = (("src/boats.py", 26), ("docs/guide.md", 302), ("src/tides.json", 1602))[n * n % 7 % 3]
                first = n * 37 % lines + 1
                read = {
                    "path": path,
                    "range": f"{first}-{min(lines, first + 40)}",
                    "tokens": 300 + n * n % 1700,
                    "bytes": 1500,
                }
                read |= {"caller": ("codex/0.166", "claude-code/3.1")[n % 2], "dialect": ("codex", "native")[n % 2]}
                if n % 29 == 28:
                    read |= {"path": ".env", "range": None, "verdict": "refused", "code": "policy_denied", "tokens": 0}
                minute = n // 10 * 10 + n % 10 * (n // 10 % 4) // 3  # now and then several at once
                write_reads(server, {**read, "time": f"2026-01-05T{9 + minute // 60:02}:{minute % 60:02}:00Z"})
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield server
            server.shutdown()
            server.server_close()


VIEWS = {
    "start": {},
    "preview": {"file": "src/boats.py", "dialect": "claude", "compare": "native"},
    "differences": {"file": "src/boats.py", "dialect": "codex", "compare": "native", "diff": "1"},
    "paper": {"file": "docs/paper.pdf", "dialect": "claude"},
    "activity": {"view": "activity", "caller": "codex/0.166"},
    "why": {"view": "why"},
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", VIEWS)
def test_every_view_fits_and_is_accessible(browser, harbour, name, width, scheme):
    resize(browser, width, scheme)
    browser.get("about:blank")
    browser.get(f"{harbour.url}#{harbour.new_token()}")
    wait(lambda: is_ready(browser))
    visit(browser, harbour, **VIEWS[name])
    wait(lambda: name != "start" or text_of(browser, "#cost").startswith("Reading these "))
    wait(lambda: name != "activity" or text_of(browser, "#totals"))
    wait(lambda: name != "why" or text_of(browser, "#why-note").startswith("2 transcripts"))
    keep(browser, f"{name}-{width}-{scheme}")
    over = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
    assert over <= 0
    assert accessibility_findings(browser) == []


def accessibility_findings(browser):
    if not AXE.exists():
        return []
    browser.execute_script(AXE.read_text())
    run = "axe.run().then((found) => arguments[0](found.violations.map((one) => [one.id, one.impact])))"
    return browser.execute_async_script(run)


@pytest.mark.parametrize("width", [1280, 390])
def test_empty_views_say_what_to_do(browser, tmp_path, width):
    resize(browser, width)
    shown, findings = {}, []
    with Workspace(tmp_path) as workspace, ViewServer(Api(WorkspaceBackend(workspace, Activity()))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            browser.get(server.url)
            shown["token"] = wait(lambda: text_of(browser, "#enter"))
            findings += accessibility_findings(browser)
            browser.get("about:blank")
            browser.get(f"{server.url}#{server.new_token()}")
            wait(lambda: is_ready(browser))
            for name, selector in (("start", "#cost"), ("activity", "#nothing"), ("why", "#why-start")):
                visit(browser, server, view=name)
                shown[name] = wait(lambda selector=selector: text_of(browser, selector))
                wait(lambda: text_of(browser, "#cost") != "Looking at the files…")
                findings += accessibility_findings(browser)
            visit(browser, server)
            wait(lambda: text_of(browser, "#cost") == "There are no files here.")
            tables = [
                browser.find_element("id", each).is_displayed() for each in ("sizes", "choice", "reads", "history")
            ]
        finally:
            browser.get("about:blank")
            server.shutdown()

    assert findings == []
    assert tables == [False, False, False, False]
    assert "The token that the command printed" in shown["token"]
    assert "eyespan view --audit reads.jsonl" in shown["activity"]
    assert "eyespan view --why ~/.claude/projects" in shown["why"]


def test_the_files_are_folded_on_a_narrow_screen_once_one_is_open(browser, server):
    resize(browser, 390)
    visit(browser, server, file="src/app.py")
    assert not browser.find_element("id", "tree").is_displayed()
    browser.find_element("css selector", "#files summary").click()
    assert browser.find_element("id", "tree").is_displayed()


def test_the_page_of_a_server_shows_its_tools_and_its_reads(browser, tree):
    pytest.importorskip("httptools", reason="the HTTP server needs the extra [http]")
    from tests.server.clients import HttpServer

    served = HttpServer(tree, "--dialect", "codex", "--view")
    page = served.url.removesuffix("/mcp") + "/view"
    try:
        browser.get(f"{page}/#{served.token}")
        trouble = wait(lambda: browser.find_element("id", "trouble").text)
        address = browser.current_url
        browser.find_element("id", "token").send_keys(served.token, "\n")
        wait(lambda: is_ready(browser))
        entered = browser.find_element("id", "roots").text
        open_source(browser)
        click(browser, "app.py")
        wait(lambda: "L1: def main():" in answers(browser))
        curl = copied(browser)["curl"]
        environment = {**os.environ, "EYESPAN_TOKEN": served.token}
        ran = subprocess.run(["bash", "-c", curl], capture_output=True, text=True, env=environment, timeout=60)
        browser.find_element("id", "show-activity").click()
        served.rpc("tools/call", {"name": "read_file", "arguments": {"file_path": str(tree / EVIL)}})
        wait(lambda: EVIL in browser.find_element("id", "heat").text)
        totals = browser.find_element("id", "totals").text
        title = browser.title
        browser.refresh()
        wait(lambda: is_ready(browser))
        browser.execute_script("location.hash = '?'")
        wait(lambda: "1 file" in text_of(browser, "#measure") or "files" in text_of(browser, "#measure"))
        browser.find_element("id", "measure").click()
        cost = wait(lambda: text_of(browser, "#cost").startswith("Reading") and text_of(browser, "#cost"))
        policy = text_of(browser, "#hidden-text")
    finally:
        browser.get("about:blank")
        served.end()

    assert address == f"{page}/"
    assert "L1: def main():" in ran.stdout
    assert served.token not in curl
    assert totals.startswith("3\nreads\n")
    assert totals.endswith("tokens read again unchanged, in 1 read")
    assert title == "Activity · eyespan"
    assert re.fullmatch(r"Reading .* costs [\d,]+ tokens in your host’s tool \(codex\)\.", cost)
    assert "hide" in policy
    assert ".env" not in policy
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
