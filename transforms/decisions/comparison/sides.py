"""The sides of a comparison as columns that list each of their values once: it goes over values, not rows."""

from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from turnwise.schemas.calibration import Calibration
from turnwise.schemas.comparison import PairedBy
from turnwise.schemas.rows import FailureRow
from turnwise.schemas.run import RunDocument
from turnwise.transforms.decisions.comparison.collect import ComparedConversation, Observed, own_cases
from turnwise.transforms.statistics.resampling import Numbers

Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
_Held = TypeVar("_Held")
_Hashed = TypeVar("_Hashed", bound=Hashable)


class CodedColumn(Struct, Generic[_Held], eq=False):
    """A column of some rows; `values` are its values, each once, of which some may be of no row."""

    values: list[_Held]
    places: Integers

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, row: int) -> _Held:
        return self.values[self.places[row]]

    def __iter__(self) -> Iterator[_Held]:
        return map(self.values.__getitem__, self.places.tolist())

    def put(self, row: int, value: _Held) -> None:
        """Sets the value of one row; for columns of other rows of the same column, a new one is of no row."""
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
        return [self.values[index] for index in np.flatnonzero(self.counts()).tolist()]

    def compact(self) -> "CodedColumn[_Held]":
        """Returns the column with the values of its rows alone, by the first row of each."""
        used = np.flatnonzero(self.counts())
        rows = np.empty(len(self.values), np.int64)
        rows[self.places[::-1]] = np.arange(len(self))[::-1]
        ordered = used[np.argsort(rows[used])]
        rows[ordered] = np.arange(len(used))
        return CodedColumn([self.values[index] for index in ordered.tolist()], rows[self.places])

    def recoded(self, values: Iterable[_Hashed]) -> "CodedColumn[_Hashed]":
        """Returns the column with other values in place of its own, which may be equal to each other."""
        column = coded(values)
        return CodedColumn(column.values, column.places[self.places])


def coded(rows: Iterable[_Hashed]) -> CodedColumn[_Hashed]:
    """Returns the column of the values of all rows."""
    listed = list(rows)
    seen = dict.fromkeys(listed)
    if len(seen) == len(listed):
        return CodedColumn(listed, np.arange(len(listed)))
    place_of = dict(zip(seen, range(len(seen)), strict=True))
    places = np.fromiter(map(place_of.__getitem__, listed), np.int64, len(listed))
    return CodedColumn([*seen], places)


def stacked(columns: Sequence[CodedColumn[_Hashed]]) -> CodedColumn[_Hashed]:
    """Returns columns under each other."""
    none = np.zeros(0, np.int64)
    if len({id(column.values) for column in columns}) == 1:
        return CodedColumn(columns[0].values, np.concatenate([none, *(column.places for column in columns)]))
    values = [value for column in columns for value in column.values]
    starts = accumulate((len(column.values) for column in columns), initial=0)
    places = [column.places + start for column, start in zip(columns, starts, strict=False)]
    return CodedColumn(values, np.concatenate([none, *places])).recoded(values)


def chosen(a: CodedColumn[_Hashed], b: CodedColumn[_Hashed], is_b: Bools) -> CodedColumn[_Hashed]:
    """Returns the values of `a`, in some rows those of `b`."""
    values = [*a.values, *b.values]
    return CodedColumn(values, np.where(is_b, b.places + len(a.values), a.places)).recoded(values)


def distinct_pairs(a: CodedColumn[Any], b: CodedColumn[Any]) -> list[tuple[int, int]]:
    """Returns the pairs of places in the values of two columns that any row has, ascending."""
    pairs = a.places * len(b.values) + b.places
    if len(a.values) * len(b.values) <= len(pairs):
        distinct = np.flatnonzero(np.bincount(pairs))
    else:
        ordered = np.sort(pairs)
        distinct = ordered[np.diff(ordered, prepend=-1) > 0]
    first, second = np.divmod(distinct, max(1, len(b.values)))
    return [*zip(first.tolist(), second.tolist(), strict=True)]


def spans(sizes: Integers, chosen: Integers) -> Integers:
    """Returns the places of the members of the chosen groups, in order, where members stand by group."""
    starts, lengths = np.cumsum(sizes) - sizes, sizes[chosen]
    # Of every place in the result: how far its group has moved, and itself.
    moved = np.repeat(starts[chosen] - (np.cumsum(lengths) - lengths), lengths)
    return moved + np.arange(len(moved))


