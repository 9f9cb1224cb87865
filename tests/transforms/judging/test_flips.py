"""Verdicts that flip between votes: counted by question, added up in metrics."""

import asyncio

import pytest

import turnwise
from tests.rendered_prompts import SHIPPED, TALKS, sample_of
from tests.rendered_prompts import asked as rendered
from tests.transforms.conftest import ScriptedJudge
from turnwise.pipeline.report.terminal import flips_document, flips_text
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.judging.ask import Flips, ask_all, flips_of, vote
from turnwise.transforms.metrics.rows import turn_rows, version_rows
from turnwise.transforms.metrics.state import MetricsState, packed, unpacked
from turnwise.transforms.scoring.evaluate import ScoredConversation, Verdict, judge_conversation


def read(reply):
    return [None if vote == "-" else vote for vote in reply]


TABLE = [
    # answers (one letter an item), verdicts with several votes, those that flip
    ([], 0, None),
    (["y"], 0, None),
    (["y", "y"], 1, 0),
    (["y", "n"], 1, 1),
    (["y", "n", "y"], 1, 1),
    (["yy", "yn"], 2, 1),
    (["y-", "y-"], 1, 0),
    (["y-", "-n"], 0, None),
    (["y-n", "yyn", "nyn"], 3, 1),
    (["y", "yn"], 1, 0),
    (["0", "3", "3"], 1, 1),
]


@pytest.mark.parametrize(("answers", "voted", "flipped"), TABLE)
def test_flips(answers, voted, flipped):
    found = flips_of(answers, read)
    assert found == Flips(voted, flipped)
    assert found.rate == (None if flipped is None else flipped / voted)


def test_of_verdicts_that_are_not_known_nothing_is_said():
    assert flips_of(["y", "n"], None) == Flips(0, None)


SUMS = [
    (Flips(), Flips(), Flips(0, None)),
    (Flips(2, 1), Flips(), Flips(2, 1)),
    (Flips(), Flips(3, 0), Flips(3, 0)),
    (Flips(2, 1), Flips(3, 2), Flips(5, 3)),
]


@pytest.mark.parametrize(("one", "other", "both"), SUMS)
def test_sums(one, other, both):
    assert one.plus(other) == both


class Grade(turnwise.Reply):
    grade: int


def question(number, *grades):
    """Asks a question; a grade of None is an unusable answer, and a negative one comes from the cache."""

    async def ask(question, samples):
        given = [grades[i] for i in samples]
        return [
            turnwise.JudgeSample(
                None if g is None else Grade(grade=abs(g)), "429", "m", is_cached=(g or 0) < 0
            )
            for g in given
        ]

    prompt = turnwise.fill("tone/1", "Grade.", [turnwise.Section("answer", "Hi")])
    options = turnwise.JudgeModelOptions(num_samples=number)
    return ask, turnwise.Question(prompt, Grade, options, verdicts=lambda reply: [reply.grade])


USES = [
    # An unusable answer is no vote, a cached one is.
    ((3, 3), (1, 0)),
    ((3, 4), (1, 1)),
    ((3, None), (0, None)),
    ((None, None), (0, None)),
    ((-3, -4), (1, 1)),
]


@pytest.mark.parametrize(("grades", "wanted"), USES)
def test_the_use_of_the_judge_has_them(grades, wanted):
    use = asyncio.run(ask_all(*question(len(grades), *grades))).use
    assert (use.voted, use.flipped) == wanted


def test_a_vote_tells_what_was_voted_on():
    """Only votes that were asked for count: the first two of three decide."""
    ask, grading = question(3, 5, 5, 1)
    answers = asyncio.run(vote(ask, grading, lambda reply: reply.grade > 3)).answers
    assert (answers.use.samples, answers.use.voted, answers.use.flipped) == (2, 1, 0)
    ask, grading = question(3, 4, 1, 5)
    answers = asyncio.run(vote(ask, grading, lambda reply: reply.grade > 3)).answers
    assert (answers.use.samples, answers.use.voted, answers.use.flipped) == (3, 1, 1)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_criterion_tells_what_an_answer_decides(name):
    assert rendered(name, TALKS["English"]).verdicts is not None


def graded(grades):
    """Returns the metrics of two answers, both with these grades."""
    criterion = CRITERIA["response_evaluation_score"](judge_model_options={"num_samples": len(grades)})
    scored = ScoredConversation(sample_of(TALKS["German"], False), [], [])
    judge = ScriptedJudge([{"quote": "", "reason": "r", "grade": grade} for grade in grades])
    asyncio.run(judge_conversation(scored, [criterion], judge))
    state = MetricsState()
    state.add(scored, Verdict(None))
    return state


ROWS = [([3], (0, None, None)), ([3, 3], (2, 0, 0.0)), ([3, 4, 3], (2, 2, 1.0))]


@pytest.mark.parametrize(("grades", "wanted"), ROWS)
def test_metrics_count_them_where_the_score_stands(grades, wanted):
    state = unpacked(packed(graded(grades)))
    rows = version_rows(("v", state), "r")
    found = {row["level"]: (row["voted"], row["flipped"], row["flip_rate"]) for row in rows[1:]}
    assert found == {"turn": wanted, "conversation": (0, None, None)}
    assert [row["flip_rate"] for row in turn_rows(("v", state), "r")] == [wanted[2]] * 2
    both = flips_document(rows + version_rows(("w", graded([1, 1])), "r"))
    voted, flipped, _ = wanted
    assert both["response_evaluation_score"]["voted"] == voted + 2
    assert both["response_evaluation_score"]["flipped"] == (flipped or 0)


def test_the_lines_of_a_run():
    rows = version_rows(("v", graded([3, 4])), "r")
    assert flips_text(rows).endswith("between votes: response_evaluation_score 2 of 2 (100.0%)")
    assert flips_text(version_rows(("v", graded([3])), "r")) == ""


def test_what_is_taken_back_leaves_nothing():
    state = graded([3, 4])
    state.merge(graded([3, 4]), -1)
    assert state == MetricsState()
