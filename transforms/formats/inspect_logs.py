"""Logs of Inspect: samples of an evaluation, each a conversation."""

from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import UNKNOWN, End, as_text, error_end, failure_mark, length
from turnwise.transforms.formats.identity import ANY, Paths
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.parts import result_of
from turnwise.transforms.formats.messages.streams import (
    as_blocks,
    as_object,
    decoded,
    joined_texts,
    kind_of,
    objects,
    stated,
    text_at,
)
from turnwise.transforms.formats.problems import read_each
from turnwise.transforms.formats.registry import Format, ReadSettings, record_place, register_format
from turnwise.transforms.text.dates import time_seconds

_ATTACHED = "attachment://"
_STEPLESS = ("reasoning", "data")


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> Sequence[Conversation | ValueError]:
    log = as_object(value)
    about = as_object(log.get("eval"))
    return read_each(objects(log.get("samples"), "samples"), lambda sample: _conversation(sample, about))


def _conversation(sample: JsonObject, about: JsonObject) -> Conversation:
    log = Dialogue()
    attached = as_object(sample.get("attachments"))
    for message in objects(sample.get("messages"), "messages"):
        _add(message, log, attached)
    output = as_object(sample.get("output"))
    choices = output.get("choices")
    first = as_object(choices[0]) if isinstance(choices, list) and choices else {}
    # Agents take their call of `submit` out of the last message.
    is_submitted = first.get("stop_reason") == "tool_calls" and log.last == "agent"
    log.finish = None if is_submitted else first.get("stop_reason")
    error, limit, end = sample.get("error"), sample.get("limit"), None
    if error:
        end = error_end(as_object(error).get("message") or error)
    elif limit:
        end = End("limit", str(as_object(limit).get("type") or limit))
    elif not log.steps:
        end = UNKNOWN
    # The log states tokens and times of the sample, not of its turns.
    reports = as_object(sample.get("model_usage")) or {str(about.get("model") or ""): output.get("usage")}
    for model, usage in reports.items() if len(log.turns) == 1 else ():
        log.usage(usage, model)
    seconds = sample.get("total_time")
    if len(log.turns) == 1 and isinstance(seconds, int | float) and not isinstance(seconds, bool):
        log.turn.latency_ms = length(seconds * 1000)
    scores = as_object(sample.get("scores"))
    names = (about.get("run_id"), sample.get("id"), sample.get("epoch"))
    return log.conversation(
        "/".join(str(name) for name in names if name is not None),
        "inspect",
        end,
        start_time=as_text(about.get("created")),
        labels={name: as_object(score).get("value") for name, score in scores.items()},
        meta={
            "task_id": sample.get("id"),
            "trial": sample.get("epoch"),
            "task": about.get("task"),
            "model": about.get("model"),
        },
    )


def _text(parts: Sequence[JsonObject]) -> str:
    return joined_texts([text_at(part, "text") for part in parts if kind_of(part) == "text"])


def _add(message: JsonObject, log: Dialogue, attached: JsonObject) -> None:
    """Adds a message, of which the text may name an attachment that holds it."""
    role = message.get("role")
    if role == "system":
        return
    parts = as_blocks(message.get("content"))
    text = _text(parts)
    if text.startswith(_ATTACHED) and isinstance(attached.get(text.removeprefix(_ATTACHED)), str):
        text = attached[text.removeprefix(_ATTACHED)]
    if role == "user":
        log.user(text)
    elif role == "assistant":
        for part in parts:
            if kind_of(part) == "tool_use":
                log.call(part.get("name"), part.get("arguments"), part.get("id"))
                result = decoded(part.get("result"))
                log.result(result, part.get("id"), part.get("name"), failure_mark(part))
        log.agent(text)
        for call in objects(message.get("tool_calls"), "tool_calls"):
            log.call(call.get("function"), call.get("arguments"), call.get("id"))
            if call.get("parse_error"):
                wrong = str(call["parse_error"])[:100]
                log.unread.add("InvalidCall", f"the arguments of a call could not be read: {wrong}")
    elif role == "tool":
        error = as_object(message.get("error"))
        words = error.get("message") or error.get("type") or failure_mark(message)
        log.result(decoded(text), message.get("tool_call_id"), message.get("function"), words)
    else:
        log.unread.role(role)
    for part in parts:
        if kind_of(part) not in ("text", "tool_use", *_STEPLESS):
            log.unread.part(kind_of(part), role == "assistant")