# What one criterion gave the conversations of a side, as columns of numbers.


class ScoreKind(NamedTuple):
    """What many scores of a criterion have in common; see `Observed`."""

    outcome: str | None
    threshold: float | None
    is_summed: bool
    has_value: bool


class Reason(NamedTuple):
    """Why a score is no pass, and the turn that this is said of; None: the whole conversation."""

    why: str | None = None
    turn_index: int | None = None


class TurnScores(Struct, eq=False):
    """Scores of the turns of conversations, those of a conversation together; `values`: NaN without one."""

    sizes: Integers
    indices: Integers
    values: Numbers
    outcomes: "CodedColumn[str | None]"

    def at(self, rows: Integers) -> "TurnScores":
        """Returns those of some conversations, in their order."""
        places = spans(self.sizes, rows)
        scores = self.indices[places], self.values[places], self.outcomes.at(places)
        return TurnScores(self.sizes[rows], *scores)


class ScoreDetails(Struct, eq=False):
    """What only parts of a comparison need of what a criterion gave; `voted`, `flipped`: see `Observed`."""

    reasons: "CodedColumn[Reason]"
    turns: TurnScores
    voted: Integers
    flipped: Integers


class CriterionColumn(Struct, eq=False):
    """What a criterion gave conversations; `values`: 0 without one; `details`: None: they were not read."""

    values: Numbers
    kinds: CodedColumn[ScoreKind | None]
    details: ScoreDetails | None = None

    def __getitem__(self, row: int) -> Observed | None:
        if (kind := self.kinds[row]) is None:
            return None
        value = float(self.values[row]) if kind.has_value else None
        why, turn = Reason() if self.details is None else self.details.reasons[row]
        return Observed(value, kind.outcome, kind.threshold, why, turn, is_summed=kind.is_summed)

    def at(self, rows: Integers) -> "CriterionColumn":
        """Returns the column of some conversations, in their order."""
        if (details := self.details) is not None:
            votes = details.voted[rows], details.flipped[rows]
            details = ScoreDetails(details.reasons.at(rows), details.turns.at(rows), *votes)
        return CriterionColumn(self.values[rows], self.kinds.at(rows), details)

    def without(self, rows: Bools) -> "CriterionColumn":
        """Returns a column where the criterion gave some conversations nothing."""
        kinds = chosen(self.kinds, empty_column(len(rows)).kinds, rows)
        if (details := self.details) is not None:
            turns, sizes = details.turns, np.where(rows, 0, details.turns.sizes)
            kept = ~np.repeat(rows, turns.sizes)
            turns = TurnScores(sizes, turns.indices[kept], turns.values[kept], turns.outcomes.at(kept))
            details = ScoreDetails(details.reasons, turns, details.voted, details.flipped)
        return CriterionColumn(np.where(rows, 0.0, self.values), kinds, details)

    def where(self, is_wanted: Callable[[ScoreKind], bool]) -> Bools:
        """Returns whether each conversation has a score of some kinds."""
        wanted = [kind is not None and is_wanted(kind) for kind in self.kinds.values]
        return np.asarray(wanted, np.bool_)[self.kinds.places]

    @property
    def has_value(self) -> Bools:
        """Whether each conversation has a value."""
        return self.where(lambda kind: kind.has_value)

    def is_within(self, scale: tuple[float, float] | None) -> Bools:
        """Returns whether the value of each conversation is on a scale; None: all values are."""
        if scale is None:
            return self.has_value
        return self.has_value & (self.values >= scale[0]) & (self.values <= scale[1])


def empty_column(size: int) -> CriterionColumn:
    """Returns what a criterion gave so many conversations that it gave nothing."""
    return _Given().column(size)


