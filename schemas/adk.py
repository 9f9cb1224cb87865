"""google-adk's eval sets: eval cases, invocations and the google-genai contents inside them.

Fields and validation are those of google-adk 2.13: every key in camelCase or snake_case, unknown keys are
rejected where google-adk rejects them. Parts of a message that are not read (media, grounding) are only
checked to be objects.
"""

from typing import Annotated, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel

from turnwise.schemas.arguments import decoded_arguments
from turnwise.schemas.values import JsonObject, JsonValue, no_items

M = TypeVar("M", bound=BaseModel)

LENIENT = {"log": True}


def read_log(model: type[M], value: JsonValue) -> M:
    """Parses a recorded value leniently.

    Unknown keys are stored in `model_extra`, null counts as absent, arguments may be JSON texts, and a tool's
    response may have any shape (a non-object becomes `{"result": ...}`).

    Raises:
        pydantic.ValidationError: The value is invalid even under these rules.
    """
    return model.model_validate(value, extra="allow", context=LENIENT)


def _log_arguments(value: JsonValue, info: ValidationInfo) -> JsonValue:
    return decoded_arguments(value) if info.context else value


def _log_response(value: JsonValue, info: ValidationInfo) -> JsonValue:
    return {"result": value} if info.context and not isinstance(value, dict | None) else value


Arguments = Annotated[JsonObject | None, BeforeValidator(_log_arguments)]
LoggedResponse = Annotated[JsonObject | None, BeforeValidator(_log_response)]


class AdkModel(BaseModel):
    """Base of google-adk's models: camelCase or snake_case per key, unknown keys are errors."""

    model_config = ConfigDict(
        defer_build=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        protected_namespaces=(),
    )

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


class InvocationEvent(AdkModel):
    """One step inside an invocation."""

    model_config = ConfigDict(extra="ignore")

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
    newer = isinstance(value, InvocationEvents) or any(each is not None for each in steps)
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


class AdkSessionInput(AdkModel):
    """Initial session of a case."""

    model_config = ConfigDict(extra="ignore")

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


class AdkEvalCase(AdkModel):
    """An eval case: a golden conversation or a scenario, exactly one of them."""

    model_config = ConfigDict(extra="ignore")

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
