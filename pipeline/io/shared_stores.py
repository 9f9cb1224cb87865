"""Stores that all steps of a run in one process share."""

from threading import Lock

from turnwise.pipeline.store.engine import Store, open_store
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.config import ConfigError

_LOCK = Lock()
_OPEN: dict[tuple[str, bool], Store] = {}


def shared_store(url: str, *, read_only: bool = False) -> Store:
    """Returns the store of an address; it stays open. Raises ConfigError or StoreError."""
    with _LOCK:
        if (url, read_only) not in _OPEN:
            _OPEN[url, read_only] = open_store(url, create=True, read_only=read_only)
        return _OPEN[url, read_only]


def try_store(option: str, url: str, *, read_only: bool = False) -> Store:
    """Opens a store before anything runs; raises ConfigError if that is not possible."""
    try:
        return open_store(url, create=True, read_only=read_only)
    except (ConfigError, StoreError) as error:
        raise ConfigError(f"{option}: {error}") from None
