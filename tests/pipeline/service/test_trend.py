"""The trend of criteria over runs: figures as the runs stored them, and a reason where there are none."""

from time import time_ns
from typing import Any

import pytest
from sqlalchemy import text

from tests.pipeline.service.conftest import pages
from tests.store_rows import DOCUMENT, ENDED, completed, put_rows, put_tables
from turnwise.pipeline.service.runs import Service, get_criterion_trend
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.store.database import FAILURE_ROWS, LOCAL_APP, METRIC_ROWS, RESULT_ROWS
from turnwise.pipeline.store.rows import failure_columns, metric_columns, result_columns
from turnwise.pipeline.store.runs import Execution, begin, break_off, complete, write_rows
from turnwise.schemas.ces.tools import GetCriterionTrendRequest, GetCriterionTrendResponse
from turnwise.schemas.score import Failure
from turnwise.transforms.metrics.state import MetricsState, failure_rows, version_rows
from turnwise.transforms.statistics.tests import wilson_interval

APP, HOME = "projects/p/locations/l/apps/a", "projects/p/locations/l/apps/home"
STATUS = "verdict"


def metrics(execution: Execution, version: str, passes: int, fails: int, no_verdict: int = 0) -> list[Any]:
    """Returns the rows of a version: its verdicts."""
    conversations = passes + fails + no_verdict
    state = MetricsState(conversations=conversations, turns=2 * conversations, passes=passes, fails=fails)
    rows = version_rows((version, state), execution.run_id)
    return [metric_columns(row, execution, 1) for row in rows]


def result(run: str, version: str, app: str = APP) -> Any:
    name, version = f"{app}/evaluations/one/results/{run}", f"{APP}/versions/{version}"
    return result_columns(completed(name, run, version=version), run, 1)


@pytest.fixture
def run(service: Service) -> Any:
    """Returns a function that writes a run with verdicts of versions; `ends` is how it ends."""

    def put(number: int, *of: Any, ends: str = "COMPLETED", app: str = APP, document: Any = ENDED) -> None:
        execution = Execution(f"r{number}", number * 10**9, app, f"2026-11-{number:02}")
        rows = [row for one in of for row in metrics(execution, *one)]
        versions = {one[0].rsplit("/", 1)[-1] for one in of}

        def work(connection: Any) -> None:
            begin(connection, execution, DOCUMENT, time_ns())
            write_rows(connection, execution, METRIC_ROWS, rows, time_ns())
            for version in versions:
                write_rows(connection, execution, RESULT_ROWS, [result(f"r{number}", version)], time_ns())
            if ends == "COMPLETED":
                complete(connection, execution, document, time_ns())
            elif ends != "RUNNING":
                break_off(connection, execution, ends, "it was killed", time_ns())  # type: ignore[arg-type]

        service.store.write(work)

    return put


def trend(service: Service, **fields: Any) -> Any:
    answer = get_criterion_trend(service, GetCriterionTrendRequest.from_value({"parent": APP, **fields}))
    assert GetCriterionTrendResponse.from_value(answer).to_value() == answer
    return answer


def told(answer: Any) -> list[Any]:
    """Returns of each run its id, and its gap or what its points say."""
    return [
        (
            own["run"]["runId"],
            own.get("gap") or [(p.get("gap") or p["passRate"], p["appVersionId"]) for p in own["points"]],
        )
        for own in answer["runs"]
    ]


V1, V2 = f"{APP}/versions/v1", f"{APP}/versions/v2"


def test_the_figures_are_those_of_the_run(service, run):
    run(1, (V1, 3, 1, 1))
    (own,) = trend(service, criterion=STATUS)["runs"]
    (point,) = own["points"]
    interval = wilson_interval(3, 4)
    assert interval
    figures = {
        **{"appVersionId": "v1", "criterion": STATUS, "level": "conversation", "unit": "score"},
        **{"scoreCount": 5, "scoredCount": 4, "noScoreCount": 1, "passCount": 3, "failCount": 1},
        **{"passRate": 0.75, "passRateLow": interval.low, "passRateHigh": interval.high},
        **{"mean": 0.75, "meanLow": 0.6, "meanHigh": 0.8, "stddev": 0.5},
        **{"conversationCount": 5, "turnCount": 10},
    }
    # Student's quantile of 3 degrees of freedom is 3.18244630.
    bounds = {"meanIntervalLow": 0.75 - 3.18244630528 / 4, "meanIntervalHigh": 0.75 + 3.18244630528 / 4}
    assert {name: point.pop(name) for name in bounds} == pytest.approx(bounds, rel=1e-6)
    assert point == figures
    assert own["run"]["state"] == "COMPLETED" and own["run"]["createTime"] == "1970-01-01T00:00:01Z"


