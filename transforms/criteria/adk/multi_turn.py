"""google-adk's criteria of a whole conversation: task success, trajectory quality, tool use quality."""

from typing import ClassVar

from turnwise.schemas.conversation import Turn
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.adk.judged import AdkJudged
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.judging.prompts import agent_sections, dialogue_sections
from turnwise.transforms.judging.prompts.sections import Section
from turnwise.transforms.judging.prompts.statements import judge_statements, share_score, statement_sections
from turnwise.transforms.matching.sample import Sample


class MultiTurn(AdkJudged):
    """Share of certain aspects that a conversation has, 0..1."""

    aspects: ClassVar[tuple[str, ...]]

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Judges a recorded conversation; None if it is empty."""
        if not any(map(_happened, sample.conversation.turns)):
            return None
        sections = [*agent_sections(sample.conversation), *dialogue_sections(sample.conversation)]
        if sample.eval_case and sample.eval_case.task:
            sections.append(Section("what the user was to achieve", sample.eval_case.task))
        sections += statement_sections("aspect", self.aspects)
        prompt = self._prompt(f"{self.name.removesuffix('_v1')}/2", sections, "multi_turn")
        found, vote = await judge_statements(ask, prompt, self.options, len(self.aspects))
        named = [{"aspect": aspect, **item} for aspect, item in zip(self.aspects, found, strict=True)]
        return share_score(named, vote, "aspects", self.threshold)


def _happened(turn: Turn) -> bool:
    return bool(turn.user or turn.agent or turn.agent_messages or turn.tool_calls)


class MultiTurnTaskSuccess(MultiTurn):
    """1.0 if the user's request was fulfilled, or refused for a stated reason; else 0.0.

    When to use: Measure task success without a reference. It needs no eval case.
    """

    name: ClassVar[str] = "multi_turn_task_success_v1"
    aspects: ClassVar[tuple[str, ...]] = (
        "By the end the user has everything they asked for, or was refused, for a stated reason, what the "
        "agent may not or cannot give.",
    )


class MultiTurnTrajectoryQuality(MultiTurn):
    """Share of the marks of a good path to the goal that the conversation has, 0..1.

    There are 5 marks.

    When to use: Compare the paths of two versions without a reference.
    """

    name: ClassVar[str] = "multi_turn_trajectory_quality_v1"
    aspects: ClassVar[tuple[str, ...]] = (
        "Every step of the agent served the user's goal; there was no detour.",
        "The steps came in an order that makes sense: what a step depends on was known or done before it.",
        "The agent did not repeat a question or a step whose answer it already had.",
        "Where something was unclear or missing, the agent asked instead of guessing.",
        "Where something went wrong, the agent noticed and went on sensibly.",
    )


class MultiTurnToolUseQuality(MultiTurn):
    """Share of the marks of good tool use that the conversation has, 0..1.

    There are 6 marks.

    When to use: Compare the tool use of two versions without a reference.
    """

    name: ClassVar[str] = "multi_turn_tool_use_quality_v1"
    aspects: ClassVar[tuple[str, ...]] = (
        "Every tool call was of a tool that fits its purpose.",
        "Every argument was right: taken from the user, from an earlier result or from the instructions, not "
        "made up.",
        "No call was missing: nothing was claimed or promised that needed a call which was not made.",
        "No call was needless or repeated without cause.",
        "The agent used the results as they are: nothing important was overlooked, misread or altered.",
        "Failed calls were noticed and handled.",
    )
