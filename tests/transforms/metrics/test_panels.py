from collections import Counter

from turnwise.schemas.score import Score
from turnwise.transforms.criteria.responses import FinalResponseMatch
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.metrics.state import (
    MetricsState,
    add_panel,
    merge_panels,
    packed,
    panel_column,
    unpacked,
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


def test_only_scores_of_a_panel_are_counted():
    assert counted("PP", "PF", "PP") == {(NAME, False): Counter({"PP": 2, "PF": 1})}
    assert counted() == {}
    alone = {}
    add_panel(alone, scored("PP", panel=()))
    assert alone == {}


def test_verdicts_on_the_whole_conversation_are_counted_apart():
    entry = scored("PP", "PF")
    entry.overall = Score(0.0, details={"panel": {"members": [{"verdict": "FAIL"}, {"verdict": "FAIL"}]}})
    counts = {}
    add_panel(counts, entry)
    assert counts == {(NAME, False): Counter({"PP": 1, "PF": 1}), (NAME, True): Counter({"FF": 1})}
    assert panel_column(counts, NAME, "conversation")["questions"] == 1


def test_what_is_taken_back_leaves_no_trace():
    counts = counted("PP", "PF")
    merge_panels(counts, counted("PP", "UU"), 1)
    assert counts == {(NAME, False): {"PP": 2, "PF": 1, "UU": 1}}
    merge_panels(counts, counted("PP", "PF", "PP", "UU"), -1)
    assert counts == {}


def test_the_column():
    counts = counted("PP", "PF", "UU")
    column = {"questions": 3, "decided": 1, "agreement": 1.0, "alpha": 0.0}
    assert panel_column(counts, NAME, "turn") == column
    assert panel_column(counts, NAME, "conversation") is panel_column(counts, "another", "turn") is None


def test_panels_survive_packing():
    state = MetricsState(panels=counted("PP", "PF"))
    assert unpacked(packed(state)) == state
