"""All messages by name. Importing this module registers them for `google.protobuf.Any`."""

# Importing a module registers its messages; these import all others.
from turnwise.schemas.ces import sessions  # noqa: F401
from turnwise.schemas.discovery_engine import session as answer_session  # noqa: F401
from turnwise.schemas.proto.message import MESSAGE_TYPES, Message

MESSAGES: dict[str, type[Message]] = {message.PROTO: message for message in MESSAGE_TYPES.values()}
"""Message classes by their names inside their packages, such as "EvaluationResult.GoldenResult"."""
