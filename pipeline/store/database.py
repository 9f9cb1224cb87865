"""A store: its tables and views, how it is opened, made and written, and the names of its rows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from random import uniform
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Column, Connection, Engine, Table, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError

from turnwise.pipeline.store.urls import StoreError, driver_url
from turnwise.schemas.ces.names import UNASSIGNED, app_in, evaluation_id, id_of, is_name
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, shown_url
from turnwise.schemas.rows import ConversationRow, FailureRow, ResultRow, ScoreRow, added_columns, columns

METADATA = sa.MetaData()
# An index entry of PostgreSQL holds 2,700 bytes.
_LONGEST_KEY = 200


def _table(
    name: str,
    *,
    texts: str,
    numbers: str = "execution update_nanos",
    fractions: str = "",
    key: str = "name execution",
    optional: str = "",
    required: str = "",
    indexes: str = "",
    of: tuple[str, Sequence[str]] = ("scores", ()),
) -> Table:
    """Returns a table of columns in the order of `texts`, `numbers` and `fractions`; `optional` may be null.

    `indexes` holds the ends of names and the columns, `of` a table of runs and those of its columns that are
    added, null where they may be and are not `required`. Most tables hold what executions of runs wrote.
    """
    added = [column for column in columns(of[0]) if column.name in of[1]]
    kinds: dict[str, Any] = {}
    for given, kind, kind_of_row in (
        (texts, sa.Text, "string"),
        (numbers, sa.BigInteger, "long"),
        (fractions, sa.DOUBLE_PRECISION, "double"),
    ):
        kinds |= dict.fromkeys(given.split(), kind)
        kinds |= {column.name: kind for column in added if column.kind == kind_of_row}
    nullable = {*optional.split(), *(column.name for column in added if column.is_nullable)}
    nullable -= {*required.split()}
    made: list[Column[Any]] = [
        Column(column, kind, primary_key=column in key.split(), nullable=column in nullable)
        for column, kind in kinds.items()
    ]
    parts = (index.split() for index in indexes.split(";") if index)
    return Table(name, METADATA, *made, *(sa.Index(f"{name}_{end}", *names) for end, *names in parts))


def _names(table: str, other: str) -> tuple[str, ...]:
    """Returns the columns of a table of runs that hold a text or a number, and are no `other` ones.

    Those that were added are left out, so that a store goes on to take the rows of a turnwise that adds some.
    """
    plain = (column for column in columns(table) if not (column.is_json or column.is_list or column.added))
    return tuple(column.name for column in plain if column.name not in other.split())


SCORE_COLUMNS = _names("scores", "run_id app_version revision")
"""Columns of a score row that columns of the store hold; the store keeps the others as JSON."""

ADDED = added_columns("scores")
"""Columns that scores of earlier runs may lack, with their values there."""

METRIC_COLUMNS = _names(
    "metrics_by_app_version",
    "run_id app_version sampled_out voted flipped flip_rate window_start window_end pane revision",
)
"""Columns of the metrics of an app version that the store keeps."""

EVALUATIONS = _table(
    "evaluations",
    texts="name app display_name etag created_by last_updated_by content",
    numbers="revision create_nanos update_nanos",
    key="name",
    indexes="by_update app update_nanos name; by_name app name",
)
EVALUATIONS.append_constraint(sa.UniqueConstraint("app", "display_name", name="evaluations_by_display_name"))
"""Evaluations. `content` holds the fields that users write, as JSON; times are nanoseconds since 1970."""

TAGS = _table("evaluation_tags", texts="evaluation tag", numbers="", key="evaluation tag")
TAGS.append_constraint(sa.ForeignKeyConstraint(["evaluation"], ["evaluations.name"]))

HISTORY = _table(
    "evaluation_history",
    texts="evaluation etag actor update_mask content",
    numbers="revision nanos is_deletion",
    key="evaluation revision",
    optional="update_mask is_deletion",
)
"""All revisions of all evaluations. Append-only, enforced by triggers."""

EXECUTIONS = _table(
    "run_executions",
    texts="name home app run_id state error day config_digest judge judge_model criteria app_versions "
    "content",
    numbers="execution create_nanos update_nanos end_nanos conversations results passes fails no_verdict "
    "failures rejected exit_status",
    fractions="cost",
    optional="error day config_digest judge judge_model criteria app_versions end_nanos conversations "
    "results passes fails no_verdict failures rejected exit_status cost content",
    indexes="by_update app update_nanos name; by_start app create_nanos name; by_home home execution",
)
"""Executions of runs, one row an app. `home` is the name of the run in its default app.

