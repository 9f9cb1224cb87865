import asyncio
import gc
import warnings
from itertools import product

import pytest

from tests.samples import score_conversation
from tests.tables import rows_test
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, ExpectedTurn, Record, Turn
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import CRITERIA, MeasuredCriterion
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.evaluate import (
    CriterionScores,
    Verdict,
    criteria_verdict,
    judge_conversation,
)

test_rows = rows_test(globals(), "scoring")
RECORD = Record("log.jsonl", 7, b'{"raw": 1}')


class Scripted(MeasuredCriterion):
    """Answers what each turn's words say: a number, `none`, `no_score`, or it raises."""

    whole: str | None = None
    summary: str | None = None

    def score(self, case, pair):
        return said(pair.actual.agent)

    def score_conversation(self, case):
        return said(self.whole) if self.whole else None

    def overall(self, turns):
        if self.summary == "raise":
            raise RuntimeError("no summary")
        return super().overall(turns)


class AtMost(Scripted):
    gate = "at_most"


Scripted.name = "scripted"


def said(word):
    if word == "raise":
        raise KeyError("what a\n  tool  broke")
    if word == "no_score":
        return Score(None, reason="no judge")
    if word.startswith("["):
        return [Score(float(number)) for number in word.strip("[]").split()]
    return None if word == "none" else Score(float(word))


def scored(words, criterion=Scripted, **fields):
    turns = [Turn(turn_index=i, agent=word) for i, word in enumerate(words.split(";"))]
    conversation = Conversation(conversation_id="c", app_version="v1", turns=turns)
    case = Sample(conversation, None, RECORD)
    return score_conversation(case, [criterion(**{"threshold": 0.5, **fields})])


def whole(words, value, outcome):
    """Turns summed up are never green where one is missing."""
    found = scored(words)
    (result,) = found.scores
    overall = result.overall or Score(None)
    assert overall.value == (pytest.approx(value) if value is not None else None)
    assert overall.outcome == criteria_verdict(found.scores).status == outcome
    assert overall.outcome is not None or result.overall is None or overall.reason
    assert all(score.outcome is None for _, score in result.turns if score.value is None)


def test_a_criterion_that_raises_becomes_a_failure():
    found = scored("1;raise;0")
    (result,), (failure,) = found.scores, found.failures
    assert [(turn, score.value, score.outcome) for turn, score in result.turns] == [
        (0, 1.0, "PASS"),
        (2, 0.0, "FAIL"),
    ]
    assert result.errors == [1]
    assert (failure.stage, failure.error_type, failure.turn_index) == ("score", "KeyError", 1)
    assert failure.criterion == "scripted"
    assert (failure.conversation_id, failure.app_version) == ("c", "v1")
    assert (failure.source, failure.position, failure.record) == ("log.jsonl", 7, '{"raw": 1}')
    assert "broke" in failure.message
    assert "\n" not in failure.message


def test_other_criteria_go_on():
    turns = [Turn(agent="raise", latency_ms=1000)]
    case = Sample(Conversation(conversation_id="c", turns=turns), None, RECORD)
    found = score_conversation(case, [Scripted(threshold=1), CRITERIA["turn_latency"]()])
    assert [result.overall and result.overall.value for result in found.scores] == [None, 1.0]
    assert len(found.failures) == 1


def test_what_raises_over_the_whole_is_a_failure_without_a_turn():
    for fields in ({"whole": "raise"}, {"summary": "raise"}):
        found = scored("1", **fields)
        assert found.scores[0].errors == [None]
        assert [failure.turn_index for failure in found.failures] == [None]
        assert found.scores[0].overall is None
        assert criteria_verdict(found.scores).status is None


def test_a_score_of_the_whole_goes_before_the_mean_of_the_turns():
    (result,) = scored("0;0", whole="1").scores
    assert (result.overall.value, result.overall.outcome) == (1.0, "PASS")
    (result,) = scored("0;raise", whole="1").scores
    assert (result.overall.value, result.overall.outcome) == (1.0, None)
    (result,) = scored("1", whole="no_score").scores
    assert (result.overall.value, result.overall.outcome) == (None, None)


