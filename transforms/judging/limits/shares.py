"""The limits of a judge, and the part of them that each of several workers gets."""

from turnwise.schemas.judge_config import JudgeConfig

_COUNTED = ("max_calls", "max_tokens")
_MEASURED = ("max_cost", "requests_per_minute")


def stated_limits(config: JudgeConfig) -> dict[str, float]:
    """Returns the limits that a config states, by name."""
    stated = {name: getattr(config, name) for name in (*_COUNTED, *_MEASURED)}
    return {name: limit for name, limit in stated.items() if limit is not None}


def divided(config: JudgeConfig, workers: int) -> JudgeConfig:
    """Returns a config with the part of one of so many workers; calls and tokens are rounded down."""
    parts = {
        name: limit // workers if name in _COUNTED else limit / workers
        for name, limit in stated_limits(config).items()
    }
    return config.model_copy(update=parts)
