"""Logs of agents: Claude Code, Codex and Anthropic's managed agents, a file a session; Inspect's samples."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, json_structure
from turnwise.transforms.formats import endings
from turnwise.transforms.formats.fields import read_each
from turnwise.transforms.formats.identity import ANY, Paths
from turnwise.transforms.formats.messages.dialogue import Dialogue, counted, read_dialogue
from turnwise.transforms.formats.messages.kinds import (
    as_blocks,
    as_object,
    key_set,
    kind_of,
    objects,
    objects_in,
    stated,
)
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY, NO_REQUEST
from turnwise.transforms.formats.messages.model_apis import is_anthropic_block, read_anthropic, read_items
from turnwise.transforms.formats.messages.parts import result_of
from turnwise.transforms.formats.registry import ReadSettings, record_place, register_built_in
from turnwise.transforms.text.dates import time_seconds

_CLAUDE_STEPLESS = key_set(
    "progress system attachment summary file-history-snapshot queue-operation custom-title agent-name tag "
    "permission-mode last-prompt pr-link mode ai-title agent-setting worktree-state content-replacement"
)
_COMMANDS = ("<command-name>", "<local-command", "<command-message>", "<bash-", "Caveat: The messages below")
_INTERRUPTED = "[Request interrupted by user"


def _is_entry(value: JsonObject) -> bool:
    kind, is_child = kind_of(value), "parentUuid" in value and bool(value.keys() & {"uuid", "sessionId"})
    is_stepless = kind in _CLAUDE_STEPLESS and "-" in kind and "role" not in value
    # The first line of a session has no parent.
    is_first = value.keys() >= {"uuid", "sessionId", "type"}
    return is_first or is_child or is_stepless or (kind == "summary" and "leafUuid" in value)


def _read_claude(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    if not isinstance(value, list):
        raise ValueError("one line of a session log; such a log is read as a whole file")
    # `/clear` and another session id start a conversation.
    segments: list[list[JsonObject]] = [[]]
    session: JsonValue = None
    for entry in objects(value, "lines"):
        content, session_id = _content_of(entry), entry.get("sessionId") or session
        cleared = isinstance(content, str) and "<command-name>/clear" in content
        if cleared or session not in (None, session_id):
            segments.append([])
        session = session_id
        if not cleared:
            segments[-1].append(entry)
    chains = [(entries, *_chain(entries)) for entries in segments if entries]
    spoken = enumerate(chain for chain in chains if any(map(_is_spoken, chain[1])))
    return [_conversation(*chain, record, number) for number, chain in spoken]


def _conversation(
    entries: Sequence[JsonObject], kept: Sequence[JsonObject], beside: int, record: Record, number: int
) -> Conversation:
    log = Dialogue()
    usage: dict[str, tuple[int, JsonObject]] = {}
    for entry, following in zip(kept, [*kept[1:], {}], strict=True):
        content = _content_of(entry)
        command = _COMMAND.search(content) if isinstance(content, str) else None
        if command and following.get("isMeta") and following.get("parentUuid") == entry.get("uuid"):
            # The user typed a command, unless that gave the agent nothing to do.
            answer = _content_of(following)
            first = answer[0] if isinstance(answer, list) and answer else answer
            text = first.get("text") if isinstance(first, dict) else first
            args = _ARGS.search(str(content))
            typed = f"{command[1]} {args[1].strip() if args else ''}".strip()
            if typed and not (isinstance(text, str) and _CAVEAT.match(text)):
                log.user(typed, entry.get("timestamp"))
        _add(entry, log)
        # An error of the API stands in the log as a message that no model wrote.
        if entry.get("type") == "assistant" and log.turns and not entry.get("isApiErrorMessage"):
            message_id = _message_id(entry) or str(entry["uuid"])
            usage[message_id] = (len(log.turns) - 1, as_object(entry.get("message")))
    # Each line of a message repeats its tokens.
    for turn_index, reply in usage.values():
        turn = log.turns[turn_index]
        turn.usage = counted(
            turn.usage, endings.token_counts(as_object(reply.get("usage"))), reply.get("model")
        )
        turn.inference_calls = (turn.inference_calls or 0) + 1
    beneath = (b for e in entries if e.get("isSidechain") for b in objects_in(_content_of(e)))
    inner = sum(map(is_anthropic_block, beneath))
    if inner and not kept[0].get("isSidechain"):
        log.general.add("SubAgent", f"{inner} calls and results of sub-agents are left out")
    if beside:
        message = f"{beside} messages are in branches that were left, such as retries"
        log.general.add("OtherBranch", message, calls=True)
    for kind in sorted({kind_of(e) for e in entries} - _CLAUDE_STEPLESS - {"user", "assistant"}):
        log.general.add("UnreadPart", f"lines of the type {kind[:60]!r} are not read")
    end = endings.End("user_left", _text_of(kept[-1])[:100]) if _is_interrupted(kept[-1]) else None
    first, side = kept[0], all(entry.get("isSidechain") for entry in kept)
    stem = PurePosixPath(record.source).name.split(".")[0]
    name = endings.as_text(first.get("sessionId")) or stem
    name = f"{name}/{stem}" if side else f"{name}/{number + 1}" if number else name
    made = log.conversation(name, "claude_code", end)
    made.start_time, made.tags = endings.as_text(first.get("timestamp")), ["sub_agent"] if side else []
    made.meta = {key: first[key] for key in ("cwd", "gitBranch") if key in first}
    return made


def _is_spoken(entry: JsonObject) -> bool:
    if entry.get("isMeta") or entry.get("isCompactSummary"):
        return False
    content = _content_of(entry)
    is_command = isinstance(content, str) and content.lstrip().startswith((*_COMMANDS, _INTERRUPTED))
    return entry.get("type") in ("user", "assistant") and not is_command and not _is_interrupted(entry)


def _is_interrupted(entry: JsonObject) -> bool:
    content = _content_of(entry)
    text = as_object(content[0]).get("text") if isinstance(content, list) and len(content) == 1 else content
    return isinstance(text, str) and text.startswith(_INTERRUPTED)


def _add(entry: JsonObject, log: Dialogue) -> None:
    attached = as_object(entry.get("attachment"))
    if attached.get("type") == "queued_command" and isinstance(attached.get("prompt"), str):
        log.user(attached["prompt"], entry.get("timestamp"))
    if not _is_spoken(entry):
        return
    if entry["type"] == "user":
        _add_user(entry, log)
        return
    content = _content_of(entry)
    read_anthropic([{"role": "assistant", "content": as_blocks(content) or None}], log)
    log.finish = as_object(entry.get("message")).get("stop_reason")
    if entry.get("isApiErrorMessage"):
        log.failure = _text_of(entry)[:200] or "error"
    start, end = time_seconds(log.turn.timestamp), time_seconds(entry.get("timestamp"))
    if start is not None and end is not None and end > start:
        log.turn.latency_ms = endings.length((end - start) * 1000)


# For example {"type": "user", "uuid": "2", "parentUuid": "1", "sessionId": "s", "message": {...}}
register_built_in(
    "claude_code", 24, "session logs of Claude Code, one file a session", _is_entry,
    ("uuid", "parentUuid", "sessionId", "message"), read_log=_read_claude, is_list=_is_entry,
    is_lines=_is_entry, places=(("", Paths(app_version=(*ANY.app_version, "version"))),),
)  # fmt: skip

_CLAUDE_STREAM_STEPLESS = key_set(
    "control_request control_response control_cancel_request stream_event keep_alive rate_limit_event "
    "tool_progress auth_status tool_use_summary prompt_suggestion"
)
_TRIED = 5


def _is_claude_line(value: JsonObject) -> bool:
    kind = kind_of(value)
    if kind in ("user", "assistant") and isinstance(value.get("message"), dict):
        return "session_id" in value or value["message"].get("role") == kind
    if kind in ("system", "result"):
        return "session_id" in value and "subtype" in value
    return kind in ("control_request", "control_response") and ("request_id" in value or "response" in value)


def _is_stream(record: JsonObject) -> bool:
    lines = objects_in(record.get("messages"))[:_TRIED]
    wrapped = ("direction" in line and isinstance(line.get("message"), dict) for line in lines)
    return _is_claude_line(record) or any(map(_is_claude_line, lines)) or any(wrapped)


def _read_claude_stream(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    lines = value.get("messages") if isinstance(value, dict) else value
    if lines is None:
        raise ValueError("one line of a message stream; such a stream is read as a whole file")
    log, about, is_over, inner = Dialogue(), JsonObject(), True, 0
    session: str | None = None
    for line in objects(lines, "messages"):
        is_wrapped = "direction" in line and isinstance(line.get("message"), dict)
        entry = line["message"] if is_wrapped else line
        kind = kind_of(entry)
        if entry.get("session_id") not in (None, "default"):
            session = endings.as_text(entry["session_id"])
        if entry.get("parent_tool_use_id") is not None:
            inner += sum(map(is_anthropic_block, as_blocks(_content_of(entry))))
        elif kind == "user":
            is_read = not entry.get("isSynthetic") and _add_user(entry, log)
            is_over = is_over and not is_read
        elif kind == "assistant":
            if is_over:
                log.open()
                log.unread.add(MISSING_HISTORY, NO_REQUEST)
            is_over = False
            blocks = as_blocks(_content_of(entry))
            read_anthropic([{"role": "assistant", "content": blocks or None}], log)
            log.failure = entry.get("error") or log.failure
        elif kind == "result":
            # It ends a turn, with its tokens and times; its text repeats the last one.
            text, subtype = entry.get("result"), entry.get("subtype")
            structured = entry.get("structured_output")
            if not text and structured is not None:
                text = structured if isinstance(structured, str) else dump_json(structured).decode()
            text = text if isinstance(text, str) else ""
            log.agent("" if log.turn.agent_messages else text)
            log.usage(entry.get("usage"), about.get("model"))
            log.turn.latency_ms = endings.length(entry.get("duration_ms"))
            log.turn.model_ms = endings.length(entry.get("duration_api_ms"))
            words = "max_turns" if subtype == "error_max_turns" else f"{subtype}: {text}" if text else subtype
            log.failure = words if entry.get("is_error") or subtype != "success" else None
            log.finish = entry.get("stop_reason") or "stop"
            is_over = True
        elif kind == "system":
            about = entry if entry.get("subtype") == "init" else about
        elif kind not in _CLAUDE_STREAM_STEPLESS:
            log.unread.part(kind or "a line without a type")
    if inner:
        log.general.add("SubAgent", f"{inner} calls and results of sub-agents are left out")
    if about and not is_over:
        log.check_end()
    made = log.conversation(session or record_place(record), "claude_stream")
    made.meta = {key: about[key] for key in ("model", "cwd") if key in about}
    return [made]


# For example {"type": "assistant", "session_id": "s", "message": {"role": "assistant", "content": [...]}}
register_built_in(
    "claude_stream", 26, "message streams of the Claude Agent SDK, one file a session", _is_stream,
    ("type", "session_id", "message"), other_keys=(("type", "subtype", "session_id", "duration_ms"),),
    read_log=_read_claude_stream, is_list=_is_claude_line, is_lines=_is_claude_line,
    places=tuple((path, Paths(app_version=("claude_code_version",))) for path in ("", "messages.message")),
)  # fmt: skip

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


def _add_user(entry: JsonObject, log: Dialogue) -> bool:
    """Adds a user's message without what the program wrote; returns whether anything else is in it.

    That is what the editor shows, reminders, news of background tasks, and the text of a skill after the call
    of the tool `Skill`.
    """
    typed: list[JsonObject] = []
    blocks, calls = as_blocks(_content_of(entry)), log.turns[-1].tool_calls if log.turns else []
    for block in blocks:
        text = block.get("text")
        if block.get("type") != "text" or not isinstance(text, str):
            typed.append(block)
            continue
        start = text.lstrip()
        if start.startswith(_TASK) or (start.startswith(_SKILL) and any(c.name == "Skill" for c in calls)):
            continue
        typed_text = _IDE.sub("", text) if "<ide_" in text or "<system-reminder>" in text else text
        if typed_text == text or typed_text.strip():
            typed.append({**block, "text": typed_text})
    if typed or not blocks:
        read_anthropic([{"role": "user", "content": typed, "timestamp": entry.get("timestamp")}], log)
    return bool(typed or not blocks)


def _content_of(entry: JsonObject) -> JsonValue:
    return as_object(entry.get("message")).get("content")


def _text_of(entry: JsonObject) -> str:
    blocks = as_blocks(_content_of(entry) or "")
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


# The log of a session is a tree, in which a retry opens a branch.
def _chain(entries: Sequence[JsonObject]) -> tuple[list[JsonObject], int]:
    """Returns the entries from the first to the newest one, and how many messages are in other branches.

    Results of parallel calls hang on their own call, and parts of one message may be siblings: they count.
    An entry whose parent is not in the log follows the one before it.
    """
    named = [entry for entry in entries if isinstance(entry.get("uuid"), str)]
    given = [entry for entry in named if not entry.get("isSidechain")] or named
    by_id = {entry["uuid"]: entry for entry in given}
    before = {entry["uuid"]: last for last, entry in zip([None, *given], given, strict=False)}
    ends = [entry for entry in given if not entry.get("isMeta") and not entry.get("teamName")]
    kept, at = set[str](), ends[-1] if ends else None
    while at is not None and at["uuid"] not in kept:
        kept.add(at["uuid"])
        parent = at.get("parentUuid") or at.get("logicalParentUuid")
        at = None if parent is None else by_id.get(str(parent), before[at["uuid"]])
    ids = {_message_id(entry) for entry in given if entry["uuid"] in kept} - {None}
    kept |= {entry["uuid"] for entry in given if _message_id(entry) in ids}
    named_blocks = [(entry["uuid"], objects_in(_content_of(entry))) for entry in given]
    made = [block.get("id") for name, blocks in named_blocks if name in kept for block in blocks]
    called = {call_id for call_id in made if isinstance(call_id, str)}
    for name, blocks in named_blocks:
        answered = [block.get("tool_use_id") for block in blocks]
        are_known = all(isinstance(call_id, str) and call_id in called for call_id in answered)
        if blocks and are_known and all(map(is_anthropic_block, blocks)):
            kept.add(name)
    left = [entry for entry in given if entry["uuid"] not in kept and not entry.get("isMeta")]
    beside = sum(entry.get("type") in ("user", "assistant") for entry in left)
    return [entry for entry in given if entry["uuid"] in kept], beside


def _message_id(entry: JsonObject) -> str | None:
    """Returns the id of the API's message, which several entries may share."""
    return endings.text_of(as_object(entry.get("message")), "id")


