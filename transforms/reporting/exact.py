"""JSON for the page, in which integers stay exact that a number of JavaScript cannot hold."""

import json
import re

from turnwise.schemas.jsonio import JsonValue

_LARGEST = 2**53 - 1
_TAG = "$integer"
_TAGGED = re.compile(r"\$+integer")
_SUSPECT = re.compile(r'\d{16}|\$integer"')


def exact_json(value: JsonValue) -> str:
    """Returns compact JSON, with integers beyond ±(2**53 - 1) as `{"$integer": "digits"}`.

    An object that has this form itself gets one more `$` in its key, which the page removes.

    >>> exact_json([1, 2**53 + 1])
    '[1,{"$integer":"9007199254740993"}]'
    """
    text = _compact(value)
    return _compact(_tagged(value)) if _SUSPECT.search(text) else text


def _compact(value: JsonValue) -> str:
    return json.dumps(value, separators=(",", ":"))


def _tagged(value: JsonValue) -> JsonValue:
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST else {_TAG: str(value)}
    if isinstance(value, list | tuple):
        return [_tagged(one) for one in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, own),) = value.items()
        if _TAGGED.fullmatch(name):
            return {f"${name}": _tagged(own)}
    return {name: _tagged(own) for name, own in value.items()}
