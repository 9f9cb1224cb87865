"""A server that stands in for models."""

import contextlib
import gc
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

SERVER = Path(__file__).parent / "judge_server.py"
KEY = "key-of-the-tests"
CREDENTIALS = (
    *("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
    *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
)
OLD_COLLECTIONS = 1000


# Workers of pytest-xdist would have 80.
os.environ["COLUMNS"] = "120"
settings.register_profile(
    "slow machine", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("slow machine")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects tests without the garbage collector, which would scan thousands of them again and again.

    Afterwards it seldom scans what has become old, the tests themselves above all.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        young, middle, _ = gc.get_threshold()
        gc.set_threshold(young, middle, OLD_COLLECTIONS)
        gc.enable()


def pytest_unconfigure() -> None:
    """Leaves all that exists to the end of the process: pytest would scan it five times more."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def without_credentials():
    """Takes the developer's own credentials away, so that no test asks a real model."""
    own = {name: os.environ.pop(name) for name in CREDENTIALS if name in os.environ}
    yield
    os.environ.update(own)


@pytest.fixture
def with_credentials(server):
    """Gives the process the key of the server."""
    os.environ["GOOGLE_API_KEY"] = server.key
    yield
    del os.environ["GOOGLE_API_KEY"]


@pytest.fixture(scope="module")
def packages_beside() -> Iterator[None]:
    """Makes pandas, scipy and statsmodels importable, from a folder beside the environment.

    In the environment itself, Beam would import pandas into every process, and NLTK scipy. What exists is
    frozen, because statsmodels calls the garbage collector in `multipletests`: to scan it takes seconds.
    """
    folder = Path(sys.prefix, "beside")
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}; ./run_local.sh test installs it")
    sys.path.append(str(folder))
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        sys.path.remove(str(folder))


@pytest.fixture
def unchanged() -> Iterator[None]:
    """Removes from this process, in the end, what plugins and examples add."""
    from turnwise.pipeline.io.sinks import SINKS
    from turnwise.schemas.registry import PLUGINS
    from turnwise.transforms.criteria.base import CRITERIA
    from turnwise.transforms.decisions.conversion import TARGETS
    from turnwise.transforms.formats.registry import FORMATS, _in_order
    from turnwise.transforms.judging.judges import JUDGES

    registries: list[Any] = [CRITERIA, FORMATS, JUDGES, SINKS, TARGETS]
    known = [(registry, dict(registry.items())) for registry in registries]
    modules = set(sys.modules)
    yield
    for registry, items in known:
        registry._items = items
    _in_order.cache_clear()
    for name in set(sys.modules) - modules:
        if name.startswith("turnwise.schemas.plugin_files"):
            del sys.modules[name]
    os.environ.pop(PLUGINS, None)


class Server:
    """The server that stands in for models."""

    key = KEY

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"

    def _get(self, path):
        with urllib.request.urlopen(self.url + path) as response:
            return json.load(response)

    def script(self, *rules):
        data = json.dumps(rules).encode()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/script", data, method="POST")).close()

    def stats(self):
        return self._get("/stats?times=1")

    def last(self):
        return self._get("/last")


@contextlib.contextmanager
def started_server():
    command = [sys.executable, str(SERVER), "--key", KEY]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield Server(int(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def running_server():
    with started_server() as server:
        yield server


@pytest.fixture
def server(running_server):
    running_server.script()
    return running_server


@pytest.fixture
def own_server():
    """Returns a server of the test's own, for one whose calls may go on when it has ended."""
    with started_server() as server:
        yield server
