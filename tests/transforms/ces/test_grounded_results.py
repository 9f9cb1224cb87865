"""Results and verdicts of answers, and the judges' evidence about them."""

import pytest

from turnwise.schemas.conversation import GroundedAnswer, Reference, Turn
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.judging.judges import LocalJudge
from turnwise.transforms.judging.prompts import MAX_REFERENCES, context_sections, facts

LIMIT = Reference(title="Grenzen", texts=["Die Grenze ist 1.131 SZR."], data={"lang": "de"})


def sourced(**fields):
    return Turn(user="Grenze?", agent="Bis 1.131 SZR.", grounded=GroundedAnswer(references=[LIMIT], **fields))


def test_references_are_evidence(matched):
    case = matched(None, sourced(), sourced())
    sections = context_sections(case.conversation, case.conversation.turns[1])[-2:]
    assert sections == [
        ("turn 2, user", "Grenze?"),
        ("turn 2, source 0", 'Grenzen\nDie Grenze ist 1.131 SZR.\n{"lang":"de"}'),
    ]
    assert facts(sections) == [sections[1][1]]


def test_there_are_only_so_many_sections(matched):
    answer = GroundedAnswer(references=[LIMIT] * (MAX_REFERENCES + 7))
    case = matched(None, Turn(agent="a", grounded=answer))
    sections = context_sections(case.conversation, case.conversation.turns[0])
    assert len(sections) == MAX_REFERENCES + 1
    assert sections[-1] == ("turn 1, 7 more sources are not shown", "")


@pytest.mark.parametrize(("turn", "value"), [(sourced(), 1.0), (Turn(agent="Bis 1.131 SZR."), 0.0)])
def test_hallucinations_by_the_references(turn, value, matched, judged):
    found = judged(CRITERIA["hallucinations_v1"](), matched(None, turn), LocalJudge()).turns[0][1]
    assert round(found.value, 2) == value
