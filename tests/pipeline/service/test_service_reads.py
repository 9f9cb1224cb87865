"""Evaluations and results as the service reads them: metrics, newest results, pages, filters, comparison."""

from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.pipeline.service.conftest import pages, refusal, update
from tests.store_rows import put_rows
from turnwise.pipeline.service.comparison import compare_app_versions
from turnwise.pipeline.service.computed_fields import COMPUTED, DEFAULT_PAGE, LARGEST_PAGE, read_paging
from turnwise.pipeline.service.evaluations import (
    create_evaluation,
    get_evaluation,
    get_evaluation_result,
    get_failures,
    list_evaluation_results,
    list_evaluations,
)
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.store.database import FAILURE_ROWS, RESULT_ROWS
from turnwise.pipeline.store.maintenance import delete_subject, find_conversation
from turnwise.pipeline.store.rows import failure_columns, result_columns
from turnwise.schemas.ces.result import Evaluation
from turnwise.schemas.ces.tools import (
    CompareAppVersionsRequest,
    CompareAppVersionsResponse,
    CreateEvaluationRequest,
    GetFailuresRequest,
    ListEvaluationResultsRequest,
    ListEvaluationsRequest,
)
from turnwise.schemas.score import Failure
from turnwise.transforms.metrics.state import failure_rows


def results(service: Any, parent: str, **fields: Any) -> Any:
    return list_evaluation_results(
        service, ListEvaluationResultsRequest.from_value({"parent": parent, **fields})
    )


def evaluations(service: Any, parent: str, **fields: Any) -> Any:
    return list_evaluations(service, ListEvaluationsRequest.from_value({"parent": parent, **fields}))


def short(found: Any) -> list[str]:
    return [one["name"].rsplit("/", 1)[-1] for one in found]


def test_an_evaluation_reads_back_as_the_sample_of_the_api(service, sample):
    wanted = sample("golden_readback__Evaluation")
    passed, failed = sample("golden_pass__EvaluationResult"), sample("golden_fail__EvaluationResult")
    rows = [result_columns(one, "c", 1) for one in (passed, failed)]
    put_rows(service.store, RESULT_ROWS, rows)
    content = {k: v for k, v in wanted.items() if k not in Evaluation.OUTPUT_ONLY}
    parent, _, last = wanted["name"].rpartition("/evaluations/")
    create_evaluation(
        service,
        CreateEvaluationRequest.from_value({"parent": parent, "evaluationId": last, "evaluation": content}),
    )
    read = get_evaluation(service, wanted["name"], {*COMPUTED, "lastTenResults"})
    assert read["aggregatedMetrics"] == wanted["aggregatedMetrics"]
    assert read["lastCompletedResult"] == max(passed, failed, key=lambda one: one["createTime"])
    assert read["lastTenResults"] == sorted([passed, failed], key=lambda one: one["createTime"], reverse=True)
    assert {k: v for k, v in read.items() if k not in Evaluation.OUTPUT_ONLY} == content
    assert Evaluation.from_value(read).to_value() == read


def test_metrics_follow_every_write(service, app, create, put_result):
    name = create("one")["name"]
    assert "aggregatedMetrics" not in get_evaluation(service, name)
    put_result(1, "PASS")
    put_result(2, "FAIL")
    (version,) = get_evaluation(service, name)["aggregatedMetrics"]["metricsByAppVersion"]
    assert (version["passCount"], version["failCount"]) == (1, 1)
    assert version["semanticSimilarityMetrics"] == [{"score": 1.5}]
    put_result(2, "PASS", goldenResult={"turnReplayResults": [{"semanticSimilarityResult": {"score": 4}}]})
    read = get_evaluation(service, name)
    (version,) = read["aggregatedMetrics"]["metricsByAppVersion"]
    assert version["passCount"] == 2 and "failCount" not in version
    assert version["semanticSimilarityMetrics"] == [{"score": 2.5}]
    assert version["turnLatencyMetrics"] == [{"averageLatency": "1.500s"}]
    assert read["evaluationRuns"] == [f"{app}/evaluationRuns/nightly"]
    subject = service.store.read(lambda c: find_conversation(c, "conversation-2", app))
    service.store.write(lambda c: delete_subject(c, subject))
    (version,) = get_evaluation(service, name)["aggregatedMetrics"]["metricsByAppVersion"]
    assert version["passCount"] == 1 and "failCount" not in version


