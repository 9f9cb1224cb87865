"""The tool that compares two runs: their states, the verdict, and the evaluations that changed."""

from typing import Any

import pytest

from tests.store_rows import put_rows
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.run_comparison import compare_evaluation_runs
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.results import result_columns
from turnwise.pipeline.store.tables import RESULT_ROWS
from turnwise.schemas.ces.comparison_tools import CompareEvaluationRunsRequest, CompareEvaluationRunsResponse

APP = "projects/p/locations/l/apps/a"


@pytest.fixture
def put(service: Service) -> Any:
    """Returns a function that writes a run over 10 evaluations, of which some fail."""

    def write(run: str, *fails: int, version: str = "v1", ends: bool = True) -> None:
        rows = []
        for number in range(10):
            result = {
                "name": f"{APP}/evaluations/e{number}/results/{run}",
                "evaluationRun": f"{APP}/evaluationRuns/{run}",
                "executionState": "COMPLETED",
                "evaluationStatus": "FAIL" if number in fails else "PASS",
                "appVersion": version,
                "goldenResult": {},
            }
            rows.append(result_columns(result, f"c-{number}", 1))
        put_rows(service.store, RESULT_ROWS, rows, ends=ends)

    return write


def compared(service: Service, **fields: Any) -> Any:
    request = {"parent": APP, "baseRun": "r1", "candidateRun": "r2", **fields}
    answer = compare_evaluation_runs(service, CompareEvaluationRunsRequest.from_value(request))
    assert CompareEvaluationRunsResponse.from_value(answer).to_value() == answer
    return answer


def test_two_runs_of_one_version(service: Service, put: Any) -> None:
    put("r1", 0)
    put("r2", *range(1, 9))
    found = compared(service)
    assert [found[side]["runId"] for side in ("base", "candidate")] == ["r1", "r2"]
    assert (found["base"]["passCount"], found["candidate"]["passCount"]) == (9, 2)
    verdict = found["verdict"]
    assert (verdict["word"], verdict["pairCount"], verdict["lostCount"]) == ("worse", 10, 8)
    assert (found["regressedCount"], found["improvedCount"], found["unchangedCount"]) == (8, 1, 1)
    assert compared(service, baseRun=f"{APP}/evaluationRuns/r1") == found
    changes, token = [], ""
    while True:
        page = compared(service, pageSize=4, pageToken=token)
        changes += page["changes"]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert changes == found["changes"] and [one["change"] for one in changes] == ["REGRESSED"] * 8 + [
        "IMPROVED"
    ]


def test_a_run_that_is_called_as_a_version_is_the_run(service: Service, put: Any) -> None:
    put("r1", version="r2")
    put("r2", *range(10), version="v9")
    assert compared(service)["verdict"]["candidateValue"] == 0


@pytest.mark.parametrize(
    ("fields", "status", "why"),
    [
        ({"baseRun": "r2"}, "INVALID_ARGUMENT", "the same as baseRun"),
        ({"baseRun": ""}, "INVALID_ARGUMENT", "baseRun"),
        ({"baseRun": "v1"}, "NOT_FOUND", "evaluationRuns/v1 was not found"),
        ({"baseRun": "projects/p/locations/l/apps/b/evaluationRuns/r1"}, "INVALID_ARGUMENT", "is no run of"),
        ({"candidateRun": "r3"}, "FAILED_PRECONDITION", "run r3 has not ended"),
        ({"pageToken": "x"}, "INVALID_ARGUMENT", "pageToken"),
        ({"evaluationFilter": "tags:none"}, "NOT_FOUND", "no result"),
    ],
)
def test_refused(service: Service, put: Any, fields: Any, status: str, why: str) -> None:
    put("r1")
    put("r2")
    put("r3", ends=False)
    with pytest.raises(ServiceError) as refused:
        compared(service, **fields)
    assert refused.value.status == status and why in f"{refused.value.field} {refused.value}"
