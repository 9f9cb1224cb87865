"""One browser for all tests of the page."""

from collections.abc import Iterator

import pytest

from tests.pipeline.report_html.browser import Browser, started_browser


@pytest.fixture(scope="session")
def running_browser() -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser


@pytest.fixture
def browser(running_browser: Browser) -> Iterator[Browser]:
    """A browser without storage of earlier tests, on a screen of 1280 by 720; no test may leave a message."""
    running_browser.driver.get("about:blank")
    running_browser.driver.execute_cdp_cmd(
        "Storage.clearDataForOrigin", {"origin": "file://", "storageTypes": "all"}
    )
    running_browser.emulate()
    running_browser.errors()
    yield running_browser
    assert running_browser.errors() == []