# Codex: `rollout-*.jsonl`, and the events of `codex exec --json`.

_ROLLOUT = key_set("session_meta turn_context response_item event_msg compacted world_state")
_EXEC = key_set(
    "thread.started turn.started turn.completed turn.failed item.started item.updated item.completed"
)


def _is_codex_line(value: JsonObject) -> bool:
    kind = kind_of(value)
    if kind in _ROLLOUT:
        return isinstance(value.get("payload"), dict)
    return kind in _EXEC and ("item" in value or "thread_id" in value or kind.startswith("turn."))


def _read_codex(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    given = value.get("events") if isinstance(value, dict) else value
    if given is None:
        raise ValueError("one line of a session log; such a log is read as a whole file")
    reader = _RolloutReader(list(objects(given, "lines")))
    log, about = reader.log, reader.about
    if reader.is_running and not reader.end:
        log.check_end()
    for kind in reader.started.values():
        log.unread.part(kind or "an item without a type")
    name = endings.as_text(about.get("id")) or record_place(record)
    made = log.conversation(name, "codex", reader.end)
    made.start_time = endings.as_text(about.get("timestamp"))
    made.meta = {key: about[key] for key in ("cwd", "originator") if key in about}
    return [made]


class _RolloutReader:
    def __init__(self, lines: list[JsonObject]) -> None:
        self.log, self.about = Dialogue(), JsonObject()
        payloads = [as_object(line.get("payload")) for line in lines]
        self.typed = [str(p.get("message")).strip() for p in payloads if p.get("type") == "user_message"]
        events, items, step = list[tuple[int, JsonObject, str]](), list[tuple[int, JsonObject, str]](), 0
        for payload in payloads:
            is_message = payload.get("type") == "message"
            if payload.get("type") == "user_message":
                events.append((step, payload, str(payload.get("message")).strip()))
            elif is_message and payload.get("role") == "user":
                items.append((step, payload, "\n".join(_texts(payload)).strip()))
            elif is_message and payload.get("role") == "assistant":
                step += 1
        # An item repeats one event of what the user typed: the one between the same two steps of the agent,
        # or else one that is left. Events that no item repeats stand for themselves.
        for is_near in (True, False):
            for event in list(events):
                fits = (i for i in items if i[2].startswith(event[2]) and (i[0] == event[0] or not is_near))
                item = min(fits, key=lambda item: item[2] != event[2], default=None)
                if item:
                    items.remove(item)
                    events.remove(event)
        self.only_typed = {id(payload) for _, payload, _ in events}
        spoken = [p for p in payloads if p.get("type") == "message" and p.get("role") == "assistant"]
        self.spoken = {text.strip() for item in spoken for text in (*_texts(item), "\n".join(_texts(item)))}
        self.end: endings.End | None = None
        self.is_running = False
        self.started: dict[str, str] = {}
        for line, payload in zip(lines, payloads, strict=True):
            self._add(line, payload)

    def _add(self, line: JsonObject, payload: JsonObject) -> None:
        # Events repeat what items hold, but only they tell what the user typed.
        kind, log = kind_of(line), self.log
        if kind in _EXEC:
            self._event(line)
        elif kind == "session_meta":
            self.about = self.about or payload
        elif kind == "response_item":
            texts = _texts(payload)
            is_typed = not texts or not all(map(_OF_THE_TOOL.fullmatch, texts))
            if self.typed:  # the log says what the user wrote
                is_typed = "\n".join(texts).strip().startswith(tuple(self.typed))
            if payload.get("role") != "user" or is_typed:
                output = payload.get("output")
                held = output if isinstance(output, str) else str(as_object(output).get("content") or "")
                # An exit code stands in the metadata of the output, or before what the command wrote.
                metadata = as_object(as_object(json_structure(held)).get("metadata"))
                exited = _EXIT.search(held.partition("Output:")[0])
                code = metadata.get("exit_code", exited[1] if exited else 0)
                error = {} if str(code) == "0" else {"error": f"exit code {code}"}
                read_items([{"timestamp": line.get("timestamp"), **payload, **error}], log)
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

    def _event(self, event: JsonObject) -> None:
        """Adds an event of a rollout, or one of `codex exec`, which does not log what the user wrote."""
        kind, log, item = kind_of(event), self.log, as_object(event.get("item"))
        if kind == "thread.started":
            self.about = {"id": event.get("thread_id")}
        elif kind == "turn.started" or (kind in _EXEC and not log.turns):
            log.open()
            log.unread.add(MISSING_HISTORY, NO_REQUEST)
        if kind in ("task_started", "turn_started", "turn.started"):
            self.is_running, log.failure = True, None
        elif kind == "item.started":
            self.started[str(item.get("id"))] = kind_of(item)
        elif kind == "item.completed":
            self.started.pop(str(item.get("id")), None)
            _add_item(item, log)
        elif kind == "token_count" and log.turns:
            log.usage(as_object(event.get("info")).get("last_token_usage"))
        elif kind in ("task_complete", "turn_complete") and log.turns:
            self.is_running = False
            log.turn.latency_ms = endings.length(event.get("duration_ms"))
            log.finish = "stop"
        elif kind == "turn.completed":
            self.is_running = False
            log.usage(event.get("usage"))
            log.finish = "stop"
        elif kind == "turn.failed":
            self.is_running = False
            log.failure = event.get("error") or kind
        elif kind == "turn_aborted":
            self.is_running = False
            self.end = endings.End("user_left", endings.as_text(event.get("reason")) or kind)
        elif kind == "error":
            log.failure = event.get("message") or kind
        elif kind == "thread_rolled_back" and type(event.get("num_turns")) is int:
            log.undo(event["num_turns"])


# For example {"type": "response_item", "payload": {"type": "message", "role": "user", ...}}
register_built_in(
    "codex", 28, "session logs of Codex, one file a session",
    lambda record: any(map(_is_codex_line, [record, *objects_in(record.get("events"))[:3]])),
    ("timestamp", "type", "payload"), read_log=_read_codex, is_list=_is_codex_line, is_lines=_is_codex_line,
    places=(("", ANY), ("payload", Paths(app_version=("cli_version",)))),
)  # fmt: skip

_OF_THE_TOOL = re.compile(
    r"\s*(?:# AGENTS\.md instructions.*"
    r"|<(environment_context|user_instructions|turn_\w+|permissions)\b[^>]*>.*</\1[^>]*>\s*)",
    re.DOTALL,
)
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:?) (-?\d+)", re.IGNORECASE | re.MULTILINE)


