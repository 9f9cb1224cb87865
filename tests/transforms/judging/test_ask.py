"""Votes: how many are asked for, what they come to, and verdicts that flip between them."""

import asyncio
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import turnwise
from tests.rendered_prompts import SHIPPED, TALKS, sample_of
from tests.rendered_prompts import asked as rendered
from tests.transforms.conftest import ScriptedJudge
from turnwise.pipeline.report.terminal import flips_document
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.judging.ask import (
    NO_JUDGE,
    Ballot,
    Flips,
    JudgeModelOptions,
    JudgeSample,
    Prompt,
    Question,
    ask_all,
    flips_of,
    vote,
    vote_each,
)
from turnwise.transforms.judging.judges import NoJudge
from turnwise.transforms.metrics.rows import turn_rows, version_rows
from turnwise.transforms.metrics.state import MetricsState, packed, unpacked
from turnwise.transforms.scoring.evaluate import ScoredConversation, Verdict, judge_conversation


class Answer(BaseModel):
    votes: list[Literal["yes", "no", "silent"]]


LETTERS = {"Y": "yes", "N": "no", "-": "silent"}


def sample(letters):
    """X is an unusable answer; otherwise one letter for every thing that is voted on."""
    if "X" in letters:
        return JudgeSample(None, "429")
    return JudgeSample(
        Answer(votes=[LETTERS[letter] for letter in letters]), model="m", tokens_in=10, tokens_out=3
    )


def question(samples):
    prompt = Prompt("test/1", "judge", "evidence")
    return Question(prompt, Answer, JudgeModelOptions(num_samples=samples))


class Asked:
    def __init__(self, samples):
        self.samples, self.rounds = [sample(letters) for letters in samples], []

    async def __call__(self, question, samples):
        self.rounds.append(list(samples))
        return [self.samples[i] for i in samples]


def read(answer):
    return [{"yes": True, "no": False, "silent": None}[vote] for vote in answer.votes]


def values(samples, things):
    ask = Asked(samples)
    found = asyncio.run(vote_each(ask, question(len(samples)), read, things))
    return [ballot.value for ballot in found.ballots], ask, found


TABLE = [
    # samples, value, how many were asked for
    ("Y", 1.0, 1),
    ("X", None, 1),
    ("YYYNN", 1.0, 3),
    ("YYNNY", 1.0, 5),
    ("YYNN", 0.0, 4),
    ("NNYY", 0.0, 2),
    ("YN", 0.0, 2),
    ("YXXXX", 1.0, 5),
    ("XXXXX", None, 5),
    ("XYYYY", 1.0, 4),
    ("YYXNN", 0.0, 5),
]


@pytest.mark.parametrize(("samples", "wanted", "asked"), TABLE)
def test_majorities(samples, wanted, asked):
    found, ask, _ = values(list(samples), 1)
    assert found == [wanted]
    assert sum(map(len, ask.rounds)) == asked
    assert [i for numbers in ask.rounds for i in numbers] == list(range(asked))


def test_the_first_round_is_the_smallest_that_can_decide():
    assert values(list("YYYYY"), 1)[1].rounds == [[0, 1, 2]]
    assert values(list("YNYYY"), 1)[1].rounds == [[0, 1, 2], [3]]
    assert values(list("YNYNY"), 1)[1].rounds == [[0, 1, 2], [3], [4]]


def test_the_reply_is_the_first_on_the_winning_side():
    found = values(list("NYYNY"), 1)[2]
    assert found.ballots[0].reply is found.answers.samples[1].reply
    tie = values(list("YN"), 1)[2]
    assert tie.ballots[0].reply is tie.answers.samples[1].reply


def test_nobody_judges():
    result = asyncio.run(vote(NoJudge(), question(5), lambda answer: True))
    assert (result.ballots[0].value, result.answers.reason, result.answers.use) == (None, NO_JUDGE, None)


LABELS = st.text("YN-", min_size=3, max_size=3) | st.just("X")


def asking_everyone(samples, things):
    votes = [[s[i] for s in samples if s != "X"] for i in range(things)]
    return [None if not set(v) & {"Y", "N"} else float(v.count("Y") > v.count("N")) for v in votes]


@given(st.lists(LABELS, min_size=1, max_size=9))
@settings(deadline=None)
def test_stopping_early_never_changes_a_verdict(samples):
    assert values(samples, 3)[0] == asking_everyone(samples, 3)


@given(st.integers(0, 6), st.integers(0, 6), st.integers(1, 9))
def test_no_smaller_round_could_decide(positives, negatives, remaining):
    needed = Ballot(positives, negatives).votes_needed(remaining)

    def is_decided(p, n, left):
        outcomes = {p + more > n + left - more for more in range(left + 1)} if p + n else {True, False}
        return len(outcomes) == 1

    if not needed:
        assert is_decided(positives, negatives, remaining)
        return
    reachable = [
        is_decided(positives + y, negatives + number - y, remaining - number)
        for number in range(1, needed)
        for y in (0, number)
    ]
    assert not any(reachable)
    assert any(is_decided(positives + y, negatives + needed - y, remaining - needed) for y in (0, needed))


def letters(reply):
    return [None if vote == "-" else vote for vote in reply]


FLIPS = [
    # answers (one letter an item), verdicts with several votes, those that flip
    (["y"], 0, None),
    (["y", "y"], 1, 0),
    (["y", "n", "y"], 1, 1),
    (["yy", "yn"], 2, 1),
    (["y-", "-n"], 0, None),
    (["y-n", "yyn", "nyn"], 3, 1),
    (["y", "yn"], 1, 0),
]


@pytest.mark.parametrize(("answers", "voted", "flipped"), FLIPS)
def test_flips(answers, voted, flipped):
    found = flips_of(answers, letters)
    assert found == Flips(voted, flipped)
    assert found.rate == (None if flipped is None else flipped / voted)


class Grade(turnwise.Reply):
    grade: int


def grading(number, *grades):
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
    use = asyncio.run(ask_all(*grading(len(grades), *grades))).use
    assert (use.voted, use.flipped) == wanted


def test_a_vote_tells_what_was_voted_on():
    """Only votes that were asked for count: the first two of three decide."""
    ask, asked_grade = grading(3, 5, 5, 1)
    answers = asyncio.run(vote(ask, asked_grade, lambda reply: reply.grade > 3)).answers
    assert (answers.use.samples, answers.use.voted, answers.use.flipped) == (2, 1, 0)
    ask, asked_grade = grading(3, 4, 1, 5)
    answers = asyncio.run(vote(ask, asked_grade, lambda reply: reply.grade > 3)).answers
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
