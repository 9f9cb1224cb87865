"""Chooses the conversations to read first, and counts those with the same kind of problem."""

from collections import Counter
from collections.abc import Iterable, Sequence

from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.text.dates import time_seconds

MOST_READ = 10
MOST_OF_A_CLUSTER = 3
_MOST_KEPT = 256


def reading_key(row: ConversationRow) -> tuple[float, float, str, str, str]:
    """Returns a key that sorts conversations in the order of reading.

    The greatest harm comes first, of equal harm the latest event. Ids decide what is left, so that the order
    does not depend on the order of the rows.
    """
    time = time_seconds(row["event_time"]) or 0.0
    return (-row["harm"], -time, row["conversation_id"], row["app_version"] or "", row["eval_id"] or "")


def by_harm(rows: Iterable[ConversationRow]) -> list[ConversationRow]:
    """Returns all rows in the order of reading."""
    return sorted(rows, key=reading_key)


def to_read(
    rows: Iterable[ConversationRow], most: int = MOST_READ, of_a_cluster: int = MOST_OF_A_CLUSTER
) -> list[ConversationRow]:
    """Returns the conversations to read first, so that they show different problems.

    The worst of every cluster come first, then the second ones, and so on; each time by harm.

    Args:
        rows: Conversations, in any order; those without harm are not chosen.
        most: Number of conversations at most.
        of_a_cluster: Number of conversations of one cluster at most.
    """
    rounds: list[list[ConversationRow]] = [[] for _ in range(of_a_cluster)]
    taken: Counter[str | None] = Counter()
    for row in by_harm(row for row in rows if row["harm"] > 0):
        number = taken[row["cluster"]]
        if number < of_a_cluster:
            rounds[number].append(row)
            taken[row["cluster"]] += 1
    return [row for own in rounds for row in own][:most]


class ReadingList:
    """The conversations of a part of a run to read first, without transcripts; lists of parts can be joined.

    The list of a whole is the list of its parts' lists: a row that is chosen from the whole is chosen from
    its part, too, where fewer rows stand before it.
    """

    def __init__(self, rows: Iterable[ConversationRow] = ()) -> None:
        self._rows: list[ConversationRow] = []
        self.add(rows)

    def add(self, rows: Iterable[ConversationRow]) -> None:
        """Adds rows; at most some hundreds are kept."""
        self._rows += [{**row, "transcript": None} for row in rows if row["harm"] > 0]
        if len(self._rows) > _MOST_KEPT:
            self._rows = to_read(self._rows)

    def rows(self) -> list[ConversationRow]:
        """Returns the chosen rows in the order of reading."""
        return to_read(self._rows)


def cluster_sizes(rows: Iterable[ConversationRow]) -> dict[str, int]:
    """Returns cluster -> number of conversations, the largest cluster first, then by name."""
    sizes = Counter(row["cluster"] for row in rows if row["cluster"] is not None)
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))


def latest_revisions(rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Returns the rows that count: of each conversation, case and app version the highest revision.

    Rows of equal revision all count: they are of several records.
    """
    highest: dict[tuple[str | None, ...], int] = {}
    for row in rows:
        key = _identity(row)
        highest[key] = max(row["revision"], highest.get(key, 0))
    return [row for row in rows if row["revision"] == highest[_identity(row)]]


def _identity(row: ConversationRow) -> tuple[str | None, ...]:
    return row["run_id"], row["conversation_id"], row["eval_set_id"], row["eval_id"], row["app_version"]
