"""google-adk's eval sets and eval set results.

Fields and validation are those of google-adk 2.13: every key in camelCase or snake_case, unknown keys are
rejected where google-adk rejects them. Parts that are not read (media, grounding) only have to be objects.
"""

from enum import IntEnum
from typing import Annotated, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel

from turnwise.schemas.conversation import decoded_arguments
from turnwise.schemas.jsonio import JsonObject, JsonValue, no_items

M = TypeVar("M", bound=BaseModel)


def read_log(model: type[M], value: JsonValue) -> M:
    """Parses a recorded value leniently; raises pydantic.ValidationError.

    Unknown keys are stored in `model_extra`, null counts as absent, arguments may be JSON texts, and a tool's
    response may have any shape (a non-object becomes `{"result": ...}`).
    """
    return model.model_validate(value, extra="allow", context={"log": True})


def _log_arguments(value: JsonValue, info: ValidationInfo) -> JsonValue:
    return decoded_arguments(value) if info.context else value


def _log_response(value: JsonValue, info: ValidationInfo) -> JsonValue:
    return {"result": value} if info.context and not isinstance(value, dict | None) else value


Arguments = Annotated[JsonObject | None, BeforeValidator(_log_arguments)]
LoggedResponse = Annotated[JsonObject | None, BeforeValidator(_log_response)]


