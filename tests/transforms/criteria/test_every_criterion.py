"""Every criterion of the package passes, fails and has no score somewhere; what holds of all judged ones."""

import asyncio
import json
import re

import msgspec
import pytest

from tests.samples import sample_of
from tests.scripted_judge import read_sections
from tests.tables import lines_beside
from tests.transforms.test_scores import LINES
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import (
    Turn,
)
from turnwise.schemas.score import Score
from turnwise.transforms.ces.judgements import CES_CRITERIA
from turnwise.transforms.criteria.base import CRITERIA, JudgedCriterion
from turnwise.transforms.judging.ask import NO_JUDGE, JudgeSample, NotAsked
from turnwise.transforms.judging.prompts import rules_of
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.evaluate import ScoredConversation, criteria_verdict, judge_conversation
from turnwise.transforms.scoring.selection import select

SHIPPED = sorted(
    name for name, kind in CRITERIA.items() if kind.__module__.startswith("turnwise.transforms.criteria.")
)
EXAMPLES = lines_beside(__file__, "judged.jsonl")


def turns(name):
    return msgspec.convert(EXAMPLES[name]["turns"], list[Turn])


SCENARIO, GOLDEN, *OTHERS = (
    msgspec.convert(line["case"], EvalCase) for line in EXAMPLES.values() if "case" in line
)
[JUDGED_TURN], STRANGE_TURNS = turns("judged"), turns("strange")
STRANGE_TURNS[5].agent = "x" * 100_000
STRANGE_CASES = [None, GOLDEN, SCENARIO, *OTHERS]
JUDGED = [name for name in SHIPPED if issubclass(CRITERIA[name], JudgedCriterion)]
OF_SCENARIOS = {name for name in JUDGED if name.startswith(("scenario", "rubric", "per_turn", "user_goal"))}
PER_TURN = {name for name in JUDGED if CRITERIA[name].judge is not JudgedCriterion.judge}
FIVE = {
    "final_response_match_v2",
    "rubric_based_final_response_quality_v1",
    "rubric_based_tool_use_quality_v1",
    "rubric_based_multi_turn_trajectory_quality_v1",
    "per_turn_user_simulator_quality_v1",
}


def case_of(name):
    return SCENARIO if name in OF_SCENARIOS else GOLDEN


OUTCOMES = {
    (name, score.get("whole", {}).get("outcome"))
    for line in LINES.values()
    for name, score in line["scores"].items()
}


@pytest.mark.parametrize("name", SHIPPED)
def test_every_criterion_passes_fails_and_has_no_score_in_lines_of_scores(name):
    lacking = [outcome for outcome in ("PASS", "FAIL", None) if (name, outcome) not in OUTCOMES]
    assert not lacking, f"tests/transforms/criteria/scores: add lines in which {name} has {lacking}"


def built(name, **fields):
    (criterion,) = build_criteria(parse_config(json.dumps({"criteria": {name: {"threshold": 1, **fields}}})))
    return criterion


def test_conversations_with_a_ces_case_are_judged_by_these():
    of_turns = {"semantic_similarity", "hallucination", "semantic_match"}
    assert {criterion.name for criterion in CES_CRITERIA} == of_turns | {
        *("evaluation_expectations", "scenario_rubrics", "scenario_expectations", "user_goal_satisfaction")
    }


@pytest.mark.parametrize("name", JUDGED)
def test_nothing_is_scored_without_a_judge(name, judged, matched):
    result = judged(built(name), matched(case_of(name), JUDGED_TURN), NotAsked())
    scores = [score for _, score in result.turns]
    assert len(scores) == (1 if name in PER_TURN else 0)
    for score in [*scores, result.overall]:
        assert (score.value, score.outcome, score.reason, score.judge) == (None, None, NO_JUDGE, None)
    assert criteria_verdict([result]).reasons == (f"{name}: {NO_JUDGE}",)


@pytest.mark.parametrize("name", JUDGED)
def test_an_unusable_answer_is_a_reason_and_no_score(name, judged, matched, scripted):
    ask = scripted(lambda question, number: "MAX_TOKENS")
    result = judged(built(name), matched(case_of(name), JUDGED_TURN), ask)
    assert (result.overall.value, result.overall.outcome, result.overall.reason) == (None, None, "MAX_TOKENS")
    (use,) = [s.judge for s in ([s for _, s in result.turns] or [result.overall])]
    calls = 2 if name == "per_turn_user_simulator_quality_v1" else 1
    assert use.samples == ask.samples == (5 if name in FIVE else 1) * calls
    assert use.model == "scripted"
    assert re.fullmatch(r"[a-z_]+/\d", use.prompt_version)


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("answer", [{}, {"verdict": "yes"}, {"unknown": 1}])
def test_an_answer_outside_the_schema_is_unusable(name, answer, judged, matched, scripted):
    result = judged(built(name), matched(case_of(name), JUDGED_TURN), scripted(lambda *_: answer))
    assert result.overall.value is None
    assert result.overall.reason == "the answer does not fit the schema"


@pytest.mark.parametrize("name", JUDGED)
def test_nothing_recorded_is_not_applicable(name, judged, matched):
    for case in (None, EvalCase(eval_id="e"), EvalCase(eval_id="e", kind="scenario")):
        result = judged(built(name), matched(case), NotAsked())
        assert (result.turns, result.overall) == ([], None)


@pytest.mark.parametrize("name", JUDGED)
def test_how_often_it_asks(name):
    assert built(name).options.num_samples == (5 if name in FIVE else 1)
    options = built(name, judge_model_options={"judge_model": "m"}).options
    assert (options.judge_model, options.num_samples) == ("m", 5 if name in FIVE else 1)
    assert built(name, judge_model_options={"numSamples": 3}).options.num_samples == 3


