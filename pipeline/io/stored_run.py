"""Reads a finished run from a store, as `run_reader` reads one from a directory."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec
from sqlalchemy import ColumnElement, Connection, Table, func, select

from turnwise.pipeline.io.run_reader import stated_rows
from turnwise.pipeline.store.database import (
    CONVERSATIONS,
    FAILURES,
    METRICS,
    RUNS,
    SCORE_COLUMNS,
    SCORES,
    key_text,
    version_id,
)
from turnwise.pipeline.store.urls import COMPLETED
from turnwise.schemas.calibration import Calibration
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import ConversationRow, FailureRow, MetricsByAppVersionRow, ResultRow, ScoreRow
from turnwise.schemas.run import RunDocument

_OF_CONVERSATION = ("run_id", "conversation_id", "eval_id", "app_version")
_CONVERSATIONS = "conversations"


class StoredRun(msgspec.Struct, frozen=True):
    """A run of a store with its rows of all apps.

    Attributes:
        directory: Its id, by which texts name it.
        document: Content of `run.json`.
        gaps: What is missing, one sentence each.
    """

    directory: str
    document: RunDocument
    gaps: Sequence[str]
    _conversations: Sequence[ConversationRow]
    _scores: Sequence[ScoreRow]
    _failures: Sequence[FailureRow]
    _metrics: Sequence[MetricsByAppVersionRow]

    def has(self, table: str) -> bool:
        """Returns whether it is the table of conversations, which every run of a store has."""
        return table == _CONVERSATIONS

    def rows(self, table: str) -> Sequence[JsonObject]:
        """Returns the conversations."""
        return cast("Sequence[JsonObject]", self._conversations) if table == _CONVERSATIONS else ()

    def scores(self) -> Iterator[ScoreRow]:
        """Yields the scores."""
        return iter(self._scores)

    def results(self) -> Iterator[ResultRow]:
        """Yields nothing: the conversations have the verdicts."""
        return iter(())

    def failures(self) -> Iterator[FailureRow]:
        """Yields failures and findings."""
        return iter(self._failures)

    def metrics_by_app_version(self) -> Iterator[MetricsByAppVersionRow]:
        """Yields the metrics of the app versions; the figures of windows and repeats are not in the store."""
        return iter(self._metrics)

    def calibration(self) -> Calibration | None:
        """Returns None: a store holds none."""
        return None

    def check_results(self) -> None:
        """Does nothing: `gaps` says what is missing."""


def read_stored_run(connection: Connection, name: str, most: int) -> StoredRun:
    """Returns a run of a store.

    Args:
        connection: Connection to the store.
        name: Name of the run in one of its apps.
        most: The largest number of conversations to read.

    Raises:
        ConfigError: There is none, it is not complete, or it has more conversations.
    """
    query = select(RUNS.c.run_id, RUNS.c.home, RUNS.c.state, RUNS.c.content).where(
        RUNS.c.name == key_text(name)
    )
    row = connection.execute(query).first()
    if row is None:
        raise ConfigError(f"there is no run {name}")
    if row.state != COMPLETED or not row.content:
        raise ConfigError(f"run {row.run_id} is {row.state}: there is a report of complete runs only")
    document = msgspec.convert(json.loads(row.content), RunDocument)
    names = select(RUNS.c.name).where(RUNS.c.home == row.home)
    number = _count(connection, CONVERSATIONS, CONVERSATIONS.c.evaluation_run.in_(names))
    if number > most:
        raise ConfigError(
            f"run {row.run_id} has {number:,} conversations, and a report of more than {most:,} is not made "
            "here: use turnwise report with the output directory of the run"
        )
    return _read(connection, row.run_id, document, names)


def _read(connection: Connection, run_id: str, document: RunDocument, names: Any) -> StoredRun:
    of_run = CONVERSATIONS.c.evaluation_run.in_(names)
    found = connection.execute(select(CONVERSATIONS.c.name, CONVERSATIONS.c.content).where(of_run)).all()
    rows = ((name, json.loads(content)) for name, content in found if content)
    known: dict[str, ConversationRow] = dict(sorted(rows, key=_place))
    conversations = list(known.values())
    return StoredRun(
        run_id,
        document,
        _gaps(document, len(found), len(conversations)),
        conversations,
        _in_order(_scores(connection, names, known), document, list(known)),
        [json.loads(text) for text in _contents(connection, FAILURES, names)],
        [_metric(row, _left_out(conversations)) for row in _metric_rows(connection, names)],
    )


def _gaps(document: RunDocument, rows: int, with_content: int) -> list[str]:
    """Returns what is missing: conversations that were deleted, or replaced by others of their name."""
    stated = stated_rows(document.counts, _CONVERSATIONS)
    found = min(rows, with_content)
    if found >= stated:
        return []
    return [
        f"The store holds {found:,} of {stated:,} conversations of {document.run_id}: the others were "
        "deleted, or replaced by others of the same id. The figures are of those that it holds."
    ]


def _scores(
    connection: Connection, names: Any, known: dict[str, ConversationRow]
) -> Iterator[tuple[str, ScoreRow]]:
    columns = [SCORES.c[name] for name in ("conversation", "content", *SCORE_COLUMNS)]
    turn = SCORES.c.turn_index
    # Comparisons tell conversations apart by this order: the whole conversation after its turns.
    order = SCORES.c.conversation, SCORES.c.criterion, turn.is_(None), turn, SCORES.c.score_id
    query = select(*columns).where(SCORES.c.evaluation_run.in_(names)).order_by(*order)
    for conversation, content, *values in connection.execute(query):
        row = known.get(conversation)
        if row is not None:
            own = dict(zip(SCORE_COLUMNS, values, strict=True)) | json.loads(content)
            own |= {name: row[name] for name in _OF_CONVERSATION}  # type: ignore[literal-required]
            yield conversation, cast("ScoreRow", own)


def _place(named: tuple[str, ConversationRow]) -> tuple[str, int, str]:
    """Returns what sorts conversations as their records stand in the logs."""
    name, row = named
    return row["source"] or "", row["position"] or 0, name


def _in_order(
    scores: Iterator[tuple[str, ScoreRow]], document: RunDocument, conversations: Sequence[str]
) -> list[ScoreRow]:
    """Returns the scores in the order of the conversations and of the run's criteria."""
    first = {name: place for place, name in enumerate(conversations)}
    then = {name: place for place, name in enumerate(document.criteria)}
    found = sorted(scores, key=lambda own: (first[own[0]], then.get(own[1]["criterion"], len(then))))
    return [score for _, score in found]


def _contents(connection: Connection, table: Table, names: Any) -> Iterator[str]:
    query = select(table.c.content).where(table.c.evaluation_run.in_(names)).order_by(table.c.name)
    return iter(connection.execute(query).scalars())


def _metric_rows(connection: Connection, names: Any) -> Iterator[Any]:
    is_whole = METRICS.c.evaluation_run.in_(names), METRICS.c.turn_index.is_(None)
    return iter(connection.execute(select(METRICS).where(*is_whole).order_by(METRICS.c.name)).mappings())


def _metric(row: Any, left_out: Counter[tuple[str, str]]) -> MetricsByAppVersionRow:
    figures = {**row, "app_version": row["version_id"], "window_start": None, "revision": None}
    number = left_out[row["version_id"], row["criterion"]]
    return cast("MetricsByAppVersionRow", {**figures, "sampled_out": number})


def _left_out(conversations: Sequence[ConversationRow]) -> Counter[tuple[str, str]]:
    """Returns version and criterion -> number of conversations about which the judge was not asked."""
    return Counter(
        (key_text(version_id(row["app_version"] or "")), key_text(criterion))
        for row in conversations
        for criterion in row.get("sampled_out") or ()
    )


def _count(connection: Connection, table: Table, *conditions: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())
