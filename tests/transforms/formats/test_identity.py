"""Which app version, eval case and set conversations of every source are of."""

from typing import Any

import pytest

import turnwise
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.registry import no_version_text

SAID = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
TURNS = {"turns": [{"user": "Hi", "agent": "Hello"}]}
TRACE = "a1" * 16


def chat(**fields: Any) -> JsonObject:
    return {"messages": SAID, "conversation_id": "c", **fields}


HISTORY = {"name": "projects/p/locations/l/agents/a/conversations/c"}


def spans(resource: JsonObject | None = None, **attributes: Any) -> JsonObject:
    """Returns a trace of an agent with one model call, below a request of a server with these attributes."""
    known = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": SAID[:1],
        "gen_ai.output.messages": SAID[1:],
    }
    about = {"start_time": "2026-01-01T00:00:00Z", "resource": {"attributes": resource or {}}}
    server = {"span_id": "1", "name": "POST", "attributes": {"http.method": "POST", **attributes}}
    model = {"span_id": "2", "parent_id": "1", "name": "chat", "attributes": known}
    return {"spans": [{"trace_id": TRACE, **about, **each} for each in (server, model)]}


def agent_event(**fields: Any) -> JsonObject:
    event = {"event_type": "USER_MESSAGE_RECEIVED", "session_id": "s", "invocation_id": "i", "agent": "root"}
    return {**event, "timestamp": "2026-01-01T00:00:00Z", "content": {"text_summary": "Hi"}, **fields}


def langfuse(**trace: Any) -> JsonObject:
    step = {"id": "2", "traceId": TRACE, "type": "GENERATION", "input": SAID[:1], "output": SAID[1]}
    return {"trace": {"id": TRACE, **trace}, "observations": [{**step, "startTime": "2026-01-01T00:00:00Z"}]}


def mlflow(tags: Any, metadata: JsonObject) -> JsonObject:
    return {"info": {"trace_metadata": metadata, "tags": tags, "state": "OK"}, "data": spans()}


def dialogflow(**parameters: Any) -> JsonObject:
    """Returns the request and the response of a turn that begins with parameters of the session."""
    request = {"queryInput": {"text": {"text": "Hi"}}, "queryParams": {"parameters": parameters}}
    return {
        "request": request,
        "response": {"queryResult": {"responseMessages": [{"text": {"text": ["Hello"]}}]}},
    }


def langsmith(**fields: Any) -> JsonObject:
    run = {
        "id": TRACE,
        "trace_id": TRACE,
        "run_type": "llm",
        "name": "chat",
        "inputs": {"messages": SAID[:1]},
    }
    return {**run, "outputs": {"messages": SAID[1:]}, "start_time": "2026-01-01T00:00:00Z", **fields}


def session(**state: Any) -> JsonObject:
    events = [("user", "Hi"), ("root", "Hello")]
    listed = [
        {"author": who, "invocation_id": "i", "content": {"parts": [{"text": text}]}} for who, text in events
    ]
    return {"id": "s", "app_name": "a", "state": state, "events": listed}


