"""Session logs of Claude Code: one JSON object a line, a file a session."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.transforms.formats.endings import End, as_text, length, token_counts
from turnwise.transforms.formats.messages.anthropic import (
    as_blocks,
    is_block,
    read_agent,
    read_user,
)
from turnwise.transforms.formats.messages.dialogue import Dialogue, counted
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY, NO_REQUEST
from turnwise.transforms.formats.messages.streams import as_object, key_set, kind_of, objects
from turnwise.transforms.formats.registry import Format, ReadSettings, record_place, register_format
from turnwise.transforms.text.dates import time_seconds

_STEPLESS = key_set(
    "progress system attachment summary file-history-snapshot queue-operation custom-title agent-name tag "
    "permission-mode last-prompt pr-link mode ai-title agent-setting worktree-state content-replacement"
)
_COMMANDS = ("<command-name>", "<local-command", "<command-message>", "<bash-", "Caveat: The messages below")
_INTERRUPTED = "[Request interrupted by user"


def _is_entry(value: JsonObject) -> bool:
    if "parentUuid" in value and not value.keys().isdisjoint(("uuid", "sessionId")):
        return True
    if value.keys() >= {"uuid", "sessionId", "type"}:
        # The first line of a session has no parent.
        return True
    kind = kind_of(value)
    return (kind == "summary" and "leafUuid" in value) or (
        kind in _STEPLESS and "-" in kind and "role" not in value
    )


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    if not isinstance(value, list):
        raise ValueError("one line of a session log; such a log is read as a whole file")
    found: list[Conversation] = []
    for entries in _segments(list(objects(value, "lines"))):
        kept, beside = _chain(entries)
        if any(map(_said, kept)):
            found.append(_conversation(kept, beside, entries, record, len(found)))
    return found


def _conversation(
    kept: Sequence[JsonObject], beside: int, entries: Sequence[JsonObject], record: Record, place: int
) -> Conversation:
    log = Dialogue()
    usage: dict[str, tuple[int, JsonValue]] = {}
    for entry, following in zip(kept, [*kept[1:], {}], strict=True):
        command = _typed_command(_content_of(entry), entry, following)
        if command:
            log.user(command, entry.get("timestamp"))
        _add(entry, log)
        # An error of the API stands in the log as a message that no model wrote.
        if entry.get("type") == "assistant" and log.turns and not entry.get("isApiErrorMessage"):
            name = _message_id(entry) or str(entry["uuid"])
            usage[name] = (len(log.turns) - 1, as_object(entry.get("message")).get("usage"))
    _measure(log, usage)
    inner = sum(map(is_block, (b for e in entries if e.get("isSidechain") for b in _blocks_of(e))))
    if inner and not kept[0].get("isSidechain"):
        log.general.add("SubAgent", f"{inner} calls and results of sub-agents are left out")
    if beside:
        said = f"{beside} messages are in branches that were left, such as retries"
        log.general.add("OtherBranch", said, calls=True)
    for kind in sorted({kind_of(e) for e in entries} - _STEPLESS - {"user", "assistant"}):
        log.general.add("UnreadPart", f"lines of the type {kind[:60]!r} are not read")
    is_left = _is_interrupted(kept[-1])
    end = End("user_left", str(_content_of(kept[-1]))[:100]) if is_left else None
    first, side = kept[0], all(entry.get("isSidechain") for entry in kept)
    stem = PurePosixPath(record.source).name.split(".")[0]
    name = as_text(first.get("sessionId")) or stem
    return log.conversation(
        f"{name}/{stem}" if side else f"{name}/{place + 1}" if place else name,
        "claude_code",
        end,
        app_version=as_text(first.get("version")),
        start_time=as_text(first.get("timestamp")),
        tags=["sub_agent"] if side else [],
        meta={key: first[key] for key in ("cwd", "gitBranch") if key in first},
    )


def _said(entry: JsonObject) -> bool:
    """Returns whether an entry is something that the user or the agent said."""
    if entry.get("isMeta") or entry.get("isCompactSummary"):
        return False
    content = _content_of(entry)
    is_command = isinstance(content, str) and content.lstrip().startswith((*_COMMANDS, _INTERRUPTED))
    return entry.get("type") in ("user", "assistant") and not is_command and not _is_interrupted(entry)


def _is_interrupted(entry: JsonObject) -> bool:
    content = _content_of(entry)
    first = content[0] if isinstance(content, list) and len(content) == 1 else None
    text = first.get("text") if isinstance(first, dict) else content
    return isinstance(text, str) and text.startswith(_INTERRUPTED)


def _add(entry: JsonObject, log: Dialogue) -> None:
    attached = as_object(entry.get("attachment"))
    if attached.get("type") == "queued_command" and isinstance(attached.get("prompt"), str):
        log.user(attached["prompt"], entry.get("timestamp"))
    if not _said(entry):
        return
    content, timestamp = _content_of(entry), entry.get("timestamp")
    blocks = as_blocks(content)
    if entry["type"] == "user":
        own = _users_blocks(blocks, log)
        if own or not blocks:
            read_user(own, log, timestamp)
        return
    read_agent(blocks, log)
    log.finish = as_object(entry.get("message")).get("stop_reason")
    if entry.get("isApiErrorMessage"):
        log.failure = str(content)[:200]
    start, end = time_seconds(log.turn.timestamp), time_seconds(timestamp)
    if start is not None and end is not None and end > start:
        log.turn.latency_ms = length((end - start) * 1000)


def _measure(log: Dialogue, usage: dict[str, tuple[int, JsonValue]]) -> None:
    """Adds the tokens of every message once; each of its lines repeats them."""
    for place, report in usage.values():
        turn = log.turns[place]
        turn.usage = counted(turn.usage, token_counts(as_object(report)))
        turn.inference_calls = (turn.inference_calls or 0) + 1


# For example {"type": "user", "uuid": "2", "parentUuid": "1", "sessionId": "s", "message": {...}}
register_format(
    Format(
        name="claude_code",
        keys=("uuid", "parentUuid", "sessionId", "message"),
        help="session logs of Claude Code, one file a session",
        rank=24,
        recognises=_is_entry,
        read_log=_read,
        is_list=_is_entry,
        is_lines=_is_entry,
        has_rubrics=False,
    )
)


_CLAUDE_STREAM_STEPLESS = key_set(
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


def _read_claude_stream(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
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
        elif kind not in _CLAUDE_STREAM_STEPLESS and kind not in ("system", "user"):
            log.unread.part(kind or "a line without a type")

    def _blocks(self, entry: JsonObject) -> list[JsonObject]:
        content = as_object(entry.get("message")).get("content")
        return as_blocks(content)

    def _user(self, entry: JsonObject) -> None:
        blocks = self._blocks(entry)
        own = _users_blocks(blocks, self.log)
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
        said = _last_words(entry)
        log.agent("" if turn.agent_messages else said)
        log.usage(entry.get("usage"))
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
        return log.conversation(
            self.session or place,
            "claude_stream",
            app_version=as_text(self.about.get("claude_code_version")),
            meta={key: self.about[key] for key in ("model", "cwd") if key in self.about},
        )


# For example {"type": "assistant", "session_id": "s", "message": {"role": "assistant", "content": [...]}}
register_format(
    Format(
        name="claude_stream",
        keys=("type", "session_id", "message"),
        other_keys=(("type", "subtype", "session_id", "duration_ms"),),
        help="message streams of the Claude Agent SDK, one file a session",
        rank=26,
        recognises=_is_stream,
        read_log=_read_claude_stream,
        is_list=_is_line,
        is_lines=_is_line,
        has_rubrics=False,
    )
)


_IDE = re.compile(
    r"\A(?:\s*<(ide_\w+|system-reminder)>(?:(?!</?\1>).)*</\1>)+\s*"
    r"|(?:\s*<(ide_\w+|system-reminder)>(?:(?!</?\2>).)*</\2>)+\s*\Z",
    re.DOTALL,
)
_TASK = "<task-notification>"
_COMMAND = re.compile(r"<command-name>\s*([^<]+?)\s*</command-name>")
_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_CAVEAT = re.compile(
    r"\s*(?:<local-command-caveat>\s*)?Caveat: the messages below were generated by the user", re.IGNORECASE
)
_SKILL = "Base directory for this skill:"


def _typed_command(content: JsonValue, entry: JsonObject, following: JsonObject) -> str | None:
    """Returns the command that the user typed; None: none, or it gave the agent nothing to do."""
    name = _COMMAND.search(content) if isinstance(content, str) else None
    if not (name and following.get("isMeta") and following.get("parentUuid") == entry.get("uuid")):
        return None
    if _CAVEAT.match(_first_text(following.get("message"))):
        return None
    args = _ARGS.search(str(content))
    return f"{name[1]} {args[1].strip() if args else ''}".strip()


def _first_text(message: JsonValue) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    first = content[0] if isinstance(content, list) and content else content
    said = first.get("text") if isinstance(first, dict) else first
    return said if isinstance(said, str) else ""


def _last_words(result: JsonObject) -> str:
    """Returns the text of a line that ends a turn, or else the JSON of its structured output."""
    said, structured = result.get("result"), result.get("structured_output")
    if not said and structured is not None:
        return structured if isinstance(structured, str) else dump_json(structured).decode()
    return said if isinstance(said, str) else ""


def _users_blocks(blocks: Sequence[JsonObject], log: Dialogue) -> list[JsonObject]:
    """Returns the blocks of a user's message without what the program wrote; empty: nothing else is in it.

    That is what the editor shows, reminders, news of background tasks, and the text of a skill after the call
    of the tool `Skill`.
    """
    return [found for block in blocks if (found := _users(block, log)) is not None]


def _users(block: JsonObject, log: Dialogue) -> JsonObject | None:
    text = block.get("text")
    if block.get("type") != "text" or not isinstance(text, str):
        return block
    start = text.lstrip()
    if start.startswith(_TASK) or (
        start.startswith(_SKILL)
        and (bool(log.turns) and any(call.name == "Skill" for call in log.turns[-1].tool_calls))
    ):
        return None
    own = _IDE.sub("", text) if "<ide_" in text or "<system-reminder>" in text else text
    return block if own == text else {**block, "text": own} if own.strip() else None


CLEAR = "<command-name>/clear"
SPOKEN = ("user", "assistant")


def _content_of(entry: JsonObject) -> JsonValue:
    """Returns what the message of an entry holds."""
    return as_object(entry.get("message")).get("content")


def _segments(entries: Sequence[JsonObject]) -> Iterator[list[JsonObject]]:
    """Yields the entries of each conversation: `/clear` and another session id start one."""
    segment: list[JsonObject] = []
    session: JsonValue = None
    for entry in entries:
        content, own = _content_of(entry), entry.get("sessionId") or session
        cleared = isinstance(content, str) and CLEAR in content
        if segment and (cleared or (session is not None and own != session)):
            yield segment
            segment = []
        session = own
        if not cleared:
            segment.append(entry)
    if segment:
        yield segment


# The log of a session is a tree, in which a retry opens a branch.
def _chain(entries: Sequence[JsonObject]) -> tuple[list[JsonObject], int]:
    """Returns the entries from the first to the newest one, and how many messages are in other branches.

    Results of parallel calls hang on their own call, and parts of one message may be siblings: they count.
    An entry whose parent is not in the log follows the one before it.
    """
    given = [entry for entry in entries if isinstance(entry.get("uuid"), str)]
    if not all(entry.get("isSidechain") for entry in given):
        given = [entry for entry in given if not entry.get("isSidechain")]
    by_id = {entry["uuid"]: entry for entry in given}
    before = {entry["uuid"]: last for last, entry in zip([None, *given], given, strict=False)}
    ends = [entry for entry in given if not entry.get("isMeta") and not entry.get("teamName")]
    kept: set[str] = set()
    at = ends[-1] if ends else None
    while at is not None and at["uuid"] not in kept:
        kept.add(at["uuid"])
        parent = at.get("parentUuid") or at.get("logicalParentUuid")
        at = None if parent is None else by_id.get(str(parent), before[at["uuid"]])
    ids = {_message_id(entry) for entry in given if entry["uuid"] in kept} - {None}
    kept |= {entry["uuid"] for entry in given if _message_id(entry) in ids}
    made = [block.get("id") for entry in given if entry["uuid"] in kept for block in _blocks_of(entry)]
    called = {call_id for call_id in made if isinstance(call_id, str)}
    kept |= {entry["uuid"] for entry in given if _answers(entry, called)}
    beside = [e for e in given if e["uuid"] not in kept and e.get("type") in SPOKEN and not e.get("isMeta")]
    return [entry for entry in given if entry["uuid"] in kept], len(beside)


def _message_id(entry: JsonObject) -> str | None:
    """Returns the id of the API's message, which several entries may share."""
    found = as_object(entry.get("message")).get("id")
    return found if isinstance(found, str) else None


def _blocks_of(entry: JsonObject) -> list[JsonObject]:
    """Returns the blocks of an entry's message."""
    content = _content_of(entry)
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _answers(entry: JsonObject, called: set[str]) -> bool:
    found = _blocks_of(entry)
    ids = [block.get("tool_use_id") for block in found]
    return bool(found) and all(map(is_block, found)) and all(isinstance(i, str) and i in called for i in ids)
