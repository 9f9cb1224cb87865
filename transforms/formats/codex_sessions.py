"""Session logs of Codex (`rollout-*.jsonl`) and the events of `codex exec --json`."""

import re
from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.formats.endings import End, as_text, failure_mark, length
from turnwise.transforms.formats.identity import ANY, Paths
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY, NO_REQUEST
from turnwise.transforms.formats.messages.model_apis import read_items
from turnwise.transforms.formats.messages.streams import as_object, key_set, kind_of, objects, objects_in
from turnwise.transforms.formats.registry import Format, ReadSettings, record_place, register_format

_ROLLOUT = key_set("session_meta turn_context response_item event_msg compacted world_state")
_EXEC = key_set(
    "thread.started turn.started turn.completed turn.failed item.started item.updated item.completed"
)
_STARTS = ("task_started", "turn_started", "turn.started")


def _is_line(value: JsonObject) -> bool:
    kind = kind_of(value)
    if kind in _ROLLOUT:
        return isinstance(value.get("payload"), dict)
    return kind in _EXEC and ("item" in value or "thread_id" in value or kind.startswith("turn."))


def _is_log(record: JsonObject) -> bool:
    return _is_line(record) or any(map(_is_line, objects_in(record.get("events"))[:3]))


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    given = value.get("events") if isinstance(value, dict) else value
    if given is None:
        raise ValueError("one line of a session log; such a log is read as a whole file")
    lines = list(objects(given, "lines"))
    reader = _RolloutReader(lines)
    for line in lines:
        if kind_of(line) in _EXEC:
            reader.add_event(line)
        else:
            reader.add(line, as_object(line.get("payload")))
    return [reader.conversation(record_place(record))]


class _RolloutReader:
    def __init__(self, lines: list[JsonObject]) -> None:
        self.log, self.about = Dialogue(), dict[str, JsonValue]()
        payloads = [as_object(line.get("payload")) for line in lines]
        self.typed = [str(p.get("message")).strip() for p in payloads if p.get("type") == "user_message"]
        self.only_typed = _only_typed(payloads)
        spoken = [p for p in payloads if p.get("type") == "message" and p.get("role") == "assistant"]
        self.spoken = {text.strip() for item in spoken for text in (*_texts(item), "\n".join(_texts(item)))}
        self.end: End | None = None
        self.is_running = False
        self.started: dict[str, str] = {}

    def add(self, line: JsonObject, payload: JsonObject) -> None:
        """Adds a line of a rollout; events repeat what items hold, but only they tell what the user typed."""
        kind, log = kind_of(line), self.log
        if kind == "session_meta":
            self.about = self.about or payload
        elif kind == "response_item":
            if payload.get("role") != "user" or is_typed(payload, self.typed):
                read_items([{"timestamp": line.get("timestamp"), **marked(payload)}], log)
                self.end = None
        elif kind == "event_msg":
            text = str(payload.get("message")).strip()
            if payload.get("type") == "user_message" and id(payload) in self.only_typed:
                log.user(text, line.get("timestamp"))
                self.end = None
            elif kind_of(payload) == "agent_message" and payload.get("message") and text not in self.spoken:
                log.agent(text)
                self.end = None
            self._event(payload)
        elif kind not in _ROLLOUT:
            log.general.add("UnreadPart", f"lines of the type {kind[:60]!r} are not read")

    def _event(self, payload: JsonObject) -> None:
        kind, log = kind_of(payload), self.log
        if kind == "token_count" and log.turns:
            log.usage(as_object(payload.get("info")).get("last_token_usage"))
        elif kind in _STARTS:
            self.is_running, log.failure = True, None
        elif kind in ("task_complete", "turn_complete") and log.turns:
            self.is_running = False
            log.turn.latency_ms = length(payload.get("duration_ms"))
            log.finish = "stop"
        elif kind == "turn_aborted":
            self.is_running = False
            self.end = End("user_left", as_text(payload.get("reason")) or kind)
        elif kind == "error":
            log.failure = payload.get("message") or "error"
        elif kind == "thread_rolled_back" and type(payload.get("num_turns")) is int:
            log.undo(payload["num_turns"])

    def add_event(self, line: JsonObject) -> None:
        """Adds an event of `codex exec`, which does not hold what the user wrote."""
        kind, log = kind_of(line), self.log
        if kind == "thread.started":
            self.about = {"id": line.get("thread_id")}
        elif kind in _STARTS or not log.turns:
            log.open()
            log.unread.add(MISSING_HISTORY, NO_REQUEST)
        if kind in _STARTS:
            self.is_running, log.failure = True, None
        elif kind == "item.started":
            item = as_object(line.get("item"))
            self.started[str(item.get("id"))] = kind_of(item)
        elif kind == "item.completed":
            self.started.pop(str(as_object(line.get("item")).get("id")), None)
            _add_item(as_object(line.get("item")), log)
        elif kind == "turn.completed":
            self.is_running = False
            log.usage(line.get("usage"))
            log.finish = "stop"
        elif kind == "turn.failed":
            self.is_running = False
            log.failure = line.get("error") or "turn.failed"

    def conversation(self, fallback_id: str) -> Conversation:
        """Returns the conversation of the lines."""
        if self.is_running and not self.end:
            self.log.check_end()
        for kind in self.started.values():
            self.log.unread.part(kind or "an item without a type")
        return self.log.conversation(
            as_text(self.about.get("id")) or fallback_id,
            "codex",
            self.end,
            start_time=as_text(self.about.get("timestamp")),
            meta={key: self.about[key] for key in ("cwd", "originator") if key in self.about},
        )


