"""What the local judge answers, and that no judge passes what it did not read."""

import pytest

from tests.tables import stated
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, Rubric, ToolCall, ToolResponse, Turn
from turnwise.transforms.criteria.base import CRITERIA, JudgedCriterion
from turnwise.transforms.criteria.ces import Hallucination
from turnwise.transforms.criteria.hallucinations import Hallucinations
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.judges import LOCAL_MODEL, LocalJudge

FOUND = ToolResponse(name="find", response={"flight": "AC457", "leaves": "14:05", "gate": "B12"})


def answered(words):
    return Turn(
        user="When does my flight leave?",
        agent=words,
        tool_calls=[ToolCall(name="find", args={"q": "flight"})],
        tool_responses=[FOUND],
    )


@stated("answer", "words, evidence, sample, sentences, whole")
def test_an_answer_beside_evidence(words, evidence, sample, sentences, whole, judged, matched):
    """What hallucinations_v1 says of its sentences, and hallucination of the whole: only what is named."""
    turn = answered(words)
    turn.user = sample.get("user", turn.user)
    turn.tool_calls = [ToolCall(**call) for call in sample.get("calls", ())] or turn.tool_calls
    if evidence is not None:
        turn.tool_responses = [ToolResponse(name=turn.tool_calls[0].name, response=evidence)]
    case = matched(None, turn, **sample.get("of", {}))
    for criterion, says in (
        (Hallucinations(threshold=0.5), sentences),
        (Hallucination(threshold=0.5), whole),
    ):
        scores = judged(criterion, case, LocalJudge()).turns
        for _, score in scores:
            value = None if score.value is None else round(score.value, 2)
            told = {"value": value, "label": score.label, "reason": score.reason, "why": score.explanation}
            assert {key: told[key] for key in says} == says
            assert score.judge.model == LOCAL_MODEL
        assert len(scores) == (says is not None)


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


@stated("cut", "name, good, worst")
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
    case.conversation.turns[0].tool_responses = [ToolResponse(name="find", response={"text": "x" * 30_000})]
    script = scripted(lambda question, number: {**QUOTES, "verdict": "justified"})
    scores = judged(CRITERIA["hallucination"](threshold=0.5), case, script)
    assert (scores.overall.outcome, "left_out" in scores.turns[0][1].details) == ("PASS", True)


def test_answers_of_a_model_count_beside_one_of_the_local_judge(judged, matched, scripted):
    sentence = {"number": 1, "supporting_quote": "", "contradicting_quote": "", "reason": "r"}
    wrong = {"sentences": [{**sentence, "label": "unsupported"}]}
    script = scripted(lambda question, number: question.local() if number == 1 else wrong)
    criterion = Hallucinations(judge_model_options=JudgeModelOptions(num_samples=3))
    ((_, score),) = judged(criterion, case_of(matched, "Flight: AB123, price: 250 euros."), script).turns
    assert score.value == 0.0 and score.details["sentences"][0]["votes"] == [1, 2]
