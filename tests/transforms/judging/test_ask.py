"""Votes: how many are asked for, what they come to, and verdicts that flip between them."""

import asyncio
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import turnwise
from tests.rendered_prompts import SHIPPED, TALKS
from tests.rendered_prompts import asked as rendered
from tests.tables import stated
from turnwise.transforms.judging.ask import (
    NO_JUDGE,
    Flips,
    JudgeModelOptions,
    JudgeSample,
    NotAsked,
    Prompt,
    Question,
    flips_of,
    read_reply,
    vote_each,
)


class Answer(BaseModel):
    votes: list[Literal["yes", "no", "silent"]]


class Graded(BaseModel):
    grade: int | list[float]
    passed: bool = True


@stated("reply", "text, read")
def test_only_a_number_is_a_number(text, read):
    reply = read_reply(text, Graded)
    assert (reply.grade if isinstance(reply, Graded) else reply.reason) == read


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


@stated("majority", "samples, wanted, asked")
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
    for letters, number in (("NYYNY", 1), ("YN", 1), ("YNN", 1), ("NYN", 0)):
        vote_of_all = values(list(letters), 1)[2]
        assert vote_of_all.ballots[0].reply is vote_of_all.answers.samples[number].reply


def test_nobody_judges():
    result = asyncio.run(vote_each(NotAsked(), question(5), lambda answer: [True], 1))
    assert (result.ballots[0].value, result.answers.reason, result.answers.use) == (None, NO_JUDGE, None)


LABELS = st.text("YN-", min_size=3, max_size=3) | st.just("X")


def asking_everyone(samples, things):
    votes = [[s[i] for s in samples if s != "X"] for i in range(things)]
    return [None if not set(v) & {"Y", "N"} else float(v.count("Y") > v.count("N")) for v in votes]


@given(st.lists(LABELS, min_size=1, max_size=9))
@settings(deadline=None)
def test_stopping_early_never_changes_a_verdict(samples):
    assert values(samples, 3)[0] == asking_everyone(samples, 3)


def letters(reply):
    return [None if vote == "-" else vote for vote in reply]


@stated("flips", "answers, voted, flipped")
def test_flips(answers, voted, flipped):
    found = flips_of(answers, letters)
    assert found == Flips(voted, flipped)
    assert found.rate == (None if flipped is None else flipped / voted)


class Grade(turnwise.Reply):
    grade: int


# Grades, samples and verdicts: an unusable answer (None) is no vote, a cached one (negative) is; only votes
# that were asked for count, so that the first two of three may decide.


@stated("vote", "grades, wanted")
def test_a_vote_tells_what_was_voted_on(grades, wanted):
    async def ask(question, samples):
        return [
            JudgeSample(None if g is None else Grade(grade=abs(g)), "429", "m", is_cached=(g or 0) < 0)
            for g in (grades[i] for i in samples)
        ]

    asked = Question(Prompt("tone/1", "Grade.", "Hi"), Grade, JudgeModelOptions(num_samples=3))
    use = asyncio.run(vote_each(ask, asked, lambda reply: [reply.grade > 3], 1)).answers.use
    assert [use.samples, use.voted, use.flipped] == wanted


@pytest.mark.parametrize("name", SHIPPED)
def test_every_criterion_tells_what_an_answer_decides(name):
    assert rendered(name, TALKS["English"]).verdicts is not None
