"""Reads the parts of messages in the spellings of OpenTelemetry and of the model APIs."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from turnwise.schemas.conversation import ToolResponse
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import as_text, error_mark, failure_mark, own_result
from turnwise.transforms.formats.fields import OPEN_CALL, UNREAD, Unread, may_hold_work
from turnwise.transforms.formats.messages.kinds import (
    AGENT,
    CALL,
    GEMINI_PARTS,
    HIDDEN,
    MEDIA,
    RESULT,
    SYSTEM,
    TEXT,
    THOUGHT,
    USER,
    VERCEL_PARTS,
    as_object,
    code_failed,
    decoded,
    first_of,
    key_set,
    objects_in,
    part_kind,
    part_types,
    snake,
    stated,
    typed,
)
from turnwise.transforms.formats.messages.kinds import HOSTED as HOSTED_PART
from turnwise.transforms.formats.traces.span import loaded
from turnwise.transforms.text.cleaning import without_thoughts

UNKNOWN = "unknown"
"""Role of a message that states a role or type which no reader has: it is nobody's."""
CONTENT_OFF = "ContentNotRecorded"
HIDDEN_TEXT, OBJECT = "text that the writer left out", "object of a program"
INTERIM, STREAMING, CUT_THOUGHT = "interim result", "text in pieces", "thought without an end"
FURTHER_CHOICE, PERHAPS_CHOICES = "further choice", "texts that are parts of a reply, or alternatives"
"""Types of parts that stand for what a message does not hold, or what is no word of it."""
_THINKS = ("<think>", "<thinking>", "<thought>", "<reasoning>", "[THINK]")
_NOT_DONE, _BAD_ARGS = "the call ", "the arguments of a call could not be read"
"""How parts begin that stand for the state of a call without a result, and for arguments that are no JSON."""
_RUN = "code_execution"
_MARKS = {
    HIDDEN_TEXT: (CONTENT_OFF, "the words of a message are not in the log"),
    INTERIM: ("InterimResult", "a result of a call that goes on is left out"),
    FURTHER_CHOICE: (UNREAD, "the reply has alternatives; the first one is read"),
    STREAMING: (UNREAD, "a text was not all there when the message was stored"),
    CUT_THOUGHT: (UNREAD, "a thought has no end; what the agent said after it is unknown"),
    PERHAPS_CHOICES: (
        "SeveralAnswers",
        "the reply has several texts, and the trace does not say whether they are alternatives",
    ),
}
"""Type of a part that stands for what is left out -> kind and text of its finding."""


class MessageCall(msgspec.Struct, gc=False):
    """A call that a model asks for; arguments as they are written.

    Attributes:
        is_hosted: Whether the model's service runs the tool itself, so that the reply goes on after it.
        result: The result that it holds itself; None: none.
        after: How many texts of the message stand before it.
        resource: Server or namespace of the tool, and its name; "": not stated.
        is_stated: Whether the message states what became of it.
    """

    name: str | None = None
    args: JsonValue = None
    id: str | None = None
    is_hosted: bool = False
    result: ToolResponse | None = None
    after: int = 0
    resource: str = ""
    is_stated: bool = False


class MessageResult(msgspec.Struct, gc=False):
    """A result given to a model; `after`: texts that stand before it; `unread`: types of its other parts."""

    response: JsonValue = None
    id: str | None = None
    name: str | None = None
    error: bool | str | None = None
    after: int = 0
    unread: list[str] = []


