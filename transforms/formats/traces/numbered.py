"""Attributes that spell lists and objects as numbered, dotted keys."""

from functools import lru_cache

from turnwise.schemas.jsonio import JsonObject, JsonValue

_DEEPEST = 12


def has_numbered(attributes: JsonObject, prefixes: tuple[str, ...]) -> bool:
    """Returns whether a key has one of some prefixes."""
    return _has_prefix(tuple(attributes), prefixes)


@lru_cache(maxsize=512)
def _has_prefix(keys: tuple[str, ...], prefixes: tuple[str, ...]) -> bool:
    return any(key.startswith(prefixes) for key in keys)


def numbered(attributes: JsonObject, prefix: str) -> list[JsonValue]:
    """Returns the list that keys such as `prefix.0.role`, `prefix.1.content` spell."""
    tree: JsonObject = {}
    for key, value in attributes.items():
        if key.startswith(prefix):
            _put(tree, key[len(prefix) :].split("."), value)
    found = _lists({key: item for key, item in tree.items() if key.isdigit()})
    others = {key: item for key, item in tree.items() if not key.isdigit()}
    return [*(found if isinstance(found, list) else ()), *([others] if others else ())]


def _put(tree: JsonObject, path: list[str], value: JsonValue) -> None:
    for step in path[:-1][:_DEEPEST]:
        inner = tree.get(step)
        if not isinstance(inner, dict):
            inner = tree[step] = {} if inner is None else {"": inner}
        tree = inner
    last = path[-1]
    if isinstance(tree.get(last), dict):
        tree = tree[last]
        last = ""
    tree[last] = value


def _lists(value: JsonValue) -> JsonValue:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdigit() and len(key) < 10 for key in value):
        return [_lists(value[key]) for key in sorted(value, key=int)]
    return {key: _lists(item) for key, item in value.items()}
