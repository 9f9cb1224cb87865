"""The canonical conversation, to which every log format is converted."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta
from pydantic import BaseModel, model_validator
from pydantic_core import from_json

from turnwise.schemas.jsonio import JsonObject, JsonValue, listed

Effect = Literal["read", "write", "handoff"]
InferredEffect = Literal["read", "write", "handoff", "unknown"]


class ToolEffect(NamedTuple):
    """Effect of one tool.

    Attributes:
        effect: `read` changes nothing, `write` changes something, `handoff` hands the conversation over;
            `unknown`: neither the config nor a declaration nor the name says which.
        idempotent: Whether repeating a call is known to have no further effect.
        destructive: Whether it is known to delete something irreversibly.
        source: Where `effect` comes from: `config`, the kind of a declaration (`mcp`, `openapi`), or `guess`.
    """

    effect: InferredEffect
    idempotent: bool
    destructive: bool
    source: str

    @property
    def is_guess(self) -> bool:
        """Whether the effect is inferred from the tool's name or description, or unknown."""
        return self.source == GUESS


GUESS = "guess"
UNKNOWN: Final = "unknown"


class ToolDeclaration(msgspec.Struct, omit_defaults=True):
    """Declaration of a tool; None: not stated. `origin`: mcp, openapi, ces, adk, openai or declared.

    >>> turnwise.ToolDeclaration("book_slot", effect="write").origin
    'declared'
    """

    name: str
    effect: Effect | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    description: str | None = None
    origin: str = "declared"


class Settings(BaseModel, defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False):
    """Base of what a config holds: unknown keys are errors, and numbers are finite."""


class ToolSetting(Settings):
    """Setting of a tool; None: declared or inferred. `source`, as `turnwise tools` writes it, is not used."""

    effect: Effect | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    source: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: JsonValue) -> JsonValue:
        return {"effect": value} if isinstance(value, str) else value


class Receipt(NamedTuple):
    """One part of a record of a stream; the record is settled when the outcomes of all parts are stored.

    Attributes:
        part: 0-based index.
        piece: 0-based index of the piece of that part, if conversations share it.
    """

    source: str
    position: int
    part: int = 0
    parts: int = 1
    piece: int = 0
    pieces: int = 1


class Closing(NamedTuple):
    """Closing of a conversation that a joined record of a stream represents.

    Attributes:
        revision: 0-based; higher for a later closing, or equal if this one yields no conversation.
        time: Time of the last event, seconds since the epoch.
        closed_at: Event time of the closing, seconds since the epoch.
        places: JSON array of the [source, position] of its events.
        groups: Groups that its events come from; see `ConversationEvent.group`.
    """

    session_id: str
    revision: int
    time: float
    closed_at: float
    places: bytes
    groups: tuple[str, ...] = ()


class Record(NamedTuple):
    """One JSON text of a source.

    Attributes:
        source: File or topic.
        position: 1-based line, or 1-based index in a JSON array or an Avro file.
        data: UTF-8 JSON text; for a joined record, the JSON array of its events.
        receipts: In a stream, receipts that are settled when the outcome is stored; empty: the record itself,
            or none for a joined record.
        closing: In a stream, the closing of a joined conversation; None: a single record.

    >>> turnwise.Record("logs.jsonl", 1, b'{"call": "c1"}').position
    1
    """

    source: str
    position: int
    data: bytes
    receipts: tuple[Receipt, ...] = ()
    closing: Closing | None = None

    def settles(self) -> tuple[Receipt, ...]:
        """Returns the receipts that are settled when the record's outcome is stored."""
        return self.receipts if self.receipts or self.closing else (Receipt(self.source, self.position),)


class Arrival(msgspec.Struct, frozen=True):
    """A record of a stream.

    Attributes:
        source: File, topic or subscription.
        position: Number of the record in its source: 1-based line, index, or offset.
        data: UTF-8 JSON text.
        event_time: Seconds since the epoch.
        watermark: Watermark of the source at the time of reading, seconds since the epoch; 0.0: unknown.
    """

    source: str
    position: int
    data: bytes
    event_time: float
    watermark: float = 0.0


# Canonical annotations of an answer engine: citations, claims, references, safety ratings.
#
# Offsets count bytes of the answer's UTF-8 encoding; ranges are half open. They are stored as logged and
# validated by `turnwise.transforms.formats.answers`.

FAILED, SUCCEEDED = "FAILED", "SUCCEEDED"
UNFINISHED = ("IN_PROGRESS", "STREAMING")
_SHOWN = 3


class Citation(msgspec.Struct, omit_defaults=True):
    """A range of the answer and its sources, which are indexes of references as decimal texts.

    >>> turnwise.Citation(0, 6, sources=["0"]).sources
    ['0']
    """

    start: int = 0
    end: int = 0
    sources: list[str] = []


