"""Custom metrics of google-adk's config, which are not computed."""

from math import inf
from typing import ClassVar

from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion
from turnwise.transforms.matching.sample import Sample, TurnPair


class CustomMetric(MeasuredCriterion):
    """Unscored in every conversation, because its function requires google-adk's classes and is not run.

    Attributes:
        name: Name in the config.
        function: Full name of the function.
    """

    scale: ClassVar[tuple[float, float] | None] = (-inf, inf)

    name: str  # type: ignore[misc]  # each metric of a config has its own
    function: str

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Returns None: only the conversation has a score."""
        return None

    def score_conversation(self, sample: Sample) -> Score:
        """Returns an unscored score with the reason."""
        return Score(None, reason=f"a custom metric: its function {self.function} is not run")
