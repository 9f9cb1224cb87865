"""Does the work of long-running operations in threads of the server."""

from collections.abc import Callable
from functools import partial
from queue import Full, Queue
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple, TypeVar
from uuid import uuid4

from sqlalchemy import Connection

from turnwise.pipeline.service.answering import LOG, answered
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.operations.kinds import OperationKind, operation_value
from turnwise.pipeline.store.engine import OPERATIONS, Store
from turnwise.pipeline.store.executions import Execution, forget_run, reserve
from turnwise.pipeline.store.operations import (
    ABORTED,
    CANCELLED,
    LAPSED,
    StoredOperation,
    add_operation,
    beat,
    begin_operation,
    database_nanos,
    end_lapsed,
    fail,
    find_operation,
    lapsed_operations,
    succeed,
)
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.ces.names import place_of
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.schemas.values import JsonObject

T = TypeVar("T")

MOST_WAITING = 30
"""Operations that one server keeps waiting."""

_BEAT_SECONDS = 5.0
_CHECK_SECONDS = 0.2


class StoppedError(Exception):
    """The operation was cancelled, or is done already; the message is that of the operation's error."""

    def __init__(self, message: str = "it was cancelled") -> None:
        super().__init__(message)


class Going:
    """An operation that is worked on.

    Attributes:
        store: The store.
        operation: The operation as it began.
    """

    def __init__(self, store: Store, operation: StoredOperation) -> None:
        self.store, self.operation = store, operation
        self._checked = -_CHECK_SECONDS

    def check(self) -> None:
        """Raises StoppedError if the work must stop; looks five times a second at most."""
        if monotonic() - self._checked >= _CHECK_SECONDS:
            self.store.read(self._check)
            self._checked = monotonic()

    def write(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a write transaction, unless the work must stop.

        Raises:
            StoppedError: It must.
            StoreError: The store does not answer.
        """

        def checked(connection: Connection) -> T:
            self._check(connection)
            return work(connection)

        return self.store.write(checked)

    def _check(self, connection: Connection) -> None:
        found = find_operation(connection, self.operation.name)
        if found is None or found.end_nanos is not None or found.cancel_nanos is not None:
            raise StoppedError


OperationWork = Callable[[Going], JsonObject]
"""Does an operation and returns its response, without a type."""


class Job(NamedTuple):
    """What an operation is to do.

    Attributes:
        kind: The method.
        app: The app.
        work: Does it.
        metadata: What the method says of it, by field of its message.
        run: The new evaluation run that it writes; None: none.
    """

    kind: OperationKind
    app: str
    work: OperationWork
    metadata: JsonObject
    run: str | None = None


class Jobs:
    """The threads of a server that do operations; they begin with the first one."""

    def __init__(self, store: Store) -> None:
        self._store, self._held = store, set[str]()
        self._waiting: Queue[tuple[StoredOperation, OperationWork]] = Queue(MOST_WAITING)
        self._closing, self._threads = Event(), list[Thread]()

    def start(self) -> None:
        """Starts the threads."""
        if self._threads:
            return
        works = [self._beat, *([self._work] * OPERATIONS)]
        self._threads = [Thread(target=work, name="turnwise-operation", daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> JsonObject:
        """Begins an operation and returns it.

        Raises:
            ServiceError: Too many operations wait, or there is a run of the name of its run.
        """
        self.start()
        operation = self._store.write(partial(_added, job))
        self._held.add(operation.name)
        try:
            self._waiting.put_nowait((operation, job.work))
        except Full:
            self._held.discard(operation.name)
            why = f"more than {MOST_WAITING} operations wait; try again later"
            self._store.write(partial(_refuse, operation, why))
            raise ServiceError("RESOURCE_EXHAUSTED", why) from None
        return operation_value(operation)

    def finished(self, kind: OperationKind, app: str) -> JsonObject:
        """Returns an operation that is done, of a method that did its work at once."""
        made = self._store.write(partial(_added, Job(kind, app, _nothing, {})))
        self._store.write(lambda connection: succeed(connection, made.name, {}))
        return operation_value(self._store.read(lambda connection: _found(connection, made)))

    def close(self) -> None:
        """Ends the operations that are not done; their work stops when it next looks at the store."""
        if self._threads:
            self._closing.set()
            self._store.write(self._abort)

    def _abort(self, connection: Connection) -> None:
        for name in list(self._held):
            fail(connection, name, ABORTED, "the server was stopped")

    def _work(self) -> None:
        while not self._closing.is_set():
            operation, work = self._waiting.get()
            try:
                _do(self._store, operation, work)
            except StoreError as error:
                LOG.error("%s", error)
            finally:
                # One whose end could not be written lapses.
                self._held.discard(operation.name)

    def _beat(self) -> None:
        while not self._closing.wait(_BEAT_SECONDS):
            try:
                self._tell()
            except StoreError as error:
                LOG.error("%s", error)

    def _tell(self) -> None:
        held = list(self._held)
        if held:
            self._store.write(lambda connection: beat(connection, held))
        lapsed = self._store.read(lapsed_operations)
        if lapsed:
            self._store.write(lambda connection: end_lapsed(connection, lapsed))


def _nothing(going: Going) -> JsonObject:
    return {}


def _found(connection: Connection, made: StoredOperation) -> StoredOperation:
    return find_operation(connection, made.name) or made


def _refuse(operation: StoredOperation, why: str, connection: Connection) -> None:
    fail(connection, operation.name, "RESOURCE_EXHAUSTED", why)
    if operation.run is not None:
        forget_run(connection, operation.run)


def _added(job: Job, connection: Connection) -> StoredOperation:
    now = database_nanos(connection)
    if job.run is not None:
        execution = Execution(job.run.rsplit("/", 1)[-1], now, job.app, nanos_timestamp(now)[:10])
        if not reserve(connection, execution, now):
            raise ServiceError("ALREADY_EXISTS", "there is a run of that name", "displayName")
    name = f"{place_of(job.app)}/operations/{now}-{uuid4().hex[:12]}"
    operation = StoredOperation(
        name=name,
        app=job.app,
        method=job.kind.method,
        run=job.run,
        metadata=job.metadata,
        response=None,
        error_status=None,
        error=None,
        create_nanos=now,
        begin_nanos=None,
        update_nanos=now,
        end_nanos=None,
        cancel_nanos=None,
    )
    add_operation(connection, operation)
    return operation


def _do(store: Store, operation: StoredOperation, work: OperationWork) -> None:
    name = operation.name
    if not store.write(lambda connection: begin_operation(connection, name)):
        return
    try:
        done = answered(partial(_stoppable, work, Going(store, operation)))
        if not isinstance(done, StoppedError):
            if not store.write(lambda connection: succeed(connection, name, done)):
                LOG.warning("%s: %s", name, LAPSED)
            return
        status, why = CANCELLED, str(done)
    except ServiceError as error:
        status, why = error.status, str(error.to_value()["error"]["message"])
    store.write(lambda connection: fail(connection, name, status, why))


def _stoppable(work: OperationWork, going: Going) -> JsonObject | StoppedError:
    """Returns the response, or how the work was stopped."""
    try:
        return work(going)
    except StoppedError as stopped:
        return stopped
