"""Reads a span by all dialects."""

from turnwise.transforms.formats.traces.dialect import dialects_in_order, text_at
from turnwise.transforms.formats.traces.labels import add_labels
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import SpanStep

_NOTHING = ("\0",)
_EXCEPTIONS = ("exception.message", "exception.type")
_LOOKS_LIKE_WORK = ("gen_ai", "llm", "openinference", "traceloop", "langsmith", "langfuse", "mlflow", "ai")


def read_span(span: TraceSpan) -> SpanStep:
    """Returns what all dialects read in a span; where several state the same, the first by rank counts."""
    step = SpanStep()
    words = {key.partition(".")[0] for key in span.attributes}
    words.update(event.name.partition(".")[0] for event in span.events if event.name)
    for dialect in dialects_in_order():
        if step.kind is not None and dialect.is_guess:
            continue
        if words.isdisjoint(dialect.prefixes) and not span.name.startswith(dialect.names or _NOTHING):
            continue
        found = SpanStep()
        dialect.read(span, found)
        if found != _EMPTY:
            found.dialects = [dialect.name]
            step.fill(found)
    add_labels(span, words, step)
    if step.error is None and step.kind in ("tool", "agent", "model", "chain"):
        step.error = error_of(span)
    return step


_EMPTY = SpanStep()


def error_of(span: TraceSpan) -> str | None:
    """Returns what a span says of its error; None: its status is none."""
    kind = text_at(span.attributes, "error.type")
    if not span.error and not kind:
        return None
    raised = (text_at(event.attributes, *_EXCEPTIONS) for event in span.events if event.name == "exception")
    return next(
        filter(None, (span.message, *raised, text_at(span.attributes, "error.message"), kind)), "error"
    )


def is_foreign(span: TraceSpan) -> bool:
    """Returns whether a span has keys of traces of agents, whatever they mean."""
    return any(key.partition(".")[0] in _LOOKS_LIKE_WORK for key in span.attributes)
