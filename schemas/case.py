"""The canonical eval case."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from turnwise.schemas import conversation
from turnwise.schemas.jsonio import JsonObject


class CaseThresholds(msgspec.Struct, frozen=True):
    """CES thresholds of a whole case (defaults: the API's).

    Attributes:
        semantic_similarity: 0..4.
        tool_invocation: Minimum share of expected tools called in a turn, 0..1.
        parameter: Minimum share of matching parameters of a call, 0..1.
        extra_tool_calls: Effect of an unexpected call on the verdict.
        unexpected_response: Effect of an answer in a golden turn that expects none.
        golden_hallucination: Whether a hallucination fails a golden case.
        scenario_hallucination: Whether a hallucination fails a scenario case.

    >>> case = turnwise.EvalCase(eval_id="e1", thresholds=turnwise.CaseThresholds(parameter=0.5))
    >>> case.thresholds.parameter
    0.5
    """

    semantic_similarity: Annotated[int, Meta(ge=0, le=4)] = 3
    tool_invocation: conversation.Share = 1.0
    parameter: conversation.Share = 1.0
    extra_tool_calls: Literal["FAIL", "ALLOW"] = "FAIL"
    unexpected_response: Literal["FAIL", "ALLOW"] = "FAIL"
    golden_hallucination: Literal["ENABLED", "DISABLED"] = "DISABLED"
    scenario_hallucination: Literal["ENABLED", "DISABLED"] = "DISABLED"


class UserFact(conversation.CanonicalModel):
    """A fact given to the simulated user.

    >>> turnwise.EvalCase(eval_id="e1", user_facts=[turnwise.UserFact("city", "Bern")]).user_facts[0].value
    'Bern'
    """

    name: str
    value: str


class CaseKey(NamedTuple):
    """Unique key of an eval case: its name in an eval set; "": no set is stated."""

    eval_set_id: str
    eval_id: str

    @property
    def text(self) -> str:
        """Both ids as one text, for grouping keys."""
        return f"{self.eval_set_id}\0{self.eval_id}"


class EvalCase(conversation.CanonicalModel, dict=True):
    """A golden case (expected turns) or a scenario (a task, what must occur, rubrics).

    Attributes:
        eval_id: Name that conversations refer to.
        eval_set_id: Eval set of the case; names are unique within a set. None: none is stated.
        dialect: Rules that decide the verdict.
        actions: Calls that the agent must make by the end; None: not stated.
        user_actions: Calls that the user must make by the end with their own tools.
        outputs: Texts that the agent must say by the end.
        expectations: Expectations that must be met anywhere in a scenario's conversation.
        evaluation_expectations: Statements (or names of them) about the whole conversation, for a judge.
        user_goal: Expected outcome of a scenario's user goal.
        user_behaviors: Instructions for a scenario's simulated user.
        step_tool_correctness_enabled: Whether the parameters of calls are checked.
        etag: Etag of the case where it was read; None: not stated.
        unread: Further expectations that are not read; None: none.
        not_found: Why the case that a record names was not found; the case then holds only the expectations
            of the record. None: it was found, or none is named.

    >>> (case,) = turnwise.read_cases({"eval_id": "greeting", "turns": [{"user": "Hi", "response": "Hello"}]})
    >>> log = {"conversation_id": "c1", "eval_id": "greeting", "turns": [{"user": "Hi", "agent": "Hello"}]}
    >>> turnwise.evaluate(log, cases=[case], criteria={"response_match_score": 1.0}).status
    'PASS'
    """

    eval_id: str
    eval_set_id: str | None = None
    kind: Literal["golden", "scenario"] = "golden"
    dialect: Literal["ces", "adk", "turnwise"] = "turnwise"
    display_name: str | None = None
    tags: list[str] = []
    language: str | None = None
    turns: list[conversation.ExpectedTurn] = []
    actions: list[conversation.ToolCall] | None = None
    outputs: list[str] = []
    task: str | None = None
    user_facts: list[UserFact] = []
    expectations: list[conversation.Expectation] = []
    evaluation_expectations: list[str] = []
    rubrics: list[conversation.Rubric] = []
    user_goal: Literal["SATISFIED", "REJECTED", "IGNORED"] = "SATISFIED"
    user_goal_enabled: bool = True
    user_behaviors: list[str] = []
    thresholds: CaseThresholds = CaseThresholds()
    similarity_enabled: bool = True
    tool_correctness_enabled: bool = True
    step_tool_correctness_enabled: bool = True
    session_state: JsonObject = {}
    final_session_state: JsonObject = {}
    user_actions: list[conversation.ToolCall] = []
    tools: list[conversation.ToolDeclaration] = []
    etag: str | None = None
    unread: str | None = None
    not_found: str | None = None

    @property
    def key(self) -> CaseKey:
        """Unique key of the case."""
        return CaseKey(self.eval_set_id or "", self.eval_id)

    @property
    def digest(self) -> str | None:
        """16 hexadecimal digits that are the same where the same is expected, in every run; None: nothing is.

        Ids of cases, calls and rubrics, tags, names, and what the user is to say are no part of it, nor are
        turns of which nothing is expected.
        """
        # The lock of `cached_property` costs more than to look here again.
        held: dict[str, str | None] = self.__dict__
        if "digest" not in held:
            held["digest"] = _digest(self)
        return held["digest"]


_ENCODER = msgspec.json.Encoder(order="deterministic")
_DIGEST_BYTES = 8


def _digest(case: EvalCase) -> str | None:
    turns = []
    for turn in case.turns:
        stated = (
            turn.response, turn.tool_calls and _calls(turn.tool_calls), turn.intermediate_responses,
            turn.scripted_transfers, turn.expectations and _stated(turn.expectations), turn.thresholds,
            turn.rubrics and _rubrics(turn.rubrics), turn.adk_text,
        )  # fmt: skip
        if stated != _NO_TURN:
            turns.append(stated)
    whole = _of_whole(case)
    is_of_turns = whole == _NOTHING_OF_WHOLE
    if is_of_turns and not turns:
        return None
    try:
        text = b"[" + _ENCODER.encode(turns)
        text += _REST if is_of_turns else b"," + _ENCODER.encode(whole)[1:]
    except (ValueError, OverflowError, TypeError):  # numbers and letters that JSON has no room for
        text = repr((turns, *whole)).encode("utf-8", "backslashreplace")
    return blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()


def _of_whole(case: EvalCase) -> tuple[Any, ...]:
    """Returns what is expected of the conversation as a whole, and how it is judged."""
    return (
        case.actions and _calls(case.actions), case.user_actions and _calls(case.user_actions), case.outputs,
        case.final_session_state, case.expectations and _stated(case.expectations),
        case.evaluation_expectations, case.rubrics and _rubrics(case.rubrics),
        case.kind, case.dialect, case.task, case.user_goal, case.user_goal_enabled, case.thresholds,
        case.similarity_enabled, case.tool_correctness_enabled, case.step_tool_correctness_enabled,
    )  # fmt: skip


def _calls(calls: Iterable[conversation.ToolCall]) -> list[Any]:
    return [(c.name, c.args, c.resource, c.compare_args) for c in calls]


def _rubrics(rubrics: Iterable[conversation.Rubric]) -> list[Any]:
    return [(rubric.text, rubric.type) for rubric in rubrics]


def _stated(expectations: Iterable[conversation.Expectation]) -> list[Any]:
    stated = []
    for item in expectations:
        call, answer = item.tool_call, item.tool_response
        parts: list[Any] = [item.kind, item.text, item.target_agent, item.variables, item.comparison]
        parts += [item.skip, item.parameter_threshold, None if call is None else _calls([call])]
        parts += [None if answer is None else (answer.name, answer.response, answer.error, answer.resource)]
        stated.append(parts)
    return stated


_NO_TURN: tuple[Any, ...] = (None, None, [], [], [], None, [], None)
_NOTHING_OF_WHOLE = _of_whole(EvalCase(eval_id=""))
_REST = b"," + _ENCODER.encode(_NOTHING_OF_WHOLE)[1:]
