"""What logs of all formats state in several spellings: ends, results of calls, declared tools, tokens."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, get_args

import msgspec
from pydantic.alias_generators import to_camel

from turnwise.schemas.conversation import (
    Effect,
    Ended,
    Milliseconds,
    ToolCall,
    ToolDeclaration,
    ToolResponse,
    Turn,
    decoded_arguments,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.effects.failures import states_failure
from turnwise.transforms.formats.fields import LONGEST_NAME, UNREAD, Unread
from turnwise.transforms.formats.messages.kinds import as_object, decoded, first_of, key_set, snake, stated
from turnwise.transforms.matching.calls import pair_responses

ENDED, DETAIL = "ended", "ended_detail"
TERMINATIONS = ("termination_reason", "terminationReason")
ERROR, STATUS = "error", "status"
REASONS = ("finish_reason", "stop_reason", "finishReason", "stopReason")
_SHOWN = 500
_WORDS: dict[Ended, str] = {
    "normally": "normally normal completed user_stop agent_stop",
    "agent_error": "agent_error error failed failure crashed exception too_many_errors",
    "limit": "limit limit_reached max_steps max_turns max_tokens timeout context_window_exceeded",
    "user_left": "user_left",
    "hand_off": "hand_off handoff handed_off escalated transferred",
    "environment_error": "environment_error user_error infrastructure_error unexpected_error",
}
_REASONS: dict[Ended, str] = {
    "normally": "stop end_turn stop_sequence eos_token",
    "limit": "length max_tokens max_output_tokens model_length model_context_window_exceeded",
    "agent_error": "content_filter content_filtered guardrail_intervened refusal error safety recitation "
    "blocklist prohibited_content spii image_safety malformed_function_call malformed_tool_use "
    "malformed_model_output malformed_response unexpected_tool_call too_many_tool_calls",
}
_STARTS: dict[str, Ended] = {
    "text_'": "normally", "handoff_to_": "hand_off", "maximum_number_of_": "limit",
    "timeout_of_": "limit", "token_usage_limit_reached": "limit",
}  # fmt: skip
"""How reasons of AutoGen's teams begin, which are sentences."""
_GOOD: tuple[Ended | None, ...] = ("normally", "hand_off", "user_left")
_BY_WORD = {word: ended for ended, words in _WORDS.items() for word in words.split()}
_BY_REASON = {word: ended for ended, words in _REASONS.items() for word in words.split()}
_CALLS = key_set("tool_call tool_calls function_call tool_use")
_UNSTATED = key_set("finish_reason_unspecified none null")
_UNFINISHED = key_set("aborted cancelled canceled incomplete in_progress interrupted running")
_MARK = re.compile(r"###([A-Z-]+)###\s*$")
_BY_MARK: dict[str, Ended] = {"STOP": "normally", "TRANSFER": "hand_off", "OUT-OF-SCOPE": "environment_error"}
_IS_LIMIT = re.compile(
    "max_(tokens|turns|steps|llm_calls)|limit_?exceeded|limit_of.*exceeded|deadline|timed?_?out"
)


class End(NamedTuple):
    """End of a conversation (None: not stated, or an unknown word), with the log's description."""

    ended: Ended | None = None
    detail: str | None = None


UNKNOWN = End()


def stated_end(word: JsonValue, detail: JsonValue = None) -> End:
    """Returns the end that a log names by a canonical name or one of tau2's reasons, with its description.

    An unknown word becomes the detail only. Case, blanks and hyphens do not matter, booleans are ignored.
    """
    text, name = _line(detail), _line(word) or ""
    if word is None or isinstance(word, bool) or word == "":
        return End(None, text)
    ended = _BY_WORD.get(_plain(name))
    if ended is None:
        return End(None, f"{name}: {text}" if text else name)
    return End(ended, text or (None if name == ended else name))


def record_end(record: JsonObject) -> End:
    """Returns the end that a record names.

    It stands in `ended`, in tau2's `termination_reason` (in `meta`, `metadata` or `info` too), in an `error`,
    or in a `status` that names a failure. Where one of them names a failure and another one a good end, it is
    not known.
    """
    holders = (record, *(record.get(name) for name in ("meta", "metadata", "info")))
    words = (h.get(key) for h in holders if isinstance(h, dict) for key in TERMINATIONS)
    terminated = stated_end(next((word for word in words if word is not None), None))
    return agreed_end(stated_end(record.get(ENDED), record.get(DETAIL)), terminated, marked_end(record))


