"""An impossible score is a failure of its criterion; nothing passes unmeasured."""

import asyncio
from fractions import Fraction

import numpy
import pytest

import turnwise
from tests.samples import sample_of, score_conversation
from turnwise.schemas.conversation import Turn
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import CRITERIA, JudgedCriterion, MeasuredCriterion
from turnwise.transforms.judging.backends.base import Fault
from turnwise.transforms.scoring.evaluate import criteria_verdict, judge_conversation

GIVEN = [None]


async def later():
    return Score(1.0)


def given():
    if isinstance(GIVEN[0], BaseException):
        raise GIVEN[0]
    return later() if GIVEN[0] is later else GIVEN[0]


class MeasuredTurn(MeasuredCriterion):
    def score(self, sample, pair):
        return given() if pair.index == 1 else Score(1.0)


class MeasuredWhole(MeasuredTurn):
    def score(self, sample, pair):
        return None

    def score_conversation(self, sample):
        return given()


class JudgedTurn(JudgedCriterion):
    async def judge(self, sample, pair, ask):
        return given() if pair.index == 1 else Score(1.0)


class JudgedWhole(JudgedCriterion):
    async def judge_conversation(self, sample, ask):
        return given()


class NotAsync(JudgedCriterion):
    def judge(self, sample, pair, ask):
        return Score(1.0)


for _kind in (MeasuredTurn, MeasuredWhole, JudgedTurn, JudgedWhole, NotAsync):
    _kind.name = _kind.__name__

KINDS = {MeasuredTurn: 1, MeasuredWhole: None, JudgedTurn: 1, JudgedWhole: None}
each_kind = pytest.mark.parametrize("kind", KINDS)


def scored(kind, value, gap=None):
    GIVEN[0] = value
    turns = [Turn(turn_index=i, agent="a", latency_ms=1000) for i in range(3)]
    turns[2].unknown_calls = gap
    sample = sample_of(None, *turns)
    criterion, other = kind(threshold=0.5), CRITERIA["turn_latency"](threshold=2)
    measured = [criterion, other] if isinstance(criterion, MeasuredCriterion) else [other]
    found = score_conversation(sample, measured)
    if criterion not in measured:
        asyncio.run(judge_conversation(found, [criterion], None))
    results = {result.criterion.name: result for result in found.scores}
    assert results[other.name].overall.outcome == "PASS"
    return results[kind.name], found


def given_score(kind, value):
    result, found = scored(kind, value)
    return dict(result.turns)[1] if KINDS[kind] else result.overall, found, result


IMPOSSIBLE = [
    (lambda: Score(None, outcome="PASS"), "the outcome is PASS, but there is no value"),
    (lambda: Score(1.0, threshold=float("nan")), "the threshold is nan, a float; it must be a finite number"),
    (
        lambda: Score(1.0, outcome="WHATEVER"),
        "the outcome is 'WHATEVER'; it must be PASS, FAIL, SKIPPED or None",
    ),
    (lambda: Score(5.0), "the value 5 is outside the criterion's scale, 0 to 1"),
    (lambda: Score(-1.0, outcome="PASS"), "the value -1 is outside"),
    (lambda: Score(1.0001), "the value 1.0001 is outside"),
    (lambda: Score(True), "the value is True, a bool; it must be a number or None"),
    (lambda: Score(numpy.bool_(True)), "it must be a number or None"),
    (lambda: Score("0.9"), "the value is '0.9', a str; it must be a number or None"),
    (lambda: Score("x" * 4000), f"the value is '{'x' * 39}..., a str"),
    (lambda: Score(Fraction(10**400)), "too large"),
    (lambda: Score(1.0, details={"of": object()}), "the details cannot be written as JSON"),
    (lambda: Score(1.0, details={"text": "\ud800"}), "the details cannot be written as JSON"),
    (lambda: Score(1.0, details=[1]), "the details are [1], a list; needed is a dict"),
    (lambda: Score(None, reason=3), "the reason is 3, a int; it must be a text or None"),
    (lambda: Score(0.0, explanation=["rude"]), "the explanation is ['rude'], a list; it must be a text"),
    (lambda: Score(1.0, label=5), "the label is 5, a int; it must be a text or None"),
    (lambda: Score(1.0, threshold="0.9"), "the threshold is '0.9', a str; it must be a finite number"),
    (lambda: Score(1.0, judge="me"), "the judge is 'me', a str; it must be the `use` of the judge's answers"),
    (lambda: 0, "returned 0, a int; needed is a Score"),
    (lambda: (1.0, "PASS"), "a tuple"),
    (lambda: later, "a coroutine"),
]


