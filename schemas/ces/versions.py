"""Versions of an app."""

from pydantic import Field

from turnwise.schemas.proto.fields import Repeated, Struct, Text, Timestamp
from turnwise.schemas.proto.json import Message


class AppSnapshot(Message):
    """Content of a version; resources are plain objects."""

    app: Struct | None = None
    agents: Repeated[Struct] = Field(default_factory=list)
    tools: Repeated[Struct] = Field(default_factory=list)
    examples: Repeated[Struct] = Field(default_factory=list)
    guardrails: Repeated[Struct] = Field(default_factory=list)
    toolsets: Repeated[Struct] = Field(default_factory=list)


class AppVersion(Message):
    """An immutable snapshot of an app."""

    name: Text = ""
    display_name: Text = ""
    description: Text = ""
    creator: Text = ""
    create_time: Timestamp | None = None
    snapshot: AppSnapshot | None = None
    etag: Text = ""
