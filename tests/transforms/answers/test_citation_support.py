"""citation_precision, citation_recall and judged_citation_precision."""

import pytest

from tests.samples import scores_of
from tests.scripted_judge import verdicts
from turnwise.schemas.conversation import Citation, GroundedAnswer, GroundedClaim, Reference, Turn
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.judging.ask import JudgeModelOptions, NotAsked
from turnwise.transforms.judging.judges import LocalJudge
from turnwise.transforms.local_judge.grounding import MAX_QUESTIONS, SupportQuestion, TooLargeError, supported

FIRST, SECOND, THANKS = "Die Grenze liegt bei 1.131 SZR.", "Melden Sie es binnen 7 Tagen.", "Gern geschehen!"
TEXT = f"{FIRST} {SECOND} {THANKS}"
ONE, TWO, THREE = (0, 31), (32, 61), (62, 77)
LIMIT = Reference(title="Grenzen", texts=["Die Grenze liegt bei 1.131 SZR je Fluggast."])
DEADLINE = Reference(texts=["Schäden melden Sie bitte binnen 7 Tagen."])
RECORD = Reference(data={"Grenze": "1.131 SZR liegt", "bei": "Die"})
PRECISION, RECALL, JUDGED = "citation_precision", "citation_recall", "judged_citation_precision"


def answered(citations=(), claims=(), references=(LIMIT, DEADLINE), text=TEXT, **fields):
    grounded = GroundedAnswer(
        citations=[Citation(*place, list(names)) for place, names in citations],
        claims=list(claims),
        references=list(references),
        **fields,
    )
    return Turn(user="Wie hoch?", agent=text, grounded=grounded)


def score(name, turn):
    turns = scores_of(CRITERIA[name](), None, turn, language="de").turns
    return turns[0][1] if turns else None


def test_the_places_are_what_they_seem():
    assert [TEXT[slice(*place)] for place in (ONE, TWO, THREE)] == [FIRST, SECOND, THANKS]
    assert TEXT.isascii()


CLAIMS = [
    GroundedClaim(*ONE, 0.9, True, ["0"]),
    GroundedClaim(*TWO, 0.4, None, ["1"]),
    GroundedClaim(*THREE, None, False),
]


@pytest.mark.parametrize(
    ("citations", "value", "supported"),
    [
        ([(ONE, "0"), (TWO, "1")], 1.0, [True, True]),
        ([(ONE, "0"), (TWO, "01")], 2 / 3, [True, False, True]),
        ([(ONE, "1")], 0.0, [False]),
        ([((0, 61), "01")], 1.0, [True, True]),
        ([((30, 31), "0")], 1.0, [True]),
        ([(ONE, "0"), (THREE, "1")], 1.0, [True, None]),
        ([(ONE, "09")], 0.5, [True, False]),
        ([(ONE, "0"), ((0, 99), "0")], 0.5, [True, False]),
        ([(ONE, "0"), (ONE, "0")], 1.0, [True, True]),
    ],
)
def test_precision_by_claims(citations, value, supported):
    found = score(PRECISION, answered(citations, CLAIMS))
    assert found.value == pytest.approx(value)
    assert [details["supported"] for details in found.details["citations"]] == supported


@pytest.mark.parametrize(
    ("citations", "value"),
    [
        ([(ONE, "0"), (TWO, "1")], 1.0),
        ([(ONE, "1"), (TWO, "0")], 0.0),
        ([((0, 61), "01")], 1.0),
        ([(ONE, "0"), (THREE, "1")], 1.0),
        ([(ONE, "0"), (ONE, "5")], 0.5),
    ],
)
def test_precision_by_the_local_judge(citations, value):
    found = score(PRECISION, answered(citations))
    assert found.value == value
    assert {details["by"] for details in found.details["citations"]} <= {"local judge", "record"}


def test_where_a_claim_is_lacking_the_local_judge_decides():
    found = score(PRECISION, answered([(ONE, "1"), (TWO, "1")], [GroundedClaim(*ONE, 0.9, True, ["1"])]))
    assert [(d["supported"], d["by"]) for d in found.details["citations"]] == [
        (True, "claims"),
        (True, "local judge"),
    ]


