"""Hides internal errors from callers."""

import logging
import traceback
from collections.abc import Callable
from typing import TypeVar

from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.store.urls import StoreError

T = TypeVar("T")
LOG = logging.getLogger("turnwise.serve")


def answered(work: Callable[[], T]) -> T:
    """Returns the result of `work`.

    Raises:
        ServiceError: It refuses, the store does not answer, or an unexpected error happened, which is logged.
    """
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
