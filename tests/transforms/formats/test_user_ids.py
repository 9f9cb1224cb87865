"""The user of a conversation, as each format states it."""

from typing import Any

import pytest

from turnwise import evaluate

TURNS = [{"user": "hi", "agent": "hello"}]
MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
EVENT = {"author": "user", "invocation_id": "i", "content": {"role": "user", "parts": [{"text": "hi"}]}}


def spans(**attributes: str) -> Any:
    told = {"gen_ai.operation.name": "chat", "input.value": "hi", "output.value": "hello", **attributes}
    times = {"start_time": "2026-11-01T00:00:00Z", "end_time": "2026-11-01T00:00:01Z"}
    context = {"context": {"trace_id": "0x1", "span_id": "0x2"}, "parent_id": None}
    return {"name": "chat", **context, **times, "attributes": told, "kind": "SpanKind.INTERNAL"}


@pytest.mark.parametrize(
    ("record", "user"),
    [
        ({"conversation_id": "c", "user_id": "u-1", "turns": TURNS}, "u-1"),
        ({"conversation_id": "c", "user_id": 7, "turns": TURNS}, "7"),
        ({"conversation_id": "c", "turns": TURNS}, None),
        ({"id": "c", "user_id": "u-1", "messages": MESSAGES}, "u-1"),
        ({"id": "c", "user": "u-1", "messages": MESSAGES}, "u-1"),
        ({"id": "s", "app_name": "a", "user_id": "u-1", "events": [EVENT]}, "u-1"),
        (spans(**{"user.id": "u-1"}), "u-1"),
        (spans(**{"langfuse.user.id": "u-1"}), "u-1"),
        (spans(metadata='{"user_id": "u-1"}'), "u-1"),
        (spans(), None),
    ],
    ids=str,
)
def test_a_record_states_its_user(record: Any, user: str | None) -> None:
    (row,) = evaluate([record], criteria={"ended_normally": 1.0}).conversations
    assert row["user_id"] == user
