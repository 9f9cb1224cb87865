"""Runs requests in threads and hides internal errors from callers."""

import logging
import traceback
from collections.abc import Callable

from anyio import CapacityLimiter, to_thread

from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.store.engine import CONNECTIONS
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.values import JsonObject

LOG = logging.getLogger("turnwise.serve")


class Workers:
    """The worker threads of a server, one per connection to the store."""

    def __init__(self) -> None:
        self._limit = CapacityLimiter(CONNECTIONS)

    async def run(self, work: Callable[[], JsonObject]) -> JsonObject:
        """Returns the result of `work`. Converts all errors to ServiceError."""
        return await to_thread.run_sync(_answered, work, limiter=self._limit)


def _answered(work: Callable[[], JsonObject]) -> JsonObject:
    try:
        return work()
    except ServiceError:
        raise
    except StoreError as error:
        LOG.error("%s", error)
        raise ServiceError("UNAVAILABLE", "the store does not answer") from None
    except Exception as error:
        # The message of an unexpected error may hold parts of the request; its location does not.
        place = traceback.extract_tb(error.__traceback__)[-1]
        LOG.error("%s at %s:%s", type(error).__name__, place.filename, place.lineno)
        raise ServiceError("INTERNAL", "internal error") from None
