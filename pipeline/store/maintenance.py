"""Maintenance of a store: deletes runs, people and evaluations, says what is wrong, lists runs, backs up."""

import json
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, or_, select, update

from turnwise.pipeline.store import database as db
from turnwise.pipeline.store import runs as stored_runs
from turnwise.pipeline.store.urls import COMPLETED, StoreError
from turnwise.schemas.config import ConfigError, RedactConfig
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.transforms.scoring.redaction import Redactor


class OldRun(NamedTuple):
    """A run in an app that is to be deleted; state of the execution that wrote last, and when."""

    name: str
    state: str
    nanos: int


def old_runs(connection: Connection, before: int, now: int, name: str | None = None) -> list[OldRun]:
    """Returns the runs (or one) that ended or, if they did not, wrote last before a time, the oldest first.

    A run that may still be written `now` (nanoseconds since 1970, as `before`) is not old.
    """
    ended = func.coalesce(db.EXECUTIONS.c.end_nanos, db.EXECUTIONS.c.update_nanos).label("nanos")
    query = select(db.EXECUTIONS.c.name, db.EXECUTIONS.c.home, db.EXECUTIONS.c.state, ended).order_by(ended)
    if name is not None:
        homes = select(db.EXECUTIONS.c.home).where(db.EXECUTIONS.c.name == name)
        query = query.where(db.EXECUTIONS.c.home.in_(homes))
    rows = connection.execute(query).all()
    newest = {row.home: row for row in rows}
    last = {row.name: newest[row.home] for row in rows if name in (None, row.name)}
    old = [OldRun(run, write.state, write.nanos) for run, write in last.items() if write.nanos < before]
    since = now - stored_runs.RECENT_NANOS
    ended_runs = [run for run in old if not stored_runs.runs_since(connection, run.name, since)]
    return sorted(ended_runs, key=lambda run: (run.nanos, run.name))


def prune(store: db.Store, before: int, now: int) -> list[OldRun]:
    """Deletes old runs, each in one step, and rows that no run has; returns the runs. See `old_runs`."""
    done = []
    for run in store.read(lambda connection: old_runs(connection, before, now)):
        if store.write(partial(_forget, run=run, before=before, now=now)):
            stored_runs.delete_forgotten(store, run.name)
            done.append(run)
    # A deletion that was killed leaves rows that nothing reads.
    for name in sorted(store.read(orphans)):
        stored_runs.delete_forgotten(store, name)
    return done


def _forget(connection: Connection, run: OldRun, before: int, now: int) -> bool:
    """Lets nothing read the rows of a run; returns False if it was written or deleted meanwhile."""
    stored_runs.lock_executions(connection)
    if run not in old_runs(connection, before, now, run.name):
        return False
    stored_runs.forget_run(connection, run.name)
    return True


def find_run(connection: Connection, run: str, app: str) -> list[str]:
    """Returns the names of a run by its id or one of its names, one in each app that it wrote rows of.

    Raises ConfigError if several runs, of an app or ("") any, have that id.
    """
    is_it = or_(db.ends(db.EXECUTIONS.c.name, run), db.EXECUTIONS.c.run_id == db.key_text(run))
    query = select(db.EXECUTIONS.c.home).where(is_it, *([db.EXECUTIONS.c.app == app] if app else []))
    homes = sorted(set(connection.execute(query).scalars()))
    if len(homes) > 1:
        raise ConfigError(f"{len(homes)} runs have the id {run}: give the name of one: {', '.join(homes)}")
    names = select(db.EXECUTIONS.c.name).where(db.EXECUTIONS.c.home.in_(homes)).distinct()
    return sorted(connection.execute(names).scalars())


def delete_run(store: db.Store, names: Sequence[str], now: int) -> None:
    """Deletes a run with all of its rows; raises ConfigError if it may still be written."""

    def forget(connection: Connection) -> None:
        stored_runs.lock_executions(connection)
        for name in names:
            if stored_runs.runs_since(connection, name, now - stored_runs.RECENT_NANOS):
                raise ConfigError(f"{name}: has not ended, and wrote within the last 24 hours")
        for name in names:
            stored_runs.forget_run(connection, name)

    store.write(forget)
    for name in names:
        stored_runs.delete_forgotten(store, name)