@pytest.mark.parametrize(
    ("record", "config", "wanted"),
    [
        (chat(app_version="v1", eval_id=7, eval_set_id="s"), {}, "v1 7 s"),
        (chat(metadata={"app_version": "v1", "test_case_id": "t"}), {}, "v1 t -"),
        (chat(labels='{"agentVersion": 2}'), {}, "2 - -"),
        ({"conversation_id": "c", "labels": {"app_version": "v1"}, "meta": {"eval_id": "e"}, **TURNS}, {},
         "v1 e -"),
        (session(app_version="v1", eval_id="e", eval_set_id="s"), {}, "v1 e s"),
        ([agent_event(attributes={"custom_tags": {"app_version": "v7", "eval_id": "c8"}}), agent_event(
            event_type="INVOCATION_COMPLETED", content=None)], {}, "v7 c8 -"),
        (agent_event(attributes={"custom_tags": {"turnwise": {"app_version": "v5"}}}), {}, "v5 - -"),
        (agent_event(attributes='{"session_metadata": {"state": {"app_version": "v7"}}}'), {}, "v7 - -"),
        (agent_event(labels={"app_version": "v7"}, eval_id="c8"), {}, "v7 c8 -"),
        (spans(**{"turnwise.eval_id": "e", "turnwise.eval_set_id": "s", "app.version": "v2"}), {}, "v2 e s"),
        (spans({"service.version": "v3"}, eval_id="e"), {}, "v3 e -"),
        (spans(metadata='{"app_version": "v4", "test_case_id": "t"}'), {}, "v4 t -"),
        (spans(**{"langfuse.experiment.item.id": "item-1"}), {}, "- item-1 -"),
        (langfuse(release="r1", metadata={"dataset_item_id": "item-1"}), {}, "r1 item-1 -"),
        (langsmith(reference_example_id="x-1", extra={"metadata": {"revision_id": "abc"}}), {}, "abc x-1 -"),
        (chat(meta={"app_version": "v1", "eval_id": "e"}), {}, "v1 e -"),
        ({"request": {"body": {**chat(), "metadata": {"app_version": "v1"}}}, "response": {"metadata": {
            "eval_id": "e"}}}, {}, "v1 e -"),
        ({"sender_id": "u", "events": [{"event": "user", "text": "Hi"}],
          "slots": {"eval_id": "e"}}, {}, "- e -"),
        ({"event": "$ai_generation", "properties": {"$ai_input": SAID[:1], "app_version": "v1"}}, {},
         "v1 - -"),
        (spans(**{"app_version": "v1", "metadata.eval_id": "e"}), {}, "v1 e -"),
        (mlflow({"app_version": "v1"}, {"eval_id": "e", "app_version": "v2"}), {}, "v2 e -"),
        (mlflow([{"key": "eval_set_id", "value": "s"}], {"mlflow.modelId": "m-1"}), {}, "m-1 - s"),
        (({**langfuse(version="v2")["trace"], **langfuse(), "trace": None, "htmlPath": "/p"}), {}, "v2 - -"),
        ({**HISTORY, "interactions": [dialogflow(app_version="v2", eval_id="e")]}, {}, "v2 e -"),
        ({"conversation_name": "c", "turn_position": 1, **dialogflow(eval_id="e")}, {}, "- e -"),
        # What the config names goes first, in rows and spans as in records; what is missing does not count.
        (chat(app_version="v1", build={"number": 8}), {"app_version_from": ["a.b", "build.number"]}, "8 - -"),
        ({"conversation_id": "c", "app_version": "v1", "release": "r1", **TURNS},
         {"app_version_from": ["release"]}, "r1 - -"),
        (agent_event(attributes={"custom_tags": {"case": "c8"}}),
         {"eval_id_from": ["attributes.custom_tags.case"]}, "- c8 -"),
        (spans({"vcs.ref.head.revision": "abc", "service.version": "v3"}, **{"test.name": "t"}),
         {"app_version_from": ["vcs.ref.head.revision"], "eval_id_from": ["attributes.test.name"]},
         "abc t -"),
        (langfuse(metadata={"suite": "s"}), {"eval_set_id_from": ["trace.metadata.suite"]}, "- - s"),
        ({"session_id": "s", "event": session()["events"][1], "build": 9}, {"app_version_from": ["build"]},
         "9 - -"),
    ],
)  # fmt: skip
def test_what_a_record_states_of_its_conversation(record, config, wanted):
    records = record["spans"] if isinstance(record, dict) and "spans" in record else record
    (read,) = turnwise.read_conversations(records, config=config)
    stated = read.app_version, read.eval_id, read.eval_set_id
    assert " ".join(text or "-" for text in stated) == wanted


def test_which_of_several_cases_is_meant_is_not_guessed():
    records = [agent_event(eval_id="a"), agent_event(invocation_id="j", eval_id="b")]
    with pytest.raises(ValueError, match="names several eval cases or sets: a, b"):
        turnwise.read_conversations(records)


def test_rows_of_two_users_that_name_one_session_are_no_conversation():
    records = [agent_event(user_id="a"), agent_event(user_id="b", invocation_id="j", span_id="k")]
    with pytest.raises(ValueError, match=r"different users \(a, b\) name one conversation, s: put the user"):
        turnwise.read_conversations(records)


def test_several_versions_in_one_conversation_are_a_finding():
    events = [
        agent_event(
            invocation_id=f"i{number}",
            span_id=f"s{number}",
            timestamp=f"2026-11-20T10:00:0{number}Z",
            attributes={"custom_tags": {"app_version": f"v{number}"}},
        )
        for number in (1, 2)
    ]
    (read,) = turnwise.read_conversations(events)
    (said,) = [each.message for each in read.turns[0].findings if each.kind == "SeveralVersions"]
    assert "v1, v2" in said and said.endswith(f"it counts as {read.app_version}")


def tau2(*runs: JsonObject) -> JsonObject:
    """Returns results of tau2 with these runs of the task 0."""
    info = {"git_commit": "abc", "agent_info": {"llm": "m"}}
    listed = [{"task_id": "0", "messages": SAID, **run} for run in runs]
    return {"timestamp": "t", "info": info, "tasks": [{"id": "0"}], "simulations": listed}


