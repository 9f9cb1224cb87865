"""The conversations of a side as columns: comparisons go over columns, not over objects."""

from collections.abc import Iterable

from msgspec import Struct

from turnwise.schemas.comparison import PairedBy
from turnwise.transforms.comparison.criterion_column import (
    CriterionColumn,
    columns_by_criterion,
    empty_column,
)
from turnwise.transforms.comparison.errors import Raised, ScoredId, error_of
from turnwise.transforms.comparison.observed import ComparedConversation, Observed
from turnwise.transforms.decisions.comparison.sides import CodedColumn, coded, constant

CaseNames = CodedColumn[str] | CodedColumn[str | None]


class ConversationColumns(Struct):
    """Conversations: one column for each attribute of `ComparedConversation`, all in the same order.

    Attributes:
        criteria: What each criterion that gave any of them something gave.
    """

    conversation_ids: CodedColumn[str]
    app_versions: CodedColumn[str | None]
    eval_ids: CodedColumn[str | None]
    tasks: CodedColumn[str | None]
    case_digests: CodedColumn[str | None]
    languages: CodedColumn[str | None]
    tags: CodedColumn[tuple[str, ...]]
    criteria: dict[str, CriterionColumn]
    skipped: CodedColumn[frozenset[str]]
    sampled_out: CodedColumn[frozenset[str]]

    def __len__(self) -> int:
        return len(self.conversation_ids)

    def put(self, row: int, criterion: str, found: Observed) -> None:
        """Sets what a criterion gave one conversation."""
        if criterion not in self.criteria:
            self.criteria[criterion] = empty_column(len(self))
        self.criteria[criterion].put(row, found)

    def given(self, row: int, criterion: str) -> Observed | None:
        """Returns what a criterion gave one conversation; None: nothing."""
        own = self.criteria.get(criterion)
        return None if own is None else own[row]

    def add_errors(self, raised: Raised) -> None:
        """Makes undecided what raised an error; see `turnwise.transforms.comparison.errors.add_errors`."""
        known = {conversation for messages in raised.values() for conversation in messages}
        for row, key in enumerate(zip(self.conversation_ids, self.app_versions, strict=True)):
            for criterion in raised if key in known else ():
                error = error_of(ScoredId(*key), self.given(row, criterion), raised[criterion])
                if error is not None:
                    self.put(row, criterion, error)

    def case_names(self, by: PairedBy) -> CaseNames:
        """Returns what identifies the case of every conversation; None or "": it states none."""
        if by == "conversation_id":
            return self.conversation_ids
        if by == "nothing":
            unnamed: CodedColumn[str | None] = constant(None, len(self))
            return unnamed
        return self.eval_ids if by == "eval_id" else self.tasks

    def own_cases(self) -> CaseNames:
        """Returns the case of every conversation among its side; one that names none is a case of its own."""
        if all(self.eval_ids.used()):
            return self.eval_ids
        columns = zip(self.eval_ids, self.tasks, self.conversation_ids, strict=True)
        return coded(eval_id or task or conversation for eval_id, task, conversation in columns)


def columns_of(conversations: Iterable[ComparedConversation]) -> ConversationColumns:
    """Returns conversations as columns."""
    rows = list(conversations)
    return ConversationColumns(
        conversation_ids=coded(row.conversation_id for row in rows),
        app_versions=coded(row.app_version for row in rows),
        eval_ids=coded(row.eval_id for row in rows),
        tasks=coded(row.task for row in rows),
        case_digests=coded(row.case_digest for row in rows),
        languages=coded(row.language for row in rows),
        tags=coded(tuple(row.tags) for row in rows),
        criteria=columns_by_criterion([row.criteria for row in rows]),
        skipped=coded(row.skipped for row in rows),
        sampled_out=coded(row.sampled_out for row in rows),
    )
