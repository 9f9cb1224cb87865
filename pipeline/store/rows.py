"""The rows of a store, one kind after the other: of runs, and evaluations with their history."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple, cast

import msgspec
import sqlalchemy as sa
from pydantic.alias_generators import to_snake
from sqlalchemy import ColumnElement, Connection, Row, Select, Table, select

from turnwise.pipeline.store import database as db
from turnwise.pipeline.store.runs import REPLACED, Execution, is_counted, run_key, write_rows
from turnwise.pipeline.store.urls import COMPLETED
from turnwise.schemas.ces.names import app_in, app_of, version_id
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import JsonObject, dump_json, grouped, shown_url
from turnwise.schemas.proto.scalars import nanos_timestamp, timestamp_nanos
from turnwise.schemas.rows import ConversationRow, FailureRow, MetricRow, ScoreRow, columns
from turnwise.transforms.ces.judgements import VersionSums
from turnwise.transforms.ces.result import result_parts
from turnwise.transforms.metrics.state import SumPart, Sums, add_parts
from turnwise.transforms.review.problems import LEAST_DESTRUCTIVE, MOST_READ, to_read

_MOST_CONSIDERED = 10_000
_WITH_COLUMNS = (*db.SCORE_COLUMNS, "run_id", "app_version")
_KEPT = [column.name for column in columns("scores") if column.name not in _WITH_COLUMNS]
_OF_CONVERSATION = [c.name for c in db.CONVERSATION_ROWS.c if c.name in ConversationRow.__annotations__]
_OF_FAILURE = [column.name for column in db.FAILURE_ROWS.c if column.name in FailureRow.__annotations__]
_UNREAD = ("name", "app", "conversation", "update_nanos", "execution")


def conversation_columns(row: ConversationRow, app: str, nanos: int) -> JsonObject:
    """Returns the columns of a conversation, with a name that is the same when its run is repeated.

    `app` is its app if the conversation names none, `nanos` the time of writing, nanoseconds since 1970.
    """
    stated: JsonObject = {name: row[name] or "" for name in _OF_CONVERSATION}  # type: ignore[literal-required]
    return {
        **_shared_columns(row, stated, app, nanos),
        "name": conversation_name(row, app),
        "user_id": db.key_text(row["user_id"] or ""),
        "severity_score": row["severity_score"],
        "content": dump_json(row).decode(),
    }


def score_columns(row: ScoreRow, app: str, nanos: int, day: str) -> JsonObject:
    """Returns the columns of a score as `conversation_columns` does; `day` is that of the run."""
    stated: JsonObject = {name: row[name] for name in db.SCORE_COLUMNS}  # type: ignore[literal-required]
    conversation = conversation_name(row, app)
    return {
        **_shared_columns(row, stated, app, nanos),
        "name": f"{conversation}/scores/{row['score_id']}",
        "conversation": conversation,
        "criterion": db.key_text(row["criterion"]),
        "day": day_of(row["event_time"]) or day,
        "content": dump_json({name: row[name] for name in _KEPT}).decode(),  # type: ignore[literal-required]
    }


@lru_cache(maxsize=1024)
def day_of(event_time: str | None) -> str:
    """Returns the day of a time in UTC; "": there is no time, or it cannot be read."""
    try:
        return nanos_timestamp(timestamp_nanos(event_time or ""))[:10]
    except ValueError:
        return ""


def _shared_columns(row: ConversationRow | ScoreRow, stated: JsonObject, app: str, nanos: int) -> JsonObject:
    row_app = db.app_of_row(row, app)
    return {
        **{name: db.plain_text(value) if isinstance(value, str) else value for name, value in stated.items()},
        "app": row_app,
        "evaluation_run": run_key(row_app, row["run_id"]),
        "conversation_id": db.key_text(row["conversation_id"]),
        "eval_id": db.key_text(row["eval_id"] or ""),
        "version_id": db.key_text(version_id(row["app_version"] or "")),
        "update_nanos": nanos,
    }


def conversation_name(row: ConversationRow | ScoreRow, app: str) -> str:
    """Returns the name of a conversation of a run, for each case and app version another one."""
    run = db.run_name(db.app_of_row(row, app), row["run_id"])
    ids = row["conversation_id"], row["app_version"], row["eval_id"]
    stated = "\0".join("" if text is None else f"={text}" for text in ids)
    return f"{run}/conversations/c-{sha256(stated.encode('utf-8', 'replace')).hexdigest()[:32]}"


def verdict_counts(connection: Connection, run: str, version: str | None = None) -> dict[str, int]:
    """Returns verdict ("": none) -> number of conversations of a run, or a version (its id) of it."""
    column = db.CONVERSATIONS.c.verdict
    query = select(column, sa.func.count()).where(*_of_version(run, version)).group_by(column)
    return {verdict: count for verdict, count in connection.execute(query)}


def conversations_to_read(
    connection: Connection, run: str, version: str | None = None, most: int = MOST_READ
) -> list[tuple[str, ConversationRow, int]]:
    """Returns the conversations of a run, or a version of it, to read first.

    Each has its name in the store, and the number of those of its problem type. They are chosen from the
    first 10,000 in the order of reading, as `to_read` does.
    """
    of_run = _of_version(run, version)
    held, problem_type = db.CONVERSATIONS.c, db.CONVERSATIONS.c.problem_type
    query = select(
        *(held.name, held.verdict, held.severity_score, problem_type, held.event_time),
        *(held.conversation_id, held.version_id, held.eval_id),
    ).where(*of_run, held.severity_score > 0)
    is_first = sa.case((sa.or_(held.verdict == "FAIL", held.severity_score >= LEAST_DESTRUCTIVE), 0), else_=1)
    worst = connection.execute(query.order_by(is_first, held.severity_score.desc()).limit(_MOST_CONSIDERED))
    rows: list[Any] = [{**row._mapping, "app_version": row.version_id} for row in worst]
    counts = connection.execute(select(problem_type, sa.func.count()).where(*of_run).group_by(problem_type))
    sizes: dict[str, int] = {name: count for name, count in counts}
    chosen = [row["name"] for row in to_read(rows, most)]  # type: ignore[typeddict-item]
    read = [(name, find_conversation(connection, name)) for name in chosen]
    return [(name, row, sizes[row["problem_type"] or ""]) for name, row in read if row is not None]


def _of_version(run: str, version: str | None) -> list[ColumnElement[bool]]:
    of_run = db.CONVERSATIONS.c.evaluation_run == run
    return [of_run] if version is None else [of_run, db.CONVERSATIONS.c.version_id == version]


def find_conversation(connection: Connection, name: str) -> ConversationRow | None:
    """Returns a conversation by its name, or None."""
    query = select(db.CONVERSATIONS.c.content).where(db.CONVERSATIONS.c.name == name)
    text = connection.execute(query).scalar()
    return None if text is None else json.loads(text)


def names_of(connection: Connection, app: str, conversation_id: str, run: str | None) -> Sequence[str]:
    """Returns the names of a conversation in one run or (None) in all runs of an app, the newest first.

    An id that is a resource name is given by its last part, too.
    """
    held = db.CONVERSATIONS.c
    ids = [db.key_text(text) for text in (conversation_id, f"{app}/conversations/{conversation_id}")]
    query = select(held.name).where(held.app == app, held.conversation_id.in_(ids))
    query = query if run is None else query.where(held.evaluation_run == run)
    newest = query.order_by(held.update_nanos.desc(), held.name)
    return connection.execute(newest).scalars().all()


def scores_of(connection: Connection, name: str) -> list[JsonObject]:
    """Returns the scores of a conversation by its name: by turn, those of the whole last."""
    held = db.SCORES.c
    query = select(*(column for column in held if column.name not in _UNREAD))
    order = (held.turn_index.is_(None), held.turn_index, held.criterion, held.score_id)
    rows = connection.execute(query.where(held.conversation == name).order_by(*order))
    return [{**db.ADDED, **row._mapping, **json.loads(row.content)} for row in rows]


def metric_columns(row: Any, execution: Execution, nanos: int) -> JsonObject:
    """Returns the columns of a row of metrics; its app: the one of its version, else the execution's."""
    app = app_in(row["app_version"]) or execution.app
    turn = row.get("turn_index")
    key = dump_json([row["app_version"], row["criterion"], row["level"], turn]).decode()
    return {
        **{name: row.get(name) for name in db.METRIC_COLUMNS},  # those of turns have no conversations
        "name": db.marked(f"{db.run_name(app, row['run_id'])}/metrics/m", key),
        "app": app,
        "evaluation_run": run_key(app, row["run_id"]),
        "version_id": db.key_text(version_id(row["app_version"] or "")),
        "criterion": db.key_text(row["criterion"]),
        "turn_index": turn,
        "day": execution.day,
        "update_nanos": nanos,
    }