class GroundedClaim(msgspec.Struct, omit_defaults=True):
    """A range of the answer with a claim, and its support.

    Attributes:
        score: Support score, 0..1; None: not stated.
        check_required: False: it needs no support; None: not stated.
        sources: Indexes of references, as decimal texts.

    >>> turnwise.GroundedClaim(0, 6, score=0.4, sources=["0"]).needs_support
    True
    """

    start: int = 0
    end: int = 0
    score: float | None = None
    check_required: bool | None = None
    sources: list[str] = []

    @property
    def needs_support(self) -> bool:
        """Whether the claim needs support."""
        return self.check_required is not False


class Reference(msgspec.Struct, omit_defaults=True):
    """A source of the answer; `relevance` to the query, 0..1: the highest of its texts; None: one has none.

    >>> turnwise.Reference(title="Fees", texts=["Moving costs 300 euros."]).title
    'Fees'
    """

    title: str | None = None
    uri: str | None = None
    document: str | None = None
    texts: list[str] = []
    data: JsonObject | None = None
    relevance: float | None = None


class GroundedStep(msgspec.Struct, omit_defaults=True):
    """A step: SUCCEEDED, FAILED or IN_PROGRESS (None: not stated); `observed`: actions with an observation.

    >>> turnwise.GroundedStep("SUCCEEDED", "search", actions=1, observed=1).observed
    1
    """

    state: str | None = None
    description: str | None = None
    actions: int = 0
    observed: int = 0


class SafetyRating(msgspec.Struct, omit_defaults=True):
    """Safety rating of the answer in one category.

    Attributes:
        category: HARM_CATEGORY_HATE_SPEECH and so on.
        probability: NEGLIGIBLE, LOW, MEDIUM or HIGH; None: not rated.
        severity: HARM_SEVERITY_NEGLIGIBLE, and so on; None: not rated.
        blocked: Whether the text was withheld because of this rating.

    >>> turnwise.SafetyRating("HARM_CATEGORY_HARASSMENT", probability="LOW").blocked
    False
    """

    category: str = ""
    probability: str | None = None
    probability_score: float | None = None
    severity: str | None = None
    severity_score: float | None = None
    blocked: bool = False


class Problem(msgspec.Struct, omit_defaults=True):
    """A problem that does not prevent scoring: a kind, such as `UnreadableField`; path and description.

    >>> finding = turnwise.Problem("UnreadPart", "exchanges[0].attachment: a picture")
    >>> log = turnwise.Conversation("c1", turns=[turnwise.Turn(user="Hi", agent="Hello", findings=[finding])])
    >>> [(row["stage"], row["error_type"]) for row in turnwise.evaluate(log).failures]
    [('check', 'UnreadPart')]
    """

    kind: str
    message: str
    count: int = 1

    @classmethod
    def of(cls, kind: str, messages: Sequence[str]) -> "Problem":
        """Combines problems of one kind; the message holds the first three."""
        return cls(kind, listed(messages, _SHOWN, mark="; "), len(messages))


class GroundedAnswer(msgspec.Struct, omit_defaults=True):
    """Annotations of one answer.

    Attributes:
        state: SUCCEEDED, FAILED, IN_PROGRESS or STREAMING; None: not stated.
        grounding_score: Support of the whole answer by the references, 0..1; None: not checked.
        unread: Parts of the answer of which something could not be read, such as `citations.sources`.

    >>> fees = turnwise.Reference(title="Fees", texts=["Moving costs 300 euros."])
    >>> cited = [turnwise.Citation(0, 6, ["0"])]
    >>> answer = turnwise.GroundedAnswer("SUCCEEDED", citations=cited, references=[fees])
    >>> turnwise.Turn(user="What does it cost?", agent="300 euros.", grounded=answer).grounded.is_evaluable
    True
    """

    state: str | None = None
    grounding_score: float | None = None
    citations: list[Citation] = []
    claims: list[GroundedClaim] = []
    references: list[Reference] = []
    safety_ratings: list[SafetyRating] = []
    skipped_reasons: list[str] = []
    query_classes: list[str] = []
    problems: list[Problem] = []
    related_questions: list[str] = []
    steps: list[GroundedStep] = []
    unread: list[str] = []

    @property
    def is_evaluable(self) -> bool:
        """Whether the answer is finished and did not fail."""
        return self.state != FAILED and self.state not in UNFINISHED

    def why_unread(self, *parts: str) -> str | None:
        """Returns why parts are not known in full (`steps` covers `steps.state`); None: they were read."""
        for unread in self.unread:
            for part in parts:
                if f"{unread}.".startswith(f"{part}.") or f"{part}.".startswith(f"{unread}."):
                    return f"{unread} could not be read"
        return None

    @property
    def skipped_text(self) -> str:
        """The reasons for the refusal in one sentence."""
        return f"The answer was skipped: {', '.join(self.skipped_reasons[:_SHOWN])}."

    @property
    def tags(self) -> list[str]:
        """Distinct labels for slicing metrics: `skipped:REASON` and `query:CLASS`."""
        reasons = [f"skipped:{reason}" for reason in self.skipped_reasons]
        return list(dict.fromkeys(reasons + [f"query:{name}" for name in self.query_classes]))


