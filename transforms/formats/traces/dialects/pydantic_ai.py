"""Pydantic AI and Logfire, beside what they write in OpenTelemetry's conventions."""

from turnwise.schemas.jsonio import JsonValue, dump_json
from turnwise.transforms.formats.traces.dialect import (
    SpanDialect,
    json_messages_at,
    messages_at,
    only_messages_at,
    register_dialect,
    text_at,
    usage_at,
    value_at,
)
from turnwise.transforms.formats.traces.message import AGENT, USER, SpanMessage
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import SpanStep

_RUNS = ("pydantic_ai.all_messages", "all_messages_events", "all_messages_json", "all_messages")
_KEYS = ("events", "tool_arguments", "tool_response", "final_result", "request_data", "response_data", *_RUNS)
_USAGE = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
}
_TOOL_NAMES = ("running tool: ", "running tool")


def _read(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    run = value_at(held, *_RUNS)
    if run is not None or text_at(held, "agent_name"):
        step.kind, step.name = "agent", text_at(held, "agent_name", "gen_ai.agent.name")
        step.input = _all_but_answer(run, value_at(held, "pydantic_ai.new_message_index"))
        step.output = messages_at(held.get("final_result"), AGENT) or _structured(held.get("final_result"))
    elif "tool_arguments" in held or "tool_response" in held or span.name.startswith(_TOOL_NAMES):
        step.kind, step.name = "tool", text_at(held, "gen_ai.tool.name")
        step.args, step.result = value_at(held, "tool_arguments"), value_at(held, "tool_response")
        step.has_result = step.result is not None
        step.call_id = text_at(held, "gen_ai.tool.call.id")
    elif "events" in held:
        messages = only_messages_at(held["events"], USER)
        step.kind = "model"
        given = value_at(held, "events")
        last = given[-1] if isinstance(given, list) and given else None
        is_choice = isinstance(last, dict) and last.get("event.name") == "gen_ai.choice"
        step.input, step.output = messages, None if messages else messages
        if is_choice and messages:
            step.input, step.output = messages[:-1] or None, messages[-1:]
    elif "request_data" in held:
        step.kind = "model"
        step.input = json_messages_at(held["request_data"], USER)
        step.output = json_messages_at(held.get("response_data"), AGENT)
        reply = value_at(held, "response_data")
        usage = reply.get("usage") if isinstance(reply, dict) else None
        step.usage = usage_at(usage, _USAGE) if isinstance(usage, dict) else None


def _structured(value: JsonValue) -> list[SpanMessage] | None:
    """Returns an answer that is JSON, as its text; None: there is none."""
    if value is None or value == "":
        return None
    return [SpanMessage(AGENT, [value if isinstance(value, str) else dump_json(value).decode()])]


def _all_but_answer(run: JsonValue, new_index: JsonValue) -> list[SpanMessage] | None:
    """Returns a run's messages up to the last that a user wrote."""
    messages = json_messages_at(run, USER)
    if not messages:
        return messages
    last = next((place for place in reversed(range(len(messages))) if messages[place].is_users), None)
    return None if last is None else messages[: last + 1]


register_dialect(
    SpanDialect(
        name="pydantic_ai", prefixes=frozenset((*_KEYS, "pydantic_ai", "agent_name")), read=_read, rank=45
    )
)