# For example {"type": "response_item", "payload": {"type": "message", "role": "user", ...}}
register_format(
    Format(
        name="codex",
        places=(("", ANY), ("payload", Paths(app_version=("cli_version",)))),
        keys=("timestamp", "type", "payload"),
        help="session logs of Codex, one file a session",
        rank=28,
        recognises=_is_log,
        read_log=_read,
        is_list=_is_line,
        is_lines=_is_line,
        has_rubrics=False,
    )
)


_OF_THE_TOOL = re.compile(
    r"\s*(?:# AGENTS\.md instructions.*"
    r"|<(environment_context|user_instructions|turn_\w+|permissions)\b[^>]*>.*</\1[^>]*>\s*)",
    re.DOTALL,
)
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:?) (-?\d+)", re.IGNORECASE | re.MULTILINE)
_STEPLESS = ("reasoning", "todo_list")


def _only_typed(payloads: Sequence[JsonObject]) -> set[int]:
    """Returns the ids of events of what the user typed that no item repeats.

    An item repeats one event: the one between the same two steps of the agent, or else one that is left.
    """
    events: list[tuple[int, JsonObject, str]] = []
    items: list[tuple[int, JsonObject, str]] = []
    step = 0
    for payload in payloads:
        is_message = payload.get("type") == "message"
        if payload.get("type") == "user_message":
            events.append((step, payload, str(payload.get("message")).strip()))
        elif is_message and payload.get("role") == "user":
            items.append((step, payload, "\n".join(_texts(payload)).strip()))
        elif is_message and payload.get("role") == "assistant":
            step += 1
    for is_near in (True, False):
        for event in list(events):
            fits = (i for i in items if i[2].startswith(event[2]) and (i[0] == event[0] or not is_near))
            item = min(fits, key=lambda item: item[2] != event[2], default=None)
            if item:
                items.remove(item)
                events.remove(event)
    return {id(payload) for _, payload, _ in events}


def _add_item(item: JsonObject, log: Dialogue) -> None:
    """Adds a finished item: a text, or a call with its result."""
    kind = kind_of(item) or str(item.get("item_type"))
    call_id = item.get("id")
    if kind in ("agent_message", "assistant_message"):
        log.agent(str(item.get("text") or ""))
    elif kind == "command_execution":
        log.call("shell", {"command": item.get("command")}, call_id)
        code = item.get("exit_code")
        error = f"exit code {code}" if code else failure_mark(item)
        log.result(item.get("aggregated_output"), call_id, "shell", error)
    elif kind == "mcp_tool_call":
        path = f"{item.get('server')}/{item.get('tool')}"
        log.call(item.get("tool"), item.get("arguments"), call_id, path)
        log.result(item.get("result"), call_id, item.get("tool"), failure_mark(item))
    elif kind == "file_change":
        log.call("apply_patch", {"changes": item.get("changes")}, call_id)
        log.result(item.get("status"), call_id, "apply_patch", failure_mark(item))
    elif kind == "web_search":
        log.call("web_search", {"query": item.get("query")}, call_id)
    elif kind == "error":
        log.unread.add("AgentError", f"an error: {str(item.get('message'))[:200]}")
    elif kind not in _STEPLESS:
        log.unread.part(kind)


def marked(payload: JsonObject) -> JsonObject:
    """Returns an item, with an error if its output states an exit code that is not 0."""
    output = payload.get("output")
    text = output if isinstance(output, str) else str(as_object(output).get("content") or "")
    # It stands in the metadata of the output, or in the lines before what the command wrote.
    metadata = as_object(as_object(json_structure(text)).get("metadata"))
    line = _EXIT.search(text.partition("Output:")[0])
    code = metadata.get("exit_code", line[1] if line else 0)
    return payload if str(code) == "0" else {**payload, "error": f"exit code {code}"}


def is_typed(payload: JsonObject, typed: Sequence[str]) -> bool:
    """Returns whether the user wrote a message, given what the log says was typed ([]: it does not say)."""
    texts = _texts(payload)
    if typed:
        return "\n".join(texts).strip().startswith(tuple(typed))
    return not texts or not all(map(_OF_THE_TOOL.fullmatch, texts))


def _texts(payload: JsonObject) -> list[str]:
    content = payload.get("content")
    return [content] if isinstance(content, str) else [str(p.get("text") or "") for p in objects_in(content)]
