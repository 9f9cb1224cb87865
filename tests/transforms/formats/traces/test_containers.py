"""One turn in every container."""
# ruff: noqa: E501

import json
from typing import Any

import pytest

import turnwise
from turnwise.transforms.formats.traces.span import any_value, as_id, as_nanos, loaded

ASKED, SAID = "Where is A-17?", "It has shipped."
FIRST = [{"role": "user", "parts": [{"type": "text", "content": ASKED}]}]
LAST = [{"role": "assistant", "parts": [{"type": "text", "content": SAID}]}]
TRACE, ROOT, CHAT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
START, END = 1_760_000_000_000_000_000, 1_760_000_002_500_000_000
CONTENT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.input.messages": json.dumps(FIRST),
    "gen_ai.output.messages": json.dumps(LAST),
    "session.id": "talk",
}
AGENT = {"gen_ai.operation.name": "invoke_agent"}
SPANS = [(CHAT, ROOT, "chat m", CONTENT), (ROOT, "", "invoke_agent desk", AGENT)]


def otlp(key: str = "resourceSpans", scopes: str = "scopeSpans") -> Any:
    spans = [
        {"traceId": TRACE.upper(), "spanId": own, "parentSpanId": parent, "name": name, "startTimeUnixNano": str(START),
         "endTimeUnixNano": END, "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in held.items()]}
        for own, parent, name, held in SPANS
    ]  # fmt: skip
    return {key: [{"resource": {}, scopes: [{"spans": spans}]}]}


def flat(spell: Any) -> Any:
    return [spell(own, parent, name, held) for own, parent, name, held in SPANS]


def python_sdk(own: str, parent: str, name: str, held: Any) -> Any:
    return {"name": name, "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{own}", "trace_state": "[]"},
            "kind": "SpanKind.INTERNAL", "parent_id": f"0x{parent}" if parent else None,
            "start_time": "2025-10-09T08:53:20.000000Z", "end_time": "2025-10-09T08:53:22.500000Z",
            "status": {"status_code": "UNSET"}, "attributes": held, "events": [], "links": [],
            "resource": {"attributes": {"service.version": "v1"}}}  # fmt: skip


def javascript_sdk(own: str, parent: str, name: str, held: Any) -> Any:
    return {"name": name, "spanContext": {"traceId": TRACE, "spanId": own}, "parentSpanContext": {"spanId": parent},
            "startTime": [1_760_000_000, 0], "endTime": [1_760_000_002, 500_000_000], "status": {"code": 0},
            "attributes": held, "events": []}  # fmt: skip


def clickhouse(own: str, parent: str, name: str, held: Any) -> Any:
    return {"Timestamp": "2025-10-09 08:53:20.000000000", "TraceId": TRACE, "SpanId": own, "ParentSpanId": parent,
            "SpanName": name, "Duration": END - START, "StatusCode": "Unset", "SpanAttributes": held,
            "ResourceAttributes": {"service.version": "v1"}, "ScopeName": "s"}  # fmt: skip


def nested(own: str, parent: str, name: str, held: Any) -> Any:
    """As Phoenix's clients give spans: attributes nested, the kind beside them."""
    kind, llm = "AGENT", {}
    if own == CHAT:
        kind = "LLM"
        llm = {"input_messages": [{"message": {"role": "user", "content": ASKED}}],
               "output_messages": [{"message.role": "assistant", "message.content": SAID}]}  # fmt: skip
    return {"name": name, "span_kind": kind, "parent_id": parent or None, "start_time": "2025-10-09T08:53:20+00:00",
            "end_time": "2025-10-09T08:53:22.5+00:00", "status_code": "OK", "events": [],
            "attributes": {"llm": llm, "session": {"id": "talk"}},
            "context": {"trace_id": TRACE, "span_id": own}}  # fmt: skip


def columns(own: str, parent: str, name: str, held: Any) -> Any:
    """As rows of Phoenix's table."""
    one = nested(own, parent, name, held)
    ids = {f"context.{key}": item for key, item in one.pop("context").items()}
    llm = {f"attributes.llm.{key}": item for key, item in one.pop("attributes")["llm"].items()}
    return {**one, **ids, **llm, "attributes.session.id": "talk"}


def jaeger() -> Any:
    spans = [
        {"traceID": TRACE, "spanID": own, "operationName": name, "startTime": START // 1000,
         "duration": (END - START) // 1000, "processID": "p1",
         "references": [{"refType": "CHILD_OF", "traceID": TRACE, "spanID": parent}] if parent else [],
         "tags": [{"key": key, "type": "string", "value": value} for key, value in held.items()]}
        for own, parent, name, held in SPANS
    ]  # fmt: skip
    return {
        "data": [{"traceID": TRACE, "spans": spans, "processes": {"p1": {"serviceName": "desk", "tags": []}}}]
    }


