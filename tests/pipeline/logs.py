"""Small logs, configs and directories of runs for the tests of commands."""

import json
from pathlib import Path
from typing import Any

ROUGE = {"criteria": {"response_match_score": 0.5}}


def turn(agent: str = "Hello", response: str | None = "Hello", **fields: Any) -> dict[str, Any]:
    """Returns a turn that says something and, unless None, the answer that is expected of it."""
    expected = {} if response is None else {"expected": {"response": response}}
    return {"user": "Hi", "agent": agent, **expected, **fields}


def log(
    name: str = "c1", agent: str = "Hello", response: str | None = "Hello", **fields: Any
) -> dict[str, Any]:
    """Returns a conversation of one turn."""
    return {"conversation_id": name, "turns": [turn(agent, response)], **fields}


def order(number: int, words: str = "") -> dict[str, Any]:
    """Returns a conversation about an order, whose answer is grounded and differs from the expected one."""
    said = turn(f"Order {number} arrives on Monday.", f"Your order {number} will come on Monday.")
    calls = [{"name": "track", "args": {"order": number}}]
    replies = [{"name": "track", "response": {"order": number, "arrives": "Monday"}}]
    said |= {"user": f"Where is order {number}?{words}", "tool_calls": calls, "tool_responses": replies}
    return {"conversation_id": f"c{number}", "app_version": "v1", "turns": [said]}


def turn_scores(run: Any, criterion: str = "final_response_match_v2") -> list[dict[str, Any]]:
    """Returns the score rows of turns by a criterion."""
    rows = [row for row in run.rows("scores") if row["criterion"] == criterion]
    return [row for row in rows if row["turn_index"] is not None]


def lines(*records: Any) -> str:
    """Returns records as JSON Lines; a text stands for itself."""
    return "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records)


def write(path: Path, *records: Any) -> Path:
    """Writes records as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines(*records), encoding="utf-8")
    return path


def snapshot(folder: Path) -> dict[Path, bytes]:
    """Returns every file below a folder, to see that nothing changed."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
