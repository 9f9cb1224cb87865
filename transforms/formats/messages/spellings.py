"""Reads lists of messages, model requests and model replies in the spellings of many libraries."""

import re

from msgspec.structs import replace

from turnwise.schemas.conversation import ToolResponse
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.transforms.formats.endings import VALUES, as_text, failure_mark, finished_end, stated_reason
from turnwise.transforms.formats.fields import may_hold_work
from turnwise.transforms.formats.messages import parts
from turnwise.transforms.formats.messages.kinds import (
    AGENT,
    RESPONSES_PARTS,
    RESULT,
    SYSTEM,
    THOUGHT,
    TOOL,
    USER,
    as_object,
    first_of,
    is_work,
    key_set,
    objects_in,
    part_kind,
    part_types,
    role_of,
    stated,
    typed,
)
from turnwise.transforms.formats.traces.span import CUT, is_cut, loaded

# Types of messages of AutoGen: what a model is told; what a source said; code that a model wrote, and what it
# gave; its memory.
_OF_SOURCE = "UserMessage"
_SPOKEN = re.compile(r"(?:Text|MultiModal|Stop|ToolCallSummary|Handoff|Structured)Message(?:\[.*\])?")
_CODE, _CODE_RESULT = "CodeGenerationEvent", "CodeExecutionEvent"
MEMORY = "MemoryQueryEvent"
_USERS = frozenset((USER, "userproxy", "userproxyagent", "human"))
"""Sources of AutoGen that are the user, in small letters; developers name their proxies of users."""
_OF_AUTOGEN = key_set(
    "source type content id models_usage metadata created_at target context format_string code_blocks "
    "retry_attempt result"
)
"""Keys of what sources of AutoGen say and run; a summary also has the calls and results that it repeats."""
_LISTS = ("messages", "contents", "input_messages", "new_messages", "generations", "choices", "candidates",
          "output", "message", "new_message", "input", "prompt", "question", "query", "user_input",
          "user_message", "task", "text", "response", "content", "parts", "result", "inputs", "outputs",
          "prompts", "input_args", "answer", "user_msg", "raw")  # fmt: skip
_GIVEN = frozenset(("input", "prompt", "question", "query", "user_input", "user_message", "task", "inputs",
                    "prompts", "input_args", "user_msg"))  # fmt: skip
"""Keys of what a model or agent was given, which its output may repeat."""
_BESIDE_TEXT = frozenset(("text", "type", "role", "id", "name", "model", "usage", "finish_reason", "index",
                          "stop_reason", "logprobs", "metadata", "annotations", "message", "generation_info",
                          "input", "question", "query", "chat_history", "history"))  # fmt: skip
"""Keys of a reply that is a text; an object with others is a structured answer."""
_REPLIED = ("content", "parts", "message", "output", "text")
"""Keys under which a reply holds its message, beside its finish reason."""
_EVENT = "event.name"
_OF_OTEL = frozenset(("role", "parts", "finish_reason"))
HOSTED_ITEMS: dict[str, tuple[str, ...]] = {
    "web_search_call": ("action",), "local_shell_call": ("action",), "shell_call": ("action",),
    "file_search_call": ("queries",), "code_interpreter_call": ("code",),
    "computer_call": ("action", "actions"), "image_generation_call": ("revised_prompt",),
    "apply_patch_call": ("operation",), "tool_search_call": ("arguments",),
}  # fmt: skip
"""Type of an item of Responses that is a call to a tool of OpenAI's -> the keys of its arguments."""
CALL_ITEMS = ("function_call", "custom_tool_call", "mcp_call", *HOSTED_ITEMS)
OUTPUTS = tuple(
    f"{name}_output" for name in (*HOSTED_ITEMS, "function_call", "custom_tool_call", "tool_search")
)
"""Types of items that are results."""
STEPLESS = part_types(RESPONSES_PARTS, THOUGHT)
"""Types of items that are no step of a conversation."""
_TYPED = (*CALL_ITEMS, *OUTPUTS, "message", "reasoning")
HOLDERS = ("parts", "contents", "blocks", "content", "text")
"""Keys that hold the content of a message; a list of parts goes before a text that may repeat it."""
_SKIPPED = ("ThoughtEvent", "ModelClientStreamingChunkEvent", "SelectSpeakerEvent", "SelectorEvent",
            "UserInputRequestedEvent", MEMORY, *STEPLESS)  # fmt: skip
