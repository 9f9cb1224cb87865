"""Reads the sides of a comparison from a store: conversations with their scores, or their verdicts alone."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from itertools import chain
from typing import cast

from msgspec.structs import replace
from sqlalchemy import Connection, select

from turnwise.pipeline.settings.extras import check_store
from turnwise.pipeline.store.database import FAILURES, SCORES, key_text
from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.naming import LOCAL_APP
from turnwise.pipeline.store.results import version_id
from turnwise.pipeline.store.runs import runs_with_rows
from turnwise.pipeline.store.urls import StoreError
from turnwise.pipeline.store_comparison.losses import add_deleted, add_losses, add_unread
from turnwise.pipeline.store_comparison.records import RecordColumns, columns_of_records
from turnwise.pipeline.store_comparison.rows import ComparedRecord, SideKind, stored_records
from turnwise.pipeline.store_comparison.side_records import SideName, SideReader, read_records
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import FailureRow, ScoreRow
from turnwise.transforms.decisions.comparison.collect import Summary, collect, raised_errors, ruler_of
from turnwise.transforms.decisions.comparison.sides import ComparedSide, ConversationColumns, columns_of

_SHOWN = 10
_AT_ONCE = 2_000
_SCORE_CONTENT = {"judge", "revision"}
_SCORE_COLUMNS = (
    "turn_index",
    "criterion",
    "value",
    "outcome",
    "threshold",
    "label",
    "reason",
    "explanation",
    "language",
)


def sides_of_store(url: str, app: str | None, names: Sequence[str]) -> tuple[ComparedSide, ComparedSide]:
    """Returns base and candidate.

    Args:
        url: URL of the store.
        app: Name of the app; None: the only one with results.
        names: App version or run of A and of B.

    Raises:
        ConfigError: The store cannot be read, or holds no result of an app, version or run.
    """
    check_store("--store", url)
    if names[0] == names[1]:
        raise ConfigError(f"--versions {names[0]} {names[1]}: A and B are the same; nothing to compare")
    sides = [SideName(name) for name in names]
    try:
        with closing(open_store(url, read_only=True)) as store:
            return store.read(
                lambda connection: read_sides(connection, _app(connection, app), sides, store.url)
            )
    except StoreError as error:
        raise ConfigError(str(error)) from None


def read_sides(
    connection: Connection,
    app: str,
    names: Sequence[SideName],
    source: str,
    evaluations: Collection[str] | None = None,
    reader: SideReader | None = None,
) -> tuple[ComparedSide, ComparedSide]:
    """Returns base and candidate.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        names: App version or run of A and of B.
        source: Address of the store, without password.
        evaluations: Names of the evaluations that count; None: all.
        reader: Reads the sides; None: of the rows.

    Raises:
        ConfigError: The store holds no result of a version or run.
    """
    reader = reader or RowReader(connection, app)
    stored = read_records(connection, app, names, evaluations, reader)
    a, b = (
        _side(connection, app, name.name, source, own, reader)
        for name, own in zip(names, stored, strict=True)
    )
    for side, name, records in zip((a, b), names, stored, strict=True):
        version = _version(name, records)
        add_losses(connection, app, side, records, version=version, is_b=side is b)
        add_unread(connection, app, side, records, version=version, is_b=side is b)
        add_deleted(connection, app, side, records, version=version)
    return a, b


def _version(side: SideName, stored: RecordColumns) -> str | None:
    """Returns the id of the app version that a side is; None: it is a run."""
    version = key_text(version_id(side.name))
    is_version = side.kind == "version" or (side.kind == "either" and stored.versions.used() == [version])
    return version if is_version else None


class RowReader:
    """Reads the rows of conversations, results and scores."""

    def __init__(self, connection: Connection, app: str) -> None:
        self._connection, self._app = connection, app
        self._found: list[ComparedRecord] = []

    def records(self, kind: SideKind, name: str) -> RecordColumns:
        """Returns what is of an app version or run."""
        start = len(self._found)
        self._found += stored_records(self._connection, self._app, kind, name)
        return columns_of_records(self._found, start)

    def conversations(self, stored: RecordColumns, rulers: dict[str, set[str]]) -> ConversationColumns:
        """Returns the conversations."""
        places = zip(stored.places.tolist(), stored.cases, strict=True)
        found = [replace(self._found[place], case=case) for place, case in places]
        scores = _scores(self._connection, self._app, found, rulers)
        return columns_of(collect(scores, map(record_summary, found)))


def _app(connection: Connection, app: str | None) -> str:
    apps = sorted({name for name, _ in runs_with_rows(connection)})
    if app is None and len(apps) == 1:
        return apps[0]
    if app is None or app not in apps:
        known = ", ".join(apps[:_SHOWN]) or "none"
        wrong = "--store: --app names the app" if app is None else f"--app {app}: has no result"
        raise ConfigError(f"{wrong} (apps with results: {known})")
    return app


def _side(
    connection: Connection,
    app: str,
    name: str,
    source: str,
    stored: RecordColumns,
    reader: SideReader,
) -> ComparedSide:
    rulers: dict[str, set[str]] = {}
    conversations = reader.conversations(stored, rulers)
    side = ComparedSide(name, source, conversations, stored.run_ids, rulers=rulers)
    _add_errors(connection, app, side)
    conversations.criteria = dict(sorted(conversations.criteria.items()))
    return side


def record_summary(own: ComparedRecord) -> Summary:
    """Returns the verdict of a conversation."""
    verdict = own.verdict if own.verdict in ("PASS", "FAIL") else None
    return Summary(
        own.conversation,
        own.version or None,
        verdict,
        own.why or None,
        own.case or None,
        case_digest=own.digest,
        sampled_out=(json.loads(own.row).get("sampled_out") or ()) if own.row else (),
    )


def _add_errors(connection: Connection, app: str, side: ComparedSide) -> None:
    """Adds what criteria raised."""
    runs = [f"{own}/evaluationRuns/{run}" for own in (app, LOCAL_APP) for run in side.run_ids]
    is_theirs = FAILURES.c.evaluation_run.in_(runs)
    raised = select(FAILURES.c.content).where(
        is_theirs, FAILURES.c.stage == "score", FAILURES.c.criterion != ""
    )
    rows: list[FailureRow] = [json.loads(content) for content in connection.execute(raised).scalars()]
    for row in rows:
        row["conversation_id"] = key_text(row["conversation_id"] or "")
        row["app_version"] = key_text(version_id(row["app_version"] or "")) or None
    if rows:
        side.conversations.add_errors(raised_errors(rows))
    own = {*side.conversations.app_versions.used()}
    side.errors = dict(Counter(row["criterion"] or "" for row in rows if row["app_version"] in own))


def _scores(
    connection: Connection, app: str, stored: Sequence[ComparedRecord], rulers: dict[str, set[str]]
) -> Iterator[ScoreRow]:
    """Returns the scores of conversations in their order, and adds to `rulers` which judges gave them."""
    scored: dict[str, list[ScoreRow]] = {}
    for own, score in record_scores(connection, app, stored):
        scored.setdefault(own.name, []).append(score)
        ruler = ruler_of(score)
        if ruler is not None:
            rulers.setdefault(score["criterion"], set()).add(ruler)
    return chain.from_iterable(scored.get(own.name, ()) for own in stored)


def _content(conversation: str, text: str) -> JsonObject:
    """Returns the JSON of a score; raises StoreError if it was damaged."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found.keys() >= _SCORE_CONTENT:
        raise StoreError(f"a score of {conversation} cannot be read; turnwise store check names it")
    return found


def record_scores(
    connection: Connection, app: str, stored: Sequence[ComparedRecord]
) -> Iterator[tuple[ComparedRecord, ScoreRow]]:
    """Yields conversations with their scores, those of one in a row."""
    wanted = {own.name: own for own in stored}
    columns = (*(SCORES.c[name] for name in ("conversation", *_SCORE_COLUMNS, "content")),)
    order = SCORES.c.conversation, SCORES.c.criterion, SCORES.c.turn_index.is_(None), SCORES.c.turn_index
    runs = {f"{app}/evaluationRuns/{own.run}" for own in stored}
    is_theirs = SCORES.c.app == app, SCORES.c.evaluation_run.in_(sorted(runs))
    query = select(*columns).where(*is_theirs).order_by(*order)
    found = connection.execute(query, execution_options={"yield_per": _AT_ONCE})
    for conversation, *values, content in found:
        own = wanted.get(conversation)
        if own is None:
            continue
        place = {"conversation_id": own.conversation, "app_version": own.version or None, "run_id": own.run}
        row = dict(zip(_SCORE_COLUMNS, values, strict=True)) | _content(conversation, content) | place
        yield own, cast(ScoreRow, {**row, "eval_id": own.case or None})
