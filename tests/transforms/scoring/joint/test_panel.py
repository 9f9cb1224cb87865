from tests.tables import rows_test
from tests.transforms.scoring.joint.models import judged
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.responses import FinalResponseMatch
from turnwise.transforms.judging.ask import NotAsked
from turnwise.transforms.scoring.panels import Member, Recorder, verdict_of
from turnwise.transforms.scoring.selection import majority

PANEL = ["a", "b", "c"]


test_rows = rows_test(globals(), "panel")


def votes(answers, value, outcome, agreement, reason):
    panel = "abcd"[: len(answers)]
    score, overall, models = judged(
        {model: [answer] for model, answer in zip(panel, answers, strict=True)}, panel=list(panel)
    )
    assert (score.value, score.outcome, score.reason) == (value, outcome, reason)
    assert overall.outcome == outcome
    found = score.details["panel"]
    assert found["agreement"] == agreement
    assert found["verdict"] == outcome
    verdicts = {"Y": "PASS", "N": "FAIL", "U": None}
    assert [(m["model"], m["verdict"]) for m in found["members"]] == [
        (model, verdicts[answer]) for model, answer in zip(panel, answers, strict=True)
    ]
    assert [m["reason"] for m in found["members"] if m["verdict"] is None] == ["HTTP 500"] * answers.count(
        "U"
    )
    assert sorted(models.models()) == list(panel)


def test_each_member_has_its_own_samples():
    score, _, _ = judged({"a": ["Y"], "b": ["N", "Y", "N"], "c": ["U"]}, panel=PANEL, num_samples=3)
    assert score.reason == "the panel has no majority: 1 FAIL, 1 PASS"
    members = score.details["panel"]["members"]
    assert [(m["samples"], m["tokens_in"], m["tokens_out"]) for m in members] == [
        (2, 20, 4),
        (3, 30, 6),
        (3, 30, 6),
    ]
    assert (score.judge.model, score.judge.samples, score.judge.tokens_in) == ("a, b, c", 8, 80)


def test_each_failing_member_is_named_with_its_reason():
    failed = [
        Member(name, Score(None, reason=why), None, Recorder(NotAsked("")))
        for name, why in (("a", "HTTP 500"), ("b", "no budget"), ("c", "HTTP 500"))
    ]
    _, reason = majority(failed)
    assert reason and reason.endswith(", 2 are needed: a, c: HTTP 500; b: no budget")


def grades(given, threshold, value, outcome):
    """The value is the lower median; without a threshold, the halves of the scale are the verdicts."""
    panel = "abcd"[: len(given)]
    score, _, _ = judged(
        {model: [grade] for model, grade in zip(panel, given, strict=True)},
        "response_evaluation_score",
        panel=list(panel),
        gate={"threshold": threshold},
    )
    assert (score.value, score.outcome) == (value, outcome)
    assert (score.reason is None) == (value is not None)


def test_a_panel_of_the_run():
    answers = {"a": ["Y"], "b": ["Y"], "own": ["N"], "gemini-2.5-flash": ["N"]}
    score, _, models = judged(answers, judge={"panel": ["a", "b"]})
    assert (score.value, sorted(models.models())) == (1.0, ["a", "b"])
    score, _, models = judged(answers, judge={"panel": ["a", "b"]}, judge_model="own")
    assert (score.value, models.models()) == (0.0, ["own"])
    assert "panel" not in score.details
    score, _, models = judged(answers, judge={"model": "own"}, panel=["a", "b"])
    assert (score.value, sorted(models.models())) == (1.0, ["a", "b"])


def test_what_needs_no_judge_is_asked_of_no_member():
    score, _, models = judged({}, panel=["a", "b"], agent=" ")
    assert (score.value, score.explanation, score.details) == (0.0, "The agent said nothing.", None)
    assert models.asked == []


def test_rubrics_of_a_panel_without_a_majority_are_not_judged():
    rubrics = [{"rubric_id": "r", "rubric_content": {"text_property": "It is polite."}}]
    answers = {"a": ["Y"], "b": ["U"]}
    score, overall, _ = judged(
        answers, "rubric_based_final_response_quality_v1", panel=["a", "b"], gate={"rubrics": rubrics}
    )
    assert score.value is None and overall.outcome is None and overall.value is None
    assert [rubric["score"] for rubric in score.details["rubrics"]] == [None]


def verdict(score, threshold, wanted):
    score = score and Score(**score)
    assert verdict_of(FinalResponseMatch(threshold=threshold), score) == wanted
