"""Keeps the summaries of the runs of a store, and reads sides of comparisons and figures of them."""

from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar, get_origin
from zlib import crc32

import msgspec
import numpy as np
from msgspec.structs import fields, replace
from sqlalchemy import Connection, select

from turnwise.pipeline.store.comparison import (
    ComparedRecord,
    RecordColumns,
    SideKind,
    record_scores,
    record_summary,
    stored_records,
)
from turnwise.pipeline.store.database import CURRENT, EXECUTIONS, RUN_SUMMARIES, Store, upsert
from turnwise.pipeline.store.rows import RunFigures, run_figures
from turnwise.pipeline.store.urls import COMPLETED
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.decisions.comparison.collect import ComparedConversation, Observed, collect, ruler_of
from turnwise.transforms.decisions.comparison.sides import (
    Bools,
    CodedColumn,
    ConversationColumns,
    CriterionColumn,
    Integers,
    ScoreKind,
    chosen,
    coded,
    constant,
    empty_column,
    kind_of,
    stacked,
    stacked_criteria,
)
from turnwise.transforms.scoring.evaluate import STATUS
from turnwise.transforms.statistics.resampling import Numbers

# The summary of a run: all that comparisons of its outcomes and figures read of it, in one text.
#
# Where a summary is in force, no score and no result of its run has to be read.

_KINDS = ("|u1", "<u2", "<u4")
"""How NumPy calls unsigned integers of 1, 2 and 4 bytes."""
_FLOATS = "<f8"
_DIGITS = 8
"""Digits of a checksum."""


class SummaryCriterion(msgspec.Struct, frozen=True, array_like=True):
    """What a criterion gave conversations; see `CriterionColumn`.

    Attributes:
        criterion: Its name.
        values: Its different values; 0 where there is none.
        places: Place in `values`, for every conversation.
        kinds: The rest of its scores.
    """

    criterion: str
    values: Numbers
    places: Integers
    kinds: CodedColumn[ScoreKind | None]


