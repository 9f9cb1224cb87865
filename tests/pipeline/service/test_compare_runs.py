"""The tool that compares two runs: their states, the verdict, and the evaluations that changed."""

from itertools import chain
from time import time_ns
from typing import Any

import pytest

from tests.pipeline.service.conftest import pages
from tests.store_rows import ENDED, completed, put_rows
from turnwise.pipeline.service.comparison import compare_evaluation_runs
from turnwise.pipeline.service.runs import (
    Service,
    get_criterion_trend,
    list_conversations_to_read,
    list_run_summaries,
)
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.store.database import FAILURE_ROWS, LOCAL_APP, RESULT_ROWS
from turnwise.pipeline.store.rows import failure_columns, result_columns, write_replaced
from turnwise.pipeline.store.runs import Execution, complete, write_rows
from turnwise.schemas.ces.tools import (
    CompareEvaluationRunsRequest,
    CompareEvaluationRunsResponse,
    GetCriterionTrendRequest,
    ListConversationsToReadRequest,
    ListEvaluationRunsRequest,
)
from turnwise.schemas.score import Failure
from turnwise.transforms.metrics.state import failure_rows

APP = "projects/p/locations/l/apps/a"


@pytest.fixture
def put(service: Service) -> Any:
    """Returns a function that writes a run over 10 evaluations, of which some fail."""

    def write(run: str, *fails: int, version: str = "v1", ends: bool = True, conversation: str = "c") -> None:
        rows = []
        for number in range(10):
            name = f"{APP}/evaluations/e{number}/results/{run}-{version}"
            result = completed(name, run, "FAIL" if number in fails else "PASS", version)
            rows.append(result_columns(result, f"{conversation}-{number}", 1))
        put_rows(service.store, RESULT_ROWS, rows, ends=ends)

    return write


def compared(service: Service, **fields: Any) -> Any:
    request = {"parent": APP, "baselineRun": "r1", "candidateRun": "r2", **fields}
    answer = compare_evaluation_runs(service, CompareEvaluationRunsRequest.from_value(request))
    assert CompareEvaluationRunsResponse.from_value(answer).to_value() == answer
    return answer


def test_two_runs_of_one_version(service, put):
    put("r1", 0)
    put("r2", *range(1, 9))
    found = compared(service)
    assert [found[side]["runId"] for side in ("baseline", "candidate")] == ["r1", "r2"]
    assert (found["baseline"]["passCount"], found["candidate"]["passCount"]) == (9, 2)
    verdict = found["verdict"]
    assert (verdict["word"], verdict["pairCount"], verdict["regressedCount"]) == ("worse", 10, 8)
    assert (found["regressedCount"], found["fixedCount"], found["unchangedCount"]) == (8, 1, 1)
    assert compared(service, baselineRun=f"{APP}/evaluationRuns/r1") == found
    changes = [*chain(*pages(lambda **more: compared(service, pageSize=4, **more), "changes"))]
    assert changes == found["changes"] and [one["change"] for one in changes] == ["regressed"] * 8 + ["fixed"]


def test_half_of_the_results_of_an_evaluation_is_a_change(service, put):
    """Each evaluation has two results; of the first one failed before, of the second one fails now."""
    for run, failed in (("r1", 0), ("r2", 1)):
        put(run, failed)
        put(run, version="v2", conversation="d")
    changes = {one["evaluation"].rpartition("/")[2]: one["change"] for one in compared(service)["changes"]}
    assert changes == {"e0": "fixed", "e1": "regressed"}


def test_a_run_that_is_called_as_a_version_is_the_run(service, put):
    put("r1", version="r2")
    put("r2", *range(10), version="v9")
    assert compared(service)["verdict"]["candidateValue"] == 0


def test_a_note_says_what_versions_both_runs_are_of(service, put):
    for run in ("r1", "r2"):
        for version in ("v1", "v2"):
            put(run, version=version, conversation=f"{run}-c")
    (note,) = [note for note in compared(service)["verdict"]["notes"] if note.startswith("both sides")]
    assert note.startswith("both sides are of the same 2 app versions: ")


def test_every_tool_counts_the_same_lost_records(service, put):
    put("r1")
    put("r2")
    execution = Execution("r2", 1, APP, "2026-11-01")
    rejected = [Failure("parse", "ValueError", f"bad {number}", "log", number) for number in range(3)]
    rows = [row for failure in rejected for row in failure_rows(failure, "r2")]
    for app, own in ((APP, rows[:1]), (LOCAL_APP, rows[1:])):
        columns = [failure_columns(row, app, time_ns()) for row in own]
        service.store.write(lambda c, r=columns: write_rows(c, execution, FAILURE_ROWS, r, time_ns()))
    service.store.write(lambda c: write_replaced(c, execution, 4, time_ns()))
    service.store.write(lambda c: complete(c, execution, ENDED, time_ns()))

    found = compared(service)
    listed = list_run_summaries(service, ListEvaluationRunsRequest.from_value({"parent": APP}))
    to_read = list_conversations_to_read(
        service, ListConversationsToReadRequest.from_value({"parent": APP, "evaluationRun": "r2"})
    )
    (trend,) = (
        own["run"]
        for own in get_criterion_trend(service, GetCriterionTrendRequest.from_value({"parent": APP}))["runs"]
        if own["run"]["runId"] == "r2"
    )
    counts = [found["candidate"], listed["evaluationRuns"][1], to_read, trend]
    assert [own["rejectedRecordCount"] for own in counts] == [7] * 4
    assert found["verdict"]["candidateRejectedRecordCount"] == 7
    assert (
        "rejectedRecordCount" not in found["baseline"]
        and "baselineRejectedRecordCount" not in found["verdict"]
    )


@pytest.mark.parametrize(
    ("fields", "status", "why"),
    [
        ({"baselineRun": "r2"}, "INVALID_ARGUMENT", "the same as baselineRun"),
        ({"baselineRun": "v1"}, "NOT_FOUND", "evaluationRuns/v1 was not found"),
        ({"candidateRun": "r3"}, "FAILED_PRECONDITION", "run r3 has not ended"),
        ({"evaluationFilter": "tags:none"}, "NOT_FOUND", "no result"),
    ],
)
def test_refused(service, put, fields, status, why):
    put("r1")
    put("r2")
    put("r3", ends=False)
    with pytest.raises(ServiceError) as refused:
        compared(service, **fields)
    assert refused.value.status == status and why in f"{refused.value.field} {refused.value}"
