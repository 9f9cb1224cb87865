"""JSON values, as they come out of a log and go into a row."""

from typing import Any, TypeAlias

JsonValue: TypeAlias = Any
"""Any value of a JSON text. Not checked any further: logs hold whatever a tool returned."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object."""