def agreed_end(*ends: End) -> End:
    """Returns the first stated end; a good one that another contradicts is unknown."""
    first, *others = [end for end in ends if end != UNKNOWN] or [UNKNOWN]
    other = next((end for end in others if end.ended not in _GOOD), None)
    if other is None or first.ended not in _GOOD:
        return first
    against = ": ".join(filter(None, (other.ended, other.detail)))
    return End(None, f"{first.ended}, and also {against}")


def marked_end(holder: JsonObject) -> End:
    """Returns the end by the `error`, or by the `status`, that a record, turn or message is marked with."""
    status = holder.get(STATUS)
    error = holder.get(ERROR) or as_object(holder.get("info")).get(ERROR)
    if error:
        return error_end(error)
    if not isinstance(status, str):
        return UNKNOWN
    word = _plain(status)
    if word in _UNFINISHED:
        return End(None, status)
    ended = _BY_WORD.get(word)
    return UNKNOWN if ended is None or ended in _GOOD else End(ended, status)


def finished_end(reason: JsonValue, is_call: bool = False) -> End:
    """Returns the end by the model's last finish reason (of OpenAI, Anthropic or Gemini).

    An unknown one becomes the detail only. `is_call`: the model's last message calls tools, so that "calls
    tools" is no end.
    """
    name = None if isinstance(reason, bool) else _line(reason)
    word = _plain(name).removeprefix("finishreason.") if name else ""
    if not word or word in _UNSTATED or (is_call and word in _CALLS):
        return UNKNOWN
    begun = (ended for start, ended in _STARTS.items() if word.startswith(start))
    return End(_BY_REASON.get(word) or next(begun, None), name)


def stated_reason(holder: JsonObject) -> JsonValue:
    """Returns the finish reason that a record, turn or message states; None: it states none."""
    return next((holder[key] for key in REASONS if holder.get(key)), None)


def reasons_end(reasons: Iterable[JsonValue], is_call: bool, has_answer: bool) -> End:
    """Returns the end by all finish reasons of the last message, which ends normally only with an answer."""
    end = agreed_end(*(finished_end(reason, is_call) for reason in reasons))
    return UNKNOWN if end.ended == "normally" and not has_answer else end


def users_end(text: str) -> End:
    """Returns the end by tau2's marks in a simulated user's last message, such as `###STOP###`."""
    mark = _MARK.search(text)
    ended = _BY_MARK.get(mark[1]) if mark else None
    return UNKNOWN if mark is None or ended is None else End(ended, mark[0])


def error_end(*texts: JsonValue) -> End:
    """Returns the end by an error's code and message: a limit, if they name one, else an agent error."""
    detail = ": ".join(filter(None, map(_line, texts)))
    return End("limit" if _IS_LIMIT.search(_plain(detail)) else "agent_error", detail or None)


def _plain(word: str) -> str:
    return re.sub(r"[\s-]+", "_", word.strip().lower())


def _line(value: JsonValue) -> str | None:
    """Returns a value as one bounded line; None: it is empty."""
    text = str(value) if isinstance(value, int | float) else error_mark(value)
    return " ".join(text.split())[:_SHOWN] or None if isinstance(text, str) else None


VALUES = ("result", "output", "response", "content", "tool_result", "tool_output", "tool_response")
"""Keys of a call that hold its result."""


def own_result(call: JsonValue) -> ToolResponse | None:
    """Returns the result, or the mark of failure, that a call of a log holds; None: it holds none."""
    if not isinstance(call, dict):
        return None
    function = call.get("function")
    held = {**function, **call} if isinstance(function, dict) else call
    value = next((held[key] for key in VALUES if held.get(key) is not None), None)
    error = failure_mark(held)
    return None if value is None and error is None else ToolResponse(response=decoded(value), error=error)


