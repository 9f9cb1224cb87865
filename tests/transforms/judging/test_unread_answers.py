"""A judge that did not read all of an answer passes nothing of what it did not read."""

import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, Rubric, ToolCall, ToolResponse, Turn
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.judging.judges_base import LocalJudge

FACT = "The flight AB123 costs 250 euros. "
SOURCES = [ToolResponse(name="find", response={"flight": "AB123", "price": "250 euros"})]
LONG = FACT * 700
WRONG_AT_THE_END = FACT * 350 + "It has 7 stops."
QUOTES = {"claim_quote": "", "context_quote": "", "reason": "r"}
MATCH = {"reference_quote": "", "answer_quote": "", "reason": "r"}
SAFE = [
    {"category": name, "quote": "", "reason": "r", "verdict": "safe"}
    for name in ("hate_speech", "dangerous_content", "harassment", "sexually_explicit", "civic_integrity")
]


def case_of(matched, answer):
    turn = Turn(user="q", agent=answer, tool_calls=[ToolCall(name="find", args={})], tool_responses=SOURCES)
    expected = ExpectedTurn(response="x", rubrics=[Rubric("1", "polite", "FINAL_RESPONSE_QUALITY")])
    return matched(EvalCase(eval_id="e", turns=[expected]), turn, language="en")


def hallucination(judged, matched, answer):
    return judged(CRITERIA["hallucination"](threshold=0.5), case_of(matched, answer), LocalJudge())


@pytest.mark.parametrize("sentences", [20, 500])
def test_the_local_judge_reads_every_sentence_of_an_answer(sentences, judged, matched):
    assert len(FACT) * 500 < 20_000
    found = hallucination(judged, matched, FACT * sentences)
    assert (round(found.overall.value, 2), found.overall.outcome) == (0.9, "PASS")
    wrong = hallucination(judged, matched, FACT * sentences + "It has 7 stops.")
    assert (wrong.overall.value, wrong.overall.outcome) == (0.0, "FAIL")


def test_the_local_judge_does_not_pass_what_it_did_not_read(judged, matched):
    scores = hallucination(judged, matched, LONG + "It has 7 stops.")
    (score,) = [score for _, score in scores.turns]
    assert (score.value, score.outcome, scores.overall.outcome) == (None, None, None)
    assert "were not read" in score.reason
    assert score.details["unread"] == len(LONG) + 15 - 20_000


def test_what_is_wrong_in_the_part_that_was_read_fails(judged, matched):
    scores = hallucination(judged, matched, "It has 7 stops. " + LONG)
    assert (scores.overall.value, scores.overall.outcome) == (0.0, "FAIL")


@pytest.mark.parametrize(
    ("name", "good", "worst"),
    [
        ("hallucination", {**QUOTES, "verdict": "justified"}, {**QUOTES, "verdict": "not_justified"}),
        ("hallucination", {**QUOTES, "verdict": "no_claim"}, {**QUOTES, "verdict": "not_justified"}),
        ("final_response_match_v2", {**MATCH, "verdict": "valid"}, {**MATCH, "verdict": "invalid"}),
        (
            "semantic_similarity",
            {"expected_quote": "", "actual_quote": "", "reason": "r", "score": 4},
            {"expected_quote": "", "actual_quote": "", "reason": "r", "score": 0},
        ),
        (
            "response_evaluation_score",
            {"quote": "", "reason": "r", "grade": 5},
            {"quote": "", "reason": "r", "grade": 1},
        ),
        ("safety_v1", {"ratings": SAFE}, {"ratings": [{**SAFE[0], "verdict": "unsafe"}, *SAFE[1:]]}),
        (
            "rubric_based_final_response_quality_v1",
            {"verdicts": [{"number": 1, "quote": "", "reason": "r", "verdict": "yes"}]},
            {"verdicts": [{"number": 1, "quote": "", "reason": "r", "verdict": "no"}]},
        ),
    ],
)
def test_a_model_that_saw_a_cut_answer(name, good, worst, judged, matched, scripted):
    criterion = CRITERIA[name](threshold=CRITERIA[name]().threshold or 0.5)
    script = scripted(lambda question, number: good)
    short = judged(criterion, case_of(matched, FACT), script)
    assert short.overall is None or short.overall.outcome in ("PASS", None)
    cut = judged(criterion, case_of(matched, LONG), script)
    assert (cut.overall.value, cut.overall.outcome) == (None, None)
    assert "were not read" in cut.overall.reason
    failed = judged(criterion, case_of(matched, LONG), scripted(lambda question, number: worst))
    assert failed.overall.outcome == "FAIL"


def test_a_cut_context_leaves_a_score_its_value(judged, matched, scripted):
    case = case_of(matched, FACT)
    case.conversation.turns[0].tool_responses[0].response = {"text": "x" * 30_000}
    script = scripted(lambda question, number: {**QUOTES, "verdict": "justified"})
    scores = judged(CRITERIA["hallucination"](threshold=0.5), case, script)
    assert (scores.overall.outcome, "left_out" in scores.turns[0][1].details) == ("PASS", True)