class VersionMetric(MetricRow):
    """The figures of a criterion over an app version in one run, as far as the store has them."""

    evaluation_run: str
    version_id: str
    conversations: int | None
    turns: int | None


def version_metrics(connection: Connection, runs: Collection[str]) -> dict[str, list[VersionMetric]]:
    """Returns name of a run -> its metrics of whole app versions, by criterion, version and level."""
    is_theirs = db.METRICS.c.evaluation_run.in_(list(runs)), db.METRICS.c.turn_index.is_(None)
    order = itemgetter("evaluation_run", "criterion", "version_id", "level")
    rows = sorted(connection.execute(select(db.METRICS).where(*is_theirs)).mappings(), key=order)
    by_run = groupby(rows, itemgetter("evaluation_run"))
    return {run: [cast(VersionMetric, row) for row in of_run] for run, of_run in by_run}


def measured_names(connection: Connection, app: str, column: Literal["criterion", "version_id"]) -> list[str]:
    """Returns the names of the criteria, or the ids of the app versions, that the runs of an app measured."""
    query = select(db.METRICS.c[column]).where(db.METRICS.c.app == app).distinct()
    return sorted(connection.execute(query).scalars())


# Reads and writes evaluation results and their sums.

_SHOWN = ("displayName", "appVersion", "appVersionDisplayName", "evaluationStatus", "executionState")
TEXTS = {to_snake(field): field for field in (*_SHOWN, "evaluationRun", "initiatedBy")}
"""Column -> field of a result that it holds."""