def orphans(connection: Connection) -> dict[str, int]:
    """Returns run -> number of rows that belong to no execution of it."""
    counts = Counter[str]()
    for table in db.DELETED_TABLES:
        known = db.EXECUTIONS.c
        is_of_run = known.name == table.c.evaluation_run, known.execution == table.c.execution
        has_none = ~select(known.name).where(*is_of_run).exists()
        query = select(table.c.evaluation_run, func.count()).where(has_none).group_by(table.c.evaluation_run)
        for run, count in connection.execute(query):
            counts[run] += count
    return counts


def count_rows_of(connection: Connection, runs: Sequence[str]) -> dict[str, int]:
    """Returns table -> number of the rows of runs, by name."""
    rows = partial(stored_runs.row_count, connection)
    return {t.name: sum(rows(t, t.c.evaluation_run == run) for run in runs) for t in db.RUN_TABLES}


# Deletes conversations, users and evaluations.

_HOLDING = (db.RESULT_ROWS, db.SCORE_ROWS, db.CONVERSATION_ROWS)
"""Tables whose rows are of a conversation, results first: which ones are its own, its rows say."""
_KEPT_OF_FAILURES = ("run_id", "stage", "error_type", "criterion", "app_version", "turn_index", "replaced")
_PIECE = 500
_WORD = re.compile(r"[\w-]+")


class ConversationKey(NamedTuple):
    """A conversation of an app, as the columns of the store name it."""

    app: str
    conversation_id: str


class Subject(NamedTuple):
    """A conversation or a user: the conversations, sorted, and the texts that name it.

    The texts count where there is no column for that, such as in a record that was not read. `odd` are the
    spellings, in a text and in JSON within it, of those that are no words.
    """

    keys: list[ConversationKey]
    ids: frozenset[str]
    odd: frozenset[str]

    def is_in(self, text: str) -> bool:
        """Returns whether a text names it: by a word, or by what is none in whatever place."""
        return not self.ids.isdisjoint(_WORD.findall(text)) or any(name in text for name in self.odd)


def find_conversation(connection: Connection, name: str, app: str) -> Subject:
    """Returns a conversation by its id, the end of its id behind a `/`, or its name in a run.

    Raises ConfigError if several conversations end so, or several apps have a conversation of that id, and
    none is named ("").
    """
    columns = db.CONVERSATION_ROWS.c.app, db.CONVERSATION_ROWS.c.conversation_id
    if named := connection.execute(select(*columns).where(db.CONVERSATION_ROWS.c.name == name)).first():
        return _subject(connection, [ConversationKey(*named)], [])
    # A result is in the app of its case, so that the rows of conversations say the app, where there are any.
    for tables in ((db.CONVERSATION_ROWS,), _HOLDING):
        keys = []
        for table in tables:
            query = select(table.c.app, table.c.conversation_id).where(db.ends(table.c.conversation_id, name))
            keys += [ConversationKey(*row) for row in connection.execute(query) if app in ("", row.app)]
        if keys:
            break
    ids = _nearest({key.conversation_id for key in keys}, name, "conversations")
    apps = sorted({key.app for key in keys if key.conversation_id in ids})
    if len(apps) > 1:
        many = f"{len(apps)} apps have a conversation {name}"
        raise ConfigError(f"{many}: name one by --app: {', '.join(apps)}")
    return _subject(connection, [ConversationKey(apps[0], id_) for id_ in ids] if apps else [], [name])


def _nearest(ids: set[str], name: str, kind: str) -> list[str]:
    """Returns the id that is a name, else the only one that ends so; raises ConfigError if several do."""
    nearest = sorted({db.key_text(name)} & ids or ids)
    if len(nearest) > 1:
        many = f"{len(nearest)} {kind} are called {name}"
        raise ConfigError(f"{many}: give the id of one: {', '.join(nearest)}")
    return nearest


