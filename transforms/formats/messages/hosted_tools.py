"""Calls among the items of OpenAI's Responses API: functions, and tools that OpenAI hosts."""

from turnwise.schemas.values import JsonObject
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import decoded

HOSTED = {
    "file_search_call": ("queries",),
    "web_search_call": ("action",),
    "code_interpreter_call": ("code",),
    "image_generation_call": ("revised_prompt",),
    "computer_call": ("action", "actions"),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "tool_search_call": ("arguments",),
}
"""Type of a call -> the keys of its arguments."""
_RESULTS = ("results", "outputs", "result")


def read_call(item: JsonObject, kind: str, log: Dialogue) -> None:
    """Adds a call, and its result if the item holds it."""
    call_id = item.get("call_id") or item.get("id")
    if kind == "function_call":
        log.call(item.get("name"), item.get("arguments"), call_id, _path(item, "namespace"))
        return
    if kind == "custom_tool_call":
        log.call(item.get("name"), {"input": item.get("input")}, call_id, _path(item, "namespace"))
        return
    if kind == "mcp_call":
        log.call(item.get("name"), item.get("arguments"), call_id, _path(item, "server_label"))
        log.result(decoded(item.get("output")), call_id, item.get("name"), item.get("error"))
        return
    name = kind.removesuffix("_call")
    given = {key: item[key] for key in HOSTED[kind] if item.get(key) is not None}
    inner = next(iter(given.values()), None) if len(given) == 1 else None
    log.call(name, inner if isinstance(inner, dict) else given, call_id)
    found = next((item[key] for key in _RESULTS if item.get(key) is not None), None)
    if found is not None or item.get("status") == "failed":
        log.result(found, call_id, name, item.get("status") == "failed")


def _path(item: JsonObject, key: str) -> str:
    return f"{item[key]}/{item.get('name')}" if item.get(key) else ""
