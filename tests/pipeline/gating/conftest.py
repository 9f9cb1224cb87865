"""Output directories of runs that are made by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turnwise.schemas.calibration import Calibration, Corrected, CriterionCalibration
from turnwise.schemas.comparison import Bounds
from turnwise.schemas.rows import ConversationRow, ScoreRow

CONFIG = {"gate": {"rules": [{"rule": "coverage", "at_least": 0.9}]}}
CRITERIA = {"tool_trajectory_avg_score": {"threshold": 1.0}, "turn_latency": {"threshold": None}}


def conversation(name: str, verdict: str | None, **more: Any) -> dict[str, Any]:
    row = {
        "run_id": "r",
        "conversation_id": name,
        "eval_id": f"case-{name}",
        "eval_set_id": None,
        "app_version": "v1",
        "language": None,
        "tags": [],
        "verdict": verdict,
        "reason": None if verdict else "no judge is configured",
        "ended": None,
        "worst_criterion": None,
        "worst_turn": None,
        "why": None if verdict == "PASS" else f"{name} is wrong",
        "harm": 0.0 if verdict == "PASS" else 1.0,
        "harm_term": None if verdict == "PASS" else "expectations",
        "cluster": None if verdict == "PASS" else "a|b|",
        "cluster_label": None if verdict == "PASS" else "a: b",
        "turns": 1,
        "tool_calls": 0,
        "tool_errors": 0,
        "destructive_calls": 0,
        "unclear_tools": [],
        "guessed_tools": [],
        "latency_seconds": None,
        "tokens_in": None,
        "tokens_out": None,
        "event_time": None,
        "source": "logs.jsonl",
        "position": 1,
        "revision": 0,
        "transcript": None,
    }
    return {**dict.fromkeys(ConversationRow.__annotations__), **row, **more}


def score(name: str, outcome: str | None, **more: Any) -> dict[str, Any]:
    row = {
        "run_id": "r",
        "score_id": f"s-{name}",
        "conversation_id": name,
        "eval_id": f"case-{name}",
        "app_version": "v1",
        "turn_index": None,
        "criterion": "tool_trajectory_avg_score",
        "value": {"PASS": 1.0, "FAIL": 0.0}.get(outcome or ""),
        "outcome": outcome,
        "threshold": 1.0,
        "label": None,
        "reason": None if outcome else "the log is incomplete",
        "explanation": "Missing: pay()." if outcome == "FAIL" else None,
        "details": None,
        "judge": None,
        "event_time": None,
        "language": None,
        "tags": [],
        "revision": 0,
    }
    return {**dict.fromkeys(ScoreRow.__annotations__), **row, **more}


def failure(message: str, **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("record", "conversation_id", "criterion", "app_version", "turn_index"))
    base = {"run_id": "r", "stage": "parse", "error_type": "ValueError", "message": message}
    return {**base, "source": "logs.jsonl", "position": 7, **empty, **more}


def calibration(run_id: str, value: float, interval: tuple[float, float]) -> bytes:
    """Returns a `calibration.json` that corrects the pass rate of the verdicts of 60 conversations."""
    figure = Corrected(
        group="all",
        name=None,
        covers="all",
        scores=60,
        undecided=0,
        labels=20,
        cases=20,
        missing=0,
        raw=1.0,
        value=value,
        interval=Bounds(*interval),
    )
    counts = {"scores": 60, "unscored": 0, "labelled": 20, "cases": 20, "raters": 1, "random": 20}
    own = CriterionCalibration(
        criterion="evaluation_status",
        level="conversation",
        kind="outcomes",
        hand_picked=0,
        corrected=[figure],
        **counts,
    )
    found = Calibration(
        run_id=run_id,
        labels=["l.jsonl"],
        lines=20,
        problems=[],
        false_pass_cost=1.0,
        false_fail_cost=1.0,
        criteria=[own],
    )
    return msgspec.json.encode(found)


WriteRun = Callable[..., Path]


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Returns a function that writes the output directory of a run from its rows."""

    def write(
        name: str,
        rows: list[dict[str, Any]],
        scores: list[dict[str, Any]] | None = None,
        failures: list[dict[str, Any]] | None = None,
        **document: Any,
    ) -> Path:
        place = tmp_path / name
        place.mkdir()
        if scores is None:
            version = [(row["conversation_id"], row["verdict"], row["app_version"]) for row in rows]
            scores = [score(one, verdict, app_version=named) for one, verdict, named in version]
        tables = {"scores": scores, "conversations": rows, "failures": failures or [], "results": []}
        for table, content in tables.items():
            path = place / f"{table}-00000-of-00001.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in content))
        for table in ("metrics_by_app_version", "metrics_by_turn", "metrics_by_slice"):
            (place / f"{table}.jsonl").write_text("")
        base = {
            "run_id": name,
            "create_time": "2026-11-22T00:00:00.000Z",
            "input": ["logs.jsonl"],
            "output_format": "jsonl",
            "config": CONFIG,
            "criteria": CRITERIA,
            "versions": {"turnwise": "0.2.0"},
            "counts": {"lost_records": len(failures or [])},
            "judge": {"backend": "none"},
            "problems": [],
            "exit_status": 0,
        }
        (place / "run.json").write_text(json.dumps({**base, **document}))
        return place

    return write
