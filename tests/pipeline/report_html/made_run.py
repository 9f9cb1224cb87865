"""Output directories of runs, made by hand: rows as a run writes them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from turnwise.schemas.rows import ConversationRow, FailureRow, ScoreRow

Row = dict[str, Any]

DOCUMENT: Row = {
    "run_id": "run-1",
    "format_version": 2,
    "create_time": "2026-05-01T09:00:00Z",
    "input": ["logs"],
    "output_format": "jsonl",
    "config": {},
    "criteria": {"tool_trajectory_avg_score": {"threshold": 1.0}},
    "versions": {"turnwise": "0.2.0"},
    "counts": {"records": 0, "parsed_records": 0, "rejected_records": 0, "rejected_conversations": 0},
    "judge": {
        "backend": "local",
        "sample_rate": 1.0,
        "flips": {
            "safety_v1": {"voted": 40, "flipped": 3, "flip_rate": 0.075},
            "hallucination": {"voted": 0, "flipped": None, "flip_rate": None},
        },
    },
    "problems": [],
    "exit_status": 0,
}


def turn(index: int, **changes: Any) -> Row:
    """Returns a turn of a transcript: a call as expected, and an answer."""
    call = {"name": "book_slot", "args": {"date": "2026-08-07", "time": "11:00"}, "effect": "write"}
    return {
        "index": index,
        "label": None,
        "user": f"Please book slot {index}.",
        "agent": "It is booked. The tyre is free.",
        "tool_calls": [{**call, "result": {"ok": True}, "error": None, "seconds": 0.5}],
        "seconds": 2.0,
        "expected": {"response": "It is booked.", "tool_calls": [call]},
        **changes,
    }


def conversation(name: str, verdict: str | None = "PASS", turns: int = 2, **changes: Any) -> Row:
    """Returns a row of `conversations-*`."""
    bad = {"why": "turn 2: missing book_slot", "severity_score": 1.0, "severity_reason": "missing_writes"}
    bad |= {"problem_type": "tool_trajectory_avg_score||book_slot", "problem_label": "missing book_slot"}
    worst = {"worst_criterion": "tool_trajectory_avg_score", "worst_turn": 1} if verdict == "FAIL" else {}
    return {
        **dict.fromkeys(ConversationRow.__annotations__),
        **{"run_id": "run-1", "conversation_id": name, "app_version": "v1", "language": "en"},
        **{
            "tags": [],
            "unclear_tools": [],
            "guessed_tools": [],
            "severity_score": 0.0,
            "position": 1,
            "revision": 0,
        },
        **{"verdict": verdict, "reason": None if verdict else "the judge gave no answer"},
        **{"turns": turns, "tool_calls": turns, "tool_errors": 0, "destructive_calls": 0},
        **{"latency_seconds": 2.0 * turns, "event_time": "2026-05-01T09:00:00Z", "source": "logs.jsonl"},
        **(bad if verdict != "PASS" else {}),
        **worst,
        "transcript": {
            **{"turns": [turn(i) for i in range(turns)], "expected": None, "cut": False, "left_out": None}
        },
        **changes,
    }


def score(row: Row, turn_index: int | None, value: float | None, **changes: Any) -> Row:
    """Returns a row of `scores-*` of a conversation."""
    criterion = changes.get("criterion", "tool_trajectory_avg_score")
    names = ("run_id", "conversation_id", "eval_id", "app_version", "language", "tags", "revision")
    return {
        **dict.fromkeys(ScoreRow.__annotations__),
        **{name: row[name] for name in names},
        "score_id": f"{row['conversation_id']}/{row['app_version']}/{turn_index}/{criterion}",
        "turn_index": turn_index,
        "criterion": criterion,
        "value": value,
        "outcome": None if value is None else "PASS" if value >= 1 else "FAIL",
        "threshold": 1.0,
        "reason": "the judge gave no answer" if value is None else None,
        "explanation": "Missing: book_slot." if value == 0 else None,
        "event_time": row["event_time"],
        **changes,
    }


def scores(row: Row) -> list[Row]:
    """Returns the scores that fit a conversation's verdict: of each turn and of the whole."""
    value = {"PASS": 1.0, "FAIL": 0.0}.get(row["verdict"] or "")
    turns = [score(row, i, 1.0 if i == 0 else value) for i in range(row["turns"])]
    return [*turns, score(row, None, value)]


def failure(**columns: Any) -> Row:
    """Returns a row of `failures-*`."""
    return {**dict.fromkeys(FailureRow.__annotations__), "run_id": "run-1", **columns}


def write_run(
    directory: Path,
    conversations: list[Row],
    extra: Iterable[Row] = (),
    failures: Iterable[Row] = (),
    own_scores: Iterable[Row] | None = None,
    **document: Any,
) -> Path:
    """Writes the output directory of a run: its own scores, or those that fit it, and `extra` ones."""
    directory.mkdir(parents=True)
    own = {**DOCUMENT, **document}
    rows = [{**row, "run_id": own["run_id"]} for row in conversations]
    read = dict.fromkeys(("records", "parsed_records", "conversations"), len(rows))
    own["counts"] = {**DOCUMENT["counts"], **read, **document.get("counts", {})}
    fitting = (one for row in rows for one in scores(row))
    tables = {
        "conversations": rows,
        "scores": [*(fitting if own_scores is None else own_scores), *extra],
        "failures": [failure(**row) for row in failures],
        "results": [],
    }
    for name, table in tables.items():
        write_rows(directory / f"{name}-00000-of-00001.jsonl", table)
    for name in ("metrics_by_app_version", "metrics_by_turn", "metrics_by_slice"):
        write_rows(directory / f"{name}.jsonl", [])
    (directory / "run.json").write_text(json.dumps(own))
    return directory


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Writes rows as JSON Lines; a lone surrogate as an escape."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