Milliseconds = Annotated[float, Meta(ge=0, le=3.15576e14)]
"""A duration within the range of a proto3 Duration (10,000 years)."""

Share = Annotated[float, Meta(ge=0, le=1)]
"""A fraction, 0..1."""

APP_DETAILS, GROUNDING = "app_details", "grounding"
"""Keys of `Conversation.meta`, each with one entry per turn: null, or `{agent: {instructions,
tool_declarations}}` for the first, and the sources that the model itself looked up for the second."""


class CanonicalModel(msgspec.Struct, omit_defaults=True):
    """Base of the canonical models; a missing key and `null` both mean absent."""


class ToolCall(CanonicalModel, forbid_unknown_fields=True):
    """One call of a tool.

    Attributes:
        name: Short name of the tool (of a CES resource: its last segment).
        args: Arguments; None: the log states none.
        id: Id that links the call with its response; may repeat in a conversation.
        resource: Full resource name (a toolset tool: `{toolset}/tools/{toolId}`); None: unknown.
        compare_args: For an expected call: the arguments to compare (tau2's field); None: all.
        agent: Agent that made the call; None: unknown.
        inside: Tool that stands for that agent, where another agent called it as a tool; None: none does.

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
    agent: str | None = None
    inside: str | None = None


class ToolResponse(CanonicalModel, forbid_unknown_fields=True):
    """One response of a tool; `error`: error mark of the log, which is true or the error message.

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
        name: Display name of the tool, model, callback stage or guardrail.
        resource: Full resource name; None: unknown.
        start_time: RFC 3339 text, as in the log; `end_time` likewise.

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

    Attributes:
        model: The model that was called; None: not stated, or several.
        parts: Tokens by model, where several were called, or one report lacks a count; empty: see `model`.

    >>> turnwise.Usage(input_tokens=512, output_tokens=40).cached_tokens is None
    True
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    model: str | None = None
    parts: "list[Usage]" = []

    def plus(self, other: "Usage") -> "Usage":
        """Returns the sum of two reports; what neither states stays unknown."""
        # Reports of one model that state the same counts are one part.
        parts: dict[tuple[str | None, bool, bool], Usage] = {}
        for part in (*(self.parts or [self]), *(other.parts or [other])):
            key = (part.model, part.input_tokens is None, part.output_tokens is None)
            held = parts.get(key)
            parts[key] = Usage(**_counts(held, part), model=part.model) if held else part
        if len(parts) == 1:
            return next(iter(parts.values()))
        models = {model for model, *_ in parts}
        model = models.pop() if len(models) == 1 else None
        return Usage(**_counts(self, other), model=model, parts=list(parts.values()))


TOKEN_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
"""The fields of `Usage` that are counts."""


def _counts(usage: Usage, other: Usage) -> dict[str, Any]:
    pairs = {name: (getattr(usage, name), getattr(other, name)) for name in TOKEN_COUNTS}
    known = {name: [count for count in pair if count is not None] for name, pair in pairs.items()}
    return {name: sum(counts) if counts else None for name, counts in known.items()}


class Rubric(CanonicalModel, forbid_unknown_fields=True):
    """A statement that a judge checks for a turn or a conversation.

    >>> rubric = turnwise.Rubric("r1", "The agent names the price.")
    >>> turnwise.EvalCase(eval_id="e1", rubrics=[rubric]).rubrics[0].text
    'The agent names the price.'
    """

    rubric_id: str
    text: str
    type: str | None = None


