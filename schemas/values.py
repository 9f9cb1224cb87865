"""Type aliases of JSON values."""

from typing import Any, TypeAlias

JsonValue: TypeAlias = Any
"""Any JSON value."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object."""
