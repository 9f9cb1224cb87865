"""BeeAI, whose every event is a span: the start of a call, how it ended, and what an agent was told of it."""

from turnwise.transforms.formats.traces.dialect import SpanDialect, register_dialect, text_at, value_at
from turnwise.transforms.formats.traces.message_parts import call_arguments
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import SpanStep

_CALLED = ("tool", "backend")
_ENDS = ("success", "error")
_TOLD = "agent.react.update"


def _read(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    target = span.name.rpartition("-")[0]
    # A long reply of a model leaves no room for `target` among the attributes.
    if "beeai" not in span.scope and held.get("target", "") != target:
        return
    path, _, event = target.rpartition(".")
    if path.partition(".")[0] in _CALLED:
        if event != "start" and event not in _ENDS:
            step.kind = "other"
            return
        step.event = "start" if event == "start" else "end"
        if path.startswith("tool."):
            step.kind, step.name = "tool", path.rpartition(".")[2]
    elif target == _TOLD and "tool.name" in held and "output.value" in held:
        step.kind, step.name, step.event = "tool", text_at(held, "tool.name"), "told"
        step.args = call_arguments(value_at(held, "tool.parameters"))
        step.result, step.has_result = value_at(held, "output.value"), True


register_dialect(SpanDialect(name="beeai", prefixes=frozenset(("openinference",)), read=_read, rank=15))