def test_paths_of_the_config_go_first_where_a_record_holds_several_conversations():
    record, config = tau2({"id": "a"}, {"id": "b"}), {"app_version_from": ["info.git_commit"]}
    assert [read.app_version for read in turnwise.read_conversations(record)] == ["m", "m"]
    read = turnwise.read_conversations(record, config={**config, "eval_id_from": ["tasks.0.id"]})
    assert [(each.app_version, each.eval_id) for each in read] == [("abc", "0")] * 2
    with pytest.raises(ValueError, match=r"nothing says which is whose: a, b"):
        turnwise.read_conversations(record, config={"eval_id_from": ["simulations.id"]})


def chat_row(number: int, **metadata: Any) -> JsonObject:
    """Returns a row of LiteLLM's log, the reply number `number` of a session."""
    said = [
        message for place in range(number) for message in ({"role": "user", "content": str(place)}, SAID[1])
    ]
    reply = {"object": "chat.completion", "choices": [{"message": SAID[1], "finish_reason": "stop"}]}
    row = {
        "call_type": "acompletion",
        "spend": 0,
        "session_id": "s",
        "startTime": f"2026-01-01T00:00:0{number}Z",
    }
    return {**row, "messages": said[:-1], "response": reply, "metadata": metadata}


def adk_event(number: int, **fields: Any) -> JsonObject:
    event = session()["events"][number % 2]
    return {"session_id": "s", "event": {**event, "id": str(number), "timestamp": number}, **fields}


def interaction(second: int, version: str) -> JsonObject:
    request = {"queryInput": {"text": {"text": "Hi"}}, "queryParams": {"flowVersions": [version]}}
    response = {"queryResult": {"responseMessages": [{"text": {"text": ["Hello"]}}]}}
    return {"request": request, "response": response, "createTime": f"2026-01-01T00:00:0{second}Z"}


def changed(first: JsonObject, second: JsonObject, **state: Any) -> JsonObject:
    """Returns a session whose two events change the state."""
    read = session(**state)
    for event, delta in zip(read["events"], (first, second), strict=True):
        event["actions"] = {"state_delta": delta}
    return read


V1, V2 = {"app_version": "v1"}, {"app_version": "v2"}


@pytest.mark.parametrize(
    "records",
    [
        [chat_row(1, **V1), chat_row(2, **V2)],
        [adk_event(0, state=V1), adk_event(1), adk_event(2, state=V2), adk_event(3)],
        [adk_event(0, state=V1), {**adk_event(1), "event": {**changed({}, V2)["events"][1], "timestamp": 1}}],
        changed(V1, V2, **V2),
        changed(V1, {}, **V2),
        {**HISTORY, "interactions": [interaction(2, "v2"), interaction(1, "v1")]},
        {"conversations": [{**HISTORY, "interactions": [interaction(2, "v2"), interaction(1, "v1")]}]},
    ],
)
def test_of_several_versions_the_last_by_time_counts_in_every_format(records):
    (read,) = turnwise.read_conversations(records)
    (said,) = [each.message for each in read.turns[0].findings if each.kind == "SeveralVersions"]
    assert read.app_version == "v2" and said.endswith("v1, v2; it counts as v2")


def test_the_history_of_dialogflow_states_versions_of_flows():
    flows = {"projects/p/flows/g": "12", "projects/p/flows/f": 5}
    turns = {"interactions": [{**interaction(1, "v"), "request": {"queryInput": {"text": {"text": "Hi"}}}}]}
    record = {**HISTORY, "flowVersions": flows, **turns}
    for given in (record, {"conversations": [record]}):
        (read,) = turnwise.read_conversations(given)
        assert read.app_version == "f=5, g=12"
    assert "flowVersions, flow_versions (interactions.request" in no_version_text(["dialogflow_history"], [])


def test_a_path_of_the_config_that_leads_to_no_text_is_a_finding():
    record = chat(build={"number": 8}, tags=["a", "b"])
    (read,) = turnwise.read_conversations(
        record, config={"app_version_from": ["build"], "eval_id_from": ["tags"]}
    )
    found = [each for each in read.turns[0].findings if each.kind == "UnreadPath"]
    said = " ".join(each.message for each in found)
    assert read.app_version is None and "build leads to an object" in said


def test_keys_of_the_state_of_an_app_and_of_a_user_count():
    state = {"app:app_version": "v3", "user:eval_id": "e"}
    row = agent_event(attributes={"session_metadata": {"state": state}})
    for records in (session(**state), row, [adk_event(0, state=state), adk_event(1)]):
        (read,) = turnwise.read_conversations(records)
        assert (read.app_version, read.eval_id) == ("v3", "e")


def test_what_a_client_of_litellm_sends_states_version_and_case():
    (read,) = turnwise.read_conversations(
        [chat_row(1, requester_metadata={"app_version": "v4", "eval_id": "e"})]
    )
    assert (read.app_version, read.eval_id) == ("v4", "e")
