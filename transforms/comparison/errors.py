"""Criteria that raised an error on a conversation: they leave it undecided."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from turnwise.schemas.rows import FailureRow
from turnwise.transforms.comparison.observed import ComparedConversation, Observed


class ScoredId(NamedTuple):
    """A conversation of an app version."""

    conversation_id: str
    app_version: str | None


Raised = Mapping[str, Mapping[ScoredId, str]]
"""Criterion -> conversation -> message of the error that the criterion raised."""


def raised_errors(failures: Iterable[FailureRow]) -> Raised:
    """Returns what criteria raised, the first message of each conversation."""
    found: dict[str, dict[ScoredId, str]] = {}
    for row in failures:
        if row["stage"] == "score" and row["criterion"] and row["conversation_id"]:
            key = ScoredId(row["conversation_id"], row["app_version"])
            found.setdefault(row["criterion"], {}).setdefault(key, row["message"])
    return found


def add_errors(conversations: Iterable[ComparedConversation], raised: Raised) -> None:
    """Makes undecided what raised an error and has no score of the conversation, unless a turn of it fails.

    Args:
        conversations: Changed in place.
        raised: The errors.
    """
    for one in conversations:
        key = ScoredId(one.conversation_id, one.app_version)
        for criterion, messages in raised.items():
            error = error_of(key, one.criteria.get(criterion), messages)
            if error is not None:
                one.criteria = {**one.criteria, criterion: error}


def error_of(
    conversation: ScoredId, found: Observed | None, messages: Mapping[ScoredId, str]
) -> Observed | None:
    """Returns what an error leaves of a score; None: there is none, or the score stands; see `add_errors`.

    Args:
        conversation: The conversation.
        found: What the criterion gave it.
        messages: Conversation -> message of the error that the criterion raised.
    """
    is_open = found is None or (found.is_summed and found.outcome != "FAIL")
    if conversation not in messages or not is_open:
        return None
    return Observed(why=f"raised an error: {messages[conversation]}")
