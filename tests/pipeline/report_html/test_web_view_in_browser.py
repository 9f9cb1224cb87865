"""The web view in headless Chromium: signing in, runs, trends and a report, with harmful texts."""

from pathlib import Path
from time import time_ns

from tests.pipeline.report_html.attacks import ATTACKS
from tests.pipeline.report_html.browser import Browser, Keys
from tests.pipeline.report_html.made_run import conversation
from tests.pipeline.service.conftest import Server
from tests.stored_runs import put_run
from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.tokens import add_token, new_token

SCRIPT = ATTACKS["script"]


def filled(url: str) -> str:
    """Fills a store with two runs, one of a harmful app version; returns its token."""
    store = open_store(url, create=True)
    for number, version in enumerate(("v1", f"v2{SCRIPT}")):
        rows = [conversation(f"c{i}", "FAIL" if i == 0 else "PASS", app_version=version) for i in range(4)]
        put_run(store, rows, number, run_id=f"night-{number}")
    given, row = new_token("ann", "read", "tester", time_ns(), None)
    store.write(lambda connection: add_token(connection, row))
    store.close()
    return given


def test_a_person_signs_in_and_reads(browser: Browser, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    given = filled(url)
    server = Server(url)
    try:
        browser.driver.get(f"{server.url}/ui")
        assert browser.texts("h1") == ["Sign in"]
        browser.find("#token").send_keys(given, Keys.ENTER)
        browser.wait(lambda: browser.texts("h1") == ["Apps"])
        assert given not in browser.driver.current_url
        assert browser.run("return document.cookie") == ""
        browser.find("main li a").click()
        browser.wait(lambda: browser.texts("h1")[0].startswith("Runs of"))
        assert browser.texts("tbody td:nth-child(2)") == ["night-1", "night-0"]
        assert browser.accessibility_faults() == []
        browser.click("Trends")
        browser.wait(lambda: browser.texts("h1")[0].startswith("Trends of"))
        assert len(browser.driver.find_elements("css selector", "svg circle.dot")) == 2
        browser.emulate(theme="dark")
        assert browser.accessibility_faults() == []
        assert browser.run("return window.attacked") is None
        browser.driver.back()
        browser.click("night-0")
        browser.wait(lambda: browser.find("main").get_attribute("data-view"))
        assert "3 of 4 conversations passed" in browser.find("main").text
        # The sign-in page is the answer 401, which the console names.
        assert [one for one in browser.errors() if "401" not in one and "favicon" not in one] == []
    finally:
        server.stop()
