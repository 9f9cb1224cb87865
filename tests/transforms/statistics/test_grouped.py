"""Means and shares of values in groups."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.statistics.agreement import GroupSum, grouped_mean_interval, grouped_share_interval
from turnwise.transforms.statistics.tests import wilson_interval

SCALE = (0.0, 1.0)


def groups(*values: list[float]) -> list[GroupSum]:
    return [GroupSum(len(own), sum(own)) for own in values]


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30).filter(lambda own: len(set(own)) > 1))
def test_single_values_give_students_interval(stats: Any, values: list[int]) -> None:
    wanted = stats.t.interval(
        0.95, len(values) - 1, np.mean(values), np.std(values, ddof=1) / len(values) ** 0.5
    )
    found = grouped_mean_interval(groups(*([value] for value in values)), (-1000.0, 1000.0))
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_repeated_values_tell_no_more() -> None:
    once, often = (groups([0.2] * n, [0.4] * n, [0.9] * n) for n in (1, 10))
    assert grouped_mean_interval(often, SCALE) == pytest.approx(grouped_mean_interval(once, SCALE))


def test_an_open_scale_starts_at_0_unless_values_are_below() -> None:
    assert grouped_mean_interval(groups([1.0], [9.0]), None)[0] == 0.0  # type: ignore[index]
    assert grouped_mean_interval(groups([-1.0], [9.0]), None)[0] < -1.0  # type: ignore[index]
    within = grouped_mean_interval(groups([1.0], [9.0]), (0.0, 10.0))
    assert within == (0.0, 10.0)


@pytest.mark.parametrize(
    ("values", "scale", "interval"),
    [
        ([[1.0, 0.0]], SCALE, None),
        ([[2.0], [2.0]], None, None),
        ([[1.0], [1.0]], SCALE, (2 / (2 + 3.8415), 1.0)),
        ([[0.1 + 0.2], [0.3]], (0.0, 0.3), (0.3 - 0.3 * 3.8415 / 5.8415, 0.3)),
        ([[0.5] * 3, [0.5]], SCALE, (0.5 - 0.5 * 3.8415 / 5.8415, 0.5 + 0.5 * 3.8415 / 5.8415)),
    ],
)
def test_without_spread_nothing_is_certain(
    values: list[list[float]], scale: tuple[float, float] | None, interval: tuple[float, float] | None
) -> None:
    found = grouped_mean_interval(groups(*values), scale)
    assert found == (None if interval is None else pytest.approx(interval, abs=1e-4))


@pytest.mark.parametrize(
    ("values", "trials"),
    [([[1, 1, 1, 1], [0, 0, 0, 0]], (1, 2)), ([[1, 0, 1], [1], [0]], (3, 5))],
)
def test_trials_of_a_group_are_not_independent(
    values: list[list[float]], trials: tuple[float, float]
) -> None:
    found = grouped_share_interval(groups(*values))
    wanted = wilson_interval(*trials)
    assert found is not None and wanted is not None
    assert found == pytest.approx(wanted)