`content` holds `run.json`, before the end as much of it as is known. Null: not known.
"""

CURRENT = _table("current_runs", texts="name", numbers="execution", key="name")
"""The execution of each run that is read."""

RESULT_ROWS = _table(
    "result_rows",
    texts="name app evaluation display_name app_version version_id app_version_display_name "
    "evaluation_status execution_state evaluation_run initiated_by conversation_id evaluation_etag "
    "case_digest parts content",
    numbers="execution create_nanos update_nanos",
    optional="evaluation_etag case_digest",
    indexes="by_creation evaluation create_nanos name; by_update evaluation update_nanos name; "
    "of_app_by_update app update_nanos name; of_app_by_name app name; "
    "of_evaluation_by_name evaluation name; "
    "by_version app version_id evaluation evaluation_status; by_evaluation app evaluation; "
    "by_run evaluation_run execution version_id evaluation_status; "
    "by_conversation_id conversation_id",
)
"""Results of all executions. `parts` holds the contribution to AggregatedMetrics.

`evaluation_etag` and `case_digest` say what the result was scored against; null: not known.
"""

FAILURE_ROWS = _table(
    "failure_rows",
    texts="name app evaluation_run stage error_type conversation_id app_version criterion source content",
    indexes="by_update app update_nanos name; of_app_by_name app name; "
    "by_conversation app conversation_id; by_run evaluation_run execution stage criterion",
)
"""Failures of reading, parsing, matching and scoring, of all executions."""

CONVERSATION_ROWS = _table(
    "conversation_rows",
    texts="name app evaluation_run conversation_id eval_id version_id verdict severity_reason "
    "problem_type why event_time case_digest user_id content",
    fractions="severity_score",
    indexes="by_update app update_nanos; by_conversation app conversation_id; "
    "by_run evaluation_run execution severity_score; by_user user_id",
)
"""Conversations of all executions. `content` holds the row, with the transcript; "": null.

`case_digest` and `user_id` are "" where the log states none.
"""

SCORE_ROWS = _table(
    "score_rows",
    texts="name app evaluation_run conversation version_id day content",
    required="eval_id",
    of=("scores", SCORE_COLUMNS),
    indexes="by_conversation conversation execution; "
    "by_run evaluation_run execution criterion version_id; by_day app criterion version_id day; "
    "by_conversation_id conversation_id",
)
"""Scores of conversations (`conversation`: its name) of all executions.

`content` holds the columns of a score row that have none here, as JSON.
"""

METRIC_ROWS = _table(
    "metric_rows",
    texts="name app evaluation_run version_id day",
    numbers="execution turn_index update_nanos",
    optional="turn_index conversations turns",
    of=("metrics_by_app_version", METRIC_COLUMNS),
    indexes="by_run evaluation_run execution; by_criterion app criterion version_id day",
)
"""Metrics of all executions: of an app version (`turn_index` null), and of its turns."""

_BY_RUN = "by_run evaluation_run execution"
RUN_SUMMARIES = _table("run_summaries", texts="name app evaluation_run content", indexes=_BY_RUN)
"""What comparisons and figures read of runs that count; see `turnwise.pipeline.store.summaries`.