def _add_item(item: JsonObject, log: Dialogue) -> None:
    kind = kind_of(item) or str(item.get("item_type"))
    call_id = item.get("id")
    if kind in ("agent_message", "assistant_message"):
        log.agent(str(item.get("text") or ""))
    elif kind == "command_execution":
        log.call("shell", {"command": item.get("command")}, call_id)
        code = item.get("exit_code")
        error = f"exit code {code}" if code else endings.failure_mark(item)
        log.result(item.get("aggregated_output"), call_id, "shell", error)
    elif kind == "mcp_tool_call":
        path = f"{item.get('server')}/{item.get('tool')}"
        log.call(item.get("tool"), item.get("arguments"), call_id, path)
        log.result(item.get("result"), call_id, item.get("tool"), endings.failure_mark(item))
    elif kind == "file_change":
        log.call("apply_patch", {"changes": item.get("changes")}, call_id)
        log.result(item.get("status"), call_id, "apply_patch", endings.failure_mark(item))
    elif kind == "web_search":
        log.call("web_search", {"query": item.get("query")}, call_id)
    elif kind == "error":
        log.unread.add("AgentError", f"an error: {str(item.get('message'))[:200]}")
    elif kind not in ("reasoning", "todo_list"):
        log.unread.part(kind)


def _texts(payload: JsonObject) -> list[str]:
    content = payload.get("content")
    return [content] if isinstance(content, str) else [str(p.get("text") or "") for p in objects_in(content)]


