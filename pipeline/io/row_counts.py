"""Holds the rows of a run's tables against the numbers that the run counted."""

from collections import Counter
from collections.abc import Iterable, Iterator

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import MetricsByAppVersionRow, ScoreRow
from turnwise.transforms.scoring.evaluate import STATUS


def with_all_scores(
    directory: str, rows: Iterator[ScoreRow], metrics: Iterator[MetricsByAppVersionRow]
) -> Iterator[ScoreRow]:
    """Yields the score rows of a run.

    Args:
        directory: The output directory.
        rows: The rows of `scores-*`.
        metrics: The rows of `metrics_by_app_version`.

    Raises:
        ConfigError: There are fewer scores of turns, or of whole conversations, than the metrics count.
    """
    found = {"turn": 0, "conversation": 0}
    for row in rows:
        found["conversation" if row["turn_index"] is None else "turn"] += 1
        yield row
    stated = _stated_scores(metrics)
    for level, number in found.items():
        if number < stated[level]:
            raise ConfigError(
                f"{directory}: files of scores hold {number} scores of {level}s, and its metrics count "
                f"{stated[level]}; copy the directory again, or score the logs again"
            )


def _stated_scores(metrics: Iterable[MetricsByAppVersionRow]) -> Counter[str]:
    """Returns how many scores the metrics count by level; in a stream, by the newest row of each window."""
    newest: dict[tuple[str | None, ...], MetricsByAppVersionRow] = {}
    for row in metrics:
        key = (row["window_start"], row["app_version"], row["criterion"], row["level"])
        known = newest.get(key)
        if row["criterion"] != STATUS and (not known or (known["revision"] or 0) < (row["revision"] or 0)):
            newest[key] = row
    stated: Counter[str] = Counter()
    for row in newest.values():
        stated[row["level"]] += row["count"]
    return stated


def stated_rows(counts: JsonObject, table: str) -> int:
    """Returns how many rows a table has at least, by the counts; a stream adds revisions."""
    if table in ("results", "conversations"):
        return int(counts.get("results") or 0)
    if table == "metrics_by_app_version":
        return min(1, int(counts.get("results") or 0))
    if table == "failures":
        return sum((counts.get("failures") or {}).values()) + sum((counts.get("findings") or {}).values())
    return 0