"""Types of what is no step of a conversation."""
_WRAPPERS = key_set("message constructor generation generationchunk chatgeneration chatgenerationchunk")
"""Types of what holds a message, in small letters; they say nothing of whose it is."""
_KEYS = key_set(
    "content parts contents blocks text lc index source thought generation_info "
    # of chats
    "tool_calls function_call function_call_arguments_json refusal audio role tool_call_id name id error "
    "requestor usage additional_kwargs models_usage "
    # of Anthropic
    "type model stop_reason stop_sequence container context_management timestamp stop_details "
    # of LangChain
    "invalid_tool_calls status usage_metadata response_metadata artifact example tool_call_chunks "
    "chunk_position "
    # of Responses and Vercel
    "phase summary encrypted_content provider_data createdAt metadata annotations providerOptions "
    "providerMetadata reasoning revisionId"
)
"""Keys of messages in any spelling; another that may hold calls or words is not read."""
_ITEM_KEYS = key_set(
    "call_id arguments input namespace server_label tools results queries action actions code outputs "
    "operation container_id caller agent pending_safety_checks acknowledged_safety_checks "
    "approval_request_id metrics extra tools_added tools_removed"
).union(_KEYS, VALUES)
"""Keys of items of Responses, which are calls and results."""
_PYDANTIC = {"system-prompt": SYSTEM, "user-prompt": USER, "tool-return": TOOL, "retry-prompt": USER,
             "text": AGENT, "tool-call": AGENT, "builtin-tool-call": AGENT, "builtin-tool-return": AGENT,
             "thinking": AGENT, "file": AGENT}  # fmt: skip
"""Kind of a part of Pydantic AI's own messages -> role."""
_UNTYPED = frozenset(("text", "toolCallId", *parts.STEPS))
_OF_MESSAGES = frozenset(("role", "lc", "message", "generation_info"))
_MOST_DEPTH, _SHORTEST, _KEPT = 6, 64, 8  # levels; characters of a history, and how many are kept
_REMINDER = re.compile(r"(?:\s*<(system-reminder)>(?:(?!</?\1>).)*</\1>)+\s*", re.DOTALL)


def read_messages(value: JsonValue, role: str, depth: int = 0) -> list[parts.SpanMessage]:
    """Returns the messages of a list, request, reply, JSON of them, or text; `role`: where none is stated."""
    value = loaded(value)
    if depth > _MOST_DEPTH or value is None or value == "":
        return []
    if isinstance(value, str):
        return [_spoken(role, [value])]
    if isinstance(value, list):
        if value and all(map(_is_otel, value)):
            return [message for message in map(_of_otel, value) if _says_something(message)]
        if value and not any(isinstance(item, dict | list) for item in value):
            texts = [item for item in value if isinstance(item, str)]
            inner = [loaded(text) for text in texts]
            if inner and all(isinstance(item, dict) and _is_message(item) for item in inner):
                return read_messages(inner, role, depth + 1)
            pair = role_of(texts[0]) if len(texts) == len(value) == 2 else None
            return [_spoken(pair, texts[1:]) if pair else _spoken(role, texts)]
        is_parts = bool(value) and all(map(_is_part, value))
        if is_parts and any(_is_known(item.get("type")) for item in value):
            return read_message({"parts": value}, role)
        are_messages = [isinstance(item, dict) and _is_message(item) for item in value]
        is_chat = is_parts or any(are_messages)
        messages = []
        for item, is_message in zip(value, are_messages, strict=True):
            kind = item.get("type") if isinstance(item, dict) else None
            if is_message:
                messages += read_message(item, role)
            elif not is_chat or item in (None, "", {}, []) or isinstance(item, str | list):
                messages += read_messages(item, role, depth + 1)
            elif isinstance(kind, str) and kind not in _SKIPPED and _is_known(kind):
                messages += read_messages([stated(item)], role, depth + 1)
            elif kind not in _SKIPPED:
                # Among messages, what is none is nobody's.
                role_stated = kind if isinstance(kind, str) else None
                messages.append(parts.SpanMessage(parts.UNKNOWN, stated_role=role_stated))
        return messages
    if not isinstance(value, dict) or value.get("type") in _SKIPPED:
        return []
    if _is_message(value):
        return read_message(value, role)
    names = (name for name in _LISTS if role != AGENT or name not in _GIVEN)
    key = next((name for name in names if value.get(name) not in (None, "", [], {})), None)
    if key is None or (key == "text" and role == AGENT and not value.keys() <= _BESIDE_TEXT):
        return []
    messages = read_messages(value[key], role, depth + 1)
    add_finish(messages, value if key in _REPLIED else {})
    is_several = key in ("choices", "candidates", "generations")
    system = as_object(value.get("config")).get("system_instruction")
    system = system or first_of(value, ("system", "instructions", "system_instruction"))
    instructions = [parts.SpanMessage(SYSTEM, [system])] if isinstance(system, str) and system else []
    return [*instructions, *(first_of_several(messages) if is_several else messages)]