def result_columns(
    result: JsonObject, conversation: str, nanos: int, etag: str | None = None, case_digest: str | None = None
) -> JsonObject:
    """Returns the columns of an EvaluationResult with a full name.

    `etag` of the evaluation and `case_digest` say what it was scored against; None: not known.
    """
    name: str = result["name"]
    created = result.get("createTime")
    return {
        **{column: db.key_text(str(result.get(field, ""))) for column, field in TEXTS.items()},
        "name": name,
        "app": app_of(name),
        "evaluation": name.rsplit("/", 2)[0],
        "version_id": db.key_text(version_id(str(result.get("appVersion", "")))),
        "conversation_id": db.key_text(conversation),
        "create_nanos": db.key_nanos(timestamp_nanos(created)) if created else nanos,
        "update_nanos": nanos,
        "evaluation_etag": etag,
        "case_digest": case_digest,
        "parts": dump_json(result_parts(result)).decode(),
        "content": dump_json(result).decode(),
    }


def find_result(connection: Connection, name: str) -> JsonObject | None:
    """Returns a result by its name, or None."""
    text = connection.execute(select(db.RESULTS.c.content).where(db.RESULTS.c.name == name)).scalar()
    return None if text is None else json.loads(text)


def newest_results(connection: Connection, evaluation: str, count: int) -> list[JsonObject]:
    """Returns the `count` newest results of an evaluation from runs that count, newest first."""
    query = _newest_first(db.RESULT_ROWS.c.evaluation == evaluation).limit(count)
    return [json.loads(text) for text in connection.execute(query).scalars()]