# Logs of Inspect: samples of an evaluation, each a conversation.


def _samples(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation | ValueError]:
    log = as_object(value)
    about = as_object(log.get("eval"))
    return read_each(objects(log.get("samples"), "samples"), lambda sample: _sample(sample, about))


def _sample(sample: JsonObject, about: JsonObject) -> Conversation:
    log = Dialogue()
    attached = as_object(sample.get("attachments"))
    chat: list[JsonValue] = []
    for message in objects(sample.get("messages"), "messages"):
        parts: list[JsonValue] = []
        for part in as_blocks(message.get("content")):
            # A text may name an attachment that holds it.
            prefix, _, name = str(part.get("text")).rpartition("attachment://")
            text = attached.get(name) if name and not prefix else None
            if kind_of(part) not in ("reasoning", "data"):
                parts.append({**part, "text": text} if isinstance(text, str) else part)
        failed = as_object(message.get("error"))
        words = failed.get("message") or failed.get("type") or message.get("error")
        kept = {key: item for key, item in message.items() if key in ("role", "tool_calls", "tool_call_id")}
        chat.append({**kept, "content": parts, "name": message.get("function"), "error": words})
    read_dialogue(chat, log)
    output = as_object(sample.get("output"))
    choices = output.get("choices")
    first = as_object(choices[0]) if isinstance(choices, list) and choices else {}
    # Agents take their call of `submit` out of the last message.
    is_submitted = first.get("stop_reason") == "tool_calls" and log.last == "agent"
    log.finish = None if is_submitted else first.get("stop_reason")
    error, limit, end = sample.get("error"), sample.get("limit"), None
    if error:
        end = endings.error_end(as_object(error).get("message") or error)
    elif limit:
        end = endings.End("limit", str(as_object(limit).get("type") or limit))
    elif not log.steps:
        end = endings.UNKNOWN
    # The log states tokens and times of the sample, not of its turns.
    reports = as_object(sample.get("model_usage")) or {str(about.get("model") or ""): output.get("usage")}
    for model, usage in reports.items() if len(log.turns) == 1 else ():
        log.usage(usage, model)
    seconds = sample.get("total_time")
    if len(log.turns) == 1 and isinstance(seconds, int | float) and not isinstance(seconds, bool):
        log.turn.latency_ms = endings.length(seconds * 1000)
    scores = as_object(sample.get("scores"))
    names = (about.get("run_id"), sample.get("id"), sample.get("epoch"))
    made = log.conversation("/".join(str(name) for name in names if name is not None), "inspect", end)
    made.start_time = endings.as_text(about.get("created"))
    made.labels = {name: as_object(score).get("value") for name, score in scores.items()}
    made.meta = {"task_id": sample.get("id"), "trial": sample.get("epoch")}
    made.meta |= {key: about.get(key) for key in ("task", "model")}
    return made


