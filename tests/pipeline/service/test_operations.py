"""Long-running operations: how they go on, end, are listed, stopped and deleted."""

import threading
from collections.abc import Callable, Iterator
from time import sleep, time_ns
from typing import Any

import pytest
from sqlalchemy import text

from tests.store_rows import DOCUMENT
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.operations import jobs
from turnwise.pipeline.service.operations.jobs import Going, Job
from turnwise.pipeline.service.operations.kinds import EXPORT, RUN
from turnwise.pipeline.service.operations.methods import (
    cancel_operation,
    delete_operation,
    get_operation,
    list_operations,
)
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.executions import Execution, begin
from turnwise.pipeline.store.operations import KEPT_DAYS, end_lapsed, lapsed_operations, succeed
from turnwise.pipeline.store.runs import run_state
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.ces.operations import ListOperationsRequest

APP = "projects/p/locations/l/apps/a"
RUN_NAME = f"{APP}/evaluationRuns/again"


@pytest.fixture(autouse=True)
def ended(service: Service) -> Iterator[None]:
    """Stops the threads of the service."""
    yield
    service.jobs.close()


def job(work: Callable[[Going], Any], **more: Any) -> Job:
    return Job(EXPORT, APP, work, {}, **more)


def done(service: Service, name: str) -> Any:
    """Returns an operation when it is done."""
    for _ in range(500):
        value = get_operation(service, name)
        if value.get("done"):
            return value
        sleep(0.02)
    raise AssertionError(f"{name} is not done")


def until_cancelled(going: Going) -> Any:
    while True:
        going.check()
        sleep(0.01)


def raising(error: Exception) -> Callable[[Going], Any]:
    def work(going: Going) -> Any:
        raise error

    return work


def listed(service: Service, **fields: Any) -> Any:
    request = ListOperationsRequest.from_value({"name": "projects/p/locations/l", **fields})
    return list_operations(service, request)


def test_an_operation_ends_with_what_its_work_returns(service: Service) -> None:
    held = threading.Event()
    made = service.begin(job(lambda going: {"evaluationsUri": "x"} if held.wait(30) else {}))
    assert made["name"].startswith("projects/p/locations/l/operations/")
    assert "done" not in made and "done" not in get_operation(service, made["name"])
    held.set()
    value = done(service, made["name"])
    assert value["response"] == {
        "@type": "type.googleapis.com/google.cloud.ces.v1beta.ExportEvaluationsResponse",
        "evaluationsUri": "x",
    }
    assert "error" not in value
    metadata = value["metadata"]
    assert metadata["statusMessage"] == "done" and metadata["createTime"] <= metadata["endTime"]


FAULTS: list[tuple[Exception, int, str]] = [
    (ServiceError("NOT_FOUND", "no such thing", "names"), 5, "names: no such thing"),
    (StoreError("secret"), 14, "the store does not answer"),
    (RuntimeError("secret"), 13, "internal error"),
]


def test_work_that_fails_is_an_error_that_hides_what_is_internal(service: Service) -> None:
    for error, code, said in FAULTS:
        value = done(service, service.begin(job(raising(error)))["name"])
        assert value["error"] == {"code": code, "message": said}
        assert "response" not in value


def test_a_running_operation_is_cancelled_at_its_next_bound_and_its_run_with_it(service: Service) -> None:
    begun = threading.Event()

    def work(going: Going) -> Any:
        execution = Execution("again", going.operation.create_nanos, APP, "2026-11-01")
        going.write(lambda connection: begin(connection, execution, DOCUMENT, time_ns()))
        begun.set()
        return until_cancelled(going)

    name = service.begin(Job(RUN, APP, work, {"evaluations": [f"{APP}/evaluations/one"]}, RUN_NAME))["name"]
    assert begun.wait(30)
    with pytest.raises(ServiceError, match="is not done"):
        delete_operation(service, name)
    assert service.store.read(lambda c: run_state(c, RUN_NAME)) == "RUNNING"
    assert cancel_operation(service, name) == {}
    value = done(service, name)
    assert value["error"] == {"code": 1, "message": "it was cancelled"}
    metadata = value["metadata"]
    assert metadata["cancelRequested"] is True and metadata["evaluationRun"] == RUN_NAME
    assert metadata["evaluations"] == [f"{APP}/evaluations/one"]
    assert service.store.read(lambda c: run_state(c, RUN_NAME)) == "CANCELLED"
    cancel_operation(service, name)
    assert get_operation(service, name) == value
    assert delete_operation(service, name) == {}
    with pytest.raises(ServiceError, match="was not found"):
        get_operation(service, name)


def test_one_that_waits_is_cancelled_at_once_and_never_begins(service: Service) -> None:
    running = [service.begin(job(until_cancelled))["name"] for _ in range(2)]
    began: list[int] = []
    waiting = service.begin(job(lambda going: began.append(1) or {}))["name"]
    cancel_operation(service, waiting)
    assert get_operation(service, waiting)["error"]["code"] == 1
    for name in running:
        cancel_operation(service, name)
    last = service.begin(job(lambda going: {}))["name"]
    assert "response" in done(service, last) and began == []