def last_completed(connection: Connection, evaluations: Collection[str]) -> dict[str, JsonObject]:
    """Returns evaluation -> its newest completed result from runs that count, of those that have one."""
    evaluation = db.EVALUATIONS.c.name
    is_its = db.RESULT_ROWS.c.evaluation == evaluation, db.RESULT_ROWS.c.execution_state == COMPLETED
    newest = _newest_first(*is_its).limit(1).correlate(db.EVALUATIONS).scalar_subquery()
    rows = connection.execute(select(evaluation, newest).where(evaluation.in_(list(evaluations))))
    return {name: json.loads(text) for name, text in rows if text is not None}


def _newest_first(*conditions: ColumnElement[bool]) -> Select[Any]:
    newest = db.RESULT_ROWS.c.create_nanos.desc(), db.RESULT_ROWS.c.name.desc()
    return select(db.RESULT_ROWS.c.content).where(*conditions, is_counted(db.RESULT_ROWS)).order_by(*newest)


def has_results(connection: Connection, evaluation: str) -> bool:
    """Returns whether an evaluation has any result."""
    query = select(db.RESULTS.c.name).where(db.RESULTS.c.evaluation == evaluation).limit(1)
    return connection.execute(query).first() is not None


# Sums over results: of an evaluation, made of its rows, and of whole runs, made of what is kept of them.


class EvaluationFigures(NamedTuple):
    """Sums over the results of an evaluation from runs that count, by app version id ("": the draft).

    The sums are those over completed results, of each conversation in its last run.
    """

    versions: dict[str, VersionSums]
    no_verdict: dict[str, int]
    runs: list[str]


class ResultGroup(msgspec.Struct, frozen=True, array_like=True):
    """The results of one evaluation and app version in one run.

    Attributes:
        members: Ids of their conversations.
        oldest: When the first of them was written, nanoseconds since 1970; `newest`: the last one.
        completed: Number of those that completed; passes, fails and sums are theirs.
    """

    evaluation: str
    version: str
    members: list[str]
    oldest: int
    newest: int
    completed: int
    passes: int
    fails: int
    sums: list[SumPart]


_OF_GROUP = ("evaluation", "version_id", "conversation_id", "update_nanos", "evaluation_status",
             "execution_state", "parts", "evaluation_run")  # fmt: skip
_PARTS = msgspec.json.Decoder(list[SumPart])


def result_groups(connection: Connection, run: str) -> list[ResultGroup]:
    """Returns the results of a run by evaluation and app version."""
    query = select(*(db.RESULTS.c[name] for name in _OF_GROUP)).where(db.RESULTS.c.evaluation_run == run)
    return _grouped(connection.execute(query.order_by(db.RESULTS.c.evaluation, db.RESULTS.c.version_id)))


def _grouped(results: Iterable[Row[Any]]) -> list[ResultGroup]:
    groups = []
    for (evaluation, version), of_group in groupby(results, itemgetter(0, 1)):
        _, _, members, nanos, statuses, states, texts, _ = zip(*of_group, strict=True)
        completed = [i for i, state in enumerate(states) if state == COMPLETED]
        sums: Sums = {}
        for i in completed:
            add_parts(sums, _PARTS.decode(texts[i]))
        parts = [(part, first, second) for part, (first, second) in sums.items()]
        known = [statuses[i] for i in completed]
        verdicts = len(completed), known.count("PASS"), known.count("FAIL")
        groups.append(ResultGroup(evaluation, version, [*members], min(nanos), max(nanos), *verdicts, parts))
    return groups


