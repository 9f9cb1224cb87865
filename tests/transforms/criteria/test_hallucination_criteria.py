import pytest

from turnwise.schemas.conversation import Turn
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.ces import Hallucination, UserGoalSatisfaction
from turnwise.transforms.criteria.figures import TurnLatency
from turnwise.transforms.criteria.hallucinations import Hallucinations


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Yes. " * 301, "301 sentences; at most 300 are judged"),
        ("東京は三十五度です。" * 3000, "20000 characters"),
    ],
)
def test_an_endless_answer_is_not_judged_by_sentences(said, reason, judged, matched, scripted):
    ask = scripted([])
    ((_, score),) = judged(Hallucinations(), matched(None, Turn(user="q", agent=said)), ask).turns
    assert (score.value, ask.samples) == (None, 0)
    assert reason in score.reason


@pytest.mark.parametrize(("value", "wanted"), [(1.0, True), (0.0, True), (-1.0, False), (None, True)])
def test_which_scores_enter_means(value, wanted):
    assert Hallucination().counts(Score(value)) is wanted
    assert UserGoalSatisfaction().counts(Score(value)) is wanted
    assert TurnLatency().counts(Score(value))
