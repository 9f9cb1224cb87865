"""Of many eval cases the same count and are found, whether in a file of one process or in elements."""

import json
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing import test_pipeline
from apache_beam.testing.util import assert_that, equal_to

from turnwise.pipeline.batch.execution import BeamOptions
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Conversation, Record, Turn
from turnwise.transforms.beam.steps import MatchCases, ParseEvalCases
from turnwise.transforms.formats.reading import CaseReader, LoggedConversation
from turnwise.transforms.matching.sample import Sample

SHORT, FULL = "e7", "projects/p/locations/l/apps/a/evaluations/e7"


def case(name: str, asks: str, of_set: str | None = None, answer: str = "Yes") -> dict[str, Any]:
    return {"eval_id": name, "eval_set_id": of_set, "turns": [{"user": asks, "response": answer}]}


CASES = [case(f"case-{number}", f"Question {number}?", "s") for number in range(1000)]
CASES += [case("case-5", "Other?", "t"), case(FULL, "Seven?"), case("größe 😀", "Half?"), CASES[6]]
CASES += [case("case-7", "Question 7?", "s", answer) for answer in ("No", "Yes")]
ASKS = {
    ("case-6", "s", ""): "case-6",  # stated twice, and equal
    ("case-7", "s", ""): "no eval case is called 'case-7'",  # stated three times, and not equal
    ("case-8", None, ""): "case-8",
    ("case-5", "t", ""): "case-5",
    ("case-5", None, ""): "several eval cases are called 'case-5'; name the set in eval_set_id: s, t",
    ("case-9", "t", ""): "no eval case is called 'case-9' in the set 't'; sets that have one: s",
    (SHORT, None, ""): FULL,
    (FULL, None, ""): FULL,
    ("größe 😀", None, ""): "größe 😀",
    (None, None, " QUESTION  950?"): "case-950",
    (None, None, "Nothing?"): None,
}
REPEATED = "stands several times and differs, so none counts: cases:8, cases:1005, cases:1006"


def conversations() -> list[LoggedConversation]:
    made = []
    for number, (name, of_set, asks) in enumerate(ASKS):
        turns = [Turn(user=asks or "Hi", agent="Yes")]
        log = Conversation(conversation_id=str(number), eval_id=name, eval_set_id=of_set, turns=turns)
        made.append(LoggedConversation(log, Record("logs", number, b"")))
    return made


@pytest.mark.parametrize("name", ["", "eval_cases"])
def test_cases_are_found_in_a_file_as_in_elements(tmp_path, name):
    path = name and str(tmp_path / name)
    records = [Record("cases", i, json.dumps(value).encode()) for i, value in enumerate(CASES, 1)]
    with test_pipeline.TestPipeline(runner="FnApiRunner", options=BeamOptions([])) as root:
        parsed, distinct = root | beam.Create(records) | ParseEvalCases(CaseReader(CesConfig()), path)
        logs = root | "Logs" >> beam.Create(conversations())
        matched = logs | MatchCases(distinct.cases, "first_user_message", path)
        held = matched["matched"] | beam.Map(lambda sample: (sample.record.position, eval_id_of(sample)))
        failed = matched["failures"] | beam.Map(lambda failure: (failure.position, failure.message))
        assert_that((held, failed) | beam.Flatten(), equal_to(list(enumerate(ASKS.values()))), "Matched")
        rejected = (parsed.failures, distinct.failures) | "Rejected" >> beam.Flatten()
        why = rejected | beam.Map(lambda failure: (failure.position, failure.message))
        name = "eval id 'case-{}' of the set 's' "
        differing = [(place, name.format(7) + REPEATED) for place in (8, 1005, 1006)]
        equal = (1004, name.format(6) + "stands already at cases:7")
        assert_that(why, equal_to([equal, *differing]), "WhyRejected")


def eval_id_of(sample: Sample) -> str | None:
    return sample.eval_case.eval_id if sample.eval_case else None
