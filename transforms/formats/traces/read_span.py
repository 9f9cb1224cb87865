"""Reads a span by all dialects."""

from functools import lru_cache

from turnwise.schemas.values import JsonObject
from turnwise.transforms.formats.traces.dialect import DIALECTS, SpanDialect, dialects_in_order, text_at
from turnwise.transforms.formats.traces.labels import LABELLED, METADATA, add_labels
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan
from turnwise.transforms.formats.traces.step import SpanStep

_EXCEPTIONS = ("exception.message", "exception.type")
_LOOKS_LIKE_WORK = ("gen_ai", "llm", "openinference", "traceloop", "langsmith", "langfuse", "mlflow", "ai")
_LONGEST_LABEL = 300


def read_span(span: TraceSpan) -> SpanStep:
    """Returns what all dialects read in a span; where several state the same, the first by rank counts.

    Nobody may change the step of a span that says nothing.
    """
    words = _words(span)
    step = _EMPTY
    for dialect in _asked(words, span.name.partition(" ")[0], DIALECTS.changes):
        if dialect.is_guess and step.kind is not None:
            continue
        found = SpanStep()
        dialect.read(span, found)
        if found != _EMPTY:
            found.dialects = [dialect.name]
            if step is _EMPTY:
                step = found
            else:
                step.fill(found)
    if not words.isdisjoint(LABELLED):
        step = SpanStep() if step is _EMPTY else step
        add_labels(span, words, step)
    if step.error is None and step.kind in ("tool", "agent", "model", "chain"):
        step.error = error_of(span)
    return step


_EMPTY = SpanStep()


def _words(span: TraceSpan) -> frozenset[str]:
    """Returns the first words of a span's keys and of the names of its events."""
    words = {key.partition(".")[0] for key in span.attributes}
    if span.events:
        words.update(event.name.partition(".")[0] for event in span.events if event.name)
    return frozenset(words)


@lru_cache(maxsize=4096)
def _asked(words: frozenset[str], name: str, changes: int) -> tuple[SpanDialect, ...]:
    """Returns the dialects that may say something of a span, by first words of its keys and its name."""
    return tuple(
        each for each in dialects_in_order() if not words.isdisjoint(each.prefixes) or name in each.names
    )


def read_head(span: TraceSpan) -> SpanStep:
    """Returns what a span is and which conversation it names, without reading its content."""
    words = _words(span)
    if words.isdisjoint(LABELLED) and not _asked(words, span.name.partition(" ")[0], DIALECTS.changes):
        return _EMPTY
    attributes: JsonObject = {
        key: item if not isinstance(item, str) or len(item) <= _LONGEST_LABEL or key in METADATA else ""
        for key, item in span.attributes.items()
    }
    events = [SpanEvent(event.name) if event.name.startswith("gen_ai.") else event for event in span.events]
    return read_span(TraceSpan(span.trace, span.id, span.parent, span.name, span.start, span.end, attributes,
                               events, scope=span.scope, is_log=span.is_log))  # fmt: skip


def error_of(span: TraceSpan) -> str | None:
    """Returns what a span says of its error; None: its status is none."""
    kind = text_at(span.attributes, "error.type")
    if not span.error and not kind:
        return None
    raised = (text_at(event.attributes, *_EXCEPTIONS) for event in span.events if event.name == "exception")
    message = text_at(span.attributes, "error.message")
    return next(filter(None, (span.message, *raised, message, kind)), "error")


def is_foreign(span: TraceSpan) -> bool:
    """Returns whether a span has keys of traces of agents, whatever they mean."""
    return any(key.partition(".")[0] in _LOOKS_LIKE_WORK for key in span.attributes)