@pytest.mark.parametrize("name", JUDGED)
def test_the_judged_text_stays_out_of_the_instructions(name, judged, matched, scripted, sections_of):
    ask, clean = scripted(lambda *_: "no"), scripted(lambda *_: "no")
    judged(built(name), matched(case_of(name), *turns("with instructions")), ask)
    judged(built(name), matched(case_of(name), JUDGED_TURN), clean)
    assert ask.asked
    for (question, _), (other, _) in zip(ask.asked, clean.asked, strict=True):
        assert question.prompt.instructions == other.prompt.instructions
        names = [section for section, _ in sections_of(question.prompt.evidence)]
        assert not any("Ignore" in section or "안녕" in section for section in names)
        assert "\u202e" not in question.prompt.evidence
        assert "<|" not in question.prompt.evidence


@pytest.mark.parametrize("name", JUDGED)
def test_evidence_is_not_escaped(name, judged, matched, scripted):
    ask = scripted(lambda *_: "no")
    judged(built(name), matched(case_of(name), *turns("in several scripts")), ask)
    shown = "".join(ask.evidence)
    assert any(word in shown for word in ("환불해", "返金しました", "٢ مارس"))
    assert "\\u" not in shown


@pytest.mark.parametrize("name", JUDGED)
def test_the_same_question_is_asked_in_the_same_words(name, judged, matched, scripted):
    asks = [scripted(lambda *_: "no") for _ in range(2)]
    for ask in asks:
        judged(built(name), matched(case_of(name), JUDGED_TURN), ask)
    first, second = ([(q.prompt, q.options, samples) for q, samples in ask.asked] for ask in asks)
    assert first == second


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("case", STRANGE_CASES)
def test_strange_records_raise_nothing(name, case, judged, matched):
    """Answers are out of place as well: numbers nobody asked about, twice, and in the wrong place."""

    class Odd:
        async def __call__(self, question, samples):
            return [JudgeSample(odd_reply(question.reply_model), model="odd") for _ in samples]

    for made in ([], STRANGE_TURNS[:1], STRANGE_TURNS):
        for ask in (NotAsked(), Odd()):
            judged(built(name), matched(case, *made, meta={"app_details": 3}), ask)


def odd_reply(model):
    """Builds a reply that fits its schema and nothing else."""
    values = {"number": 99, "quote": "\ud800…", "reason": "", "score": 0, "grade": 1, "label": "disputed"}
    values |= {"category": "harassment", "turn": 99}
    fields = {}
    for name, field in model.model_fields.items():
        if name in ("verdicts", "sentences", "ratings", "rubrics", "claims", "values"):
            (entry,) = field.annotation.__args__
            fields[name] = [odd_reply(entry)] * 2
        elif name == "verdict":
            fields[name] = field.annotation.__args__[0]
        else:
            fields[name] = values.get(name, "nowhere")
    return model(**fields)


def test_without_a_persona_the_user_is_held_to_the_rules_of_google_adk(judged, matched, scripted):
    ask = scripted(lambda *_: {"quote": "", "reason": "fine", "verdict": "valid"})
    case = EvalCase("e", kind="scenario", dialect="adk", task="Ask for a refund, then thank.")
    judged(built("per_turn_user_simulator_quality_v1"), matched(case, Turn(user="Hi", agent="Yes?")), ask)
    rules = [text for name, text in read_sections(ask.evidence[0]) if name.startswith("rule")]
    assert rules == rules_of(None)


def test_a_criterion_that_breaks_is_a_failure_and_the_others_go_on():
    class Broken:
        async def __call__(self, question, samples):
            if "semantic" in question.prompt.version:
                raise RuntimeError("broken")
            return [JudgeSample(None, "no")] * len(samples)

    scored = ScoredConversation(sample_of(GOLDEN, JUDGED_TURN), [], [])
    asyncio.run(judge_conversation(scored, CES_CRITERIA, Broken()))
    assert {failure.criterion for failure in scored.failures} == {"semantic_similarity", "semantic_match"}
    assert len(scored.scores) == len(CES_CRITERIA)


@pytest.mark.parametrize(
    ("case", "wanted"),
    [(None, False), (GOLDEN, True), (SCENARIO, True), (EvalCase(eval_id="e", dialect="adk"), False)],
)
def test_ces_cases_are_always_judged_by_ces_criteria(case, wanted, matched):
    asked = select((), by_dialect={"ces": CES_CRITERIA}).of(matched(case, JUDGED_TURN)).judged
    assert asked == (CES_CRITERIA if wanted else ())


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (["Yes. " * 301], "301 sentences; at most 300 are judged"),
        (["Yes. " * 300], "unread"),
        (["Yes.", "東京は三十五度です。" * 2001], "more than 20000 characters"),
        (["No " + "a" * 19_997, "Yes."], "unread"),
    ],
)
def test_an_endless_answer_is_not_judged_by_sentences(messages, reason, judged, matched, scripted):
    ask = scripted(lambda question, number: "unread")
    criterion = built("hallucinations_v1", evaluate_intermediate_nl_responses=True)
    turn = Turn(user="q", agent=messages[-1], agent_messages=messages)
    ((_, score),) = judged(criterion, matched(None, turn), ask).turns
    assert (score.value, ask.samples) == (None, reason == "unread")
    assert reason in score.reason


@pytest.mark.parametrize(("value", "wanted"), [(1.0, True), (0.0, True), (-1.0, False), (None, True)])
def test_which_scores_enter_means(value, wanted):
    assert CRITERIA["hallucination"]().counts(Score(value)) is wanted
    assert CRITERIA["user_goal_satisfaction"]().counts(Score(value)) is wanted
    assert CRITERIA["turn_latency"]().counts(Score(value))
