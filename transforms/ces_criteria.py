"""The criteria that CES cases are always judged by."""

from transforms.conversation_case import ConversationCase
from transforms.criteria.base import JudgedCriterion
from transforms.criteria.ces_expectations import EvaluationExpectations, ScenarioExpectations
from transforms.criteria.ces_hallucination import Hallucination
from transforms.criteria.ces_scenario import ScenarioRubrics, UserGoalSatisfaction
from transforms.criteria.ces_similarity import SemanticSimilarity
from transforms.criteria.ces_values import SemanticMatch

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


def applies(case: ConversationCase) -> bool:
    """Tells whether a conversation is judged by them even if the config names none."""
    return case.case is not None and case.case.dialect == "ces"
