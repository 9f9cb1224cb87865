import json

import pytest

from schemas.case import EvalCase
from schemas.conversation import Conversation, ExpectedTurn, Turn
from schemas.record import Record
from transforms.config import build_criteria, parse_config
from transforms.conversation_case import ConversationCase
from transforms.criteria import CRITERIA
from transforms.criteria.judged import NO_JUDGE, JudgedConversation, JudgedTurn
from transforms.scoring import score_conversation
from transforms.verdict import criteria_verdict

PER_TURN = [
    "final_response_match_v2",
    "rubric_based_final_response_quality_v1",
    "rubric_based_tool_use_quality_v1",
    "hallucinations_v1",
    "per_turn_user_simulator_quality_v1",
    "safety_v1",
    "response_evaluation_score",
]
PER_CONVERSATION = [
    "rubric_based_multi_turn_trajectory_quality_v1",
    "multi_turn_task_success_v1",
    "multi_turn_trajectory_quality_v1",
    "multi_turn_tool_use_quality_v1",
]
GOLDEN = EvalCase(eval_id="e", turns=[ExpectedTurn(response="hi"), ExpectedTurn(response="bye")])


def scored(name, case, turns):
    criteria = build_criteria(parse_config(json.dumps({"criteria": {name: 0.5}})))
    conversation = Conversation(conversation_id="c", turns=turns)
    return score_conversation(ConversationCase(conversation, case, Record("f", 1, b"{}")), criteria)


def test_all_of_them_are_tested():
    judged = {name for name, kind in CRITERIA.items() if issubclass(kind, JudgedTurn)}
    assert judged == {*PER_TURN, *PER_CONVERSATION}
    whole = {name for name, kind in CRITERIA.items() if issubclass(kind, JudgedConversation)}
    assert whole == set(PER_CONVERSATION)


@pytest.mark.parametrize("name", PER_TURN)
def test_turns_stay_unscored_without_a_judge(name):
    found = scored(name, GOLDEN, [Turn(agent="hi"), Turn(agent="bye")])
    (result,) = found.scores
    assert [(i, s.value, s.outcome, s.reason) for i, s in result.turns] == [
        (0, None, None, NO_JUDGE),
        (1, None, None, NO_JUDGE),
    ]
    assert (result.overall.value, result.overall.outcome, result.overall.reason) == (None, None, NO_JUDGE)
    assert criteria_verdict(found.scores).status is None
    assert criteria_verdict(found.scores).reasons == (f"{name}: {NO_JUDGE}",)


@pytest.mark.parametrize("name", PER_CONVERSATION)
def test_conversations_stay_unscored_without_a_judge(name):
    found = scored(name, None, [Turn(agent="hi"), Turn(agent="bye")])
    (result,) = found.scores
    assert result.turns == []
    assert (result.overall.value, result.overall.outcome, result.overall.reason) == (None, None, NO_JUDGE)
    assert criteria_verdict(found.scores).reasons == (f"{name}: {NO_JUDGE}",)


@pytest.mark.parametrize("name", PER_TURN + PER_CONVERSATION)
def test_nothing_recorded_is_not_applicable(name):
    (result,) = scored(name, GOLDEN, []).scores
    assert (result.turns, result.overall) == ([], None)


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        (None, []),
        (EvalCase(eval_id="e", turns=[ExpectedTurn(), ExpectedTurn(response="x")]), [1]),
        (EvalCase(eval_id="e", turns=[ExpectedTurn(response=""), ExpectedTurn(response="x")]), [1]),
    ],
)
def test_an_expected_answer_is_needed_to_match_it(case, wanted):
    (result,) = scored("final_response_match_v2", case, [Turn(agent="a"), Turn(agent="b")]).scores
    assert [turn for turn, _ in result.turns] == wanted


def test_the_scale_of_coherence_is_adks():
    assert CRITERIA["response_evaluation_score"].scale == (1.0, 5.0)
    assert {CRITERIA[name].scale for name in PER_TURN[:-1] + PER_CONVERSATION} == {(0.0, 1.0)}