Two rows a run, its columns and their details. They are in force while `update_nanos` is that of the run.
"""

RUN_TABLES = (RESULT_ROWS, CONVERSATION_ROWS, SCORE_ROWS, FAILURE_ROWS, METRIC_ROWS)
"""Tables whose rows belong to an execution of a run."""

DELETED_TABLES = (*RUN_TABLES, RUN_SUMMARIES)
"""Tables from which an execution of a run is deleted."""

VIEWS = sa.MetaData()


def _view(name: str, table: Table, *more: Column[Any]) -> Table:
    return Table(name, VIEWS, *(Column(column.name, column.type) for column in table.c), *more)


_REPEAT = Column("repeat_state", sa.Text), Column("repeat_nanos", sa.BigInteger)
RUNS = _view("evaluation_runs", EXECUTIONS, *_REPEAT)
"""The runs that are read; of a run that is repeated, the execution that was completed last.

`repeat_state` and `repeat_nanos` (its last write) are those of a later execution; null: there is none.
"""

RESULTS = _view("results", RESULT_ROWS, Column("evaluation_revision", sa.BigInteger))
FAILURES = _view("failures", FAILURE_ROWS)
CONVERSATIONS = _view("conversations", CONVERSATION_ROWS)
SCORES = _view("scores", SCORE_ROWS)
METRICS = _view("run_metrics", METRIC_ROWS)
"""Rows of these runs, as all views above."""

_OF_RUN = "c.name = r.evaluation_run AND c.execution = r.execution"
_IS_CURRENT = f"EXISTS (SELECT 1 FROM current_runs c WHERE {_OF_RUN})"
_OF_ETAG = "h.evaluation = r.evaluation AND h.etag = r.evaluation_etag"
_REVISION = f"(SELECT h.revision FROM evaluation_history h WHERE {_OF_ETAG})"
_LATER = (
    "(SELECT e.{} FROM run_executions e WHERE e.home = r.home AND e.execution > r.execution "
    "ORDER BY e.execution DESC LIMIT 1)"
)
_ENDED = "SELECT name FROM evaluation_runs WHERE state = 'COMPLETED'"
_SCORES = "name, app, evaluation_run, conversation, version_id, day, update_nanos, " + ", ".join(
    name for name in SCORE_COLUMNS if name != "score_id"
)
_RESULTS = (
    "name, app, evaluation_run, evaluation, evaluation_revision, conversation_id, app_version, version_id, "
    "evaluation_status, execution_state, case_digest, create_nanos, update_nanos, content"
)
_METRICS = (
    "m.app, m.evaluation_run, r.run_id, r.state, r.config_digest, r.judge, r.judge_model, r.create_nanos, "
    "r.end_nanos, m.day, m.version_id, " + ", ".join(f"m.{name}" for name in METRIC_COLUMNS)
)


def _latest(table: str, columns: str, key: str) -> str:
    """Returns the query for the rows of each key that the run wrote which wrote its newest one."""
    last = f"first_value(evaluation_run) OVER (PARTITION BY {key} ORDER BY update_nanos DESC, name DESC)"
    rows = f"SELECT {columns}, {last} AS last_run FROM {table} WHERE evaluation_run IN ({_ENDED})"
    return f"SELECT {columns} FROM ({rows}) own WHERE evaluation_run = last_run"


_VIEWS = {
    RUNS.name: f"SELECT r.*, {_LATER.format('state')} AS repeat_state, {_LATER.format('update_nanos')} AS "
    "repeat_nanos FROM run_executions r WHERE EXISTS "
    "(SELECT 1 FROM current_runs c WHERE c.name = r.name AND c.execution = r.execution)",
    RESULTS.name: f"SELECT r.*, {_REVISION} AS evaluation_revision FROM result_rows r WHERE {_IS_CURRENT}",
    FAILURES.name: f"SELECT r.* FROM failure_rows r WHERE {_IS_CURRENT}",
    CONVERSATIONS.name: f"SELECT r.* FROM conversation_rows r WHERE {_IS_CURRENT}",
    SCORES.name: f"SELECT r.* FROM score_rows r WHERE {_IS_CURRENT}",
    METRICS.name: f"SELECT r.* FROM metric_rows r WHERE {_IS_CURRENT}",
    "latest_scores": _latest("scores", _SCORES, "app, conversation_id, eval_id, version_id, criterion"),
    "latest_results": _latest("results", _RESULTS, "app, evaluation, conversation_id, version_id"),
    "metrics_by_app_version": f"SELECT {_METRICS} FROM run_metrics m JOIN evaluation_runs r "
    "ON r.name = m.evaluation_run WHERE m.turn_index IS NULL AND r.state = 'COMPLETED'",
}
_APPEND_ONLY = "'the history is append-only'"
_GUARDS = {
    "sqlite": (
        f"CREATE TRIGGER evaluation_history_update BEFORE UPDATE ON evaluation_history "
        f"BEGIN SELECT RAISE(ABORT, {_APPEND_ONLY}); END",
        f"CREATE TRIGGER evaluation_history_delete BEFORE DELETE ON evaluation_history "
        f"BEGIN SELECT RAISE(ABORT, {_APPEND_ONLY}); END",
        # SQLite's INSERT OR REPLACE removes a row without running the DELETE triggers.
        "CREATE TRIGGER evaluation_history_insert BEFORE INSERT ON evaluation_history "
        "WHEN EXISTS (SELECT 1 FROM evaluation_history WHERE rowid = NEW.rowid "
        "OR evaluation = NEW.evaluation AND revision = NEW.revision) "
        f"BEGIN SELECT RAISE(ABORT, {_APPEND_ONLY}); END",
    ),
    "postgresql": (
        "CREATE FUNCTION evaluation_history_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION {_APPEND_ONLY}; END $$",
        "CREATE TRIGGER evaluation_history_refuse BEFORE UPDATE OR DELETE OR TRUNCATE ON evaluation_history "
        "FOR EACH STATEMENT EXECUTE FUNCTION evaluation_history_refuse()",
    ),
}

_TABLES = [[f"{c} {c.type} {c.nullable} {c.primary_key}" for c in t.c] for t in METADATA.sorted_tables]
_INDEXES = sorted(f"{i.name} {i.columns.keys()}" for t in METADATA.sorted_tables for i in t.indexes)
SCHEMA_VERSION = int(sha256(repr((_TABLES, _INDEXES, _VIEWS, _GUARDS)).encode()).hexdigest()[:7], 16)
"""Follows from tables, views and triggers: a store that has others is refused."""
_VERSIONS = "turnwise_store_version"
_DATABASE_LOCK = 7_210_436_119


def stored_version(connection: Connection) -> int:
    """Returns the version of the tables of a store; 0: it is empty."""
    if not sa.inspect(connection).has_table(_VERSIONS):
        return 0
    return int(connection.execute(text(f"SELECT max(version) FROM {_VERSIONS}")).scalar() or 0)


def create_tables(connection: Connection) -> None:
    """Makes the tables, views and triggers of an empty store, once if several ask at the same time."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _DATABASE_LOCK})
    if stored_version(connection):
        return
    # A table of another program that has the name of one of ours is an error.
    METADATA.create_all(connection, checkfirst=False)
    for name, query in _VIEWS.items():
        connection.exec_driver_sql(f"CREATE VIEW {name} AS {query}")
    for guard in _GUARDS[connection.dialect.name]:
        connection.exec_driver_sql(guard)
    connection.exec_driver_sql(f"CREATE TABLE {_VERSIONS} (version INTEGER NOT NULL PRIMARY KEY)")
    connection.execute(text(f"INSERT INTO {_VERSIONS} VALUES (:version)"), {"version": SCHEMA_VERSION})