def find_user(connection: Connection, user: str) -> Subject:
    """Returns a user in all apps, also by its markers in redacted runs; ConfigError: several end so."""
    user_id = db.CONVERSATION_ROWS.c.user_id
    known = connection.execute(select(user_id).where(db.ends(user_id, user)).distinct()).scalars()
    redactors = Redactor(RedactConfig()), Redactor(RedactConfig(paths=("user_id",)))
    redactors[1].learn([{"user_id": user}])
    markers = (redactor.identity(user) for redactor in redactors)
    ids = sorted({user, *markers, *_nearest(set(known), user, "users")})
    columns = db.CONVERSATION_ROWS.c.app, db.CONVERSATION_ROWS.c.conversation_id
    query = select(*columns).where(user_id.in_(map(db.key_text, ids))).distinct()
    return _subject(connection, sorted(ConversationKey(*row) for row in connection.execute(query)), ids)


def _subject(connection: Connection, keys: list[ConversationKey], named: Sequence[str]) -> Subject:
    """Returns a subject with the ids that its conversations have in their logs, which columns may shorten."""
    ids = {*named, *(key.conversation_id for key in keys)}
    for app, names in _pieces(keys):
        held = db.CONVERSATION_ROWS.c
        is_long = func.length(held.conversation_id) >= 200
        query = select(held.content).where(_is_of(db.CONVERSATION_ROWS, app, names), is_long)
        for content in connection.execute(query).scalars():
            ids.add((stored_runs.read_document(content) or {}).get("conversation_id") or "")
    ids.discard("")
    spelt = {json.dumps(name, ensure_ascii=is_ascii)[1:-1] for name in ids for is_ascii in (False, True)}
    odd = (name for name in ids | spelt if not _WORD.fullmatch(name))
    return Subject(keys, frozenset(ids), frozenset(odd))


def _pieces(keys: Sequence[ConversationKey]) -> Iterator[tuple[str, list[str]]]:
    """Yields app and some ids of sorted keys: a statement has a largest number of values."""
    for app, group in groupby(keys, key=lambda key: key.app):
        ids = [key.conversation_id for key in group]
        for start in range(0, len(ids), _PIECE):
            yield app, ids[start : start + _PIECE]


def _is_of(table: Table, app: str, ids: Sequence[str]) -> ColumnElement[bool]:
    of_app = table.c.app == app
    if table is db.RESULT_ROWS:
        # A result is in the app of its case, which may be another one than that of its conversation.
        held = db.CONVERSATION_ROWS.c
        is_same = held.app == table.c.app, held.conversation_id == table.c.conversation_id
        other = select(held.name).where(*is_same)
        of_app = or_(of_app, ~other.exists())
    return and_(table.c.conversation_id.in_(ids), of_app)


def delete_subject(connection: Connection, subject: Subject) -> Counter[str]:
    """Deletes a conversation or a user from all runs; returns table -> number of rows deleted or emptied.

    The failures that name it stay without their record, message and place: they count what was rejected.
    """
    done: Counter[str] = Counter()
    changed: set[str] = set()
    for app, ids in _pieces(subject.keys):
        is_held = {table: _is_of(table, app, ids) for table in _HOLDING}
        stored_runs.note_removed(connection, is_held)
        for table, condition in is_held.items():
            runs = select(table.c.evaluation_run).where(condition).distinct()
            changed.update(connection.execute(runs).scalars())
            done[table.name] += connection.execute(delete(table).where(condition)).rowcount
    for row in connection.execute(select(db.FAILURE_ROWS)).all():
        failure = stored_runs.read_document(row.content)
        values = [row.content] if failure is None else failure.values()
        texts = [value for value in values if type(value) is str]
        if row.conversation_id not in subject.ids and not any(map(subject.is_in, texts)):
            continue
        kept_values = {key: v if key in _KEPT_OF_FAILURES else None for key, v in (failure or {}).items()}
        content = dump_json({**kept_values, "message": "deleted"}).decode()
        is_it = db.FAILURE_ROWS.c.name == row.name, db.FAILURE_ROWS.c.execution == row.execution
        emptied = {"conversation_id": "", "source": "", "content": content}
        connection.execute(update(db.FAILURE_ROWS).where(*is_it).values(emptied))
        done[db.FAILURE_ROWS.name] += 1
    columns = db.EXECUTIONS.c.name, db.EXECUTIONS.c.execution, db.EXECUTIONS.c.content
    # Where no conversation is deleted, what is to be read is of one that stays.
    for name, execution, content in connection.execute(select(*columns)).all() if subject.keys else ():
        document = stored_runs.read_document(content) or {}
        entries = document.get("to_read") or []
        kept = [entry for entry in entries if not subject.is_in(json.dumps(entry, ensure_ascii=False))]
        if len(kept) < len(entries):
            is_it = db.EXECUTIONS.c.name == name, db.EXECUTIONS.c.execution == execution
            shorter = dump_json({**document, "to_read": kept}).decode()
            connection.execute(update(db.EXECUTIONS).where(*is_it).values(content=shorter))
            done["to_read"] += len(entries) - len(kept)
    for run in sorted(changed):
        connection.execute(delete(db.RUN_SUMMARIES).where(db.RUN_SUMMARIES.c.evaluation_run == run))
        # Servers compute the figures of a run anew when its time has changed.
        later = {"update_nanos": db.EXECUTIONS.c.update_nanos + 1}
        connection.execute(update(db.EXECUTIONS).where(db.EXECUTIONS.c.name == run).values(later))
    return +done


