"""Bounds how long an import or export waits for another service, so that other operations go on."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Lock, Thread
from time import monotonic
from typing import TypeVar

from turnwise.pipeline.service.errors import ServiceError

T = TypeVar("T")

CREDENTIALS_SECONDS = 5.0
TRANSFER_SECONDS = 60.0
_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_REMEMBERED_SECONDS = 30.0


def bounded(work: Callable[[], T], seconds: float) -> T:
    """Returns the result of `work`, which has a thread of its own that goes on if it takes longer.

    Raises:
        TimeoutError: It takes longer.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, name="turnwise-transfer", daemon=True).start()
    if not wait([future], seconds).done:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return future.result()


class GoogleCredentials:
    """Looks for credentials of Google Cloud; that there are none is remembered for 30 s."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._missing, self._until = "", 0.0

    def check(self, field: str, uri: str) -> None:
        """Raises ServiceError if a place is in Google Cloud Storage and there are no valid credentials."""
        if not uri.lower().startswith("gs://"):
            return
        with self._lock:
            if monotonic() >= self._until:
                self._missing = _why_missing()
                self._until = monotonic() + _REMEMBERED_SECONDS if self._missing else 0.0
            missing = self._missing
        if missing:
            why = f"no credentials for Google Cloud Storage: {missing}"
            raise ServiceError("FAILED_PRECONDITION", why, field)


def _why_missing() -> str:
    """Returns why there are no valid credentials; "": there are."""
    from google.auth.exceptions import GoogleAuthError

    try:
        bounded(_refresh, CREDENTIALS_SECONDS)
    except (GoogleAuthError, OSError, ValueError) as error:
        return one_line(error)
    return ""


def _refresh() -> None:
    import google.auth
    from google.auth.transport.requests import Request

    credentials, _ = google.auth.default(scopes=[_SCOPE])
    credentials.refresh(Request())


def one_line(error: Exception) -> str:
    """Returns the message of an error, of at most 300 characters."""
    return " ".join(str(error).split())[:300] or type(error).__name__
