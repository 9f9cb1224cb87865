"""Applies a mapping's expressions to a record, and tells what none of them reads."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from jmespath.visitor import TreeInterpreter

from turnwise.schemas.config import MappingConfig, states_no_calls
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.fields import may_hold_work

FIELDS = (
    *("app_version", "language", "eval_id", "eval_set_id", "start_time", "tags", "ended", "ended_detail"),
    *("labels", "state", "tools", "user_id"),
)


@lru_cache(maxsize=64)
def _parsed(expression: str) -> Any:
    import jmespath

    return jmespath.compile(expression).parsed


class MappedRecord:
    """A record, and what the expressions of a mapping read in it."""

    def __init__(self, record: JsonValue) -> None:
        self._record = record
        self._interpreter = TracingInterpreter()
        # Results are kept, so that no other object gets the id of one.
        self._results: list[JsonValue] = []
        self._own: frozenset[int] | None = None

    def at(self, expression: str | None) -> JsonValue:
        """Returns what an expression finds; None: nothing.

        Raises:
            ValueError: A function of the expression is given a value of the wrong type; one line.
        """
        if expression is None:
            return None
        from jmespath.exceptions import JMESPathError

        try:
            found = self._interpreter.visit(_parsed(expression), self._record)
        except (JMESPathError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"mapping: {expression}: {' '.join(str(error).split())[:300]}") from None
        self._results.append(found)
        return found

    def holds(self, found: JsonValue) -> bool:
        """Returns whether what was found is an object of the record, and was not made by an expression."""
        if self._own is None:
            self._own = frozenset(_ids(self._record))
        return id(found) in self._own

    def fields(self, mapping: MappingConfig) -> JsonObject:
        """Returns the fields of the conversation that the record states.

        Raises:
            ValueError: An expression cannot be applied; one line.
        """
        found = {name: self.at(getattr(mapping, name)) for name in FIELDS}
        return {name: value for name, value in found.items() if value is not None}

    def unread(self, mapping: MappingConfig) -> list[str]:
        """Returns the places of what may hold calls or words, and that no expression reads.

        There are none where the mapping states that there are no calls.

        Raises:
            ValueError: The expression of what is left out cannot be applied; one line.
        """
        if states_no_calls(mapping.content):
            return []
        self.at(mapping.ignored)
        whole = set(_ids(self._results)) | self._interpreter.whole
        return list(dict.fromkeys(self._unread(self._record, "", whole)))

    def _unread(self, value: JsonValue, path: str, whole: set[int]) -> Iterator[str]:
        if id(value) in whole:
            return
        if isinstance(value, list):
            for item in value:
                yield from self._unread(item, f"{path}[]", whole)
        elif isinstance(value, dict):
            read = [key for key in value if (id(value), key) in self._interpreter.read]
            if path and value and not read:
                yield path
                return
            for key, item in value.items():
                place = f"{path}.{key}" if path else key
                if key in read:
                    yield from self._unread(item, place, whole)
                elif may_hold_work(key, item):
                    yield place


def _ids(value: JsonValue) -> Iterator[int]:
    """Yields the ids of an object or array and of those in it."""
    if isinstance(value, dict | list):
        yield id(value)
        for item in value.values() if isinstance(value, dict) else value:
            yield from _ids(item)


# An interpreter of JMESPath that notes which values of a record it reads.


class TracingInterpreter(TreeInterpreter):
    """Notes what is read.

    Attributes:
        read: Id of each object and the key of it that was read.
        whole: Ids of what was turned into text, all of which counts as read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read: set[tuple[int, str]] = set()
        self.whole: set[int] = set()

    def visit_field(self, node: Any, value: Any) -> Any:
        """Returns the value of a key."""
        if isinstance(value, dict):
            self.read.add((id(value), node["value"]))
        return super().visit_field(node, value)

    def visit_value_projection(self, node: Any, value: Any) -> Any:
        """Returns what is found in all values of an object (`*`)."""
        base = self.visit(node["children"][0], value)
        if isinstance(base, dict):
            self.read.update((id(base), key) for key in base)
        return super().visit_value_projection(node, value)

    def visit_function_expression(self, node: Any, value: Any) -> Any:
        """Returns the result of a function."""
        if node["value"] == "to_string":
            self.whole.update(id(self.visit(child, value)) for child in node["children"])
        return super().visit_function_expression(node, value)
