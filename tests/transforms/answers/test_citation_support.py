"""What is too much for the measures of citations, and what the local judge says; `scores/` holds the rest."""

import pytest

from tests.samples import scores_of
from turnwise.schemas.conversation import Citation, GroundedAnswer, GroundedClaim, Reference, Turn
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.judging.ask import JudgeModelOptions, NotAsked
from turnwise.transforms.judging.judges import LocalJudge
from turnwise.transforms.local_judge.grounding import MAX_QUESTIONS, TooLargeError, supported

FIRST, SECOND, THANKS = "Die Grenze liegt bei 1.131 SZR.", "Melden Sie es binnen 7 Tagen.", "Gern geschehen!"
TEXT = f"{FIRST} {SECOND} {THANKS}"
ONE, TWO, THREE = (0, 31), (32, 61), (62, 77)
LIMIT = Reference(title="Grenzen", texts=["Die Grenze liegt bei 1.131 SZR je Fluggast."])
DEADLINE = Reference(texts=["Schäden melden Sie bitte binnen 7 Tagen."])
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


@pytest.mark.parametrize(
    ("name", "turn", "reason"),
    [
        (PRECISION, answered([(ONE, "0")] * 1001), "more than 1000"),
        (PRECISION, answered([(ONE, ["0"] * 1001)]), "more than 1000"),
        (RECALL, answered([], [GroundedClaim(*ONE, 0.9, True, ["0"])] * 1001), "more than 1000"),
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
        (FIRST, (LIMIT.texts[0],)),
        (FIRST, (DEADLINE.texts[0],)),
        (SECOND, (LIMIT.texts[0], DEADLINE.texts[0])),
        (FIRST, (LIMIT.texts[0],)),
        (FIRST, ()),
    ]
    labels = [verdict.label for verdict in supported(questions)]
    assert labels == ["supported", "unsupported", "supported", "supported", "unsupported"]
    with pytest.raises(TooLargeError):
        supported(questions * MAX_QUESTIONS)


def judged_criterion(samples=1, **fields):
    options = JudgeModelOptions(num_samples=samples)
    return CRITERIA["judged_citation_precision"](judge_model_options=options, **fields)


@pytest.mark.parametrize(
    ("citations", "reason"),
    [
        ([(ONE, "0")] * 301, "301 cited references; at most 300 are judged"),
        ([(ONE, "0")] * 1001, "more than 1000 claims, or references in citations"),
    ],
)
def test_what_no_judge_is_asked(citations, reason, matched, judged, scripted):
    judge = scripted([])
    found = judged(judged_criterion(), matched(None, answered(citations)), judge).turns[0][1]
    assert (found.value, found.reason, judge.samples) == (None, reason, 0)


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