def first_of_several(messages: list[parts.SpanMessage]) -> list[parts.SpanMessage]:
    """Returns the first of several alternative replies, marked; one reply as it is."""
    if len(messages) < 2:
        return messages
    first = messages[0]
    return [replace(first, parts=[*first.parts, parts.FURTHER_CHOICE])]


def _spoken(role: str, texts: list[str]) -> parts.SpanMessage:
    """Returns a message of texts, of which those of Python objects are nobody's words."""
    words = [text for text in texts if not parts.is_object(text)]
    message = parts.SpanMessage(role, parts=[parts.OBJECT] if len(words) < len(texts) else [])
    for text in words:
        parts.add_text(message, text)
    return message


def only_messages(value: JsonValue, role: str) -> list[parts.SpanMessage]:
    """Returns the messages of what holds nothing but messages: one of nobody if none of it can be read."""
    messages, value = read_messages(value, role), loaded(value)
    if messages:
        return messages
    for item in value if isinstance(value, list) else [value]:
        is_empty = not item or isinstance(item, str)
        if isinstance(item, dict):
            is_known = item.get("type") in _SKIPPED or not item.keys().isdisjoint(_LISTS)
            is_empty = is_empty or is_known or _is_message(item)
        if not is_empty:
            return [parts.SpanMessage(parts.UNKNOWN)]
    return []


def _is_pydantic(value: JsonObject) -> bool:
    return value.get("kind") in ("request", "response") and isinstance(value.get("parts"), list)


# For example {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}
def _of_pydantic(value: JsonObject) -> list[parts.SpanMessage]:
    """Returns the messages in one of Pydantic AI's own, whose parts are of different roles."""
    messages: list[parts.SpanMessage] = []
    for part in value["parts"]:
        held = stated(part) if isinstance(part, dict) else {}
        kind = str(held.get("part_kind"))
        role = _PYDANTIC.get(kind, AGENT if value["kind"] == "response" else parts.UNKNOWN)
        if kind == "retry-prompt" and "tool_name" in held:
            role = TOOL
        if not messages or messages[-1].role != role:
            messages.append(parts.SpanMessage(role))
        message, content = messages[-1], held.get("content")
        if kind in ("tool-call", "builtin-tool-call"):
            spelt = "server_tool_call" if kind == "builtin-tool-call" else "tool_call"
            parts.add_call(message, {**held, "type": spelt})
            # By a tool of such a name its models answer with an object.
            args = held.get("args")
            if args is not None and f"{held.get('tool_name')}_".startswith("final_result_"):
                parts.add_text(message, args if isinstance(args, str) else dump_json(args).decode())
        elif message.role == TOOL or kind == "builtin-tool-return":
            is_bad = kind == "retry-prompt" or held.get("outcome") in ("failed", "denied")
            message.results.append(parts.result_of({**held, "is_error": is_bad}))
        elif kind == "retry-prompt":
            parts.add_text(message, f"Validation feedback:\n{content}{parts.AGAIN}")
        elif kind not in _PYDANTIC:
            message.parts.append(kind)
        elif kind != "thinking":
            for item in content if isinstance(content, list) else [content]:
                inner = item.get("kind") if isinstance(item, dict) else None
                parts.add_part(message, {"type": "file" if inner == "binary" else inner} if inner else item)
    return messages


