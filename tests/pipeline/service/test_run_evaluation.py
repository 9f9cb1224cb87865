"""Recorded conversations of evaluations are scored again, as a new run."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from time import sleep, time_ns
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from turnwise.pipeline.api.evaluate import evaluate
from turnwise.pipeline.service.changes import update_evaluation
from turnwise.pipeline.service.conversations import list_conversations_to_read
from turnwise.pipeline.service.datasets import DATASETS
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.evaluations import get_evaluation
from turnwise.pipeline.service.operations.jobs import MOST_WAITING, Job
from turnwise.pipeline.service.operations.kinds import EXPORT
from turnwise.pipeline.service.operations.methods import cancel_operation, get_operation
from turnwise.pipeline.service.rescoring.run import run_evaluation
from turnwise.pipeline.service.resources import create_resource
from turnwise.pipeline.service.results import get_evaluation_result, get_failures
from turnwise.pipeline.service.runs import get_evaluation_run
from turnwise.pipeline.service.service import Scoring, Service
from turnwise.pipeline.store.executions import Execution, begin, complete, write_rows
from turnwise.pipeline.store.row_tables import ROW_TABLES
from turnwise.schemas.case import EvalCase
from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.conversation_tools import ListConversationsToReadRequest
from turnwise.schemas.ces.datasets import EvaluationDataset
from turnwise.schemas.ces.run_requests import RunEvaluationRequest
from turnwise.schemas.ces.tools import GetFailuresRequest
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Conversation, ToolCall, Turn
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.record import Record
from turnwise.schemas.run import RunInfo
from turnwise.transforms.evaluation.recording import recorded_conversation, recording_rows
from turnwise.transforms.formats.readers import CaseReader
from turnwise.transforms.matching.sample import Sample

APP = "projects/acme-cx/locations/us/apps/travel-desk"
ONE = f"{APP}/evaluations/one"
DOCUMENT: Any = {"judge": {"backend": "none"}, "config": {"judge": {}}, "criteria": {}, "exit_status": 0}


def _of(dataset: str) -> dict[str, Any]:
    return {"evaluations": [], "evaluationDataset": dataset}


def golden(expected: str) -> Any:
    says = {"agentResponse": {"role": "agent", "chunks": [{"text": expected}]}, "comparisonType": "EQUALS"}
    variables = {"updatedVariables": {"seat": "4A"}}
    steps = [{"userInput": {"text": "hi"}}, {"expectation": says}, {"expectation": variables}]
    return {"turns": [{"steps": steps}]}


@pytest.fixture(autouse=True)
def ended(service: Service) -> Iterator[None]:
    """Stops the threads of the service."""
    yield
    service.jobs.close()


def said(number: int, version: str = "v7", words: str = "hello") -> Conversation:
    return Conversation(
        conversation_id=f"c-{number}",
        app_version=f"{APP}/versions/{version}",
        eval_id=ONE,
        turns=[Turn(user="hi", agent=words, variables={"seat": "4A"})],
    )


def record(
    service: Service, *conversations: Conversation, run: str = "nightly", keeps: bool = True, number: int = 1
) -> None:
    """Writes what a run over conversations writes into the store."""
    execution = Execution(run, number, APP, "2026-11-01")
    service.store.write(lambda c: begin(c, execution, DOCUMENT, time_ns()))
    case = {**get_evaluation(service, ONE, ()), "name": ONE}
    result = evaluate(list(conversations), cases=case, judge="none", run_id=run)
    rows: dict[str, Any] = {"results": result.results, "conversations": result.conversations}
    if keeps:
        info = RunInfo(run, "2026-11-01T00:00:00Z", recordings=True)
        (found,) = CaseReader(CesConfig()).read(Record("case", 1, dump_json(case)))
        samples = [Sample(each, found, Record("log", 1, b"")) for each in conversations]
        rows["recordings"] = [row for sample in samples for row in recording_rows(sample, info)]
    for name, own in rows.items():
        table, columns_of = ROW_TABLES[name]
        columns = [columns_of(row, execution, time_ns()) for row in own]
        service.store.write(lambda c, t=table, r=columns: write_rows(c, execution, t, r, time_ns()))
    service.store.write(lambda c: complete(c, execution, DOCUMENT, time_ns()))


def begun(service: Service, **fields: Any) -> Any:
    value = {"app": APP, "evaluations": [ONE], **fields}
    return run_evaluation(service, RunEvaluationRequest.from_value(value))


def done(service: Service, operation: Any) -> Any:
    for _ in range(1000):
        value = get_operation(service, operation["name"])
        if value.get("done"):
            return value
        sleep(0.02)
    raise AssertionError("it is not done")


def failures(service: Service, run: str) -> list[Any]:
    request = GetFailuresRequest.from_value({"parent": APP, "filter": f"evaluation_run={run}"})
    return [one["message"] for one in get_failures(service, request).get("failures", [])]


def dataset(service: Service, name: str, *evaluations: str) -> str:
    value = EvaluationDataset.from_value({"displayName": name, "evaluations": list(evaluations)})
    made: str = create_resource(DATASETS, service, APP, name, value)["name"]
    return made


def test_a_dataset_names_the_evaluations(service: Service, create: Callable[..., Any]) -> None:
    for name in ("one", "two", "three"):
        create(name, golden=golden("hello"))
    record(service, said(1), said(2, words="bye"))
    smoke = dataset(service, "smoke", f"{APP}/evaluations/two", ONE)
    value = done(service, begun(service, **_of(smoke), displayName="again"))
    assert value["metadata"]["evaluations"] == [f"{APP}/evaluations/two", ONE]
    run = get_evaluation_run(service, value["response"]["evaluationRun"])
    assert (run["evaluationDataset"], run["evaluations"]) == (smoke, [ONE])
    assert (run["progress"]["passedCount"], run["progress"]["failedCount"]) == (1, 1)
    assert failures(service, "again") == ["no run of the store scored it"], "the evaluation two"
    assert "evaluationDataset" not in get_evaluation_run(service, f"{APP}/evaluationRuns/nightly")


def test_an_evaluation_that_was_changed_is_held_against_the_recordings(
    service: Service, create: Callable[..., Any]
) -> None:
    create("one", golden=golden("hello"))
    record(service, said(1), said(2, words="bye"), said(3, "v8"))
    old = get_evaluation_run(service, f"{APP}/evaluationRuns/nightly")
    assert (old["progress"]["passedCount"], old["progress"]["failedCount"]) == (2, 1)
    new = Evaluation.from_value({"name": ONE, "golden": golden("bye")})
    update_evaluation(service, new, "golden")
    value = done(service, begun(service, displayName="again", appVersion=f"{APP}/versions/v7"))
    name = f"{APP}/evaluationRuns/again"
    assert value["response"]["evaluationRun"] == value["metadata"]["evaluationRun"] == name
    assert value["metadata"]["evaluations"] == [ONE]
    run = get_evaluation_run(service, name)
    assert (run["state"], run["appVersion"], run["evaluations"]) == ("COMPLETED", "v7", [ONE])
    assert (run["progress"]["passedCount"], run["progress"]["failedCount"]) == (1, 1)
    results = [get_evaluation_result(service, each) for each in run["evaluationResults"]]
    assert sorted(each["evaluationStatus"] for each in results) == ["FAIL", "PASS"]
    assert get_evaluation_run(service, f"{APP}/evaluationRuns/nightly") == old
    request = ListConversationsToReadRequest.from_value({"parent": APP, "evaluationRun": "again"})
    assert list_conversations_to_read(service, request)["conversationCount"] == 2
    everything = done(service, begun(service, displayName="all"))["response"]["evaluationRun"]
    assert get_evaluation_run(service, everything)["progress"]["totalCount"] == 3


def test_what_cannot_be_scored_again_is_a_failure_and_no_pass(
    service: Service, create: Callable[..., Any]
) -> None:
    create("one", golden=golden("hello"))
    create("two", golden=golden("hello"))
    record(service, said(1), keeps=False)
    value = done(service, begun(service, displayName="none"))
    assert value["error"]["code"] == 9 and "no conversation could be scored" in value["error"]["message"]
    run = get_evaluation_run(service, f"{APP}/evaluationRuns/none")
    assert run["state"] == "ERROR" and "passedCount" not in run["progress"]
    assert "kept no recording" in failures(service, "none")[0]
    record(service, said(2), run="later", number=2)
    both = {"evaluations": [ONE, f"{APP}/evaluations/two"], "displayName": "both"}
    name = done(service, begun(service, **both))["response"]["evaluationRun"]
    assert get_evaluation_run(service, name)["progress"]["passedCount"] == 1
    found = sorted(failures(service, "both"))
    assert len(found) == 2 and "kept no recording" in found[1] and "no run of the store scored it" in found[0]
    status, (problem,) = ending(service, "both")
    assert (
        status == 1 and "0 failed, 2 not decided (1 record lost, 1 eval case without a recording" in problem
    )


def ending(service: Service, run: str) -> tuple[int, list[str]]:
    """Returns the exit status of a run, and its problems."""
    query = text("SELECT exit_status, content FROM evaluation_runs WHERE run_id = :run")
    status, content = service.store.read(lambda c: c.execute(query, {"run": run}).one())
    return status, json.loads(content)["problems"]


def waiting_operations(service: Service) -> int:
    waiting = text("SELECT count(*) FROM operations WHERE begin_nanos IS NULL")
    return int(service.store.read(lambda c: c.execute(waiting).scalar()) or 0)


def test_the_exit_status_says_whether_all_passed(service: Service, create: Callable[..., Any]) -> None:
    create("one", golden=golden("hello"))
    record(service, said(1), said(2, "v8"), said(3, "v8", words="bye"))
    done(service, begun(service, displayName="good", appVersion="v7"))
    assert ending(service, "good") == (0, [])
    done(service, begun(service, displayName="bad"))
    status, (problem,) = ending(service, "bad")
    assert status == 1 and "every conversation passes: failed: 1 failed, 0 not decided: c-3" in problem


def test_of_requests_for_one_run_at_a_time_one_begins_it(
    service: Service, create: Callable[..., Any]
) -> None:
    create("one", golden=golden("hello"))
    record(service, said(1), said(2))
    ready = Barrier(6)

    def ask(_: int) -> Any:
        ready.wait(30)
        try:
            return begun(service, displayName="again")
        except ServiceError as error:
            return error.to_value()["error"]

    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(ask, range(6)))
    (one,) = (answer for answer in answers if "name" in answer)
    refused = [answer for answer in answers if answer is not one]
    assert {(each["code"], each["status"]) for each in refused} == {(409, "ALREADY_EXISTS")}
    assert done(service, one)["response"]["evaluationRun"] == f"{APP}/evaluationRuns/again"
    executions = text("SELECT count(*) FROM run_executions WHERE run_id = 'again'")
    assert service.store.read(lambda c: c.execute(executions).scalar()) == 1
    assert get_evaluation_run(service, f"{APP}/evaluationRuns/again")["progress"]["totalCount"] == 2


def test_a_name_is_taken_while_its_run_waits_and_free_if_it_is_refused(
    service: Service, create: Callable[..., Any]
) -> None:
    create("one", golden=golden("hello"))
    record(service, said(1))
    held = Event()
    jobs = [Job(EXPORT, APP, lambda going: {"x": held.wait(60)}, {}) for _ in range(2 + MOST_WAITING)]
    for job in jobs[:2]:
        service.begin(job)
    while waiting_operations(service):
        sleep(0.01)
    begun(service, displayName="waits")
    with pytest.raises(ServiceError, match="there is a run of that name"):
        begun(service, displayName="waits")
    for job in jobs[3:]:
        service.begin(job)
    for _ in range(2):
        with pytest.raises(ServiceError, match="try again later"):
            begun(service, displayName="refused")
    held.set()


def test_the_last_run_counts_also_if_it_kept_no_recording(
    service: Service, create: Callable[..., Any]
) -> None:
    create("one", golden=golden("hello"))
    record(service, said(1), said(2), number=1)
    for run in ("again", "again-2"):
        done(service, begun(service, displayName=run))
        progress = get_evaluation_run(service, f"{APP}/evaluationRuns/{run}")["progress"]
        assert (progress["passedCount"], failures(service, run)) == (2, [])
    record(service, said(1, words="I do not know"), run="later", keeps=False, number=2)
    done(service, begun(service, displayName="stale"))
    progress = get_evaluation_run(service, f"{APP}/evaluationRuns/stale")["progress"]
    assert (progress["passedCount"], progress["errorCount"], progress["totalCount"]) == (1, 1, 2)
    assert "run later kept no recording" in failures(service, "stale")[0].replace(
        f"{APP}/evaluationRuns/", ""
    )


def test_a_run_that_is_cancelled_is_so_in_the_store(service: Service, create: Callable[..., Any]) -> None:
    create("one", golden=golden("hello"))
    record(service, *map(said, range(400)))
    operation = begun(service, displayName="stopped")
    while "done" not in get_operation(service, operation["name"]):
        cancel_operation(service, operation["name"])
    value = done(service, operation)
    assert value["error"]["code"] == 1 and value["metadata"]["cancelRequested"] is True
    states = text("SELECT state FROM evaluation_runs WHERE run_id = 'stopped'")
    assert service.store.read(lambda c: c.execute(states).scalar()) in (None, "CANCELLED")


REFUSED: list[tuple[Any, str, str]] = [
    ({"runCount": 2}, "INVALID_ARGUMENT", "runCount"),
    ({"runCount": 0}, "INVALID_ARGUMENT", "runCount"),
    ({"personaRunConfigs": [{"persona": "x"}]}, "INVALID_ARGUMENT", "personaRunConfigs"),
    ({"optimizationConfig": {"generateLossReport": True}}, "INVALID_ARGUMENT", "optimizationConfig"),
    ({"scheduledEvaluationRun": "x"}, "INVALID_ARGUMENT", "scheduledEvaluationRun"),
    ({"goldenRunMethod": "NAIVE"}, "INVALID_ARGUMENT", "goldenRunMethod"),
    ({"generateLatencyReport": True}, "INVALID_ARGUMENT", "generateLatencyReport"),
    (
        {"evaluationRunCachingSettings": {"runCachingMode": "SKIP_IF_UNCHANGED"}},
        "INVALID_ARGUMENT",
        "evaluationRunCachingSettings",
    ),
    ({"config": {"inputAudioConfig": {}}}, "INVALID_ARGUMENT", "config.inputAudioConfig"),
    ({"config": {"outputAudioConfig": {}}}, "INVALID_ARGUMENT", "config.outputAudioConfig"),
    ({"config": {"evaluationChannel": "AUDIO"}}, "INVALID_ARGUMENT", "config.evaluationChannel"),
    ({"config": {"toolCallBehaviour": "FAKE"}}, "INVALID_ARGUMENT", "config.toolCallBehaviour"),
    ({"evaluations": []}, "INVALID_ARGUMENT", "evaluations"),
    ({"evaluations": [ONE, ONE]}, "INVALID_ARGUMENT", "evaluations"),
    ({"evaluations": ["x"]}, "INVALID_ARGUMENT", "evaluations"),
    ({"app": f"{APP}2"}, "INVALID_ARGUMENT", "evaluations"),
    ({"appVersion": "projects/other/versions/v7"}, "INVALID_ARGUMENT", "appVersion"),
    ({"appVersion": "v9"}, "FAILED_PRECONDITION", ""),
    ({"displayName": "nightly"}, "ALREADY_EXISTS", "displayName"),
    ({"evaluations": [f"{APP}/evaluations/none"]}, "NOT_FOUND", ""),
    ({"evaluationDataset": f"{APP}/evaluationDatasets/empty"}, "INVALID_ARGUMENT", "evaluations"),
    (_of("d"), "INVALID_ARGUMENT", "evaluationDataset"),
    (_of(f"{APP}2/evaluationDatasets/d"), "INVALID_ARGUMENT", "evaluationDataset"),
    (_of(f"{APP}/evaluationDatasets/none"), "NOT_FOUND", ""),
    (_of(f"{APP}/evaluationDatasets/empty"), "FAILED_PRECONDITION", "evaluationDataset"),
]


def test_what_recordings_cannot_answer_is_refused(service: Service, create: Callable[..., Any]) -> None:
    create("one", golden=golden("hello"))
    record(service, said(1))
    dataset(service, "empty")
    for fields, status, field in REFUSED:
        with pytest.raises(ServiceError) as refused:
            begun(service, **fields)
        assert (refused.value.status, refused.value.field) == (status, field), fields
    allowed = {"runCount": 1, "config": {"evaluationChannel": "TEXT", "toolCallBehaviour": "REAL"}}
    assert "response" in done(service, begun(service, **allowed))


def test_a_wrong_config_is_an_error_and_no_run_passes(service: Service, create: Callable[..., Any]) -> None:
    create("one", golden=golden("hello"))
    record(service, said(1))
    wrong = Service(service.store, "tester", scoring=Scoring(config="/no/such/file.json"))
    value = done(wrong, begun(wrong))
    assert value["error"]["code"] == 9 and "no/such/file" in value["error"]["message"]
    wrong.jobs.close()


ARGS = st.dictionaries(
    st.text(max_size=5),
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    max_size=3,
)


@settings(max_examples=40)
@given(ARGS, st.text(), st.text(min_size=1))
def test_a_recording_is_read_back_as_it_was(args: Any, words: str, name: str) -> None:
    call = ToolCall(name=name, args=args, resource="r")
    turn = Turn(user=words, agent="\ud800\0", tool_calls=[call], latency_ms=1.25, payloads=[args])
    whole = Conversation(conversation_id="c", turns=[turn], state={"a": float("inf")}, tags=["x"])
    case = EvalCase(eval_id="e")
    (row,) = recording_rows(Sample(whole, case, Record("log", 1, b"")), RunInfo("r", "", recordings=True))
    found = recorded_conversation(row["recording"])
    assert found == whole and msgspec.to_builtins(found) == msgspec.to_builtins(whole)
