"""Reads the results of tools out of what frameworks wrap them in."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.spellings import failure_mark
from turnwise.transforms.formats.traces.message import AGENT
from turnwise.transforms.formats.traces.messages import read_messages

_DUMPED = frozenset(("content", "kwargs", "data"))
_RESPONSE = {"id", "name", "response", "will_continue", "scheduling", "parts"}
_OF_OUTPUT = {"output", "kwargs", "tags", "metadata"}
_WRAPPERS = {
    "data": {"data", "type"},
    "kwargs": {"kwargs", "lc", "type", "id", "name"},
    "update": {"update", "graph", "resume", "goto", "type", "lg_name"},
}
"""Key of what a dump of LangChain holds -> all its keys."""
_OF_LLAMA = {"tool_name", "raw_input", "raw_output"}


def tool_result(value: JsonValue) -> tuple[JsonValue, bool | None]:
    """Returns the result in a dumped message of a tool, or the value itself; and whether it is an error."""
    inner = value
    if isinstance(inner, dict) and inner.keys() <= _RESPONSE and isinstance(inner.get("response"), dict):
        return (inner["response"], None) if "name" in inner else (value, None)
    output = inner.get("output") if isinstance(inner, dict) and inner.keys() <= _OF_OUTPUT else None
    if isinstance(output, dict) and not _DUMPED.isdisjoint(output):
        inner = output
    if isinstance(inner, dict) and inner.keys() >= _OF_LLAMA:
        return _told(inner), True if failure_mark(inner) else None
    for key, beside in _WRAPPERS.items():
        if isinstance(inner, dict) and inner.keys() <= beside and isinstance(inner.get(key), dict):
            inner = inner[key]
    if (
        isinstance(inner, dict)
        and "content" in inner
        and ("tool_call_id" in inner or inner.get("type") == "tool")
    ):
        found = read_messages({**inner, "role": "tool"}, AGENT)
        results = [result for message in found for result in message.results]
        if results:
            return results[0].response, True if results[0].error else None
    return value, None


def _told(output: JsonObject) -> JsonValue:
    """Returns what LlamaIndex tells the model of a tool's output: its texts, or else the raw value."""
    blocks = output.get("blocks")
    held = [each for each in blocks if isinstance(each, dict)] if isinstance(blocks, list) else []
    texts = [text for each in held if isinstance(text := each.get("text"), str)]
    return "\n".join(texts) if texts and len(texts) == len(held) else output.get("raw_output")
