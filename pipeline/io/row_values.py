"""Values of rows as JSON."""

from base64 import b64encode
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from turnwise.schemas.jsonio import JsonObject, JsonValue


def plain_row(row: JsonObject) -> JsonObject:
    """Returns a row as JSON without the columns that have no value.

    Times become RFC 3339 (UTC where they state no zone), bytes text or base64, decimals numbers, or text
    where a number would lose digits.
    """
    return {key: _plain(value) for key, value in row.items() if value is not None}


def _plain(value: Any) -> JsonValue:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return b64encode(value).decode()
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _number(value: Decimal) -> JsonValue:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    number = float(value)
    return number if Decimal(repr(number)) == value else str(value)
