"""Output directories of runs that are made by hand: only what decides a gate."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.pipeline.report_html import made_run
from turnwise.schemas.calibration import Calibration, Corrected, CriterionCalibration
from turnwise.schemas.comparison import Bounds

CONFIG = {"gate": {"rules": [{"rule": "coverage", "at_least": 0.9}]}}
CRITERIA = {"tool_trajectory_avg_score": {"threshold": 1.0}, "turn_latency": {"threshold": None}}
OPEN = {"worst_criterion": None, "worst_turn": None, "transcript": None, "language": None}
WRONG = {"severity_reason": "expectations", "problem_type": "a|b|", "problem_label": "a: b"}


def conversation(name: str, verdict: str | None, **more: Any) -> dict[str, Any]:
    wrong = {} if verdict == "PASS" else {**WRONG, "why": f"{name} is wrong"}
    return made_run.conversation(name, verdict, 1, **{**OPEN, "eval_id": f"case-{name}", **wrong, **more})


def score(name: str, outcome: str | None, turn_index: int | None = None, **more: Any) -> dict[str, Any]:
    row, value = conversation(name, outcome), {"PASS": 1.0, "FAIL": 0.0}.get(outcome or "")
    why = {"reason": None if outcome else "the log is incomplete", "outcome": outcome}
    why["explanation"] = "Missing: pay()." if outcome == "FAIL" else None
    return made_run.score(row, turn_index, value, **{**why, **more})


def failure(message: str, **more: Any) -> dict[str, Any]:
    place = {"source": "logs.jsonl", "position": 7}
    base = {"stage": "parse", "error_type": "ValueError", "message": message}
    return made_run.failure(**{**base, **place, **more})


def calibration(run_id: str, value: float, interval: tuple[float, float]) -> bytes:
    """Returns a `calibration.json` that corrects the pass rate of the verdicts of 60 conversations."""
    numbers = {"scores": 60, "no_score": 0, "labels": 20, "cases": 20, "missing": 0}
    figure = Corrected(
        group="all", name=None, covers="all", raw=1.0, value=value, interval=Bounds(*interval), **numbers
    )
    counts = {"scores": 60, "no_score": 0, "labelled": 20, "cases": 20}
    counts |= {"raters": 1, "random": 20, "hand_picked": 0}
    own = CriterionCalibration(
        criterion="verdict", level="conversation", kind="outcomes", corrected=[figure], **counts
    )
    costs = {"false_pass_cost": 1.0, "false_fail_cost": 1.0}
    made = Calibration(run_id=run_id, labels=["l.jsonl"], lines=20, problems=[], criteria=[own], **costs)
    return msgspec.json.encode(made)


WriteRun = Callable[..., Path]


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Returns a function that writes the output directory of a run from its rows."""

    def write(name: str, rows: Any, scores: Any = None, failures: Any = (), **document: Any) -> Path:
        if scores is None:
            scores = [
                score(row["conversation_id"], row["verdict"], app_version=row["app_version"]) for row in rows
            ]
        counts = {"rejected_records": len(failures)}
        own = {"config": CONFIG, "criteria": CRITERIA, "counts": counts, **document}
        return made_run.write_run(tmp_path / name, rows, (), failures, own_scores=scores, run_id=name, **own)

    return write
