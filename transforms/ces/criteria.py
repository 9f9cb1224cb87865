"""The criteria that CES cases are always judged by."""

from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.criteria.ces.expectations import EvaluationExpectations, ScenarioExpectations
from turnwise.transforms.criteria.ces.semantic_match import SemanticMatch
from turnwise.transforms.criteria.ces.similarity import SemanticSimilarity
from turnwise.transforms.criteria.ces_conversations import ScenarioRubrics, UserGoalSatisfaction
from turnwise.transforms.criteria.ces_turns import Hallucination

CES_CRITERIA: tuple[JudgedCriterion, ...] = (
    SemanticSimilarity(),
    SemanticMatch(),
    Hallucination(),
    EvaluationExpectations(),
    ScenarioRubrics(),
    ScenarioExpectations(),
    UserGoalSatisfaction(),
)
"""One of each, with their defaults; one of the same name in the config takes its place."""
