"""Evaluations are made and changed: masks, etags, validation, the history, and eight at once."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.pipeline.service.conftest import refusal, update
from tests.store_rows import read_history
from turnwise.pipeline.service.evaluations import create_evaluation, get_evaluation
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.store.rows import find_evaluation
from turnwise.schemas.ces.result import Evaluation
from turnwise.schemas.ces.tools import CreateEvaluationRequest

SCRIPT: Any = {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}]}
GOLDEN = {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}, {"steps": [{"userInput": {"text": "bye"}}]}]}
SCENARIO = {"task": "book a flight", "rubrics": ["is polite"]}


def refused(service: Any, name: str, mask: str, **fields: Any) -> tuple[str, str]:
    """Returns status and field of an update that is refused, and changes nothing."""
    before = service.store.read(lambda c: read_history(c, name))
    why = refusal(update, service, name, mask, **fields)
    assert service.store.read(lambda c: read_history(c, name)) == before
    return why


def test_a_new_evaluation_has_all_that_the_service_adds(service, app, create):
    made = create("one", golden=GOLDEN, tags=["a"], etag="mine", createdBy="me", name="other")
    assert made["name"] == f"{app}/evaluations/one"
    assert made["createTime"] == made["updateTime"]
    assert made["createdBy"] == made["lastUpdatedBy"] == "tester"
    assert made["etag"] not in ("", "mine")
    assert get_evaluation(service, made["name"]) == made


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({"parent": "projects/p"}, "INVALID_ARGUMENT", "parent"),
        ({"evaluationId": "a/b"}, "INVALID_ARGUMENT", "evaluationId"),
        ({"evaluationId": "x" * 101}, "INVALID_ARGUMENT", "evaluationId"),
        ({"evaluationId": "one"}, "ALREADY_EXISTS", "evaluationId"),
        ({"evaluation": None}, "INVALID_ARGUMENT", "evaluation"),
        (
            {"evaluation": {"displayName": "Case one", "golden": SCRIPT}},
            "ALREADY_EXISTS",
            "evaluation.displayName",
        ),
        ({"evaluation": {"golden": SCRIPT}}, "INVALID_ARGUMENT", "evaluation.displayName"),
        ({"evaluation": {"displayName": "x"}}, "INVALID_ARGUMENT", "evaluation"),
    ],
)
def test_wrong_evaluations_are_not_made(service, app, create, fields, status, field):
    create("one")
    request = {"parent": app, "evaluation": {"displayName": "x", "golden": SCRIPT}, **fields}
    made = CreateEvaluationRequest.from_value(request)
    assert refusal(create_evaluation, service, made) == (status, field)


def test_an_update_changes_only_what_its_mask_names(service, create):
    made = create("one", golden=GOLDEN, description="words", tags=["a"])
    after = update(
        service, made["name"], "display_name,golden.turns", displayName="New", tags=["z"], golden=SCRIPT
    )
    assert after["displayName"] == "New" and after["tags"] == ["a"] and after["golden"] == SCRIPT
    assert after["etag"] != made["etag"]
    assert after["updateTime"] > made["updateTime"] and after["createTime"] == made["createTime"]
    assert get_evaluation(service, made["name"]) == after


@pytest.mark.parametrize(
    ("mask", "fields", "status", "field"),
    [
        ("dispayName", {}, "INVALID_ARGUMENT", "updateMask"),
        ("displayName,*", {}, "INVALID_ARGUMENT", "updateMask"),
        ("displayName", {}, "INVALID_ARGUMENT", "evaluation.displayName"),
        ("display_name", {"displayName": "Case two"}, "ALREADY_EXISTS", "evaluation.displayName"),
        ("golden", {"scenario": SCENARIO}, "INVALID_ARGUMENT", "evaluation"),
        ("golden.turns", {"golden": {}}, "INVALID_ARGUMENT", "evaluation.golden.turns"),
        ("", {}, "INVALID_ARGUMENT", "evaluation.displayName"),
        ("*", {"displayName": "x"}, "INVALID_ARGUMENT", "evaluation"),
        ("tags", {"tags": ["b"], "etag": "of before"}, "ABORTED", "evaluation.etag"),
        ("scenario", {"scenario": {"maxTurns": 101}}, "INVALID_ARGUMENT", "evaluation.scenario.maxTurns"),
        (
            "golden",
            {"golden": {"turns": [{"steps": [{"expectation": {}}]}]}},
            "INVALID_ARGUMENT",
            "evaluation",
        ),
    ],
)
def test_wrong_updates_are_refused_with_the_field(service, create, mask, fields, status, field):
    create("two")
    name = create("one")["name"]
    assert refused(service, name, mask, **fields) == (status, field)


def test_what_files_refuse_the_service_refuses(service, create):
    name = create("one")["name"]
    args = {"q": {"$matchType": "regexp", "$matchValue": "("}}
    call = {"tool": "projects/p/locations/l/apps/a/tools/t", "args": args}
    golden = {"turns": [{"steps": [{"expectation": {"toolCall": call}}]}]}
    assert refused(service, name, "golden", golden=golden) == ("INVALID_ARGUMENT", "evaluation")


PARTS = st.sampled_from(
    ["displayName", "display_name", "golden", "scenario", "turns", "name", "*", "", "x", "é"]
)
MASKS = st.lists(st.lists(PARTS, min_size=1, max_size=3).map(".".join), max_size=3).map(",".join) | st.text(
    max_size=20
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(MASKS, st.booleans())
def test_any_mask_is_followed_or_refused(service, create, mask, has_golden):
    name = f"{'projects/p/locations/l/apps/a'}/evaluations/one"
    if service.store.read(lambda c: find_evaluation(c, name)) is None:
        request = {"parent": name.partition("/evaluations")[0], "evaluationId": "one"}
        body = {"displayName": "x", "golden": GOLDEN}
        create_evaluation(service, CreateEvaluationRequest.from_value({**request, "evaluation": body}))
    before = service.store.read(lambda c: find_evaluation(c, name))
    new = {"displayName": "y", **({"golden": SCRIPT} if has_golden else {"scenario": SCENARIO})}
    try:
        after = update(service, name, mask, **new)
    except ServiceError as error:
        assert error.status == "INVALID_ARGUMENT"
        assert error.field in ("updateMask", "evaluation", "evaluation.golden.turns", "evaluation.scenario")
        assert service.store.read(lambda c: find_evaluation(c, name)) == before
    else:
        now = service.store.read(lambda c: find_evaluation(c, name))
        assert now.revision == before.revision + 1 and now.etag == after["etag"]
        assert Evaluation.from_value(now.content).to_value() == now.content
        assert ("golden" in now.content) != ("scenario" in now.content)


def test_contents_survive_whatever_they_hold(service, create):
    odd = {
        "task": "\0 \u2028 \U0001f600 '; DROP TABLE evaluations; --",
        "variableOverrides": {"a": [1e300, None, {}]},
    }
    made = create(
        "one",
        scenario=odd,
        tags=["\0", "x" * 5000, "x" * 4999, "", "dup", "dup"],
        displayName="\0" + "d" * 9000,
    )
    read = get_evaluation(service, made["name"])
    assert read["scenario"] == odd and read["displayName"] == "\0" + "d" * 9000
    assert json.loads(json.dumps(read)) == read


def test_of_eight_evaluations_of_one_name_one_is_made(create):
    def outcome(number: int) -> str:
        try:
            create(f"e{number}", displayName="Same")
        except ServiceError as error:
            return error.status
        return "made"

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(outcome, range(8))) == ["ALREADY_EXISTS"] * 7 + ["made"]
