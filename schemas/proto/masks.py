"""Field masks of updates and reads, and filters of lists.

A path is a field by its JSON or proto name, followed, after a dot, by a field of that field's message.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args, get_origin

from msgspec import Struct
from pydantic.alias_generators import to_camel

from turnwise.schemas.jsonio import JsonObject, JsonValue, grouped, shown
from turnwise.schemas.proto.message import Message

FieldPath: TypeAlias = tuple[str, ...]
"""JSON names from the outermost field to the innermost."""

_MOST_PATHS = 500


class MaskError(ValueError):
    """A mask names an unknown field; one line with the path."""


class MaskField(NamedTuple):
    """A field; `message`: class of it or its elements, None: a scalar; `is_single`: no list and no map."""

    name: str
    message: type[Message] | None
    is_single: bool


@cache
def mask_fields(message: type[Message]) -> Mapping[str, MaskField]:
    """Returns the fields of a message under both of their spellings."""
    fields: dict[str, MaskField] = {}
    for name, info in message.model_fields.items():
        is_single = get_origin(info.annotation) not in (list, dict)
        field = MaskField(to_camel(name), _message_in(info.annotation), is_single)
        fields[name] = fields[field.name] = field
    return fields


def _message_in(annotation: Any) -> type[Message] | None:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation if issubclass(annotation, Message) else None
    if get_origin(annotation) is dict:
        return None
    return next(filter(None, map(_message_in, get_args(annotation))), None)


def parse_mask(
    message: type[Message], text: str, *, through_lists: bool = False
) -> tuple[FieldPath, ...] | None:
    """Returns the paths of a mask, with commas between them; None: it is empty or `*`: the whole message.

    With `through_lists`, a path may lead through a repeated field, into all of its elements. Raises MaskError
    for a path that is malformed or leads to no field.
    """
    if text.strip() in ("", "*"):
        return None
    parts = text.split(",")
    if len(parts) > _MOST_PATHS:
        raise MaskError(f"more than {_MOST_PATHS} paths")
    paths: list[FieldPath] = []
    for part in map(str.strip, parts):
        names: list[str] = []
        inside: type[Message] | None = message
        for segment in part.split("."):
            if inside is None:
                raise MaskError(f"{shown(part)} leads into {names[-1]}, which has no fields of its own")
            field = mask_fields(inside).get(segment)
            if field is None:
                why = " (it cannot stand beside other paths)" if segment == "*" else ""
                raise MaskError(f"{shown(part)}: {inside.PROTO} has no field {shown(segment)}{why}")
            names.append(field.name)
            inside = field.message if field.is_single or through_lists else None
        paths.append(tuple(names))
    return tuple(paths)


def _holder(value: JsonObject, path: FieldPath) -> JsonObject:
    for name in path[:-1]:
        value = value.get(name, {})
    return value


def _set(message: type[Message], target: JsonObject, path: FieldPath, value: JsonValue) -> None:
    name = path[0]
    members = [to_camel(member) for member in message.ONEOF]
    for other in members if name in members else ():
        if other != name:
            target.pop(other, None)
    inside = mask_fields(message)[name].message
    if len(path) == 1 or inside is None:
        target[name] = deepcopy(value)
    else:
        _set(inside, target.setdefault(name, {}), path[1:], value)


def all_but(message: type[Message], mask: str) -> tuple[FieldPath, ...]:
    """Returns the paths of a message except those of a mask."""
    return tuple(_others(message, _tree(parse_mask(message, mask, through_lists=True) or ())))


def _others(message: type[Message], excluded: JsonObject | None) -> Iterator[FieldPath]:
    if excluded is not None:
        for field in dict.fromkeys(mask_fields(message).values()):
            if field.message is not None and excluded.get(field.name):
                yield from ((field.name, *path) for path in _others(field.message, excluded[field.name]))
            elif field.name not in excluded:
                yield (field.name,)


def select_fields(value: JsonObject, paths: Sequence[FieldPath]) -> JsonObject:
    """Returns the parts of a canonical proto3 JSON message at the paths."""
    return _pruned(value, _tree(paths))


def _tree(paths: Sequence[FieldPath]) -> JsonObject | None:
    """Returns the first fields of paths, each with a tree of those inside it; None: all of them."""
    inside = grouped((path[0], path[1:]) for path in paths if path)
    return None if () in paths else {name: _tree(inner) for name, inner in inside.items()}


def _pruned(value: JsonValue, tree: JsonObject | None) -> JsonValue:
    if tree is None:
        return value
    if isinstance(value, list):
        return [_pruned(item, tree) for item in value]
    return {name: _pruned(item, tree[name]) for name, item in value.items() if name in tree}


def written_fields(resource: Message) -> JsonObject:
    """Returns the writable fields of a resource, in canonical proto3 JSON."""
    return {name: item for name, item in resource.to_value().items() if name not in resource.OUTPUT_ONLY}


def updated_content(old: JsonObject, resource: Message, update_mask: str | None) -> JsonObject:
    """Returns the content of a resource after an update; the name is kept, output-only fields are omitted.

    Named fields that `resource` does not set are cleared, and a repeated field is replaced as a whole.
    Setting one member of a oneof clears the others. A mask that is None, "" or "*" names all fields. Raises
    MaskError if it names an unknown field, or leads through a list.
    """
    kind, new = type(resource), written_fields(resource)
    paths = parse_mask(kind, update_mask or "")
    if paths is None:
        return {**new, "name": old["name"]}
    updated = deepcopy(old)
    for path in paths:
        if path[0] == "name" or path[0] in kind.OUTPUT_ONLY:
            continue
        holder = _holder(new, path)
        if path[-1] in holder:
            _set(kind, updated, path, holder[path[-1]])
        else:
            _holder(updated, path).pop(path[-1], None)
    return updated


# Parses filter expressions of list requests, as in https://google.aip.dev/160.
#
#     evaluation_status = FAIL AND (app_version = v8 OR create_time > "2026-11-01T00:00:00Z")
#     AND NOT tags:slow
#
# OR binds tighter than AND. Two terms without an operator are joined by AND.

Operator = Literal["=", "!=", "<", "<=", ">", ">=", ":"]

_LONGEST = 4_000
_DEEPEST = 20
_TOKEN = re.compile(
    r"""\s*(?: (?P<op>!=|<=|>=|[=<>:]) | (?P<paren>[()]) | (?P<minus>-(?=[\w(]))
    | "(?P<double>(?:[^"\\]|\\.)*)" | '(?P<single>(?:[^'\\]|\\.)*)' | (?P<word>[^\s()<>=!:"',]+) )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class FilterError(ValueError):
    """A filter is invalid; one line."""