def test_only_completed_results_count(service, create, put_result):
    name = create("one")["name"]
    put_result(1)
    running = put_result(9, "", executionState="RUNNING", goldenResult=None)
    read = get_evaluation(service, name, {*COMPUTED, "lastTenResults"})
    assert short([read["lastCompletedResult"]]) == ["r-0001"]
    assert short(read["lastTenResults"]) == ["r-0009", "r-0001"]
    assert get_evaluation_result(service, running["name"]) == running
    (version,) = read["aggregatedMetrics"]["metricsByAppVersion"]
    assert version["passCount"] == 1


def test_no_page_misses_what_was_there_while_others_write(service, app, put_result, create):
    names = {create(f"e{number:02}")["name"] for number in range(10)}
    wanted = {put_result(number)["name"] for number in range(10)}
    for parent, list_all, kind in (
        (app, evaluations, "evaluations"),
        (f"{app}/evaluations/-", results, "evaluationResults"),
    ):
        found, number = [], 0
        for page in pages(partial(list_all, service, parent, pageSize=3), kind):
            found += [one["name"] for one in page]
            number += 3
            for last in range(number, 10):
                put_result(last, "FAIL")
                update(service, f"{app}/evaluations/e{last:02}", "tags", tags=[str(number)])
            put_result(100 + number)
        assert (names if kind == "evaluations" else wanted) <= set(found) and len(found) == len(set(found))


def test_page_tokens_are_of_one_list(service, app, put_result, create):
    create("one")
    for number in range(3):
        put_result(number)
    parent = f"{app}/evaluations/one"
    token = results(service, parent, pageSize=1)["nextPageToken"]
    assert results(service, parent, pageSize=2, pageToken=token)["evaluationResults"]
    for changed in (
        {"orderBy": "name"},
        {"filter": "evaluation_status=PASS"},
        {"parent": f"{app}/evaluations/-"},
    ):
        fields = {"parent": parent, "pageToken": token, **changed}
        assert refusal(lambda f=fields: results(service, **f)) == ("INVALID_ARGUMENT", "pageToken")
    broken = ("x", "é", "W10=", "bnVsbA==", "WyJhIiwgMSwgMl0=")
    for bad in (*broken, token[:-4], "W" * 10_000, "WzEsMiwz" + token):
        wanted = {"parent": parent, "pageToken": bad}
        assert refusal(lambda w=wanted: results(service, **w)) == ("INVALID_ARGUMENT", "pageToken")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("evaluation_status = FAIL", [1, 3]),
        ("evaluation_status != FAIL", [0, 2, 4]),
        ("evaluation_status = OUTCOME_UNSPECIFIED", [4]),
        ("app_version = v8", [2, 3]),
        ('app_version = "projects/acme-cx/locations/us/apps/travel-desk/versions/v8"', [2, 3]),
        ("app_version = v8 evaluation_status = FAIL", [3]),
        ("app_version = v8 OR evaluation_status = FAIL", [1, 2, 3]),
        ("NOT app_version = v8", [0, 1, 4]),
        ('create_time >= "2026-11-01T00:00:03Z"', [3, 4]),
        ('create_time < "2026-11-01T01:00:01+01:00"', [0]),
        ("conversation = conversation-2", [2]),
        ("display_name : RESULT", [0, 1, 2, 3, 4]),
        ('display_name : "%"', []),
        ("name : r-0003", [3]),
        ("evaluation = two", []),
        ("display_name = \"' OR '1'='1\"", []),
        ("app_version != *8", [0, 1, 4]),
        ('display_name = "RESULT*"', []),
        ('display_name = "*sult 4*"', [4]),
        ("app_version_display_name = *", []),
        ("name = r-000*", [0, 1, 2, 3, 4]),
        ("evaluation_run = night*", [0, 1, 2, 3, 4]),
    ],
)
def test_results_are_filtered(service, app, put_result, text, found):
    for number, (status, version) in enumerate(
        [("PASS", "v7"), ("FAIL", "v7"), ("PASS", "v8"), ("FAIL", "v8"), ("", "v7")]
    ):
        put_result(number, status, version=version)
    page = results(service, f"{app}/evaluations/one", filter=text, orderBy="name")
    assert short(page.get("evaluationResults", [])) == [f"r-{n:04}" for n in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tags:slow", ["a", "b"]),
        ("tags = slow AND NOT tags:new", ["a"]),
        ("display_name:CASE", ["a", "b", "c"]),
        ("tags:sl*", ["a", "b"]),
        ("NOT tags:*", ["c"]),
        ("created_by = tester", ["a", "b", "c"]),
    ],
)
def test_evaluations_are_filtered(service, app, create, text, found):
    create("a", tags=["slow"])
    create("b", tags=["slow", "new"])
    create("c")
    for field in ("evaluationFilter", "filter"):
        page = evaluations(service, app, orderBy="name", **{field: text})
        assert short(page.get("evaluations", [])) == found


