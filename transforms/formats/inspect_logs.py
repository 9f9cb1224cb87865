"""Logs of Inspect: samples of an evaluation, each a conversation."""

from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import UNKNOWN, End, as_text, error_end, length
from turnwise.transforms.formats.fields import read_each
from turnwise.transforms.formats.identity import ANY, Paths
from turnwise.transforms.formats.messages.dialogue import Dialogue, read_dialogue
from turnwise.transforms.formats.messages.kinds import as_blocks, as_object, kind_of, objects, stated
from turnwise.transforms.formats.messages.parts import result_of
from turnwise.transforms.formats.registry import ReadSettings, record_place, register_built_in
from turnwise.transforms.text.dates import time_seconds

_ATTACHED = "attachment://"
_STEPLESS = ("reasoning", "data")
_READ = ("role", "tool_calls", "tool_call_id")


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> Sequence[Conversation | ValueError]:
    log = as_object(value)
    about = as_object(log.get("eval"))
    return read_each(objects(log.get("samples"), "samples"), lambda sample: _conversation(sample, about))


def _conversation(sample: JsonObject, about: JsonObject) -> Conversation:
    log = Dialogue()
    attached = as_object(sample.get("attachments"))
    messages = objects(sample.get("messages"), "messages")
    read_dialogue([_as_chat(message, attached) for message in messages], log)
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
        meta={"task_id": sample.get("id"), "trial": sample.get("epoch")}
        | {key: about.get(key) for key in ("task", "model")},
    )


def _as_chat(message: JsonObject, attached: JsonObject) -> JsonObject:
    """Returns a message whose text may name an attachment that holds it, in the spelling of chats."""
    parts: list[JsonValue] = []
    for part in as_blocks(message.get("content")):
        prefix, _, name = str(part.get("text")).rpartition(_ATTACHED)
        text = attached.get(name) if name and not prefix else None
        if kind_of(part) not in _STEPLESS:
            parts.append({**part, "text": text} if isinstance(text, str) else part)
    error = as_object(message.get("error"))
    words = error.get("message") or error.get("type")
    return {
        **{key: item for key, item in message.items() if key in _READ},
        "content": parts,
        "name": message.get("function"),
        "error": words or message.get("error"),
    }


# For example {"eval": {"task": "t"}, "samples": [{"id": 1, "messages": [{"role": "user", "content": "Hi"}]}]}
register_built_in(
    name="inspect_log",
    places=(("eval.revision", Paths(app_version=("commit",))), ("eval.metadata", ANY)),
    keys=("eval", "samples", "version"),
    help="logs of Inspect (`.eval` and `.json`), a conversation a sample",
    rank=22,
    recognises=lambda log: isinstance(log.get("samples"), list) and isinstance(log.get("eval"), dict),
    read_log=_read,
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
        role = "assistant" if kind == "agent.message" else "user"
        content = event.get("content")
        read_dialogue([{"role": role, "content": content, "timestamp": event.get("processed_at")}], log)
        start = time_seconds(log.turn.timestamp) if role == "assistant" else None
        if start is not None and time is not None:
            log.turn.latency_ms = length((time - start) * 1000)
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
register_built_in(
    name="anthropic_managed_agent",
    keys=("id", "type", "processed_at"),
    help="event logs of Anthropic's managed agents, one file a session",
    rank=29,
    recognises=_is_line,
    read_log=_read_managed,
    is_list=_is_line,
    is_lines=_is_line,
)
