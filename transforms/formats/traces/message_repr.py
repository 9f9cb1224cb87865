"""Calls that a writer left as the text of a Python object (OpenAI Agents through OpenTelemetry's contrib)."""

import ast
from collections.abc import Iterable, Iterator

from turnwise.transforms.formats.traces.message import MessageCall

_START = "ResponseFunctionToolCall("
_LONGEST = 100_000


def repr_calls(texts: Iterable[str]) -> Iterator[MessageCall]:
    """Yields the calls in texts that are such representations; they are parsed, never evaluated."""
    for text in texts:
        if is_repr_call(text):
            found = _keywords(text)
            if found.get("name"):
                yield MessageCall(found.get("name"), found.get("arguments"), found.get("call_id"))


def is_repr_call(text: str) -> bool:
    """Returns whether a text is the representation of a call."""
    return text.startswith(_START) and len(text) <= _LONGEST


def _keywords(text: str) -> dict[str, str]:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return {}
    if not isinstance(tree, ast.Call):
        return {}
    named = {key.arg: key.value for key in tree.keywords if key.arg}
    return {k: v.value for k, v in named.items() if isinstance(v, ast.Constant) and isinstance(v.value, str)}