def test_the_newest_run_comes_first_and_a_filter_chooses_runs(service, run):
    for number in range(1, 6):
        run(number, (V1, number, 5))
    rates = [(f"r{number}", [(number / (number + 5), "v1")]) for number in range(5, 0, -1)]
    found = pages(lambda **more: trend(service, criterion=STATUS, pageSize=2, **more), "runs")
    assert [own for page in found for own in told({"runs": page})] == rates
    assert told(trend(service, filter="display_name = r2", criterion=STATUS)) == [rates[3]]
    first = trend(service, criterion=STATUS, pageSize=2)["nextPageToken"]
    with pytest.raises(ServiceError, match="of another list"):
        trend(service, pageSize=2, pageToken=first)


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        ("RUNNING", "run r2 has not ended (RUNNING since 1970-01-01T00:00:02Z)"),
        ("ERROR", "run r2 broke off (ERROR at "),
    ],
)
def test_a_run_that_has_not_ended_or_broke_off_is_a_gap(service, run, ends, why):
    run(1, (V1, 1, 1))
    run(2, (V1, 0, 4), ends=ends)
    newest, oldest = told(trend(service, criterion=STATUS))
    assert newest[1].startswith(why) and oldest == ("r1", [(0.5, "v1")])


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        ("RUNNING", "run r2 has not ended (RUNNING since 1970-01-01T00:00:02Z)"),
        ("ERROR", "run r2 broke off (ERROR at "),
        ("COMPLETED", "it has no result in this app"),
    ],
)
def test_a_run_without_any_row_that_names_an_app_is_a_gap(service, run, ends, why):
    run(1, (V1, 1, 1))
    run(2, ends=ends, app=LOCAL_APP)
    run(3, ("v1", 1, 1), app=LOCAL_APP)
    other = "projects/p/locations/l/apps/b"
    execution = Execution("r4", 4 * 10**9, LOCAL_APP, "2026-11-04")
    put_tables(service.store, execution, {RESULT_ROWS: [result("r4", "v1", other)]}, ends=False)
    unknown = "; it wrote no row that names an app, and may be of this one"
    for fields in ({}, {"appVersion": V1}):
        newest, gap, oldest = told(trend(service, criterion=STATUS, **fields))
        assert newest[0] == "r3" and oldest == ("r1", [(0.5, "v1")])
        assert gap[0] == "r2" and gap[1].startswith(why) and gap[1].endswith(unknown)
    assert [own[0] for own in told(trend(service, parent=LOCAL_APP))] == ["r4", "r3", "r2"]


def test_what_was_not_measured_is_a_gap_with_the_reason(service, run):
    run(1, (V1, 1, 1), document={**ENDED, "criteria": {"safety_v1": {}}})
    run(2, (V1, 0, 0, 3))
    run(3, (V1, 1, 0), (V2, 0, 1))
    none = "it is none of the criteria of this run"
    safety = [("r3", [(none, "v1"), (none, "v2")]), ("r2", [(none, "v1")])]
    safety += [("r1", [("n/a in this run: nothing to measure", "v1")])]
    assert told(trend(service, criterion="safety_v1")) == safety
    no_verdict = "none of 3 scores has a value"
    assert told(trend(service, criterion=STATUS))[1] == ("r2", [(no_verdict, "v1")])
    absent = "the run has no conversation of this version"
    of_v2 = [("r3", [(0.0, "v2")]), ("r2", [(absent, "v2")]), ("r1", [(absent, "v2")])]
    assert told(trend(service, criterion=STATUS, appVersion=V2)) == of_v2
    gaps = [point for own in trend(service)["runs"] for point in own["points"] if "gap" in point]
    assert gaps and not any({"mean", "passRate"} & gap.keys() for gap in gaps)


def test_a_run_without_metrics_says_why(service, run):
    run(1, (V1, 1, 1))
    run(2)
    rejected = failure_columns(failure_rows(Failure("parse", "ValueError", "bad", "log", 1), "r3")[0], APP, 1)
    put_rows(service.store, FAILURE_ROWS, [rejected], 3 * 10**9)
    run(4, ("v1", 2, 2), app=HOME, ends="RUNNING")
    split = Execution("r4", 4 * 10**9, HOME, "2026-11-04")
    elsewhere = {
        k: v.replace(APP, f"{APP}2") if isinstance(v, str) else v for k, v in result("r4", "v1").items()
    }
    service.store.write(lambda c: write_rows(c, split, RESULT_ROWS, [elsewhere], time_ns()))
    service.store.write(lambda c: complete(c, split, ENDED, time_ns()))
    run(5, ("v5", 1, 1))
    service.store.write(lambda c: c.execute(text("DELETE FROM metric_rows WHERE evaluation_run LIKE '%r5'")))
    assert told(trend(service, criterion=STATUS)) == [
        ("r5", "it kept no metrics"),
        ("r4", f"metrics of versions that name no app are in {HOME}/evaluationRuns/r4"),
        ("r3", "it has no result in this app: it rejected 1 records or conversations"),
        ("r2", "it has no result in this app"),
        ("r1", [(0.5, "v1")]),
    ]
    # No run has metrics of the version, and one has a result.
    assert told(trend(service, criterion=STATUS, appVersion="v5"))[0] == ("r5", "it kept no metrics")


def test_metrics_that_name_no_app_are_where_all_results_are(service, run):
    run(4, ("v1", 2, 2), app=HOME)
    assert told(trend(service, criterion=STATUS)) == [("r4", [(0.5, "v1")])]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            {"criterion": "evaluation_statu"},
            "no run of the app has the criterion 'evaluation_statu'; known: a, ",
        ),
        ({"criterion": STATUS, "appVersion": "v3"}, "the app version 'v3'; known: v1"),
        ({"pageToken": "x"}, "pageToken"),
        ({"parent": HOME, "criterion": STATUS}, "known: none"),
    ],
)
def test_refused(service, run, fields, why):
    run(1, (V1, 1, 1))
    with pytest.raises(ServiceError) as refused:
        trend(service, **fields)
    assert why in f"{refused.value.field} {refused.value}"
