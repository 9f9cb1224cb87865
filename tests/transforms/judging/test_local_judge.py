"""What the local judge answers, and that no judge passes what it did not read."""

import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import APP_DETAILS, ExpectedTurn, Rubric, ToolCall, ToolResponse, Turn
from turnwise.transforms.criteria.base import CRITERIA, JudgedCriterion
from turnwise.transforms.criteria.ces import Hallucination
from turnwise.transforms.criteria.hallucinations import Hallucinations
from turnwise.transforms.judging.judges import LOCAL_MODEL, LocalJudge
from turnwise.transforms.local_judge.grounding import ABSENCE, IN_RECORDS, OTHER_LANGUAGE, OTHER_POLARITY

FOUND = ToolResponse(name="find", response={"flight": "AC457", "leaves": "14:05", "gate": "B12"})


def answered(words):
    return Turn(
        user="When does my flight leave?",
        agent=words,
        tool_calls=[ToolCall(name="find", args={"q": "flight"})],
        tool_responses=[FOUND],
    )


CLAIMS = [
    ("Your flight AC457 leaves at 14:05.", 1.0, 1.0, "Justified"),
    ("Your flight AC457 leaves at 19:30 from gate C99.", 0.0, 0.0, "Not Justified"),
    ("Your flight AC457 leaves at 14:05. It lands at 23:59 in Lisbon.", 0.5, 0.0, "Not Justified"),
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


PROSE = "The lounge on the second floor is open to all guests of the airline until eight in the evening."


@pytest.mark.parametrize(
    ("said", "evidence", "value", "label", "reason"),
    [
        ("The lounge is open to all guests.", PROSE, 1.0, "Justified", None),
        ("The sauna is a treat for the whole family.", PROSE, 0.0, "Undecided", None),
        ("Die Lounge hat für alle Gäste offen.", PROSE, None, None, OTHER_LANGUAGE),
        ("The sauna is a treat for the whole family.", {"lounge": "open"}, None, None, IN_RECORDS),
        ("Die Lounge ist für alle da, und a la carte gibt es auch.", PROSE, None, None, OTHER_LANGUAGE),
        ("라운지는 손님 모두에게 열려 있습니다.", PROSE, None, None, OTHER_LANGUAGE),
        ("Die Lounge schließt um 21 Uhr.", PROSE, 0.0, "Not Justified", None),
        (
            "Sale items can be refunded.",
            "Refunds are not possible for sale items.",
            None,
            None,
            OTHER_POLARITY,
        ),
        ("Sale items can be refunded.", "Refunds are given for sale items.", 1.0, "Justified", None),
    ],
)
def test_words_decide_only_against_prose_in_their_language(
    said, evidence, value, label, reason, judged, matched
):
    turn = answered(said)
    turn.tool_responses = [ToolResponse(name="find", response={"found": evidence})]
    sample = matched(None, turn)
    sample.conversation.meta[APP_DETAILS] = [{"desk": {"tool_declarations": [{"name": "find"}]}}]
    ((_, score),) = judged(Hallucination(), sample, LocalJudge()).turns
    rounded = None if score.value is None else round(score.value, 2)
    assert (rounded, score.label, score.reason) == (value, label, reason)
    ((_, score),) = judged(Hallucinations(threshold=0.5), sample, LocalJudge()).turns
    rounded = None if score.value is None else round(score.value, 2)
    assert (rounded, score.reason) == (value, reason)


INSTRUCTION = "You are the agent of a shop. You can look up orders for the user, and cancel them on request."
SHIPPED = {"order": 5, "status": "shipped"}


@pytest.mark.parametrize(
    ("said", "evidence", "reason"),
    [
        ("Sorry, the booking failed.", {"error": "timeout"}, ABSENCE),
        ("I was unable to reach the reservation system.", "HTTP 503", ABSENCE),
        ("I couldn't find any flights on that day.", {"flights": []}, ABSENCE),
        ("No flights on May 3 were found.", {"flights": []}, ABSENCE),
        ("There is no order under that name.", {"status": 404}, ABSENCE),
        ("Leider gibt es keine freien Zimmer.", {"rooms": []}, ABSENCE),
        ("Aucun vol n'est disponible.", {"flights": []}, ABSENCE),
        ("Order 5 could not be found.", SHIPPED, None),
        ("I see no order 5 in the system.", {"order": 5, "exists": False}, ABSENCE),
        ("I see no order 5 in the system.", {"order": 5, "matches": 0}, ABSENCE),
        ("Your parcel is on its way.", SHIPPED, IN_RECORDS),
        ("Ihr Paket ist unterwegs.", SHIPPED, IN_RECORDS),
        ("Your parcel 9 is on its way.", SHIPPED, None),
    ],
)
def test_no_word_alone_fails_what_evidence_cannot_show(said, evidence, reason, judged, matched):
    turn = answered(said)
    turn.user = "Please look it up."
    turn.tool_responses = [ToolResponse(name="find", response=evidence)]
    sample = matched(None, turn)
    sample.conversation.meta[APP_DETAILS] = [{"shop": {"instructions": INSTRUCTION}}]
    for criterion in (Hallucinations(threshold=0.5), Hallucination(threshold=0.5)):
        ((_, score),) = judged(criterion, sample, LocalJudge()).turns
        assert score.reason == reason
        assert (score.value is None) == (reason is not None)
        assert score.value is None or score.value < 0.5


def test_a_wrong_number_fails_beside_a_sentence_that_words_cannot_refute(judged, matched):
    sample = matched(None, answered("All set for you! Your flight AC457 leaves at 19:30."), language="en")
    ((_, score),) = judged(Hallucinations(threshold=0.5), sample, LocalJudge()).turns
    assert score.value < 0.1


def test_the_users_words_support_nothing_and_their_numbers_are_not_invented(judged, matched):
    turn = answered("The refund of 500 dollars is approved.")
    turn.user = "The refund of 500 dollars is approved, right?"
    turn.tool_responses = [ToolResponse(name="find", response=PROSE)]
    ((_, score),) = judged(Hallucinations(), matched(None, turn, language="en"), LocalJudge()).turns
    assert score.value < 0.1
    assert score.explanation == "No evidence says “refund”, “dollars”, “approved”."


GOLDEN = EvalCase(
    eval_id="e", dialect="ces", turns=[ExpectedTurn(user="q", response="Your flight leaves at 14:05.")]
)
SERVED = {"hallucinations_v1", "hallucination", "semantic_similarity"}


@pytest.mark.parametrize("name", sorted(n for n, k in CRITERIA.items() if issubclass(k, JudgedCriterion)))
def test_it_serves_no_other_criterion(name, judged, matched):
    result = judged(CRITERIA[name](), matched(GOLDEN, answered("It leaves at 14:05.")), LocalJudge())
    assert all((score.value is not None) == (name in SERVED) for _, score in result.turns)


FACT = "The flight AB123 costs 250 euros. "
SOURCES = [ToolResponse(name="find", response={"flight": "AB123", "price": "250 euros"})]
LONG = FACT * 700
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
    assert (round(found.overall.value, 2), found.overall.outcome) == (1.0, "PASS")
    wrong = hallucination(judged, matched, FACT * sentences + "It has 7 stops.")
    assert (wrong.overall.value, wrong.overall.outcome) == (0.0, "FAIL")


@pytest.mark.parametrize(
    ("name", "good", "worst"),
    [
        ("hallucination", {**QUOTES, "verdict": "justified"}, {**QUOTES, "verdict": "not_justified"}),
        ("final_response_match_v2", {**MATCH, "verdict": "valid"}, {**MATCH, "verdict": "invalid"}),
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
