"""The user simulator of google-adk: what its judge is shown."""

from turnwise.schemas.case import EvalCase, UserFact
from turnwise.schemas.conversation import Turn
from turnwise.transforms.criteria.rubrics import PerTurnUserSimulatorQuality
from turnwise.transforms.formats.adk_cases import eval_cases
from turnwise.transforms.judging.prompts import rules_of


def scenario(start="I want a refund.", **fields):
    facts = [UserFact(name="starting_prompt", value=start)] if start else []
    fields = {"task": "Ask for a refund, then thank.", "user_facts": facts, **fields}
    return EvalCase(eval_id="e", kind="scenario", dialect="adk", **fields)


V = {"quote": "", "reason": "fine", "verdict": "valid"}
OPENS = Turn(user=" I want a refund.\n", agent="Which flight?")


def by_message(stop=V, **messages):
    """Answers by the message that is judged."""

    def _answer(question, number):
        judged = question.prompt.evidence.split(": to be judged]\n")[1].split("\n[")[0]
        return stop if judged == "</finished>" else messages[judged.strip("!")]

    return _answer


def test_the_opening_needs_no_judge_and_the_stop_check_does(judged, matched, scripted, sections_of):
    ask = scripted(by_message())
    judged(PerTurnUserSimulatorQuality(), matched(scenario(), OPENS), ask)
    sections = sections_of(ask.evidence[0])
    assert ask.samples == 3
    assert sections[-2:] == [("stop signal", "</finished>"), ("to be judged", "</finished>")]
    assert ("plan", "Ask for a refund, then thank.") in sections
    assert [text for name, text in sections if name.startswith("rule")] == rules_of(None)
    assert ("turn 1, agent", "Which flight?") in sections


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