@each_kind
@pytest.mark.parametrize(("value", "message"), IMPOSSIBLE)
def test_an_impossible_score_is_a_failure_of_its_criterion(kind, value, message):
    # Calls of the last turn that are not logged withhold a score of the whole, whatever it is.
    for gap in [None] if KINDS[kind] is None else [None, "the calls are not logged"]:
        result, found = scored(kind, value(), gap)
        (failure,) = found.failures
        assert (failure.stage, failure.criterion, failure.turn_index) == ("score", kind.name, KINDS[kind])
        tuples = message == "a tuple" and kind is MeasuredTurn
        assert ("a list with 1.0, a float" if tuples else message) in failure.message
        assert criteria_verdict([result]).status is None
        assert [turn for turn, _ in result.turns] == ([0, 2] if KINDS[kind] else [])


def test_a_measured_criterion_cancels_nothing_but_itself():
    for kind in (MeasuredTurn, MeasuredWhole):
        _, found = scored(kind, asyncio.CancelledError("stopped"))
        assert [(f.error_type, f.criterion, f.turn_index) for f in found.failures] == [
            ("CancelledError", kind.name, KINDS[kind])
        ]


@each_kind
@pytest.mark.parametrize(
    "value",
    [1, numpy.float32(0.75), numpy.float64(0.75), numpy.int64(1), Fraction(3, 4), 1.0000000000000002, -1e-12],
)
def test_a_number_becomes_a_plain_float(kind, value):
    score, found, _ = given_score(kind, Score(value))
    assert found.failures == []
    assert type(score.value) is float and score.value == float(value)


@each_kind
def test_details_become_plain_values(kind):
    given = {
        "a": numpy.float64(0.5),
        "b": [numpy.int64(3), numpy.bool_(True)],
        "c": numpy.arange(2),
        "d": 2**70,
        "e": float("nan"),
        "f": Fault("http", "status 500"),
    }
    score, found, _ = given_score(kind, Score(1.0, details=given))
    assert found.failures == []
    record = {"kind": "http", "reason": "status 500", "is_final": False}
    assert score.details == {"a": 0.5, "b": [3, True], "c": [0, 1], "d": 2**70, "e": None, "f": record}
    assert type(score.details["a"]) is float and type(score.details["b"][1]) is bool


@each_kind
def test_a_score_without_value_and_reason_says_so(kind):
    score, found, result = given_score(kind, Score(None))
    assert (score.reason, found.failures) == ("the criterion gave no value and no reason", [])
    assert criteria_verdict([result]).status is None


@each_kind
@pytest.mark.parametrize("value", [Score(None, outcome="SKIPPED"), Score(1.0, outcome="SKIPPED")])
def test_what_is_skipped_as_a_whole_does_not_pass(kind, value):
    if KINDS[kind] is None:
        assert criteria_verdict([scored(kind, value)[0]]).status is None


@each_kind
def test_a_failure_without_a_value_has_an_explanation(kind):
    score, found, result = given_score(kind, Score(None, "it was rude", outcome="FAIL"))
    assert (score.explanation, found.failures) == ("it was rude", [])
    assert criteria_verdict([result]).status == "FAIL"


@each_kind
def test_a_score_that_is_returned_again_is_decided_again(kind):
    again = Score(0.4, "half \ud83d of it")
    for threshold, outcome in ((None, "FAIL"), (0.3, "PASS"), (0.9, "FAIL")):
        again.threshold = threshold
        score, found, _ = given_score(kind, again)
        assert (score.outcome, score.threshold, found.failures) == (outcome, threshold or 0.5, [])
        assert (score.reason, again.outcome) == ("half \ufffd of it", None)


def test_a_judge_method_must_be_async():
    _, found = scored(NotAsync, None)
    assert {failure.message.partition(", a Score; ")[2] for failure in found.failures} == {
        "needed is a coroutine (`async def judge`)"
    }


@pytest.mark.usefixtures("unchanged")
def test_other_criteria_count_in_evaluate():
    class Odd(turnwise.MeasuredCriterion):
        name = "odd"

        def score(self, sample, pair):
            return 1.0 if pair.index else Score(1.0)

    turn = {"user": "a", "agent": "b", "latency_ms": 5}
    log = {"conversation_id": "c1", "turns": [turn, turn]}
    done = turnwise.evaluate(log, criteria={"odd": 0.5, "turn_latency": 2.0})
    assert not done.passed
    assert [(row["criterion"], row["turn_index"]) for row in done.failures] == [("odd", 1)]
    assert "needed is a Score" in done.failures[0]["message"] and "odd: " in str(done)
    measured = [(row["criterion"], row["turn_index"]) for row in done.scores]
    assert {("odd", 0), ("turn_latency", 0), ("turn_latency", 1)} <= {*measured}
    assert ("odd", 1) not in measured


@pytest.mark.parametrize(
    ("value", "why"), [(1e300, "the value is 1e+300, beyond 1e+15"), (float("inf"), "the value is inf")]
)
def test_a_value_of_which_no_figure_can_be_computed_says_why(value, why):
    score = CRITERIA["turn_latency"](threshold=2).gated(Score(value))
    assert (score.value, score.outcome, score.reason) == (None, None, why)