# For example {"eval": {"task": "t"}, "samples": [{"id": 1, "messages": [{"role": "user", "content": "Hi"}]}]}
register_built_in(
    "inspect_log", 22, "logs of Inspect (`.eval` and `.json`), a conversation a sample",
    lambda log: isinstance(log.get("samples"), list) and isinstance(log.get("eval"), dict),
    ("eval", "samples", "version"), read_log=_samples,
    places=(("eval.revision", Paths(app_version=("commit",))), ("eval.metadata", ANY)),
)  # fmt: skip


# Anthropic's managed agents, whose log is of a session, too.

LINE = "line"
"""Key of a line that is an array, as an object."""
_MANAGED_CALLS = ("agent.tool_use", "agent.custom_tool_use", "agent.mcp_tool_use")
_MANAGED_RESULTS = ("agent.tool_result", "user.custom_tool_result", "agent.mcp_tool_result")
_MANAGED_OWN = ("user.message", "agent.message", *_MANAGED_CALLS, *_MANAGED_RESULTS)
_MANAGED_STEPLESS = ("session.", "span.", "agent.thinking", "user.interrupt", "user.tool_confirmation",
                     "agent.thread_")  # fmt: skip


def _is_managed(value: JsonObject) -> bool:
    held = value.get(LINE)
    if isinstance(held, list) and len(held) == 2:
        return isinstance(held[0], str) and held[0].startswith("client.beta.sessions")
    return kind_of(value) in (*_MANAGED_OWN, "session.status_running") and "processed_at" in value