class SpanMessage(msgspec.Struct, gc=False):
    """A message.

    Attributes:
        role: `user`, `assistant`, `tool` or `system`; `unknown`: it states another.
        parts: Types of the parts that are neither, such as media.
        keys: Its keys that are not read and may hold calls, results or words.
        stated_role: What a message of an unknown role states as its role or type; None: nothing.
        finish: Finish reason of the choice; None: not stated.
        hands_to: Agent that takes over with it; None: nobody.
    """

    role: str
    texts: list[str] = []
    calls: list[MessageCall] = []
    results: list[MessageResult] = []
    parts: list[str] = []
    keys: list[str] = []
    stated_role: str | None = None
    finish: str | None = None
    hands_to: str | None = None
    _is_users: bool | None = None

    @property
    def text(self) -> str:
        """All texts, one a line."""
        return "\n".join(self.texts)

    @property
    def is_users(self) -> bool:
        """Whether a user wrote it: it is no result, no other agent's act and no note to try again."""
        # It is found out once, when the message is complete, because every model call repeats the history.
        if self._is_users is None:
            text = self.text.strip() if self.role == USER else ""
            is_said = self.role == USER and not self.results and bool(self.parts or text)
            opening = _CONTEXT.match(self.texts[0]) if is_said and self.texts else None
            if opening:
                # google-adk reports another agent's acts.
                acts = [act for act in (self.texts[0][opening.end() :], *self.texts[1:]) if act.strip()]
                is_said = not all(map(_ACT.match, acts)) or not (acts or self.calls)
            self._is_users = is_said and not _is_retry(text)
        return self._is_users

    @property
    def is_read(self) -> bool:
        """Whether nothing of it is left unread."""
        is_left = self.parts or self.keys or self.role == UNKNOWN
        return not (is_left or any(result.unread for result in self.results))

    @property
    def is_empty(self) -> bool:
        """Whether it says and does nothing, and nothing of it is unread."""
        return not (self.texts or self.calls or self.results or self.hands_to) and self.is_read

    def add_unread(self, unread: Unread, by_agent: bool | None = None) -> None:
        """Adds what is not read of it, or unknown of it; None: by its role, whether the agent sent it."""
        by_agent = self.role in (AGENT, UNKNOWN) if by_agent is None else by_agent
        if self.role == UNKNOWN:
            unread.role(self.stated_role, by_agent)
        for part in self.parts:
            if part.startswith(_NOT_DONE):
                unread.add(OPEN_CALL, part, calls=True)
            elif part.startswith(_BAD_ARGS):
                unread.add("InvalidCall", part)
            elif part in _MARKS:
                unread.add(*_MARKS[part], words=by_agent and part not in (FURTHER_CHOICE, INTERIM))
            else:
                unread.part(part, by_agent)
        for part in (part for result in self.results for part in result.unread):
            unread.part(part, by_agent=False)
        for key in self.keys:
            unread.key(key, by_agent)

    @property
    def sign(self) -> tuple[str, str, int, int]:
        """What is compared of two spellings of one message: no ids."""
        return self.role, self.text.strip(), len(self.calls), len(self.results)


def spoken(messages: Iterable[SpanMessage]) -> list[SpanMessage]:
    """Returns messages without instructions."""
    return [message for message in messages if message.role != SYSTEM]


def finish_of(messages: Sequence[SpanMessage]) -> str | None:
    """Returns the last finish reason that messages state."""
    return next((message.finish for message in reversed(messages) if message.finish), None)


def is_spoken(messages: Iterable[SpanMessage]) -> bool:
    """Returns whether messages hold more than instructions and what is nobody's."""
    return any(message.role not in (SYSTEM, UNKNOWN) for message in messages)


_SPEECH = ("audio_content", "input_audio", "output_audio", "audio")
_WORDS = ("text", "content", "refusal", "value")
_THOUGHT_KEYS = frozenset(("thought", "thought_signature", "thoughtSignature", "reasoningContent",
                           "reasoning", "cachePoint"))  # fmt: skip
_OTHER_TYPES = ("custom", "tool_call_chunk", "custom_tool_call", "tool-invocation")
"""Types of entries of `tool_calls`, beside those of parts."""
PIECES = ("input_json_delta", "tool_call_chunk", "invalid_tool_call")
"""Types of parts of LangChain that stand for calls, which the message holds beside its content."""
_ARGS = ("partial_json", "arguments", "args", "input", "kwargs", "parameters", "server_tool_call",
         "tool_kwargs")  # fmt: skip
