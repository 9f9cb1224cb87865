"""What the users of a conversation wrote, of the messages that a model is given."""

from collections.abc import Sequence

from turnwise.transforms.formats.traces.message import SYSTEM, USER, SpanMessage
from turnwise.transforms.formats.traces.notes import is_retry


def new_user(first: Sequence[SpanMessage], known: Sequence[SpanMessage]) -> SpanMessage | None:
    """Returns what the user newly wrote: all that follows the known history, or else the last messages."""
    found = news(first, known) or _last_users(first)
    if not found:
        return None
    texts = [text for each in found for text in each.texts]
    return SpanMessage(
        USER,
        texts,
        parts=[part for each in found for part in each.parts],
        keys=[key for each in found for key in each.keys],
    )


def _last_users(messages: Sequence[SpanMessage]) -> list[SpanMessage]:
    """Returns the user's last messages that follow each other.

    A note to try again, which an agent writes after a reply, is the user's where nothing but it opens a turn.
    """
    found: list[SpanMessage] = []
    for each in reversed(messages):
        if each.is_users or (not found and each.role == USER and is_retry(each.text.strip())):
            found.insert(0, each)
        elif found and each.role != SYSTEM:
            break
    return found


def news(first: Sequence[SpanMessage], known: Sequence[SpanMessage]) -> list[SpanMessage] | None:
    """Returns the user's messages after the known history; None: the messages do not begin with one."""
    spoken = [each for each in first if each.role != SYSTEM]
    before = [each.sign for each in known if each.role != SYSTEM]
    if not before or [each.sign for each in spoken[: len(before)]] != before:
        return None
    return [each for each in spoken[len(before) :] if each.is_users]


def users_of(messages: Sequence[SpanMessage]) -> tuple[str, ...]:
    """Returns the texts of all messages of users."""
    return tuple(each.text for each in messages if each.is_users)