def mlflow() -> Any:
    held = {
        ROOT: {"mlflow.spanType": '"AGENT"'},
        CHAT: {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanInputs": json.dumps({"messages": FIRST}),
               "mlflow.spanOutputs": json.dumps(LAST[0])},
    }  # fmt: skip
    spans = [{"trace_id": TRACE, "span_id": own, "parent_span_id": parent, "name": name, "attributes": held[own],
              "start_time_unix_nano": START, "end_time_unix_nano": END} for own, parent, name, _ in SPANS]  # fmt: skip
    return {"info": {"trace_metadata": {"mlflow.trace.session": "talk"}}, "data": {"spans": spans}}


def observation(own: str, parent: str, kind: str, **fields: Any) -> Any:
    times = {"startTime": "2025-10-09T08:53:20.000Z", "endTime": "2025-10-09T08:53:22.500Z"}
    return {
        "id": own,
        "traceId": TRACE,
        "parentObservationId": parent or None,
        "type": kind,
        **times,
        **fields,
    }


OBSERVATIONS = [observation(ROOT, "", "AGENT", name="desk"),
                observation(CHAT, ROOT, "GENERATION", name="m", input=json.dumps(FIRST), output=json.dumps(LAST))]  # fmt: skip
HEAD = {"id": TRACE, "projectId": "p", "name": "desk", "timestamp": "2025-10-09T08:53:20.000Z", "latency": 2.5,
        "sessionId": "talk", "bookmarked": False}  # fmt: skip


def snake(row: Any) -> Any:
    names = {"traceId": "trace_id", "parentObservationId": "parent_observation_id", "startTime": "start_time",
             "endTime": "end_time", "sessionId": "session_id"}  # fmt: skip
    return {names.get(key, key): item for key, item in row.items()}


CONTAINERS: dict[str, Any] = {
    "OTLP": [otlp()],
    "OTLP in an array of requests": [otlp(), otlp()],
    "Tempo": [otlp("batches", "instrumentationLibrarySpans")],
    "Tempo v2": [{"trace": otlp()}],
    "Jaeger v3": [{"result": otlp()}],
    "Jaeger": [jaeger()],
    "flat, Python's SDK": flat(python_sdk),
    "flat, JavaScript's SDK": flat(javascript_sdk),
    "flat, ClickHouse": flat(clickhouse),
    "flat, Phoenix nested": flat(nested),
    "flat, Phoenix columns": flat(columns),
    "list beside a session": [{"session_id": "talk", "spans": flat(python_sdk)}],
    "MLflow": [mlflow()],
    "Langfuse export": [{"trace": HEAD, "observations": OBSERVATIONS}],
    "Langfuse API": [{**HEAD, "observations": OBSERVATIONS}],
    "Langfuse API, pages": [{"data": [{**HEAD, "observations": OBSERVATIONS}], "meta": {"page": 1}}],
    "Langfuse, rows": [snake({**row, "sessionId": "talk"}) for row in OBSERVATIONS],
    "Langfuse, rows with the fields of a trace": [
        snake({**row, "sessionId": "talk", "bookmarked": False, "public": False}) for row in OBSERVATIONS
    ],
    "Langfuse API v2": [
        {
            "data": [
                {**row, "sessionId": "talk", "bookmarked": False, "public": False} for row in OBSERVATIONS
            ],
            "meta": {"cursor": None},
        }
    ],
    "Langfuse, legacy rows": [snake(row) for row in (*OBSERVATIONS, HEAD)],
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_holds_the_same_turn(container: str) -> None:
    (found,) = turnwise.read_conversations(CONTAINERS[container])
    (turn,) = found.turns
    assert (found.conversation_id, turn.user, turn.agent) == ("talk", ASKED, SAID)
    assert turn.latency_ms == pytest.approx(2500.0) and turn.inference_calls == 1


def test_the_config_names_the_attribute_of_the_resource_that_holds_the_app_version() -> None:
    config = {"traces": {"app_version_attribute": "vcs.ref.head.revision"}}
    stated = {"service.version": "v1", "vcs.ref.head.revision": "abc", "process.pid": 7}
    pairs = [{"key": key, "value": {"stringValue": str(value)}} for key, value in stated.items()]
    exports = otlp()
    exports["resourceSpans"][0]["resource"] = {"attributes": pairs}
    query = jaeger()
    query["data"][0]["processes"]["p1"]["tags"] = [{"key": k, "value": v} for k, v in stated.items()]
    dumped = [{**each, "resource": {"attributes": stated}} for each in flat(python_sdk)]
    for records in ([exports], [query], dumped):
        (found,) = turnwise.read_conversations(records, config=config)
        assert found.app_version == "abc"
        (plain,) = turnwise.read_conversations(records)
        assert plain.app_version == "v1"
    (other,) = turnwise.read_conversations(flat(python_sdk), config=config)
    assert other.app_version == "v1", "what a resource lacks is as without the config"
    spans = exports["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[0]["attributes"].append({"key": "gen_ai.agent.version", "value": {"stringValue": "agent-2"}})
    (found,) = turnwise.read_conversations([exports], config=config)
    assert found.app_version == "abc", "it goes before what spans say"
    (plain,) = turnwise.read_conversations([exports])
    assert plain.app_version == "agent-2"


def test_a_process_of_jaeger_that_is_no_text_is_none() -> None:
    query = jaeger()
    query["data"][0]["spans"][0]["processID"] = ["p1"]
    [found] = turnwise.read_conversations([query])
    assert found.turns[0].agent == SAID


def test_metrics_are_named_and_refused() -> None:
    with pytest.raises(turnwise.ReadError, match="an OpenTelemetry export of metrics"):
        turnwise.read_conversations({"resourceMetrics": []})


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("CveOx0dH4uRPZpLFkNsHlQ==", "0af78ec74747e2e44f6692c590db0795"),
        (TRACE.upper(), TRACE),
        (f"0x{TRACE}", TRACE),
        ("0" * 32, ""),
        ("live-trace-1", "live-trace-1"),
        (None, ""),
        ([], ""),
        (255, "ff"),
    ],
)
def test_ids(value: Any, found: str) -> None:
    assert as_id(value) == found


