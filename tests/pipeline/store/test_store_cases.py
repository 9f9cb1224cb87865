"""Eval cases of a store come with the texts of the expectations that they name."""

from collections import Counter
from typing import Any

import pytest

from turnwise.pipeline.io.eval_cases import case_records, read_cases
from turnwise.pipeline.service.changes import create_evaluation
from turnwise.pipeline.service.expectations import EXPECTATIONS
from turnwise.pipeline.service.resources import create_resource, update_resource
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.engine import Store, close_shared_stores
from turnwise.schemas.case import EvalCase
from turnwise.schemas.ces.expectations import EvaluationExpectation
from turnwise.schemas.ces.requests import CreateEvaluationRequest
from turnwise.schemas.config import CesConfig
from turnwise.transforms.formats.readers import CaseReader
from turnwise.transforms.matching.case_digest import case_digest

APP, OTHER = "projects/p/locations/l/apps/a", "projects/p/locations/l/apps/b"
POLITE, FOREIGN, GONE = (
    f"{app}/evaluationExpectations/{name}" for app, name in ((APP, "polite"), (OTHER, "brief"), (APP, "gone"))
)
GOLDEN = {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}]}


def put(service: Service, name: str, text: str) -> None:
    app, _, last = name.partition("/evaluationExpectations/")
    content = {"displayName": last, "llmCriteria": {"prompt": text}}
    create_resource(EXPECTATIONS, service, app, last, EvaluationExpectation.from_value(content))


def put_case(service: Service, eval_id: str, **content: Any) -> None:
    request = {
        "parent": APP,
        "evaluationId": eval_id,
        "evaluation": {"displayName": eval_id, **content},
    }
    create_evaluation(service, CreateEvaluationRequest.from_value(request))


@pytest.fixture
def service(store: Store) -> Service:
    """A service over an empty store, of either kind."""
    return Service(store, "tester")


def cases(url: str, app: str = "") -> dict[str, EvalCase]:
    try:
        found = read_cases(
            case_records("--eval_cases", [url], 10**6, app), CaseReader(CesConfig()), Counter()
        )
    finally:
        close_shared_stores()
    assert found.failures == []
    return {case.display_name or "": case for case in found.cases}


@pytest.mark.parametrize("app", ["", APP])
def test_the_texts_of_a_store_come_with_its_cases(service: Service, store_url: str, app: str) -> None:
    put(service, POLITE, "is polite")
    put(service, FOREIGN, "is brief")
    names = [POLITE, "says hello", FOREIGN, GONE]
    put_case(service, "golden", golden={**GOLDEN, "evaluationExpectations": names})
    put_case(service, "scenario", scenario={"task": "book", "evaluationExpectations": [POLITE]})
    put_case(service, "none", golden=GOLDEN)
    found = cases(store_url, app)
    assert found["golden"].evaluation_expectations == names
    assert found["golden"].expectation_texts == {POLITE: "is polite", FOREIGN: "is brief"}
    assert found["scenario"].expectation_texts == {POLITE: "is polite"}
    assert found["none"].expectation_texts == {}


def test_another_text_is_another_case(service: Service, store_url: str) -> None:
    put(service, POLITE, "is polite")
    put_case(service, "scenario", scenario={"task": "book", "evaluationExpectations": [POLITE]})
    before = case_digest(cases(store_url)["scenario"])
    assert before == case_digest(cases(store_url)["scenario"])
    new = EvaluationExpectation.from_value({"name": POLITE, "llmCriteria": {"prompt": "is rude"}})
    update_resource(EXPECTATIONS, service, new, "llmCriteria.prompt")
    assert case_digest(cases(store_url)["scenario"]) != before