def test_too_many_operations_are_refused_and_told(service: Service) -> None:
    names = [service.begin(job(until_cancelled))["name"] for _ in range(2)]
    while any(get_operation(service, name)["metadata"]["statusMessage"] == "waits" for name in names):
        sleep(0.02)
    names += [service.begin(job(lambda going: {}))["name"] for _ in range(jobs.MOST_WAITING)]
    with pytest.raises(ServiceError, match="try again later") as refused:
        service.begin(job(lambda going: {}))
    assert refused.value.status == "RESOURCE_EXHAUSTED"
    (failed,) = listed(service, filter="done=true")["operations"]
    assert failed["error"]["code"] == 8


def test_one_whose_server_died_is_aborted_and_cannot_end_otherwise(service: Service) -> None:
    held = threading.Event()

    def work(going: Going) -> Any:
        execution = Execution("again", going.operation.create_nanos, APP, "2026-11-01")
        going.write(lambda connection: begin(connection, execution, DOCUMENT, time_ns()))
        held.wait(30)
        return until_cancelled(going)

    name = service.begin(Job(RUN, APP, work, {}, RUN_NAME))["name"]
    while service.store.read(lambda c: run_state(c, RUN_NAME)) != "RUNNING":
        sleep(0.02)
    old = text("UPDATE operations SET update_nanos = update_nanos - 61000000000")
    service.store.write(lambda connection: connection.execute(old))
    value = get_operation(service, name)
    assert value["done"] is True and value["error"]["code"] == 10 and "ended" in value["error"]["message"]
    assert listed(service, filter="done=true")["operations"] == [value]
    assert listed(service, filter="done=false") == {}
    assert service.store.write(lambda connection: succeed(connection, name, {})) is False
    lapsed = service.store.read(lapsed_operations)
    assert lapsed == [name]
    service.store.write(lambda connection: end_lapsed(connection, lapsed))
    assert service.store.read(lapsed_operations) == []
    assert get_operation(service, name) == value
    assert service.store.read(lambda c: run_state(c, RUN_NAME)) == "ERROR"
    held.set()


def test_a_server_that_stops_aborts_its_operations_alone(service: Service) -> None:
    other = Service(service.store, "other")
    kept = other.begin(job(until_cancelled))["name"]
    own = service.begin(job(until_cancelled))["name"]
    service.jobs.close()
    assert get_operation(service, own)["error"] == {"code": 10, "message": "the server was stopped"}
    assert "done" not in get_operation(service, kept)
    other.jobs.close()


def test_a_read_only_service_begins_cancels_and_deletes_nothing(service: Service) -> None:
    name = service.begin(job(until_cancelled))["name"]
    reader = Service(service.store, "reader", read_only=True)
    for refused in (
        lambda: reader.begin(job(until_cancelled)),
        lambda: cancel_operation(reader, name),
        lambda: delete_operation(reader, name),
    ):
        with pytest.raises(ServiceError, match="read-only"):
            refused()
    assert "done" not in get_operation(reader, name)


def test_lists_are_in_the_order_of_time_and_come_in_pages(service: Service) -> None:
    names = [service.begin(job(lambda going: {}))["name"] for _ in range(5)]
    for name in names:
        done(service, name)
    found, token = [], ""
    while True:
        page = listed(service, pageSize=2, pageToken=token)
        found += [one["name"] for one in page["operations"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert [name.partition("-")[0] for name in found] == sorted(name.partition("-")[0] for name in names)
    assert sorted(found) == sorted(names)
    last = names[0].rsplit("/", 1)[-1]
    assert [one["name"] for one in listed(service, filter=f"name={last}")["operations"]] == [names[0]]
    assert listed(service, filter="method=RunEvaluation") == {}
    assert len(listed(service, filter="app=a AND done=true")["operations"]) == 5
    assert listed(service, name="projects/p/locations/other") == {}


WRONG_LISTS: list[Any] = [
    {"filter": "done=maybe"},
    {"filter": "done:true"},
    {"filter": "nothing=1"},
    {"name": "projects/p"},
    {"pageSize": -1},
    {"pageToken": "x"},
]


def test_wrong_lists_are_refused(service: Service) -> None:
    for fields in WRONG_LISTS:
        with pytest.raises(ServiceError) as refused:
            listed(service, **fields)
        assert refused.value.status == "INVALID_ARGUMENT"


def test_what_has_been_done_for_long_is_deleted(service: Service) -> None:
    old = service.begin(job(lambda going: {}))["name"]
    done(service, old)
    before = text("UPDATE operations SET end_nanos = end_nanos - :nanos")
    nanos = (KEPT_DAYS * 24 * 3600 + 60) * 10**9
    service.store.write(lambda connection: connection.execute(before, {"nanos": nanos}))
    new = service.begin(job(lambda going: {}))["name"]
    assert [one["name"] for one in listed(service)["operations"]] == [new]