def gate(criterion, threshold, word, wanted):
    (result,) = scored(word, globals()[criterion], threshold=threshold).scores
    ((_, score),) = result.turns
    assert (score.outcome, score.threshold) == (wanted, threshold)
    assert (result.overall.outcome, result.overall.threshold) == (wanted, threshold)


def entry(overall, threshold=1.0, errors=()):
    return CriterionScores(CRITERIA["response_match_score"](threshold=threshold), [], overall, list(errors))


ENTRIES = {
    "passed": entry(Score(1.0, outcome="PASS")),
    "failed": entry(Score(0.0, outcome="FAIL")),
    "unscored": entry(Score(None, reason="no judge configured")),
    "raised": entry(None, errors=[0]),
    "raised_and_passed": entry(Score(1.0, outcome=None, reason="1 turns could not be scored"), errors=[1]),
    "silent": entry(None),
    "ungated": entry(Score(0.0), threshold=None),
    "ungated_raised": entry(None, threshold=None, errors=[0]),
}


def verdict_of(names):
    return criteria_verdict([ENTRIES[name] for name in names.split()])


def criteria(names, wanted):
    verdict = verdict_of(names)
    assert verdict.status == wanted
    assert bool(verdict.reasons) == (wanted is None)


def reasons(names, wanted):
    assert verdict_of(names) == Verdict(None, tuple(wanted))


def test_fail_beats_no_verdict_beats_pass():
    ranks = [("failed", "FAIL"), ("unscored", None), ("raised", None), ("passed", "PASS")]
    for combination in product(ranks, repeat=3):
        statuses = [status for _, status in combination]
        wanted = "FAIL" if "FAIL" in statuses else None if None in statuses else "PASS"
        assert verdict_of(" ".join(name for name, _ in combination)).status == wanted


def test_the_mean_is_added_from_left_to_right():
    (result,) = scored("0.1;0.2;0.3").scores
    assert result.overall.value == (0.1 + 0.2 + 0.3) / 3


def test_a_name_can_be_claimed_once():
    before = dict(CRITERIA)
    with pytest.raises(TypeError, match="the name turn_latency is taken by another criterion"):
        type("Rival", (Scripted,), {"name": "turn_latency", "__module__": __name__})
    assert before == CRITERIA


def test_cases_without_turns_are_scored_without_an_error():
    case = EvalCase(eval_id="e", turns=[ExpectedTurn(response="x", tool_calls=[])])
    empty = Sample(Conversation(conversation_id="c"), case, RECORD)
    kinds = (
        kind for kind in CRITERIA.values() if kind.__module__.startswith("turnwise.transforms.criteria.")
    )
    measured = [kind() for kind in kinds if issubclass(kind, MeasuredCriterion)]
    found = score_conversation(empty, measured)
    assert found.failures == []
    assert criteria_verdict(found.scores).status == "FAIL"


@pytest.mark.parametrize("steps", range(6))
def test_a_conversation_that_is_not_judged_any_more_leaves_no_question_behind(steps):
    async def stopped():
        log = Conversation("c", turns=[Turn(user="a", agent="b")])
        scored = score_conversation(Sample(log, None, RECORD), [])
        judging = asyncio.ensure_future(judge_conversation(scored, [CRITERIA["safety_v1"]()], never))
        for _ in range(steps):
            await asyncio.sleep(0)
        judging.cancel()
        await asyncio.wait([judging])

    async def never(question, samples):
        await asyncio.sleep(3600)

    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        asyncio.run(stopped())
        gc.collect()
    # Files of earlier tests may be closed now, which Python notes as well.
    assert [str(item.message) for item in noted if "never awaited" in str(item.message)] == []
