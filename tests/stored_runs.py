"""Runs with conversations, scores and metrics in a store, made of the rows of `made_run`."""

from typing import Any

from tests.pipeline.report_html.made_run import DOCUMENT, scores
from tests.store_rows import put_tables
from turnwise.pipeline.store.database import CONVERSATION_ROWS, LOCAL_APP, METRIC_ROWS, SCORE_ROWS
from turnwise.pipeline.store.rows import conversation_columns, metric_columns, score_columns
from turnwise.pipeline.store.runs import Execution
from turnwise.schemas.rows import MetricsByAppVersionRow

_NOW = 1_790_000_000 * 10**9


def put_run(store, conversations, number=0, *, ends=True, **document):
    """Writes a run as the sink does, with the scores that fit; returns its name."""
    read = dict.fromkeys(("records", "parsed_records", "results", "conversations"), len(conversations))
    counts = {**DOCUMENT["counts"], **read}
    own = {**DOCUMENT, "config": {"judge": {}}, "counts": counts, **document}
    execution = Execution(
        own["run_id"], _NOW + number * 86_400 * 10**9, LOCAL_APP, f"2026-11-{number + 1:02}"
    )
    rows: list[Any] = [{**row, "user_id": None, "run_id": own["run_id"]} for row in conversations]
    tables = {
        CONVERSATION_ROWS: [conversation_columns(row, LOCAL_APP, 1) for row in rows],
        SCORE_ROWS: [score_columns(one, LOCAL_APP, 1, execution.day) for row in rows for one in scores(row)],
        METRIC_ROWS: [metric_columns(row, execution, 1) for row in _metrics(rows)],
    }
    return put_tables(store, execution, tables, own, ends=ends).home


def _metrics(rows):
    """Returns how many conversations of each version passed."""
    found = []
    for version in sorted({row["app_version"] for row in rows}):
        verdicts = [row["verdict"] for row in rows if row["app_version"] == version]
        passed, decided = verdicts.count("PASS"), len(verdicts) - verdicts.count(None)
        rate = passed / decided if decided else None
        figures = {"count": len(verdicts), "scored": decided, "no_score": verdicts.count(None), "errors": 0}
        figures["sampled_out"] = sum(
            bool(row["sampled_out"]) for row in rows if row["app_version"] == version
        )
        found.append(
            {
                **dict.fromkeys(MetricsByAppVersionRow.__annotations__),
                **figures,
                "run_id": rows[0]["run_id"],
                "app_version": version,
                "criterion": "verdict",
                "level": "conversation",
                "unit": "score",
                "mean": rate,
                "pass_count": passed,
                "fail_count": decided - passed,
                "pass_rate": rate,
                "pass_rate_low": None if rate is None else max(0.0, rate - 0.1),
                "pass_rate_high": None if rate is None else min(1.0, rate + 0.1),
                "conversations": len(verdicts),
                "turns": 2 * len(verdicts),
            }
        )
    return found