def add_own_results(
    turn: Turn, results: Sequence[ToolResponse | None], users: Sequence[ToolResponse | None], unread: Unread
) -> None:
    """Adds to a turn the results that its calls, and those of the user, hold.

    A response answers its call before the call's own result does. A failure that only the call states is
    added to it.
    """
    for side, own_results in (("", results), ("user_", users)):
        if not any(own_results):
            continue
        calls: list[ToolCall] = getattr(turn, f"{side}tool_calls")
        merged: list[ToolResponse] = list(getattr(turn, f"{side}tool_responses"))
        answers = pair_responses(calls, merged)
        for index, (call, held) in enumerate(zip(calls, own_results, strict=True)):
            if held is None:
                continue
            if (given := answers[index]) is None:
                held.name, held.id = call.name, call.id
                answers[index] = held
                merged.append(held)
            else:
                given.error = given.error or held.error
                if held.response is not None and decoded(held.response) != decoded(given.response):
                    shown = repr((call.name or "")[:LONGEST_NAME])
                    message = f"the call {shown} holds another result than its tool response"
                    unread.add(UNREAD, message, calls=True)
        setattr(turn, f"{side}tool_responses", merged)
        paired = pair_responses(calls, merged)
        if any(response is not answer for response, answer in zip(paired, answers, strict=True)):
            message = "calls hold results and have no ids: nothing says which call a result is of"
            unread.add(UNREAD, message, calls=True)


_METHODS: dict[str, Effect] = {
    **dict.fromkeys(("get", "head", "options", "trace", "query"), "read"),
    **dict.fromkeys(("post", "put", "patch", "delete"), "write"),
}
_FUNCTION_LISTS = ("function_declarations", "functionDeclarations")
_CES_TOOLS = ("clientFunction", "pythonFunction", "mcpTool", "openApiTool", "connectorTool", "systemTool",
              "dataStoreTool", "googleSearchTool", "fileSearchTool", "widgetTool", "agentTool")  # fmt: skip
_SCHEMAS = ("inputSchema", "input_schema", "parameters", "outputSchema")
_FORMS = ("function", "annotations", "operationId", "method", "paths")
_FOREIGN = frozenset((*_FORMS, *_SCHEMAS, *_FUNCTION_LISTS, *_CES_TOOLS))


def is_foreign(tool: JsonValue) -> bool:
    """Returns whether a declaration is in another form than the canonical one."""
    return isinstance(tool, dict) and not _FOREIGN.isdisjoint(stated(tool))


def declared_tools(value: JsonValue) -> list[ToolDeclaration]:
    """Returns the tools of a list of declarations, of any forms; each name once, what is none is left out.

    The list may stand under `tools`, as MCP's answer to `tools/list` does.
    """
    entries = stated(value).get("tools", [value]) if isinstance(value, dict) else value
    tools: dict[str, ToolDeclaration] = {}
    for tool in map(as_object, entries if isinstance(entries, list) else ()):
        functions = next((tool[key] for key in _FUNCTION_LISTS if isinstance(tool.get(key), list)), None)
        kind = next((key for key in _CES_TOOLS if isinstance(tool.get(key), dict)), None)
        made: list[ToolDeclaration] = []
        if functions is not None:
            for function in functions:
                made += _declared(function, "adk")
        elif isinstance(tool.get("paths"), dict):
            made += _operations(tool["paths"])
        elif kind is not None:
            # A CES tool stands under its id, its display name and the name of its function.
            details, tool_id = tool[kind], str(tool.get("name") or "").rsplit("/", 1)[-1]
            names = (tool_id, tool.get("displayName"), details.get("name"))
            fields = {"description": details.get("description"), "annotations": details.get("annotations")}
            if kind in ("dataStoreTool", "googleSearchTool", "fileSearchTool"):
                fields["effect"] = "read"
            for name in dict.fromkeys(name for name in names if isinstance(name, str)):
                made += _declared({**fields, "name": name}, "ces")
            paths = as_object(decoded(details.get("openApiSchema"))).get("paths")
            made += _operations(paths if isinstance(paths, dict) else {})
        elif isinstance(tool.get("function"), dict):
            made += _declared(tool["function"], "openai")
        elif "annotations" in tool or "inputSchema" in tool:
            made += _declared(tool, "mcp")
        else:
            origin = "openapi" if "method" in tool else "openai" if "parameters" in tool else "declared"
            made += _declared(tool, origin)
        for declaration in made:
            tools.setdefault(declaration.name, declaration)
    return list(tools.values())


def context_tools(app_details: JsonValue) -> list[ToolDeclaration]:
    """Returns the tools of the agents of every turn (`meta.app_details` of a conversation)."""
    turns = app_details if isinstance(app_details, list) else []
    agents = (agent for turn in turns for agent in as_object(turn).values())
    listed = (as_object(agent).get("tool_declarations") for agent in agents)
    return declared_tools([tool for tools in listed if isinstance(tools, list) for tool in tools])


