"""turnwise's reading of Langfuse's recordings beside Langfuse's own (`*.chatml.json`)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import turnwise

DATA = Path(__file__).parents[4] / "../shared/data/raw/formats/langfuse_trace"
NAMES = [path.name.removesuffix(".chatml.json") for path in sorted(DATA.glob("*.chatml.json"))]


class Reading(NamedTuple):
    """What a reader makes of a trace."""

    turns: int
    calls: list[tuple[str, dict[str, Any]]]
    answer: str | None


def langfuse_reading(name: str) -> Reading:
    """Returns what the messages say that Langfuse made of each observation.

    A turn is a text of the user that no observation before had. A call is one with an id, or with a name and
    arguments, that none before had. The answer is the agent's last text that calls nothing.
    """
    users: list[str] = []
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    answer: str | None = None
    for side, message in messages(name):
        text, asked = text_of(message), list(calls_of(message))
        if side == "input" and message.get("role") == "user" and text and text not in users:
            users.append(text)
        if side == "output" and message.get("role") in ("assistant", "model"):
            for own, called, args in asked:
                calls.setdefault(own or f"{called} {json.dumps(args)}", (called, args))
            answer = text if text and not asked else answer
    return Reading(len(users), list(calls.values()), answer)


def messages(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the messages of all observations that Langfuse could read, in the order of their start."""
    read = json.loads((DATA / f"{name}.chatml.json").read_text())
    trace = json.loads((DATA / f"{name}.trace.json").read_text())
    for observation in sorted(trace["observations"], key=lambda each: str(each["startTime"])):
        halves = read.get(observation["id"], {})
        for side in ("input", "output"):
            for message in halves.get(side, {}).get("data", []):
                yield side, message


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def calls_of(message: dict[str, Any]) -> Iterator[tuple[str | None, str, dict[str, Any]]]:
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if part.get("type") == "tool_use":
            yield part["id"], part["name"], part["input"]
    for call in message.get("tool_calls", ()):
        yield call.get("id"), call["name"], json.loads(call["arguments"])


def own_reading(name: str) -> Reading:
    (found,) = turnwise.read_conversations(str(DATA / f"{name}.trace.json"))
    calls = [(str(call.name), call.args or {}) for turn in found.turns for call in turn.tool_calls]
    return Reading(len(found.turns), calls, found.turns[-1].agent or None)


def differences(langfuse: Reading, own: Reading) -> dict[str, tuple[Any, Any]]:
    """Returns what Langfuse reads and what turnwise reads, where they differ; of answers the beginnings."""
    found: dict[str, tuple[Any, Any]] = {}
    if langfuse.turns != own.turns:
        found["turns"] = (langfuse.turns, own.turns)
    if langfuse.calls != own.calls:
        found["calls"] = (len(langfuse.calls), len(own.calls))
    if langfuse.answer != own.answer:
        found["answer"] = tuple(text and text[:30] for text in (langfuse.answer, own.answer))
    return found


DIFFERENCES: dict[str, dict[str, tuple[Any, Any]]] = {
    # Its adapter refuses the input (`system: ...`, `user: ...` in one text) and the output (a plain text).
    "autogen-2025-06-06": {"turns": (0, 1), "answer": (None, "Hello World!")},
    # The model writes its calls as text, and the tools' spans are events.
    "beeai-2025-08-01": {"calls": (0, 2)},
    # Its adapter refuses the inputs, which are one message or `{prompt, system}`.
    "claude-agent-2025-12-22": {"turns": (0, 1)},
    # Its adapter refuses an output that is a plain text.
    "crewai-2025-07-11": {"answer": (None, "I now can give a great answer ")},
    # It takes the tool's result, which google-adk sends in the role of the user, for a message of the user.
    "google-adk-2025-08-28": {"turns": (2, 1)},
    # It takes an instruction in the role of the user, which only the model was given, for one.
    "langgraph-python-2025-08-22": {"turns": (2, 1)},
}
"""Of each recording on which the two do not agree: what Langfuse reads, and what turnwise reads."""


@pytest.mark.skipif(not NAMES, reason="no shared data here")
def test_langfuses_own_reading_is_agreed_with_or_the_difference_is_known() -> None:
    found = {name: differences(langfuse_reading(name), own_reading(name)) for name in NAMES}
    assert {name: each for name, each in found.items() if each} == DIFFERENCES
