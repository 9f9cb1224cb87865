"""Holds the rows of a run's tables against the numbers that the run counted."""

from collections.abc import Iterator

from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import MetricsByAppVersionRow, ScoreRow
from turnwise.schemas.values import JsonObject


def with_all_turns(
    directory: str, rows: Iterator[ScoreRow], metrics: Iterator[MetricsByAppVersionRow]
) -> Iterator[ScoreRow]:
    """Yields the score rows of a run.

    Args:
        directory: The output directory.
        rows: The rows of `scores-*`.
        metrics: The rows of `metrics_by_app_version`.

    Raises:
        ConfigError: There are fewer scores of turns than the metrics count.
    """
    number = 0
    for row in rows:
        number += row["turn_index"] is not None
        yield row
    own = (row for row in metrics if row["level"] == "turn" and row["window_start"] is None)
    stated = sum(row["count"] for row in own if row["pane"] is None)
    if number < stated:
        raise ConfigError(
            f"{directory}: files of scores hold {number} scores of turns, and its metrics count {stated}; "
            "copy the directory again, or score the logs again"
        )


def stated_rows(counts: JsonObject, table: str) -> int:
    """Returns how many rows a table has at least, by the counts; a stream adds revisions."""
    if table in ("results", "conversations"):
        return int(counts.get("results") or 0)
    if table == "failures":
        return sum((counts.get("failures") or {}).values()) + sum((counts.get("findings") or {}).values())
    return 0
