"""OTLP/JSON as most exporters write it, read from its text by types: quicker than general parsing."""

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from pydantic_core import from_json

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.traces.otlp import is_error, is_local, resource_attributes, span_event
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.values import any_value, as_id, as_nanos, number_value

_START = b'{"resourceSpans":'


class _Value(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    string_value: str | UnsetType | None = UNSET
    int_value: str | int | UnsetType = UNSET
    double_value: int | float | str | UnsetType = UNSET
    bool_value: bool | UnsetType = UNSET
    array_value: Raw | UnsetType = UNSET
    kvlist_value: Raw | UnsetType = UNSET


class _Attribute(Struct, forbid_unknown_fields=True, gc=False):
    key: str
    value: _Value


class _SpanStatus(Struct, forbid_unknown_fields=True, gc=False):
    code: str | int = 0
    message: str = ""


class _Span(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    trace_id: str
    span_id: str
    start_time_unix_nano: str | int
    end_time_unix_nano: str | int = 0
    parent_span_id: str = ""
    name: str = ""
    attributes: list[_Attribute] = []
    events: list[Raw] = []
    status: _SpanStatus | None = None
    kind: str | int = 0
    flags: int = 0
    trace_state: str = ""
    links: list[JsonValue] = []
    dropped_attributes_count: int = 0
    dropped_events_count: int = 0
    dropped_links_count: int = 0


class _Scope(Struct, frozen=True):
    name: str = ""


class _ScopeSpans(Struct, rename="camel", forbid_unknown_fields=True):
    spans: list[_Span]
    scope: _Scope = _Scope()
    schema_url: str = ""


class _ResourceSpans(Struct, rename="camel", forbid_unknown_fields=True):
    scope_spans: list[_ScopeSpans]
    resource: JsonObject = {}
    schema_url: str = ""


class _Export(Struct, rename="camel", forbid_unknown_fields=True):
    resource_spans: list[_ResourceSpans]


_DECODE = msgspec.json.Decoder(_Export).decode


def otlp_text_spans(data: bytes) -> list[TraceSpan] | None:
    """Returns the spans of an export's text as `otlp_spans` does; None: it has to be parsed in general."""
    if not data.startswith(_START):
        return None
    try:
        return _spans(_DECODE(data))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _spans(export: _Export) -> list[TraceSpan]:
    found: list[TraceSpan] = []
    for resource in export.resource_spans:
        service = resource_attributes(resource.resource)
        for scoped in resource.scope_spans:
            found += [_span(span, scoped.scope.name, service) for span in scoped.spans]
    return found


def _span(held: _Span, scope: str, service: JsonObject) -> TraceSpan:
    span = TraceSpan(
        as_id(held.trace_id),
        as_id(held.span_id),
        as_id(held.parent_span_id),
        held.name,
        as_nanos(held.start_time_unix_nano),
        as_nanos(held.end_time_unix_nano),
        {each.key: _value(each.value) for each in held.attributes},
        scope=scope,
        resource=service,
        dropped=held.dropped_attributes_count + held.dropped_events_count,
        is_local=is_local(held.flags),
    )
    if held.events:
        events = map(_parsed, held.events)
        span.events = [span_event(each) for each in events if isinstance(each, dict)]
    if held.status is not None:
        span.error, span.message = is_error(held.status.code), held.status.message
    return span


def _value(held: _Value) -> JsonValue:
    if held.string_value is not UNSET:
        return held.string_value
    number = held.int_value
    if number is not UNSET and held == _Value(int_value=number):
        return number_value(number)
    named = ((name, getattr(held, field)) for field, name in _NAMES)
    return any_value({name: _parsed(item) for name, item in named if item is not UNSET})


_NAMES = tuple(zip(_Value.__struct_fields__, _Value.__struct_encode_fields__, strict=True))


def _parsed(value: JsonValue) -> JsonValue:
    return from_json(bytes(value)) if isinstance(value, Raw) else value
