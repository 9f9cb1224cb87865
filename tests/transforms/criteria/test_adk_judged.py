"""safety_v1, response_evaluation_score, the multi_turn criteria, and the user simulator's."""

import pytest

from tests.scripted_judge import verdicts
from turnwise.schemas.case import EvalCase, UserFact
from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn
from turnwise.transforms.criteria.responses import ResponseEvaluation
from turnwise.transforms.criteria.rubrics import (
    CATEGORIES,
    MultiTurnTaskSuccess,
    MultiTurnToolUseQuality,
    MultiTurnTrajectoryQuality,
    PerTurnUserSimulatorQuality,
    Safety,
)
from turnwise.transforms.formats.adk_cases import eval_cases
from turnwise.transforms.judging.prompts import rules_of

SAFE = {category: "safe" for category in CATEGORIES}


def ratings(verdicts, quote=""):
    entries = verdicts.items() if isinstance(verdicts, dict) else verdicts
    return {
        "ratings": [
            {"category": c, "quote": quote if v == "unsafe" else "", "reason": f"{c} is {v}", "verdict": v}
            for c, v in entries
        ]
    }


LESS = {c: "safe" for c in CATEGORIES[1:]}
SAFETIES = [
    ([ratings(SAFE)], 1.0, "safe", "PASS"),
    ([ratings({**SAFE, "harassment": "unsafe"})], 0.0, "HARM_CATEGORY_HARASSMENT", "FAIL"),
    ([ratings(LESS)], None, None, None),
    ([ratings({**LESS, "harassment": "unsafe"})], 0.0, "HARM_CATEGORY_HARASSMENT", "FAIL"),
    ([ratings([*SAFE.items(), ("civic_integrity", "unsafe")])], 0.0, "HARM_CATEGORY_CIVIC_INTEGRITY", "FAIL"),
    (["SAFETY"], None, None, None),
    ([ratings(SAFE), ratings({**SAFE, "hate_speech": "unsafe"})], 0.0, "HARM_CATEGORY_HATE_SPEECH", "FAIL"),
    ([ratings(SAFE), ratings({**SAFE, "hate_speech": "unsafe"}), ratings(SAFE)], 1.0, "safe", "PASS"),
]


@pytest.mark.parametrize(("samples", "value", "label", "outcome"), SAFETIES)
def test_safety(samples, value, label, outcome, judged, matched, scripted):
    criterion = Safety(judge_model_options={"num_samples": len(samples)})
    ((_, score),) = judged(criterion, matched(None, Turn(user="q", agent="a")), scripted(samples)).turns
    assert (score.value, score.label, score.outcome) == (value, label, outcome)


def test_where_the_harm_is(judged, matched, scripted):
    said = "좋아요. 😀 Ihr seid alle Idioten!"
    turn = Turn(user="q", agent_messages=["Hm.", said], agent=said)
    ask = scripted([ratings({**SAFE, "harassment": "unsafe"}, "Ihr seid alle Idioten")])
    ((_, score),) = judged(Safety(), matched(None, turn), ask).turns
    assert list(score.details["categories"]) == [f"HARM_CATEGORY_{c.upper()}" for c in CATEGORIES]
    found = score.details["categories"]["HARM_CATEGORY_HARASSMENT"]
    whole = f"Hm.\n{said}"
    assert whole[found["start"] : found["end"]] == found["quote"] == "Ihr seid alle Idioten"
    assert (found["verdict"], found["quote_found"]) == ("unsafe", True)
    harmless = score.details["categories"]["HARM_CATEGORY_HATE_SPEECH"]
    assert (harmless["verdict"], harmless["start"], harmless["end"]) == ("safe", None, None)


def test_one_harmful_turn_fails_the_conversation(judged, matched, scripted):
    turns = [Turn(user=str(i), agent="a") for i in range(10)]

    def _script(question, number):
        bad = "request]\n7\n" in question.prompt.evidence
        return ratings({**SAFE, "hate_speech": "unsafe"} if bad else SAFE)

    overall = judged(Safety(), matched(None, *turns), scripted(_script)).overall
    assert (overall.value, overall.outcome) == (0.9, "FAIL")


def grade(number):
    return {"quote": "a", "reason": f"grade {number}", "grade": number}


COHERENCES = [
    ([grade(4)], 4.0),
    ([grade(0)], None),
    ([grade(6)], None),
    ([grade(1), grade(5), grade(2)], 2.0),
    ([grade(2), grade(5)], 2.0),
    ([grade(2), "429", grade(5)], 2.0),
    (["429"], None),
]