def _declared(tool: JsonValue, origin: str) -> Iterator[ToolDeclaration]:
    """Yields the tool that an object with a name declares, if it is one."""
    name = (tool.get("name") or tool.get("operationId")) if isinstance(tool, dict) else None
    if not isinstance(name, str) or not name:
        return
    description, verb = tool.get("description"), str(tool.get("method")).lower()
    declared = ToolDeclaration(name, origin=origin)
    declared.description = description if isinstance(description, str) else None
    # MCP's hints: a tool that is not read-only is destructive and not idempotent unless it says so. One that
    # does not say whether it is read-only is not if it is destructive.
    hints = as_object(tool.get("annotations"))
    pairs = ((f"{hint}Hint", snake(f"{hint}Hint")) for hint in ("readOnly", "destructive", "idempotent"))
    stated_hints = ([hints.get(key) for key in pair] for pair in pairs)
    reads, destroys, repeats = (next((h for h in held if isinstance(h, bool)), None) for held in stated_hints)
    if reads is None and not destroys:
        declared.destructive, declared.idempotent = destroys, repeats
    elif reads:
        declared.effect, declared.idempotent, declared.destructive = "read", True, False
    else:
        declared.effect = "write"
        declared.destructive, declared.idempotent = destroys is not False, repeats is True
    if verb in _METHODS:
        declared.effect, declared.destructive = _METHODS[verb], verb == "delete"
        declared.idempotent = declared.effect == "read" or verb in ("put", "delete")
    effect = str(tool.get("effect")).lower()
    if effect in get_args(Effect):
        declared.effect = effect  # type: ignore[assignment]
    for field in ("idempotent", "destructive"):
        if isinstance(tool.get(field), bool):
            setattr(declared, field, tool[field])
    yield declared


def _operations(paths: JsonObject) -> Iterator[ToolDeclaration]:
    for operations in paths.values():
        for method, operation in operations.items() if isinstance(operations, dict) else ():
            if isinstance(operation, dict) and method.lower() in _METHODS:
                text = operation.get("description") or operation.get("summary")
                tool = {"description": text, "name": operation.get("operationId"), "method": method}
                yield from _declared(tool, "openapi")


ARGUMENTS = ("args", "arguments", "kwargs")
_BROKEN_OFF = key_set("incomplete interrupted cancelled canceled declined denied rejected")


def spelt(*names: str) -> frozenset[str]:
    """Returns names that are in snake_case, and the same in camelCase."""
    return frozenset((*names, *map(to_camel, names)))


def text_of(record: JsonObject, key: str) -> str | None:
    """Returns the text under a key that is not empty; None: there is none."""
    value = record.get(key)
    return value if isinstance(value, str) and value else None


def name_of(record: JsonObject) -> str:
    """Returns the resource name of a record, "" if it has none."""
    return text_of(record, "name") or ""


def call_fields(call: JsonValue) -> JsonValue:
    """Returns the fields of a call, flat or nested under `function` or `custom`, its arguments decoded.

    A non-object is returned unchanged and rejected by the model.
    """
    if not isinstance(call, dict):
        return call
    function, custom = call.get("function"), call.get("custom")
    inner = function if isinstance(function, dict) else custom if isinstance(custom, dict) else call
    args = next((inner[key] for key in ARGUMENTS if inner.get(key) is not None), None)
    if inner is custom:
        args = {"input": custom.get("input")}
    names = call.get("compare_args")
    return {
        "name": function if isinstance(function, str) else inner.get("name"),
        "args": decoded_arguments(args),
        "id": as_text(call.get("id")),
        "resource": call.get("resource"),
        "compare_args": [n for n in names if isinstance(n, str)] if isinstance(names, list) else None,
    }


def split_actions(actions: Sequence[JsonValue]) -> tuple[list[JsonValue], list[JsonValue]]:
    """Returns expected actions as calls' fields: those of the agent, and those of the user."""
    by_agent: list[JsonValue] = []
    by_user: list[JsonValue] = []
    for action in actions:
        is_users = isinstance(action, dict) and action.get("requestor") == "user"
        (by_user if is_users else by_agent).append(call_fields(action))
    return by_agent, by_user


