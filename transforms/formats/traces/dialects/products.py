"""Attributes of LangSmith's, Langfuse's and MLflow's own exporters."""

from collections.abc import Callable

from turnwise.schemas.conversation import Usage
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.traces.dialect import (
    SpanDialect,
    json_messages_at,
    kind_at,
    messages_at,
    register_dialect,
    text_at,
    usage_at,
    value_at,
)
from turnwise.transforms.formats.traces.message import AGENT, USER, SpanMessage
from turnwise.transforms.formats.traces.message_parts import call_arguments
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import Kind, SpanStep
from turnwise.transforms.formats.traces.tool_results import tool_result
from turnwise.transforms.formats.traces.values import loaded

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("llm", "generation", "chat_model", "model"), "model"),
    **dict.fromkeys(
        ("retriever", "embedding", "evaluator", "guardrail", "event", "prompt", "parser"), "other"
    ),
    **{"tool": "tool", "agent": "agent", "chain": "chain", "trace": "chain"},
}
_TOKENS = {
    "input_tokens": ("input", "input_tokens", "prompt_tokens"),
    "output_tokens": ("output", "output_tokens", "completion_tokens"),
    "cached_tokens": ("input_cache_read", "prompt_details.cache_read", "input_cached_tokens", "cache_read"),
    "reasoning_tokens": ("output_reasoning", "completion_details.reasoning", "output_reasoning_tokens"),
}

_OF_LANGSMITH = "langsmith.span.kind"
"""Key of LangSmith's kinds. It wraps what a function returned, unless that is an object."""
_KEYS_ALONE: JsonObject = {"content": "role"}
_UNREAD = "inputs in which the name of a key stands in place of a message"
"""LangSmith's wrapper of the Claude Agent SDK writes such inputs of all model calls but the first."""


def _reader(
    kind_key: str,
    given: tuple[str, ...],
    back: tuple[str, ...],
    names: tuple[str, ...],
    usage_key: str,
    messages: Callable[[JsonValue, str], list[SpanMessage] | None] = json_messages_at,
) -> Callable[[TraceSpan, SpanStep], None]:
    """Returns the reader of an exporter that states kind, input and output under keys of its own."""

    def read(span: TraceSpan, step: SpanStep) -> None:
        held = span.attributes
        step.kind = kind_at(value_at(held, kind_key), _KINDS)
        if step.kind is None:
            return
        step.name = text_at(held, *names) if step.kind == "model" else _tool_name(held, span.name) or None
        entered, left = value_at(held, *given), value_at(held, *back)
        if entered == _KEYS_ALONE:
            entered, step.unread = None, _UNREAD
        if step.kind == "tool":
            step.call_id = text_at(held, "langsmith.call_id")
            is_wrapped = kind_key == _OF_LANGSMITH and isinstance(left, dict) and left.keys() == {"output"}
            is_missing = left == {} and span.error
            _add_tool(step, entered, None if is_missing else left["output"] if is_wrapped else left)
        elif step.kind != "other":
            step.input, step.output = messages(entered, USER), messages(left, AGENT)
            step.usage = _usage(value_at(held, usage_key)) if step.kind == "model" else None

    return read


def _tool_name(held: JsonObject, name: str) -> str:
    """Returns the name that MLflow states apart for LlamaIndex, or that of a span `Tool.NAME` of DSPy."""
    stated = loaded(held.get("name")) if "mlflow.spanType" in held else None
    return stated if isinstance(stated, str) and stated else name.removeprefix("Tool.")


def _add_tool(step: SpanStep, given: JsonValue, back: JsonValue) -> None:
    inner = value_at(given, "input") if isinstance(given, dict) and given.keys() == {"input"} else None
    step.args = call_arguments(inner if isinstance(inner, dict) else given)
    if back is not None:
        step.result, step.error = tool_result(back)
        step.has_result = True


def _usage(details: JsonValue) -> Usage | None:
    return usage_at(details, _TOKENS) if isinstance(details, dict) else None


_LANGSMITH = _reader(
    _OF_LANGSMITH,
    ("langsmith.inputs", "gen_ai.prompt"),
    ("langsmith.outputs", "gen_ai.completion"),
    ("gen_ai.response.model", "gen_ai.request.model"),
    "langsmith.usage",
)
_LANGFUSE = _reader(
    "langfuse.observation.type",
    ("langfuse.observation.input", "input.value"),
    ("langfuse.observation.output", "output.value"),
    ("langfuse.observation.model.name", "gen_ai.request.model"),
    "langfuse.observation.usage_details",
    messages_at,
)
_MLFLOW = _reader(
    "mlflow.spanType",
    ("mlflow.spanInputs",),
    ("mlflow.spanOutputs",),
    ("mlflow.llm.model",),
    "mlflow.chat.tokenUsage",
)


def _langfuse(span: TraceSpan, step: SpanStep) -> None:
    _LANGFUSE(span, step)
    if step.kind is not None and span.attributes.get("langfuse.observation.level") == "ERROR":
        step.error = text_at(span.attributes, "langfuse.observation.status_message") or "error"


register_dialect(SpanDialect(name="langfuse", prefixes=frozenset(("langfuse",)), read=_langfuse, rank=85))
register_dialect(SpanDialect(name="langsmith", prefixes=frozenset(("langsmith",)), read=_LANGSMITH, rank=15))
register_dialect(SpanDialect(name="mlflow", prefixes=frozenset(("mlflow",)), read=_MLFLOW, rank=70))
