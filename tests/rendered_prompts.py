"""Renders the prompts of all judged criteria for five conversations.

Usage: python -m tests.rendered_prompts

It writes them into `tests/prompts`, one file a prompt; a test holds the files and the prompts equal.
"""

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple

from turnwise.schemas.case import EvalCase, UserFact
from turnwise.schemas.conversation import (
    Citation,
    Conversation,
    Expectation,
    ExpectedTurn,
    GroundedAnswer,
    Record,
    Reference,
    Rubric,
    ToolCall,
    ToolResponse,
    Turn,
)
from turnwise.transforms.criteria.base import CRITERIA, JudgedCriterion
from turnwise.transforms.judging.ask import JudgeSample, Question
from turnwise.transforms.judging.prompts import asked_schema
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.evaluate import ScoredConversation, judge_conversation

STORED = Path(__file__).parent / "prompts"
SHIPPED = sorted(
    name
    for name, kind in CRITERIA.items()
    if issubclass(kind, JudgedCriterion) and kind.__module__.startswith("turnwise.transforms.criteria.")
)
_ABOUT_SCENARIOS = {"per_turn_user_simulator_quality_v1", "scenario_rubrics", "scenario_expectations"}
_ABOUT_SCENARIOS |= {"user_goal_satisfaction", *(name for name in SHIPPED if name.startswith("rubric_based"))}


class Talk(NamedTuple):
    """The texts of a conversation."""

    name: str
    opening: str
    greeting: str
    user: str
    argument: str
    result: str
    agent: str
    expected: str
    wanted: str
    task: str
    persona: str = ""
    grounding: dict[str, Any] | None = None


TALKS = {
    talk.name: talk
    for line in (STORED / "talks.jsonl").read_text(encoding="utf-8").splitlines()
    for talk in [Talk(**json.loads(line))]
}


def sample_of(talk: Talk, is_scenario: bool) -> Sample:
    """Returns a conversation of two turns and its case."""
    source = Reference(title="FAQ", texts=[talk.agent])
    second = Turn(
        user=talk.user,
        agent=talk.agent,
        tool_calls=[ToolCall(name="change", args={"to": talk.argument}, id="1")],
        tool_responses=[ToolResponse(name="change", id="1", response={"status": talk.result})],
        grounded=GroundedAnswer(
            citations=[Citation(0, len(talk.agent.encode()), ["0"])], references=[source]
        ),
    )
    agent = {"assistant": {"instructions": "Be brief.", "tool_declarations": [{"name": "change"}]}}
    meta: dict[str, Any] = {"app_details": [agent, agent]}
    if talk.grounding:
        meta["grounding"] = [[], [talk.grounding]]
    turns = [Turn(user=talk.opening, agent=talk.greeting), second]
    conversation = Conversation(conversation_id="c", turns=turns, meta=meta)
    return Sample(conversation, scenario(talk) if is_scenario else golden(talk), Record("f", 1, b"{}"))


def golden(talk: Talk) -> EvalCase:
    """Returns the case of a golden conversation."""
    vague = {"$matchType": "semantic", "$matchValue": talk.user, "$originalValue": talk.task}
    expectations = [
        Expectation("agent_response", text=talk.expected),
        Expectation("tool_call", tool_call=ToolCall(name="change", args={"to": vague})),
    ]
    expected = ExpectedTurn(response=talk.expected, expectations=expectations)
    turns = [ExpectedTurn(user=talk.opening), expected]
    return EvalCase(eval_id="e", dialect="ces", turns=turns, evaluation_expectations=[talk.wanted])


def scenario(talk: Talk) -> EvalCase:
    """Returns the case of a scenario."""
    kinds = ("FINAL_RESPONSE_QUALITY", "TOOL_USE_QUALITY", "TRAJECTORY_QUALITY")
    facts = [UserFact(name="user_persona", value=talk.persona)] if talk.persona else []
    return EvalCase(
        eval_id="e",
        kind="scenario",
        dialect="ces",
        task=talk.task,
        user_facts=[UserFact(name="starting_prompt", value=talk.opening), *facts],
        rubrics=[Rubric(rubric_id=kind, text=talk.wanted, type=kind) for kind in kinds],
        expectations=[Expectation("agent_response", text=talk.expected, comparison="CONTAINS")],
    )


def asked(name: str, talk: Talk) -> Question[Any]:
    """Returns the last question that a criterion asks about a conversation."""
    questions: list[Question[Any]] = []

    async def ask(question: Question[Any], samples: range) -> list[JudgeSample[Any]]:
        questions.append(question)
        return [JudgeSample(None, "only rendered")] * len(samples)

    criterion = CRITERIA[name]()
    assert isinstance(criterion, JudgedCriterion)
    scored = ScoredConversation(sample_of(talk, name in _ABOUT_SCENARIOS), [], [])
    asyncio.run(judge_conversation(scored, [criterion], ask))
    assert not scored.failures
    return questions[-1]


def rendered(name: str) -> tuple[str, str]:
    """Returns the file of a criterion's prompt, and its text for all conversations."""
    questions = {language: asked(name, talk) for language, talk in TALKS.items()}
    first = questions["English"]
    objects = [asked_schema(first.reply_model)]
    objects += objects[0].get("$defs", {}).values()
    answer = "\n".join(
        f"{each['title']}: {', '.join(each['properties'])}" for each in objects if "title" in each
    )
    parts = [f"=== {first.prompt.version}\n{first.prompt.instructions}", f"=== answer\n{answer}"]
    for language, question in questions.items():
        assert question.prompt.instructions == first.prompt.instructions
        parts.append(f"=== {language}\n{question.prompt.evidence}")
    return f"{first.prompt.version.partition('/')[0]}.txt", "\n\n".join(parts) + "\n"


def main() -> None:
    """Writes all prompts, and removes the files of those that are gone."""
    texts = dict(rendered(name) for name in SHIPPED)
    STORED.mkdir(exist_ok=True)
    for path in STORED.glob("*.txt"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (STORED / name).write_bytes(text.encode())


if __name__ == "__main__":
    main()
