"""The conversations of a side as columns: comparisons go over lists, not over objects."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from turnwise.schemas.comparison import PairedBy
from turnwise.transforms.comparison.errors import Raised, ScoredId, errors_of
from turnwise.transforms.comparison.observed import ComparedConversation, Observed


class CriteriaGroups(NamedTuple):
    """Conversations to which criteria gave one and the same.

    Attributes:
        criteria: What they gave, each once, in the order of the conversations.
        places: Place in `criteria`, for every conversation.
    """

    criteria: list[dict[str, Observed]]
    places: list[int]


@dataclass(slots=True)
class ConversationColumns:
    """Conversations: one list for each attribute of `ComparedConversation`, all in the same order.

    Several conversations may have one and the same object as `criteria`; `put` leaves the others alone.
    """

    conversation_ids: list[str]
    app_versions: list[str | None]
    eval_ids: list[str | None]
    tasks: list[str | None]
    case_digests: list[str | None]
    languages: list[str | None]
    tags: list[Sequence[str]]
    criteria: list[dict[str, Observed]]
    skipped: list[frozenset[str]]
    sampled_out: list[frozenset[str]]
    _groups: CriteriaGroups | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.conversation_ids)

    @property
    def groups(self) -> CriteriaGroups:
        """The conversations by what criteria gave them."""
        if self._groups is None:
            seen: dict[int, int] = {}
            places = [seen.setdefault(id(own), len(seen)) for own in self.criteria]
            found = dict(zip(map(id, self.criteria), self.criteria, strict=True))
            self._groups = CriteriaGroups([*found.values()], places)
        return self._groups

    def put(self, row: int, criterion: str, found: Observed) -> None:
        """Sets what a criterion gave one conversation."""
        self.criteria[row] = {**self.criteria[row], criterion: found}
        self._groups = None

    def add_errors(self, raised: Raised) -> None:
        """Makes undecided what raised an error; see `turnwise.transforms.comparison.errors.add_errors`."""
        known = {conversation for messages in raised.values() for conversation in messages}
        for row, key in enumerate(zip(self.conversation_ids, self.app_versions, strict=True)):
            if key in known:
                for criterion, found in errors_of(ScoredId(*key), self.criteria[row], raised).items():
                    self.put(row, criterion, found)

    def case_names(self, by: PairedBy) -> Sequence[str | None]:
        """Returns what identifies the case of every conversation; None or "": it states none."""
        if by == "conversation_id":
            return self.conversation_ids
        if by == "nothing":
            return [None] * len(self)
        return self.eval_ids if by == "eval_id" else self.tasks

    def own_cases(self) -> list[str]:
        """Returns the case of every conversation among its side; one that names none is a case of its own."""
        columns = zip(self.eval_ids, self.tasks, self.conversation_ids, strict=True)
        return [eval_id or task or conversation for eval_id, task, conversation in columns]


def columns_of(conversations: Iterable[ComparedConversation]) -> ConversationColumns:
    """Returns conversations as columns."""
    rows = list(conversations)
    return ConversationColumns(
        conversation_ids=[row.conversation_id for row in rows],
        app_versions=[row.app_version for row in rows],
        eval_ids=[row.eval_id for row in rows],
        tasks=[row.task for row in rows],
        case_digests=[row.case_digest for row in rows],
        languages=[row.language for row in rows],
        tags=[row.tags for row in rows],
        criteria=[row.criteria for row in rows],
        skipped=[row.skipped for row in rows],
        sampled_out=[row.sampled_out for row in rows],
    )