def naming(connection: Connection, subject: Subject) -> dict[str, str]:
    """Returns name -> kind of what is not deleted with a subject, though it names it.

    That are evaluations, by any revision. Where no conversation was deleted, they are also the runs that say
    it of one that is to be read.
    """
    rows = connection.execute(select(db.HISTORY.c.evaluation, db.HISTORY.c.content))
    names = {name: "evaluation" for name, content in rows if subject.is_in(content)}
    query = select(db.EXECUTIONS.c.name, db.EXECUTIONS.c.content)
    runs = () if subject.keys else connection.execute(query)
    for name, content in runs:
        entries = (stored_runs.read_document(content) or {}).get("to_read") or []
        if subject.is_in(json.dumps(entries, ensure_ascii=False)):
            names[name] = "run"
    return dict(sorted(names.items()))


def delete_evaluation(connection: Connection, name: str) -> Counter[str]:
    """Deletes an evaluation with its whole history; its results stay. Returns table -> number of rows."""
    keys = (
        (db.TAGS, db.TAGS.c.evaluation),
        (db.EVALUATIONS, db.EVALUATIONS.c.name),
        (db.HISTORY, db.HISTORY.c.evaluation),
    )
    with db.unguarded_history(connection):
        return +Counter({t.name: connection.execute(delete(t).where(c == name)).rowcount for t, c in keys})


def overwrite_deleted(store: db.Store) -> bool:
    """Overwrites what was deleted; PostgreSQL only makes its space free. Raises StoreError.

    Returns whether nothing of it is left in SQLite's files: another process may still read its log.
    """

    def work(connection: Connection) -> bool:
        if not store.is_sqlite:
            connection.exec_driver_sql(f"VACUUM {', '.join(sorted(db.METADATA.tables))}")
            return True
        # Other programs may have deleted rows without `secure_delete`.
        connection.exec_driver_sql("VACUUM")
        return not connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]

    return store.alone(work)


# Says what is wrong with a store.

_COUNTS = ("conversations", "results", "passes", "fails", "no_verdict", "failures")


def problems_of(store: db.Store) -> dict[str, list[str]]:
    """Returns check -> what is wrong, one line each; a check that cannot be made says so."""

    def lines(check: Callable[[Connection], Iterator[str]]) -> list[str]:
        try:
            return store.read(lambda connection: list(check(connection)))
        except (StoreError, ValueError, TypeError, LookupError) as error:
            # Damage can put anything into a row.
            return [f"could not be checked: {error}"]

    checks = {"pages of the file": _pages} if store.is_sqlite else {}
    checks |= {"rows and their runs": _lost_rows, "counts of runs": _counts}
    return {name: lines(check) for name, check in checks.items()}


def _pages(connection: Connection) -> Iterator[str]:
    lines = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
    yield from (str(line) for line in lines if line != "ok")
    for table, _row, parent, _key in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"a row of {table} refers to a row of {parent} that is not there"


