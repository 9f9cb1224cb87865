"""Base classes of criteria that depend on the effects of tools, or leave texts to a judge."""

from collections.abc import Mapping
from functools import cached_property
from typing import Self

from pydantic import BaseModel, Field, PrivateAttr

from turnwise.schemas.conversation import ToolSetting
from turnwise.schemas.score import Score
from turnwise.transforms.effects.equivalence import OpenPair
from turnwise.transforms.effects.mentions import ToolCatalog, ToolSettings, conversation_tools, sort_settings
from turnwise.transforms.matching.sample import Sample


class UsesToolEffects(BaseModel, defer_build=True):
    """A criterion that depends on the effects of tools.

    Attributes:
        tools: The config's own `tools`; a criterion has none of its own.
    """

    tools: dict[str, ToolSetting] = Field(default_factory=dict)

    @cached_property
    def settings(self) -> ToolSettings:
        """The config's tools, sorted."""
        return sort_settings(self.tools)

    def catalog(self, sample: Sample) -> ToolCatalog:
        """Returns the tools of a conversation and its case."""
        return conversation_tools(self.settings, sample.conversation, sample.eval_case)


class OpenScore(Score):
    """A score without a value, because only a judge can compare some values.

    Attributes:
        pairs: The values.
    """

    pairs: tuple[OpenPair, ...] = ()


class LeavesOpen(BaseModel, defer_build=True):
    """A measured criterion that asks a judge about values that it cannot compare, where there is a judge."""

    _answers: Mapping[OpenPair, bool] = PrivateAttr(default_factory=dict)

    def with_answers(self, answers: Mapping[OpenPair, bool]) -> Self:
        """Returns the same criterion, with what a judge said: whether the values of a pair are the same."""
        copy = self.model_copy()
        copy._answers = answers
        return copy