def test_fields_of_a_source_are_evidence():
    assert score(PRECISION, answered([(ONE, "0")], references=[RECORD])).value == 1.0


def test_places_and_reasons_stand_in_the_details():
    found = score(PRECISION, answered([(ONE, "1")]))
    (details,) = found.details["citations"]
    assert (details["citation"], details["reference"], details["start"], details["end_byte"]) == (
        0,
        "1",
        0,
        31,
    )
    assert "1.131" in details["reason"]
    assert found.explanation.startswith("1 of 1 cited references do not support what they mark. The first: ")


@pytest.mark.parametrize("name", [PRECISION, RECALL])
@pytest.mark.parametrize(
    "turn",
    [
        answered(),
        answered([(ONE, "0")], CLAIMS, skipped_reasons=["LOW_GROUNDED_ANSWER"]),
        answered([(THREE, "0")], text=f"{' ' * 62}{THANKS}"),
        answered([(THREE, "0")], [CLAIMS[2]]),
    ],
)
def test_not_applicable(name, turn):
    found = score(name, turn)
    assert found is None or (name == RECALL and not turn.grounded.citations)


@pytest.mark.parametrize(
    ("claims", "value"),
    [
        (CLAIMS, 1.0),
        ([CLAIMS[0], GroundedClaim(*TWO, 0.1, True)], 0.5),
        ([CLAIMS[0], GroundedClaim(*TWO, 0.1, None, ["7"])], 0.5),
        ([GroundedClaim(*ONE, None, True)], 0.0),
        ([GroundedClaim(0, 99, 0.9, True, ["0"])], 1.0),
        ([CLAIMS[0], *[GroundedClaim(*TWO, 0.1, True)] * 4], 0.2),
    ],
)
def test_recall_by_claims(claims, value):
    assert score(RECALL, answered([], claims)).value == value


def test_claims_of_a_missing_text_have_no_recall():
    found = score(RECALL, answered([], CLAIMS, text=None))
    assert (found.value, found.reason) == (None, "the answer has no text that could claim anything")


@pytest.mark.parametrize(
    ("citations", "value"),
    [
        ([(ONE, "0"), (TWO, "1")], 1.0),
        ([(ONE, "01"), (TWO, "01")], 1.0),
        ([((0, 61), "01")], 1.0),
        ([(ONE, "0")], 0.5),
        ([(ONE, "1"), (TWO, "0")], 0.0),
        ([(ONE, "9")], 0.0),
        ([((0, 99), "01")], 0.0),
        ([], 0.0),
    ],
)
def test_recall_by_the_local_judge(citations, value):
    found = score(RECALL, answered(citations))
    assert found.value == value
    assert [(d["start"], d["end"]) for d in found.details["claims"]] == [ONE, TWO]


@pytest.mark.parametrize(
    ("name", "turn", "reason"),
    [
        (PRECISION, answered([(ONE, "0")] * 1001), "more than 1000"),
        (PRECISION, answered([(ONE, ["0"] * 1001)]), "more than 1000"),
        (RECALL, answered([], [CLAIMS[0]] * 1001), "more than 1000"),
        (RECALL, answered(text="Es sind 7. " * 3000), "more than 20000 characters"),
        (RECALL, answered(text="Er ging fort. " * 301), "301 sentences"),
        (PRECISION, answered([((0, 30_000), "0")] * 10, text="Es sind 7. " * 3000), "mark more than 200000"),
        (PRECISION, answered([((0, 14_000), "01")], text="Er ging fort. " * 1000), "sentences and sources"),
        (PRECISION, answered([(ONE, "0")], references=[Reference(texts=["a " * 600_000])]), "sources of"),
    ],
)
def test_what_is_too_much_has_no_score(name, turn, reason):
    found = score(name, turn)
    assert found.value is None and reason in found.reason