def _lost_rows(connection: Connection) -> Iterator[str]:
    for run, count in orphans(connection).items():
        yield f"{run}: {count} rows belong to no execution; turnwise store prune deletes them"
    is_it = db.EXECUTIONS.c.name == db.CURRENT.c.name, db.EXECUTIONS.c.execution == db.CURRENT.c.execution
    rejected = select(db.CURRENT.c.name).where(~select(db.EXECUTIONS.c.name).where(*is_it).exists())
    for name in connection.execute(rejected).scalars():
        yield f"{name}: the execution that is read is not there"


def _counts(connection: Connection) -> Iterator[str]:
    """Yields which complete executions have other numbers of rows than they counted at their end."""
    complete = select(db.EXECUTIONS).where(db.EXECUTIONS.c.state == COMPLETED)
    for row in connection.execute(complete).mappings().all():
        if (document := stored_runs.read_document(row["content"])) is None:
            yield f"{row['name']}: its run.json cannot be read"
            continue
        there = stored_runs.count_rows(connection, row["name"], row["execution"])
        for name in (*_COUNTS, "rejected"):
            total = there[name] + document.get(stored_runs.REMOVED, {}).get(name, 0)
            if row[name] != total:
                yield f"{row['name']}: counted {row[name]} {name}, but {total} are there or were deleted"


# Lists the runs of a store for a person.


class ListedRun(NamedTuple):
    """A run of an app as `evaluation_runs` has it; the cost of the judge is that over all apps."""

    name: str
    app: str
    run_id: str
    state: str
    day: str | None
    update_time: str
    app_versions: list[str]
    conversations: int
    results: int
    passes: int
    fails: int
    no_verdict: int
    failures: int
    rejected: int
    cost: float | None
    exit_status: int | None
    error: str | None


def listed_runs(connection: Connection, app: str) -> list[ListedRun]:
    """Returns runs by app, the newest first, of one app or ("") all; raises ConfigError: it is unknown."""
    query = select(db.RUNS).order_by(db.RUNS.c.app, db.RUNS.c.create_nanos.desc(), db.RUNS.c.name)
    query = query.where(db.RUNS.c.app == app) if app else query
    stated = ("name", "app", "run_id", "state", "day", "cost", "exit_status", "error")
    rows, listed = connection.execute(query).mappings().all(), []
    if app and not rows and (problem := stored_runs.unknown_app(connection, app)):
        raise ConfigError(f"--app: {problem}")
    for app_name, of_app in groupby(rows, lambda row: row["app"]):
        for row, counts, rejected in stored_runs.counts_of_runs(connection, app_name, list(of_app)):
            run = ListedRun(
                **{name: row[name] for name in stated},
                **{name: counts[name] for name in _COUNTS},
                rejected=rejected,
                update_time=nanos_timestamp(row["update_nanos"]),
                app_versions=json.loads(counts["app_versions"]),
            )
            listed.append(run)
    return listed


def back_up(store: db.Store, path: str) -> int:
    """Writes a copy of a store as it is at one time; the file is there when it is whole and was checked.

    Returns its size in bytes. Raises ConfigError for a wrong path, StoreError if there is no sound copy.
    """
    if Path(path).exists():
        raise ConfigError(f"{path}: exists already")
    if not Path(path).absolute().parent.is_dir():
        raise ConfigError(f"{path}: no such directory")
    partial = Path(f"{path}.part")
    partial.unlink(missing_ok=True)
    try:
        store.read(lambda connection: _copy(connection, partial))
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        # Unlike a renaming, a link does not replace what another process made meanwhile.
        os.link(partial, path)
    except FileExistsError:
        raise ConfigError(f"{path}: exists already") from None
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return Path(path).stat().st_size


def _copy(connection: Connection, partial: Path) -> None:
    source = connection.connection.driver_connection
    assert isinstance(source, sqlite3.Connection)
    with closing(sqlite3.connect(partial)) as target:
        # All pages in one step: they are of one time, whatever is written meanwhile.
        source.backup(target)
        # A copy in one file, without those of the write-ahead log.
        target.execute("PRAGMA journal_mode = DELETE")
        report = target.execute("PRAGMA integrity_check").fetchone()[0]
    if report != "ok":
        raise StoreError(f"the copy is damaged: {report}")
