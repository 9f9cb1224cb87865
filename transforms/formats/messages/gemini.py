"""Gemini's API, as the REST interface and as the Python library spell it: requests and replies."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.fields import UNREAD
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.kinds import (
    CALL,
    GEMINI_PARTS,
    HOSTED,
    MEDIA,
    RESULT,
    USER,
    part_types,
    snake,
)
from turnwise.transforms.formats.messages.messages_base import Dialect, register_dialect
from turnwise.transforms.formats.messages.spellings import read_dialogue
from turnwise.transforms.formats.messages.streams import as_object, objects, objects_in, text_at

_PARTS = frozenset(("text", *map(snake, part_types(GEMINI_PARTS, CALL, HOSTED, RESULT, MEDIA))))
"""Keys that name parts."""


def _plain(part: JsonObject) -> JsonObject:
    """Returns an object with its keys in snake_case, without null values."""
    return {snake(key): value for key, value in part.items() if value is not None}


def _read_contents(contents: list[JsonValue], log: Dialogue) -> None:
    """Adds contents; texts in a row are one content of the user, as Google's library sends them."""
    whole: list[JsonValue] = []
    texts: list[JsonValue] = []
    for content in contents:
        if not isinstance(content, str):
            texts = []
            whole.append(content)
            continue
        if not texts:
            whole.append({"role": "user", "parts": texts})
        texts.append({"text": content})
    read_dialogue(whole, log, USER)


_FINISHES = (None, "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")
_AUTOMATIC = "automatic_function_calling_history"
_KEPT = ("usage_metadata", "model_version", "prompt_feedback", _AUTOMATIC)


def _fits(message: JsonObject) -> bool:
    parts = objects_in(message.get("parts"))
    return any(part.get("type") is None and not _PARTS.isdisjoint(map(snake, part)) for part in parts)


def _reply(reply: JsonObject, log: Dialogue) -> None:
    found = _plain(reply)
    before = len(log.steps)
    if found.get(_AUTOMATIC):
        _automatic(list(objects(found[_AUTOMATIC], _AUTOMATIC)), log)
    has_others = len(log.steps) > before
    candidates = list(map(_plain, objects(found.get("candidates"), "candidates")))
    if candidates:
        first = next((one for one in candidates if one.get("index") == 0), candidates[0])
        log.alternatives(len(candidates))
        if isinstance(first.get("content"), dict):
            _read_contents([{"role": "model", **_plain(first["content"])}], log)
        reason = first.get("finish_reason")
        if type(reason) is int:
            # protobuf-Python's `to_dict` writes numbers. From 6 on, the Gemini API and Vertex AI number them
            # differently; all are failures.
            reason = _FINISHES[reason] if 0 <= reason < len(_FINISHES) else f"FINISH_REASON_{reason}"
        log.finish = reason
    blocked = _plain(as_object(found.get("prompt_feedback"))).get("block_reason")
    if blocked:
        log.failure = f"the prompt was blocked: {blocked}"
    # The reply counts the tokens of the last call of the model only.
    counts = {} if has_others else _plain(as_object(found.get("usage_metadata")))
    log.usage(counts, found.get("model_version"))


def _automatic(contents: list[JsonObject], log: Dialogue) -> None:
    """Adds the calls that the library made by itself; in its reply they follow the request's contents."""
    seen, place = Dialogue(), 0
    while len(seen.steps) < len(log.steps) and place < len(contents):
        _read_contents([contents[place]], seen)
        place += 1
    if seen.steps == log.steps:
        _read_contents(list(contents[place:]), log)
    else:
        said = f"{_AUTOMATIC} does not begin with the request's contents, and is not read"
        log.unread.add(UNREAD, said, calls=True)


def _join(events: list[JsonObject]) -> JsonObject:
    """Returns the reply that chunks make: their parts in order, pieces of one text joined."""
    reply: JsonObject = {}
    parts: list[JsonObject] = []
    finish: JsonValue = None
    for event in map(_plain, events):
        for candidate in list(objects(event.get("candidates"), "candidates"))[:1]:
            one = _plain(candidate)
            finish = one.get("finish_reason") or finish
            content = as_object(one.get("content"))
            for part in map(_plain, objects(content.get("parts"), "parts")):
                last = parts[-1] if parts else {}
                if "text" in part and "text" in last and part.get("thought") == last.get("thought"):
                    last["text"] = text_at(last, "text") + text_at(part, "text")
                else:
                    parts.append(part)
        reply |= {key: event[key] for key in _KEPT if key in event}
    return {**reply, "candidates": [{"content": {"parts": parts}, "finish_reason": finish}]}


# For example {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "find", "args": {}}}]}]}
register_dialect(
    Dialect(
        name="gemini_contents",
        keys=(("contents", "generationConfig"), ("candidates", "usageMetadata")),
        help="contents, requests and replies of the Gemini API",
        fits=_fits,
        read=_read_contents,
        reply=_reply,
        is_reply=lambda value: isinstance(value.get("candidates"), list),
        join=_join,
        is_event=lambda value: isinstance(value.get("candidates"), list),
        holder="contents",
    )
)