# For example {"eval": {"task": "t"}, "samples": [{"id": 1, "messages": [{"role": "user", "content": "Hi"}]}]}
register_format(
    Format(
        name="inspect_log",
        places=(("eval.revision", Paths(app_version=("commit",))), ("eval.metadata", ANY)),
        keys=("eval", "samples", "version"),
        help="logs of Inspect (`.eval` and `.json`), a conversation a sample",
        rank=22,
        recognises=lambda record: (
            isinstance(record.get("samples"), list) and isinstance(record.get("eval"), dict)
        ),
        read_log=_read,
        has_rubrics=False,
    )
)


LINE = "line"
"""Key of a line that is an array, as an object."""
_CLIENT = "client.beta.sessions"
_CALLS = ("agent.tool_use", "agent.custom_tool_use", "agent.mcp_tool_use")
_RESULTS = ("agent.tool_result", "user.custom_tool_result", "agent.mcp_tool_result")
_OWN = ("user.message", "agent.message", *_CALLS, *_RESULTS)
_MANAGED_STEPLESS = ("session.", "span.", "agent.thinking", "user.interrupt", "user.tool_confirmation",
                     "agent.thread_")  # fmt: skip


def _is_line(value: JsonObject) -> bool:
    held = value.get(LINE)
    if isinstance(held, list) and len(held) == 2:
        return isinstance(held[0], str) and held[0].startswith(_CLIENT)
    return kind_of(value) in (*_OWN, "session.status_running") and "processed_at" in value


def _read_managed(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
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
            _add_managed(event, log, starts)
    agent = as_object(session.get("agent"))
    return [
        log.conversation(
            as_text(session.get("id")) or record_place(record),
            "anthropic_managed_agent",
            app_version=as_text(agent.get("version")),
            start_time=as_text(session.get("created_at")),
            meta={"agent": agent["name"]} if "name" in agent else {},
        )
    ]


def _add_managed(event: JsonObject, log: Dialogue, starts: dict[str, float]) -> None:
    kind, time = kind_of(event), time_seconds(event.get("processed_at"))
    if kind in ("user.message", "agent.message"):
        blocks, by_agent = as_blocks(event.get("content")), kind == "agent.message"
        if by_agent:
            log.agent(_text(blocks))
            start = time_seconds(log.turn.timestamp)
            log.turn.latency_ms = None if start is None or time is None else length((time - start) * 1000)
        else:
            log.user(_text(blocks), event.get("processed_at"))
        for block in blocks:
            if kind_of(block) != "text":
                log.unread.part(kind_of(block), by_agent)
    elif kind in _CALLS:
        server = as_text(event.get("mcp_server_name")) or ""
        log.call(event.get("name"), event.get("input"), event.get("id"), server)
    elif kind in _RESULTS:
        names = ("tool_use_id", "custom_tool_use_id", "mcp_tool_use_id")
        call_id = next((event[name] for name in names if event.get(name)), None)
        result = result_of({**event, "id": call_id})
        log.result(result.response, call_id, error=result.error)
    elif kind == "session.error":
        log.failure = event.get("error") or "session.error"
    elif kind == "session.status_idle":
        log.finish = as_object(event.get("stop_reason")).get("type")
    elif kind.startswith("span.model_request") and time is not None:
        begun = as_text(event.get("model_request_start_id"))
        if begun is None:
            starts[as_text(event.get("id")) or ""] = time
            return
        log.usage(event.get("model_usage"))
        if log.turns and begun in starts:
            log.turn.model_ms = length((log.turn.model_ms or 0.0) + (time - starts[begun]) * 1000)
    elif not kind.startswith(_MANAGED_STEPLESS):
        log.unread.part(kind or "an event without a type")


# For example {"id": "1", "type": "user.message", "content": [{"type": "text", ...}], "processed_at": "..."}
register_format(
    Format(
        name="anthropic_managed_agent",
        keys=("id", "type", "processed_at"),
        help="event logs of Anthropic's managed agents, one file a session",
        rank=29,
        recognises=_is_line,
        read_log=_read_managed,
        is_list=_is_line,
        is_lines=_is_line,
        has_rubrics=False,
    )
)