def _read_managed(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    if not isinstance(value, list):
        raise ValueError("one line of a session's log; such a log is read as a whole file")
    log, session, starts = Dialogue(), JsonObject(), dict[str, float]()
    for line in objects(value, "lines"):
        held = line.get(LINE)
        sent = held[1] if isinstance(held, list) and len(held) == 2 else line
        if not isinstance(sent, dict):
            continue  # What the client sent comes again as an event with an id.
        event = stated(sent)
        kind, time = kind_of(event), time_seconds(event.get("processed_at"))
        if "agent" in event and "environment_id" in event:
            session = event
        elif kind in ("user.message", "agent.message"):
            role = "assistant" if kind == "agent.message" else "user"
            stamp = event.get("processed_at")
            read_dialogue([{"role": role, "content": event.get("content"), "timestamp": stamp}], log)
            start = time_seconds(log.turn.timestamp) if role == "assistant" else None
            if start is not None and time is not None:
                log.turn.latency_ms = endings.length((time - start) * 1000)
        elif kind in _MANAGED_CALLS:
            server = endings.as_text(event.get("mcp_server_name")) or ""
            log.call(event.get("name"), event.get("input"), event.get("id"), server)
        elif kind in _MANAGED_RESULTS:
            names = ("tool_use_id", "custom_tool_use_id", "mcp_tool_use_id")
            call_id = next((event[name] for name in names if event.get(name)), None)
            result = result_of({**event, "id": call_id})
            log.result(result.response, call_id, error=result.error)
        elif kind == "session.error":
            log.failure = event.get("error") or "session.error"
        elif kind == "session.status_idle":
            log.finish = as_object(event.get("stop_reason")).get("type")
        elif kind.startswith("span.model_request") and time is not None:
            begun = endings.as_text(event.get("model_request_start_id"))
            if begun is None:
                starts[endings.as_text(event.get("id")) or ""] = time
                continue
            log.usage(event.get("model_usage"))
            if log.turns and begun in starts:
                log.turn.model_ms = endings.length((log.turn.model_ms or 0.0) + (time - starts[begun]) * 1000)
        elif not kind.startswith(_MANAGED_STEPLESS):
            log.unread.part(kind or "an event without a type")
    agent, name = as_object(session.get("agent")), endings.as_text(session.get("id")) or record_place(record)
    made = log.conversation(name, "anthropic_managed_agent")
    made.app_version = endings.as_text(agent.get("version"))
    made.start_time = endings.as_text(session.get("created_at"))
    made.meta = {"agent": agent["name"]} if "name" in agent else {}
    return [made]


# For example {"id": "1", "type": "user.message", "content": [{"type": "text", ...}], "processed_at": "..."}
register_built_in(
    "anthropic_managed_agent", 29, "event logs of Anthropic's managed agents, one file a session",
    _is_managed, ("id", "type", "processed_at"), read_log=_read_managed, is_list=_is_managed,
    is_lines=_is_managed,
)  # fmt: skip
