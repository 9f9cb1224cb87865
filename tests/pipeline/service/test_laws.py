"""What holds of the service whatever it is sent: any mask, any text, long ones, and many at once."""

import json
from concurrent.futures import ThreadPoolExecutor

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.pipeline.service.conftest import APP, GOLDEN, SCENARIO, called_tool
from tests.store_rows import put_rows
from turnwise.pipeline.service.computed_fields import DEFAULT_PAGE, LARGEST_PAGE, read_paging
from turnwise.pipeline.service.evaluations import create_evaluation, get_evaluation, update_evaluation
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.store.database import RESULT_ROWS
from turnwise.pipeline.store.rows import find_evaluation, result_columns
from turnwise.schemas.ces.result import Evaluation
from turnwise.schemas.ces.tools import CreateEvaluationRequest, GetEvaluationTool, UpdateEvaluationTool

NAME = f"{APP}/evaluations/one"
TWO_TURNS = {"turns": [*GOLDEN["turns"], {"steps": [{"userInput": {"text": "bye"}}]}]}
PARTS = st.sampled_from(
    ["displayName", "display_name", "golden", "scenario", "turns", "name", "*", "", "x", "é"]
)
MASKS = st.lists(st.lists(PARTS, min_size=1, max_size=3).map(".".join), max_size=3).map(",".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(MASKS | st.text(max_size=20), st.booleans())
def test_any_mask_is_followed_or_refused(service, create, mask, has_golden):
    def stored():
        return service.store.read(lambda c: find_evaluation(c, NAME))

    if stored() is None:
        create(displayName="x", golden=TWO_TURNS)
    before = stored()
    new = {"golden": GOLDEN} if has_golden else {"scenario": SCENARIO}
    try:
        evaluation = Evaluation.from_value({"name": NAME, "displayName": "y", **new})
        after = update_evaluation(service, UpdateEvaluationTool(evaluation=evaluation, update_mask=mask))
    except ServiceError as error:
        assert error.status == "INVALID_ARGUMENT"
        assert error.field in ("updateMask", "evaluation", "evaluation.golden.turns", "evaluation.scenario")
        assert stored() == before
    else:
        now = stored()
        assert now.revision == before.revision + 1 and now.etag == after["etag"]
        assert Evaluation.from_value(now.content).to_value() == now.content
        assert ("golden" in now.content) != ("scenario" in now.content)


def test_of_eight_evaluations_of_one_name_one_is_made(create):
    def outcome(number):
        try:
            create(f"e{number}", displayName="Same")
        except ServiceError as error:
            return error.status
        return "made"

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(outcome, range(8))) == ["ALREADY_EXISTS"] * 7 + ["made"]


def test_long_texts_come_back_as_they_went(service, create):
    made = create(tags=["x" * 5000, "x" * 4999], displayName="d" * 9000)
    assert get_evaluation(service, GetEvaluationTool(name=made["name"])) == made


def test_an_evaluation_reads_back_as_the_sample_of_the_api(service, sample):
    wanted = sample("golden_readback__Evaluation")
    passed, failed = sample("golden_pass__EvaluationResult"), sample("golden_fail__EvaluationResult")
    put_rows(service.store, RESULT_ROWS, [result_columns(result, "c", 1) for result in (passed, failed)])
    content = {k: v for k, v in wanted.items() if k not in Evaluation.OUTPUT_ONLY}
    parent, _, last = wanted["name"].rpartition("/evaluations/")
    request = {"parent": parent, "evaluationId": last, "evaluation": content}
    create_evaluation(service, CreateEvaluationRequest.from_value(request))
    fields = {"name": wanted["name"], "lastTenResults": True, "readMask": "*"}
    read = called_tool(service, "get_evaluation", fields)
    assert read["aggregatedMetrics"] == wanted["aggregatedMetrics"]
    newest, older = sorted([passed, failed], key=lambda result: result["createTime"], reverse=True)
    assert read["lastCompletedResult"] == newest and read["lastTenResults"] == [newest, older]
    assert {k: v for k, v in read.items() if k not in Evaluation.OUTPUT_ONLY} == content


def test_no_page_misses_what_was_there_while_others_write(service, put_result, create):
    for tool, parent, kind in (
        ("list_evaluations", APP, "evaluations"),
        ("list_evaluation_results", f"{APP}/evaluations/-", "evaluationResults"),
    ):
        names = {create(f"{kind}-{number}")["name"] for number in range(10)}
        results = {put_result(number)["name"] for number in range(10)}
        listed, written, token = [], 0, ""
        while token is not None:
            page = called_tool(service, tool, {"parent": parent, "pageSize": 3, "pageToken": token})
            listed += [entry["name"] for entry in page[kind]]
            token = page.get("nextPageToken")
            written += 3
            for last in range(written, 10):
                put_result(last, "FAIL")
                evaluation = {"name": f"{APP}/evaluations/{kind}-{last}", "tags": [str(written)]}
                changed = Evaluation.from_value(evaluation)
                update_evaluation(service, UpdateEvaluationTool(evaluation=changed, update_mask="tags"))
            put_result(100 + written)
        assert (names if kind == "evaluations" else results) <= set(listed)
        assert len(listed) == len(set(listed))


def test_a_page_has_a_largest_size():
    sizes = {size: read_paging(size, "").size for size in (0, 7, LARGEST_PAGE + 1)}
    assert sizes == {0: DEFAULT_PAGE, 7: 7, LARGEST_PAGE + 1: LARGEST_PAGE}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=12)
@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_breaks_a_query(service, value, other):
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    fields = [{"filter": f"{name} {of} {quoted}"} for name in ("display_name", "name") for of in "=:"]
    fields += [{"filter": f"name != {quoted}"}, {"filter": other}, {"pageToken": other}]
    for wanted in (*fields, {"orderBy": other}, {"parent": other}):
        try:
            called_tool(service, "list_evaluation_results", {"parent": f"{APP}/evaluations/-", **wanted})
        except ServiceError as error:
            assert error.status == "INVALID_ARGUMENT"


def test_answers_are_bounded(service, given):
    calls = [{"name": "book", "args": {"text": "x" * 5_000, "n": number}} for number in range(40)]
    turn = {"user": "u", "agent": "a", "tool_calls": calls, "expected": {"tool_calls": []}}
    version = f"{APP}/versions/v1"
    given.put_evaluated("big", [{"conversation_id": "c-1", "app_version": version, "turns": [turn] * 250}])
    answer = called_tool(service, "get_conversation", {"parent": APP, "conversationId": "c-1"})
    assert len(json.dumps(answer)) < 64 * 1024 + 200 * 2_000
    assert answer["transcript"]["cut"] and len(answer["scores"]) <= 200
    assert max(len(score.get("explanation", "")) for score in answer["scores"]) <= 1_000