_TOKEN_NAMES = {
    "input_tokens": "input_tokens prompt_tokens inputTokens promptTokens prompt_token_count input prompt",
    "output_tokens": "output_tokens completion_tokens outputTokens completionTokens candidates_token_count "
    "output completion",
    "cached_tokens": "cached_tokens cache_read_input_tokens cacheReadInputTokens cached_input_tokens "
    "cachedInputTokens cached_content_token_count input_tokens_cache_read cache_read.input_tokens "
    "details.cache_read_tokens prompt_details.cache_read input_cache_read input_cached_tokens cache_read "
    "cached",
    "reasoning_tokens": "reasoning_tokens reasoning_output_tokens reasoningTokens reasoning.output_tokens "
    "details.reasoning_tokens thoughts_token_count completion_details.reasoning output_reasoning "
    "output_reasoning_tokens thoughts",
}
TOKENS = {field: tuple(names.split()) for field, names in _TOKEN_NAMES.items()}
"""Field of `Usage` -> its names in reports of tokens, of files and of spans."""
_DETAILS = {
    "cached_tokens": (("prompt_tokens_details", "input_tokens_details", "input_token_details"),
                      ("cached_tokens", "cache_read")),
    "reasoning_tokens": (("completion_tokens_details", "output_tokens_details", "output_token_details"),
                         ("reasoning_tokens", "reasoning")),
}  # fmt: skip
TOKEN_PARTS = {name for field, (holders, _) in _DETAILS.items() for name in (*TOKENS[field], *holders)}
"""Names of cached input and of reasoning, and of objects that hold them."""
_APART = {
    "input_tokens": ("cache_creation_input_tokens", "cache_read_input_tokens", "cacheReadInputTokens",
                     "cacheWriteInputTokens"),
    "output_tokens": ("thoughts_token_count",),
}  # fmt: skip
"""Cached input of Anthropic and Bedrock, and thoughts of Gemini, which are not in the count itself."""


def token_counts(usage: JsonObject) -> JsonObject:
    """Returns the token counts of a report in the spelling of any provider."""
    usage = stated(usage)
    counts = {field: first_of(usage, keys) for field, keys in TOKENS.items()}
    for field, (holders, keys) in _DETAILS.items():
        if counts[field] is None:
            counts[field] = first_of(as_object(first_of(usage, holders)), keys)
    for field, apart in _APART.items() if "prompt_tokens" not in usage else ():
        numbers = [usage[key] for key in apart if type(usage.get(key)) is int]
        if numbers:
            count = counts[field]
            counts[field] = sum(numbers) + (count if type(count) is int else 0)
    return counts


def known_tokens(counts: JsonObject) -> JsonObject:
    """Returns token counts; where one is negative, none of them is known."""
    return dict.fromkeys(counts) if wrong_tokens(counts) else counts


def wrong_tokens(usage: JsonValue) -> str | None:
    """Returns the first negative count of a report of tokens, with its name; None: there is none."""
    counts = usage.items() if isinstance(usage, dict) else ()
    negative = ((name, count) for name, count in counts if isinstance(count, int | float) and count < 0)
    return next((f"{name}: {count}" for name, count in negative), None)


def error_mark(error: JsonValue) -> bool | str | None:
    """Returns a log's mark of a failed call: a flag or a text stays, an object becomes its JSON text."""
    if error is None or isinstance(error, bool | str):
        return error
    return json.dumps(error, ensure_ascii=False) if isinstance(error, dict | list) else bool(error)


def failure_mark(result: JsonObject) -> bool | str | None:
    """Returns the mark of failure that a log sets beside the value of a tool's result.

    It is a stated `error`, or else true for `is_error`, `isError`, `"success": false`, a status such as
    `failed`, `404` or `cancelled`, and similar marks; None: there is none.
    """
    status = result.get("status")
    is_broken_off = isinstance(status, str) and status.strip().lower() in _BROKEN_OFF
    return error_mark(result.get("error")) or (True if is_broken_off or states_failure(result) else None)


def as_text(value: JsonValue) -> str | None:
    """Returns a name or id as text; None stays None."""
    return value if value is None or isinstance(value, str) else str(value)


def tag_texts(tags: JsonValue) -> list[str]:
    """Returns tags as texts: those of a list, of an object (`key:value`), or the only one."""
    held = (json_structure(tags) if isinstance(tags, str) else None) or tags
    if isinstance(held, dict):
        held = [f"{key}:{item}" for key, item in held.items() if item is not None]
    return [tag for tag in map(as_text, held if isinstance(held, list) else [held]) if tag]


def length(milliseconds: JsonValue) -> float | None:
    """Returns a length of time, or None if it is none that a Duration can hold."""
    try:
        return msgspec.convert(milliseconds, Milliseconds, strict=False)
    except msgspec.ValidationError:
        return None
