"""The sides of a comparison as columns that list each of their values once: it goes over values, not rows."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from turnwise.schemas.calibration import Calibration
from turnwise.schemas.comparison import PairedBy
from turnwise.schemas.run import RunDocument
from turnwise.transforms.decisions.comparison.collect import (
    ComparedConversation,
    Observed,
    Raised,
    ScoredId,
    error_of,
)
from turnwise.transforms.statistics.resampling import Numbers

Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
_Held = TypeVar("_Held")
_Hashed = TypeVar("_Hashed", bound=Hashable)


class CodedColumn(Struct, Generic[_Held], eq=False):
    """A column of some rows.

    Attributes:
        values: Its values, each once; some may be of no row.
        places: Place in `values`, for every row.
    """

    values: list[_Held]
    places: Integers

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, row: int) -> _Held:
        return self.values[self.places[row]]

    def __iter__(self) -> Iterator[_Held]:
        return map(self.values.__getitem__, self.places.tolist())

    def put(self, row: int, value: _Held) -> None:
        """Sets the value of one row.

        Columns of other rows of the same column get a new one as a value of no row.
        """
        if value not in self.values:
            self.values.append(value)
        self.places[row] = self.values.index(value)

    def at(self, rows: Integers | Bools) -> "CodedColumn[_Held]":
        """Returns the column of some rows."""
        return CodedColumn(self.values, self.places[rows])

    def counts(self) -> Integers:
        """Returns the number of rows of every value."""
        return np.bincount(self.places, minlength=len(self.values))

    def used(self) -> list[_Held]:
        """Returns the values that any row has."""
        return [self.values[place] for place in np.flatnonzero(self.counts()).tolist()]

    def compact(self) -> "CodedColumn[_Held]":
        """Returns the column with the values of its rows alone, by the first row of each."""
        used = np.flatnonzero(self.counts())
        rows = np.empty(len(self.values), np.int64)
        rows[self.places[::-1]] = np.arange(len(self))[::-1]
        ordered = used[np.argsort(rows[used])]
        rows[ordered] = np.arange(len(used))
        return CodedColumn([self.values[place] for place in ordered.tolist()], rows[self.places])

    def recoded(self, values: Iterable[_Hashed]) -> "CodedColumn[_Hashed]":
        """Returns the column with other values in place of its own, which may be equal to each other."""
        own = coded(values)
        return CodedColumn(own.values, own.places[self.places])


def coded(rows: Iterable[_Hashed]) -> CodedColumn[_Hashed]:
    """Returns the column of the values of all rows."""
    listed = list(rows)
    seen = dict.fromkeys(listed)
    if len(seen) == len(listed):
        return CodedColumn(listed, np.arange(len(listed)))
    place_of = dict(zip(seen, range(len(seen)), strict=True))
    places = np.fromiter(map(place_of.__getitem__, listed), np.int64, len(listed))
    return CodedColumn([*seen], places)


def constant(value: _Hashed, size: int) -> CodedColumn[_Hashed]:
    """Returns the column of so many rows of one value."""
    return CodedColumn([value], np.zeros(size, np.int64))


def stacked(columns: Sequence[CodedColumn[_Hashed]]) -> CodedColumn[_Hashed]:
    """Returns columns under each other."""
    none = np.zeros(0, np.int64)
    if len({id(own.values) for own in columns}) == 1:
        return CodedColumn(columns[0].values, np.concatenate([none, *(own.places for own in columns)]))
    values = [value for own in columns for value in own.values]
    starts = accumulate((len(own.values) for own in columns), initial=0)
    places = [own.places + start for own, start in zip(columns, starts, strict=False)]
    return CodedColumn(values, np.concatenate([none, *places])).recoded(values)


def chosen(a: CodedColumn[_Hashed], b: CodedColumn[_Hashed], is_b: Bools) -> CodedColumn[_Hashed]:
    """Returns the values of `a`, in some rows those of `b`."""
    values = [*a.values, *b.values]
    return CodedColumn(values, np.where(is_b, b.places + len(a.values), a.places)).recoded(values)


def distinct_pairs(a: CodedColumn[Any], b: CodedColumn[Any]) -> list[tuple[int, int]]:
    """Returns the pairs of places in the values of two columns that any row has, ascending."""
    pairs = a.places * len(b.values) + b.places
    if len(a.values) * len(b.values) <= len(pairs):
        found = np.flatnonzero(np.bincount(pairs))
    else:
        ordered = np.sort(pairs)
        found = ordered[np.diff(ordered, prepend=-1) > 0]
    first, second = np.divmod(found, max(1, len(b.values)))
    return [*zip(first.tolist(), second.tolist(), strict=True)]


def common(a: CodedColumn[Any], b: CodedColumn[Any]) -> set[Any]:
    """Returns the values that rows of both columns have."""
    if a.values is not b.values:
        return {*a.used()} & {*b.used()}
    return {a.values[place] for place in np.flatnonzero((a.counts() > 0) & (b.counts() > 0)).tolist()}


# What one criterion gave the conversations of a side, as columns of numbers.


class ScoreKind(NamedTuple):
    """What many scores of a criterion have in common; see `Observed`.

    Attributes:
        has_value: Whether they have a value.
    """

    outcome: str | None
    threshold: float | None
    is_summed: bool
    has_value: bool


class CriterionColumn(Struct, eq=False):
    """What a criterion gave conversations.

    Attributes:
        values: Value of every conversation; without one, 0.
        kinds: The rest of what comparisons go over; None: the criterion gave nothing.
        details: Row -> all that it gave, where reasons, turns and votes are known.
    """

    values: Numbers
    kinds: CodedColumn[ScoreKind | None]
    details: dict[int, Observed] = field(default_factory=dict)

    def __getitem__(self, row: int) -> Observed | None:
        kind = self.kinds[row]
        if row in self.details or kind is None:
            return self.details.get(row)
        value = float(self.values[row]) if kind.has_value else None
        return Observed(value, kind.outcome, kind.threshold, is_summed=kind.is_summed)

    def put(self, row: int, found: Observed) -> None:
        """Sets what the criterion gave one conversation."""
        self.values[row] = found.value or 0.0
        self.kinds.put(row, kind_of(found))
        self.details[row] = found

    def without(self, rows: Bools) -> "CriterionColumn":
        """Returns a column without details where the criterion gave some conversations nothing."""
        nothing: CodedColumn[ScoreKind | None] = constant(None, len(self.kinds))
        return CriterionColumn(np.where(rows, 0.0, self.values), chosen(self.kinds, nothing, rows))

    def where(self, is_wanted: Callable[[ScoreKind], bool]) -> Bools:
        """Returns whether each conversation has a score of some kinds."""
        found = [kind is not None and is_wanted(kind) for kind in self.kinds.values]
        return np.asarray(found, np.bool_)[self.kinds.places]

    @property
    def is_given(self) -> Bools:
        """Whether each conversation has a score, with a value or without."""
        return self.where(lambda _: True)

    @property
    def has_value(self) -> Bools:
        """Whether each conversation has a value."""
        return self.where(lambda kind: kind.has_value)

    def is_within(self, scale: tuple[float, float] | None) -> Bools:
        """Returns whether the value of each conversation is on a scale; None: all values are."""
        if scale is None:
            return self.has_value
        return self.has_value & (self.values >= scale[0]) & (self.values <= scale[1])


def are_binary(values: Numbers) -> bool:
    """Returns whether all values are 0 or 1."""
    return bool(np.isin(values, (0.0, 1.0)).all())


def empty_column(size: int) -> CriterionColumn:
    """Returns what a criterion gave so many conversations that it gave nothing."""
    return _column([None] * size)


def stacked_criteria(columns: Sequence[CriterionColumn]) -> CriterionColumn:
    """Returns columns without details under each other."""
    values = np.concatenate([own.values for own in columns])
    return CriterionColumn(values, stacked([own.kinds for own in columns]))


def columns_by_criterion(rows: Sequence[Mapping[str, Observed]]) -> dict[str, CriterionColumn]:
    """Returns what criteria gave conversations, by criterion, in order of appearance.

    Args:
        rows: Criterion -> what it gave, for every conversation.
    """
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: _column([row.get(name) for row in rows]) for name in names}


def _column(found: Sequence[Observed | None]) -> CriterionColumn:
    values: Iterable[float | None] = (None if own is None else own.value for own in found)
    return CriterionColumn(
        values=np.asarray([value or 0.0 for value in values], np.float64),
        kinds=coded(None if own is None else kind_of(own) for own in found),
        details={row: own for row, own in enumerate(found) if own is not None},
    )


def kind_of(found: Observed) -> ScoreKind:
    """Returns what a score has in common with others."""
    return ScoreKind(found.outcome, found.threshold, found.is_summed, found.value is not None)


# The conversations of a side as columns: comparisons go over columns, not over objects.

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
        """Makes undecided what raised an error; see `comparison.collect.add_errors`."""
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


# One side of a comparison.


class ComparedSide(Struct):
    """One side of a comparison.

    Attributes:
        name: How texts call it.
        source: Directory of the run, or address of the store.
        conversations: Its conversations.
        run_ids: Ids of its runs.
        lost: Records, conversations and eval cases of the run that were lost, and files that were not read
            to the end; None: not known.
        notes: What is said of its runs, one line each.
        problems: Why the run ended with exit status 1, one line each.
        document: `run.json`; None: of a store.
        rulers: Criterion -> the judge models and prompts that scored it, `model, prompt version`.
        errors: Criterion -> conversations in which it failed with an error.
        calibration: What human labels say of its run; None: it has no labels.
    """

    name: str
    source: str
    conversations: ConversationColumns
    run_ids: list[str]
    lost: int | None = None
    notes: list[str] = field(default_factory=list)
    problems: Sequence[str] = ()
    document: RunDocument | None = None
    rulers: dict[str, set[str]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    calibration: Calibration | None = None


# Rows of the conversations of cases.


class CaseRows:
    """Rows of the conversations of every case: their places in the columns of a side.

    Attributes:
        rows: The rows, those of one case together.
        sizes: Number of rows of every case.
    """

    def __init__(self, rows: Integers, sizes: Integers) -> None:
        self.rows, self.sizes = rows, sizes
        self._starts = np.cumsum(sizes) - sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, case: int) -> list[int]:
        start = int(self._starts[case])
        return self.rows[start : start + int(self.sizes[case])].tolist()

    def __iter__(self) -> Iterator[list[int]]:
        return map(self.__getitem__, range(len(self)))

    def take(self, cases: Sequence[int] | Integers) -> "CaseRows":
        """Returns the rows of some cases, in their order."""
        chosen = np.asarray(cases, np.int64)
        sizes = self.sizes[chosen]
        # Of every row of the result: how far its case has moved, and its place in the result.
        moved = np.repeat(self._starts[chosen] - (np.cumsum(sizes) - sizes), sizes)
        return CaseRows(self.rows[moved + np.arange(len(moved))], sizes)


def rows_by_case(names: CaseNames) -> CaseRows:
    """Returns the rows of every value of a column, in order; none for a value of no row."""
    return CaseRows(np.argsort(names.places, kind="stable"), names.counts())
