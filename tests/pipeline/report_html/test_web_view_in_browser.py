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
    """Fills a store with two runs, one of a harmful app version: of four cases, two regress."""
    store = open_store(url, create=True)
    for number, version in enumerate(("v1", f"v2{SCRIPT}")):
        verdicts = ["FAIL" if i == 0 or (number and i < 3) else "PASS" for i in range(4)]
        rows = [
            conversation(f"{number}-{i}", verdict, app_version=version, eval_id=f"e{i}", position=i)
            for i, verdict in enumerate(verdicts)
        ]
        put_run(store, rows, number, run_id=f"night-{number}")
    store.close()


def test_a_person_gives_the_token_picks_and_reads_down_to_a_conversation(browser, tmp_path):
    url = f"sqlite:///{tmp_path}/store.db"
    fill(url)
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"read": TOKEN}))
    file.chmod(0o600)
    server = Server(url, "--token_file", str(file))

    def shows(view):
        browser.wait(lambda: browser.find("main").get_attribute("data-view") == view)
        for width, theme in ((1280, "light"), (390, "dark")):
            browser.emulate(width, 844, theme)
            assert browser.accessibility_faults() == []
            assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        browser.emulate()
        browser.wait(lambda: browser.run("return document.documentElement.dataset.theme") == "light")

    try:
        browser.driver.get(server.url.replace("://", f"://me:{TOKEN}@"))
        shows("runs")
        browser.wait(lambda: browser.texts("tbody th") == ["night-1", "night-0"])
        browser.click("Apps")
        shows("apps")
        browser.driver.back()
        browser.wait(lambda: browser.find("main").get_attribute("data-view") == "runs")
        browser.choose("baseline", "v1")
        browser.choose("candidate", f"v2{SCRIPT}")
        browser.click("Compare")
        shows("overview")
        browser.wait(lambda: browser.texts(".counts li")[:2] == ["2 regressed", "0 fixed"])
        browser.run("document.querySelector('.rows .why a').click()")
        shows("conversation")
        browser.wait(lambda: "Please book slot" in browser.find("main").text)
        browser.click("turnwise")
        browser.wait(lambda: browser.find("main").get_attribute("data-view") == "runs")
        browser.run("document.querySelectorAll('tbody input').forEach((box) => box.click())")
        browser.click("Report of the chosen runs")
        browser.wait(lambda: browser.texts(".counts li")[:1] == ["2 regressed"])
        browser.click("turnwise")
        browser.wait(lambda: browser.find("main").get_attribute("data-view") == "runs")
        browser.click("Trends")
        shows("trend")
        browser.wait(lambda: browser.texts(".trend svg text"))
        assert browser.texts(".key li")[::2] == ["v1", "95 % interval"]
        assert browser.run("return window.attacked") is None
        assert browser.errors() == []
    finally:
        server.stop()