def read_message(value: JsonObject, role: str) -> list[parts.SpanMessage]:
    """Returns the message that a value of any spelling is, as `messages_of` does, unless it says nothing."""
    return [message for message in messages_of(value, role, is_spelt=True) if _says_something(message)]


def _says_something(message: parts.SpanMessage) -> bool:
    """Returns whether a message is not empty, or fails for a reason that explains why it is."""
    # One that ended as others do is empty because content is not recorded.
    return not message.is_empty or finished_end(message.finish).ended == "agent_error"


def messages_of(value: JsonObject, role: str, is_spelt: bool = False) -> list[parts.SpanMessage]:
    """Returns the message that a value of any spelling is, in several if its parts are of several roles.

    What states no role is of `role`. If `is_spelt`, a text may be the JSON of blocks, as attributes are.
    """
    if role == USER and _lacks_role(value):
        role = parts.UNKNOWN
    value = stated(value)
    if value.get("type") in _SKIPPED:
        return []
    if _is_pydantic(value):
        return _of_pydantic(value)
    outer, value = value, stated(_inner(value))
    if "items" in value and value.keys().isdisjoint(HOLDERS):  # of Semantic Kernel
        value = {"contents" if key == "items" else key: item for key, item in value.items()}
    if isinstance(value.get("source"), str) and "role" not in value and _is_of_autogen(value.get("type")):
        return [_of_autogen(value)]
    message = parts.SpanMessage(_role(value, outer, role))
    if message.role not in (USER, AGENT, TOOL, SYSTEM):
        message.stated_role = None if message.role == parts.UNKNOWN else message.role
        message.role = parts.UNKNOWN
    message.finish = _finish({**outer, **value})
    # LlamaIndex holds the content in blocks, and Microsoft's agents in contents.
    kind, content = value.get("type"), first_of(value, ("content", "blocks", "contents"))
    blocks = objects_in(content) if message.role == TOOL else ()
    names = (name for block in blocks for name in (*block, str(typed(block).get("type"))))
    has_results = any(part_kind(name) == RESULT for name in names)
    if kind in CALL_ITEMS:
        message.role = AGENT
        _add_item(message, value, str(kind))
    elif isinstance(kind, str) and (kind in OUTPUTS or kind.endswith("_call_output")):
        message.role = TOOL
        message.results.append(parts.result_of({**value, "output": first_of(value, ("output", "tools"))}))
    elif kind in ("ToolCallExecutionEvent", "FunctionExecutionResultMessage") and isinstance(content, list):
        message.results += map(parts.result_of, objects_in(content))
    elif message.role == TOOL and not isinstance(value.get("parts"), list) and not has_results:
        held = {**as_object(value.get("additional_kwargs")), **value, "content": content}
        result, name = parts.result_of(held), held.get("name") or held.get("tool_name")
        result.name = name if isinstance(name, str) else None
        message.results.append(result)
    else:
        _add_content(message, value, is_spelt)
    if len(message.results) == 1 and message.results[0].id is None:
        # The id of the call may stand beside the content that is the result.
        message.results[0].id = as_text(value.get("tool_call_id"))
    known = _ITEM_KEYS if message.role == TOOL or kind in _TYPED else _KEYS
    message.keys += [name for name, item in value.items() if name not in known and may_hold_work(name, item)]
    return [message]


def _is_of_autogen(kind: JsonValue) -> bool:
    is_named = isinstance(kind, str) and _SPOKEN.fullmatch(kind) is not None
    return is_named or kind in (_CODE, _CODE_RESULT)