@contextmanager
def unguarded_history(connection: Connection) -> Iterator[None]:
    """Lets a transaction delete from the history; nobody else can meanwhile, because the table is locked."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE evaluation_history DISABLE TRIGGER USER")
        yield
        connection.exec_driver_sql("ALTER TABLE evaluation_history ENABLE TRIGGER USER")
        return
    for event in ("update", "delete", "insert"):
        connection.exec_driver_sql(f"DROP TRIGGER evaluation_history_{event}")
    yield
    for guard in _GUARDS["sqlite"]:
        connection.exec_driver_sql(guard)


def key_nanos(nanos: int) -> int:
    """Returns a time limited to 64 bits: the years 1678 to 2261."""
    return max(-(2**63), min(nanos, 2**63 - 1))


def key_text(value: str) -> str:
    """Returns a text for an indexed column: without NUL, at most 200 characters."""
    clean = plain_text(value)
    if len(clean) <= _LONGEST_KEY:
        return clean
    return f"{clean[: _LONGEST_KEY - 33]}~{sha256(clean.encode()).hexdigest()[:32]}"


def plain_text(value: str) -> str:
    """Returns a text that every database takes: without NUL and lone surrogates."""
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def ends(column: sa.ColumnElement[str], name: str) -> sa.ColumnElement[bool]:
    """Returns that a text is a name, or a resource name that ends so: in SQLite, LIKE would ignore case."""
    end = f"/{key_text(name)}"
    start = sa.func.length(column) - len(end) + 1
    return sa.or_(column == key_text(name), sa.and_(start > 0, sa.func.substr(column, start) == end))


def upsert(connection: Connection, table: Table, rows: Sequence[JsonObject]) -> None:
    """Inserts rows or replaces those of the same key; the last of several with one name counts."""
    by_name = {row["name"]: row for row in rows}
    if not by_name:
        return
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table)
    changed = {column.name: statement.excluded[column.name] for column in table.c if not column.primary_key}
    # A fixed order prevents deadlocks between writers.
    in_order = [by_name[name] for name in sorted(by_name)]
    keys = [column.name for column in table.primary_key]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), in_order)


def insert_new(connection: Connection, table: Table, rows: Sequence[JsonObject]) -> None:
    """Inserts the rows whose key is not there yet."""
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(table).on_conflict_do_nothing(), rows)


# Opens stores (SQLite files and PostgreSQL databases), and other PostgreSQL databases for reading.

T = TypeVar("T")

READERS, WRITERS = 8, 4
"""Numbers of requests of a process that can read from, and write to, a store at once."""

# One more connection says whether the store answers.
_CONNECTIONS = READERS + WRITERS + 1

_READS: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
"""Options of an engine whose transactions read one state of a PostgreSQL database."""
_LOCK_SECONDS = 60
_LONGEST_PAUSE = 0.2
_PASSING = ("40001", "40P01", "55P03")


class ConflictError(StoreError):
    """A unique name is already in use."""


class Store:
    """A store, safe for concurrent use by threads and processes; its `url` has no password."""

    def __init__(self, engine: Engine, url: str, read_only: bool) -> None:
        self.url = url
        self.read_only = read_only
        self._writer = engine.execution_options(turnwise_writes=True)
        self._reader = engine
        # Threads that wait for SQLite's lock poll with sleeps; a Lock wakes them in turn.
        self.is_sqlite = engine.dialect.name == "sqlite"
        self._turn: AbstractContextManager[Any] = Lock() if self.is_sqlite else nullcontext()
        if engine.dialect.name == "postgresql":
            self._reader = engine.execution_options(**_READS)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a read transaction and returns its result; raises StoreError."""
        return self._run(self._reader, work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a write transaction, repeated after conflicts; raises StoreError."""
        self._check_writable()
        with self._turn:
            return self._run(self._writer, work)

    def alone(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` outside of a transaction; raises StoreError, also if the store is open read-only."""
        self._check_writable()
        options: dict[str, Any] = {"turnwise_alone": True}
        if self._writer.dialect.name == "postgresql":
            options["isolation_level"] = "AUTOCOMMIT"
        return self._run(self._writer.execution_options(**options), work)

    def _check_writable(self) -> None:
        if self.read_only:
            raise StoreError(f"the store {self.url}: is open read-only")

    def undone(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a write transaction that is undone and returns its result."""
        return self._run(self._writer, work, undo=True)

    def close(self) -> None:
        """Closes all connections; a SQLite file then holds all that no reader keeps in its log."""
        if self.is_sqlite and not self.read_only:
            # What is in the log is moved into the file, without waiting for others; the rest stays in it.
            with suppress(StoreError):
                self.alone(lambda connection: connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)"))
        self._writer.dispose()

    def _run(self, engine: Engine, work: Callable[[Connection], T], undo: bool = False) -> T:
        deadline = monotonic() + _LOCK_SECONDS
        with _one_line_errors(f"the store {self.url}"):
            while True:
                try:
                    with engine.connect() as connection, connection.begin() as transaction:
                        result = work(connection)
                        if undo:
                            transaction.rollback()
                        return result
                except DBAPIError as error:
                    state = getattr(error.orig, "sqlstate", None)
                    may_pass = state in _PASSING or "database is locked" in str(error.orig)
                    if not may_pass or monotonic() > deadline:
                        raise
                    sleep(uniform(0, _LONGEST_PAUSE))


@contextmanager
def _one_line_errors(what: str) -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        cause = error.orig if isinstance(error, DBAPIError) else None
        lines = str(cause or type(error).__name__).strip().splitlines() or [type(cause).__name__]
        kind = ConflictError if isinstance(error, IntegrityError) else StoreError
        raise kind(f"{what}: {lines[0]}") from None
    except UnicodeError as error:
        raise StoreError(f"{what}: {' '.join(str(error).split())}") from None


def open_store(url: str, *, create: bool = False, read_only: bool = False) -> Store:
    """Opens a store, and makes its tables if it is empty.

    Raises ConfigError for a wrong URL, a file or driver that is not there, and tables of another version of
    turnwise; StoreError if the store does not answer, or (read-only) is empty.
    """
    shown = shown_url(url)
    with _url_errors(shown):
        address = sa.make_url(driver_url(url))
        if address.get_backend_name() == "sqlite":
            path, may_create = address.database, create and not read_only
            if address.query or address.host:
                raise ConfigError(f"sqlite:///{path}: must name a file, without host or parameters")
            if not path or path == ":memory:" or path.startswith("file:"):
                raise ConfigError("a store in memory would be lost: name a file (sqlite:///FILE)")
            if not Path(path).is_file() and not (may_create and Path(path).absolute().parent.is_dir()):
                what = "no such directory" if may_create else "no such store"
                raise ConfigError(f"sqlite:///{path}: {what}")
        engine = _engine(address, read_only)
    store = Store(engine, shown, read_only)
    if not read_only and not store.read(stored_version):
        store.write(create_tables)
    if not (version := store.read(stored_version)):
        raise StoreError("the store is empty; run turnwise serve to create its tables")
    if version != SCHEMA_VERSION:
        store.close()
        raise ConfigError(
            f"the store {shown} has tables of version {version}, and this turnwise uses {SCHEMA_VERSION}: "
            "read it with the turnwise that wrote it, or score the logs again into a new store"
        )
    return store


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """Opens the database of a URL for reading: all that is read is of one time.

    Raises ConfigError for a wrong URL or a missing driver, StoreError if the database does not answer.
    """
    shown = shown_url(url)
    with _url_errors(shown):
        engine = _engine(sa.make_url(driver_url(url)), read_only=True)
    reader = engine.execution_options(**_READS)
    try:
        with _one_line_errors(f"the database {shown}"), reader.begin() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def _url_errors(shown: str) -> Iterator[None]:
    try:
        yield
    except ConfigError:
        raise
    except (ArgumentError, ValueError):
        raise ConfigError(f"{shown}: is no URL of a store (sqlite:///FILE, postgresql://...)") from None
    except ImportError:
        raise ConfigError(f"{shown}: the driver is missing: pip install turnwise[postgres]") from None


def _engine(address: sa.URL, read_only: bool) -> Engine:
    is_sqlite = address.get_backend_name() == "sqlite"
    waits = {"timeout": _LOCK_SECONDS} if is_sqlite else {"connect_timeout": _LOCK_SECONDS // 4}
    engine = sa.create_engine(
        address,
        pool_size=_CONNECTIONS,
        max_overflow=0,
        hide_parameters=True,
        pool_pre_ping=not is_sqlite,
        connect_args=waits,
    )
    if is_sqlite:

        @sa.event.listens_for(engine, "connect")
        def connect(connection: Any, _: object) -> None:
            # The driver would begin its transactions too late and without a lock.
            connection.isolation_level = None
            connection.execute("PRAGMA foreign_keys = ON")
            # What is deleted is overwritten.
            connection.execute("PRAGMA secure_delete = ON")
            if read_only:
                connection.execute("PRAGMA query_only = ON")
            elif connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")

        @sa.event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            options = connection.get_execution_options()
            if not options.get("turnwise_alone"):
                connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("turnwise_writes") else "BEGIN")

    return engine


_LOCK = Lock()
_OPEN: dict[tuple[str, bool], Store] = {}


def shared_store(url: str, *, read_only: bool = False) -> Store:
    """Returns the store of a URL, shared by all steps in this process. Raises ConfigError or StoreError."""
    with _LOCK:
        if (url, read_only) not in _OPEN:
            _OPEN[url, read_only] = open_store(url, create=True, read_only=read_only)
        return _OPEN[url, read_only]


def close_shared_stores() -> None:
    """Closes the stores that are shared in this process, before a fork and at the end of a run."""
    with _LOCK:
        for store in _OPEN.values():
            store.close()
        _OPEN.clear()


def try_store(option: str, url: str, *, read_only: bool = False) -> Store:
    """Opens a store before a run starts; raises ConfigError if that fails."""
    try:
        return open_store(url, create=True, read_only=read_only)
    except (ConfigError, StoreError) as error:
        raise ConfigError(f"{option}: {error}") from None


# Builds full resource names from the short names of a run.

LOCAL_APP = "projects/local/locations/local/apps/default"
"""Default app of results and failures that name none."""


def run_name(app: str, run_id: str) -> str:
    """Returns the name of a run."""
    return f"{app}/evaluationRuns/{id_of(run_id)}"


def evaluation_name(app: str, eval_id: str | None, eval_set_id: str | None = None) -> str:
    """Returns the name of an evaluation: its id if that is a full name, otherwise a name in the app."""
    if eval_id is None:
        return f"{app}/evaluations/{UNASSIGNED}"
    if is_name("evaluation", eval_id):
        return eval_id
    return f"{app}/evaluations/{id_of(evaluation_id(eval_id, eval_set_id))}"


def app_of_row(row: ResultRow | FailureRow | ConversationRow | ScoreRow, default: str) -> str:
    """Returns the app that a row's eval case, conversation or app version names, otherwise the default."""
    case = row.get("eval_id")
    names = case if isinstance(case, str) else None, row["conversation_id"], row["app_version"]
    return app_in(*names) or default


def marked(name: str, *texts: str) -> str:
    """Returns a name with a digest of other texts as suffix."""
    text = "\0".join(texts).encode("utf-8", "replace")
    return f"{name}-{sha256(text).hexdigest()[:16]}"


def full_result(row: ResultRow, app: str) -> JsonObject:
    """Returns the EvaluationResult of a row with full names of the result and its run.

    The name and the display name differ from those of results of the same conversation and case in other runs
    and app versions. The row is not changed; the app counts if case, conversation and app version name none.
    """
    result = row["result"]
    app = app_of_row(row, app)
    parent = evaluation_name(app, row["eval_id"], row["eval_set_id"])
    run = ""
    if "evaluationRun" in result:
        own_app = parent.partition("/evaluations/")[0]
        run = run_name(own_app, result["evaluationRun"].removeprefix("evaluationRuns/"))
        result = {**result, "evaluationRun": run}
    short, version = result["name"].rsplit("/", 1)[-1], result.get("appVersion", "")
    result = {**result, "name": marked(f"{parent}/results/{short}", run, version)}
    scored = [text.rsplit("/", 1)[-1] for text in (run, version) if text]
    if scored and "displayName" in result:
        display, end = result["displayName"], f" - {row['conversation_id']}"
        # A file names the version alone, before the conversation.
        if display.endswith(f" ({scored[-1]}){end}"):
            display = display.removesuffix(f" ({scored[-1]}){end}") + end
        result["displayName"] = f"{display} ({', '.join(scored)})"
    return result
