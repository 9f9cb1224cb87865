"""The classes of protobuf messages by their names."""

from collections.abc import Iterator

from turnwise.schemas import discovery_engine
from turnwise.schemas.ces import tools
from turnwise.schemas.ces.result import Status
from turnwise.schemas.proto.message import Message

LOADED = (discovery_engine, tools)


def _below(kind: type[Message]) -> Iterator[type[Message]]:
    """Yields the classes below one, without those that set a package: bases, and parts of other messages."""
    for message in kind.__subclasses__():
        is_one = "PACKAGE" not in vars(message) or message is Status
        if is_one and message.__module__.startswith("turnwise."):
            yield message
        yield from _below(message)


MESSAGE_TYPES = [*_below(Message)]
MESSAGES = {message.PROTO: message for message in MESSAGE_TYPES}
