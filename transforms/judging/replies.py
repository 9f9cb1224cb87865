"""Reads the text of a reply by the schema it was asked for."""

import json
import re
from typing import Any

from pydantic import ValidationError

from turnwise.transforms.judging.ask import R
from turnwise.transforms.judging.backends.base import Fault, one_line

_FENCE = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL | re.IGNORECASE)


_TWICE = Fault("schema", "the reply states one key twice")


def _states_twice(text: str) -> bool:
    """Returns whether an object of a JSON text states a key twice, so that it has two answers."""
    found: list[bool] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        found.append(len({key for key, _ in pairs}) < len(pairs))

    json.loads(text, object_pairs_hook=note)
    return any(found)


def read_reply(text: str, reply_model: type[R]) -> R | Fault:
    """Returns the reply, or the reason why it is unusable: no JSON, JSON outside the schema, or a key twice.

    JSON in a Markdown fence is read too. The reason names the first wrong field, and quotes nothing.
    """
    fenced = _FENCE.fullmatch(text)
    held = fenced.group(1) if fenced else text
    try:
        reply = reply_model.model_validate_json(held)
        return _TWICE if _states_twice(held) else reply
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
    if first["type"] == "json_invalid":
        return Fault("json", "the reply is broken JSON")
    path = ".".join(str(part) for part in first["loc"]) or "the whole"
    return Fault("schema", one_line(f"the reply is outside the schema: {path}: {first['msg']}"))
