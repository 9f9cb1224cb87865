"""The canonical conversation: what every log format is converted to before anything is scored."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from turnwise.schemas.grounded import GroundedAnswer, Problem
from turnwise.schemas.tools import ToolDeclaration
from turnwise.schemas.values import JsonObject, JsonValue

Milliseconds = Annotated[float, Meta(ge=0, le=3.15576e14)]
"""A length of time that a proto3 Duration can hold (10,000 years)."""


Share = Annotated[float, Meta(ge=0, le=1)]
"""A part of a whole."""


class Slim(msgspec.Struct):
    """Base of the canonical models: either no key or `null` means absent."""


class ToolCall(Slim, forbid_unknown_fields=True):
    """One call of a tool.

    Attributes:
        name: Short name of the tool (of a CES resource: its last segment).
        args: Arguments; None where the log states none.
        id: Links the call with its response; may repeat inside a conversation.
        resource: Full resource name where the log has one (a toolset tool: `{toolset}/tools/{toolId}`).
        compare_args: Of an expected call: the arguments that matter (tau2's field); None: all.
    """

    name: str | None = None
    args: JsonObject | None = None
    id: str | None = None
    resource: str | None = None
    compare_args: list[str] | None = None


class ToolResponse(Slim, forbid_unknown_fields=True):
    """What a tool answered.

    Attributes:
        response: The answer, of any JSON shape.
        error: The log's own mark that the call failed: true, or the error's text.
    """

    name: str | None = None
    id: str | None = None
    response: JsonValue = None
    error: bool | str | None = None
    resource: str | None = None


class TimedSpan(Slim):
    """A timed step inside a turn.

    Attributes:
        type: Kind of the step.
        name: Display name: of the tool, model, callback stage or guardrail.
        resource: Full resource name, where the log has one.
        start_time: RFC 3339 text, as in the log.
        end_time: RFC 3339 text, as in the log.
        seconds: Length of the step.
    """

    type: Literal["TOOL", "USER_CALLBACK", "GUARDRAIL", "LLM"]
    name: str | None = None
    resource: str | None = None
    start_time: str | None = None
    end_time: str | None = None
    seconds: Annotated[float, Meta(ge=-3.15576e11, le=3.15576e11)] = 0.0


class Usage(Slim):
    """Tokens of a turn's model calls, in google-adk's terms; None where nothing was reported."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class Rubric(Slim, forbid_unknown_fields=True):
    """A statement that a judge holds against a turn or a conversation."""

    rubric_id: str
    text: str
    type: str | None = None


class TurnThresholds(Slim, forbid_unknown_fields=True):
    """CES gates of one turn; None where the next wider scope decides."""

    semantic_similarity: Annotated[int, Meta(ge=0, le=4)] | None = None
    tool_invocation: Share | None = None
    hallucination: Literal["ENABLED", "DISABLED"] | None = None


class Expectation(Slim, forbid_unknown_fields=True):
    """One checkable requirement, of a golden turn or of a scenario.

    Attributes:
        kind: What is expected; it names the one field below that is set.
        tool_call: The call (`tool_call`); its arguments may hold `$matchType` directives.
        tool_response: The answer (`tool_response`, `mock_tool_response`).
        text: What the agent must say (`agent_response`).
        target_agent: Who must take over (`agent_transfer`).
        variables: Values that session variables must have after the turn (`updated_variables`).
        comparison: How `text` is compared.
        skip: True: not evaluated, outcome SKIPPED.
        parameter_threshold: Gate of this call's parameter correctness, 0..1; None: the case's.
        wire: The CES message this was read from, in canonical proto3 JSON; None for other formats.
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


class ExpectedTurn(Slim, forbid_unknown_fields=True):
    """What a golden case wants of one turn.

    Attributes:
        user: The user's words in the script.
        response: The agent's expected words; None: nothing is expected of them.
        tool_calls: Expected calls in order; empty: none may happen; None: nothing is stated.
        intermediate_responses: Expected words before the final response.
        scripted_transfers: Agents that the script itself hands over to.
        expectations: The CES form, in step order; empty for other formats.
        adk_text: The final words as google-adk reads them, thought parts included; None: the same as
            `response`.
        unread: What more may be expected of it, which is not read; None: nothing.
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
    unread: str | None = None


class Turn(Slim, forbid_unknown_fields=True):
    """One user message and everything up to the next.

    Attributes:
        turn_index: 0-based position in the conversation.
        user: The user's words; None: the agent opened.
        agent: The agent's final words; None or "": it said nothing.
        agent_messages: Every text of the agent in order, the final one included; empty where the
            log keeps only the final one.
        transfers: Agents that took over in this turn, in order.
        variables: Session variables that changed in this turn.
        payloads: Custom payloads the agent sent.
        timestamp: When the turn began: RFC 3339 text or seconds since the epoch.
        latency_ms: From the user's message to the end of the turn, in milliseconds.
        model_ms: Time in model calls, in milliseconds.
        tool_ms: Time in tool calls, in milliseconds.
        inference_calls: Number of model calls; None where the log does not say.
        expected: The golden turn that the record brought along.
        adk_text: The final words as google-adk reads them, thought parts included; None: the same as
            `agent`.
        grounded: What an answer engine says of its answer, `agent`; None: the turn is none of its answers.
        unknown_calls: Why calls, their results or hand-offs may be missing in it; None: all are there.
        unknown_words: Why words of the agent may be missing in it; None: all are there.
        unknown_latency: Why `latency_ms` is not known although the log states it; None: nothing is amiss.
        findings: What the reader did not understand.
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
    grounded: GroundedAnswer | None = None
    unknown_calls: str | None = None
    unknown_words: str | None = None
    unknown_latency: str | None = None
    findings: list[Problem] = []


class ExpectedOutcome(Slim, forbid_unknown_fields=True):
    """What a record wants of the whole conversation (tau-bench's shape).

    Attributes:
        actions: Calls that must have been made by the end; None: nothing is stated.
        outputs: Texts that must have been said.
        rubric: Statements about the conversation, for a judge.
        user_actions: Calls of their own tools that the user must have made by the end.
        final_session_state: Session state that it should end with.
        unread: What more may be expected, which is not read; None: nothing.
    """

    actions: list[ToolCall] | None = None
    outputs: list[str] = []
    rubric: list[str] = []
    user_actions: list[ToolCall] = []
    final_session_state: JsonObject = {}
    unread: str | None = None


Ended = Literal["normally", "agent_error", "limit", "user_left", "hand_off", "environment_error"]
"""How a conversation ended.

`agent_error`: the agent failed, or gave no answer. `limit`: a limit of turns, steps, tokens or time was hit.
`environment_error`: something other than the agent failed (a simulated user, the test bench, a quota).
"""


class Conversation(Slim, forbid_unknown_fields=True):
    """One recorded conversation.

    Attributes:
        conversation_id: Unique name of the conversation.
        source: Format or system it was recorded by.
        app_version: Version of the agent that was talking; None: unknown (a draft).
        language: BCP 47 code.
        eval_id: The eval case it is to be held against; None: none is named.
        eval_set_id: The eval set that the case is in; None: none is named.
        start_time: When it began, RFC 3339 text.
        tags: Free labels.
        state: Session state at the end, where the log has it.
        expected: What the record wants of the whole conversation.
        tools: Tools that the record declares.
        labels: The log's own verdicts (a reward, a rating).
        meta: Everything else worth keeping.
        revision: Counts the versions of a conversation that grew after it was scored.
        ended: How it ended; None: the log does not say, or (with a detail) in a word that is not known.
        ended_detail: What the log says of its end, in its own words.
    """

    conversation_id: str
    source: str | None = None
    app_version: str | None = None
    language: str | None = None
    eval_id: str | None = None
    eval_set_id: str | None = None
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
