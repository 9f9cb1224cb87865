"""The part of a trace that one record holds: an event, to be joined with the trace's other parts."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

import msgspec

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue, grouped, listed, shown
from turnwise.transforms.formats import registry
from turnwise.transforms.formats.identity import KEYS, OF_SPANS, Places, identity_at
from turnwise.transforms.formats.messages.kinds import stated
from turnwise.transforms.formats.traces import dialect, dialects
from turnwise.transforms.formats.traces.span import (
    ADK_EVENTS,
    AGENT_COLUMN,
    INVOCATION,
    RUNNING,
    TraceSpan,
    as_id,
    loaded,
)
from turnwise.transforms.formats.traces.turns import STEPS, join_spans

_STATED = (key for path, names in OF_SPANS if path == "attributes" for keys in names for key in keys)
_SERVICE = ("service.", "deployment.", "app.version", "app_version", "eval_", "turnwise.")
_KEPT = (RUNNING, INVOCATION, *_STATED)


class TracePart(msgspec.Struct, omit_defaults=True):
    """Spans of one trace.

    Attributes:
        event_time: End of its last span, seconds since the epoch; 0: not stated.
        has_root: Whether it holds a span without a parent.
        has_steps: Whether a span is a step of an agent.
        has_noise: Whether a span is of HTTP, a database, a queue or the like, or is no span but a log record.
        conversations: Conversation ids that spans state, by span id.
        turnwise_spans: The spans, without the trace; without attributes and resource if they are no agent's.
    """

    trace: str
    event_time: float = 0.0
    has_root: bool = False
    has_steps: bool = False
    has_noise: bool = False
    conversations: dict[str, str] = {}
    turnwise_spans: list[TraceSpan] = []


class _PartHead(msgspec.Struct):
    trace: str
    has_steps: bool = False
    conversations: dict[str, str] = {}


KEY = "turnwise_spans"
_ENCODE = msgspec.json.Encoder().encode
_HEAD = msgspec.json.Decoder(_PartHead)
_PART = msgspec.json.Decoder(TracePart)

_Spans: TypeAlias = Callable[[JsonObject], Iterable[TraceSpan]]


def _split(
    spans: _Spans, value: JsonValue, settings: registry.ReadSettings
) -> list[registry.SplitEvent | ValueError]:
    """Returns the parts of the spans, one a trace; an error in place of spans without a trace."""
    records = value if isinstance(value, list) else [value]
    bad = next((record for record in records if not isinstance(record, dict)), None)
    if bad is not None:
        raise ValueError(f"a JSON object is needed, not {shown(bad)}")
    parts, lost = dict[str, TracePart](), 0
    resource, service = dict[str, JsonValue](), dict[str, JsonValue]()
    for record, span in ((held, span) for held in records for span in spans(held)):
        is_nameless = span.is_log and not span.id and dialects.says_something(span, dialect.words_of(span))
        if is_nameless or not span.trace:
            lost += 1
            continue
        if "mlflow.spanType" in span.attributes:
            # MLflow writes every text as JSON.
            quoted = ((key, item) for key, item in span.attributes.items() if str(item)[:1] == '"')
            span.attributes = {**span.attributes, **{key: loaded(item) for key, item in quoted}}
        # What stands where the config says: in the span, in its resource, or in the record.
        if any(settings.identity):
            whole = {"attributes": span.attributes, "resource": span.resource}
            places = [*whole.values(), whole, dialect.metadata_of(span.attributes), record]
            named = zip(KEYS, identity_at(settings.identity, places), strict=True)
            span.attributes = {**span.attributes, **{key: text for key, text in named if text}}
        if span.resource is not resource:
            resource = span.resource
            of_service = ((key, value) for key, value in resource.items() if key.startswith(_SERVICE))
            service = {key: value for key, value in of_service if isinstance(value, str | int | float)}
        span.resource = service
        span.attributes = stated(span.attributes)
        for event in span.events:
            event.attributes = stated(event.attributes)
        part, words = parts.setdefault(span.trace, TracePart(span.trace)), dialect.words_of(span)
        part.event_time = max(part.event_time, (span.end or span.start) / 1e9)
        part.has_root = part.has_root or not (span.parent or span.is_log)
        span.trace = ""
        part.turnwise_spans.append(span)
        if dialects.says_something(span, words):
            if conversation := dialect.conversation_of(span, words):
                part.conversations[span.id] = conversation
            continue
        is_work = dialect.looks_like_work(span, words)
        part.has_noise |= not is_work and (span.is_log or not words.isdisjoint(dialect.NOISE))
        if not (span.events or is_work):
            kept = {key: span.attributes[key] for key in _KEPT if key in span.attributes}
            span.attributes, span.resource = kept, {}
    made: list[registry.SplitEvent | ValueError] = []
    for part in parts.values():
        # Agents come last in most exports, and are recognised the fastest.
        part.has_steps = any(dialects.kind_of(span) in STEPS for span in reversed(part.turnwise_spans))
        head = {"trace": part.trace, "event_time": part.event_time, "has_root": part.has_root}
        made.append(registry.SplitEvent(head, _ENCODE(part)))
    if lost:
        message = f"{lost} spans or log records name no trace or span, so they belong to no conversation"
        made.append(ValueError(message))
    if not made:
        raise registry.NoConversation("the export holds no span")
    return made


def _group(value: JsonObject) -> str:
    trace = value.get("trace")
    if not isinstance(trace, str) or not trace:
        raise ValueError("a part of a trace needs the id of the trace")
    return trace


def _lend(trace: str, parts: Sequence[bytes]) -> list[registry.Lent]:
    """Returns the parts of a whole trace, each with its conversation; a part of several is divided."""
    # A span is of the conversation that the topmost span above it names, or else of the one that the trace
    # names, or else of the trace itself.
    heads = [_HEAD.decode(data) for data in parts]
    has_steps = any(head.has_steps for head in heads)
    names = {name for head in heads for name in head.conversations.values()}
    if has_steps and len(names) <= 1:
        name = next(iter(names), trace)
        return [registry.Lent(index, name, data) for index, data in enumerate(parts)]
    held = [_PART.decode(data) for data in parts]
    if not has_steps:
        spans = [span for part in held for span in part.turnwise_spans]
        steps = listed(sorted({span.scope or span.name for span in spans}), 5)
        working = (span for span in spans if dialect.looks_like_work(span, dialect.words_of(span)))
        is_agents = not all(dialects.read_span(span).dialects for span in working)
        is_known = any(part.has_noise for part in held) or any(map(dialects.kind_of, spans))
        if is_known and not is_agents:
            why = f"none of its {len(spans)} spans is a step of an agent ({steps})"
            raise registry.NoConversation(f"trace {trace}: {why}")
        keys = sorted({key for span in spans for key in span.attributes})[:8]
        what = "look like an agent's" if is_agents else "are of no known kind"
        raise ValueError(
            f"trace {trace}: {len(spans)} spans {what} ({steps}), and no dialect reads them"
            f" (keys: {', '.join(keys) or 'none'}); known dialects: {', '.join(sorted(dialects.NAMES))}"
        )
    _nest_invocations(held)
    parents = {span.id: span.parent for part in held for span in part.turnwise_spans}
    stated = {key: name for part in held for key, name in part.conversations.items()}
    naming = (span for part in held for span in part.turnwise_spans if span.id in stated)
    first = min((span.start, span.id) for span in naming)[1]
    lent: list[registry.Lent] = []
    for index, part in enumerate(held):
        pieces: dict[str, list[TraceSpan]] = {}
        for span in part.turnwise_spans:
            topmost, above, seen = None, span.id, set[str]()
            while above and above not in seen:
                seen.add(above)
                topmost = stated.get(above) or topmost
                above = parents.get(above, "")
            pieces.setdefault(topmost or stated[first], []).append(span)
        for name, those in pieces.items():
            by_id = {span.id: name for span in those}
            piece = msgspec.structs.replace(part, conversations=by_id, turnwise_spans=those)
            lent.append(registry.Lent(index, name, _ENCODE(piece)))
    return lent


def _nest_invocations(parts: Sequence[TracePart]) -> None:
    """Puts agents that google-adk called as tools, which have sessions of their own, below these calls."""
    # A call and the invocation that it makes share the trace and the name of the agent.
    calls: dict[object, list[TraceSpan]] = {}
    begun: dict[str, TraceSpan] = {}
    spans = sorted((span for part in parts for span in part.turnwise_spans), key=lambda span: span.start)
    of_invocation = grouped((span.attributes.get(INVOCATION), span) for span in spans)
    for span in spans:
        if f"{ADK_EVENTS}INVOCATION_STARTING" in span.attributes:
            begun[span.id] = span
        row = span.attributes.get(f"{ADK_EVENTS}TOOL_STARTING")
        if isinstance(row, dict) and isinstance(content := row.get("content"), dict):
            calls.setdefault(content.get("tool"), []).append(span)
    for invocation, first in begun.items():
        made = calls.get(first.attributes.get(AGENT_COLUMN), [])
        session = first.attributes.get("session.id")
        others = (call for call in made if call.attributes["session.id"] != session)
        call = next((call for call in others if call.start <= first.start), None)
        if call is not None:
            made.remove(call)
            for span in of_invocation[invocation]:
                span.parent = call.id if span.id == invocation else span.parent
                span.attributes[INVOCATION] = call.attributes[INVOCATION]


def _join_parts(conversation_id: str, values: Sequence[JsonObject]) -> Conversation:
    try:
        parts = [msgspec.convert(value, TracePart) for value in values]
    except msgspec.ValidationError as error:
        raise ValueError(f"not a part of a trace: {error}") from None
    spans: list[TraceSpan] = []
    for part in parts:
        for span in part.turnwise_spans:
            span.trace = as_id(span.attributes.get(INVOCATION)) or part.trace
        spans += part.turnwise_spans
    return join_spans(conversation_id, spans)


_PARTS = "trace_part"


def register_export(
    name: str,
    rank: int,
    help: str,
    recognises: registry.Test,
    *keys: tuple[str, ...],
    places: Places = OF_SPANS,
    **more: Any,
) -> Callable[[_Spans], _Spans]:
    """Adds a format of records, of which the decorated function yields spans of any traces; see `Format`."""

    def add(spans: _Spans) -> _Spans:
        registry.register_built_in(
            name, rank, help, recognises, keys[0], other_keys=keys[1:], places=places, **more,
            splitter=registry.Splitter(into=_PARTS, split=partial(_split, spans)),
            time=lambda held: max((span.end or span.start for span in spans(held)), default=0) / 1e9 or None,
        )  # fmt: skip
        return spans

    return add


registry.register_built_in(
    _PARTS, 24, "turnwise's own part of a trace", lambda record: KEY in record, places=(),
    events=registry.EventReader(
        # It names no conversation; the part with the root is of turn 0.
        locate=lambda part: ("", 0 if part.get("has_root") else -1),
        join=_join_parts,
        # The root ends last, so that its trace is whole.
        is_end=lambda part: part.get("has_root") is True,
        group=_group,
        lend=_lend,
    ),
)  # fmt: skip
