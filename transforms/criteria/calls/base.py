"""Base class of criteria that depend on the effects of tools."""

from functools import cached_property

from pydantic import BaseModel, Field

from turnwise.schemas.tools import ToolSetting
from turnwise.transforms.effects.tool_catalog import (
    ToolCatalog,
    ToolSettings,
    conversation_tools,
    sort_settings,
)
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
