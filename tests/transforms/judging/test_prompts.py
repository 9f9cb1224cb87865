"""The prompts of the judged criteria: stored texts, examples, what becomes of answers."""

import json
import re

import pytest

from tests.rendered_prompts import SHIPPED, STORED, TALKS, asked, rendered, sample_of
from tests.tables import stated
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.judging.limits import estimated_tokens
from turnwise.transforms.text.cleaning import contains_quote

EXAMPLE = re.compile(r"^Example \((\w+)\).*?:\n(.*?)^Answer: (\{[^\n]*\})$", re.MULTILINE | re.DOTALL)
QUOTES = ("quote", "claim_quote", "context_quote", "supporting_quote", "contradicting_quote", "text")
QUOTES += ("reference_quote", "answer_quote", "expected_quote", "actual_quote", "identifier")
ENTRIES = ("verdicts", "sentences", "ratings", "rubrics", "claims", "values")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_prompt_is_as_it_is_stored(name):
    """`python -m tests.rendered_prompts` writes the files anew."""
    file, text = rendered(name)
    assert (STORED / file).read_bytes().decode() == text


def entries_of(answer):
    yield answer
    for name in ENTRIES:
        for entry in answer.get(name, ()):
            yield from entries_of(entry)


@pytest.mark.parametrize("name", SHIPPED)
def test_examples_are_answers(name):
    """Each fits the schema, in its order, and quotes what stands in its sections."""
    question = asked(name, TALKS["English"])
    examples = EXAMPLE.findall(question.prompt.instructions)
    assert len(examples) == question.prompt.instructions.count("Example (")
    assert {language for language, _, _ in examples} - {"English"}
    for _, sections, answer in examples:
        reply = question.reply_model.model_validate_json(answer)
        assert json.dumps(json.loads(answer)) == json.dumps(reply.model_dump())
        for entry in entries_of(json.loads(answer)):
            for field in QUOTES:
                assert not entry.get(field) or contains_quote(entry[field], sections)
            assert entry.get("analysis", "-")


@stated("analysis", "fields, is_usable")
def test_an_answer_counts_whatever_its_analysis(fields, is_usable, judged, scripted):
    reply = {"reference_quote": "", "answer_quote": "", "reason": "gut", "verdict": "valid", **fields}
    criterion = CRITERIA["final_response_match_v2"]()
    result = judged(criterion, sample_of(TALKS["German"], False), scripted(lambda *_: reply))
    ((_, score),) = result.turns
    assert (score.value, score.explanation) == ((1.0, "gut") if is_usable else (None, None))
    assert "analysis" not in str(score.details)


@pytest.mark.parametrize("name", SHIPPED)
def test_prompts_stay_small(name):
    """Instructions are paid for with every question."""
    assert estimated_tokens(asked(name, TALKS["English"]).prompt.instructions) < 1_400
