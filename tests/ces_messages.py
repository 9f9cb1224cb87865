"""The classes of protobuf messages by their names."""

from collections.abc import Iterator
from typing import Any

from google.cloud import ces_v1beta, discoveryengine_v1beta

from turnwise.schemas import discovery_engine
from turnwise.schemas.ces import tools
from turnwise.schemas.ces.evaluation import CaseContent, CaseToScore
from turnwise.schemas.ces.resources import PageRequest
from turnwise.schemas.proto.message import Message

CLOUD = {tools.__name__: None, discovery_engine.__name__: discoveryengine_v1beta}
"""Google's package of the messages of a module; those of other modules are CES's."""


PARTS = (CaseContent, CaseToScore, PageRequest)
"""Bases of messages, and what is read of one in place of it."""


def _below(kind: type[Message]) -> Iterator[type[Message]]:
    for message in kind.__subclasses__():
        if message.__module__.startswith("turnwise.") and message not in PARTS:
            yield message
        yield from _below(message)


def cloud(message: type[Message]) -> Any:
    """Returns Google's package that a message is of; None: it is turnwise's."""
    return CLOUD.get(message.__module__, ces_v1beta)


MESSAGE_TYPES = [*_below(Message)]
MESSAGES = {message.PROTO: message for message in MESSAGE_TYPES}