class SummaryTraits(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What was left out of a conversation, and who judged it; see `ComparedConversation`.

    Attributes:
        rulers: Criterion and judge of the scores that a judge gave.
    """

    skipped: tuple[str, ...]
    sampled_out: tuple[str, ...]
    rulers: tuple[tuple[str, str], ...]


class StoredSummary(msgspec.Struct, frozen=True, array_like=True):
    """The conversations of a run, and its results without one; see `ComparedRecord`.

    Attributes:
        revisions: Highest revision of their scores; -1: they have none.
        criteria: What criteria gave them, by name.
        figures: Figures of its results; their conversations are places in the values of `conversations`.
    """

    conversations: CodedColumn[str]
    versions: CodedColumn[str]
    cases: CodedColumn[str]
    evaluations: CodedColumn[str]
    digests: CodedColumn[str | None]
    nanos: CodedColumn[int]
    is_result: CodedColumn[bool]
    revisions: CodedColumn[int]
    traits: CodedColumn[SummaryTraits]
    criteria: list[SummaryCriterion]
    figures: RunFigures


COLUMNS = tuple(own.name for own in fields(StoredSummary) if get_origin(own.type) is CodedColumn)
"""Names of the columns of a summary."""


def _stored_numbers(numbers: Any) -> tuple[str, str]:
    """Returns numbers as JSON holds them: their kind, and their bytes in base64."""
    kind = _FLOATS
    if numbers.dtype == np.int64:
        kind = next(kind for kind in _KINDS if numbers.max(initial=0) <= np.iinfo(kind).max)
    return kind, b64encode(numbers.astype(kind).tobytes()).decode()


def _read_numbers(wanted: Any, stored: Any) -> Integers | Numbers:
    kind, text = stored
    if kind not in ((_FLOATS,) if wanted == Numbers else _KINDS):
        raise ValueError("numbers in a summary are of another kind")
    numbers = np.frombuffer(b64decode(text, validate=True), kind)
    return numbers.astype(np.float64) if kind == _FLOATS else numbers.astype(np.int64)


_ENCODER = msgspec.json.Encoder(enc_hook=_stored_numbers)
_DECODER = msgspec.json.Decoder(StoredSummary, dec_hook=_read_numbers)


def text_of(summary: StoredSummary) -> str:
    """Returns a summary as it is stored: a checksum, and JSON."""
    content = _ENCODER.encode(summary)
    return f"{_checksum(content)}{content.decode()}"


def read_summary(text: str) -> StoredSummary:
    """Returns the summary of its text.

    Raises:
        ValueError: It was changed, or has the form of another version.
    """
    content = text[_DIGITS:].encode()
    if text[:_DIGITS] != _checksum(content):
        raise ValueError("a summary has another checksum than it states")
    try:
        return _DECODER.decode(content)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None


def _checksum(content: bytes) -> str:
    return f"{crc32(content):0{_DIGITS}x}"


class RunKey(NamedTuple):
    """A run as it is at one time: its name, execution and the time of its last change."""

    name: str
    execution: int
    update_nanos: int


class UnsummarisedError(Exception):
    """A run has rows that a summary cannot tell."""


def counted_runs(connection: Connection, app: str) -> list[RunKey]:
    """Returns the runs of an app that count, by name."""
    columns = (EXECUTIONS.c[name] for name in RunKey._fields)
    is_read = CURRENT.c.name == EXECUTIONS.c.name, CURRENT.c.execution == EXECUTIONS.c.execution
    counts = EXECUTIONS.c.app == app, EXECUTIONS.c.state == COMPLETED
    query = select(*columns).where(*is_read, *counts).order_by(EXECUTIONS.c.name)
    return [RunKey(*row) for row in connection.execute(query)]


def keep_summaries(store: Store, app: str, names: Collection[str] | None = None) -> None:
    """Writes the summaries of the runs of an app that have none, each in a transaction of its own.

    Args:
        store: The store.
        app: Name of the app.
        names: Names of the runs; None: all of the app.
    """
    for run in store.read(lambda connection: list(_without_summary(connection, app))):
        if names is None or run.name in names:
            _keep(store, app, run)


def _without_summary(connection: Connection, app: str) -> Iterator[RunKey]:
    columns = RUN_SUMMARIES.c.evaluation_run, RUN_SUMMARIES.c.execution, RUN_SUMMARIES.c.update_nanos
    kept = {RunKey(*row) for row in connection.execute(select(*columns).where(RUN_SUMMARIES.c.app == app))}
    return (run for run in counted_runs(connection, app) if run not in kept)


def _keep(store: Store, app: str, run: RunKey) -> None:
    text = store.read(lambda connection: summary_text(connection, app, run.name))
    row = {"name": f"{run.name}/summary", "app": app, "evaluation_run": run.name, "content": text}
    own = EXECUTIONS.c.name == run.name, EXECUTIONS.c.execution == run.execution

    def work(connection: Connection) -> None:
        query = select(EXECUTIONS.c.update_nanos).where(*own).with_for_update()
        # Of a run that was changed meanwhile, what was deleted must not come back.
        if connection.execute(query).scalar() == run.update_nanos:
            kept = {"execution": run.execution, "update_nanos": run.update_nanos}
            upsert(connection, RUN_SUMMARIES, [row | kept])

    store.write(work)


class Summaries:
    """Reads the summaries of the runs of an app."""

    def __init__(self, connection: Connection, app: str) -> None:
        self._connection, self._app = connection, app
        self._runs = {run.name.rsplit("/", 1)[-1]: run for run in counted_runs(connection, app)}
        self._read: dict[str, StoredSummary] = {}

    def figures(self) -> dict[str, RunFigures]:
        """Returns name of a run -> its results by evaluation and app version; raises UnsummarisedError."""
        return {self._runs[run].name: own.figures for run, own in self._numbered.items()}

    @cached_property
    def _numbered(self) -> dict[str, StoredSummary]:
        """The summaries of all runs; a conversation id has the same number in all of them."""
        runs = self._summaries(self._runs)
        values = [own.conversations.values for own in runs.values()]
        ids = coded(chain.from_iterable(values))
        found = {}
        for (run, own), numbers in zip(
            runs.items(), np.split(ids.places, np.cumsum([*map(len, values)])), strict=False
        ):
            conversations = CodedColumn(ids.values, numbers[own.conversations.places])
            figures = replace(own.figures, members=numbers[own.figures.members])
            found[run] = replace(own, conversations=conversations, figures=figures)
        return found

    def records(self, kind: SideKind, name: str) -> RecordColumns:
        """Returns what is of an app version (its id) or run (its name); raises UnsummarisedError."""
        if kind != "version":
            return _records(self._summaries(self._runs.keys() & {name.rsplit("/", 1)[-1]}))
        found = self._everything
        is_own = np.asarray([version == name for version in found.versions.values], np.bool_)
        return found.at(is_own[found.versions.places])

    @cached_property
    def _everything(self) -> RecordColumns:
        return _records(self._numbered)

    def conversations(self, stored: RecordColumns, rulers: dict[str, set[str]]) -> ConversationColumns:
        """Returns the conversations without turns, reasons, tags and languages."""
        rows = np.split(stored.places, np.cumsum(stored.runs.counts()))
        by_run = [
            (self._read[run], own) for run, own in zip(stored.runs.values, rows, strict=False) if len(own)
        ]
        is_old = _are_old(stored, stacked([own.revisions.at(rows) for own, rows in by_run]))
        traits = stacked([own.traits.at(rows) for own, rows in by_run])
        skipped = traits.recoded(frozenset(own.skipped) for own in traits.values)
        for criterion, ruler in {ruler for own in traits.used() for ruler in own.rulers}:
            rulers.setdefault(criterion, set()).add(ruler)
        return ConversationColumns(
            stored.conversations,
            stored.versions.recoded(version or None for version in stored.versions.values),
            stored.cases.recoded(case or None for case in stored.cases.values),
            tasks=constant(None, len(stored)),
            case_digests=stacked([own.digests.at(rows) for own, rows in by_run]),
            languages=constant(None, len(stored)),
            tags=constant((), len(stored)),
            criteria=_criteria(by_run, is_old),
            skipped=chosen(skipped, skipped.recoded(frozenset() for _ in skipped.values), is_old),
            sampled_out=traits.recoded(frozenset(own.sampled_out) for own in traits.values),
        )

    def _summaries(self, runs: Collection[str]) -> dict[str, StoredSummary]:
        """Returns id of a run -> its summary, by id; raises UnsummarisedError."""
        missing = {run: self._runs[run] for run in runs if run not in self._read}
        kept = self._kept(missing)
        for run, key in missing.items():
            text = kept.get(key)
            found = None if text is None else _readable(text)
            if found is None:
                text = summary_text(self._connection, self._app, key.name) if text != "" else ""
                found = read_summary(text) if text else None
            if found is None:
                raise UnsummarisedError(key.name)
            self._read[run] = found
        return {run: self._read[run] for run in sorted(runs)}

    def _kept(self, runs: dict[str, RunKey]) -> dict[RunKey, str]:
        """Returns the stored texts of summaries."""
        columns = RUN_SUMMARIES.c.evaluation_run, RUN_SUMMARIES.c.execution, RUN_SUMMARIES.c.update_nanos
        query = select(*columns, RUN_SUMMARIES.c.content).where(RUN_SUMMARIES.c.app == self._app)
        if len(runs) == 1:
            query = query.where(RUN_SUMMARIES.c.evaluation_run == next(iter(runs.values())).name)
        rows = self._connection.execute(query) if runs else ()
        return {RunKey(*key): text for *key, text in rows}


def _readable(text: str) -> StoredSummary | None:
    """Returns a stored summary; None: it was damaged, or the rows must be read."""
    try:
        return read_summary(text)
    except ValueError:
        return None


def _records(runs: dict[str, StoredSummary]) -> RecordColumns:
    """Returns the records of several runs."""
    found = [*runs.values()]
    sizes = [len(own.nanos) for own in found]
    return RecordColumns(
        conversations=stacked([own.conversations for own in found]),
        versions=stacked([own.versions for own in found]),
        runs=CodedColumn([*runs], np.repeat(np.arange(len(found)), sizes)),
        cases=stacked([own.cases for own in found]),
        evaluations=stacked([own.evaluations for own in found]),
        nanos=_integers(stacked([own.nanos for own in found])),
        is_result=_integers(stacked([own.is_result for own in found])).astype(np.bool_),
        places=np.concatenate([np.arange(0), *map(np.arange, sizes)]),
    )


def _integers(column: CodedColumn[int] | CodedColumn[bool]) -> Integers:
    return np.asarray(column.values, np.int64)[column.places]


def _are_old(stored: RecordColumns, revisions: CodedColumn[int]) -> Bools:
    """Returns whether each conversation was scored again in a later revision."""
    own = _integers(revisions)
    if own.max(initial=0) <= 0:
        return np.zeros(len(own), np.bool_)
    key = stored.conversations.places * len(stored.versions.values) + stored.versions.places
    places = np.unique(key, return_inverse=True)[1]
    last = np.full(len(own), -1)
    np.maximum.at(last, places, own)
    return own < last[places]


def _criteria(by_run: Sequence[tuple[StoredSummary, Integers]], is_old: Bools) -> dict[str, CriterionColumn]:
    """Returns what criteria gave; of what was scored again later, the verdict alone."""
    by_name = [({own.criterion: own for own in run.criteria}, rows) for run, rows in by_run]
    found = {}
    for name in sorted({*chain.from_iterable(criteria for criteria, _ in by_name)}):
        parts = [_column(criteria.get(name), rows) for criteria, rows in by_name]
        own = stacked_criteria(parts)
        if name != STATUS:
            own = own.without(is_old)
        if own.is_given.any():
            found[name] = own
    return found


def _column(given: SummaryCriterion | None, rows: Integers) -> CriterionColumn:
    if given is None:
        return empty_column(len(rows))
    return CriterionColumn(given.values[given.places[rows]], given.kinds.at(rows))


# Makes the summary of a run of its rows.

_Listed = TypeVar("_Listed")
_NO_TRAITS = SummaryTraits((), (), ())


class _Places(dict[_Listed, int], Generic[_Listed]):
    """The place of every value in a list of different ones."""

    def __missing__(self, value: _Listed) -> int:
        self[value] = len(self)
        return self[value]


class _Given:
    """What a criterion gave the conversations of a run; nothing at first."""

    def __init__(self, size: int) -> None:
        self._values = np.zeros(size)
        self._kinds: _Places[ScoreKind | None] = _Places({None: 0})
        self._places = np.zeros(size, np.int64)

    def put(self, row: int, found: Observed) -> None:
        self._values[row] = found.value or 0.0
        self._places[row] = self._kinds[kind_of(found)]

    def summary(self, criterion: str) -> SummaryCriterion:
        values, places = np.unique(self._values, return_inverse=True)
        return SummaryCriterion(criterion, values, places, CodedColumn([*self._kinds], self._places))


def summary_text(connection: Connection, app: str, run: str) -> str:
    """Returns the summary of a run; "": it has rows that a summary cannot tell."""
    records = stored_records(connection, app, "run", run)
    revisions, traits = [-1] * len(records), [_NO_TRAITS] * len(records)
    given: dict[str, _Given] = {}
    for row, scores in _scored(connection, app, records):
        found = collect(scores, [record_summary(records[row])])
        if len(found) != 1:  # the scores are those of several conversations
            return ""
        revisions[row] = max((score["revision"] for score in scores), default=-1)
        traits[row] = _traits(found[0], scores)
        for name, observed in found[0].criteria.items():
            given.setdefault(name, _Given(len(records))).put(row, observed)
    criteria = [given[name].summary(name) for name in sorted(given)]
    if not all(_is_finite(own) for own in criteria):
        return ""
    ids: _Places[str] = _Places()
    numbers = [ids[own.conversation] for own in records]
    figures = run_figures(connection, run, ids)
    summary = StoredSummary(
        conversations=CodedColumn([*ids], np.asarray(numbers, np.int64)),
        versions=coded(own.version for own in records),
        cases=coded(own.case for own in records),
        evaluations=coded(own.evaluation for own in records),
        digests=coded(own.digest for own in records),
        nanos=coded(own.nanos for own in records),
        is_result=coded(own.is_result for own in records),
        revisions=coded(revisions),
        traits=coded(traits),
        criteria=criteria,
        figures=figures,
    )
    return text_of(summary)


def _scored(
    connection: Connection, app: str, records: Sequence[ComparedRecord]
) -> Iterator[tuple[int, list[ScoreRow]]]:
    """Yields the place of each record with its scores."""
    places = {own.name: place for place, own in enumerate(records)}
    for own, scores in groupby(record_scores(connection, app, records), key=itemgetter(0)):
        yield places.pop(own.name), [score for _, score in scores]
    yield from ((place, []) for place in places.values())


def _is_finite(given: SummaryCriterion) -> bool:
    """Returns whether values and thresholds are finite: JSON has no other numbers."""
    thresholds = [kind.threshold or 0.0 for kind in given.kinds.values if kind is not None]
    return bool(np.isfinite(given.values).all() and np.isfinite(thresholds).all())


def _traits(found: ComparedConversation, scores: Iterable[ScoreRow]) -> SummaryTraits:
    rulers = {(score["criterion"], ruler) for score in scores if (ruler := ruler_of(score)) is not None}
    return SummaryTraits(
        tuple(sorted(found.skipped)), tuple(sorted(found.sampled_out)), tuple(sorted(rulers))
    )