@pytest.mark.parametrize("value", [START, str(START), START / 1000, START // 10**6, START / 10**9,
                                   [1_760_000_000, 0], "2025-10-09T08:53:20Z", "2025-10-09 08:53:20"])  # fmt: skip
def test_times(value: Any) -> None:
    assert as_nanos(value) == START


@pytest.mark.parametrize(
    "value", [None, "", "x", -1, float("nan"), float("inf"), True, {}, [1], ["a", "b"], 10**40]
)
def test_what_is_no_time(value: Any) -> None:
    assert as_nanos(value) == 0


def test_values() -> None:
    assert any_value({"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "5"}}]}}) == {"a": 5}
    assert any_value({"arrayValue": {"values": [{"boolValue": True}, {"doubleValue": "NaN"}, {}]}}) == [
        True,
        "NaN",
        None,
    ]
    assert loaded("{'a': (1,)}") == "{'a': (1,)}" and loaded("{'a': 1}") == {"a": 1}
    assert loaded('"{\\"a\\": 1}"') == {"a": 1} and loaded("[" * 500) == "[" * 500


def run(own: str, kind: str, **held: Any) -> dict[str, Any]:
    start = f"2026-01-01T00:00:0{own}Z"
    order = f"20260101T000000Z{TRACE}" + (f".2026010{own}T000000Z{own}" if own != "0" else "")
    return {"id": TRACE if own == "0" else own, "trace_id": TRACE, "parent_run_id": None if own == "0" else TRACE,
            "run_type": kind, "name": kind, "start_time": start, "end_time": start, "dotted_order": order,
            "extra": {"metadata": {"thread_id": "talk"}}, **held}  # fmt: skip


HI = {"messages": [{"role": "user", "content": ASKED}]}
RUNS = [
    run("0", "chain", inputs=HI, outputs={"output": SAID}),
    run("1", "llm", inputs=HI, outputs={"choices": [{"message": {"role": "assistant", "content": SAID}}],
                                        "usage": {"prompt_tokens": 7, "completion_tokens": 2}}),
]  # fmt: skip
PATCHED = ("id", "trace_id", "dotted_order", "parent_run_id", "name", "end_time", "outputs", "extra")
BATCH = {
    "post": [
        {key: item for key, item in each.items() if key not in ("outputs", "end_time")} for each in RUNS
    ],
    "patch": [{key: each[key] for key in PATCHED} for each in RUNS],
}
HALVES = [{**BATCH, "patch": []}, {**BATCH, "post": []}]


@pytest.mark.parametrize(
    "records", [RUNS, [BATCH], HALVES, HALVES[::-1], [{**RUNS[0], "child_runs": RUNS[1:]}]]
)
def test_runs_of_langsmith_in_every_container(records: list[Any]) -> None:
    [found] = turnwise.read_conversations(records)
    [turn] = found.turns
    assert (found.conversation_id, turn.user, turn.agent) == ("talk", ASKED, SAID)
    assert turn.usage is not None and (turn.usage.input_tokens, turn.usage.output_tokens) == (7, 2)


def test_the_metadata_of_a_trace_of_the_openai_agents_sdk() -> None:
    reply = {
        "type": "generation",
        "input": HI["messages"],
        "output": [{"role": "assistant", "content": SAID}],
    }
    trace = {"object": "trace", "id": "t", "group_id": "talk", "metadata": {"app_version": "v1"}}
    span = {"object": "trace.span", "id": "s", "trace_id": "t", "parent_id": None, "span_data": reply,
            "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:01Z"}  # fmt: skip
    [found] = turnwise.read_conversations([{"data": [trace, span]}])
    assert (found.conversation_id, found.app_version, found.turns[0].agent) == ("talk", "v1", SAID)
