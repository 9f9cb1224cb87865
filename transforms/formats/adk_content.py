"""What google-adk's messages and events hold: words, calls, tokens."""

from collections.abc import Iterable, Sequence

from schemas.adk import Content, FunctionCall, FunctionResponse, InvocationEvent, Part
from schemas.conversation import ToolCall, ToolResponse, Usage

TRANSFER = "transfer_to_agent"


def parts_of(content: Content | None) -> list[Part]:
    """Returns a message's parts; none where there is no message."""
    return (content.parts or []) if content else []


def text(content: Content | None) -> str:
    """Returns a message's texts, one a line, thoughts left out; "" where there are none."""
    return "\n".join(part.text for part in parts_of(content) if part.text and not part.thought)


def adk_text(content: Content | None) -> str | None:
    """Returns a message's texts with the thoughts, or None if it has no thoughts."""
    worded = [part for part in parts_of(content) if part.text]
    return "\n".join(part.text or "" for part in worded) if any(part.thought for part in worded) else None


def tool_calls(contents: Iterable[Content | None]) -> list[ToolCall]:
    """Returns every call of some messages, in order."""
    return [_call(part.function_call) for c in contents for part in parts_of(c) if part.function_call]


def tool_responses(contents: Iterable[Content | None]) -> list[ToolResponse]:
    """Returns every tool response of some messages, in order."""
    return [
        _answer(part.function_response) for c in contents for part in parts_of(c) if part.function_response
    ]


def called_transfers(calls: Iterable[ToolCall]) -> list[str]:
    """Returns the agents that calls of `transfer_to_agent` hand over to, in order."""
    names = [(call.args or {}).get("agent_name") for call in calls if call.name == TRANSFER]
    return [name for name in names if isinstance(name, str)]


def inference_calls(events: Iterable[InvocationEvent]) -> int:
    """Counts the events of model calls, as google-adk does: those with usage or a model version."""
    return sum(event.usage_metadata is not None or event.model_version is not None for event in events)


def usage(events: Sequence[InvocationEvent]) -> Usage | None:
    """Returns the tokens of some events (input: prompt and tool use; output: candidates and thoughts)."""
    reports = [event.usage_metadata for event in events if event.usage_metadata]
    if not reports:
        return None
    return Usage(
        input_tokens=_sum(n for r in reports for n in (r.prompt_token_count, r.tool_use_prompt_token_count)),
        output_tokens=_sum(n for r in reports for n in (r.candidates_token_count, r.thoughts_token_count)),
        cached_tokens=_sum(r.cached_content_token_count for r in reports),
        reasoning_tokens=_sum(r.thoughts_token_count for r in reports),
    )


def _call(call: FunctionCall) -> ToolCall:
    return ToolCall(name=call.name, args=call.args, id=call.id)


def _answer(answer: FunctionResponse) -> ToolResponse:
    return ToolResponse(name=answer.name, id=answer.id, response=answer.response)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
