"""Session logs of Claude Code: one JSON object a line, a file a session."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.agents.chain import blocks_of, chain, content_of, message_id, segments
from turnwise.transforms.formats.agents.notices import typed_command, users_blocks
from turnwise.transforms.formats.endings import End
from turnwise.transforms.formats.messages.anthropic import read_agent, read_user
from turnwise.transforms.formats.messages.blocks import as_blocks, is_block, usage_of
from turnwise.transforms.formats.messages.dialogue import Dialogue, counted
from turnwise.transforms.formats.messages.values import as_object, key_set, kind_of, objects
from turnwise.transforms.formats.registry import Format, ReadSettings, register_format
from turnwise.transforms.formats.spellings import as_text, length
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
    for entries in segments(list(objects(value, "lines"))):
        kept, beside = chain(entries)
        if any(map(_said, kept)):
            found.append(_conversation(kept, beside, entries, record, len(found)))
    return found


def _conversation(
    kept: Sequence[JsonObject], beside: int, entries: Sequence[JsonObject], record: Record, place: int
) -> Conversation:
    log = Dialogue()
    usage: dict[str, tuple[int, JsonValue]] = {}
    for entry, following in zip(kept, [*kept[1:], {}], strict=True):
        command = typed_command(content_of(entry), entry, following)
        if command:
            log.user(command, entry.get("timestamp"))
        _add(entry, log)
        # An error of the API stands in the log as a message that no model wrote.
        if entry.get("type") == "assistant" and log.turns and not entry.get("isApiErrorMessage"):
            name = message_id(entry) or str(entry["uuid"])
            usage[name] = (len(log.turns) - 1, as_object(entry.get("message")).get("usage"))
    _measure(log, usage)
    inner = sum(map(is_block, (b for e in entries if e.get("isSidechain") for b in blocks_of(e))))
    if inner and not kept[0].get("isSidechain"):
        log.general.add("SubAgent", f"{inner} calls and results of sub-agents are left out")
    if beside:
        said = f"{beside} messages are in branches that were left, such as retries"
        log.general.add("OtherBranch", said, calls=True)
    for kind in sorted({kind_of(e) for e in entries} - _STEPLESS - {"user", "assistant"}):
        log.general.add("UnreadPart", f"lines of the type {kind[:60]!r} are not read")
    end = log.end({})
    if _is_interrupted(kept[-1]):
        end = End("user_left", str(content_of(kept[-1]))[:100])
    first, side = kept[0], all(entry.get("isSidechain") for entry in kept)
    stem = PurePosixPath(record.source).name.split(".")[0]
    name = as_text(first.get("sessionId")) or stem
    return Conversation(
        conversation_id=f"{name}/{stem}" if side else f"{name}/{place + 1}" if place else name,
        source="claude_code",
        app_version=as_text(first.get("version")),
        start_time=as_text(first.get("timestamp")),
        tags=["sub_agent"] if side else [],
        turns=log.close(end),
        ended=end.ended,
        ended_detail=end.detail,
        meta={key: first[key] for key in ("cwd", "gitBranch") if key in first},
    )


def _said(entry: JsonObject) -> bool:
    """Returns whether an entry is something that the user or the agent said."""
    if entry.get("isMeta") or entry.get("isCompactSummary"):
        return False
    content = content_of(entry)
    is_command = isinstance(content, str) and content.lstrip().startswith((*_COMMANDS, _INTERRUPTED))
    return entry.get("type") in ("user", "assistant") and not is_command and not _is_interrupted(entry)


def _is_interrupted(entry: JsonObject) -> bool:
    content = content_of(entry)
    first = content[0] if isinstance(content, list) and len(content) == 1 else None
    text = first.get("text") if isinstance(first, dict) else content
    return isinstance(text, str) and text.startswith(_INTERRUPTED)


def _add(entry: JsonObject, log: Dialogue) -> None:
    attached = as_object(entry.get("attachment"))
    if attached.get("type") == "queued_command" and isinstance(attached.get("prompt"), str):
        log.user(attached["prompt"], entry.get("timestamp"))
    if not _said(entry):
        return
    content, timestamp = content_of(entry), entry.get("timestamp")
    blocks = as_blocks(content)
    if entry["type"] == "user":
        own = users_blocks(blocks, log)
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
        turn.usage = counted(turn.usage, usage_of(report))
        turn.inference_calls = (turn.inference_calls or 0) + 1


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