def test_evaluations_are_filtered_by_their_runs(service, app, create, put_result):
    create("one")
    create("two")
    put_result(1, version="v9", appVersionDisplayName="March")
    for text in (
        "app_version = v9",
        'app_version_display_name = "March"',
        "name = nightly",
        'create_time < "2026-12-01T00:00:00Z"',
    ):
        assert short(evaluations(service, app, evaluationRunFilter=text)["evaluations"]) == ["one"]
    assert evaluations(service, app, evaluationRunFilter="app_version = v1") == {}


def test_a_page_has_a_largest_size():
    sizes = {size: read_paging(size, "").size for size in (0, 7, LARGEST_PAGE + 1)}
    assert sizes == {0: DEFAULT_PAGE, 7: 7, LARGEST_PAGE + 1: LARGEST_PAGE}


WRONG_LISTS = [
    ({"pageSize": -1}, "pageSize"),
    ({"orderBy": "size"}, "orderBy"),
    ({"filter": "nothing = 1"}, "filter"),
    ({"filter": "evaluation_status = FAILED"}, "filter"),
    ({"filter": "create_time > yesterday"}, "filter"),
    ({"filter": "evaluation_status < PASS"}, "filter"),
    ({"filter": "name = "}, "filter"),
    ({"filter": "display_name = a*b"}, "filter"),
    ({"filter": f"display_name = {'a' * 161}*"}, "filter"),
    ({"parent": ""}, "parent"),
    ({"parent": "projects/p/locations/l/apps/a/evaluations/one/"}, "parent"),
    ({"parent": "projects/p/locations/l/apps/a/evaluations/one' OR '1'='1"}, "parent"),
    ({"parent": "projects/p/locations/-/apps/a/evaluations/-"}, "parent"),
]


@pytest.mark.parametrize(("fields", "field"), WRONG_LISTS)
def test_wrong_lists_are_refused(service, app, fields, field):
    wanted = {"parent": f"{app}/evaluations/-", **fields}
    assert refusal(lambda: results(service, **wanted)) == ("INVALID_ARGUMENT", field)


def test_what_is_not_there(service, app, put_result, create):
    name = f"{app}/evaluations/two"
    assert refusal(get_evaluation, service, name) == ("NOT_FOUND", "")
    assert refusal(get_evaluation_result, service, f"{name}/results/r-1") == ("NOT_FOUND", "")
    assert refusal(lambda: results(service, name)) == ("NOT_FOUND", "")
    assert results(service, f"{app}/evaluations/-") == {}
    assert evaluations(service, app) == {}
    create("two")
    assert results(service, name) == {}
    put_result(1, evaluation="three")
    assert len(results(service, f"{app}/evaluations/three")["evaluationResults"]) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_breaks_a_query(service, value, other):
    app = "projects/p/locations/l/apps/a"
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    names = [
        f"{name} {operator} {quoted}" for name in ("display_name", "name") for operator in ("=", "!=", ":")
    ]
    others = ({"filter": other}, {"pageToken": other}, {"orderBy": other}, {"parent": other})
    for fields in (*({"filter": text} for text in names), *others):
        try:
            results(service, **{"parent": f"{app}/evaluations/-", **fields})
        except ServiceError as error:
            assert error.status == "INVALID_ARGUMENT"


def compare(service: Any, app: str, **fields: Any) -> Any:
    wanted = {"parent": app, "baselineVersion": "v7", "candidateVersion": "v8", **fields}
    compared = compare_app_versions(service, CompareAppVersionsRequest.from_value(wanted))
    assert CompareAppVersionsResponse.from_value(compared).to_value() == compared
    return compared


