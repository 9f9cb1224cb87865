"""Items of OpenAI's Responses API: messages, calls with their outputs, tools that OpenAI hosts."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import VALUES, failure_mark, own_result
from turnwise.transforms.formats.messages import kinds
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY, Dialect, register_dialect
from turnwise.transforms.formats.messages.streams import (
    as_object,
    decoded,
    first_of,
    joined_texts,
    key_set,
    listed,
    objects,
    objects_in,
    text_at,
)

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
STEPLESS = kinds.part_types(kinds.RESPONSES_PARTS, kinds.THOUGHT)
"""Types of items that are no step of a conversation."""
_DONE = (None, "completed")
_RESULTS = ("results", "outputs", "result")


def hosted_arguments(item: JsonObject) -> JsonObject:
    """Returns the arguments of a call to a tool that OpenAI hosts: those of its type, or the only object."""
    given = {key: item[key] for key in HOSTED[str(item.get("type"))] if item.get(key) is not None}
    inner = next(iter(given.values()), None) if len(given) == 1 else None
    return inner if isinstance(inner, dict) else given


def _read_call(item: JsonObject, kind: str, log: Dialogue) -> None:
    """Adds a call, its result if the item holds it, and a finding if its status is that it is not done."""
    call_id, status = item.get("call_id") or item.get("id"), item.get("status")
    if kind in _CALLS:
        args = item.get("arguments") if kind == "function_call" else {"input": item.get("input")}
        own, holder = own_result(item), item.get("namespace")
        log.call(item.get("name"), args, call_id, f"{holder}/{item.get('name')}" if holder else "", own)
        if status not in _DONE and not (own and own.error):
            log.not_done(item.get("name"), status)
    elif kind == "mcp_call":
        holder = item.get("server_label")
        path = f"{holder}/{item.get('name')}" if holder else ""
        log.call(item.get("name"), item.get("arguments"), call_id, path)
        error = failure_mark(item)
        if error or status in _DONE:
            log.result(decoded(item.get("output")), call_id, item.get("name"), error)
        else:
            log.not_done(item.get("name"), status)
    else:
        name, result = kind.removesuffix("_call"), first_of(item, _RESULTS)
        log.call(name, hosted_arguments(item), call_id)
        is_over = status in (*_DONE, "failed")
        error = failure_mark(item) if is_over else None
        if result is not None or error:
            log.result(result, call_id, name, error)
        # A reply may hold the result of a call that is `generating`.
        if not is_over and (result is None or status == "incomplete"):
            log.not_done(name, status)


_RUNNING = ("in_progress", "queued")
_TEXTS = kinds.part_types(kinds.RESPONSES_PARTS, kinds.TEXT)
_OWN_PARTS = ("input_text", "output_text", "input_image", "input_file")
_ITEMS = frozenset((*HOSTED, *OUTPUTS, *STEPLESS, "function_call", "custom_tool_call", "mcp_call"))
KEYS = key_set(
    "type id role content status call_id name arguments output input error namespace server_label phase "
    "summary encrypted_content tools results queries action actions code outputs result operation "
    "container_id caller agent pending_safety_checks acknowledged_safety_checks provider_data "
    "approval_request_id metrics extra tools_added tools_removed"
)
_CALLS = ("function_call", "custom_tool_call")
_CALL_KEYS = KEYS | {*VALUES}


def _fits(item: JsonObject) -> bool:
    kind, content = item.get("type"), item.get("content")
    if kind != "message":
        return isinstance(kind, str) and kind in _ITEMS and "role" not in item
    is_livekits = isinstance(content, list) and any(isinstance(part, str) for part in content)
    return is_livekits or any(part.get("type") in _OWN_PARTS for part in objects_in(content))


def read_items(items: list[JsonValue], log: Dialogue) -> None:
    """Adds items to a dialogue, in order; raises ValueError for a value of the wrong type."""
    for item in objects(items, "input"):
        kind = item.get("type") or "message"
        if not isinstance(kind, str):
            raise ValueError(f"type: a text is needed, not {type(kind).__name__}")
        if kind == "message" or (kind not in _ITEMS and "role" in item and "content" in item):
            _message(item, log)
        elif kind.endswith("_output") and kind != "tool_search":
            _output(item, log)
        elif kind == "item_reference":
            log.general.add(MISSING_HISTORY, "an item is only referred to by its id", calls=True, words=True)
        elif kind == "agent_handoff":
            log.transfer(str(item.get("new_agent_id")))
        elif kind in HOSTED or kind in (*_CALLS, "mcp_call"):
            _read_call(item, kind, log)
        else:
            log.unread.part(kind)
        log.unread.keys(item, _CALL_KEYS if kind in _CALLS else KEYS, item.get("role") != "user")


def _message(item: JsonObject, log: Dialogue) -> None:
    role = kinds.role_of(item.get("role"))
    if role == kinds.SYSTEM:
        return
    text, unread = _content(item.get("content"))
    if role == kinds.USER:
        log.user(text, item.get("timestamp"))
    elif role == kinds.AGENT:
        log.agent(text)
        log.said(item)
    else:
        log.unread.role(item.get("role"))
    for kind in unread:
        log.unread.part(kind, role != kinds.USER)


def _content(content: JsonValue) -> tuple[str, list[str]]:
    """Returns the text of a content, and the types of the parts that are not read."""
    if isinstance(content, str) or content is None:
        return content or "", []
    texts, unread = [], []
    # LiveKit's contents are lists of texts.
    held = [
        {"type": "text", "text": part} if isinstance(part, str) else part
        for part in listed(content, "content")
    ]
    for part in objects(held, "content"):
        kind = str(part.get("type"))
        if kind in _TEXTS:
            texts.append(text_at(part, "refusal" if kind == "refusal" else "text"))
        else:
            unread.append(kind)
    return joined_texts(texts), unread


def _output(item: JsonObject, log: Dialogue) -> None:
    output = item.get("output")
    if isinstance(output, list) and all(isinstance(p, dict) and p.get("type") in _TEXTS for p in output):
        output = _content(output)[0]
    elif output is None and "tools" in item:
        output = item["tools"]
    # The last command of a shell may have timed out, or have failed.
    last = output[-1] if isinstance(output, list) and output else None
    outcome = as_object(as_object(last).get("outcome"))
    code, is_late = outcome.get("exit_code"), outcome.get("type") == "timeout"
    error = (
        item.get("error")
        or ("timeout" if is_late else f"exit code {code}" if code else None)
        or (item.get("status") in ("failed", "incomplete") and str(item["status"]))
        or failure_mark(item)
    )
    log.result(decoded(output), item.get("call_id") or item.get("id"), item.get("name"), error)


def _reply(reply: JsonObject, log: Dialogue) -> None:
    read_items(reply.get("output") or [], log)
    log.usage(reply.get("usage"), reply.get("model"))
    status, reason = reply.get("status"), as_object(reply.get("incomplete_details")).get("reason")
    log.failure = reply.get("error") or (status if status in ("failed", "cancelled") else None)
    log.finish = reason or {"completed": "stop", "incomplete": "max_tokens"}.get(str(status), status)


def _join(events: list[JsonObject]) -> JsonObject:
    """Returns the response that a stream ends with, or what its finished items make, without a status."""
    for event in reversed(events):
        response = as_object(event.get("response"))
        if response and response.get("status") not in _RUNNING:
            return response
    items = [e["item"] for e in events if e.get("type") == "response.output_item.done" and e.get("item")]
    return {"object": "response", "output": items}


# For example {"input": [{"type": "function_call", "call_id": "1", "name": "find", "arguments": "{}"}]}
# and of LiveKit {"items": [{"type": "message", "role": "user", "content": ["Hi"]}]}
register_dialect(
    Dialect(
        name="openai_responses",
        keys=(("model", "input"), ("object", "model", "output")),
        help="items, requests and replies of OpenAI's Responses API",
        fits=_fits,
        read=read_items,
        reply=_reply,
        is_reply=lambda value: value.get("object") == "response",
        join=_join,
        is_event=lambda value: str(value.get("type")).startswith("response.") and "sequence_number" in value,
        holder="input",
    )
)
