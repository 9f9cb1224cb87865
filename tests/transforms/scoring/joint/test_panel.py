from tests.tables import rows_test
from tests.transforms.scoring.joint import models as joint
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.responses import FinalResponseMatch
from turnwise.transforms.judging.ask import NotAsked
from turnwise.transforms.scoring.panels import Member, Recorder, majority, verdict_of

judged, says = joint.judged, joint.says
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


def verdict(score, threshold, wanted):
    score = score and Score(**score)
    assert verdict_of(FinalResponseMatch(threshold=threshold), score) == wanted
