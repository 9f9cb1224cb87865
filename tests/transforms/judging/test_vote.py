import asyncio
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from turnwise.transforms.judging.ask import (
    LEFT_OUT,
    NO_JUDGE,
    Answers,
    Ballot,
    JudgeModelOptions,
    JudgeSample,
    Prompt,
    Question,
    ask_all,
    vote,
    vote_each,
)
from turnwise.transforms.judging.judges_base import NoJudge


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
    ("N", 0.0, 1),
    ("X", None, 1),
    ("YYYNN", 1.0, 3),
    ("NNNYY", 0.0, 3),
    ("YYNNY", 1.0, 5),
    ("YYNNN", 0.0, 5),
    ("YYNN", 0.0, 4),
    ("NNYY", 0.0, 2),
    ("YN", 0.0, 2),
    ("NY", 0.0, 1),
    ("YXXXX", 1.0, 5),
    ("YNXXX", 0.0, 5),
    ("YYNXX", 1.0, 5),
    ("XXXXX", None, 5),
    ("XYYYY", 1.0, 4),
    ("YYYYX", 1.0, 3),
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


def test_what_it_took():
    use = values(["X", "Y", "N", "Y"], 1)[2].answers.use
    assert (use.model, use.prompt_version, use.samples, use.cached) == ("m", "test/1", 4, 0)
    assert (use.tokens_in, use.tokens_out) == (30, 9)


def test_reasons():
    assert values(["X", "X"], 1)[2].answers.reason == "429"
    assert values(["-", "-"], 1)[2].answers.reason == LEFT_OUT


def test_nobody_judges():
    result = asyncio.run(vote(NoJudge(), question(5), lambda answer: True))
    assert (result.ballots[0].value, result.answers.reason, result.answers.use) == (None, NO_JUDGE, None)


def test_asking_for_grades_asks_all_at_once():
    ask = Asked(["Y", "X", "N"])
    answers = asyncio.run(ask_all(ask, question(3)))
    assert ask.rounds == [[0, 1, 2]]
    assert len(answers.replies) == 2


LABELS = st.text("YN-", min_size=3, max_size=3) | st.just("X")


def asking_everyone(samples, things):
    votes = [[s[i] for s in samples if s != "X"] for i in range(things)]
    return [None if not set(v) & {"Y", "N"} else float(v.count("Y") > v.count("N")) for v in votes]


@given(st.lists(LABELS, min_size=1, max_size=9))
@settings(deadline=None)
def test_stopping_early_never_changes_a_verdict(samples):
    assert values(samples, 3)[0] == asking_everyone(samples, 3)


@given(st.lists(LABELS, min_size=1, max_size=7), st.randoms())
@settings(deadline=None)
def test_the_order_of_the_votes_does_not_matter(samples, random):
    shuffled = list(samples)
    random.shuffle(shuffled)
    assert values(samples, 3)[0] == values(shuffled, 3)[0]


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


def test_answers_to_nothing_have_a_reason():
    assert Answers(question(1)).reason == LEFT_OUT