class TurnThresholds(CanonicalModel, forbid_unknown_fields=True):
    """CES thresholds of one turn; None: the case decides.

    >>> limits = turnwise.TurnThresholds(semantic_similarity=4)
    >>> turnwise.ExpectedTurn(user="Hi", response="Hello", thresholds=limits).thresholds.semantic_similarity
    4
    """

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
        variables: Session variables, with their values, that the agent must update (`updated_variables`).
        parameter_threshold: Threshold of this call's parameter correctness, 0..1; None: the case's.
        wire: Original CES message in canonical proto3 JSON; None: another format.

    >>> wanted = turnwise.Expectation("tool_call", tool_call=turnwise.ToolCall("book_slot", {"day": "Mon"}))
    >>> turnwise.ExpectedTurn(user="Monday", expectations=[wanted]).expectations[0].tool_call.name
    'book_slot'
    """

    kind: Literal[
        "tool_call", "tool_response", "agent_response", "agent_transfer", "updated_variables",
        "mock_tool_response", "no_tool_calls",
    ]  # fmt: skip
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
        response: Expected final response; None: not stated.
        tool_calls: Expected calls in order; empty: no call may happen; None: not stated.
        intermediate_responses: Expected texts before the final response.
        expectations: CES expectations in step order; empty for other formats.
        adk_text: Final response as google-adk reads it, with thought parts; None: same as `response`.
        adk_reads: Whether google-adk reads the turn without an error, so that `unread` is nothing to it.
        unread: Further expectations that are not read; None: none.

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


def turn_name(index: int) -> str:
    """Returns what people call a turn: `turn 1` is the first, whose index is 0 in files."""
    return f"turn {index + 1}"


class Turn(CanonicalModel, forbid_unknown_fields=True):
    """One user message and everything up to the next.

    Attributes:
        turn_index: 0-based position in the conversation.
        user: Message of the user; None: the agent opened the conversation.
        agent: Final response; None or "": there is none.
        agent_messages: All texts of the agent in order, the final response too; empty: only that is logged.
        speakers: Agents that said `agent_messages`, or `agent`, one each ("": unknown); empty: none is known.
        transfers: Agents that took over in this turn, in order.
        given_variables: Those `variables` that the user's message or a default set, not the agent.
        timestamp: Start of the turn: RFC 3339 text or seconds since the epoch.
        span: Its span, as `TRACE/SPAN` (hexadecimal where OpenTelemetry is); None: the log is no trace.
        latency_ms: From the user's message to the end of the turn, in milliseconds.
        inference_calls: Number of model calls; None: not logged.
        expected: Golden turn contained in the record.
        adk_text: Final response as google-adk reads it, with thought parts; None: same as `agent`.
        adk_reads: Whether google-adk reads the turn without an error: what is unknown of it is nothing to it.
        grounded: Annotations of an answer engine on `agent`; None: the turn holds no such answer.
        unknown_calls: Why calls, responses or hand-offs may be missing; None: complete.
        unknown_words: Why texts of the agent may be missing; None: complete.
        unknown_evidence: Why what its answer stands on may be missing; None: complete.
        unknown_latency: Why the logged `latency_ms` could not be read; None: no problem.

    >>> turnwise.Turn(user="Hi", agent="Hello").tool_calls
    []
    """

    turn_index: int = 0
    user: str | None = None
    agent: str | None = None
    tool_calls: list[ToolCall] = []
    tool_responses: list[ToolResponse] = []
    agent_messages: list[str] = []
    speakers: list[str] = []
    user_tool_calls: list[ToolCall] = []
    user_tool_responses: list[ToolResponse] = []
    transfers: list[str] = []
    variables: JsonObject = {}
    given_variables: list[str] = []
    payloads: list[JsonObject] = []
    spans: list[TimedSpan] = []
    timestamp: str | float | None = None
    span: str | None = None
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
    unknown_evidence: str | None = None
    unknown_latency: str | None = None
    findings: list[Problem] = []

    @property
    def agents(self) -> list[str]:
        """The agents that spoke, called or took over, each once, in order."""
        named = (*self.speakers, *(call.agent for call in self.tool_calls), *self.transfers)
        return list(dict.fromkeys(name for name in named if name))


class ExpectedOutcome(CanonicalModel, forbid_unknown_fields=True):
    """Expected outcome of a whole conversation (tau-bench's shape).

    Attributes:
        actions: Calls that the agent must make by the end; None: not stated.
        rubric: Statements about the conversation, for a judge.
        user_actions: Calls that the user must make by the end with their own tools.
        unread: Further expectations that are not read; None: none.

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
        source: Format or system of the log.
        app_version: Version of the agent; None, empty or blank: unknown (a draft).
        language: BCP 47 code.
        start_time: RFC 3339 text.
        state: Session state at the end, if logged.
        labels: Verdicts of the log (a reward, a rating).
        revision: 0-based version of a conversation that changed after it was scored.
        ended: How it ended; None: unknown, or (with a detail) an unknown word.

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


RAW = "raw"


def decoded_arguments(value: JsonValue) -> JsonObject | None:
    """Returns a call's arguments (an object, its JSON text, even as JSON text, or any value) as an object.

    None if none are stated; `{}` for an empty text or list (PHP's empty object), and for the text `null`;
    `{"raw": value}` for any other value that is not a JSON object, so that it never equals a call without
    arguments.
    """
    if value is None or isinstance(value, dict):
        return value
    decoded = value
    while isinstance(decoded, str):
        try:
            decoded = from_json(decoded) if value.strip() else None
        except ValueError:
            return {RAW: value}
    if isinstance(decoded, dict):
        return decoded
    return {} if decoded is None or decoded == [] else {RAW: value}