"""Keys of arguments; in LangChain's blocks of a streamed call the text goes before an empty `input`."""
_CALL_IDS = ("tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "call_id", "callId", "id")
_NAMES = ("name", "toolName", "tool_name", "tool_type", "toolType")
_VALUES = ("response", "result", "output", "content", "json", "value", "server_tool_call_response",
           "tool_result", "tool_output")  # fmt: skip
STEPS = [name for key in (*part_types(GEMINI_PARTS, CALL, HOSTED_PART, RESULT), "toolUse", "toolResult",
                            "toolCallResult") for name in (key, snake(key))]  # fmt: skip
_NESTED = ("tool_call", "toolCall", "function", "custom")
"""Keys under which a part holds its call, beside the id of it."""
_STEPS = frozenset(STEPS) - {"tool_call", "toolCall"}
_PART_KEYS = key_set(
    "type block_type index state origin source extra extras context title caller server_name is_error "
    "data thinking signature encrypted_content summary reasoning_content redactedContent cache_control "
    "image image_url audio input_audio video video_url file document blob citations citationsContent "
    "inlineData inline_data fileData file_data videoMetadata video_metadata partMetadata part_metadata "
    "message_content guardContent toolInvocation rawInput approval errorText "
    "providerOptions providerMetadata provider_details"
).union(_WORDS, _ARGS, _CALL_IDS, _NAMES, _VALUES, STEPS, _NESTED, _THOUGHT_KEYS)
"""Keys of parts; another that may hold calls or results is not read."""
_TEXT_KEYS = _PART_KEYS - {*STEPS, *_NESTED, "toolInvocation", "input", "output", "result", "response"}
"""Those of a text."""
_OF_LANGCHAIN = frozenset(("input_str", "inputs", "tags", "metadata", "kwargs", "name", "color", "run_id"))
OF_RESULTS, REFUSED = part_types(VERCEL_PARTS, RESULT), "approval refused"
_IS_DONE = ("output-available", "result", "output-error", "output-denied")
_STATED_ARGS = ("input", "args", "rawInput")
_OF_VERCEL = ("text", "json", "content", "error-text", "error-json", "execution-denied")


def add_part(message: SpanMessage, part: JsonValue) -> None:
    """Adds a part of a message's content; of one that is not read, its type."""
    if isinstance(part, str):
        add_text(message, part)
    elif isinstance(part, dict):
        part = typed(stated(part))
        kind = part.get("type")
        inner = part.get("message_content")
        if isinstance(inner, dict):
            add_part(message, {**inner, "tool_call": part["tool_call"]} if "tool_call" in part else inner)
        elif not isinstance(kind, str):
            _add_untyped(message, part)
        elif kind in _SPEECH and isinstance(part.get("transcript"), str):
            add_text(message, part["transcript"])
        elif (known := part_kind(kind)) == TEXT and part.keys().isdisjoint(_WORDS):
            message.parts.append(HIDDEN_TEXT)
        elif known == TEXT:
            text = first_of(part, _WORDS)
            if isinstance(text, dict) and isinstance(text.get("value"), str):
                text = text["value"]  # of OpenAI's Assistants
            add_text(message, text)
            message.parts += [] if isinstance(text, str) else [f"{kind}: {type(text).__name__}"]
            message.parts += [STREAMING] if part.get("state") == "streaming" else []
        elif known in (CALL, HOSTED_PART):
            add_call(message, part)
        elif known == RESULT:
            add_result(message, result_of(part))
        elif not _add_stated_call(message, part) and known != THOUGHT and kind not in PIECES:
            message.parts.append(kind)
        keys = _PART_KEYS
        if isinstance(kind, str) and part_kind(kind) not in (CALL, HOSTED_PART, RESULT):
            keys = _TEXT_KEYS if part_kind(kind) == TEXT else _PART_KEYS - _STEPS
        if not part.keys() <= keys:
            others = ((name, item) for name, item in part.items() if name not in keys)
            message.keys += [name for name, item in others if may_hold_work(name, item)]
    elif part is not None:
        message.parts.append(type(part).__name__)


def both_of(part: JsonObject) -> JsonObject:
    """Returns what holds the id of a part's call: the part, or in Vercel's version 4 its invocation."""
    inner = part.get("toolInvocation")
    return inner if isinstance(inner, dict) else part


def _add_stated_call(message: SpanMessage, part: JsonObject) -> bool:
    """Adds a call that a part holds together with its state or result; returns whether it is such a part."""
    # For example {"type": "tool-find", "toolCallId": "1", "state": "output-available", "output": "Bonn"}
    kind, held = str(part.get("type")), both_of(part)
    if kind == "tool-invocation" and held is part:
        return False
    is_tools = kind.startswith("tool-") and "toolCallId" in part and kind not in (*OF_RESULTS, "tool-call")
    if not is_tools and kind not in ("tool-invocation", "dynamic-tool"):
        return False
    state, approval = held.get("state"), as_object(held.get("approval"))
    failed = state if state in ("output-error", "output-denied") else None
    error = held.get("errorText") or failed or failure_mark(held)
    if state == "approval-responded" and approval.get("approved") is False:
        error = approval.get("reason") or REFUSED
    name, args = as_text(held.get("toolName", kind.removeprefix("tool-"))), first_of(held, _STATED_ARGS)
    call = MessageCall(name, args, as_text(held.get("toolCallId")), after=len(message.texts), is_stated=True)
    message.calls.append(call)
    if error or (state in _IS_DONE and not held.get("preliminary")):
        value = decoded(first_of(held, ("output", "result")))
        add_result(message, MessageResult(value, call.id, name, error_mark(error) or None))
    elif state:
        message.parts.append(not_done(name, "preliminary" if state in _IS_DONE else state))
    return True


def add_calls(message: SpanMessage, calls: JsonValue) -> None:
    """Adds the calls that stand beside the content of a message, unless the content holds them already."""
    calls = loaded(calls)
    if not isinstance(calls, list):
        message.keys += [] if calls in (None, "", "null", {}) else ["tool_calls"]
        return
    known = {call.id for call in message.calls if call.id}
    for item in calls:
        kind = item.get("type") if isinstance(item, dict) else None
        is_call = kind in (None, *_OTHER_TYPES) or part_kind(str(kind)) in (CALL, HOSTED_PART)
        if not isinstance(item, dict) or not is_call:
            message.parts += [] if item is None else [f"{kind or type(item).__name__} in tool_calls"]
        elif (read := call_of(stated(item))) and not (read.id and read.id in known):
            read.after = len(message.texts)
            message.calls.append(read)
            if item.get("parse_error"):
                message.parts.append(f"{_BAD_ARGS}: {str(item['parse_error'])[:100]}")


def add_call(message: SpanMessage, part: JsonObject) -> None:
    """Adds a call; what stands before one that the model's service runs is no answer."""
    call = call_of(part)
    call.is_hosted = part_kind(str(part.get("type"))) == HOSTED_PART or part.get("providerExecuted") is True
    call.after = len(message.texts)
    message.calls.append(call)


def add_result(message: SpanMessage, result: MessageResult) -> None:
    """Adds a result at its place among the texts."""
    result.after = len(message.texts)
    message.results.append(result)


def not_done(call: JsonValue, state: JsonValue) -> str:
    """Returns the type of the part that stands for a call that goes on, or waits."""
    return f"{_NOT_DONE}{str(call or '')[:60]!r} is not done: its state is {str(state or '')[:60]!r}"


def add_text(message: SpanMessage, text: JsonValue) -> None:
    """Adds a text that is not empty, or that the writer hid; of the agent's, what is no thought."""
    if not isinstance(text, str) or not text:
        return
    if text in HIDDEN:
        message.parts.append(HIDDEN_TEXT)
    elif message.role != AGENT or not (words := without_thoughts(text)).lstrip().startswith(_THINKS):
        message.texts += [text] if message.role != AGENT else [words] if words else []
    else:
        message.parts.append(CUT_THOUGHT)


def call_of(call: JsonObject) -> MessageCall:
    """Returns a call: flat, or nested under `function` or `tool_call`."""
    outer = call
    for key in ("tool_call", "function", "functionCall", "function_call", "custom"):
        inner = call.get(key)
        if isinstance(inner, dict):
            call = {**call, **stated(inner)}
        elif key == "function" and isinstance(inner, str):
            call = {"name": inner, **call}
    args = first_of(call, _ARGS)
    if outer.get("type") in ("custom", "custom_tool_call") and isinstance(args, str):
        args = {"input": args}
    args = None if isinstance(args, str) and args in HIDDEN else args
    name = as_text(first_of(call, _NAMES))
    server = first_of(call, ("server_name", "server_label", "namespace"))
    resource = f"{server}/{name}" if server else as_text(call.get("resource")) or ""
    call_id = as_text(first_of(call, _CALL_IDS))
    return MessageCall(name, args, call_id, result=own_result(call), resource=resource)


def call_arguments(value: JsonValue) -> JsonValue:
    """Returns the arguments in a recorded call of a Python function, or of a tool of LangChain or CrewAI."""
    if not isinstance(value, dict):
        return value
    is_langchain = "input_str" in value and value.keys() <= _OF_LANGCHAIN
    inner = value.get("inputs")
    if is_langchain and isinstance(inner, dict) and inner:
        return inner
    asked = value.get("calling")
    if "tool_string" in value and isinstance(asked, dict) and "arguments" in asked:
        return loaded(asked["arguments"])
    named, placed = value.get("kwargs"), value.get("args")
    if isinstance(named, dict) and value.keys() <= {"args", "kwargs", "sanitize_inputs_outputs"}:
        return named if not placed else {**named, "args": placed}
    return value["input_str"] if is_langchain else value


_OF_SERVERS = key_set(
    "unavailable invalid_input invalid_tool_input too_many_requests max_uses_exceeded query_too_long "
    "url_too_long url_not_allowed url_not_accessible unsupported_content_type request_too_large "
    "execution_time_exceeded output_file_too_large file_not_found string_not_found container_expired"
)
"""Codes of errors of Anthropic's servers; `error_code` of other tools may say that there is none."""


def result_of(result: JsonObject) -> MessageResult:
    """Returns a result with its error: what it states, or the text of a result that is one."""
    origin = result.get("origin")
    result = {**origin, **result} if isinstance(origin, dict) else result
    held = first_of(result, _VALUES)
    value, unread = _plain_result(held)
    error, status = failure_mark(result), result.get("status")
    about = stated(held) if isinstance(held, dict) else {}
    kind = str(about.get("type"))
    # The last command of a shell may have timed out, or have failed.
    outcome = as_object(as_object(held[-1]).get("outcome")) if isinstance(held, list) and held else {}
    if kind == "execution-denied" or kind.startswith("error-"):
        # Vercel's errors and refusals.
        error = value if isinstance(value, str) else about.get("reason") or True
    elif error is True and status in ("failed", "incomplete", "error"):
        error = status if status != "error" else value if isinstance(value, str) else True
    elif not error and (kind.endswith("_error") or str(about.get("error_code")) in _OF_SERVERS):
        # The content of a result of Anthropic's servers may state an error of its own.
        error = as_text(about.get("error_code")) or True
    elif not error and (about.get("return_code") or outcome):
        code = outcome.get("exit_code")
        error = "timeout" if outcome.get("type") == "timeout" else f"exit code {code}" if code else None
        error = error or bool(about.get("return_code")) or None
    call_id, name = as_text(first_of(result, _CALL_IDS)), as_text(first_of(result, _NAMES))
    return MessageResult(value, call_id, name, error or None, unread=unread)


def _plain_result(value: JsonValue) -> tuple[JsonValue, list[str]]:
    """Returns the text of a result that is blocks of text, and its media; structured results as they are."""
    value = loaded(value)
    if isinstance(value, str) and value in HIDDEN:
        return None, []
    if isinstance(value, dict) and value.get("type") in _OF_VERCEL:
        typed = value["value"] if value.keys() == {"type", "value"} else value
        return (None if value["type"] == "execution-denied" else typed), []
    blocks = list(map(stated, objects_in(value)))
    if not blocks or not isinstance(value, list) or len(blocks) < len(value):
        return value, []
    texts = []
    for block in blocks:
        kind = block.get("type", block.get("block_type"))
        is_text = block.keys() == {"text"} if kind is None else part_kind(str(kind)) == TEXT
        texts += [block["text"]] if is_text and isinstance(block.get("text"), str) else []
    media = [kind for block in blocks if part_kind(kind := str(block.get("type"))) == MEDIA]
    if texts and len(texts) + len(media) == len(blocks):
        return loaded("\n".join(texts)), media
    if len(blocks) == 1 and blocks[0].keys() == {"json"}:
        return blocks[0]["json"], []
    return value, []


def _add_untyped(message: SpanMessage, part: JsonObject) -> None:
    """Adds a part that its keys name, as Gemini's, Bedrock's and Haystack's do."""
    held = [(key, part_kind(key), stated(item)) for key, item in part.items() if isinstance(item, dict)]
    steps = [step for step in held if step[1] in (CALL, HOSTED_PART, RESULT) and step[0] not in _NESTED]
    for key, kind, item in steps:
        if kind == RESULT and (item.get("will_continue") or item.get("willContinue")):
            message.parts.append(INTERIM)
        elif kind == RESULT:
            response = item.get("response") if snake(key) == "function_response" else None
            error = response.get("error") if isinstance(response, dict) else None
            given = result_of({**item, "error": error} if error else item)
            if snake(key) == "code_execution_result":
                ran = {"name": _RUN, "output": item.get("output"), "id": item.get("id")}
                given = result_of({**ran, "is_error": code_failed(item)})
            # Results of Bedrock may hold blocks that are neither texts nor JSON.
            blocks = objects_in(item.get("content")) if key == "toolResult" else ()
            kinds = [next(iter(stated(block)), "an empty part") for block in blocks]
            given.unread += [kind for kind in kinds if kind not in ("json", "text")]
            media = objects_in(item.get("parts")) if snake(key) == "function_response" else ()
            given.unread += [next(iter(stated(part)), "an empty part") for part in media]
            add_result(message, given)
        elif kind == HOSTED_PART:
            code = {name: item[name] for name in ("language", "code") if name in item}
            after = len(message.texts)
            message.calls.append(MessageCall(_RUN, code, as_text(item.get("id")), True, after=after))
        else:
            # Google's API leaves out arguments that are empty.
            call = call_of({"args": {}, **item} if snake(key) == "function_call" else item)
            message.calls.append(call)
            is_open = item.get("willContinue") or item.get("will_continue")
            message.parts += [not_done(call.name, "willContinue")] if is_open else []
    if steps:
        return
    is_call = isinstance(part.get("tool_call"), dict) or part.keys() >= {"name", "arguments"}
    # A text of Bedrock may have citations, or be marked for the guardrail.
    cited = as_object(part.get("citationsContent")).get("content")
    marked = as_object(as_object(part.get("guardContent")).get("text"))
    texts = [block.get("text") for block in (objects_in(cited) if isinstance(cited, list) else [marked])]
    if is_call or "toolCallId" in part or "tool_kwargs" in part:
        add_call(message, part)
    elif text := "".join(text for text in texts if isinstance(text, str)):
        add_text(message, text)
    elif part.get("thought") is not True and isinstance(part.get("text"), str):
        add_text(message, part["text"])
    elif "text" not in part and isinstance(part.get("content"), str):
        add_text(message, part["content"])
    elif part and not part.keys() & _THOUGHT_KEYS:
        guarded = part.get("guardContent")
        message.parts.append(next(iter(guarded if isinstance(guarded, dict) and guarded else part)))


def new_user(first: Sequence[SpanMessage], known: Sequence[SpanMessage]) -> SpanMessage | None:
    """Returns what the user newly wrote: all that follows the known history, or else the last messages."""
    new = news(first, known) or []
    for message in () if new else reversed(first):
        # A note to try again is an agent's, after a reply; where nothing else opens a turn it is the user's.
        if message.is_users or (not new and message.role == USER and _is_retry(message.text.strip())):
            new.insert(0, message)
        elif new and message.role != SYSTEM:
            break
    whole = SpanMessage(USER)
    for message in new:
        whole.texts, whole.parts = whole.texts + message.texts, whole.parts + message.parts
        whole.keys = whole.keys + message.keys
    return whole if new else None


def news(first: Sequence[SpanMessage], known: Sequence[SpanMessage]) -> list[SpanMessage] | None:
    """Returns the user's messages after the known history; None: the messages do not begin with one."""
    given, before = spoken(first), [message.sign for message in spoken(known)]
    if not before or [message.sign for message in given[: len(before)]] != before:
        return None
    return [message for message in given[len(before) :] if message.is_users]


def users_of(messages: Sequence[SpanMessage]) -> tuple[str, ...]:
    """Returns the texts of all messages of users."""
    return tuple(message.text for message in messages if message.is_users)


_OBJECTS = re.compile(
    r"""<[\w.]+(\ object\b|\ at\ 0x|\().*>             # <async_generator object f at 0x7f>, <TextNode(id_=1)>
    |[A-Z]\w*\(\w+=['"<\[({A-Z\d].*\)                # ChatMessage(role=<MessageRole.USER: 'user'>, ...)
    |[A-Z]\w*\(\w+=[A-Z]\w*\(\w+=.*\.\.\.             # StopEvent(result=AgentOutput(response=ChatMessag...
    |\w+='[^']*'(\ \w+=(['"<\[({\d]|None).*){2}(?<=['">\])}\de])  # id='4f' source='user' metadata={} ...
    """,
    re.VERBOSE | re.DOTALL,
)


def repr_calls(texts: Iterable[str]) -> Iterator[MessageCall]:
    """Yields the calls in texts that are such representations; they are parsed, never evaluated."""
    for text in filter(is_repr_call, texts):
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
        named = {key.arg: key.value for key in tree.keywords} if isinstance(tree, ast.Call) else {}
        constants = {key: value.value for key, value in named.items() if isinstance(value, ast.Constant)}
        words = {key: value for key, value in constants.items() if isinstance(value, str)}
        if words.get("name"):
            yield MessageCall(words["name"], words.get("arguments"), words.get("call_id"))


def is_repr_call(text: str) -> bool:
    """Returns whether a text is the representation of a call."""
    return text.startswith("ResponseFunctionToolCall(") and len(text) <= 100_000


def is_object(text: str) -> bool:
    """Returns whether a text is how Python writes an object, and so nobody's words."""
    return _OBJECTS.fullmatch(text.strip()) is not None and not is_repr_call(text)


_CONTEXT = re.compile(
    r"For context:(?: below is a transcript of what another agent did, quoted between <<<[^\[]*)?\s*"
)
_ACT = re.compile(
    r"\[[^\]\n]+\] (?:(?:said|thought): ?|called tool `?\S+`? with parameters:|`?\S+`? tool returned result:)"
)
AGAIN = "\n\nFix the errors and try again."
"""How Pydantic AI ends a note to try again."""
_RETRY = re.compile(
    r"(?:Validation feedback:\n|\d+ validation errors?:(?: \[|\n```json\n)|Unknown tool name: '|"
    r"Responses without text or tool calls are|Plain text responses are not permitted, please ).*"
    + re.escape(AGAIN)
    + r"|Your previous response failed the application's validation \(this is automated feedback[^\n]*:\n"
    r"<pyai:(validation_errors|retry_feedback)>\n.*\n</pyai:\1>",
    re.DOTALL,
)


def _is_retry(text: str) -> bool:
    """Returns whether a text is Pydantic AI's note that a reply was not valid."""
    return text.endswith((AGAIN, ">")) and _RETRY.fullmatch(text) is not None
