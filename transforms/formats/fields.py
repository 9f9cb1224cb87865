"""The fields of canonical models in JSON: which are given, and which keys are no field."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

import msgspec

from turnwise.schemas.jsonio import JsonValue
from turnwise.transforms.formats.unread import snake

Extra = Mapping[type[msgspec.Struct], Mapping[str, Any]]
"""Keys that count as known beside a model's fields, with the type of what they hold (None: anything)."""

_NONE: Extra = {}


class UnknownField(NamedTuple):
    """A key that is no field of its model.

    Attributes:
        path: Path with the key itself.
        value: Value of the key.
        fields: Known keys at this path.
    """

    path: str
    value: JsonValue
    fields: tuple[str, ...]

    @property
    def name(self) -> str:
        """The key itself."""
        return self.path.rpartition(".")[2]

    def near(self, cutoff: float) -> str | None:
        """Returns the field that its name is like, by difflib's ratio (0..1); None: none is."""
        return next(iter(get_close_matches(snake(self.name), self.fields, n=1, cutoff=cutoff)), None)

    def problem(self, cutoff: float) -> str:
        """Returns the error in one line, with the most similar field."""
        near = self.near(cutoff)
        return f"{self.path}: unknown field" + (f" (did you mean {near}?)" if near else "")


def unknown_fields(
    value: JsonValue, kind: Any, path: str = "", extra: Extra = _NONE
) -> Iterator[UnknownField]:
    """Yields the keys that are no field, at every depth of a model.

    Args:
        value: JSON of a model, or of a list of models.
        kind: The model's type, or the list's.
        path: Path of the value; "" or ending in a dot.
        extra: Keys that count as known beside the fields, by model.
    """
    model, inner = _model(kind), _element(kind)
    if isinstance(value, list) and inner is not None:
        for i, item in enumerate(value):
            yield from unknown_fields(item, inner, f"{path}{i}.", extra)
    if model is None or not isinstance(value, dict):
        return
    fields = {**_fields(model), **extra.get(model, {})}
    for name, item in value.items():
        if name in fields:
            yield from unknown_fields(item, fields[name], f"{path}{name}.", extra)
        else:
            yield UnknownField(f"{path}{name}", item, tuple(fields))


def known_fields(value: JsonValue, kind: Any, extra: Extra = _NONE) -> JsonValue:
    """Returns JSON of a model, or of a list of models, without unknown keys and without null fields."""
    model, inner = _model(kind), _element(kind)
    if isinstance(value, list) and inner is not None:
        return [known_fields(item, inner, extra) for item in value]
    if model is None or not isinstance(value, dict):
        return value
    fields = {**_fields(model), **extra.get(model, {})}
    given = ((name, item) for name, item in value.items() if item is not None and name in fields)
    return {name: known_fields(item, fields[name], extra) for name, item in given}


@cache
def _fields(model: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.name: field.type for field in msgspec.structs.fields(model)}


@cache
def _model(kind: Any) -> type[msgspec.Struct] | None:
    """Returns the model that a type stands for, if any; None stands beside it at most."""
    choices = getattr(kind, "__args__", (kind,)) if not isinstance(kind, type) else (kind,)
    models = [c for c in choices if isinstance(c, type) and issubclass(c, msgspec.Struct)]
    return models[0] if models else None


@cache
def _element(kind: Any) -> Any:
    """Returns the type of a list's elements if they are models."""
    choices = (kind, *getattr(kind, "__args__", ()))
    inner = [c.__args__[0] for c in choices if getattr(c, "__origin__", None) is list]
    return inner[0] if inner and _model(inner[0]) else None
