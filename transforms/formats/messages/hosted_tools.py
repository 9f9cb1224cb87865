"""Calls among the items of OpenAI's Responses API: functions, and tools that OpenAI hosts."""

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import decoded, key_set
from turnwise.transforms.formats.own_results import own_result
from turnwise.transforms.formats.spellings import failure_mark

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
OUTPUTS = tuple(f"{name}_output" for name in (*HOSTED, "function_call", "custom_tool_call", "tool_search"))
"""Types of items that are results."""
STEPLESS = key_set(
    "reasoning mcp_list_tools additional_tools compaction compaction_trigger mcp_approval_request "
    "mcp_approval_response context_compaction compaction_summary"
)
"""Types of items that are no step of a conversation."""
_DONE = (None, "completed")
_RESULTS = ("results", "outputs", "result")


def read_call(item: JsonObject, kind: str, log: Dialogue) -> None:
    """Adds a call, its result if the item holds it, and a finding if its status is that it is not done."""
    call_id, status = item.get("call_id") or item.get("id"), item.get("status")
    if kind in ("function_call", "custom_tool_call"):
        args = item.get("arguments") if kind == "function_call" else {"input": item.get("input")}
        own = own_result(item)
        log.call(item.get("name"), args, call_id, _path(item, "namespace"), own)
        if status not in _DONE and not (own and own.error):
            log.not_done(item.get("name"), status)
    elif kind == "mcp_call":
        log.call(item.get("name"), item.get("arguments"), call_id, _path(item, "server_label"))
        error = failure_mark(item)
        if error or status in _DONE:
            log.result(decoded(item.get("output")), call_id, item.get("name"), error)
        else:
            log.not_done(item.get("name"), status)
    else:
        _read_hosted(item, kind, log)


def _read_hosted(item: JsonObject, kind: str, log: Dialogue) -> None:
    """Adds a call of a tool that OpenAI hosts; a reply may hold the result of one that is `generating`."""
    call_id, status = item.get("call_id") or item.get("id"), item.get("status")
    name = kind.removesuffix("_call")
    given = {key: item[key] for key in HOSTED[kind] if item.get(key) is not None}
    inner = next(iter(given.values()), None) if len(given) == 1 else None
    log.call(name, inner if isinstance(inner, dict) else given, call_id)
    found = next((item[key] for key in _RESULTS if item.get(key) is not None), None)
    is_over = status in (*_DONE, "failed")
    error = failure_mark(item) if is_over else None
    if found is not None or error:
        log.result(found, call_id, name, error)
    if not is_over and (found is None or status == "incomplete"):
        log.not_done(name, status)


def _path(item: JsonObject, key: str) -> str:
    return f"{item[key]}/{item.get('name')}" if item.get(key) else ""