def _of_autogen(value: JsonObject) -> parts.SpanMessage:
    """Returns what a source of AutoGen said (a text, an object, texts and pictures) or ran."""
    kind, content = value["type"], value.get("content")
    message = parts.SpanMessage(USER if value["source"].lower().replace("_", "") in _USERS else AGENT)
    if kind == _CODE:
        message.role, args = AGENT, {"code_blocks": value.get("code_blocks")}
        parts.add_call(message, {"name": "code_execution", "arguments": args})
    elif kind == _CODE_RESULT:
        message.role, ran = TOOL, as_object(value.get("result"))
        result = {"content": ran.get("output"), "is_error": bool(ran.get("exit_code"))}
        message.results.append(parts.result_of({"name": "code_execution", **result}))
    elif kind == "HandoffMessage" and message.role == AGENT:  # its content names who takes over
        message.hands_to = value["target"] if isinstance(value.get("target"), str) else None
        message.parts += [] if message.hands_to else [kind]
    else:
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, dict):
                is_picture = isinstance(content, list) and part.keys() == {"data"}
                parts.add_part(message, {"type": "image"} if is_picture else dump_json(part).decode())
            else:
                parts.add_text(message, part)
    known = _OF_AUTOGEN | {"tool_calls", "results"} if kind == "ToolCallSummaryMessage" else _OF_AUTOGEN
    message.keys += [name for name, item in value.items() if name not in known and may_hold_work(name, item)]
    return message


def _add_item(message: parts.SpanMessage, item: JsonObject, kind: str) -> None:
    """Adds a call of Responses with its result, if the item holds it, or that it is not done."""
    call, status = parts.call_of(item), item.get("status")
    if kind in HOSTED_ITEMS:
        given = {key: item[key] for key in HOSTED_ITEMS[kind] if item.get(key) is not None}
        inner = next(iter(given.values()), None) if len(given) == 1 else None
        call.args = inner if isinstance(inner, dict) else given
        call.name, call.is_hosted = kind.removesuffix("_call"), True
        is_over = status in (None, "completed", "failed")
        result = first_of(item, ("results", "outputs", "result"))
        error = failure_mark(item) if is_over else None
        call.result = None if result is None and not error else ToolResponse(response=result, error=error)
        # A reply may hold the result of a call that is `generating`.
        is_open = not is_over and (result is None or status == "incomplete")
    else:
        if kind == "mcp_call" and status in (None, "completed"):
            call.result = call.result or ToolResponse()
        is_open = status not in (None, "completed") and not (call.result and call.result.error)
    message.calls.append(call)
    message.parts += [parts.not_done(call.name, status)] if is_open else []


def _lacks_role(value: JsonObject) -> bool:
    """Returns whether a message that has to state a role does not: it is empty, or the parts have types."""
    # Gemini's parts have no type, and a content of them without a role is the user's.
    parts = value.get("parts")
    typed = any(part.get("type") for part in objects_in(parts))
    role = value.get("role", "" if typed else None)
    return ("role" in value or typed) and not (isinstance(role, str) and role) and (typed or parts is None)


def _finish(holder: JsonObject) -> str | None:
    about = as_object(holder.get("response_metadata"))
    given = stated_reason(about) or as_object(about.get("incomplete_details")).get("reason")
    reason = given or stated_reason(holder) or stated_reason(as_object(holder.get("generation_info")))
    return reason if isinstance(reason, str) else None


def add_finish(messages: list[parts.SpanMessage], reply: JsonObject) -> None:
    """Adds the finish reason of a reply to its last message, if that states none."""
    if messages and not messages[-1].finish:
        messages[-1].finish = _finish(reply)


def _is_otel(value: JsonValue) -> bool:
    is_plain = isinstance(value, dict) and value.keys() <= _OF_OTEL
    return is_plain and role_of(value.get("role")) is not None and isinstance(value.get("parts"), list)


def _of_otel(value: JsonObject) -> parts.SpanMessage:
    """Returns a message in OpenTelemetry's spelling, as `read_message` does, without looking for others."""
    message, finish = parts.SpanMessage(role_of(value["role"]) or parts.UNKNOWN), value.get("finish_reason")
    message.finish = finish if isinstance(finish, str) and finish else None
    for part in value["parts"]:
        parts.add_part(message, part)
    if message.role == TOOL and message.texts and not message.results:
        message.results, message.texts = [parts.MessageResult(message.text)], []
    if message.results and message.role == USER and not message.texts:
        message.role = TOOL
    return message


