"""Clients of BigQuery, and their errors in one line."""

from collections.abc import Iterator
from concurrent.futures import TimeoutError as WaitError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from turnwise.schemas.config import ConfigError

if TYPE_CHECKING:
    from google.cloud.bigquery import Client

REQUEST_SECONDS = 120.0
"""Seconds after which a request without an answer is sent again."""
_ROLES = "needed: BigQuery Data Viewer on the data, and BigQuery Job User on the project"
_LONGEST = 400


def open_rows_client(project: str) -> "Client":
    """Returns a client with the credentials of the process."""
    from google.cloud.bigquery import Client

    return Client(project=project)


def patient(seconds: float) -> Any:
    """Returns how requests are repeated that the service cannot answer now."""
    from google.cloud.bigquery import DEFAULT_RETRY

    return DEFAULT_RETRY.with_timeout(seconds)


@contextmanager
def one_line(what: str, kind: type[ConfigError] | type[OSError]) -> Iterator[None]:
    """Converts errors of Google's libraries to errors of a kind, in one line that begins with `what`.

    Raises:
        ConfigError: There was one, if this is the kind.
        OSError: The same.
    """
    from google.api_core.exceptions import Forbidden, GoogleAPIError, RetryError, Unauthorized
    from google.auth.exceptions import GoogleAuthError

    try:
        yield
    except (Forbidden, Unauthorized) as error:
        raise kind(f"{what}: no permission: {told(error)} ({_ROLES})") from None
    except GoogleAuthError as error:
        raise kind(f"{what}: no credentials of Google Cloud: {told(error)}") from None
    except RetryError as error:
        raise kind(f"{what}: BigQuery does not answer: {told(error.cause or error)}") from None
    except (GoogleAPIError, WaitError, OSError) as error:
        raise kind(f"{what}: {told(error)}") from None


def told(error: BaseException) -> str:
    """Returns what an error of Google's libraries says, or those of its job, in one line."""
    reasons = [
        str(each.get("message", ""))
        for each in getattr(error, "errors", None) or ()
        if isinstance(each, dict)
    ]
    said = "; ".join(dict.fromkeys(filter(None, reasons))) or getattr(error, "message", "") or str(error)
    return " ".join(said.split())[:_LONGEST] or type(error).__name__