def test_two_versions_are_compared(service, app, create, put_result):
    outcomes = {
        "better": (["FAIL", "PASS"], ["PASS", "PASS"]),
        "gone": (["PASS"], []),
        "new": ([], ["FAIL"]),
        "same": (["PASS", "FAIL"], ["FAIL", "PASS", "FAIL", "PASS"]),
        "no_verdict": ([""], ["PASS"]),
        "worse": (["PASS", "PASS"], ["PASS", "FAIL"]),
        "worst": (["PASS"], ["FAIL"]),
    }
    number = 0
    for name, versions in outcomes.items():
        create(name, tags=["quick"] if name == "worst" else [])
        for version, statuses in zip(("v7", "v8"), versions, strict=True):
            for status in statuses:
                number += 1
                put_result(number, status, evaluation=name, version=version)
    found = compare(service, app)
    assert found["verdict"]["word"] == "inconclusive"
    assert found["verdict"]["sentence"].startswith("v8 against v7 is inconclusive: ")
    numbers = ("pairCount", "difference", "wordIfMissingFail", "wordIfMissingPass")
    assert [found["verdict"][name] for name in numbers] == [4, -0.25, "inconclusive", "inconclusive"]
    assert [(short([{"name": c["evaluation"]}])[0], c["change"]) for c in found["changes"]] == [
        ("worse", "regressed"),
        ("worst", "regressed"),
        ("better", "fixed"),
    ]
    assert found["changes"][0] | {"evaluation": ""} == {
        "evaluation": "",
        "displayName": "Case worse",
        "change": "regressed",
        "baselinePassCount": 2,
        "candidatePassCount": 1,
        "candidateFailCount": 1,
    }
    counts = {key: value for key, value in found.items() if key.endswith("Count")}
    assert counts == {
        "regressedCount": 2,
        "fixedCount": 1,
        "unchangedCount": 1,
        "onlyBaselineCount": 1,
        "onlyCandidateCount": 2,
    }
    base = found["baseline"]
    counts = [base[f"{name}Count"] for name in ("pass", "fail", "noVerdict", "evaluation")]
    assert counts == [6, 2, 1, 6]
    # 9 results of 6 evaluations, 8 of them with a verdict: as sure as 5.3 that do not depend on each other.
    assert base["passRate"] == 0.75
    assert (round(base["passRateLow"], 3), round(base["passRateHigh"], 3)) == (0.346, 0.944)
    assert base["metrics"]["passCount"] == 6
    tagged = compare(service, app, evaluationFilter="tags:quick")
    assert tagged["baseline"]["passCount"] == 1 and len(tagged["changes"]) == 1
    paged = pages(lambda **more: compare(service, app, pageSize=1, **more), "changes")
    assert [*paged] == [[change] for change in found["changes"]]
    full = f"{app}/versions/v8"
    assert compare(service, app, candidateVersion=full) == found


def test_wrong_comparisons(service, app, put_result):
    put_result(1)
    with pytest.raises(ServiceError, match="versions with results: v7"):
        compare(service, app)
    assert refusal(lambda: compare(service, app, baselineVersion="")) == (
        "INVALID_ARGUMENT",
        "baselineVersion",
    )
    same = refusal(lambda: compare(service, app, baselineVersion="v7", candidateVersion="v7"))
    assert same == ("INVALID_ARGUMENT", "candidateVersion")
    assert refusal(lambda: compare(service, "app")) == ("INVALID_ARGUMENT", "parent")
    wrong = {"evaluationFilter": "x=1"}
    assert refusal(lambda: compare(service, app, **wrong)) == ("INVALID_ARGUMENT", "evaluationFilter")


def test_failures_are_listed(service, app):
    told = [
        Failure("parse", "ValueError", "bad", "log.jsonl", 3, "{}"),
        Failure("match", "UnknownCaseError", "no case", "log.jsonl", 4, "{}", "c-1", app_version="v7"),
        Failure("score", "E", "m", "log.jsonl", 5, "{}", "c-2", "response_match_score", "v7", 0),
    ]
    rows = [
        failure_columns(failure_rows(one, "run 1")[0], app, 10**9 * (i + 1)) for i, one in enumerate(told)
    ]
    put_rows(service.store, FAILURE_ROWS, rows)

    def failures(**fields: Any) -> Any:
        return get_failures(service, GetFailuresRequest.from_value({"parent": app, **fields}))

    names = [one["name"] for one in failures()["failures"]]
    assert names == sorted(names)
    assert refusal(lambda: failures(orderBy="create_time")) == ("INVALID_ARGUMENT", "orderBy")
    found = failures(orderBy="update_time")["failures"]
    assert [one["stage"] for one in found] == ["score", "match", "parse"]
    assert found[0] | {"name": "", "evaluationRun": ""} == {
        "name": "",
        "evaluationRun": "",
        "updateTime": "1970-01-01T00:00:03Z",
        "stage": "score",
        "errorType": "E",
        "message": "m",
        "source": "log.jsonl",
        "position": 5,
        "record": "{}",
        "conversationId": "c-2",
        "criterion": "response_match_score",
        "appVersion": "v7",
        "turnIndex": 0,
    }
    assert [one["stage"] for one in failures(filter="stage = match")["failures"]] == ["match"]
    assert [one["stage"] for one in failures(filter="errorType:unknown")["failures"]] == ["match"]
    run = found[0]["evaluationRun"]
    assert len(failures(filter=f'evaluation_run = "{run}"')["failures"]) == 3
    first = failures(pageSize=2)
    assert len(first["failures"]) == 2
    assert len(failures(pageSize=2, pageToken=first["nextPageToken"])["failures"]) == 1
    assert refusal(lambda: failures(filter="record=x")) == ("INVALID_ARGUMENT", "filter")
