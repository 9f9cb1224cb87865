"""Rows of google-adk's BigQuery plugin, by span."""

import re

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.traces.cut import CUT
from turnwise.transforms.formats.traces.dialect import (
    SpanDialect,
    register_dialect,
    text_at,
    usage_at,
    value_at,
)
from turnwise.transforms.formats.traces.message import AGENT, SpanMessage
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import Kind, SpanStep

_PREFIX = "adk_events."
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("LLM_", "model"),
    ("AGENT_RESPONSE", "model"),
    ("AGENT_TRANSFER", "handoff"),
    ("TOOL_", "tool"),
    ("INVOCATION_", "agent"),
    ("USER_MESSAGE", "agent"),
    ("AGENT_", "chain"),
)
_SAID = ("USER_MESSAGE_RECEIVED", "LLM_RESPONSE", "AGENT_RESPONSE")
_HARMLESS = ("STATE_DELTA",)
_USAGE = {
    "input_tokens": ("prompt", "prompt_tokens", "prompt_token_count", "input_tokens"),
    "output_tokens": ("completion", "completion_tokens", "candidates_token_count", "output_tokens"),
    "cached_tokens": ("cached", "cached_content_token_count"),
    "reasoning_tokens": ("thoughts", "thoughts_token_count"),
}
_TEXT = re.compile(r"(?:^| \| )text: '(.*?)'(?= \| (?:text|call|resp|other)|$)", re.DOTALL)
_SUMMARY = " | "


def _read(span: TraceSpan, step: SpanStep) -> None:
    rows = {key[len(_PREFIX) :]: row for key, row in span.attributes.items()
            if key.startswith(_PREFIX) and isinstance(row, dict)}  # fmt: skip
    if span.start == span.end and not any(row.get("has_latency") for row in rows.values()):
        # The row of an end alone says when, and not how long.
        span.end = 0
    for start, kind in _KINDS:
        if step.kind is None and any(name.startswith(start) for name in rows):
            step.kind = kind
    known = (*(start for start, _ in _KINDS), *_HARMLESS)
    unknown = next((name for name in rows if not name.startswith(known)), None)
    step.unread = unknown and f"events of the type {unknown!r}"
    for name, row in rows.items():
        content = row.get("content")
        held = content if isinstance(content, dict) else {}
        _add(name, row, held, content, step)


def _add(name: str, row: JsonObject, held: JsonObject, content: JsonValue, step: SpanStep) -> None:
    if row.get("is_truncated") and name in _SAID:
        step.output = None if name == _SAID[0] else [SpanMessage(AGENT, parts=[CUT])]
    elif name == "USER_MESSAGE_RECEIVED":
        step.user = _user(row, held, content)
    elif name.startswith("TOOL_"):
        step.name = text_at(held, "tool") or step.name
        step.args = step.args if step.args is not None else value_at(held, "args")
        if name == "TOOL_COMPLETED" and "result" in held:
            step.result, step.has_result = value_at(held, "result"), True
    elif name in ("LLM_RESPONSE", "AGENT_RESPONSE"):
        texts = _texts(
            next((held[key] for key in ("response", "text") if held.get(key) is not None), content)
        )
        step.output = [SpanMessage(AGENT, texts)] if texts else step.output
        usage = held.get("usage")
        step.usage = usage_at(usage, _USAGE) if isinstance(usage, dict) else None
    elif name == "AGENT_TRANSFER":
        step.target = text_at(held, "to_agent", "target_agent", "agent_name")


def _user(row: JsonObject, held: JsonObject, content: JsonValue) -> str | None:
    parts = row.get("parts")
    texts = [
        part["text"]
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and isinstance(part.get("text"), str) and part["text"]
    ]
    summary = text_at(held, "text_summary", "text") or (content if isinstance(content, str) else None)
    said = "\n".join(texts) or summary
    return None if said is None or said.startswith("Function response:") else said


def _texts(response: JsonValue) -> list[str]:
    if isinstance(response, dict):
        response = text_at(response, "text_summary", "text")
    if not isinstance(response, str) or not response:
        return []
    found = _TEXT.findall(response)
    return found or ([] if response.startswith("call: ") else [response])


register_dialect(SpanDialect(name="adk_events", prefixes=frozenset(("adk_events",)), read=_read, rank=5))