def read_figures(connection: Connection, evaluation: str) -> EvaluationFigures:
    """Returns the sums over the results of an evaluation; each conversation counts in its last run only."""
    query = select(*(db.RESULTS.c[name] for name in _OF_GROUP)).where(db.RESULTS.c.evaluation == evaluation)
    newest_first = (db.RESULTS.c.update_nanos.desc(), db.RESULTS.c.name.desc())
    last_runs: dict[tuple[str, str], str] = {}
    last, runs = [], set()
    for row in connection.execute(query.where(is_counted(db.RESULTS)).order_by(*newest_first)):
        version, conversation, run = row[1], row[2], row[-1]
        runs.add(run)
        if last_runs.setdefault((version, conversation), run) == run:
            last.append(row)
    return _figures({group.version: [group] for group in _grouped(sorted(last, key=itemgetter(1)))}, runs)


def figures_of(runs: Mapping[str, Sequence[ResultGroup]]) -> dict[str, EvaluationFigures | None]:
    """Returns evaluation -> sums over the results of several runs (by name), as `read_figures` does.

    None: some results of a group do not count, so that the rows must be read.
    """
    groups_of = grouped((group.evaluation, group) for groups in runs.values() for group in groups)
    names = grouped((group.evaluation, run) for run, groups in runs.items() for group in groups)
    figures: dict[str, EvaluationFigures | None] = {}
    for evaluation, groups in groups_of.items():
        versions = grouped((group.version, group) for group in groups)
        counted = {version: _counted(of_version) for version, of_version in versions.items()}
        whole = {version: groups for version, groups in counted.items() if groups is not None}
        figures[evaluation] = _figures(whole, names[evaluation]) if len(whole) == len(counted) else None
    return figures


def _figures(versions: Mapping[str, Sequence[ResultGroup]], runs: Iterable[str]) -> EvaluationFigures:
    by_version: dict[str, VersionSums] = {}
    no_verdict: dict[str, int] = {}
    for version, groups in versions.items():
        if completed := sum(group.completed for group in groups):
            sums: Sums = {}
            for group in groups:
                add_parts(sums, group.sums)
            passes, fails = sum(group.passes for group in groups), sum(group.fails for group in groups)
            by_version[version] = VersionSums(passes, fails, sums)
            if missing := completed - passes - fails:
                no_verdict[version] = missing
    return EvaluationFigures(by_version, no_verdict, sorted({*runs} - {""}))


def _counted(groups: list[ResultGroup]) -> list[ResultGroup] | None:
    """Returns the groups that count: each conversation only in its last run; None: parts of groups do."""
    seen: set[str] = set()
    counted, oldest = [], None
    for group in sorted(groups, key=lambda group: group.newest, reverse=True):
        again = seen.intersection(group.members)
        if again and (len(again) < len({*group.members}) or oldest is None or group.newest >= oldest):
            return None
        if not again:
            counted.append(group)
        seen.update(group.members)
        oldest = group.oldest if oldest is None else min(oldest, group.oldest)
    return counted


# Failures, what was replaced, and the columns of every table of a run.

# A record can have several failures at these stages, which differ only in the message.
_SEVERAL_A_RECORD = ("parse", "parse_case")


def failure_columns(row: FailureRow, app: str, nanos: int) -> JsonObject:
    """Returns the columns of a failure, with a name that is the same when its run is repeated."""
    run = db.run_name(app, row["run_id"])
    names = ("stage", "source", "position", "conversation_id", "criterion", "turn_index")
    key = [*(row[name] for name in names), row["message"] if row["stage"] in _SEVERAL_A_RECORD else None]  # type: ignore[literal-required]
    return {
        **{name: db.key_text(row[name] or "") for name in _OF_FAILURE},  # type: ignore[literal-required]
        "name": db.marked(f"{app}/failures/f-{sha256(dump_json(key)).hexdigest()[:32]}", run),
        "app": app,
        "evaluation_run": run_key(app, row["run_id"]),
        "update_nanos": nanos,
        "content": dump_json(row).decode(),
    }


