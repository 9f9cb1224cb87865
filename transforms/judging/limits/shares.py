"""The limits of a judge, and the part of them that each of several workers gets."""

from turnwise.schemas.config import JudgeConfig

_COUNTED = ("max_calls", "max_tokens")
BUDGET = (*_COUNTED, "max_cost")
"""Names of the limits of a budget, which several workers can count in one place."""


def stated_limits(config: JudgeConfig) -> dict[str, float]:
    """Returns the limits that a config states, by name."""
    stated = {name: getattr(config, name) for name in (*BUDGET, "requests_per_minute")}
    return {name: limit for name, limit in stated.items() if limit is not None}


def divided_limits(config: JudgeConfig, workers: int, shares_budget: bool) -> dict[str, float]:
    """Returns the part of one of so many workers; calls and tokens are rounded down.

    Args:
        config: Settings of the judge.
        workers: Number of worker processes.
        shares_budget: Whether all workers count in one budget, so that only the rate is divided.
    """
    return {
        name: limit // workers if name in _COUNTED else limit / workers
        for name, limit in stated_limits(config).items()
        if not shares_budget or name not in BUDGET
    }