def test_questions_are_answered_in_order():
    questions = [
        SupportQuestion(FIRST, (LIMIT.texts[0],)),
        SupportQuestion(FIRST, (DEADLINE.texts[0],)),
        SupportQuestion(SECOND, (LIMIT.texts[0], DEADLINE.texts[0])),
        SupportQuestion(FIRST, (LIMIT.texts[0],)),
        SupportQuestion(FIRST, ()),
    ]
    labels = [verdict.label for verdict in supported(questions)]
    assert labels == ["supported", "unsupported", "supported", "supported", "unsupported"]
    with pytest.raises(TooLargeError):
        supported(questions * MAX_QUESTIONS)


def judged_criterion(samples=1, **fields):
    options = JudgeModelOptions(num_samples=samples)
    return CRITERIA["judged_citation_precision"](judge_model_options=options, **fields)


@pytest.mark.parametrize(
    ("citations", "answers", "value"),
    [
        ([(ONE, "0"), (TWO, "01")], "YNY", 2 / 3),
        ([(ONE, "0"), (TWO, "9")], "Y", 0.5),
        ([(ONE, "0"), ((0, 99), "0")], "N", 0.0),
        ([(ONE, "0"), (TWO, "1")], "Y", None),
    ],
)
def test_judged_precision(citations, answers, value, matched, judged, scripted):
    judge = scripted([verdicts(answers)])
    found = judged(judged_criterion(), matched(None, answered(citations, CLAIMS)), judge).turns[0][1]
    assert found.value == (None if value is None else pytest.approx(value))
    assert found.judge.model == "scripted" and judge.samples == 1
    assert [details["citation"] for details in found.details["citations"]] == [
        i for i, (_, names) in enumerate(citations) for _ in names
    ]


def test_what_a_judge_sees(matched, judged, scripted, sections_of):
    judge = scripted([verdicts("YY")])
    turn = answered([(ONE, "0"), (TWO, "1")], references=[LIMIT, DEADLINE, RECORD])
    judged(judged_criterion(), matched(None, turn), judge)
    assert sections_of(judge.evidence[0]) == [
        ("request", "Wie hoch?"),
        ("source 0", f"Grenzen\n{LIMIT.texts[0]}"),
        ("source 1", DEADLINE.texts[0]),
        ("passage 1, from source 0", FIRST),
        ("passage 2, from source 1", SECOND),
    ]


@pytest.mark.parametrize("turn", [answered(), Turn(agent="x"), answered([(ONE, "0")], skipped_reasons=["X"])])
def test_judged_precision_does_not_apply(turn, matched, judged, scripted):
    judge = scripted([])
    assert judged(judged_criterion(), matched(None, turn), judge).turns == []
    assert judge.samples == 0


@pytest.mark.parametrize(
    ("citations", "value", "reason"),
    [
        ([(ONE, "9")], 0.0, None),
        ([(ONE, "0")] * 301, None, "301 cited references; at most 300 are judged"),
        ([(ONE, "0")] * 1001, None, "more than 1000 claims, or references in citations"),
    ],
)
def test_what_no_judge_is_asked(citations, value, reason, matched, judged, scripted):
    judge = scripted([])
    found = judged(judged_criterion(), matched(None, answered(citations)), judge).turns[0][1]
    assert (found.value, found.reason, judge.samples) == (value, reason, 0)


def test_the_local_judge_answers_as_the_measure_does(matched, judged):
    turn = answered([(ONE, "01"), (TWO, "0"), (THREE, "0")])
    found = judged(judged_criterion(), matched(None, turn, language="de"), LocalJudge()).turns[0][1]
    measured = score(PRECISION, turn)
    ours = [details["score"] for details in found.details["citations"]]
    theirs = [details["supported"] is not False for details in measured.details["citations"]]
    assert ours == theirs == [True, False, False, True]


def test_the_local_judge_leaves_out_what_is_too_much(matched, judged):
    turn = answered([(ONE, "0")], references=[Reference(texts=["a " * 600_000])])
    found = judged(judged_criterion(), matched(None, turn), LocalJudge()).turns[0][1]
    assert found.value is None and found.reason


def test_without_a_judge(matched, judged):
    found = judged(judged_criterion(), matched(None, answered([(ONE, "0")])), NotAsked()).turns[0][1]
    assert (found.value, found.reason) == (None, "no judge configured")
