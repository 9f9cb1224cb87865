from typing import Any

import pytest


@pytest.fixture(scope="module")
def stats(packages_beside: None) -> Any:
    """Returns scipy's statistics."""
    from scipy import stats

    return stats
