"""Gemini's `contents`: messages of parts."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import joined_texts, objects, text_at
from turnwise.transforms.formats.spellings import failure_mark
from turnwise.transforms.formats.unread import snake

_CALLS = ("function_call", "executable_code", "tool_call")
_RESULTS = ("function_response", "code_execution_result", "tool_response")
_MEDIA = ("inline_data", "file_data")
_ABOUT = frozenset(("thought", "thought_signature", "video_metadata", "part_metadata", "media_resolution"))
PARTS = frozenset(("text", *_CALLS, *_RESULTS, *_MEDIA))
"""Kinds of parts."""
_RUN = "code_execution"
_KEYS = frozenset(("role", "parts"))


def plain(part: JsonObject) -> JsonObject:
    """Returns an object with its keys in snake_case, without null values."""
    return {snake(key): value for key, value in part.items() if value is not None}


def read_contents(contents: list[JsonValue], log: Dialogue) -> None:
    """Adds contents to a dialogue, in order.

    Raises:
        ValueError: A value has the wrong type.
    """
    for content in objects(_with_texts(contents), "contents"):
        parts = [plain(part) for part in objects(content.get("parts"), "parts")]
        role = content.get("role")
        results = [part for part in parts if not part.keys().isdisjoint(_RESULTS)]
        if role in ("user", None) and (len(results) < len(parts) or not parts):
            others = [part for part in parts if part not in results]
            _read(results, log, by_agent=False)
            log.user(joined_texts([text_at(part, "text") for part in others if not part.get("thought")]))
            _read([part for part in others if "text" not in part], log, by_agent=False)
        elif role in ("user", "model", "function", "tool", None):
            _read(parts, log, by_agent=role == "model")
            if role == "model":
                log.said(content)
        elif role != "system":
            log.unread.role(role)
        log.unread.keys(content, _KEYS, role != "user")


def _with_texts(contents: list[JsonValue]) -> list[JsonValue]:
    """Returns contents with texts in their place as one of the user, as Google's library sends them."""
    found: list[JsonValue] = []
    texts: list[JsonValue] = []
    for each in contents:
        if not isinstance(each, str):
            texts = []
            found.append(each)
            continue
        if not texts:
            found.append({"role": "user", "parts": texts})
        texts.append({"text": each})
    return found


def _read(parts: list[JsonObject], log: Dialogue, by_agent: bool) -> None:
    said: list[str] = []
    for part in parts:
        if "text" in part:
            said += [] if part.get("thought") else [text_at(part, "text")]
            continue
        log.agent(joined_texts(said))
        said = []
        kind = next((name for name in part if name not in _ABOUT), None)
        if kind in _CALLS and isinstance(part[kind], dict):
            _call(kind, plain(part[kind]), log)
        elif kind in _RESULTS and isinstance(part[kind], dict):
            _result(kind, plain(part[kind]), log)
        elif kind is not None:
            log.unread.part(kind, by_agent)
    log.agent(joined_texts(said))


def _call(kind: str, call: JsonObject, log: Dialogue) -> None:
    if kind == "executable_code":
        log.call(_RUN, {key: call[key] for key in ("language", "code") if key in call}, call.get("id"))
    else:
        log.call(call.get("name") or call.get("tool_type"), call.get("args", {}), call.get("id"))


def _result(kind: str, result: JsonObject, log: Dialogue) -> None:
    if kind == "code_execution_result":
        failed = str(result.get("outcome", "OUTCOME_OK")).removeprefix("Outcome.") not in ("OUTCOME_OK", "1")
        log.result(result.get("output"), result.get("id"), _RUN, failed)
        return
    if result.get("will_continue"):
        log.unread.add("InterimResult", "a result of a call that goes on is left out")
        return
    response = result.get("response")
    stated = response.get("error") if isinstance(response, dict) else None
    name = result.get("name") or result.get("tool_type")
    log.result(response, result.get("id"), name, stated or failure_mark(result))
