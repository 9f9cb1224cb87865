"""google-adk's contents, invocations and rubrics as JSON, in snake case."""

from collections.abc import Sequence

from turnwise.schemas.conversation import ExpectedTurn, Rubric, ToolCall, ToolResponse, Turn, Usage
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.conversion.plain import earlier_texts

_AGENT = "agent"


def content(role: str, *parts: JsonObject) -> JsonObject:
    """Returns a Content."""
    return {"role": role, "parts": list(parts)}


def recorded_invocation(turn: Turn, app_details: JsonValue = None) -> JsonObject:
    """Returns a recorded turn as an Invocation: calls, results and earlier texts are its steps."""
    steps: list[JsonObject] = [{"author": _AGENT, "content": each} for each in step_contents(turn)]
    steps += [_step("model", {"text": text}) for text in earlier_texts(turn)]
    _add_usage(steps, turn)
    invocation = _invocation(turn.user, turn.agent, turn.adk_text, steps)
    if isinstance(turn.timestamp, int | float):
        invocation["creation_timestamp"] = turn.timestamp
    for name, value in (("", turn.latency_ms), ("model_", turn.model_ms), ("tool_", turn.tool_ms)):
        if value is not None:
            invocation[f"{name}duration"] = value / 1000
    if isinstance(app_details, dict):
        agents = {name: {"name": name, **each} for name, each in app_details.items()}
        invocation["app_details"] = {"agent_details": agents}
    return invocation


def step_contents(turn: Turn) -> list[JsonObject]:
    """Returns the calls of a turn and their results as Contents."""
    calls = [{"function_call": _call(call)} for call in turn.tool_calls]
    answers = [{"function_response": _answer(response)} for response in turn.tool_responses]
    stated = (("model", calls), ("user", answers))
    return [content(role, *parts) for role, parts in stated if parts]


def expected_invocation(turn: ExpectedTurn) -> JsonObject:
    """Returns an expected turn as an Invocation."""
    parts = [{"function_call": _call(call)} for call in turn.tool_calls or ()]
    steps = [_step("model", *parts)] if parts else []
    steps += [_step("model", {"text": text}) for text in turn.intermediate_responses]
    invocation = _invocation(turn.user, turn.response, turn.adk_text, steps)
    if turn.rubrics:
        invocation["rubrics"] = rubrics(turn.rubrics)
    return invocation


def rubrics(stated: Sequence[Rubric]) -> list[JsonObject]:
    """Returns rubrics."""
    return [
        {
            "rubric_id": rubric.rubric_id,
            "rubric_content": {"text_property": rubric.text},
            **({"type": rubric.type} if rubric.type else {}),
        }
        for rubric in stated
    ]


def _invocation(
    user: str | None, agent: str | None, adk_text: str | None, steps: list[JsonObject]
) -> JsonObject:
    said = [{"text": user}] if user else []
    invocation: JsonObject = {"invocation_id": "", "user_content": content("user", *said)}
    thought = (adk_text or "").removesuffix(agent or "").removesuffix("\n")
    parts = [{"text": thought, "thought": True}] if thought else []
    parts += [{"text": agent}] if agent else []
    if parts:
        invocation["final_response"] = content("model", *parts)
    invocation["intermediate_data"] = {"invocation_events": steps}
    return invocation


def _step(role: str, *parts: JsonObject) -> JsonObject:
    return {"author": _AGENT, "content": content(role, *parts)}


def _add_usage(steps: list[JsonObject], turn: Turn) -> None:
    """Adds tokens and the number of model calls to the steps, in place; each call of a model is one step."""
    number = turn.inference_calls if turn.inference_calls is not None else int(turn.usage is not None)
    while len(steps) < number:
        steps.append({"author": _AGENT})
    for place, step in enumerate(steps[:number]):
        step["usage_metadata"] = _usage(turn.usage) if turn.usage and not place else {}


def _usage(usage: Usage) -> JsonObject:
    spoken = usage.output_tokens
    if spoken is not None and usage.reasoning_tokens is not None:
        spoken -= usage.reasoning_tokens
    counts = {
        "prompt_token_count": usage.input_tokens,
        "candidates_token_count": spoken,
        "thoughts_token_count": usage.reasoning_tokens,
        "cached_content_token_count": usage.cached_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


def _call(call: ToolCall) -> JsonObject:
    stated = {"id": call.id, "name": call.name, "args": call.args}
    return {name: value for name, value in stated.items() if value is not None}


def _answer(response: ToolResponse) -> JsonObject:
    """Returns a FunctionResponse; an answer that is no object stands under `result`, as in google-adk."""
    value = response.response
    answer = value if isinstance(value, dict | None) else {"result": value}
    stated = {"id": response.id, "name": response.name, "response": answer}
    return {name: item for name, item in stated.items() if item is not None}
