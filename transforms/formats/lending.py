"""What a format says of groups of events, of which only some name their conversation."""

from typing import NamedTuple


class NoConversation(ValueError):
    """A group of events belongs to no conversation."""


class Lent(NamedTuple):
    """An event of a group, or a piece of it, with its conversation.

    Attributes:
        place: 0-based place of the event in the group.
        conversation_id: Id of the conversation.
        data: UTF-8 JSON of the event or of the piece.
    """

    place: int
    conversation_id: str
    data: bytes