def _add_content(message: parts.SpanMessage, value: JsonObject, is_spelt: bool) -> None:
    held = {key: value[key] for key in HOLDERS if value.get(key) not in (None, "", [], {})}
    used = next((key for key, item in held.items() if isinstance(item, list)), next(iter(held), ""))
    content = held.pop(used, None)
    if isinstance(content, dict):
        content = stated(content).get("parts", [content])
    for part in content if isinstance(content, list) else _blocks(content) if is_spelt else [content]:
        parts.add_part(message, part)
    for text in () if message.texts else held.values():
        parts.add_text(message, text)
    message.keys += [key for key, item in held.items() if isinstance(item, list | dict)]
    parts.add_calls(message, value.get("tool_calls"))
    _add_older_call(message, value)
    for bad in objects_in(value.get("invalid_tool_calls")):
        parts.add_calls(message, [{**bad, "type": None, "parse_error": str(bad.get("error"))}])
    if not message.calls:
        message.parts += [kind for part in objects_in(content) if (kind := part.get("type")) in parts.PIECES]
    extra = value.get("additional_kwargs")
    message.keys += [] if isinstance(extra, dict) or not extra else ["additional_kwargs"]
    if isinstance(extra, dict):
        # They repeat the calls of a message, or hold what stands nowhere else.
        names = {call.name for call in message.calls}
        beside = parts.SpanMessage(message.role)
        parts.add_calls(beside, extra.get("tool_calls"))
        _add_older_call(beside, extra)
        message.calls += [call for call in beside.calls if call.name not in names]
    for holder in (value, as_object(extra)):
        # Integrations of LangChain keep a refusal, and the transcript of speech, apart from the content.
        parts.add_text(message, holder.get("refusal"))
        audio = holder.get("audio")
        if isinstance(audio, dict) and not message.texts:
            parts.add_text(message, audio.get("transcript"))
            message.parts += [] if message.texts else ["audio"]
    if message.results and message.role == USER:
        # Notes of Claude Code to the model follow results.
        message.texts = [text for text in message.texts if not _REMINDER.fullmatch(text)]
        message.role = USER if message.texts or any(part != parts.INTERIM for part in message.parts) else TOOL
    if message.role == TOOL and message.texts and not message.results:
        # Its texts are the result.
        message.results.append(parts.result_of({**value, "content": message.text}))
        message.texts = []


def _add_older_call(message: parts.SpanMessage, value: JsonObject) -> None:
    older = loaded(value.get("function_call"))
    if name := value.get("function_call_name"):  # of OpenInference
        older = {"name": name, "arguments": value.get("function_call_arguments_json")}
    if older and isinstance(older, dict):
        call = parts.call_of(stated(older))
        if all((call.name, loaded(call.args)) != (made.name, loaded(made.args)) for made in message.calls):
            message.calls.append(call)
    elif older:
        message.keys.append("function_call")


def _blocks(content: JsonValue) -> list[JsonValue]:
    """Returns the blocks that a text spells in JSON, or the text itself."""
    marks = ('"type"', '"text"', '"tool')
    if isinstance(content, str) and content[:1] == "[" and any(mark in content for mark in marks):
        blocks = loaded(content)
        if blocks is content and is_cut(content):
            return [{"type": CUT}]
        if isinstance(blocks, list) and all(map(_is_part, blocks)):
            for block in blocks:
                # Another object may be what a model wrote as its answer.
                kind = block.get("type")
                names_call = "name" in block and not block.keys().isdisjoint(("input", "args", "arguments"))
                if len(block) == 1 if kind is None else _is_known(kind) or is_work(kind) or names_call:
                    return blocks
    return [content]