@pytest.mark.parametrize(("samples", "wanted"), COHERENCES)
def test_coherence(samples, wanted, judged, matched, scripted):
    criterion = ResponseEvaluation(judge_model_options={"num_samples": len(samples)})
    ((_, score),) = judged(criterion, matched(None, Turn(user="q", agent="a")), scripted(samples)).turns
    assert score.value == wanted
    assert score.outcome == (None if wanted is None else "PASS" if wanted >= 3 else "FAIL")


MULTI_TURN = [
    (MultiTurnTaskSuccess, "Y", 1.0),
    (MultiTurnTaskSuccess, "N", 0.0),
    (MultiTurnTaskSuccess, "-", None),
    (MultiTurnTrajectoryQuality, "YYYYN", 0.8),
    (MultiTurnTrajectoryQuality, "YYYY-", None),
    (MultiTurnToolUseQuality, "YNYNYN", 0.5),
]


@pytest.mark.parametrize(("kind", "letters", "wanted"), MULTI_TURN)
def test_multi_turn(kind, letters, wanted, judged, matched, scripted):
    assert len(letters) == len(kind.aspects)
    ask = scripted([verdicts(letters)])
    turns = [Turn(user="q", agent="a"), Turn(user="r", agent="b", tool_calls=[ToolCall(name="t")])]
    result = judged(kind(), matched(None, *turns), ask)
    assert result.turns == []
    assert result.overall.value == wanted
    assert [a["aspect"] for a in result.overall.details["aspects"]] == list(kind.aspects)
    assert ask.samples == 1


def test_a_multi_turn_judge_sees_the_whole_conversation(judged, matched, scripted, sections_of):
    ask = scripted([verdicts("Y")])
    case = EvalCase(eval_id="e", kind="scenario", task="get a refund")
    turn = Turn(
        user="q", agent="a", tool_calls=[ToolCall(name="t")], tool_responses=[ToolResponse(response=1)]
    )
    judged(MultiTurnTaskSuccess(), matched(case, turn, Turn(user="r")), ask)
    assert [name for name, _ in sections_of(ask.evidence[0])] == [
        "turn 1, user",
        "turn 1, tool call 1",
        "turn 1, tool result 1",
        "turn 1, agent",
        "turn 2, user",
        "what the user was to achieve",
        "aspect 1",
    ]


# per_turn_user_simulator_quality_v1


def scenario(start="I want a refund.", **fields):
    facts = [UserFact(name="starting_prompt", value=start)] if start else []
    fields = {"task": "Ask for a refund, then thank.", "user_facts": facts, **fields}
    return EvalCase(eval_id="e", kind="scenario", dialect="adk", **fields)


V = {"quote": "", "reason": "fine", "verdict": "valid"}
I = {"quote": "", "reason": "off the plan", "verdict": "invalid"}  # noqa: E741
OPENS = Turn(user=" I want a refund.\n", agent="Which flight?")
GOES_ON = Turn(user="AC457", agent="Done.")
THANKS = Turn(user="Thanks!", agent="Bye.")


def by_message(stop=V, **messages):
    """Answers by the message that is judged."""

    def _answer(question, number):
        judged = question.prompt.evidence.split(": to be judged]\n")[1].split("\n[")[0]
        return stop if judged == "</finished>" else messages[judged.strip("!")]

    return _answer


SIMULATIONS = [
    ([OPENS], by_message(), [1.0], 1.0),
    ([OPENS], by_message(stop=I), [0.0], 0.0),
    ([GOES_ON], by_message(), [0.0], 0.0),
    ([OPENS, GOES_ON, THANKS], by_message(AC457=V, Thanks=V), [1.0, 1.0, 1.0], 1.0),
    ([OPENS, GOES_ON, THANKS], by_message(AC457=I, Thanks=V), [1.0, 0.0, 1.0], 2 / 3),
    ([OPENS, GOES_ON, THANKS], by_message(stop=I, AC457=V, Thanks=V), [1.0, 1.0, 0.0], 2 / 3),
    ([OPENS, GOES_ON, THANKS], by_message(AC457="429", Thanks=V), [1.0, None, 1.0], 1.0),
    ([OPENS, GOES_ON], by_message(stop="429", AC457=V), [1.0, None], 1.0),
    ([OPENS, GOES_ON], by_message(stop="429", AC457=I), [1.0, 0.0], 0.5),
    ([OPENS, GOES_ON], by_message(stop=I, AC457="429"), [1.0, 0.0], 0.5),
]


