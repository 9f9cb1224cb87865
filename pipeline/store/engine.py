"""Opens stores (SQLite files and PostgreSQL databases), and other PostgreSQL databases for reading."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from random import uniform
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError

from turnwise.pipeline.store.database import SCHEMA_VERSION, create_tables, stored_version
from turnwise.pipeline.store.urls import StoreError, driver_url
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import shown_url

T = TypeVar("T")

READERS, WRITERS = 8, 4
"""Numbers of requests of a process that can read from, and write to, a store at once."""

# One more connection says whether the store answers.
_CONNECTIONS = READERS + WRITERS + 1

_LOCK_SECONDS = 60
_LONGEST_PAUSE = 0.2
_PASSING = ("40001", "40P01", "55P03")


class ConflictError(StoreError):
    """A unique name is already in use."""


class Store:
    """A store, safe for concurrent use by threads and processes.

    Attributes:
        url: URL without the password.
        is_sqlite: Whether it is a SQLite file.
        read_only: Whether writing is refused.
    """

    def __init__(self, engine: Engine, url: str, read_only: bool) -> None:
        self.url = url
        self.read_only = read_only
        self._writer = engine.execution_options(turnwise_writes=True)
        self._reader = engine
        # Threads that wait for SQLite's lock poll with sleeps; a Lock wakes them in turn.
        self.is_sqlite = engine.dialect.name == "sqlite"
        self._turn: AbstractContextManager[Any] = Lock() if self.is_sqlite else nullcontext()
        if engine.dialect.name == "postgresql":
            self._reader = _reader(engine)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a read transaction and returns its result; raises StoreError."""
        return self._run(self._reader, work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a write transaction, repeated after conflicts.

        Raises:
            StoreError: The store is read-only, or does not answer.
        """
        if self.read_only:
            raise StoreError(f"the store {self.url}: is open read-only")
        with self._turn:
            return self._run(self._writer, work)

    def alone(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` outside of a transaction and returns its result.

        Raises:
            StoreError: The store is read-only, or does not answer.
        """
        if self.read_only:
            raise StoreError(f"the store {self.url}: is open read-only")
        options: dict[str, Any] = {"turnwise_alone": True}
        if self._writer.dialect.name == "postgresql":
            options["isolation_level"] = "AUTOCOMMIT"
        return self._run(self._writer.execution_options(**options), work)

    def undone(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a write transaction that is undone and returns its result; raises StoreError."""

        def undoing(connection: Connection) -> T:
            with connection.begin_nested() as transaction:
                result = work(connection)
                transaction.rollback()
            return result

        return self._run(self._writer, undoing)

    def close(self) -> None:
        """Closes all connections; a SQLite file then holds all that no reader keeps in its log."""
        if self.is_sqlite and not self.read_only:
            with suppress(StoreError):  # what cannot be moved stays in the -wal file
                self.alone(_move_log)
        self._writer.dispose()

    def _run(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        deadline = monotonic() + _LOCK_SECONDS
        with _one_line_errors(f"the store {self.url}"):
            while True:
                try:
                    with engine.begin() as connection:
                        return work(connection)
                except DBAPIError as error:
                    if not _passes(error) or monotonic() > deadline:
                        raise
                    sleep(uniform(0, _LONGEST_PAUSE))


def _move_log(connection: Connection) -> None:
    """Moves what is in the write-ahead log into the file, without waiting for others."""
    connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")


def _passes(error: DBAPIError) -> bool:
    """Returns whether a repeated attempt may succeed."""
    return getattr(error.orig, "sqlstate", None) in _PASSING or "database is locked" in str(error.orig)


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

    Args:
        url: `sqlite:///FILE` or `postgresql://...`.
        create: Create a SQLite file that does not exist.
        read_only: Change nothing, not even the tables.

    Raises:
        ConfigError: The URL is wrong, the file does not exist, the driver is not installed, or the tables are
            those of another version of turnwise.
        StoreError: The store does not answer, or (read-only) is empty.
    """
    shown = shown_url(url)
    with _url_errors(shown):
        address = make_url(driver_url(url))
        if address.get_backend_name() == "sqlite":
            _check_file(address, create and not read_only)
        engine = _engine(address, read_only)
    store = Store(engine, shown, read_only)
    if not read_only and not store.read(stored_version):
        store.write(create_tables)
    version = store.read(stored_version)
    if not version:
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

    Raises:
        ConfigError: The URL is wrong, or the driver is not installed.
        StoreError: The database does not answer.
    """
    shown = shown_url(url)
    with _url_errors(shown):
        engine = _engine(make_url(driver_url(url)), read_only=True)
    try:
        with _one_line_errors(f"the database {shown}"), _reader(engine).begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _reader(engine: Engine) -> Engine:
    """Returns an engine whose transactions read one state of a PostgreSQL database."""
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


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


def _check_file(address: URL, create: bool) -> None:
    path = address.database
    if address.query or address.host:
        raise ConfigError(f"sqlite:///{path}: must name a file, without host or parameters")
    if not path or path == ":memory:" or path.startswith("file:"):
        raise ConfigError("a store in memory would be lost: name a file (sqlite:///FILE)")
    if not Path(path).is_file() and not (create and Path(path).absolute().parent.is_dir()):
        what = "no such directory" if create else "no such store"
        raise ConfigError(f"sqlite:///{path}: {what}")


def _engine(address: URL, read_only: bool) -> Engine:
    if address.get_backend_name() == "sqlite":
        engine = create_engine(
            address,
            pool_size=_CONNECTIONS,
            max_overflow=0,
            hide_parameters=True,
            connect_args={"timeout": _LOCK_SECONDS},
        )
        _set_up_sqlite(engine, read_only)
        return engine
    return create_engine(
        address,
        pool_size=_CONNECTIONS,
        max_overflow=0,
        hide_parameters=True,
        pool_pre_ping=True,
        connect_args={"connect_timeout": _LOCK_SECONDS // 4},
    )


def _set_up_sqlite(engine: Engine, read_only: bool) -> None:
    @event.listens_for(engine, "connect")
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

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if not options.get("turnwise_alone"):
            connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("turnwise_writes") else "BEGIN")


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
    """Opens a store before a run starts.

    Raises:
        ConfigError: That fails.
    """
    try:
        return open_store(url, create=True, read_only=read_only)
    except (ConfigError, StoreError) as error:
        raise ConfigError(f"{option}: {error}") from None