def write_replaced(connection: Connection, execution: Execution, number: int, nanos: int) -> None:
    """Writes how many results of an execution others of the same one replaced."""
    message = f"{number} results were replaced by others of the same conversation, case and app version"
    stated = {"run_id": execution.run_id, "stage": "write", "error_type": REPLACED, "message": message}
    row = cast(FailureRow, dict.fromkeys(FailureRow.__annotations__) | stated)
    content = dump_json({**row, "replaced": number}).decode()
    columns = failure_columns(row, execution.app, nanos) | {"content": content}
    write_rows(connection, execution, db.FAILURE_ROWS, [columns], nanos)


Columns = Callable[[Any, Execution, int], JsonObject]

ROW_TABLES: dict[str, tuple[Table, Columns]] = {
    "results": (
        db.RESULT_ROWS,
        lambda row, run, nanos: result_columns(
            db.full_result(row, run.app), row["conversation_id"], nanos, row["case_etag"], row["case_digest"]
        ),
    ),
    "failures": (
        db.FAILURE_ROWS,
        lambda row, run, nanos: failure_columns(row, db.app_of_row(row, run.app), nanos),
    ),
    "scores": (db.SCORE_ROWS, lambda row, run, nanos: score_columns(row, run.app, nanos, run.day)),
    "conversations": (
        db.CONVERSATION_ROWS,
        lambda row, run, nanos: conversation_columns(row, run.app, nanos),
    ),
    "metrics_by_app_version": (db.METRIC_ROWS, metric_columns),
    "metrics_by_turn": (db.METRIC_ROWS, metric_columns),
}
"""Table of a run -> table of the store, and what makes its columns of a row, the execution and a time."""


# Evaluations and their history, also as records of eval cases.


class StoredEvaluation(NamedTuple):
    """An evaluation.

    Attributes:
        revision: Starts at 1; incremented by every update.
        create_nanos: Nanoseconds since 1970; `update_nanos` likewise.
        content: The fields that users write, and the name, in canonical proto3 JSON.
    """

    name: str
    revision: int
    etag: str
    create_nanos: int
    created_by: str
    update_nanos: int
    last_updated_by: str
    content: JsonObject


class EvaluationChange(NamedTuple):
    """User, time and update mask (None: all fields) of a change."""

    actor: str
    nanos: int
    update_mask: str | None = None


COLUMNS = StoredEvaluation._fields


def stored_evaluation(row: Row[Any]) -> StoredEvaluation:
    """Returns the evaluation of a row that has all of `COLUMNS`."""
    fields = {name: getattr(row, name) for name in COLUMNS}
    return StoredEvaluation(**{**fields, "content": json.loads(row.content)})


class StoredRevision(NamedTuple):
    """A revision of an evaluation; `is_deletion`: whether it was deleted and held `content` (None: no)."""

    revision: int
    etag: str
    nanos: int
    actor: str
    update_mask: str | None
    is_deletion: int | None
    content: JsonObject


def find_evaluation(connection: Connection, name: str) -> StoredEvaluation | None:
    """Returns an evaluation."""
    query = select(*(db.EVALUATIONS.c[column] for column in COLUMNS)).where(db.EVALUATIONS.c.name == name)
    row = connection.execute(query).first()
    return None if row is None else stored_evaluation(row)


def add_evaluation(connection: Connection, content: JsonObject, change: EvaluationChange) -> StoredEvaluation:
    """Adds an evaluation under the name in its content; one that was deleted goes on with its history."""
    before = read_revisions(connection, content["name"], None, 1)
    revision = before[0].revision + 1 if before else 1
    made = _revision(content, revision, change.nanos, change.actor, change)
    connection.execute(sa.insert(db.EVALUATIONS).values(app=app_of(made.name), **_columns(made)))
    _follow_up(connection, made, change)
    return made