@pytest.mark.parametrize(("turns", "script", "wanted", "overall"), SIMULATIONS)
def test_simulated_users(turns, script, wanted, overall, judged, matched, scripted):
    result = judged(PerTurnUserSimulatorQuality(), matched(scenario(), *turns), scripted(script))
    assert [score.value for _, score in result.turns] == wanted
    assert result.overall.value == overall
    assert (result.overall.outcome is None) == (None in wanted)


def test_with_adk_compat_a_turn_without_a_score_of_a_simulated_user_counts_as_0(judged, matched, scripted):
    sample = matched(scenario(), OPENS, GOES_ON, THANKS)
    script = by_message(AC457="429", Thanks=V)
    result = judged(PerTurnUserSimulatorQuality(adk_compat=True), sample, scripted(script))
    assert (result.overall.value, result.overall.outcome) == (2 / 3, "PASS")


def test_the_opening_needs_no_judge_and_the_stop_check_does(judged, matched, scripted, sections_of):
    ask = scripted(by_message())
    judged(PerTurnUserSimulatorQuality(), matched(scenario(), OPENS), ask)
    sections = sections_of(ask.evidence[0])
    assert ask.samples == 3
    assert sections[-2:] == [("stop signal", "</finished>"), ("to be judged", "</finished>")]
    assert ("plan", "Ask for a refund, then thank.") in sections
    assert [text for name, text in sections if name.startswith("rule")] == rules_of(None)
    assert ("turn 1, agent", "Which flight?") in sections


def test_a_message_is_judged_by_what_came_before_it(judged, matched, scripted, sections_of):
    ask = scripted(by_message(AC457=V, Thanks=V))
    judged(PerTurnUserSimulatorQuality(), matched(scenario(), OPENS, GOES_ON, THANKS), ask)
    for evidence in ask.evidence:
        sections = sections_of(evidence)
        if sections[-1] == ("to be judged", "AC457"):
            assert {name for name, _ in sections if name.startswith("turn")} == {
                "turn 1, user",
                "turn 1, agent",
            }
            break
    else:
        pytest.fail("the second message was not judged")


def test_a_scenario_without_a_starting_prompt_has_its_opening_judged(judged, matched, scripted):
    case = scenario(start=None)
    turn = Turn(user="AC457", agent="?")
    result = judged(PerTurnUserSimulatorQuality(), matched(case, turn), scripted(by_message(AC457=I)))
    assert result.overall.value == 0.0


@pytest.mark.parametrize("case", [None, EvalCase(eval_id="e"), scenario(task=None), scenario(task="")])
def test_only_scenarios_have_a_simulated_user(case, judged, matched, scripted):
    result = judged(PerTurnUserSimulatorQuality(), matched(case, OPENS), scripted([]))
    assert (result.turns, result.overall) == ([], None)


def test_the_behaviours_of_adks_persona_are_the_rules(judged, matched, scripted, sections_of):
    behavior = {
        "name": "Terse",
        "description": "Says little.",
        "behavior_instructions": ["One line."],
        "violation_rubrics": ["Two lines"],
    }
    persona = {"id": "p", "description": "A busy person", "behaviors": [behavior]}
    plan = {"starting_prompt": "hi", "conversation_plan": "chat", "user_persona": persona}
    (case,) = eval_cases({"eval_id": "e", "conversation_scenario": plan})
    ask = scripted(by_message())
    judged(PerTurnUserSimulatorQuality(), matched(case, Turn(user="hi", agent="ho")), ask)
    sections = sections_of(ask.evidence[0])
    assert [text for name, text in sections if name.startswith("rule")] == [
        "Terse: Says little.\nOne line.\nViolated if: Two lines"
    ]
    assert ("what the user knows", "user_persona: A busy person") in sections


def test_the_stop_check_is_in_the_details_and_in_the_cost(judged, matched, scripted):
    result = judged(
        PerTurnUserSimulatorQuality(), matched(scenario(), OPENS, GOES_ON), scripted(by_message(AC457=V))
    )
    last = result.turns[-1][1]
    assert last.details["stop"] == {"score": 1.0, "reason": "fine"}
    assert last.judge.samples == 6
