"""Parses and applies field masks of updates and reads.

A path is a field by its JSON or proto name, followed, after a dot, by a field of that field's message.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple, TypeAlias, get_args, get_origin

from pydantic.alias_generators import to_camel

from turnwise.schemas.proto.message import Message
from turnwise.schemas.proto.scalars import shown
from turnwise.schemas.values import JsonObject, JsonValue

FieldPath: TypeAlias = tuple[str, ...]
"""JSON names from the outermost field to the innermost."""

_MOST_PATHS = 500


class MaskError(ValueError):
    """A mask names an unknown field; one line with the path."""


class MaskField(NamedTuple):
    """A field of a mask.

    Attributes:
        name: JSON name.
        message: Message class of the field or its elements; None: a scalar.
        is_single: Whether it is neither a list nor a map.
    """

    name: str
    message: type[Message] | None
    is_single: bool


@cache
def mask_fields(message: type[Message]) -> Mapping[str, MaskField]:
    """Returns the fields of a message under both of their spellings."""
    found: dict[str, MaskField] = {}
    for name, info in message.model_fields.items():
        is_single = get_origin(info.annotation) not in (list, dict)
        field = MaskField(to_camel(name), _message_in(info.annotation), is_single)
        found[name] = found[field.name] = field
    return found


def _message_in(annotation: Any) -> type[Message] | None:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation if issubclass(annotation, Message) else None
    if get_origin(annotation) is dict:
        return None
    return next((found for part in get_args(annotation) if (found := _message_in(part))), None)


def parse_mask(
    message: type[Message], text: str, *, through_lists: bool = False
) -> tuple[FieldPath, ...] | None:
    """Returns the paths of a mask; None: it is empty or `*`, which means the whole message.

    Args:
        message: Message class of the paths.
        text: Comma-separated paths.
        through_lists: Whether a path may lead through a repeated field, into all of its elements.

    Raises:
        MaskError: A path is malformed or leads to no field.
    """
    if text.strip() in ("", "*"):
        return None
    parts = text.split(",")
    if len(parts) > _MOST_PATHS:
        raise MaskError(f"more than {_MOST_PATHS} paths")
    return tuple(_parse_path(message, part.strip(), through_lists) for part in parts)


def _parse_path(message: type[Message], text: str, through_lists: bool) -> FieldPath:
    names: list[str] = []
    inside: type[Message] | None = message
    for segment in text.split("."):
        if inside is None:
            raise MaskError(f"{shown(text)} leads into {names[-1]}, which has no fields of its own")
        field = mask_fields(inside).get(segment)
        if field is None:
            why = " (it cannot stand beside other paths)" if segment == "*" else ""
            raise MaskError(f"{shown(text)}: {inside.PROTO} has no field {shown(segment)}{why}")
        names.append(field.name)
        inside = field.message if field.is_single or through_lists else None
    return tuple(names)


def update_fields(
    message: type[Message], old: JsonObject, new: JsonObject, paths: Iterable[FieldPath]
) -> JsonObject:
    """Returns `old` with the fields of the paths taken from `new`; fields unset in `new` are cleared.

    A repeated field is replaced as a whole. Setting one member of a oneof clears the others.

    Args:
        message: Message class of both values.
        old: Canonical proto3 JSON; it is not modified.
        new: Canonical proto3 JSON with the new values.
        paths: Paths from `parse_mask`.
    """
    updated = deepcopy(old)
    for path in paths:
        is_set, value = _value_at(new, path)
        if is_set:
            _set(message, updated, path, value)
        else:
            _clear(updated, path)
    return updated


def _value_at(value: JsonObject, path: FieldPath) -> tuple[bool, JsonValue]:
    for name in path[:-1]:
        value = value.get(name, {})
    return path[-1] in value, value.get(path[-1])


def _clear(target: JsonObject, path: FieldPath) -> None:
    for name in path[:-1]:
        target = target.get(name, {})
    target.pop(path[-1], None)


def _set(message: type[Message], target: JsonObject, path: FieldPath, value: JsonValue) -> None:
    name = path[0]
    for members in message.ONEOFS:
        others = [to_camel(member) for member in members]
        if name in others:
            for other in others:
                if other != name:
                    target.pop(other, None)
    inside = mask_fields(message)[name].message
    if len(path) == 1 or inside is None:
        target[name] = deepcopy(value)
    else:
        _set(inside, target.setdefault(name, {}), path[1:], value)


def all_but(message: type[Message], mask: str) -> tuple[FieldPath, ...]:
    """Returns the paths of a message except those of a mask."""
    return tuple(_others(message, parse_mask(message, mask, through_lists=True) or ()))


def _others(message: type[Message], excluded: Iterable[FieldPath]) -> Iterator[FieldPath]:
    for field in dict.fromkeys(mask_fields(message).values()):
        inside = [path[1:] for path in excluded if path[0] == field.name]
        if () in inside:
            continue
        if inside and field.message is not None:
            yield from ((field.name, *path) for path in _others(field.message, inside))
        else:
            yield (field.name,)


def select_fields(value: JsonObject, paths: Iterable[FieldPath]) -> JsonObject:
    """Returns the parts of a canonical proto3 JSON message at the paths."""
    tree: JsonObject = {}
    for path in sorted(set(paths), key=len):
        _grow(tree, path)
    return _pruned(value, tree)


def _grow(tree: JsonObject, path: FieldPath) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
        if tree is None:
            return
    tree[path[-1]] = None


def _pruned(value: JsonValue, tree: JsonObject | None) -> JsonValue:
    if tree is None:
        return value
    if isinstance(value, list):
        return [_pruned(item, tree) for item in value]
    return {name: _pruned(item, tree[name]) for name, item in value.items() if name in tree}
