"""google-adk's criteria that only a judge can score. Without a judge every one of them stays unscored."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from schemas.score import Score
from schemas.values import JsonObject
from transforms.conversation_case import ConversationCase, TurnPair
from transforms.criteria.base import Criterion

NO_JUDGE = "no judge configured"


class AdkOptions(BaseModel):
    """Base of google-adk's option objects: camelCase or snake_case per key, unknown keys are errors."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, protected_namespaces=()
    )


class JudgeModelOptions(AdkOptions):
    """Which model judges, and how often it is asked (google-adk's fields)."""

    judge_model: str = "gemini-2.5-flash"
    judge_model_config: JsonObject | None = None
    num_samples: int = Field(default=5, ge=1)
    parallelism_limit: int = Field(default=1, ge=1)


class RubricContent(AdkOptions):
    """A rubric's statement."""

    text_property: str | None = None


class ConfiguredRubric(AdkOptions):
    """A rubric that the config applies to every turn."""

    rubric_id: str
    rubric_content: RubricContent
    description: str | None = None
    type: str | None = None


class JudgedTurn(Criterion):
    """A criterion that asks a judge about every turn."""

    threshold: float | None = 0.5
    judge_model_options: JudgeModelOptions = JudgeModelOptions()
    include_intermediate_responses_in_final: bool = False

    def score(self, case: ConversationCase, pair: TurnPair) -> Score | None:
        """Leaves a recorded turn unscored."""
        return Score(None, reason=NO_JUDGE) if pair.actual else None


class JudgedConversation(JudgedTurn):
    """A criterion that asks a judge about the whole conversation."""

    def score(self, case: ConversationCase, pair: TurnPair) -> None:
        """Has nothing to say of a single turn."""

    def score_conversation(self, case: ConversationCase) -> Score | None:
        """Leaves a conversation unscored."""
        return Score(None, reason=NO_JUDGE) if case.conversation.turns else None


class FinalResponseMatch(JudgedTurn):
    """Whether the agent's answer says what the expected one says."""

    name: ClassVar[str] = "final_response_match_v2"

    def score(self, case: ConversationCase, pair: TurnPair) -> Score | None:
        """Leaves a turn with an expected answer unscored."""
        return super().score(case, pair) if pair.expected and pair.expected.response else None


class RubricFinalResponse(JudgedTurn):
    """Rubrics on the agent's final answer."""

    name: ClassVar[str] = "rubric_based_final_response_quality_v1"

    rubrics: list[ConfiguredRubric] = Field(default_factory=list)


class RubricToolUse(JudgedTurn):
    """Rubrics on the agent's use of its tools."""

    name: ClassVar[str] = "rubric_based_tool_use_quality_v1"

    rubrics: list[ConfiguredRubric] = Field(default_factory=list)


class RubricMultiTurnTrajectory(JudgedConversation):
    """Rubrics on the whole conversation."""

    name: ClassVar[str] = "rubric_based_multi_turn_trajectory_quality_v1"

    rubrics: list[ConfiguredRubric] = Field(default_factory=list)


class Hallucinations(JudgedTurn):
    """Share of the answer's sentences that their context supports."""

    name: ClassVar[str] = "hallucinations_v1"

    evaluate_intermediate_nl_responses: bool = False


class PerTurnUserSimulatorQuality(JudgedTurn):
    """Whether a simulated user kept to its scenario."""

    name: ClassVar[str] = "per_turn_user_simulator_quality_v1"

    stop_signal: str = "</finished>"


class Safety(JudgedTurn):
    """Whether the answer is harmless."""

    name: ClassVar[str] = "safety_v1"


class ResponseEvaluation(JudgedTurn):
    """Coherence of the answer, 1..5."""

    name: ClassVar[str] = "response_evaluation_score"
    scale: ClassVar[tuple[float, float] | None] = (1.0, 5.0)


class MultiTurnTaskSuccess(JudgedConversation):
    """Whether the conversation reached its goal."""

    name: ClassVar[str] = "multi_turn_task_success_v1"


class MultiTurnTrajectoryQuality(JudgedConversation):
    """Quality of the path to the goal."""

    name: ClassVar[str] = "multi_turn_trajectory_quality_v1"


class MultiTurnToolUseQuality(JudgedConversation):
    """Quality of the tool use on the path to the goal."""

    name: ClassVar[str] = "multi_turn_tool_use_quality_v1"