def _inner(value: JsonObject) -> JsonObject:
    """Returns what a wrapper of a message holds; Haystack's older messages have keys such as `_role`."""
    if "_role" in value:
        return {key.removeprefix("_"): item for key, item in value.items()}
    for key in ("message", "data", "kwargs", "body"):
        inner = value.get(key)
        if isinstance(inner, dict) and (key != "data" or "type" in value):
            return {"type": value.get("type"), **_inner(inner)} if key == "data" else _inner(inner)
    return value


def _role(value: JsonObject, outer: JsonObject, role: str) -> str:
    """Returns whose a message is: `role` if it does not say, and what it says if that is unknown."""
    if value.get("type") == _OF_SOURCE and isinstance(source := value.get("source"), str):
        return USER if source.lower() == USER else f"{_OF_SOURCE} of {source}"
    event, lc = outer.get(_EVENT), outer.get("id")
    if value.get("tool_call_id") and value.get("role") and role_of(value["role"]) != USER:
        return TOOL
    names = [value.get("role"), outer.get("role"), value.get("type"), outer.get("type")]
    if isinstance(event, str) and event.startswith("gen_ai."):
        names.insert(2, "assistant" if event == "gen_ai.choice" else event.split(".")[1])
    if outer.get("lc") and isinstance(lc, list) and lc:
        names.insert(0, lc[-1])
    for name in names:
        if known := role_of(name):
            # In AutoGen 0.2 the history of a user's proxy has the role `assistant` for its own messages.
            is_proxy = known == AGENT and str(value.get("name")).lower().replace("_", "") in _USERS
            return f"{known} with the name {value['name']}" if is_proxy else known
        if name not in (None, "", *_TYPED) and str(name).lower() not in _WRAPPERS:
            return str(name)
    return role


def _is_known(kind: JsonValue) -> bool:
    return kind is None or (isinstance(kind, str) and part_kind(kind) is not None)


def _is_message(value: JsonObject) -> bool:
    if _lacks_role(value) or _EVENT in value or value.get("type") in _TYPED or _is_pydantic(value):
        return True
    if value.get("role") or value.get("_role") or value.get("lc"):
        return True
    kind = value.get("type")
    if (_is_of_autogen(kind) or role_of(kind) is not None) and value.keys() & {"content", "data"}:
        return True
    inner = next((value[key] for key in ("message", "kwargs") if isinstance(value.get(key), dict)), None)
    is_message = "tool_calls" in value and not isinstance(value.get("response"), dict)
    return is_message or (inner is not None and _is_message(inner))


def _is_part(value: JsonValue) -> bool:
    if not isinstance(value, dict) or not _OF_MESSAGES.isdisjoint(value):
        return False
    if "content" in value and "type" not in value:
        return False
    kind = value.get("type")
    if isinstance(kind, str):
        is_message = _is_of_autogen(kind) or role_of(kind) is not None or kind in _TYPED
        return not is_message and "data" not in value
    return not _UNTYPED.isdisjoint(value)


_histories: list[tuple[str, str, list[parts.SpanMessage]]] = []
"""The last texts that were read, without their brackets' end, with their roles and messages."""


def forget_histories() -> None:
    """Forgets all texts; to be called after every conversation."""
    _histories.clear()


def read_history(text: str, role: str) -> list[parts.SpanMessage]:
    """Returns the messages of a text as `read_messages` does, which nobody may change: they are shared."""
    if len(text) < _SHORTEST or text[0] != "[" or text[-1] != "]":
        return read_messages(text, role)
    read = None
    for known, given, messages in reversed(_histories):
        if given == role and text.startswith(known):
            rest = text[len(known) :].lstrip()
            if rest == "]":
                read = messages
            elif rest.startswith(",") and messages:
                added = read_messages(f"[{rest[1:]}", role)
                read = None if is_mere_text(added, f"[{rest[1:]}") else [*messages, *added]
            break
    if read is None:
        read = read_messages(text, role)
    if not is_mere_text(read, text):
        del _histories[:-_KEPT]
        _histories.append((text[:-1], role, read))
    return read


def is_mere_text(messages: list[parts.SpanMessage], text: str) -> bool:
    """Returns whether a text was read as words: it is no JSON, or JSON that is cut off."""
    return len(messages) == 1 and messages[0].texts == [text]
