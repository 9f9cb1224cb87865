"""The canonical eval case: what a conversation is held against."""

from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from turnwise.schemas.conversation import (
    Conversation,
    Expectation,
    ExpectedTurn,
    Rubric,
    Share,
    Slim,
    ToolCall,
)
from turnwise.schemas.tools import ToolDeclaration
from turnwise.schemas.values import JsonObject


class CaseThresholds(msgspec.Struct, frozen=True):
    """CES gates that hold for a whole case (defaults: the API's).

    Attributes:
        semantic_similarity: 0..4.
        tool_invocation: Share of expected tools that must be called in a turn, 0..1.
        parameter: Share of a call's expected parameters that must match, 0..1.
        extra_tool_calls: What a call that nobody expected does.
        unexpected_response: What an answer does in a turn for which the golden expects none.
        golden_hallucination: Whether a hallucination fails a golden case.
        scenario_hallucination: Whether a hallucination fails a scenario case.
    """

    semantic_similarity: Annotated[int, Meta(ge=0, le=4)] = 3
    tool_invocation: Share = 1.0
    parameter: Share = 1.0
    extra_tool_calls: Literal["FAIL", "ALLOW"] = "FAIL"
    unexpected_response: Literal["FAIL", "ALLOW"] = "FAIL"
    golden_hallucination: Literal["ENABLED", "DISABLED"] = "DISABLED"
    scenario_hallucination: Literal["ENABLED", "DISABLED"] = "DISABLED"


class UserFact(Slim):
    """Something a simulated user knows."""

    name: str
    value: str


class CaseKey(NamedTuple):
    """What tells eval cases apart.

    Attributes:
        eval_set_id: The set that the case is in; "": none is stated.
        eval_id: Its name in the set.
    """

    eval_set_id: str
    eval_id: str

    @property
    def text(self) -> str:
        """Both as one text, for keys of groupings."""
        return f"{self.eval_set_id}\0{self.eval_id}"


class EvalCase(Slim):
    """A golden case (expected turns) or a scenario (a task, what must occur, rubrics).

    Attributes:
        eval_id: Its name; conversations refer to it.
        eval_set_id: The eval set that it is in; names are unique in a set only. None: none is stated.
        dialect: Whose rules decide the verdict.
        turns: Expected turns of a golden case.
        actions: Calls that must have been made by the end; None: nothing is stated.
        user_actions: Calls of their own tools that the user must have made by the end.
        outputs: Texts that the agent must have said by the end.
        expectations: What must occur anywhere in a scenario's conversation.
        evaluation_expectations: Statements (or names of them) about the whole conversation, for a judge.
        user_goal: What should become of a scenario's user goal.
        user_goal_enabled: False: whether the user reached the goal is not judged.
        user_behaviors: How a scenario's simulated user is to act, one text each.
        similarity_enabled: False: semantic similarity is switched off for the case.
        tool_correctness_enabled: False: the tool check of turns is switched off for the case.
        step_tool_correctness_enabled: False: the parameter check of calls is switched off for the case.
        session_state: Session state that the conversation starts with.
        final_session_state: Session state that it should end with.
        tools: Tools that the case declares.
        unread: What more may be expected of the whole, which is not read; None: nothing.
        not_found: Why the case that a record names was not found, so that only what the record expects
            itself is in this one; None: it was found, or none is named.
    """

    eval_id: str
    eval_set_id: str | None = None
    kind: Literal["golden", "scenario"] = "golden"
    dialect: Literal["ces", "adk", "turnwise"] = "turnwise"
    display_name: str | None = None
    tags: list[str] = []
    language: str | None = None
    turns: list[ExpectedTurn] = []
    actions: list[ToolCall] | None = None
    outputs: list[str] = []
    task: str | None = None
    user_facts: list[UserFact] = []
    expectations: list[Expectation] = []
    evaluation_expectations: list[str] = []
    rubrics: list[Rubric] = []
    user_goal: Literal["SATISFIED", "REJECTED", "IGNORED"] = "SATISFIED"
    user_goal_enabled: bool = True
    user_behaviors: list[str] = []
    thresholds: CaseThresholds = CaseThresholds()
    similarity_enabled: bool = True
    tool_correctness_enabled: bool = True
    step_tool_correctness_enabled: bool = True
    session_state: JsonObject = {}
    final_session_state: JsonObject = {}
    user_actions: list[ToolCall] = []
    tools: list[ToolDeclaration] = []
    unread: str | None = None
    not_found: str | None = None

    @property
    def key(self) -> CaseKey:
        """What tells it apart from all other cases."""
        return CaseKey(self.eval_set_id or "", self.eval_id)


def stated_case(conversation: Conversation) -> str | None:
    """Returns the name of the case that a conversation is a run of; None: none is stated.

    Where no case is named, one of several trials (`meta.trial`) is a run of its task (`meta.task_id`, of
    `meta.domain` if that is given).
    """
    meta = conversation.meta
    if conversation.eval_id is not None or "trial" not in meta or meta.get("task_id") is None:
        return conversation.eval_id
    return "-".join(str(meta[key]) for key in ("domain", "task_id") if meta.get(key) is not None)


def inline_case(conversation: Conversation) -> EvalCase | None:
    """Returns the case that a record brought along, or None if it expects nothing."""
    turns = [turn.expected for turn in conversation.turns]
    if conversation.expected is None and not any(turns):
        return None
    eval_id = stated_case(conversation) or conversation.conversation_id
    case = EvalCase(eval_id=eval_id, eval_set_id=conversation.eval_set_id)
    if any(turns):
        case.turns = [turn or ExpectedTurn() for turn in turns]
    outcome = conversation.expected
    if outcome is not None:
        case.rubrics = [Rubric(rubric_id=str(i), text=text) for i, text in enumerate(outcome.rubric)]
        case.actions, case.outputs = outcome.actions, outcome.outputs
        case.user_actions, case.final_session_state = outcome.user_actions, outcome.final_session_state
        case.unread = outcome.unread
    return case
