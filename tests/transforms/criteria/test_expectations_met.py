from tests.samples import scores_of
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Turn
from turnwise.transforms.criteria.base import CRITERIA


def scored(case, *turns, **fields):
    """Scores turns (or what an agent said) against a case."""
    made = [turn if isinstance(turn, Turn) else Turn(agent=turn) for turn in turns]
    return scores_of(CRITERIA["expectations_met"](), case, *made, **fields)


def wants(*texts, **fields):
    return EvalCase(eval_id="e", outputs=list(texts), **fields)


def test_what_is_told_is_bounded():
    overall = scored(wants(*(f"{i} {'x' * 10_000}" for i in range(50))), "word " * 10_000).overall
    assert len(overall.explanation) < 1_500
    assert "and 47 more" in overall.explanation
    assert all(len(check["wanted"]) + len(check["observed"]) < 400 for check in overall.details["checks"])
