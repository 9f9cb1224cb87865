"""Proposes a mapping for records that no format fits, by the names of their keys."""

import re
from collections.abc import Iterator, Sequence

from turnwise.schemas.config import MappingConfig, named_keys
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.fields import snake

_IDS = ("conversation_id", "session_id", "thread_id", "chat_id", "dialog_id", "dialogue_id", "call_id",
        "conv_id", "conversation", "session", "thread", "chat", "conv", "id")  # fmt: skip
_CALLS = ("tool_calls", "calls", "actions", "tools", "tools_used", "function_calls", "functions", "steps")
_TOOLS = ("name", "fn", "tool", "tool_name", "function", "function_name", "action")
_ARGS = ("args", "arguments", "params", "parameters", "input", "inputs", "kwargs", "tool_input")
_CALL_IDS = ("id", "call_id", "tool_call_id", "tool_use_id")
_RESULTS = ("result", "results", "output", "outputs", "returned", "response", "observation")
_USERS = ("user", "question", "query", "prompt", "asked", "request", "input", "human", "customer")
_AGENTS = ("agent", "answer", "response", "reply", "said", "assistant", "output", "bot", "completion")
_ROLES = ("role", "from", "sender", "speaker", "author", "who")
_TEXTS = ("content", "text", "message", "body", "value", "utterance")
_OTHERS = {
    "app_version": ("app_version", "version", "release", "agent_version"),
    "language": ("language", "language_code", "locale", "lang"),
    "start_time": ("start_time", "started_at", "created_at"),
}
_BY_USER = ("user", "human", "customer", "client", "caller")
_DEEPEST = 3
_LAST_KEY = re.compile(r"\w+(?=\W*$)")


def suggested_mapping(record: JsonObject) -> MappingConfig | None:
    """Returns a mapping that finds words of a user and of an agent in a record; None: none is seen.

    It is a proposal by names: a person has to look at what it reads.
    """
    content = next(_contents(record), None)
    if content is None:
        return None
    found = {"conversation_id": _path(record, _IDS)}
    found |= {name: _path(record, names) for name, names in _OTHERS.items()}
    stated = {name: path for name, path in found.items() if path is not None}
    if content[0] in ("turn", "message") and "conversation_id" not in stated:
        return None
    return MappingConfig.model_validate({**stated, content[0]: content[1]})


def _contents(record: JsonObject) -> Iterator[tuple[str, str]]:
    """Yields where conversations may stand: lists first, then the record itself."""
    for path, items in _lists(record, ""):
        keys = list(dict.fromkeys(key for item in items for key in item))
        role, text = _named(keys, _ROLES), _named(keys, _TEXTS)
        user, agent = _named(keys, _USERS), _named(keys, _AGENTS)
        if role and text:
            yield "messages", f"{path}[*].{_message(role, text, items)}"
        elif user and agent:
            yield "turns", f"{path}[*].{_turn(user, agent, items)}"
    keys = list(record)
    user, agent = _named(keys, _USERS), _named(keys, _AGENTS)
    role, text = _named(keys, _ROLES), _named(keys, _TEXTS)
    if user and agent:
        yield "turn", _turn(user, agent, [record])
    elif role and text:
        yield "message", _message(role, text, [record])


def _turn(user: str, agent: str, items: Sequence[JsonObject]) -> str:
    """Returns the expression of a turn, with its calls where shapes show them."""
    return f"{{user: {_quoted(user)}, agent: {_quoted(agent)}{_calls(items, with_results=True)}}}"


def _calls(items: Sequence[JsonObject], with_results: bool) -> str:
    """Returns the part of an expression that finds calls, and what they returned; empty: none are seen."""
    places: dict[str, list[JsonObject]] = {}
    for item in items:
        for path, held in (*_lists(item, ""), *_objects(item)):
            places.setdefault(path, []).extend(held)
    found = [(path, _call_fields(held)) for path, held in places.items()]
    named = sorted((each for each in found if each[1]), key=lambda each: _last_key(each[0]) not in _CALLS)
    if not named:
        return ""
    path, fields = named[0]
    called = ", ".join(f"{name}: {key}" for name, key in fields.items() if name != "response")
    said = f", tool_calls: {path}[*].{{{called}}}"
    if "response" in fields and with_results:
        answered = ", ".join(f"{name}: {key}" for name, key in fields.items() if name != "args")
        said += f", tool_responses: {path}[*].{{{answered}}}"
    return said


def _call_fields(held: Sequence[JsonObject]) -> dict[str, str]:
    """Returns which keys of objects name the fields of calls; empty: they are no calls."""
    keys = list(dict.fromkeys(key for each in held for key in each))
    names = (("id", _CALL_IDS), ("name", _TOOLS), ("args", _ARGS), ("response", _RESULTS))
    found = {field: key for field, known in names if (key := _named(keys, known))}
    return {field: _quoted(key) for field, key in found.items()} if {"name", "args"} <= found.keys() else {}


def _objects(item: JsonObject) -> Iterator[tuple[str, list[JsonObject]]]:
    """Yields the objects directly in an object as lists of one."""
    for key, held in item.items():
        if isinstance(held, dict):
            yield f"[{_quoted(key)}]", [held]


def _last_key(path: str) -> str:
    found = _LAST_KEY.search(path)
    return snake(found.group()) if found else path


def unread_keys(record: JsonObject, mapping: MappingConfig) -> list[str]:
    """Returns the keys of a record, and of objects in its lists, that a mapping does not name."""
    named = named_keys(mapping)
    found = {key: None for key in record if key not in named}
    for path, items in _lists(record, ""):
        for item in items:
            found |= {f"{path}[].{key}": None for key in unread_keys(item, mapping)}
    return list(found)


def _message(role: str, text: str, items: Sequence[JsonObject]) -> str:
    said = sorted({str(item.get(role)) for item in items})
    user = next((name for name in said if name.lower() in _BY_USER), "user")
    if "'" in user or "`" in user:
        user = "user"
    is_user = f"{_quoted(role)} == '{user}' && 'user' || 'assistant'"
    return f"{{role: {is_user}, content: {_quoted(text)}{_calls(items, with_results=False)}}}"


def _lists(value: JsonObject, path: str, depth: int = 0) -> Iterator[tuple[str, list[JsonObject]]]:
    """Yields the lists of objects in a record with their paths, the outer ones first."""
    deeper: list[tuple[str, JsonObject]] = []
    for key, item in value.items():
        place = f"{path}.{_quoted(key)}" if path else _quoted(key)
        if isinstance(item, list) and item and all(isinstance(each, dict) for each in item):
            yield place, item
        elif isinstance(item, dict):
            deeper.append((place, item))
    for place, inner in deeper if depth < _DEEPEST else ():
        yield from _lists(inner, place, depth + 1)


def _path(record: JsonObject, names: Sequence[str]) -> str | None:
    """Returns the path of the first of some keys, at the top or one object below."""
    key = _named([key for key, item in record.items() if _is_plain(item)], names)
    if key is not None:
        return _quoted(key)
    for outer, inner in record.items():
        if isinstance(inner, dict):
            below = _named([key for key, item in inner.items() if _is_plain(item)], names)
            if below is not None:
                return f"{_quoted(outer)}.{_quoted(below)}"
    return None


def _is_plain(value: JsonValue) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _named(keys: Sequence[str], names: Sequence[str]) -> str | None:
    by_name = {snake(key): key for key in keys}
    return next((by_name[name] for name in names if name in by_name), None)


def _quoted(key: str) -> str:
    """Returns a key as JMESPath writes it."""
    if key.isidentifier() and key.isascii():
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
