"""Questions asked in other forms: what is swapped and reworded, and which verdicts change."""

import asyncio
import re

import pytest

import turnwise
from tests.rendered_prompts import SHIPPED, TALKS, asked
from tests.tables import stated
from turnwise.schemas.comparison import Bounds
from turnwise.transforms.decisions.calibration.judge_check import (
    UNKNOWN_VERDICTS,
    ChangedVerdicts,
    CheckedQuestion,
    Votes,
    changes,
    check_problems,
    criterion_figures,
    reordered,
    reworded,
    sections_of,
    vote_on,
)
from turnwise.transforms.judging.ask import Prompt
from turnwise.transforms.judging.prompts import Section, fill, reworded_tasks, wording


@stated("order", "names, order")
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


@stated("text", "text")
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


@stated("swapped", "name, is_swapped")
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


def test_of_a_prompt_of_ones_own_the_rules_are_reworded():
    prompt = fill("tone/1", "Grade the tone.", [Section("answer", "Hi")])
    assert reworded(prompt).instructions == f"Grade the tone.\n\n{wording('rules', 'reworded')}"


LABEL = re.compile(r"^(?:- )?(\w+):", re.MULTILINE)
FACT = re.compile(r'"[^"]+"|�|\d+(?:,\d+)*|`\w+`|\byes\b', re.IGNORECASE)


@pytest.mark.parametrize("name", reworded_tasks())
def test_another_wording_has_the_same_labels_numbers_and_quoted_words(name):
    own, other = (wording(name, folder).partition("\n\nExample (")[0] for folder in ("asked", "reworded"))
    assert set(LABEL.findall(own)) <= {*LABEL.findall(other), "Evidence"}
    assert {fact.lower() for fact in FACT.findall(own)} == {fact.lower() for fact in FACT.findall(other)}
    assert 0.8 < len(other) / len(own) < 1.35


Y, N = True, False


@stated("changes", "base, other, verdicts, unmeasured")
def test_changes(base, other, verdicts, unmeasured):
    found = changes(Votes(base), None if other is None else Votes(other), 3)
    assert found == ChangedVerdicts(verdicts, unmeasured)


def test_missing_votes_have_the_reason_of_the_form_that_lacks_them():
    assert changes(Votes([[Y, Y, Y]]), Votes([], "429"), 3) == ChangedVerdicts([], ["429"])
    assert changes(Votes([[Y]], "budget"), None, 3) == ChangedVerdicts([], ["budget"])


class Grade(turnwise.Reply):
    grade: int


def graded(verdicts=lambda reply: [reply.grade], sections=("rubric 1", "rubric 2")):
    prompt = turnwise.fill("tone/1", "Grade.", [turnwise.Section(name, name) for name in sections])
    question = turnwise.Question(prompt, Grade, turnwise.JudgeModelOptions(), verdicts=verdicts)
    return CheckedQuestion("tone", 0, question)


def test_a_question_is_asked_in_each_form_and_no_vote_answers_for_another():
    asked = []

    async def ask(question, samples):
        asked.append((question.prompt, list(samples), question.options.num_samples))
        return [turnwise.JudgeSample(Grade(grade=number)) for number in samples]

    votes = asyncio.run(vote_on(graded(), ask, 3))
    assert votes == dict.fromkeys(("repeat", "swap", "paraphrase"), Votes([[0, 1, 2]]))
    assert len({prompt for prompt, _, _ in asked}) == 3
    assert {(*samples, number) for _, samples, number in asked} == {(0, 1, 2, 3)}
    assert [*asyncio.run(vote_on(graded(sections=["answer"]), ask, 3))] == ["repeat", "paraphrase"]


@pytest.mark.parametrize(
    ("checked", "answers", "votes"),
    [
        (graded(), 1, Votes([[1]], "refused")),
        (graded(None), 1, Votes([], "refused")),
        (graded(None), 3, Votes([], UNKNOWN_VERDICTS)),
    ],
)
def test_unusable_answers_and_unknown_verdicts_are_no_votes(checked, answers, votes):
    async def ask(question, samples):
        return [turnwise.JudgeSample(Grade(grade=1) if i < answers else None, "refused") for i in samples]

    assert asyncio.run(vote_on(checked, ask, 3))["swap"] == votes


def voted(conversation, repeat, **others):
    votes = {name: Votes(*own) for name, own in {"repeat": repeat, **others}.items()}
    return graded()._replace(conversation=conversation), votes


SAME, SPLIT, OTHER = ([[Y, Y, Y]],), ([[Y, Y, N]],), ([[N, N, N]],)
LOST = ([], "429")


def test_figures_count_verdicts_and_rest_on_conversations():
    questions = [
        voted(0, SAME, swap=OTHER),
        voted(0, SPLIT, swap=SAME),
        voted(1, SAME, swap=LOST),
        voted(2, LOST),
    ]
    (found,) = criterion_figures(["tone"], questions, {}, 3)
    assert (found.conversations, found.questions, found.paraphrase) == (3, 4, None)
    assert (found.repeat.questions, found.repeat.verdicts, found.repeat.changed) == (4, 3, 1)
    assert found.repeat.share == pytest.approx(1 / 3) and found.repeat.unmeasured == {"429": 1}
    assert (found.swap.questions, found.swap.verdicts, found.swap.changed) == (3, 2, 1)
    low, high = found.swap.interval.low, found.swap.interval.high
    assert low < 0.1 and high > 0.9, "two verdicts of one conversation tell as much as one"
    wide = next(criterion_figures(["tone"], [voted(0, SAME)] * 9, {}, 3)).repeat.interval
    assert wide == Bounds(0.0, pytest.approx(0.7934, abs=1e-3))
    lost = next(criterion_figures(["tone"], [voted(0, LOST)], {}, 3)).repeat
    assert (lost.questions, lost.verdicts, lost.changed, lost.share) == (1, 0, 0, None)


VOTED = {"same": SAME, "split": SPLIT, "other": OTHER, "lost": LOST}


@stated("problem", "questions, errors, bound, problem")
def test_problems(questions, errors, bound, problem):
    """Questions by criterion: conversation, votes as it is, and when swapped."""
    checked = []
    for name, given in questions.items():
        forms = [(of, dict(zip(("repeat", "swap"), kinds, strict=False))) for of, *kinds in given]
        votes = [voted(of, **{form: VOTED[kind] for form, kind in kinds.items()}) for of, kinds in forms]
        checked += criterion_figures([name], votes, {name: errors}, 3)
    found = check_problems(checked, bound)
    assert "\n".join(found).startswith(problem) and len(found) == bool(problem)
