"""Says whether the server and its store answer."""

from anyio import CapacityLimiter, fail_after, to_thread
from sqlalchemy import Connection, text
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from turnwise.pipeline.store.database import Store
from turnwise.pipeline.store.urls import StoreError

_SECONDS = 5.0


class Health:
    """Answers `/healthz`. It has a thread of its own, so that it waits for no other request."""

    def __init__(self, store: Store) -> None:
        self._store, self._limit = store, CapacityLimiter(1)

    async def answer(self, request: Request) -> Response:
        """Answers 200 if the store can be read within five seconds, else 503."""
        try:
            with fail_after(_SECONDS):
                await to_thread.run_sync(self._read, limiter=self._limit, abandon_on_cancel=True)
        except (StoreError, TimeoutError):
            return JSONResponse({"status": "the store does not answer"}, 503)
        return JSONResponse({"status": "ok"})

    def _read(self) -> None:
        self._store.read(_read_nothing)


def _read_nothing(connection: Connection) -> None:
    connection.execute(text("SELECT 1 FROM evaluations LIMIT 1"))
