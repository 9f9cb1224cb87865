"""The web view in headless Chromium: the password, runs, trends and a report, with harmful texts."""

import json

from tests.pipeline.report_html.attacks import ATTACKS
from tests.pipeline.report_html.made_run import conversation
from tests.pipeline.service.conftest import Server
from tests.stored_runs import put_run
from turnwise.pipeline.store.database import open_store

SCRIPT = ATTACKS["script"]


TOKEN = "a-token-of-some-length"


def fill(url: str) -> None:
    """Fills a store with two runs, one of a harmful app version."""
    store = open_store(url, create=True)
    for number, version in enumerate(("v1", f"v2{SCRIPT}")):
        rows = [conversation(f"c{i}", "FAIL" if i == 0 else "PASS", app_version=version) for i in range(4)]
        put_run(store, rows, number, run_id=f"night-{number}")
    store.close()


def test_a_person_gives_the_token_and_reads(browser, tmp_path):
    url = f"sqlite:///{tmp_path}/store.db"
    fill(url)
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"read": TOKEN}))
    file.chmod(0o600)
    server = Server(url, "--token_file", str(file))
    try:
        browser.driver.get(f"{server.url}/ui".replace("://", f"://me:{TOKEN}@"))
        browser.wait(lambda: browser.texts("h1") == ["Apps"])
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
        assert [one for one in browser.errors() if "favicon" not in one] == []
    finally:
        server.stop()
