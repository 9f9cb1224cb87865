"""A headless Chromium that opens reports."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

WAIT = 120
AXE = Path(__file__).parent / "vendor/axe.js"
OPTIONS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
]


class Browser:
    """A page in the browser.

    Attributes:
        driver: The driver of the browser.
    """

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, path: Path, **state: str) -> None:
        """Opens a report anew, with a state in the fragment of the address, and waits until it is shown."""
        self.driver.get("about:blank")
        self.driver.get(f"{path.as_uri()}#{urlencode(state)}")
        self.wait(lambda: self.find("main").get_attribute("data-view"))

    def wait(self, condition: Callable[[], Any]) -> Any:
        """Waits until something holds, and returns it."""

        def holds(_: object) -> Any:
            try:
                return condition()
            except Exception as error:  # the page is being drawn
                if "stale" in str(error) or "no such element" in str(error):
                    return False
                raise

        return WebDriverWait(self.driver, WAIT, poll_frequency=0.05).until(holds)

    def run(self, script: str, *arguments: object) -> Any:
        """Returns what a script returns."""
        return self.driver.execute_script(script, *arguments)

    def find(self, selector: str) -> WebElement:
        """Returns the first element of a selector."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        """Returns the visible texts of the elements of a selector."""
        return [element.text for element in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def press(self, *keys: str) -> None:
        """Presses keys one after the other, in the page."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def choose(self, label: str, value: str) -> None:
        """Chooses an option of a select by its label."""
        self.run(
            "const labels = [...document.querySelectorAll('label')];"
            "const label = labels.find((l) => l.firstChild.textContent === arguments[0]);"
            "const select = label.querySelector('select'); select.value = arguments[1];"
            "select.dispatchEvent(new Event('change'));",
            label,
            value,
        )

    def click(self, text: str) -> None:
        """Clicks the link or button with a text."""
        self.run(
            "[...document.querySelectorAll('a, button, summary')]"
            ".find((e) => e.textContent.trim() === arguments[0]).click()",
            text,
        )

    @property
    def state(self) -> str:
        """Fragment of the address."""
        return self.driver.current_url.partition("#")[2]

    def emulate(self, width: int = 1280, height: int = 720, theme: str = "light") -> None:
        """Sets the size of the screen and the theme of the system."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def errors(self) -> list[str]:
        """Returns the messages of the console since the last call: errors and breaches of the policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]

    def accessibility_faults(self) -> list[str]:
        """Returns what axe-core finds: rule, severity, first element."""
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
        script = "axe.run(document).then((r) => JSON.stringify(r.violations))"
        found = self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": script, "awaitPromise": True})
        return [
            f"{rule['impact']} {rule['id']}: {rule['nodes'][0]['html'][:120]}"
            for rule in json.loads(found["result"]["value"])
            if rule["impact"] in ("serious", "critical")
        ]


def missing_browser() -> str | None:
    """Returns why there is no browser; None: there is one."""
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(absent)} not installed (Debian: chromium, chromium-driver)" if absent else None


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Runs a browser; skips the test where there is none, or fails it if one is required."""
    reason = missing_browser()
    if reason and os.environ.get("TURNWISE_BROWSER") == "required":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options, service)
    try:
        driver.set_page_load_timeout(WAIT)
        driver.set_script_timeout(WAIT)
        yield Browser(driver)
    finally:
        driver.quit()


__all__ = ["Browser", "Keys", "started_browser"]
