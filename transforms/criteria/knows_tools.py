"""What the criteria that ask what tools do have in common."""

from functools import cached_property

from pydantic import BaseModel, Field

from schemas.tools import ToolSetting
from transforms.conversation_case import ConversationCase
from transforms.effects.book import Settings, ToolBook, open_book, sort_settings


class KnowsTools(BaseModel):
    """A criterion that asks what tools do.

    Attributes:
        tools: The config's own `tools`; a criterion has none of its own.
    """

    tools: dict[str, ToolSetting] = Field(default_factory=dict)

    @cached_property
    def settings(self) -> Settings:
        """The config's tools, sorted."""
        return sort_settings(self.tools)

    def book(self, case: ConversationCase) -> ToolBook:
        """Returns the tools of a conversation and its case."""
        return open_book(self.settings, case.conversation, case.case)
