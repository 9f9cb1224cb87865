"""Keeps, of every run of a store, what comparisons and figures read; finds rows by conditions."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, groupby
from operator import ge, gt, itemgetter, le, lt
from typing import Any, Generic, NamedTuple, TypeVar, cast
from zlib import crc32

import msgspec
import numpy as np
import sqlalchemy as sa
from pydantic.alias_generators import to_snake
from sqlalchemy import ColumnElement, Connection, Table, select

from turnwise.pipeline.store import database as db
from turnwise.pipeline.store.rows import ResultGroup, result_groups
from turnwise.pipeline.store.runs import is_counted
from turnwise.pipeline.store.urls import COMPLETED, STATES, StoreError
from turnwise.schemas.ces.names import UNASSIGNED, id_of
from turnwise.schemas.ces.result import EvaluationOutcome, ExecutionState
from turnwise.schemas.jsonio import JsonObject, shown
from turnwise.schemas.proto.masks import Condition, FieldComparison, FilterError, Junction, Operator
from turnwise.schemas.proto.scalars import timestamp_nanos
from turnwise.schemas.rows import ConversationRow, ScoreRow
from turnwise.transforms.decisions.comparison import sides
from turnwise.transforms.decisions.comparison.collect import ComparedConversation, Summary, collect, judge_of
from turnwise.transforms.decisions.run import unnamed_case
from turnwise.transforms.statistics.resampling import Numbers

# What is kept of a run: three texts, so that verdicts and figures do not wait for reasons and turns.


class RunColumns(msgspec.Struct, frozen=True, array_like=True):
    """The conversations of a run (without details), and its results without one; columns have one order.

    Attributes:
        evaluations: Names of their evaluations; "": not known.
        nanos: When they were written, nanoseconds since 1970.
        revisions: Highest revision of their scores; -1: they have none.
        judges: Criterion and judge of the scores that a judge gave.
    """

    conversations: sides.ConversationColumns
    evaluations: sides.CodedColumn[str | None]
    nanos: sides.CodedColumn[int]
    is_result: sides.CodedColumn[bool]
    revisions: sides.CodedColumn[int]
    judges: sides.CodedColumn[tuple[tuple[str, str], ...]]


RunDetails = dict[str, sides.ScoreDetails]
"""Criterion -> reasons, turns and votes of the conversations of a run."""

_KINDS = ("|u1", "<u2", "<u4")
"""How NumPy calls unsigned integers of 1, 2 and 4 bytes."""
_FLOATS = "<f8"
_DIGITS = 8
"""Digits of a checksum."""


def _stored_numbers(numbers: Any) -> tuple[str, ...]:
    """Returns numbers as JSON holds them: their kind, and their bytes in base64; fractions each once."""
    if numbers.dtype == np.float64:
        values, places = np.unique(numbers, return_inverse=True)
        return _FLOATS, b64encode(values.astype(_FLOATS).tobytes()).decode(), *_stored_numbers(places)
    kind = next(kind for kind in _KINDS if numbers.max(initial=0) <= np.iinfo(kind).max)
    return kind, b64encode(numbers.astype(kind).tobytes()).decode()


def _read_numbers(wanted: Any, stored: Any) -> sides.Integers | Numbers:
    kind, text, *places = stored
    if kind not in ((_FLOATS,) if wanted == Numbers else _KINDS):
        raise ValueError("numbers in a summary are of another kind")
    numbers = np.frombuffer(b64decode(text, validate=True), kind)
    if kind == _FLOATS:
        return numbers.astype(np.float64)[_read_numbers(sides.Integers, places)]
    return numbers.astype(np.int64)


_ENCODER = msgspec.json.Encoder(enc_hook=_stored_numbers)


def _checksum(content: bytes) -> str:
    return f"{crc32(content):0{_DIGITS}x}"


# Which runs have a summary in force.

_Content = TypeVar("_Content")


class Form(NamedTuple, Generic[_Content]):
    """One of the texts of a run: the last part of its name, which changes with its form or meaning."""

    end: str
    decoder: msgspec.json.Decoder[_Content]


COLUMNS = Form("columns-2", msgspec.json.Decoder(RunColumns, dec_hook=_read_numbers))
DETAILS = Form("details-2", msgspec.json.Decoder(RunDetails, dec_hook=_read_numbers))
RESULT_GROUPS = Form("results-2", msgspec.json.Decoder(list[ResultGroup]))


class RunKey(NamedTuple):
    """A run as it is at one time: its name, execution and the time of its last change."""

    name: str
    execution: int
    update_nanos: int


def counted_runs(connection: Connection, app: str) -> list[RunKey]:
    """Returns the runs of an app that count, by name."""
    columns = (db.EXECUTIONS.c[name] for name in RunKey._fields)
    is_read = db.CURRENT.c.name == db.EXECUTIONS.c.name, db.CURRENT.c.execution == db.EXECUTIONS.c.execution
    counts = db.EXECUTIONS.c.app == app, db.EXECUTIONS.c.state == COMPLETED
    query = select(*columns).where(*is_read, *counts).order_by(db.EXECUTIONS.c.name)
    return [RunKey(*row) for row in connection.execute(query)]


def kept(connection: Connection, runs: Collection[RunKey], form: Form[_Content]) -> dict[RunKey, _Content]:
    """Returns what is in force for runs; those that have nothing, or what is damaged, are left out."""
    held = db.RUN_SUMMARIES.c
    query = select(held.evaluation_run, held.execution, held.update_nanos, held.content)
    names = [f"{run.name}/{form.end}" for run in runs]
    rows = connection.execute(query.where(held.name.in_(names))) if names else ()
    summaries = {}
    for *key, text in rows:
        content = text[_DIGITS:].encode()
        # What was changed, or has the form of another version, is as good as missing.
        if RunKey(*key) in runs and text[:_DIGITS] == _checksum(content):
            with suppress(msgspec.MsgspecError, ValueError):
                summaries[RunKey(*key)] = form.decoder.decode(content)
    return summaries


def keep_summaries(store: db.Store, app: str, names: Collection[str] | None = None) -> None:
    """Writes the summaries of the runs of an app (or some) that have none, each in its own transaction.

    Of a store that is open read-only, it leaves them as they are.
    """
    if store.read_only:
        return
    keys = db.RUN_SUMMARIES.c.evaluation_run, db.RUN_SUMMARIES.c.execution, db.RUN_SUMMARIES.c.update_nanos
    is_kept = db.RUN_SUMMARIES.c.app == app, db.RUN_SUMMARIES.c.name.endswith(f"/{RESULT_GROUPS.end}")

    def missing(connection: Connection) -> list[RunKey]:
        known = {RunKey(*row) for row in connection.execute(select(*keys).where(*is_kept))}
        return [run for run in counted_runs(connection, app) if run not in known]

    for run in store.read(missing):
        if names is None or run.name in names:
            _keep(store, app, run)


def _keep(store: db.Store, app: str, run: RunKey) -> None:
    key = {"app": app, "evaluation_run": run.name, **run._asdict()}

    def made(connection: Connection) -> list[JsonObject]:
        columns, details = summarised(connection, app, run.name)
        groups = result_groups(connection, run.name)
        parts = {COLUMNS.end: columns, DETAILS.end: details, RESULT_GROUPS.end: groups}
        contents = ((end, _ENCODER.encode(part)) for end, part in parts.items())
        texts = ((end, f"{_checksum(content)}{content.decode()}") for end, content in contents)
        return [{**key, "name": f"{run.name}/{end}", "content": text} for end, text in texts]

    rows = store.read(made)
    is_run = db.EXECUTIONS.c.name == run.name, db.EXECUTIONS.c.execution == run.execution

    def work(connection: Connection) -> None:
        query = select(db.EXECUTIONS.c.update_nanos).where(*is_run).with_for_update()
        # Of a run that was changed meanwhile, what was deleted must not come back.
        if connection.execute(query).scalar() == run.update_nanos:
            is_old = db.RUN_SUMMARIES.c.evaluation_run == run.name
            connection.execute(sa.delete(db.RUN_SUMMARIES).where(is_old))
            connection.execute(sa.insert(db.RUN_SUMMARIES), rows)

    store.write(work)


# Makes the summary of a run of its rows: of conversations with their scores, and of results without one.

_AT_ONCE = 2_000


class _Record(NamedTuple):
    """A stored conversation, or a result without one: its verdict, and when it was written."""

    name: str
    nanos: int
    summary: Summary
    evaluation: str
    is_result: bool = False


def summarised(connection: Connection, app: str, run: str) -> tuple[RunColumns, RunDetails]:
    """Returns the columns of a run, made of its rows; raises StoreError if a score was damaged."""
    traits: list[tuple[Any, ...]] = []

    def conversations() -> Iterator[ComparedConversation]:
        for record, scores in _scored(connection, run, _records(connection, app, run)):
            revision = max((score["revision"] for score in scores), default=-1)
            judges = ((score["criterion"], judge_of(score)) for score in scores)
            judged = {(criterion, judge) for criterion, judge in judges if judge is not None}
            record_key = record.nanos, record.is_result, revision, tuple(sorted(judged))
            for conversation in collect(scores, [record.summary]):
                traits.append((record.name, record.evaluation, *record_key))
                yield conversation

    compared = sides.columns_of(conversations())
    order = np.asarray(sorted(range(len(traits)), key=lambda row: traits[row][0]), np.int64)
    compared = compared.at(order)
    compared.criteria = dict(sorted(compared.criteria.items()))
    details: RunDetails = {}
    for name, column in compared.criteria.items():
        if column.details is not None:
            details[name], column.details = column.details, None
    of_rows = zip(*(row[1:] for row in traits), strict=True)
    columns: list[sides.CodedColumn[Any]] = [sides.coded(values).at(order) for values in of_rows]
    return RunColumns(compared, *(columns or [sides.coded(())] * 5)), details


def _records(connection: Connection, app: str, run: str) -> list[_Record]:
    """Returns the conversations of a run and its results without one, by name."""
    evaluations: dict[tuple[str, str], list[str]] = {}
    results: dict[tuple[str, str], list[_Record]] = {}
    columns: tuple[str, ...] = ("evaluation", "evaluation_status", "execution_state")
    for key, name, nanos, evaluation, status, state in _rows(connection, db.RESULTS, columns, app, run):
        evaluations.setdefault(key, []).append(evaluation)
        if state == COMPLETED:
            case_id = "" if evaluation.rsplit("/", 1)[-1] == UNASSIGNED else evaluation
            record = _Record(name, nanos, _summary(key, case_id, status), evaluation, is_result=True)
            results.setdefault(key, []).append(record)
    records = []
    columns = ("eval_id", "verdict", "why", "case_digest")
    is_unnamed = db.CONVERSATIONS.c.eval_id == db.CONVERSATIONS.c.conversation_id
    is_needed = sa.or_(db.CONVERSATIONS.c.verdict == "", is_unnamed)
    row = sa.case((is_needed, db.CONVERSATIONS.c.content), else_="")
    rows = _rows(connection, db.CONVERSATIONS, columns, app, run, row)
    for key, name, nanos, case_id, verdict, why, digest, content in rows:
        summary = _summary(key, case_id, verdict)
        summary.reason, summary.case_digest = why or None, digest
        if content:
            stated: ConversationRow = json.loads(content)
            summary.task = unnamed_case(stated)
            summary.sampled_out = frozenset(() if verdict else stated.get("sampled_out") or ())
        # The evaluation of its case, among those of the conversations of its id.
        names, ids = evaluations.get(key, ()), {case_id, id_of(case_id)}
        ends = ((known, known.rsplit("/", 1)[-1]) for known in sorted(names))
        of_case = (known for known, end in ends if not ids.isdisjoint({known, end, end.rsplit("~", 1)[-1]}))
        evaluation = next(of_case, min(names, default=""))
        records.append(_Record(name, nanos, summary, evaluation))
        results.pop(key, None)
    return sorted([*records, *chain.from_iterable(results.values())], key=itemgetter(0))


def _summary(key: tuple[str, str], case_id: str, verdict: str) -> Summary:
    is_verdict = verdict in ("PASS", "FAIL")
    return Summary(key[0], key[1] or None, case_id or None, verdict=verdict if is_verdict else None)


def _rows(
    connection: Connection, table: Table, columns: Sequence[str], app: str, run: str, *more: Any
) -> Iterator[Any]:
    """Yields id and version of a conversation as one value, name, time of writing, and what is asked for."""
    is_run = table.c.app == app, table.c.evaluation_run == run, is_counted(table)
    names = ("conversation_id", "version_id", "name", "update_nanos", *columns)
    query = select(*(table.c[name] for name in names), *more).where(*is_run)
    for row in connection.execute(query, execution_options={"yield_per": _AT_ONCE}):
        yield row[:2], *row[2:]


_SCORE_CONTENT = {"judge", "revision", "tags"}
_OF_SUMMARY = ("conversation_id", "app_version", "eval_id")


def _scored(
    connection: Connection, run: str, records: Iterable[_Record]
) -> Iterator[tuple[_Record, list[ScoreRow]]]:
    """Yields records with their scores, at last those that have none."""
    left = {record.name: record for record in records}
    of_run = stored_scores(connection, db.SCORES.c.evaluation_run == run)
    for name, scores in groupby(of_run, key=itemgetter(0)):
        if (record := left.pop(name, None)) is not None:
            ids = {name: getattr(record.summary, name) for name in _OF_SUMMARY} | {"run_id": run}
            yield record, [cast(ScoreRow, score | ids) for _, score in scores]
    yield from ((record, []) for record in left.values())


def stored_scores(connection: Connection, is_wanted: ColumnElement[bool]) -> Iterator[tuple[str, JsonObject]]:
    """Yields scores with the names of their conversations, those of one in a row; raises StoreError.

    Comparisons tell conversations apart by this order: the whole conversation after its turns.
    """
    columns = (db.SCORES.c[name] for name in ("conversation", *db.SCORE_COLUMNS, "content"))
    turn = db.SCORES.c.turn_index
    order = db.SCORES.c.conversation, db.SCORES.c.criterion, turn.is_(None), turn, db.SCORES.c.score_id
    query = select(*columns).where(is_wanted).order_by(*order)
    for name, *values, content in connection.execute(query, execution_options={"yield_per": _AT_ONCE}):
        try:
            stated = json.loads(content)
        except ValueError:
            stated = None
        if not isinstance(stated, dict) or not stated.keys() >= _SCORE_CONTENT:
            raise StoreError(f"a score of {name} cannot be read; turnwise store check names it")
        yield name, db.ADDED | dict(zip(db.SCORE_COLUMNS, values, strict=True)) | stated


# Converts filters to SQL conditions, with bound values and a fixed list of fields.

Sql = ColumnElement[bool]
Field = Callable[[Operator, str], Sql]
"""Returns the condition of an operator and a value; raises ValueError."""

LONGEST_PART = 160
"""Characters of a value with a wildcard: of longer texts, the columns hold the beginning and a digest."""

_ORDERED: dict[str, Callable[[Any, int], Sql]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def condition_of(parsed: Condition, fields: Mapping[str, Field]) -> Sql:
    """Returns the condition of a parsed filter; raises FilterError for an unknown field or operator."""
    if isinstance(parsed, Junction):
        parts = [condition_of(part, fields) for part in parsed.parts]
        return sa.and_(*parts) if parsed.kind == "AND" else sa.or_(*parts)
    if isinstance(parsed, FieldComparison):
        make = fields.get(parsed.field) or fields.get(to_snake(parsed.field))
        if make is None:
            raise FilterError(f"no field {shown(parsed.field)}; fields are {', '.join(fields)}")
        try:
            return make(parsed.operator, parsed.value)
        except ValueError as error:
            raise FilterError(f"{parsed.field} {parsed.operator}: {error}") from None
    return sa.not_(condition_of(parsed.part, fields))


def _equal_or_not(operator: Operator, equal: Sql) -> Sql:
    if operator not in ("=", "!="):
        raise ValueError("only = and != are supported")
    return equal if operator == "=" else sa.not_(equal)


def matches(column: sa.Column[str] | ColumnElement[str], value: str) -> Sql:
    """Returns the condition that a text is a value; `*` at its start or end stands for any text.

    Raises ValueError if a `*` stands elsewhere, or the value with it is too long.
    """
    if "*" not in value:
        return column == db.key_text(value)
    part = db.plain_text(value.strip("*"))
    if "*" in part:
        raise ValueError("a * may stand at the start and at the end of the value only")
    if len(part) > LONGEST_PART:
        raise ValueError(f"a value with * must have at most {LONGEST_PART} characters")
    if not part:
        return column != ""
    if value.startswith("*") and value.endswith("*"):
        return sa.func.replace(column, part, "") != column
    # LIKE would ignore the case of ASCII letters in SQLite alone.
    if value.endswith("*"):
        return sa.func.substr(column, 1, len(part)) == part
    start = sa.func.length(column) - len(part) + 1
    return sa.and_(start > 0, sa.func.substr(column, start) == part)


def _contains(column: sa.Column[str], value: str) -> Sql:
    """Returns the condition that a value matches or is part of a text, ignoring case."""
    # SQLite's lower() supports only ASCII.
    in_lower_case = sa.func.lower(column)
    if "*" in value:
        return sa.or_(matches(in_lower_case, value.lower()), matches(column, value))
    part = value.replace("\0", "")
    contains = in_lower_case.contains(part.lower(), autoescape=True)
    return sa.or_(contains, column.contains(part, autoescape=True))


def _text(columns: Sequence[sa.Column[str]], operator: Operator, value: str) -> Sql:
    """Returns that one of the columns is a value or (`:`) that it is part of the first, ignoring case."""
    if operator == ":":
        return _contains(columns[0], value)
    return _equal_or_not(operator, sa.or_(*(matches(column, value) for column in columns)))


def _id(column: sa.Column[str], prefix: str, operator: Operator, value: str) -> Sql:
    """Returns that a column is an id, which may be a resource name: that is given by its last part, too."""
    if operator not in ("=", "!=") or "*" in value:
        return _text([column], operator, value)
    return _equal_or_not(operator, column.in_([db.key_text(value), db.key_text(f"{prefix}/{value}")]))


def _name(column: sa.Column[str], prefix: str, operator: Operator, value: str) -> Sql:
    """Returns that a column is a resource name, given in full or by its last part.

    Of results, whose names go through those of their evaluations, the last part is as it stands in them.
    """
    if column is db.RESULTS.c.name and operator == ":":
        return _contains(column, value)
    if "/" not in value and not value.startswith("*"):
        is_in_column = "*" in value or column is db.RESULTS.c.name
        value = f"{prefix}/{value if is_in_column else id_of(value)}"
    elif not value.startswith(("projects/", "*")):
        raise ValueError(f"{shown(value)} is neither a full name (projects/...) nor the last part of one")
    return _equal_or_not(operator, matches(column, value))


def _enum(column: sa.Column[str], values: Mapping[str, Any], operator: Operator, value: str) -> Sql:
    """Returns that a column is one of some values by name; one that is false means unset."""
    if value not in values:
        raise ValueError(f"{shown(value)} is none of {', '.join(values)}")
    return _equal_or_not(operator, column == (value if values[value] else ""))


def _time(column: sa.Column[int], operator: Operator, value: str) -> Sql:
    nanos = db.key_nanos(timestamp_nanos(value))
    order = _ORDERED.get(operator)
    return order(column, nanos) if order else _equal_or_not(operator, column == nanos)


def _tags(operator: Operator, value: str) -> Sql:
    has = sa.exists().where(db.TAGS.c.evaluation == db.EVALUATIONS.c.name, matches(db.TAGS.c.tag, value))
    return has if operator == ":" else _equal_or_not(operator, has)


def _columns(table: Table, *names: str) -> dict[str, Field]:
    """Returns fields of the columns of their names: texts, and times, which are nanoseconds there."""
    times = {name: f"{name.removesuffix('time')}nanos" for name in names if name.endswith("_time")}
    fields = {name: partial(_time, table.c[column]) for name, column in times.items()}
    return {name: fields.get(name) or partial(_text, [table.c[name]]) for name in names}


def filter_fields(app: str) -> dict[str, dict[str, Field]]:
    """Returns the fields of filters on what is listed of an app.

    Those of `runs_of_results` are of the runs of an evaluation's results.
    """
    results, runs, evaluations = db.RESULTS.c, f"{app}/evaluationRuns", f"{app}/evaluations"
    run_of_result = partial(_name, results.evaluation_run, runs)
    version_of_result = partial(_text, [results.app_version, results.version_id])
    failures, names = db.FAILURES.c, ("update_time", "stage", "error_type", "criterion", "source")
    return {
        "evaluations": {
            "name": partial(_name, db.EVALUATIONS.c.name, evaluations),
            **_columns(db.EVALUATIONS, "display_name", "create_time", "update_time"),
            **_columns(db.EVALUATIONS, "created_by", "last_updated_by"),
            "tags": _tags,
        },
        "runs_of_results": {
            "name": run_of_result,
            **_columns(db.RESULTS, "create_time", "initiated_by"),
            "app_version": version_of_result,
            **_columns(db.RESULTS, "app_version_display_name"),
        },
        "runs": {
            "name": partial(_name, db.RUNS.c.name, runs),
            "display_name": partial(_text, [db.RUNS.c.run_id]),
            "state": partial(_enum, db.RUNS.c.state, dict.fromkeys(STATES, True)),
            **_columns(db.RUNS, "create_time", "update_time"),
        },
        "results": {
            "name": partial(_name, results.name, "*/results"),
            **_columns(db.RESULTS, "display_name"),
            "evaluation": partial(_name, results.evaluation, evaluations),
            "evaluation_status": partial(_enum, results.evaluation_status, EvaluationOutcome.__members__),
            "execution_state": partial(_enum, results.execution_state, ExecutionState.__members__),
            "evaluation_run": run_of_result,
            "app_version": version_of_result,
            **_columns(db.RESULTS, "app_version_display_name", "initiated_by"),
            "conversation": partial(_id, results.conversation_id, f"{app}/conversations"),
            **_columns(db.RESULTS, "create_time", "update_time"),
        },
        "failures": {
            "evaluation_run": partial(_name, failures.evaluation_run, runs),
            **_columns(db.FAILURES, *names),
            "conversation_id": partial(_id, failures.conversation_id, f"{app}/conversations"),
            "app_version": partial(_id, failures.app_version, f"{app}/versions"),
        },
    }
