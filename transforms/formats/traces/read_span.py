"""Reads a span by all dialects."""

from functools import lru_cache

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.traces.dialect import DIALECTS, SpanDialect, dialects_in_order, text_at
from turnwise.transforms.formats.traces.labels import LABELLED, add_labels
from turnwise.transforms.formats.traces.message import AGENT, SYSTEM
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan
from turnwise.transforms.formats.traces.step import Kind, SpanStep

_EXCEPTIONS = ("exception.message", "exception.type")
_LOOKS_LIKE_WORK = frozenset(
    (
        *(
            "gen_ai",
            "llm",
            "openinference",
            "traceloop",
            "langsmith",
            "langfuse",
            "mlflow",
            "ai",
            "adk_events",
        ),
        *("claude", "lk", "haystack", "braintrust", "weave", "wandb", "crewai", "autogen", "dspy"),
    )
)
_NOISE = frozenset(
    (
        *("http", "url", "user_agent", "net", "network", "server", "client", "peer", "tls", "dns", "asgi"),
        *("db", "redis", "rpc", "grpc", "messaging", "faas", "aws", "cloudevents", "graphql", "mcp"),
    )
)
_LONGEST_WORD = 300
_MERGED = ("(merged tools)", "(merged)")
"""Names of the span in which google-adk joins the results of parallel calls; it is no call itself."""


def read_span(span: TraceSpan) -> SpanStep:
    """Returns what all dialects read in a span; where several state the same, the first by rank counts.

    Nobody may change the step of a span that says nothing.
    """
    words = words_of(span)
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
    if step.kind == "tool" and step.name in _MERGED:
        step.kind = "other"
    if step.kind == "model":
        _read_reply(span, step)
    if step.usage is not None and not (step.usage.input_tokens or step.usage.output_tokens):
        # No request has no tokens: the writer did not know them.
        step.usage = None
    if step.error is None and step.kind in ("tool", "agent", "model", "chain"):
        step.error = error_of(span)
    return step


_EMPTY = SpanStep()


def _read_reply(span: TraceSpan, step: SpanStep) -> None:
    """Leaves the reply alone of an output that repeats the request.

    A span that is marked as a model's is a function around it where its output is the request alone, or where
    it is a private function without an output.
    """
    output = step.output or []
    if any(each.role == SYSTEM or each.is_users for each in output):
        last = max(place for place, each in enumerate(output) if each.role != AGENT)
        step.output = output[last + 1 :] or None
        is_helper = step.output is None
    else:
        is_helper = not output and span.name.rpartition(".")[2].startswith("_")
    if is_helper and not (span.error or step.usage is not None or step.response_id):
        step.kind = None


def words_of(span: TraceSpan) -> frozenset[str]:
    """Returns the first words of a span's keys and of the names of its events."""
    words = _first_words(tuple(span.attributes))
    if span.events:
        words = words.union(event.name.partition(".")[0] for event in span.events if event.name)
    return words


@lru_cache(maxsize=512)
def _first_words(keys: tuple[str, ...]) -> frozenset[str]:
    return frozenset(key.partition(".")[0] for key in keys)


@lru_cache(maxsize=4096)
def _asked(words: frozenset[str], name: str, changes: int) -> tuple[SpanDialect, ...]:
    """Returns the dialects that may say something of a span, by first words of its keys and its name."""
    return tuple(
        each for each in dialects_in_order() if not words.isdisjoint(each.prefixes) or name in each.names
    )


def says_something(span: TraceSpan, words: frozenset[str]) -> bool:
    """Returns whether a dialect or a label may be read in a span with such first words of its keys."""
    asked = _asked(words, span.name.partition(" ")[0], DIALECTS.changes)
    return bool(asked) or not words.isdisjoint(LABELLED)


def kind_of(span: TraceSpan) -> Kind | None:
    """Returns what a span is, without reading its long texts."""
    if not says_something(span, words_of(span)):
        return None
    attributes: JsonObject = {
        key: item if not isinstance(item, str) or len(item) <= _LONGEST_WORD else ""
        for key, item in span.attributes.items()
    }
    events = [SpanEvent(event.name) if event.name.startswith("gen_ai.") else event for event in span.events]
    return read_span(TraceSpan(span.trace, span.id, span.parent, span.name, span.start, span.end, attributes,
                               events, scope=span.scope, is_log=span.is_log)).kind  # fmt: skip


def error_of(span: TraceSpan) -> str | None:
    """Returns what a span says of its error; None: its status is none."""
    kind = text_at(span.attributes, "error.type")
    if not span.error and not kind:
        return None
    raised = (text_at(event.attributes, *_EXCEPTIONS) for event in span.events if event.name == "exception")
    message = text_at(span.attributes, "error.message")
    return next(filter(None, (span.message, *raised, message, kind)), "error")


def is_noise(span: TraceSpan, words: frozenset[str]) -> bool:
    """Returns whether a span with such first words is of HTTP, a database or the like, or a log record."""
    is_known = span.is_log or not words.isdisjoint(_NOISE)
    return is_known and not looks_like_work(span, words)


def looks_like_work(span: TraceSpan, words: frozenset[str]) -> bool:
    """Returns whether a span has keys or a name of traces of agents, whether or not a dialect reads it."""
    return not words.isdisjoint(_LOOKS_LIKE_WORK) or _first_word(span.name) in _LOOKS_LIKE_WORK


def _first_word(name: str) -> str:
    return name.partition(".")[0].partition("_")[0]


def is_foreign(span: TraceSpan) -> bool:
    """Returns whether a span looks like one of an agent's, and no dialect reads it."""
    return looks_like_work(span, words_of(span)) and not read_span(span).dialects
