"""Reads the text of a reply by the schema it was asked for."""

import re

from pydantic import ValidationError

from turnwise.transforms.judging.ask import R
from turnwise.transforms.judging.backends.base import Fault, one_line

_FENCE = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL | re.IGNORECASE)


def read_reply(text: str, reply_model: type[R]) -> R | Fault:
    """Returns the reply, or the reason why it is unusable: no JSON, or JSON outside the schema.

    JSON in a Markdown fence is read too. The reason names the first wrong field, and quotes nothing.
    """
    fenced = _FENCE.fullmatch(text)
    try:
        return reply_model.model_validate_json(fenced.group(1) if fenced else text)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
    if first["type"] == "json_invalid":
        return Fault("json", "the reply is broken JSON")
    path = ".".join(str(part) for part in first["loc"]) or "the whole"
    return Fault("schema", one_line(f"the reply is outside the schema: {path}: {first['msg']}"))
