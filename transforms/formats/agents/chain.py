"""The messages of a Claude Code session that count: its log is a tree, in which a retry opens a branch."""

from collections.abc import Iterator, Sequence

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.blocks import is_block
from turnwise.transforms.formats.messages.values import as_object

CLEAR = "<command-name>/clear"
SPOKEN = ("user", "assistant")


def content_of(entry: JsonObject) -> JsonValue:
    """Returns what the message of an entry holds."""
    return as_object(entry.get("message")).get("content")


def segments(entries: Sequence[JsonObject]) -> Iterator[list[JsonObject]]:
    """Yields the entries of each conversation: `/clear` and another session id start one."""
    segment: list[JsonObject] = []
    session: JsonValue = None
    for entry in entries:
        content, own = content_of(entry), entry.get("sessionId") or session
        cleared = isinstance(content, str) and CLEAR in content
        if segment and (cleared or (session is not None and own != session)):
            yield segment
            segment = []
        session = own
        if not cleared:
            segment.append(entry)
    if segment:
        yield segment


def chain(entries: Sequence[JsonObject]) -> tuple[list[JsonObject], int]:
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
    ids = {message_id(entry) for entry in given if entry["uuid"] in kept} - {None}
    kept |= {entry["uuid"] for entry in given if message_id(entry) in ids}
    made = [block.get("id") for entry in given if entry["uuid"] in kept for block in blocks_of(entry)]
    called = {call_id for call_id in made if isinstance(call_id, str)}
    kept |= {entry["uuid"] for entry in given if _answers(entry, called)}
    beside = [e for e in given if e["uuid"] not in kept and e.get("type") in SPOKEN and not e.get("isMeta")]
    return [entry for entry in given if entry["uuid"] in kept], len(beside)


def message_id(entry: JsonObject) -> str | None:
    """Returns the id of the API's message, which several entries may share."""
    found = as_object(entry.get("message")).get("id")
    return found if isinstance(found, str) else None


def blocks_of(entry: JsonObject) -> list[JsonObject]:
    """Returns the blocks of an entry's message."""
    content = content_of(entry)
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _answers(entry: JsonObject, called: set[str]) -> bool:
    found = blocks_of(entry)
    ids = [block.get("tool_use_id") for block in found]
    return bool(found) and all(map(is_block, found)) and all(isinstance(i, str) and i in called for i in ids)
