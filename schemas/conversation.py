"""The canonical conversation, to which every log format is converted."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from turnwise.schemas.grounded import GroundedAnswer, Problem
from turnwise.schemas.tools import ToolDeclaration
from turnwise.schemas.values import JsonObject, JsonValue

Milliseconds = Annotated[float, Meta(ge=0, le=3.15576e14)]
"""A duration within the range of a proto3 Duration (10,000 years)."""

Share = Annotated[float, Meta(ge=0, le=1)]
"""A fraction, 0..1."""

APP_DETAILS, GROUNDING = "app_details", "grounding"
"""Keys of `Conversation.meta`, each with one entry per turn: null, or `{agent: {instructions,
tool_declarations}}` for the first, and the sources that the model itself looked up for the second."""


class CanonicalModel(msgspec.Struct):
    """Base of the canonical models; a missing key and `null` both mean absent."""


class ToolCall(CanonicalModel, forbid_unknown_fields=True):
    """One call of a tool.

    Attributes:
        name: Short name of the tool (of a CES resource: its last segment).
        args: Arguments; None: the log states none.
        id: Id that links the call with its response; may repeat in a conversation.
        resource: Full resource name (a toolset tool: `{toolset}/tools/{toolId}`); None: unknown.
        display_name: Name of the tool for people; None: not stated.
        compare_args: For an expected call: the arguments to compare (tau2's field); None: all.

    >>> import turnwise
    >>> call = turnwise.ToolCall("book_slot", {"day": "2026-07-08"}, id="1")
    >>> turnwise.Turn(user="Book Wednesday", agent="Done.", tool_calls=[call]).tool_calls[0].args
    {'day': '2026-07-08'}
    """

    name: str | None = None
    args: JsonObject | None = None
    id: str | None = None
    resource: str | None = None
    compare_args: list[str] | None = None
    display_name: str | None = None


class ToolResponse(CanonicalModel, forbid_unknown_fields=True):
    """One response of a tool.

    Attributes:
        error: Error mark of the log: true, or the error message.
        display_name: Name of the tool for people; None: not stated.

    >>> import turnwise
    >>> turnwise.ToolResponse("book_slot", id="1", error="the slot is taken").error
    'the slot is taken'
    """

    name: str | None = None
    id: str | None = None
    response: JsonValue = None
    error: bool | str | None = None
    resource: str | None = None
    display_name: str | None = None


class TimedSpan(CanonicalModel):
    """A timed step inside a turn.

    Attributes:
        type: Kind of the step.
        name: Display name of the tool, model, callback stage or guardrail.
        resource: Full resource name; None: unknown.
        start_time: RFC 3339 text, as in the log.
        end_time: RFC 3339 text, as in the log.
        seconds: Duration.

    >>> import turnwise
    >>> turnwise.TimedSpan("TOOL", "book_slot", seconds=0.4).seconds
    0.4
    """

    type: Literal["TOOL", "USER_CALLBACK", "GUARDRAIL", "LLM"]
    name: str | None = None
    resource: str | None = None
    start_time: str | None = None
    end_time: str | None = None
    seconds: Annotated[float, Meta(ge=-3.15576e11, le=3.15576e11)] = 0.0


class Usage(CanonicalModel):
    """Tokens of a turn's model calls, in google-adk's terms; None: not reported.

    >>> import turnwise
    >>> turnwise.Usage(input_tokens=512, output_tokens=40).cached_tokens is None
    True
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class Rubric(CanonicalModel, forbid_unknown_fields=True):
    """A statement that a judge checks for a turn or a conversation."""

    rubric_id: str
    text: str
    type: str | None = None


class TurnThresholds(CanonicalModel, forbid_unknown_fields=True):
    """CES thresholds of one turn; None: the case decides."""

    semantic_similarity: Annotated[int, Meta(ge=0, le=4)] | None = None
    tool_invocation: Share | None = None
    hallucination: Literal["ENABLED", "DISABLED"] | None = None


class Expectation(CanonicalModel, forbid_unknown_fields=True):
    """One checkable requirement, of a golden turn or of a scenario.

    Attributes:
        kind: Kind of the expectation; names the one field below that is set.
        tool_call: Expected call (`tool_call`); its arguments may contain `$matchType` directives.
        tool_response: Expected response (`tool_response`, `mock_tool_response`).
        text: Expected text of the agent (`agent_response`).
        target_agent: Agent that must take over (`agent_transfer`).
        variables: Session variables that the agent must update in the turn, with their values
            (`updated_variables`).
        comparison: How `text` is compared.
        skip: Whether it is skipped, with outcome SKIPPED.
        parameter_threshold: Threshold of this call's parameter correctness, 0..1; None: the case's.
        wire: Original CES message in canonical proto3 JSON; None: another format.
    """

    kind: Literal[
        "tool_call",
        "tool_response",
        "agent_response",
        "agent_transfer",
        "updated_variables",
        "mock_tool_response",
        "no_tool_calls",
    ]
    tool_call: ToolCall | None = None
    tool_response: ToolResponse | None = None
    text: str | None = None
    target_agent: str | None = None
    variables: JsonObject | None = None
    comparison: Literal["EQUALS", "CONTAINS", "SEMANTIC_SIMILARITY"] = "SEMANTIC_SIMILARITY"
    skip: bool = False
    parameter_threshold: Share | None = None
    wire: JsonObject | None = None


class ExpectedTurn(CanonicalModel, forbid_unknown_fields=True):
    """Expected turn of a golden case.

    Attributes:
        user: Scripted message of the user.
        response: Expected final response; None: not stated.
        tool_calls: Expected calls in order; empty: no call may happen; None: not stated.
        intermediate_responses: Expected texts before the final response.
        scripted_transfers: Agents that the script hands over to.
        expectations: CES expectations in step order; empty for other formats.
        adk_text: Final response as google-adk reads it, with thought parts; None: same as `response`.
        adk_reads: Whether google-adk reads the turn without an error, so that `unread` is nothing to it.
        unread: Further expectations that are not read; None: none.

    >>> import turnwise
    >>> expected = turnwise.ExpectedTurn(response="Done.", tool_calls=[turnwise.ToolCall("book_slot")])
    >>> turn = turnwise.Turn(user="Book Wednesday", agent="Done.", expected=expected)
    >>> log = turnwise.Conversation(conversation_id="c1", turns=[turn])
    >>> turnwise.evaluate(log, criteria={"tool_trajectory_avg_score": 1.0}).passed
    False
    """

    user: str | None = None
    response: str | None = None
    tool_calls: list[ToolCall] | None = None
    intermediate_responses: list[str] = []
    scripted_transfers: list[str] = []
    expectations: list[Expectation] = []
    thresholds: TurnThresholds | None = None
    rubrics: list[Rubric] = []
    adk_text: str | None = None
    adk_reads: bool = False
    unread: str | None = None


class Turn(CanonicalModel, forbid_unknown_fields=True):
    """One user message and everything up to the next.

    Attributes:
        turn_index: 0-based position in the conversation.
        user: Message of the user; None: the agent opened the conversation.
        agent: Final response; None or "": there is none.
        agent_messages: All texts of the agent in order, with the final response; empty: only the final
            response is logged.
        transfers: Agents that took over in this turn, in order.
        variables: Session variables that changed in this turn.
        given_variables: Those of them that the user's message or a default set, not the agent.
        payloads: Custom payloads of the agent.
        timestamp: Start of the turn: RFC 3339 text or seconds since the epoch.
        latency_ms: From the user's message to the end of the turn, in milliseconds.
        model_ms: Time in model calls, in milliseconds.
        tool_ms: Time in tool calls, in milliseconds.
        inference_calls: Number of model calls; None: not logged.
        expected: Golden turn contained in the record.
        adk_text: Final response as google-adk reads it, with thought parts; None: same as `agent`.
        adk_reads: Whether google-adk reads the turn without an error, so that what is unknown of it is
            nothing to google-adk.
        grounded: Annotations of an answer engine on `agent`; None: the turn holds no such answer.
        unknown_calls: Why calls, responses or hand-offs may be missing; None: complete.
        unknown_words: Why texts of the agent may be missing; None: complete.
        unknown_latency: Why the logged `latency_ms` could not be read; None: no problem.
        findings: Problems found while reading.

    >>> import turnwise
    >>> turnwise.Turn(user="Hi", agent="Hello").tool_calls
    []
    """

    turn_index: int = 0
    user: str | None = None
    agent: str | None = None
    tool_calls: list[ToolCall] = []
    tool_responses: list[ToolResponse] = []
    agent_messages: list[str] = []
    user_tool_calls: list[ToolCall] = []
    user_tool_responses: list[ToolResponse] = []
    transfers: list[str] = []
    variables: JsonObject = {}
    given_variables: list[str] = []
    payloads: list[JsonObject] = []
    spans: list[TimedSpan] = []
    timestamp: str | float | None = None
    latency_ms: Milliseconds | None = None
    model_ms: Milliseconds | None = None
    tool_ms: Milliseconds | None = None
    inference_calls: int | None = None
    usage: Usage | None = None
    expected: ExpectedTurn | None = None
    adk_text: str | None = None
    adk_reads: bool = False
    grounded: GroundedAnswer | None = None
    unknown_calls: str | None = None
    unknown_words: str | None = None
    unknown_latency: str | None = None
    findings: list[Problem] = []


class ExpectedOutcome(CanonicalModel, forbid_unknown_fields=True):
    """Expected outcome of a whole conversation (tau-bench's shape).

    Attributes:
        actions: Calls that the agent must make by the end; None: not stated.
        outputs: Texts that the agent must say.
        rubric: Statements about the conversation, for a judge.
        user_actions: Calls that the user must make by the end with their own tools.
        final_session_state: Expected session state at the end.
        unread: Further expectations that are not read; None: none.

    >>> import turnwise
    >>> turnwise.ExpectedOutcome(outputs=["23"]).actions is None
    True
    """

    actions: list[ToolCall] | None = None
    outputs: list[str] = []
    rubric: list[str] = []
    user_actions: list[ToolCall] = []
    final_session_state: JsonObject = {}
    unread: str | None = None


Ended = Literal["normally", "agent_error", "limit", "user_left", "hand_off", "environment_error"]
"""How a conversation ended.

`agent_error`: the agent failed or gave no answer. `limit`: of turns, steps, tokens or time.
`environment_error`: something other than the agent failed (a simulated user, the test bench, a quota).
"""


class Conversation(CanonicalModel, forbid_unknown_fields=True):
    """One recorded conversation.

    Attributes:
        conversation_id: Unique id.
        source: Format or system of the log.
        app_version: Version of the agent; None, empty or blank: unknown (a draft).
        language: BCP 47 code.
        eval_id: Eval case of the conversation; None: not stated.
        eval_set_id: Eval set of the case; None: not stated.
        user_id: Id of the user; None: the log does not state it.
        start_time: RFC 3339 text.
        state: Session state at the end, if logged.
        expected: Expected outcome of the whole conversation.
        tools: Tools that the record declares.
        labels: Verdicts of the log (a reward, a rating).
        meta: Other data of the log.
        revision: 0-based version of a conversation that changed after it was scored.
        ended: How it ended; None: unknown, or (with a detail) an unknown word.
        ended_detail: Description of the end in the log.

    >>> import turnwise
    >>> turn = turnwise.Turn(user="Hi", agent="Hello")
    >>> log = turnwise.Conversation(conversation_id="c1", app_version="v1", turns=[turn])
    >>> turnwise.evaluate(log).results[0]["app_version"]
    'v1'
    """

    conversation_id: str
    source: str | None = None
    app_version: str | None = None
    language: str | None = None
    eval_id: str | None = None
    eval_set_id: str | None = None
    user_id: str | None = None
    start_time: str | None = None
    tags: list[str] = []
    turns: list[Turn] = []
    state: JsonObject = {}
    expected: ExpectedOutcome | None = None
    labels: JsonObject = {}
    meta: JsonObject = {}
    tools: list[ToolDeclaration] = []
    revision: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    ended: Ended | None = None
    ended_detail: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.app_version, str) and not self.app_version.strip():
            self.app_version = None