def replace_evaluation(
    connection: Connection,
    old: StoredEvaluation,
    content: JsonObject,
    change: EvaluationChange,
    is_deletion: int | None = None,
) -> StoredEvaluation | None:
    """Replaces the content of an evaluation, whose update time increases, or deletes it: its history says so.

    Returns None if it is no longer the old one.
    """
    later = change._replace(nanos=max(change.nanos, old.update_nanos + 1000))
    made = _revision(content, old.revision + 1, old.create_nanos, old.created_by, later)
    is_old = (db.EVALUATIONS.c.name == old.name, db.EVALUATIONS.c.revision == old.revision)
    if not connection.execute(sa.update(db.EVALUATIONS).where(*is_old).values(**_columns(made))).rowcount:
        return None
    connection.execute(sa.delete(db.TAGS).where(db.TAGS.c.evaluation == old.name))
    if is_deletion:
        connection.execute(sa.delete(db.EVALUATIONS).where(db.EVALUATIONS.c.name == old.name))
    _follow_up(connection, made, later, is_deletion)
    return made


def read_revisions(connection: Connection, name: str, before: int | None, size: int) -> list[StoredRevision]:
    """Returns at most `size` revisions of an evaluation, newest first, before one (None: from the last)."""
    query = select(*(db.HISTORY.c[column] for column in StoredRevision._fields))
    query = query.where(db.HISTORY.c.evaluation == name).order_by(db.HISTORY.c.revision.desc()).limit(size)
    rows = connection.execute(query if before is None else query.where(db.HISTORY.c.revision < before))
    return [StoredRevision(**{**row._asdict(), "content": json.loads(row.content)}) for row in rows]


def _revision(
    content: JsonObject, revision: int, create_nanos: int, created_by: str, change: EvaluationChange
) -> StoredEvaluation:
    name = content["name"]
    etag = sha256(f"{name}\0{revision}\0{change.nanos}\0".encode() + dump_json(content)).hexdigest()[:24]
    created = create_nanos, created_by
    return StoredEvaluation(name, revision, etag, *created, change.nanos, change.actor, content)


def _columns(evaluation: StoredEvaluation) -> JsonObject:
    text = dump_json(evaluation.content).decode()
    display_name = db.key_text(evaluation.content.get("displayName", ""))
    return {**evaluation._asdict(), "content": text, "display_name": display_name}


def _follow_up(
    connection: Connection, made: StoredEvaluation, change: EvaluationChange, is_deletion: int | None = None
) -> None:
    """Writes the tags (of what was deleted, none) and the history entry of a revision."""
    tags = set() if is_deletion else {db.key_text(tag) for tag in made.content.get("tags", ())}
    if tags:
        entries = [{"evaluation": made.name, "tag": tag} for tag in sorted(tags)]
        connection.execute(sa.insert(db.TAGS), entries)
    stated = {name: getattr(made, name) for name in ("revision", "etag")} | {"is_deletion": is_deletion}
    text = dump_json(made.content).decode()
    entry = sa.insert(db.HISTORY).values(**change._asdict(), evaluation=made.name, **stated, content=text)
    connection.execute(entry)


def store_records(url: str, app: str) -> Iterator[Record]:
    """Yields the evaluations of an app ("": of all apps) of a store by name, with their etags."""
    query = select(db.EVALUATIONS.c.content, db.EVALUATIONS.c.etag).order_by(db.EVALUATIONS.c.name)
    query = query.where(db.EVALUATIONS.c.app == app) if app else query
    rows = db.shared_store(url, read_only=True).read(lambda connection: connection.execute(query).all())
    for position, row in enumerate(rows, 1):
        yield Record(shown_url(url), position, dump_json({**json.loads(row.content), "etag": row.etag}))
