"""Messages, replies and streams of the model APIs: Anthropic, Bedrock, Gemini, OpenAI's Responses."""

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue, shown
from turnwise.transforms.formats.endings import as_text, length
from turnwise.transforms.formats.fields import OPEN_CALL, UNREAD
from turnwise.transforms.formats.messages import kinds, messages_base
from turnwise.transforms.formats.messages.dialogue import Dialogue, read_dialogue
from turnwise.transforms.formats.messages.parts import REFUSED, call_of, not_done
from turnwise.transforms.formats.messages.spellings import CALL_ITEMS, OUTPUTS, STEPLESS

# Anthropic's Messages API: `tool_use` and `tool_result` blocks, and tools that run on its servers.

_ANTHROPIC_CALLS = kinds.part_types(kinds.ANTHROPIC_PARTS, kinds.CALL, kinds.HOSTED)


def is_anthropic_block(part: JsonValue) -> bool:
    """Returns whether a part of a content is a call or a result in Anthropic's form."""
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and (kind in _ANTHROPIC_CALLS or kind.endswith("tool_result"))


def read_anthropic(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue, in order; citations divide a text into blocks. Raises ValueError."""
    for message in kinds.objects(messages, "messages"):
        blocks = kinds.objects_in(message.get("content"))
        if not log.steps and any(block.get("type") == "compaction" for block in blocks):
            why = "a summary stands in place of the earlier messages"
            log.general.add(messages_base.MISSING_HISTORY, why, calls=True, words=True)
        read_dialogue([message], log, joint="")


def _anthropic_reply(reply: JsonObject, log: Dialogue) -> None:
    if reply.get("type") == "error":
        log.failure = reply.get("error") or "error"
    else:
        # The request may end with the start of the answer, with which the reply goes on.
        log.goes_on = log.last == "agent"
        read_anthropic([{"role": "assistant", **kinds.stated(reply)}], log)
        log.goes_on = False


# For example {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "find", "input": {}}]}
messages_base.register_dialect(
    "anthropic_messages", "messages, requests and replies of Anthropic's Messages API",
    # Azure's results stand under the key `tool_result`.
    lambda message: "role" in message and any(is_anthropic_block(part) and "tool_result" not in part
                                              for part in kinds.objects_in(message.get("content"))),
    (("messages", "max_tokens", "system"),), read=read_anthropic, reply=_anthropic_reply,
    is_reply=lambda value: value.get("type") == "message" and "stop_reason" in value, join=kinds.block_stream,
    is_event=lambda value: str(value.get("type")).startswith(("message_", "content_block_")),
)  # fmt: skip


# Amazon Bedrock's Converse API: blocks of one key, `toolUse` and `toolResult`.

_BEDROCK_EVENTS = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop",
                   "messageStop", "metadata")  # fmt: skip

_EVENT_KEYS = frozenset(("contentBlockIndex", "stopReason", *_BEDROCK_EVENTS[:-1]))
_NO_EVENT = frozenset(("output", "messages", "contents", "turns", "content", "parts"))
"""Keys of replies, of records and of messages, which may state a `stopReason`, too."""


def _joined_bedrock(events: list[JsonObject]) -> JsonObject:
    """Returns the reply that events make, each under its name or as its payload alone."""
    reply: JsonObject = {"stopReason": None}
    steps: list[JsonObject] = []
    for event in events:
        inner = next((event[name] for name in _BEDROCK_EVENTS if isinstance(event.get(name), dict)), event)
        index, start, delta = (inner.get(key) for key in ("contentBlockIndex", "start", "delta"))
        if isinstance(start, dict):
            steps.append({"type": "content_block_start", "index": index, "content_block": dict(start)})
        elif isinstance(delta, dict):
            spelt = kinds.as_object(delta.get("toolUse"))
            piece = {"text": delta.get("text"), "partial_json": spelt.get("input")}
            steps.append({"type": "content_block_delta", "index": index, "delta": piece})
        reply |= {key: inner[key] for key in ("stopReason", "usage", "metrics") if key in inner}
    content: list[JsonObject] = []
    for block in kinds.block_stream(steps)["content"]:
        if isinstance(block.get("toolUse"), dict):
            content.append({"toolUse": {**block["toolUse"], "input": block.get("input", {})}})
        else:
            content.append({"text": block.get("text")} if "text" in block else {"reasoningContent": {}})
    return {**reply, "output": {"message": {"role": "assistant", "content": content}}}


def _bedrock_reply(reply: JsonObject, log: Dialogue) -> None:
    if (message := kinds.as_object(reply.get("output")).get("message")) is not None:
        log.goes_on = log.last == "agent"
        read_dialogue([message], log)
        log.goes_on = False
    metrics = reply.get("metrics")
    log.usage(reply.get("usage"))
    if isinstance(metrics, dict) and log.turns:
        log.turn.model_ms = length(metrics.get("latencyMs"))
    log.finish = reply.get("stopReason")


# For example {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "Bonn"}]}}]}
messages_base.register_dialect(
    "bedrock_converse", "messages, requests and replies of Amazon Bedrock's Converse API",
    lambda message: any(block.get("type") is None and not block.keys().isdisjoint(("toolUse", "toolResult"))
                        for block in kinds.objects_in(message.get("content"))),
    (("messages", "modelId", "inferenceConfig"), ("output", "stopReason", "usage")), reply=_bedrock_reply,
    is_reply=lambda value: "stopReason" in value and isinstance(value.get("output"), dict),
    join=_joined_bedrock,
    is_event=lambda value: _NO_EVENT.isdisjoint(value) and (
        not _EVENT_KEYS.isdisjoint(value) or value.keys() >= {"usage", "metrics"}),
)  # fmt: skip


# Gemini's API, as the REST interface and as the Python library spell it.

_TYPED = kinds.part_types(kinds.GEMINI_PARTS, kinds.CALL, kinds.HOSTED, kinds.RESULT, kinds.MEDIA)
_GEMINI_PARTS = frozenset(("text", *map(kinds.snake, _TYPED)))
"""Keys that name parts."""


def _read_contents(contents: list[JsonValue], log: Dialogue) -> None:
    """Adds contents; texts in a row are candidate content of the user, as Google's library sends them."""
    whole: list[JsonValue] = []
    texts: list[JsonValue] = []
    for content in contents:
        if not isinstance(content, str):
            texts = []
            whole.append(content)
            continue
        if not texts:
            whole.append({"role": "user", "parts": texts})
        texts.append({"text": content})
    read_dialogue(whole, log, kinds.USER)


_FINISHES = (None, "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")
_AUTOMATIC = "automatic_function_calling_history"
_GEMINI_KEPT = ("usage_metadata", "model_version", "prompt_feedback", _AUTOMATIC)


def _gemini_reply(reply: JsonObject, log: Dialogue) -> None:
    plain = kinds.snaked(reply)
    before = len(log.steps)
    if plain.get(_AUTOMATIC):
        # The calls that the library made by itself follow the request's contents.
        contents, seen, index = list(kinds.objects(plain[_AUTOMATIC], _AUTOMATIC)), Dialogue(), 0
        while len(seen.steps) < len(log.steps) and index < len(contents):
            _read_contents([contents[index]], seen)
            index += 1
        if seen.steps == log.steps:
            _read_contents(list(contents[index:]), log)
        else:
            message = f"{_AUTOMATIC} does not begin with the request's contents, and is not read"
            log.unread.add(UNREAD, message, calls=True)
    has_others = len(log.steps) > before
    candidates = list(map(kinds.snaked, kinds.objects(plain.get("candidates"), "candidates")))
    if candidates:
        first = next((candidate for candidate in candidates if candidate.get("index") == 0), candidates[0])
        log.alternatives(len(candidates))
        if isinstance(first.get("content"), dict):
            log.goes_on = log.last == "agent"
            _read_contents([{"role": "model", **kinds.snaked(first["content"])}], log)
            log.goes_on = False
        reason = first.get("finish_reason")
        if type(reason) is int:
            # protobuf-Python's `to_dict` writes numbers. From 6 on, the Gemini API and Vertex AI number them
            # differently; all are failures.
            reason = _FINISHES[reason] if 0 <= reason < len(_FINISHES) else f"FINISH_REASON_{reason}"
        log.finish = reason
    blocked = kinds.snaked(kinds.as_object(plain.get("prompt_feedback"))).get("block_reason")
    if blocked:
        log.failure = f"the prompt was blocked: {blocked}"
    # The reply counts the tokens of the last call of the model only.
    counts = {} if has_others else kinds.snaked(kinds.as_object(plain.get("usage_metadata")))
    log.usage(counts, plain.get("model_version"))


def _joined_gemini(events: list[JsonObject]) -> JsonObject:
    reply: JsonObject = {}
    parts: list[JsonObject] = []
    finish: JsonValue = None
    for event in map(kinds.snaked, events):
        for candidate in list(kinds.objects(event.get("candidates"), "candidates"))[:1]:
            candidate = kinds.snaked(candidate)
            finish = candidate.get("finish_reason") or finish
            content = kinds.as_object(candidate.get("content"))
            for part in map(kinds.snaked, kinds.objects(content.get("parts"), "parts")):
                last = parts[-1] if parts else {}
                if "text" in part and "text" in last and part.get("thought") == last.get("thought"):
                    for text in (last["text"], part["text"]):
                        if not isinstance(text, str):
                            raise ValueError(f"text: a text is needed, not {shown(text)}")
                    last["text"] += part["text"]
                else:
                    parts.append(part)
        reply |= {key: event[key] for key in _GEMINI_KEPT if key in event}
    return {**reply, "candidates": [{"content": {"parts": parts}, "finish_reason": finish}]}


def _has_candidates(value: JsonObject) -> bool:
    """Returns whether an object is a reply; one that was blocked has no candidates, or one without words."""
    held = value.get("candidates")
    plain = list(map(kinds.snaked, kinds.objects_in(held)))
    known = [c for c in plain if "finish_reason" in c or "parts" in kinds.as_object(c.get("content"))]
    is_blocked = held == [] and bool(kinds.snaked(value).keys() & {"usage_metadata", "prompt_feedback"})
    return is_blocked or (isinstance(held, list) and bool(held) and len(known) == len(held))


# For example {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "find", "args": {}}}]}]}
messages_base.register_dialect(
    "gemini_contents", "contents, requests and replies of the Gemini API",
    lambda message: any(part.get("type") is None and not _GEMINI_PARTS.isdisjoint(map(kinds.snake, part))
                        for part in kinds.objects_in(message.get("parts"))),
    (("contents", "generationConfig"), ("candidates", "usageMetadata")), holder="contents",
    read=_read_contents, reply=_gemini_reply, join=_joined_gemini,
    is_reply=_has_candidates, is_event=_has_candidates,
)  # fmt: skip


# Items of OpenAI's Responses API: messages, calls with their outputs, tools that OpenAI hosts.

_OWN_PARTS = ("input_text", "output_text", "input_image", "input_file")
_ITEMS = frozenset((*CALL_ITEMS, *OUTPUTS, *STEPLESS))


def _is_item(item: JsonObject) -> bool:
    kind, content = item.get("type"), item.get("content")
    if kind != "message":
        return isinstance(kind, str) and kind in _ITEMS and "role" not in item
    is_livekits = isinstance(content, list) and any(isinstance(part, str) for part in content)
    return is_livekits or any(part.get("type") in _OWN_PARTS for part in kinds.objects_in(content))


def read_items(items: list[JsonValue], log: Dialogue) -> None:
    """Adds items to a dialogue, in order; raises ValueError for a value of the wrong type."""
    given = list(kinds.objects(items, "input"))
    decided = {as_text(item.get("approval_request_id")): item for item in given}
    for item in given:
        kind = item.get("type") or "message"
        if not isinstance(kind, str):
            raise ValueError(f"type: a text is needed, not {shown(kind)}")
        if kind == "item_reference":
            why = "an item is only referred to by its id"
            log.general.add(messages_base.MISSING_HISTORY, why, calls=True, words=True)
        elif kind == "mcp_approval_request":
            call, name = call_of(item), as_text(item.get("id"))
            decision = decided.get(name) if name else None
            if decision is None:
                log.unread.add(OPEN_CALL, not_done(call.name, kind), calls=True)
            elif decision.get("approve") is False:
                log.call(call.name, call.args, call.id, call.resource)
                log.result(None, call.id, call.name, decision.get("reason") or REFUSED)
        elif kind == "agent_handoff":
            log.turn.transfers = [*log.turn.transfers, str(item.get("new_agent_id"))]
        elif kind == "message" or kind in _ITEMS or item.keys() >= {"role", "content"}:
            read_dialogue([item], log)
        elif kind.endswith("_output"):
            read_dialogue([{**item, "type": "function_call_output"}], log)
        else:
            log.unread.part(kind)


def _responses_reply(reply: JsonObject, log: Dialogue) -> None:
    read_items(reply.get("output") or [], log)
    log.usage(reply.get("usage"), reply.get("model"))
    status, reason = reply.get("status"), kinds.as_object(reply.get("incomplete_details")).get("reason")
    log.failure = reply.get("error") or (status if status in ("failed", "cancelled") else None)
    log.finish = reason or {"completed": "stop", "incomplete": "max_tokens"}.get(str(status), status)


def _joined_responses(events: list[JsonObject]) -> JsonObject:
    for event in reversed(events):
        response = kinds.as_object(event.get("response"))
        if response and response.get("status") not in ("in_progress", "queued"):
            return response
    items = [e["item"] for e in events if e.get("type") == "response.output_item.done" and e.get("item")]
    return {"object": "response", "output": items}


# For example {"input": [{"type": "function_call", "call_id": "1", "name": "find", "arguments": "{}"}]}
# and of LiveKit {"items": [{"type": "message", "role": "user", "content": ["Hi"]}]}
messages_base.register_dialect(
    "openai_responses", "items, requests and replies of OpenAI's Responses API", _is_item,
    (("model", "input"), ("object", "model", "output")), read=read_items, reply=_responses_reply,
    is_reply=lambda value: value.get("object") == "response", join=_joined_responses,
    is_event=lambda value: str(value.get("type")).startswith("response.") and "sequence_number" in value,
    holder="input",
)  # fmt: skip


# Chat Completions, the form that most others follow; also tau-bench's and tau2's records.
def chat_conversation(value: JsonValue, fallback_id: str) -> Conversation:
    """Returns a list of messages, or an object with it under `messages` or `traj`, as a conversation.

    One without an id is named `fallback_id`. Raises ValueError, too, if there is no list of messages.
    """
    record = messages_base.messages_holder(value)
    key, given = messages_base.messages_in(record)
    if key not in ("messages", "traj") or not all(isinstance(message, dict) for message in given):
        raise ValueError("not a chat: no list of messages under messages or traj")
    log = Dialogue()
    messages_base.read_half(CHAT, record, log)
    return messages_base.conversation(CHAT, log, record, fallback_id)


def _chat_reply(reply: JsonObject, log: Dialogue) -> None:
    choices = list(kinds.objects(reply.get("choices"), "choices"))
    first = next((choice for choice in choices if choice.get("index") in (0, None)), None)
    message = first.get("message") if first else None
    log.alternatives(len(choices))
    if isinstance(message, dict):
        read_dialogue([{"role": "assistant", **kinds.stated(message)}], log)
    log.usage(reply.get("usage"), reply.get("model"))
    log.finish = first.get("finish_reason") if first else None
    log.failure = reply.get("error")


def _joined_chunks(chunks: list[JsonObject]) -> JsonObject:
    texts: dict[str, str] = {}
    calls: list[JsonObject] = []
    reply: JsonObject = {"usage": None}
    finish: JsonValue = None
    for chunk in chunks:
        reply |= {key: chunk[key] for key in ("usage", "error", "model") if chunk.get(key)}
        for choice in kinds.objects(chunk.get("choices"), "choices"):
            delta = choice.get("delta")
            if choice.get("index") not in (0, None) or not isinstance(delta, dict):
                continue
            finish = choice.get("finish_reason") or finish
            heard = kinds.as_object(delta.get("audio")).get("transcript")
            given = {"content": delta.get("content"), "refusal": delta.get("refusal"), "audio": heard}
            for key, text in given.items():
                if isinstance(text, str):
                    texts[key] = texts.get(key, "") + text
            older = kinds.as_object(delta.get("function_call"))
            pieces = [{"index": "function_call", "function": older}] if older else []
            for piece in (*pieces, *kinds.objects(delta.get("tool_calls") or None, "tool_calls")):
                # It belongs to the last call of its index, unless that has another id, or is whole.
                index, call_id, part = (piece.get(key) for key in ("index", "id", "function"))
                call = next((call for call in reversed(calls) if call["index"] == index), None)
                begun = kinds.as_object(call and call.get("function")).get("arguments")
                is_named = not call_id and bool(kinds.as_object(part).get("name"))
                is_next = is_named and isinstance(kinds.decoded(begun), dict)
                if call is None or is_next or (call_id and call.get("id") not in (None, call_id)):
                    call = {"index": index}
                    calls.append(call)
                call |= {key: piece[key] for key in ("id", "type") if piece.get(key)}
                if isinstance(part, dict):
                    function = call.setdefault("function", {"name": None, "arguments": ""})
                    function["name"] = part.get("name") or function["name"]
                    function["arguments"] += part.get("arguments") or ""
    spoken = {"audio": {"transcript": texts.pop("audio")}} if "audio" in texts else {}
    message = {"role": "assistant", "content": None, "tool_calls": calls, **texts, **spoken}
    return {**reply, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def _holds(value: JsonObject, key: str) -> bool:
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and isinstance(first.get(key), dict)


# For example {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
CHAT = messages_base.Dialect(
    "openai_chat", "OpenAI chat messages with tool calls; tau-bench trajectories", lambda message: False,
    (("messages",),), reply=_chat_reply,
    is_reply=lambda value: value.get("object") == "chat.completion" or _holds(value, "message"),
    join=_joined_chunks,
    is_event=lambda value: value.get("object") == "chat.completion.chunk" or _holds(value, "delta") or (
        "prompt_filter_results" in value and not value.get("choices")),  # of Azure
)  # fmt: skip
messages_base.DIALECTS[CHAT.name] = CHAT
