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
        found = errors_of(ScoredId(one.conversation_id, one.app_version), one.criteria, raised)
        one.criteria = {**one.criteria, **found} if found else one.criteria


def errors_of(
    conversation: ScoredId, criteria: Mapping[str, Observed], raised: Raised
) -> dict[str, Observed]:
    """Returns what errors leave undecided of a conversation; see `add_errors`.

    Args:
        conversation: The conversation.
        criteria: What criteria gave it.
        raised: The errors.
    """
    found = {}
    for criterion, messages in raised.items():
        own = criteria.get(criterion)
        is_open = own is None or (own.is_summed and own.outcome != "FAIL")
        if is_open and conversation in messages:
            found[criterion] = Observed(why=f"raised an error: {messages[conversation]}")
    return found