def stacked_criteria(columns: Sequence[CriterionColumn]) -> CriterionColumn:
    """Returns columns under each other; details where all of them have some."""
    values = np.concatenate([column.values for column in columns])
    kinds = stacked([column.kinds for column in columns])
    parts = [column.details for column in columns if column.details is not None]
    if len(parts) < len(columns):
        return CriterionColumn(values, kinds)
    turns = TurnScores(
        np.concatenate([part.turns.sizes for part in parts]),
        np.concatenate([part.turns.indices for part in parts]),
        np.concatenate([part.turns.values for part in parts]),
        stacked([part.turns.outcomes for part in parts]),
    )
    reasons = stacked([part.reasons for part in parts])
    voted, flipped = np.concatenate([(part.voted, part.flipped) for part in parts], axis=1)
    return CriterionColumn(values, kinds, ScoreDetails(reasons, turns, voted, flipped))


class _Given:
    """Collects what a criterion gave conversations, in their order; it keeps numbers, not objects."""

    def __init__(self) -> None:
        self._kinds: dict[ScoreKind | None, int] = {None: 0}
        self._reasons, self._outcomes = {Reason(): 0}, dict[str | None, int]()
        self._scores, self._turns = array("d"), array("d")

    def put(self, row: int, observed: Observed) -> None:
        """Adds what it gave one conversation; rows ascend."""
        has_value = observed.value is not None
        in_common = ScoreKind(observed.outcome, observed.threshold, observed.is_summed, has_value)
        kind = self._kinds.setdefault(in_common, len(self._kinds))
        why = Reason(observed.why, observed.turn_index)
        reason, votes = self._reasons.setdefault(why, len(self._reasons)), (observed.voted, observed.flipped)
        self._scores.extend((row, observed.value or 0.0, kind, reason, len(observed.turns), *votes))
        for turn, value, outcome in observed.turns:
            code = self._outcomes.setdefault(outcome, len(self._outcomes))
            self._turns.extend((turn, np.nan if value is None else value, code))

    def column(self, size: int) -> CriterionColumn:
        rows, *given = np.asarray(self._scores).reshape(-1, 7).T
        by_row = np.zeros((len(given), size))
        by_row[:, rows.astype(np.int64)] = given
        kinds, reasons, sizes, voted, flipped = by_row[1:].astype(np.int64)
        turns, values, outcomes = np.ascontiguousarray(np.asarray(self._turns).reshape(-1, 3).T)
        outcome_of = CodedColumn([*self._outcomes], outcomes.astype(np.int64))
        of_turns = TurnScores(sizes, turns.astype(np.int64), values, outcome_of)
        details = ScoreDetails(CodedColumn([*self._reasons], reasons), of_turns, voted, flipped)
        return CriterionColumn(by_row[0], CodedColumn([*self._kinds], kinds), details)


# The conversations of a side as columns: comparisons go over columns, not over objects.

CaseNames = CodedColumn[str] | CodedColumn[str | None]


