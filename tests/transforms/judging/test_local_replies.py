"""What the local judge answers to the criteria that it serves."""

import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, ToolCall, ToolResponse, Turn
from turnwise.transforms.criteria import CRITERIA
from turnwise.transforms.criteria.adk.hallucinations import Hallucinations
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.criteria.ces.hallucination import Hallucination
from turnwise.transforms.criteria.ces.similarity import SemanticSimilarity
from turnwise.transforms.judging.judges.local import LOCAL_MODEL, LocalJudge
from turnwise.transforms.judging.prompts.render import facts
from turnwise.transforms.judging.prompts.sections import Section

FOUND = ToolResponse(name="find", response={"flight": "AC457", "leaves": "14:05", "gate": "B12"})


def answered(words):
    return Turn(
        user="When does my flight leave?",
        agent=words,
        tool_calls=[ToolCall(name="find", args={"q": "flight"})],
        tool_responses=[FOUND],
    )


CLAIMS = [
    ("Your flight AC457 leaves at 14:05.", 1.0, 1.0),
    ("Your flight AC457 leaves at 19:30 from gate C99.", 0.0, 0.0),
    ("Hello! How can I help you?", 1.0, -1.0),
    ("Your flight AC457 leaves at 14:05. It lands at 23:59 in Lisbon.", 0.5, 0.0),
]


@pytest.mark.parametrize(("words", "share", "justified"), CLAIMS)
def test_claims(words, share, justified, judged, matched):
    case = matched(None, answered(words), language="en")
    ((_, sentences),) = judged(Hallucinations(), case, LocalJudge()).turns
    ((_, whole),) = judged(Hallucination(), case, LocalJudge()).turns
    assert (sentences.value, whole.value) == (share, justified)
    assert sentences.judge.model == whole.judge.model == LOCAL_MODEL


GOLDEN = EvalCase(
    eval_id="e", dialect="ces", turns=[ExpectedTurn(user="q", response="Your flight leaves at 14:05.")]
)


@pytest.mark.parametrize(("said", "wanted"), [("Your flight leaves at 14:05!", 4.0), ("Bananas!", 0.0)])
def test_similarity(said, wanted, judged, matched):
    case = matched(GOLDEN, Turn(user="q", agent=said))
    ((_, found),) = judged(SemanticSimilarity(), case, LocalJudge()).turns
    assert (found.value, found.judge.model) == (wanted, LOCAL_MODEL)


def test_the_agents_own_words_are_no_evidence():
    names = ["turn 1, user", "turn 1, agent", "turn 1, tool result 1", "turn 1, agent shows"]
    assert facts(Section(name, name[8:]) for name in names) == ["user", "tool result 1"]
    assert facts([Section("tools of an agent", "")]) == []


SERVED = {"hallucinations_v1", "hallucination", "semantic_similarity"}


@pytest.mark.parametrize("name", sorted(n for n, k in CRITERIA.items() if issubclass(k, JudgedCriterion)))
def test_it_serves_no_other_criterion(name, judged, matched):
    result = judged(CRITERIA[name](), matched(GOLDEN, answered("It leaves at 14:05.")), LocalJudge())
    assert all((score.value is not None) == (name in SERVED) for _, score in result.turns)
