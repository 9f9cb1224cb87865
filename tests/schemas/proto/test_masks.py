"""Field masks of updates and readers, by examples and by laws."""

import inspect
import json
import re

import pytest
from google.cloud import ces_v1beta
from hypothesis import given
from hypothesis import strategies as st
from pydantic.alias_generators import to_camel

from tests.tables import lines_beside, rows_test
from turnwise.schemas.ces.result import Evaluation, EvaluationResult
from turnwise.schemas.proto.masks import (
    MaskError,
    all_but,
    mask_fields,
    parse_mask,
    select_fields,
    updated_content,
    written_fields,
)

OLD, RESULT = (line["value"] for line in lines_beside(__file__, "masks.jsonl").values())
NAME, GOLDEN = OLD["name"], OLD["golden"]
SCENARIO = {"task": "t", "maxTurns": 3, "rubrics": ["r"], "variableOverrides": {"a": 1.0}}
test_rows = rows_test(globals(), "masks")


def updated(mask, **new):
    """What has changed, and to what (None: gone)."""
    before = json.dumps(OLD)
    after = updated_content(OLD, Evaluation.from_value(new), mask)
    assert json.dumps(OLD) == before
    assert Evaluation.from_value(after).to_value() == after
    return {
        key: after.get(key) for key in sorted(OLD.keys() | after.keys()) if after.get(key) != OLD.get(key)
    }


def update(mask, new, change):
    """It changes what its mask names."""
    assert updated(mask, **new) == change


@pytest.mark.parametrize("mask", [None, "", "*", " * "])
def test_without_a_mask_everything_is_replaced(mask):
    new = {"name": "other", "displayName": "new", "scenario": SCENARIO, "etag": "x", "invalid": True}
    after = updated_content(OLD, Evaluation.from_value(new), mask)
    assert after == {"name": NAME, "displayName": "new", "scenario": SCENARIO}


def wrong_path(mask, why, times=1):
    """It is refused by name."""
    with pytest.raises(MaskError, match=re.escape(why)) as caught:
        updated(mask * times)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_output_only_fields_are_those_of_the_api():
    doc = inspect.getdoc(ces_v1beta.Evaluation) or ""
    found = re.findall(r"^ {4}(\w+) \(.*?\):\n\s+Output only", doc, re.M)
    assert {to_camel(name) for name in found} == Evaluation.OUTPUT_ONLY


def seen(mask, wanted):
    """A reader sees what the mask names."""
    paths = parse_mask(EvaluationResult, mask, through_lists=True)
    assert paths is not None
    assert select_fields(RESULT, paths) == wanted


def unseen(mask, more, wanted):
    """All fields but those that the mask names."""
    assert select_fields({**RESULT, **more}, all_but(EvaluationResult, mask)) == wanted


def paths_into(message, depth=3):
    found = []
    for spelling, field in mask_fields(message).items():
        if spelling != field.name or message is EvaluationResult:
            continue
        found.append((field.name,))
        if field.message and field.is_single and depth > 1:
            found += [(field.name, *rest) for rest in paths_into(field.message, depth - 1)]
    return found


ALL_PATHS = sorted(paths_into(Evaluation))
TEXT, LIMITS = st.text(max_size=3), OLD["evaluationMetricsThresholdOverride"]
GOLDENS = st.fixed_dictionaries(
    {}, optional={"turns": st.just(GOLDEN["turns"]), "evaluationExpectations": st.lists(TEXT)}
)
SCENARIOS = st.fixed_dictionaries(
    {},
    optional={
        "task": TEXT,
        "maxTurns": st.integers(0, 9),
        "rubrics": st.lists(TEXT),
        "variableOverrides": st.just({}),
    },
)
INPUTS = st.one_of(
    st.just({}), st.fixed_dictionaries({"golden": GOLDENS}), st.fixed_dictionaries({"scenario": SCENARIOS})
)
EVALUATIONS = st.builds(
    lambda inputs, rest: {**rest, **inputs},
    INPUTS,
    st.fixed_dictionaries(
        {},
        optional={
            "displayName": TEXT,
            "description": TEXT,
            "tags": st.lists(TEXT, max_size=2),
            "etag": TEXT,
            "evaluationMetricsThresholdOverride": st.sampled_from(
                [{}, OLD["evaluationMetricsThresholdOverride"]]
            ),
            "lastCompletedResult": st.just({"name": "x"}),
        },
    ),
)
MASKS = st.lists(st.sampled_from(ALL_PATHS), min_size=1, max_size=4)
SNAKE = {
    to_camel(name): name
    for m in (Evaluation, *(f.message for f in mask_fields(Evaluation).values() if f.message))
    for name in m.model_fields
}


def at(value, path):
    for name in path:
        value = value.get(name) if value is not None else None
    return value


@given(EVALUATIONS, EVALUATIONS, MASKS, st.booleans())
def test_laws_of_updates(old, new, paths, in_snake_case):
    before = {**written_fields(Evaluation.from_value(old)), "name": NAME}
    body = Evaluation.from_value(new)
    spelled = [[SNAKE.get(name, name) if in_snake_case else name for name in path] for path in paths]
    mask = ",".join(map(".".join, spelled))
    after = updated_content(before, body, mask)
    assert Evaluation.from_value(after).to_value() == after
    assert after["name"] == NAME and not after.keys() & Evaluation.OUTPUT_ONLY
    assert updated_content(after, body, mask) == after
    writable = [path for path in paths if path[0] not in Evaluation.OUTPUT_ONLY and path[0] != "name"]
    wanted = written_fields(body)
    for path in writable:
        assert at(after, path) == at(wanted, path)
    switched = {"golden", "scenario"} if {"golden", "scenario"} & {path[0] for path in writable} else set()
    for path in ALL_PATHS:
        touched = any(path[: len(one)] == one or one[: len(path)] == path for one in writable)
        if not touched and path[0] not in switched:
            assert at(after, path) == at(before, path)


@given(st.text(st.sampled_from("abgolden.scenariotags*,_ N\0é{}[]0"), max_size=30) | st.text(max_size=20))
def test_any_text_is_a_mask_or_refused(text):
    try:
        paths = parse_mask(Evaluation, text)
    except MaskError as error:
        assert "\n" not in str(error)
    else:
        assert paths is None or all(path in ALL_PATHS or path[0] == "lastCompletedResult" for path in paths)
