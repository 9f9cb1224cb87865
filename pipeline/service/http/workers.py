"""Does the work of a request beside the event loop, and tells the caller nothing but what it may know."""

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
    """The threads of a server, as many as it has connections to the store."""

    def __init__(self) -> None:
        """Makes the limit."""
        self._limit = CapacityLimiter(CONNECTIONS)

    async def run(self, work: Callable[[], JsonObject]) -> JsonObject:
        """Returns what `work` gives; raises ServiceError, whatever went wrong."""
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
        # Messages of unforeseen errors may hold what was asked; places in the code do not.
        place = traceback.extract_tb(error.__traceback__)[-1]
        LOG.error("%s at %s:%s", type(error).__name__, place.filename, place.lineno)
        raise ServiceError("INTERNAL", "internal error") from None
