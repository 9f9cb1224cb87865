"""Output directories of runs that are made by hand: only what decides a gate."""

import re
from pathlib import Path
from typing import Any

import msgspec

from tests.pipeline.report_html import made_run
from turnwise.schemas.calibration import Calibration, Corrected, CriterionCalibration
from turnwise.schemas.comparison import Bounds

CONFIG = {"gate": {"rules": [{"rule": "coverage", "at_least": 0.9}]}}
CRITERIA = {"tool_trajectory_avg_score": {"threshold": 1.0}, "turn_latency": {"threshold": None}}
OPEN = {"worst_criterion": None, "worst_turn": None, "transcript": None, "language": None}
WRONG = {"severity_reason": "expectations", "problem_type": "a|b|", "problem_label": "a: b"}
VERDICTS = {"P": "PASS", "F": "FAIL", "-": None}


def conversation(name: str, verdict: str | None, **more: Any) -> dict[str, Any]:
    wrong = {} if verdict == "PASS" else {**WRONG, "why": f"{name} is wrong"}
    return made_run.conversation(name, verdict, 1, **{**OPEN, "eval_id": f"case-{name}", **wrong, **more})


def score(name: str, outcome: str | None, **more: Any) -> dict[str, Any]:
    row, value = conversation(name, outcome), {"PASS": 1.0, "FAIL": 0.0}.get(outcome or "")
    why = {"reason": None if outcome else "the log is incomplete", "outcome": outcome}
    why["explanation"] = "Missing: pay()." if outcome == "FAIL" else None
    return made_run.score(row, more.pop("turn_index", None), value, **{**why, **more})


def failure(message: str, **more: Any) -> dict[str, Any]:
    place = {"source": "logs.jsonl", "position": 7}
    base = {"stage": "parse", "error_type": "ValueError", "message": message}
    return made_run.failure(**{**base, **place, **more})


def calibration(run_id: str, value: float, interval: list[float]) -> bytes:
    """Returns a `calibration.json` that corrects the pass rate of the verdicts of 60 conversations."""
    numbers = {"scores": 60, "no_score": 0, "labels": 20, "cases": 20, "missing": 0}
    figure = Corrected(
        group="all", name=None, covers="all", raw=1.0, value=value, interval=Bounds(*interval), **numbers
    )
    counts = {"scores": 60, "no_score": 0, "labelled": 20, "cases": 20}
    counts |= {"raters": 1, "random": 20, "hand_picked": 0}
    verdict = CriterionCalibration(
        criterion="verdict", level="conversation", kind="outcomes", corrected=[figure], **counts
    )
    costs = {"false_pass_cost": 1.0, "false_fail_cost": 1.0}
    made = Calibration(run_id=run_id, labels=["l.jsonl"], lines=20, problems=[], criteria=[verdict], **costs)
    return msgspec.json.encode(made)


def make_run(
    directory: Path,
    verdicts: str = "",
    fields: Any = None,
    more: Any = (),
    scores: Any = None,
    failures: Any = (),
    corrected: Any = None,
    **document: Any,
) -> Path:
    """Writes the output directory of a run of conversations c0, c1, ...

    Their verdicts are written as `60P2F-` (`-` for none), and `fields` are those of all of them. `more`
    conversations and the `scores` (by default those of the verdicts) have a name, an outcome and fields, and
    `failures` a message and fields.
    """
    letters = "".join(letter * int(number or 1) for number, letter in re.findall(r"(\d*)([PF-])", verdicts))
    rows = [conversation(f"c{i}", VERDICTS[letter], **(fields or {})) for i, letter in enumerate(letters)]
    rows += (conversation(name, outcome, **fields) for name, outcome, fields in more)
    if scores is None:
        of_rows = ("app_version", "eval_id")
        scores = [
            (row["conversation_id"], row["verdict"], {name: row[name] for name in of_rows}) for row in rows
        ]
    made = [score(name, outcome, **fields) for name, outcome, fields in scores]
    rejected = [failure(message, **fields) for message, fields in failures]
    document = {"config": CONFIG, "criteria": CRITERIA, "run_id": directory.name, **document}
    document["counts"] = document.get("counts", {"rejected_records": len(rejected)})
    made_run.write_run(directory, rows, (), rejected, own_scores=made, **document)
    if corrected:
        path = directory / "calibration.json"
        path.write_bytes(calibration(document["run_id"], *corrected))
    return directory
