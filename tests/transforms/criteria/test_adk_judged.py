"""The user simulator of google-adk: what its judge is shown."""

from turnwise.schemas.case import EvalCase, UserFact
from turnwise.schemas.conversation import Turn
from turnwise.transforms.criteria.rubrics import PerTurnUserSimulatorQuality
from turnwise.transforms.formats.adk_cases import eval_cases
from turnwise.transforms.judging.prompts import rules_of

FINE = {"quote": "", "reason": "fine", "verdict": "valid"}
REFUND = EvalCase(
    eval_id="e",
    kind="scenario",
    dialect="adk",
    task="Ask for a refund, then thank.",
    user_facts=[UserFact(name="starting_prompt", value="I want a refund.")],
)
OPENS = Turn(user=" I want a refund.\n", agent="Which flight?")


def test_the_opening_needs_no_judge_and_the_stop_check_does(judged, matched, scripted, sections_of):
    ask = scripted(lambda *_: FINE)
    judged(PerTurnUserSimulatorQuality(), matched(REFUND, OPENS), ask)
    sections = sections_of(ask.evidence[0])
    assert ask.samples == 3
    assert sections[-2:] == [("stop signal", "</finished>"), ("to be judged", "</finished>")]
    assert ("plan", "Ask for a refund, then thank.") in sections
    assert [text for name, text in sections if name.startswith("rule")] == rules_of(None)
    assert ("turn 1, agent", "Which flight?") in sections


def test_a_message_is_judged_by_what_came_before_it(judged, matched, scripted, sections_of):
    ask = scripted(lambda *_: FINE)
    turns = [OPENS, Turn(user="AC457", agent="Done."), Turn(user="Thanks!", agent="Bye.")]
    judged(PerTurnUserSimulatorQuality(), matched(REFUND, *turns), ask)
    asked = map(sections_of, ask.evidence)
    sections = next(found for found in asked if found[-1] == ("to be judged", "AC457"))
    assert [name for name, _ in sections if name.startswith("turn")] == ["turn 1, user", "turn 1, agent"]


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
    ask = scripted(lambda *_: FINE)
    judged(PerTurnUserSimulatorQuality(), matched(case, Turn(user="hi", agent="ho")), ask)
    sections = sections_of(ask.evidence[0])
    assert [text for name, text in sections if name.startswith("rule")] == [
        "Terse: Says little.\nOne line.\nViolated if: Two lines"
    ]
    assert ("what the user knows", "user_persona: A busy person") in sections
