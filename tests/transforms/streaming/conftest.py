"""The engine on which a test's pipelines run."""

from collections.abc import Iterator

import pytest

from tests.transforms.streaming.engines import CHOSEN, ENGINES


@pytest.fixture(params=ENGINES, scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the tests of a module on every engine."""
    before, CHOSEN[0] = CHOSEN[0], request.param
    yield request.param
    CHOSEN[0] = before
