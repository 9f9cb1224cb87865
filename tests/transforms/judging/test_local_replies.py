"""What the local judge answers to the criteria that it serves."""

import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, ToolCall, ToolResponse, Turn
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import CRITERIA, JudgedCriterion
from turnwise.transforms.criteria.ces_turns import (
    INCOMPARABLE,
    UNDECIDED,
    Hallucination,
    SemanticSimilarity,
    in_ces_terms,
)
from turnwise.transforms.criteria.hallucinations import Hallucinations
from turnwise.transforms.judging.judges_base import LOCAL_MODEL, LocalJudge
from turnwise.transforms.judging.prompts import Section, facts, messages_of_user

FOUND = ToolResponse(name="find", response={"flight": "AC457", "leaves": "14:05", "gate": "B12"})


def answered(words):
    return Turn(
        user="When does my flight leave?",
        agent=words,
        tool_calls=[ToolCall(name="find", args={"q": "flight"})],
        tool_responses=[FOUND],
    )


CLAIMS = [
    ("Your flight AC457 leaves at 14:05.", 0.9, 0.9, "Justified"),
    ("How can I help you? Your flight AC457 leaves at 14:05.", 0.9, 0.9, "Justified"),
    ("Your flight AC457 leaves at 19:30 from gate C99.", 0.0, 0.0, "Not Justified"),
    ("Your flight AC457 leaves at 14:05. It lands at 23:59 in Lisbon.", 0.03, 0.0, "Not Justified"),
]


@pytest.mark.parametrize(("words", "probability", "justified", "label"), CLAIMS)
def test_claims(words, probability, justified, label, judged, matched):
    case = matched(None, answered(words), language="en")
    ((_, sentences),) = judged(Hallucinations(), case, LocalJudge()).turns
    ((_, whole),) = judged(Hallucination(), case, LocalJudge()).turns
    assert (round(sentences.value, 2), round(whole.value, 2), whole.label) == (probability, justified, label)
    assert sentences.judge.model == whole.judge.model == LOCAL_MODEL


def test_an_answer_that_claims_nothing_is_never_good(judged, matched):
    case = matched(None, answered("Hello! How can I help you?"), language="en")
    assert judged(Hallucinations(), case, LocalJudge()).turns == []
    ((_, whole),) = judged(Hallucination(), case, LocalJudge()).turns
    assert (whole.value, whole.label) == (-1.0, "No Claim To Assess")


def test_a_sentence_that_claims_nothing_has_no_probability(judged, matched):
    case = matched(None, answered("Any questions? Your flight AC457 leaves at 14:05."), language="en")
    ((_, score),) = judged(Hallucinations(), case, LocalJudge()).turns
    found = [(detail["label"], detail["probability"]) for detail in score.details["sentences"]]
    assert found == [("not_applicable", None), ("supported", score.value)]


def test_the_mean_is_over_the_messages_that_claim_something(judged, matched):
    turn = answered("Your flight AC457 leaves at 14:05.")
    turn.agent_messages = ["One moment?", "Your flight lands in Lisbon at 23:59.", turn.agent]
    criterion = Hallucinations(evaluate_intermediate_nl_responses=True)
    ((_, score),) = judged(criterion, matched(None, turn, language="en"), LocalJudge()).turns
    assert round(score.value, 2) == 0.45


PROSE = "The lounge on the second floor is open to all guests of the airline until eight in the evening."


@pytest.mark.parametrize(
    ("said", "evidence", "value", "label", "reason"),
    [
        ("The lounge is open to all guests.", PROSE, 0.9, "Justified", None),
        ("The sauna is a treat for the whole family.", PROSE, 0.0, "Undecided", None),
        ("Die Lounge hat für alle Gäste offen.", PROSE, None, None, INCOMPARABLE),
        ("The sauna is a treat for the whole family.", {"lounge": "open"}, None, None, INCOMPARABLE),
        ("라운지는 손님 모두에게 열려 있습니다.", PROSE, None, None, INCOMPARABLE),
        ("Die Lounge schließt um 21 Uhr.", PROSE, 0.0, "Not Justified", None),
    ],
)
def test_words_decide_only_against_prose_in_their_language(
    said, evidence, value, label, reason, judged, matched
):
    turn = answered(said)
    turn.tool_responses = [ToolResponse(name="find", response={"found": evidence})]
    ((_, score),) = judged(Hallucination(), matched(None, turn), LocalJudge()).turns
    rounded = None if score.value is None else round(score.value, 2)
    assert (rounded, score.label, score.reason) == (value, label, reason)


@pytest.mark.parametrize(
    ("value", "label", "wanted"),
    [
        (0.9, "Justified", 1.0),
        (0.0, "Not Justified", 0.0),
        (-1.0, "No Claim To Assess", -1.0),
        (0.2, UNDECIDED, None),
        (None, None, None),
    ],
)
def test_a_graded_score_in_the_terms_of_ces(value, label, wanted):
    found = in_ces_terms(Score(value, label=label, reason=None if label else "why"))
    assert (found.value, found.reason is None) == (wanted, wanted is not None)


def test_the_users_words_support_nothing_and_their_numbers_are_not_invented(judged, matched):
    turn = answered("The refund of 500 dollars is approved.")
    turn.user = "The refund of 500 dollars is approved, right?"
    ((_, score),) = judged(Hallucinations(), matched(None, turn, language="en"), LocalJudge()).turns
    assert score.value < 0.1
    assert score.explanation == "No evidence says “refund”, “dollars”, “approved”."


GOLDEN = EvalCase(
    eval_id="e", dialect="ces", turns=[ExpectedTurn(user="q", response="Your flight leaves at 14:05.")]
)


@pytest.mark.parametrize(("said", "wanted"), [("Your flight leaves at 14:05!", 4.0), ("Bananas!", 0.0)])
def test_similarity(said, wanted, judged, matched):
    case = matched(GOLDEN, Turn(user="q", agent=said))
    ((_, found),) = judged(SemanticSimilarity(), case, LocalJudge()).turns
    assert (found.value, found.judge.model) == (wanted, LOCAL_MODEL)


def test_what_user_and_agent_say_is_no_evidence():
    names = ["turn 1, user", "turn 1, agent", "turn 1, tool result 1", "turn 1, agent shows"]
    sections = [Section(name, name[8:]) for name in names]
    assert (facts(sections), messages_of_user(sections)) == (["tool result 1"], ["user"])
    assert facts([Section("tools of an agent", "")]) == []


SERVED = {"hallucinations_v1", "hallucination", "semantic_similarity"}


@pytest.mark.parametrize("name", sorted(n for n, k in CRITERIA.items() if issubclass(k, JudgedCriterion)))
def test_it_serves_no_other_criterion(name, judged, matched):
    result = judged(CRITERIA[name](), matched(GOLDEN, answered("It leaves at 14:05.")), LocalJudge())
    assert all((score.value is not None) == (name in SERVED) for _, score in result.turns)
