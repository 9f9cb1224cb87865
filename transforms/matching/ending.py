"""Describes the end of conversations, and detects aborted ones."""

from turnwise.schemas.conversation import Conversation, Ended

BROKEN: tuple[Ended, ...] = ("agent_error", "limit")
"""The ends by which a conversation fails, whatever its scores."""

_TEXTS: dict[Ended, str] = {
    "normally": "ended normally",
    "agent_error": "broke off: the agent failed",
    "limit": "broke off: a limit was reached",
    "user_left": "ended because the user left",
    "hand_off": "ended with a hand-off",
    "environment_error": "broke off, and not by the agent's failure",
}


def broke_off(conversation: Conversation) -> bool:
    """Returns whether the agent's failure or a limit ended a conversation."""
    return conversation.ended in BROKEN


def end_unclear(conversation: Conversation) -> bool:
    """Returns whether a conversation cannot pass because of its end.

    Something other than the agent ended it, or the log has a word for it that is not known.
    """
    ended = conversation.ended
    return ended == "environment_error" or (ended is None and conversation.ended_detail is not None)


def end_text(conversation: Conversation) -> str:
    """Returns how a conversation ended, in one line."""
    ended, detail = conversation.ended, conversation.ended_detail
    if ended is None and detail is None:
        return "the log does not say how the conversation ended"
    if ended is None:
        return f"how the conversation ended is not known: the log says {detail!r}"
    return f"the conversation {_TEXTS[ended]}" + (f" ({detail})" if detail else "")
