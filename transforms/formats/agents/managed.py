"""Event logs of Anthropic's managed agents: events, or calls of the client as `[method, payload]`."""

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.blocks import as_blocks, result_value, usage_of
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import (
    as_object,
    joined_texts,
    kind_of,
    objects,
    stated,
    text_at,
)
from turnwise.transforms.formats.registry import Format, ReadSettings, record_place, register_format
from turnwise.transforms.formats.spellings import as_text, failure_mark, length
from turnwise.transforms.text.dates import time_seconds

LINE = "line"
"""Key of a line that is an array, as an object."""
_CLIENT = "client.beta.sessions"
_CALLS = ("agent.tool_use", "agent.custom_tool_use", "agent.mcp_tool_use")
_RESULTS = ("agent.tool_result", "user.custom_tool_result", "agent.mcp_tool_result")
_OWN = ("user.message", "agent.message", *_CALLS, *_RESULTS)
_STEPLESS = (
    "session.",
    "span.",
    "agent.thinking",
    "user.interrupt",
    "user.tool_confirmation",
    "agent.thread_",
)


def _is_line(value: JsonObject) -> bool:
    held = value.get(LINE)
    if isinstance(held, list) and len(held) == 2:
        return isinstance(held[0], str) and held[0].startswith(_CLIENT)
    return kind_of(value) in (*_OWN, "session.status_running") and "processed_at" in value


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    if not isinstance(value, list):
        raise ValueError("one line of a session's log; such a log is read as a whole file")
    log, session, starts = Dialogue(), JsonObject(), dict[str, float]()
    for line in objects(value, "lines"):
        held = line.get(LINE)
        event = held[1] if isinstance(held, list) and len(held) == 2 else line
        if not isinstance(event, dict):
            continue  # What the client sent comes again as an event with an id.
        event = stated(event)
        if "agent" in event and "environment_id" in event:
            session = event
        else:
            _add(event, log, starts)
    end = log.end({})
    agent = as_object(session.get("agent"))
    return [
        Conversation(
            conversation_id=as_text(session.get("id")) or record_place(record),
            source="anthropic_managed_agent",
            app_version=as_text(agent.get("version")),
            start_time=as_text(session.get("created_at")),
            turns=log.close(end),
            ended=end.ended,
            ended_detail=end.detail,
            meta={"agent": agent["name"]} if "name" in agent else {},
        )
    ]


def _add(event: JsonObject, log: Dialogue, starts: dict[str, float]) -> None:
    kind, time = kind_of(event), time_seconds(event.get("processed_at"))
    if kind in ("user.message", "agent.message"):
        _message(event, kind == "agent.message", time, log)
    elif kind in _CALLS:
        log.call(
            event.get("name"),
            event.get("input"),
            event.get("id"),
            as_text(event.get("mcp_server_name")) or "",
        )
    elif kind in _RESULTS:
        names = ("tool_use_id", "custom_tool_use_id", "mcp_tool_use_id")
        call_id = next((event[name] for name in names if event.get(name)), None)
        log.result(result_value(event.get("content"), log), call_id, error=failure_mark(event))
    elif kind == "session.error":
        log.failure = event.get("error") or "session.error"
    elif kind == "session.status_idle":
        log.finish = as_object(event.get("stop_reason")).get("type")
    elif kind.startswith("span.model_request") and time is not None:
        _measure(event, log, starts, time)
    elif not kind.startswith(_STEPLESS):
        log.unread.part(kind or "an event without a type")


def _message(event: JsonObject, by_agent: bool, time: float | None, log: Dialogue) -> None:
    blocks = as_blocks(event.get("content"))
    said = joined_texts([text_at(block, "text") for block in blocks if kind_of(block) == "text"])
    if by_agent:
        log.agent(said)
        start = time_seconds(log.turn.timestamp)
        log.turn.latency_ms = None if start is None or time is None else length((time - start) * 1000)
    else:
        log.user(said, event.get("processed_at"))
    for block in blocks:
        if kind_of(block) != "text":
            log.unread.part(kind_of(block), by_agent)


def _measure(event: JsonObject, log: Dialogue, starts: dict[str, float], time: float) -> None:
    """Adds the tokens and the time of a request to the model."""
    begun = as_text(event.get("model_request_start_id"))
    if begun is None:
        starts[as_text(event.get("id")) or ""] = time
        return
    log.usage(usage_of(event.get("model_usage")))
    if log.turns and begun in starts:
        log.turn.model_ms = length((log.turn.model_ms or 0.0) + (time - starts[begun]) * 1000)


register_format(
    Format(
        name="anthropic_managed_agent",
        keys=("id", "type", "processed_at"),
        help="event logs of Anthropic's managed agents, one file a session",
        rank=29,
        recognises=_is_line,
        read_log=_read,
        is_list=_is_line,
        is_lines=_is_line,
        has_rubrics=False,
    )
)
