"""Message streams of the Claude Agent SDK and of `claude --output-format stream-json`."""

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.agents.notices import last_words, users_blocks
from turnwise.transforms.formats.messages.anthropic import read_agent, read_user
from turnwise.transforms.formats.messages.blocks import as_blocks, is_block, usage_of
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY, NO_REQUEST
from turnwise.transforms.formats.messages.values import as_object, key_set, kind_of, objects
from turnwise.transforms.formats.registry import Format, ReadSettings, record_place, register_format
from turnwise.transforms.formats.spellings import as_text, length

_STEPLESS = key_set(
    "control_request control_response control_cancel_request stream_event keep_alive rate_limit_event "
    "tool_progress auth_status tool_use_summary prompt_suggestion"
)
_TRIED = 5
_TURN_LIMIT = "error_max_turns"


def _is_line(value: JsonObject) -> bool:
    kind = kind_of(value)
    if kind in ("user", "assistant") and isinstance(value.get("message"), dict):
        return "session_id" in value or value["message"].get("role") == kind
    if kind in ("system", "result"):
        return "session_id" in value and "subtype" in value
    return kind in ("control_request", "control_response") and ("request_id" in value or "response" in value)


def _is_stream(record: JsonObject) -> bool:
    if _is_line(record):
        return True
    lines = record.get("messages")
    given = [line for line in lines[:_TRIED] if isinstance(line, dict)] if isinstance(lines, list) else []
    return any("direction" in line and isinstance(line.get("message"), dict) for line in given) or any(
        map(_is_line, given)
    )


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    lines = value.get("messages") if isinstance(value, dict) else value
    if lines is None:
        raise ValueError("one line of a message stream; such a stream is read as a whole file")
    entries = [
        line["message"] if "direction" in line and isinstance(line.get("message"), dict) else line
        for line in objects(lines, "messages")
    ]
    reader = _StreamReader()
    for entry in entries:
        reader.add(entry)
    return [reader.conversation(record_place(record))]


class _StreamReader:
    """Adds the lines of one stream to a dialogue."""

    def __init__(self) -> None:
        self.log = Dialogue()
        self.about: JsonObject = {}
        self.session: str | None = None
        self.is_over = True
        self.inner = 0

    def add(self, entry: JsonObject) -> None:
        """Adds a line."""
        kind, log = kind_of(entry), self.log
        if entry.get("session_id") not in (None, "default"):
            self.session = as_text(entry["session_id"])
        if entry.get("parent_tool_use_id") is not None:
            self.inner += sum(map(is_block, self._blocks(entry)))
        elif kind == "user" and not entry.get("isSynthetic"):
            self._user(entry)
        elif kind == "assistant":
            self._agent(entry)
        elif kind == "result":
            self._result(entry)
        elif kind == "system" and entry.get("subtype") == "init":
            self.about = entry
        elif kind not in _STEPLESS and kind not in ("system", "user"):
            log.unread.part(kind or "a line without a type")

    def _blocks(self, entry: JsonObject) -> list[JsonObject]:
        content = as_object(entry.get("message")).get("content")
        return as_blocks(content)

    def _user(self, entry: JsonObject) -> None:
        blocks = self._blocks(entry)
        own = users_blocks(blocks, self.log)
        if own or not blocks:
            read_user(own, self.log, entry.get("timestamp"))
            self.is_over = False

    def _agent(self, entry: JsonObject) -> None:
        if self.is_over:
            self.log.open()
            self.log.unread.add(MISSING_HISTORY, NO_REQUEST)
            self.is_over = False
        read_agent(self._blocks(entry), self.log)
        self.log.failure = entry.get("error") or self.log.failure

    def _result(self, entry: JsonObject) -> None:
        """Ends a turn: its tokens and times; its text repeats the last one."""
        log, turn = self.log, self.log.turn
        said = last_words(entry)
        log.agent("" if turn.agent_messages else said)
        log.usage(usage_of(entry.get("usage")))
        turn.latency_ms = length(entry.get("duration_ms"))
        turn.model_ms = length(entry.get("duration_api_ms"))
        subtype = entry.get("subtype")
        failed = entry.get("is_error") or subtype != "success"
        words = "max_turns" if subtype == _TURN_LIMIT else f"{subtype}: {said}" if said else subtype
        log.failure = words if failed else None
        log.finish = entry.get("stop_reason") or "stop"
        self.is_over = True

    def conversation(self, place: str) -> Conversation:
        """Returns the conversation of the lines."""
        log = self.log
        if self.inner:
            log.general.add("SubAgent", f"{self.inner} calls and results of sub-agents are left out")
        if self.about and not self.is_over:
            log.check_end()
        end = log.end({})
        return Conversation(
            conversation_id=self.session or place,
            source="claude_stream",
            app_version=as_text(self.about.get("claude_code_version")),
            turns=log.close(end),
            ended=end.ended,
            ended_detail=end.detail,
            meta={key: self.about[key] for key in ("model", "cwd") if key in self.about},
        )


register_format(
    Format(
        name="claude_stream",
        keys=("type", "session_id", "message"),
        other_keys=(("type", "subtype", "session_id", "duration_ms"),),
        help="message streams of the Claude Agent SDK, one file a session",
        rank=26,
        recognises=_is_stream,
        read_log=_read,
        is_list=_is_line,
        is_lines=_is_line,
        has_rubrics=False,
    )
)