class ConversationColumns(Struct):
    """Conversations: one column for each attribute of `ComparedConversation`, all in the same order.

    `agents`: None: not read, as of a store.
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
    agents: CodedColumn[tuple[str, ...]] | None = None

    def __len__(self) -> int:
        return len(self.conversation_ids)

    def given(self, row: int, criterion: str) -> Observed | None:
        """Returns what a criterion gave one conversation; None: nothing."""
        column = self.criteria.get(criterion)
        return None if column is None else column[row]

    def add_errors(self, raised: Sequence[FailureRow]) -> None:
        """Takes the score from what raised an error and has none of the conversation, unless a turn fails.

        Of the errors of a criterion in a conversation, the first message is the reason.
        """
        messages: dict[tuple[str, str | None], dict[str, str]] = {}
        for failure in raised:
            of_conversation = failure["conversation_id"] or "", failure["app_version"]
            by_criterion = messages.setdefault(of_conversation, {})
            by_criterion.setdefault(failure["criterion"] or "", failure["message"])
        names = zip(self.conversation_ids, self.app_versions, strict=True)
        for row, name in enumerate(names if messages else ()):
            for criterion, message in messages.get(name, {}).items():
                column = self.criteria.get(criterion)
                column = empty_column(len(self)) if column is None else column
                observed = column[row]
                if observed is None or (observed.is_summed and observed.outcome != "FAIL"):
                    column.values[row] = 0.0
                    column.kinds.put(row, ScoreKind(None, None, is_summed=False, has_value=False))
                    if column.details is not None:
                        reasons = column.details.reasons
                        reasons.places[row] = len(reasons.values)
                        reasons.values.append(Reason(f"raised an error: {message}"))
                    self.criteria[criterion] = column

    def case_names(self, by: PairedBy) -> CaseNames:
        """Returns what identifies the case of every conversation; None or "": it states none."""
        if by == "conversation_id":
            return self.conversation_ids
        if by == "nothing":
            return CodedColumn[str | None]([None], np.zeros(len(self), np.int64))
        return self.eval_ids if by == "eval_id" else self.tasks

    def own_cases(self) -> CaseNames:
        """Returns the case of every conversation among its side; see `own_cases`."""
        has_copies = any(n > 1 and t for t, n in zip(self.tasks.values, self.tasks.counts(), strict=True))
        if all(self.eval_ids.used()) and not has_copies:
            return self.eval_ids
        return coded(own_cases([*zip(self.eval_ids, self.tasks, self.conversation_ids, strict=True)]))

    def golden_tasks(self) -> CodedColumn[str | None]:
        """Returns the tasks of the conversations of which something is expected."""
        tasks, digests = self.tasks, self.case_digests
        is_open = np.asarray([not digest for digest in digests.values], np.bool_)
        return chosen(tasks, tasks.recoded(None for _ in tasks.values), is_open[digests.places])

    def at(self, rows: Integers) -> "ConversationColumns":
        """Returns some of the conversations, in their order."""
        criteria = {name: column.at(rows) for name, column in self.criteria.items()}
        columns = {name: c.at(rows) for name, c in asdict(self).items() if isinstance(c, CodedColumn)}
        return replace(self, criteria=criteria, **columns)


def columns_of(conversations: Iterable[ComparedConversation]) -> ConversationColumns:
    """Returns conversations as columns; each of them is looked at once."""
    given: dict[str, _Given] = {}
    traits: list[tuple[Any, ...]] = []
    for row, compared in enumerate(conversations):
        for name, observed in compared.criteria.items():
            given.setdefault(name, _Given()).put(row, observed)
        ids = compared.conversation_id, compared.app_version, compared.eval_id, compared.task
        about = compared.case_digest, compared.language, tuple(compared.tags)
        traits.append((*ids, *about, compared.skipped, compared.sampled_out, tuple(compared.agents)))
    names = [name for name in ConversationColumns.__struct_fields__ if name != "criteria"]
    columns: list[CodedColumn[Any]] = [coded(values) for values in zip(*traits, strict=True)]
    columns = columns or [coded(())] * len(names)
    criteria = {name: column.column(len(traits)) for name, column in given.items()}
    return ConversationColumns(**dict(zip(names, columns, strict=True)), criteria=criteria)


class ComparedSide(Struct):
    """One side of a comparison.

    Attributes:
        rejected: Records, conversations and eval cases of the run that were rejected, and files that were
            not read to the end; None: not known.
        cut_inputs: Inputs that were not read to the end: nobody knows how many records are missing.
        destructive: Conversations with an unexpected destructive call; None: not read.
        problems: Why the run ended with exit status 1, one line each, as `notes` have one a line.
        document: `run.json`; None: of a store.
        thresholds: Criteria with a threshold in the newest run of a store; (): see `document`.
        judges: Criterion -> the judge models and prompts that scored it, `model, prompt version`.
        errors: Criterion -> conversations in which it failed with an error.
    """

    name: str
    source: str
    conversations: ConversationColumns
    run_ids: list[str]
    rejected: int | None = None
    cut_inputs: int = 0
    destructive: int | None = None
    notes: list[str] = field(default_factory=list)
    problems: Sequence[str] = ()
    document: RunDocument | None = None
    thresholds: Collection[str] = ()
    judges: dict[str, set[str]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    calibration: Calibration | None = None


class CaseRows:
    """Rows of the conversations of every case, those of one case together: places in columns of a side."""

    def __init__(self, rows: Integers, sizes: Integers) -> None:
        self.rows, self.sizes = rows, sizes
        self._starts = np.cumsum(sizes) - sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, case: int) -> list[int]:
        start = int(self._starts[case])
        return self.rows[start : start + int(self.sizes[case])].tolist()

    def take(self, cases: Sequence[int] | Integers) -> "CaseRows":
        """Returns the rows of some cases, in their order."""
        chosen = np.asarray(cases, np.int64)
        return CaseRows(self.rows[spans(self.sizes, chosen)], self.sizes[chosen])
