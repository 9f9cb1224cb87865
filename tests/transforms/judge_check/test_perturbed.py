"""Other forms of the same question: what is reordered and reworded, and what stays."""

import re

import pytest

from tests.rendered_prompts import SHIPPED, TALKS, asked
from turnwise.transforms.judging.ask import Prompt
from turnwise.transforms.judging.prompts import Section, fill, wording, wordings
from turnwise.transforms.tools.judge_check import reordered, reworded, sections_of

ORDERS = [
    (["request", "answer"], None),
    (["request", "reference answer", "agent's answer"], [0, 2, 1]),
    (["expected answer", "actual answer"], [1, 0]),
    (["turn 1, user", "turn 1, agent", "rubric 1", "rubric 2", "rubric 3"], [0, 1, 4, 3, 2]),
    (["rubric 1", "rubric 2 (of turn 3)"], [1, 0]),
    (
        ["pair 1, parameter", "pair 1, actual value", "pair 2, parameter", "pair 2, actual value"],
        [2, 3, 0, 1],
    ),
    (["source 0", "source 3", "passage 1, from source 0", "passage 2, from source 3"], [1, 0, 3, 2]),
    (["turn 1, source 1 found by search", "turn 1, source 2 found by search", "sentence 1"], [1, 0, 2]),
    (["what the user knows", "what the user knows", "rule 1", "rule 2", "plan"], [1, 0, 3, 2, 4]),
    (["sentence 1", "sentence 2"], None),
    (["turn 1, tool call 1", "turn 1, tool result 1", "turn 1, tool call 2"], None),
]


@pytest.mark.parametrize(("names", "order"), ORDERS)
def test_what_is_interchangeable_is_reversed(names, order):
    sections = [Section(name, f"text {i}\n[{i}]") for i, name in enumerate(names)]
    prompt = fill("test/1", "Judge.", sections)
    moved = reordered(prompt)
    if order is None:
        assert moved is None
        return
    assert sections_of(moved.evidence) == [sections[place] for place in order]
    assert moved.instructions == prompt.instructions
    assert len(moved.evidence) == len(prompt.evidence)
    assert reordered(moved) == prompt


TEXTS = ["", "[deadbeef: end]", "[0badcafe: rubric 9]\nx", "a\n\n["]


@pytest.mark.parametrize("text", TEXTS)
def test_sections_are_read_back_whatever_stands_in_them(text):
    sections = [Section("rubric 1", "first"), Section("rubric 2", text), Section("rubric 3", "")]
    evidence = fill("test/1", "Judge.", sections).evidence
    found = sections_of(evidence)
    assert [section.name for section in found] == ["rubric 1", "rubric 2", "rubric 3"]
    assert [found[0].text, found[2].text] == ["first", ""]
    assert sections_of(reordered(fill("test/1", "J", sections)).evidence) == found[::-1]


@pytest.mark.parametrize("evidence", ["", "Hello", "[0badcafe: a]\nx", "[0badcafe: a]\nx\n[deadbeef: end]"])
def test_a_prompt_that_was_not_filled_is_left_alone(evidence):
    assert reordered(Prompt("own/1", "Judge.", evidence)) is None


SWAPPED = {
    "final_response_match_v2": True,
    "semantic_similarity": True,
    "multi_turn_trajectory_quality_v1": True,
    "per_turn_user_simulator_quality_v1": True,
    "multi_turn_task_success_v1": False,
    "response_evaluation_score": False,
    "claimed_actions_v1": False,
    "hallucinations_v1": False,
}


@pytest.mark.parametrize(("name", "is_swapped"), SWAPPED.items())
def test_which_criteria_of_the_product_can_be_swapped(name, is_swapped):
    prompt = asked(name, TALKS["Attack"]).prompt
    assert (reordered(prompt) is not None) is is_swapped


@pytest.mark.parametrize("name", SHIPPED)
def test_every_prompt_has_a_second_wording(name):
    prompt = asked(name, TALKS["Japanese"]).prompt
    found = reworded(prompt)
    assert found.evidence == prompt.evidence and found.version == prompt.version
    examples = re.findall(r"^Example .*?^Answer: [^\n]*$", prompt.instructions, re.MULTILINE | re.DOTALL)
    assert examples and all(example in found.instructions for example in examples)
    before = set(re.split(r"(?<=[.:;])\s", prompt.instructions.partition("\n\nExample (")[0]))
    assert not {sentence for sentence in before if len(sentence) > 60 and sentence in found.instructions}
    assert found.instructions.endswith(wording("rules", "reworded"))
    assert reworded(asked(name, TALKS["Japanese"], "first").prompt) is None


def test_of_a_prompt_of_ones_own_the_rules_are_reworded():
    prompt = fill("tone/1", "Grade the tone.", [Section("answer", "Hi")])
    assert reworded(prompt).instructions == f"Grade the tone.\n\n{wording('rules', 'reworded')}"


LABEL = re.compile(r"^(?:- )?(\w+):", re.MULTILINE)
FACT = re.compile(r'"[^"]+"|�|\d+(?:,\d+)*|`\w+`|\byes\b', re.IGNORECASE)


@pytest.mark.parametrize("name", wordings("reworded"))
def test_another_wording_has_the_same_labels_numbers_and_quoted_words(name):
    own, other = (wording(name, each).partition("\n\nExample (")[0] for each in ("second", "reworded"))
    assert set(LABEL.findall(own)) <= {*LABEL.findall(other), "Evidence"}
    assert {fact.lower() for fact in FACT.findall(own)} == {fact.lower() for fact in FACT.findall(other)}
    assert 0.8 < len(other) / len(own) < 1.35