class AdkModel(
    BaseModel,
    defer_build=True,
    alias_generator=to_camel,
    populate_by_name=True,
    extra="forbid",
    protected_namespaces=(),
):
    """Base of google-adk's models: camelCase or snake_case per key, unknown keys are errors."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent_in_logs(cls, value: JsonValue, info: ValidationInfo) -> JsonValue:
        if info.context and isinstance(value, dict):
            return {key: item for key, item in value.items() if item is not None}
        return value


class FunctionCall(AdkModel):
    """A call of a tool."""

    id: str | None = None
    args: Arguments = None
    name: str | None = None
    partial_args: list[JsonObject] | None = None
    will_continue: bool | None = None


class FunctionResponse(AdkModel):
    """A response of a tool."""

    id: str | None = None
    name: str | None = None
    response: LoggedResponse = None
    parts: list[JsonObject] | None = None
    scheduling: str | None = None
    will_continue: bool | None = None


class Part(AdkModel):
    """One part of a message."""

    text: str | None = None
    thought: bool | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    inline_data: JsonObject | None = None
    file_data: JsonObject | None = None
    executable_code: JsonObject | None = None
    code_execution_result: JsonObject | None = None
    thought_signature: JsonValue = None
    video_metadata: JsonObject | None = None
    tool_call: JsonObject | None = None
    tool_response: JsonObject | None = None
    part_metadata: JsonObject | None = None
    audio_transcription: JsonObject | None = None
    media_resolution: JsonObject | None = None
    media_processing: JsonValue = None
    speech_metadata: JsonObject | None = None


class Content(AdkModel):
    """A message."""

    parts: list[Part] | None = None
    role: str | None = None


class UsageMetadata(AdkModel):
    """Tokens of one model call."""

    prompt_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None
    total_token_count: int | None = None
    cache_tokens_details: list[JsonObject] | None = None
    candidates_tokens_details: list[JsonObject] | None = None
    prompt_tokens_details: list[JsonObject] | None = None
    tool_use_prompt_tokens_details: list[JsonObject] | None = None
    traffic_type: str | None = None


class IntermediateData(AdkModel):
    """Older form of the steps inside an invocation; a response is `[author, parts]`."""

    tool_uses: list[FunctionCall] = Field(default_factory=no_items)
    tool_responses: list[FunctionResponse] = Field(default_factory=no_items)
    intermediate_responses: list[tuple[str, list[Part]]] = Field(default_factory=no_items)


class InvocationEvent(AdkModel, extra="ignore"):
    """One step inside an invocation."""

    author: str
    content: Content | None = None
    grounding_metadata: JsonObject | None = None
    usage_metadata: UsageMetadata | None = None
    model_version: str | None = None


class InvocationEvents(AdkModel):
    """Newer form of the steps inside an invocation."""

    invocation_events: list[InvocationEvent] = Field(default_factory=no_items)


def _intermediate_form(value: JsonValue) -> str:
    held = value if isinstance(value, dict) else {}
    steps = (held.get(key) for key in ("invocation_events", "invocationEvents"))
    newer = isinstance(value, InvocationEvents) or any(step is not None for step in steps)
    return "InvocationEvents" if newer else "IntermediateData"


Intermediate = Annotated[
    Annotated[IntermediateData, Tag("IntermediateData")]
    | Annotated[InvocationEvents, Tag("InvocationEvents")],
    Discriminator(_intermediate_form),
]


class AdkRubricContent(AdkModel):
    """Statement of a rubric."""

    text_property: str | None = None


class AdkRubric(AdkModel):
    """A statement for a judge."""

    rubric_id: str
    rubric_content: AdkRubricContent
    description: str | None = None
    type: str | None = None


class AgentDetails(AdkModel):
    """Configuration of an agent."""

    name: str
    instructions: str = ""
    tool_declarations: list[JsonValue] = Field(default_factory=no_items)


class AppDetails(AdkModel):
    """The agents of an app, by name."""

    agent_details: dict[str, AgentDetails] = Field(default_factory=dict)


class Invocation(AdkModel):
    """One turn, recorded or expected; durations are in seconds, the timestamp in seconds since the epoch."""

    invocation_id: str = ""
    user_content: Content
    final_response: Content | None = None
    intermediate_data: Intermediate | None = None
    creation_timestamp: float = 0.0
    duration: float | None = None
    model_duration: float | None = None
    tool_duration: float | None = None
    rubrics: list[AdkRubric] | None = None
    app_details: AppDetails | None = None


class AdkSessionInput(AdkModel, extra="ignore"):
    """Initial session of a case."""

    app_name: str
    user_id: str
    session_id: str | None = None
    state: JsonObject = Field(default_factory=dict)


class UserBehavior(BaseModel, defer_build=True):
    """Behavior of a simulated user."""

    name: str
    description: str
    behavior_instructions: list[str]
    violation_rubrics: list[str]


class UserPersona(BaseModel, defer_build=True):
    """Persona of a simulated user."""

    id: str
    description: str
    behaviors: list[UserBehavior]


class ConversationScenario(AdkModel):
    """A conversation to be simulated."""

    starting_prompt: str
    conversation_plan: str
    user_persona: UserPersona | Literal["EXPERT", "NOVICE", "EVALUATOR"] | None = None


class AdkEvalCase(AdkModel, extra="ignore"):
    """An eval case: a golden conversation or a scenario, exactly one of them."""

    eval_id: str
    conversation: list[Invocation] | None = None
    conversation_scenario: ConversationScenario | None = None
    session_input: AdkSessionInput | None = None
    creation_timestamp: float = 0.0
    rubrics: list[AdkRubric] | None = None
    final_session_state: JsonObject | None = Field(default_factory=dict)

    @model_validator(mode="after")
    def _exactly_one_script(self) -> "AdkEvalCase":
        if (self.conversation is None) == (self.conversation_scenario is None):
            raise ValueError("exactly one of conversation and conversation_scenario must be given")
        return self


class EvalSet(BaseModel, defer_build=True):
    """A file of eval cases; its own keys are snake_case only, unknown ones are ignored."""

    eval_set_id: str
    name: str | None = None
    description: str | None = None
    eval_cases: list[AdkEvalCase]
    creation_timestamp: float = 0.0


# google-adk's logs, which `read_log` reads: eval results and stored sessions.


class EvalStatus(IntEnum):
    """A status; result files store its number."""

    PASSED, FAILED, NOT_EVALUATED, INFORMATIONAL = range(1, 5)


class EvalMetricResult(AdkModel):
    """What is read of one metric of a case."""

    metric_name: str = ""
    score: float | None = None
    eval_status: EvalStatus = EvalStatus.NOT_EVALUATED


class EvalMetricResultPerInvocation(AdkModel):
    """A recorded and an expected turn."""

    actual_invocation: Invocation
    expected_invocation: Invocation | None = None


EventTime = Annotated[float, AfterValidator(lambda time: time / 1000 if 1e11 <= time < 1e14 else time)]
"""Seconds since the epoch; the libraries for Java and TypeScript write milliseconds."""


class EventCompaction(AdkModel):
    """A compaction of the events in a time range."""

    start_timestamp: EventTime | None = None
    end_timestamp: EventTime | None = None


class EventActions(AdkModel):
    """Actions of an event."""

    skip_summarization: bool | None = None
    escalate: bool | None = None
    end_of_agent: bool | None = None
    state_delta: JsonObject = Field(default_factory=dict)
    transfer_to_agent: str | None = None
    rewind_before_invocation_id: str | None = None
    compaction: EventCompaction | None = None


class Transcription(AdkModel):
    """What was spoken, or a piece of it; `finished` says that it is whole."""

    text: str | None = None
    finished: bool | None = None


class AdkEvent(AdkModel):
    """One stored event of a session.

    Attributes:
        error_code: Error of the model or agent; codes vary by model.
        interrupted: The user interrupted the agent (barge-in).
        turn_complete: False: the model did not finish its turn.
        input_transcription: What the user said in a live session.
        output_transcription: What the agent said in it.
    """

    invocation_id: str = ""
    author: str = ""
    content: Content | None = None
    actions: EventActions = Field(default_factory=EventActions)
    partial: bool | None = None
    long_running_tool_ids: list[str] | None = None
    grounding_metadata: JsonObject | None = None
    usage_metadata: UsageMetadata | None = None
    model_version: str | None = None
    timestamp: EventTime | None = None
    error_code: JsonValue = None
    error_message: JsonValue = None
    finish_reason: JsonValue = None
    interrupted: bool | None = None
    turn_complete: bool | None = None
    input_transcription: Transcription | None = None
    output_transcription: Transcription | None = None


class AdkSession(AdkModel):
    """A stored session."""

    id: str
    app_name: str | None = None
    user_id: str | None = None
    state: JsonObject = Field(default_factory=dict)
    events: list[AdkEvent] = Field(default_factory=no_items)


class EvalCaseResult(AdkModel):
    """Result of one run of an eval case; only the `state` of the session's details is read."""

    eval_set_id: str = ""
    eval_id: str = ""
    final_eval_status: EvalStatus = EvalStatus.NOT_EVALUATED
    overall_eval_metric_results: list[EvalMetricResult] = Field(default_factory=no_items)
    eval_metric_result_per_invocation: list[EvalMetricResultPerInvocation] = Field(default_factory=no_items)
    session_id: str | None = None
    session_details: JsonValue = None
    user_id: str | None = None


class EvalSetResult(AdkModel):
    """A file of results."""

    eval_set_result_id: str = ""
    eval_set_id: str = ""
    eval_case_results: list[EvalCaseResult] = Field(default_factory=no_items)
