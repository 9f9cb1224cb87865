from collections import Counter

from turnwise.schemas.score import Score
from turnwise.transforms.criteria.responses import FinalResponseMatch
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.metrics.state import (
    add_panel,
    panel_column,
)
from turnwise.transforms.scoring.evaluate import CriterionScores

NAME = FinalResponseMatch.name


def scored(*letters, panel=("a", "b")):
    verdicts = {"P": "PASS", "F": "FAIL", "U": None}
    criterion = FinalResponseMatch(judge_model_options=JudgeModelOptions(panel=panel))
    scores = [
        Score(1.0, details={"panel": {"members": [{"verdict": verdicts[one]} for one in each]}})
        for each in letters
    ]
    return CriterionScores(criterion, list(enumerate([*scores, Score(0.0)])), Score(1.0))


def counted(*letters):
    counts = {}
    add_panel(counts, scored(*letters))
    return counts


def test_only_scores_of_a_panel_are_counted_and_those_of_whole_conversations_apart():
    assert counted("PP", "PF", "PP") == {(NAME, False): Counter({"PP": 2, "PF": 1})}
    assert counted() == {}
    counts = {}
    add_panel(counts, scored("PP", panel=()))
    assert counts == {}
    entry = scored("PP", "PF")
    entry.overall = Score(0.0, details={"panel": {"members": [{"verdict": "FAIL"}, {"verdict": "FAIL"}]}})
    add_panel(counts, entry)
    assert counts == {(NAME, False): Counter({"PP": 1, "PF": 1}), (NAME, True): Counter({"FF": 1})}
    assert panel_column(counts, NAME, "conversation")["questions"] == 1


def test_the_column():
    counts = counted("PP", "PF", "UU")
    column = {"questions": 3, "decided": 1, "agreement": 1.0, "alpha": 0.0}
    assert panel_column(counts, NAME, "turn") == column
    assert panel_column(counts, NAME, "conversation") is panel_column(counts, "another", "turn") is None