class FieldComparison(Struct, frozen=True):
    """A comparison of a field with a value."""

    field: str
    operator: Operator
    value: str


class Junction(Struct, frozen=True):
    """A conjunction or disjunction of conditions."""

    kind: Literal["AND", "OR"]
    parts: tuple["Condition", ...]


class Negation(Struct, frozen=True):
    """A negated condition."""

    part: "Condition"


_Token: TypeAlias = tuple[str, str]
Condition: TypeAlias = FieldComparison | Junction | Negation


def parse_filter(text: str) -> Condition | None:
    """Parses a filter; None: it is empty. Raises FilterError if it is invalid, too long or too deep."""
    if len(text) > _LONGEST:
        raise FilterError(f"longer than {_LONGEST} characters")
    tokens: list[_Token] = []
    rest, start = text.rstrip(), 0
    while start < len(rest):
        match = _TOKEN.match(rest, start)
        if match is None:
            raise FilterError(f"{shown(rest[start : start + 20])} at character {start + 1} is not understood")
        kind, value = next((name, part) for name, part in match.groupdict().items() if part is not None)
        if kind in ("double", "single"):
            kind, value = "string", _ESCAPE.sub(r"\1", value)
        tokens.append((kind, value))
        start = match.end()
    if not tokens:
        return None
    waiting = [_END, *reversed(tokens)]
    condition = _all(waiting, 0)
    if waiting != [_END]:
        raise FilterError(f"{shown(waiting[-1][1])} is not expected")
    return condition


# The next of the waiting tokens stands last.
_END = ("end", "the end")


def _takes(waiting: list[_Token], kind: str, value: str) -> bool:
    is_next = waiting[-1] == (kind, value)
    if is_next:
        waiting.pop()
    return is_next


def _all(waiting: list[_Token], depth: int) -> Condition:
    if depth > _DEEPEST:
        raise FilterError(f"it nests deeper than {_DEEPEST}")
    parts = [_any(waiting, depth)]
    while _takes(waiting, "word", "AND") or waiting[-1] not in (_END, ("paren", ")")):
        parts.append(_any(waiting, depth))
    return parts[0] if len(parts) == 1 else Junction("AND", tuple(parts))


def _any(waiting: list[_Token], depth: int) -> Condition:
    parts = [_term(waiting, depth)]
    while _takes(waiting, "word", "OR"):
        parts.append(_term(waiting, depth))
    return parts[0] if len(parts) == 1 else Junction("OR", tuple(parts))


def _term(waiting: list[_Token], depth: int) -> Condition:
    is_negated = _takes(waiting, "word", "NOT") or _takes(waiting, "minus", "-")
    if _takes(waiting, "paren", "("):
        term = _all(waiting, depth + 1)
        if not _takes(waiting, "paren", ")"):
            raise FilterError("a closing parenthesis is missing")
    else:
        kind, field = waiting.pop()
        if kind != "word":
            raise FilterError(f"{shown(field)} stands where a field is expected")
        kind, operator = waiting.pop()
        if kind != "op":
            raise FilterError(f"{shown(field)} is compared with nothing (field = value)")
        kind, value = waiting.pop()
        if kind not in ("word", "string"):
            raise FilterError(f"{shown(field)} {operator}: no value follows (quote it)")
        term = FieldComparison(field, cast(Operator, operator), value)
    return Negation(term) if is_negated else term
