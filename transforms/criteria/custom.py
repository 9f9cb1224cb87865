"""A custom metric of google-adk's config: named, and never computed."""

from math import inf
from typing import ClassVar

from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion
from turnwise.transforms.matching.sample import Sample, TurnPair


class CustomMetric(MeasuredCriterion):
    """Unscored in every conversation: its function takes google-adk's own classes, and is not run.

    Attributes:
        name: Its name in the config.
        function: The function's full name.
    """

    scale: ClassVar[tuple[float, float] | None] = (-inf, inf)

    name: str  # type: ignore[misc]  # each metric of a config has its own
    function: str

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Returns None: there is nothing to say about single turns."""
        return None

    def score_conversation(self, sample: Sample) -> Score:
        """Returns an unscored score with the reason."""
        return Score(None, reason=f"a custom metric: its function {self.function} is not run")
