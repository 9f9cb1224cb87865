"""Stores that all steps of a run in one process share."""

from threading import Lock

from sqlalchemy import Connection, select

from pipeline.store.engine import Store, open_store
from pipeline.store.naming import LOCAL_APP
from pipeline.store.tables import EVALUATIONS
from pipeline.store.urls import StoreError
from schemas.config import ConfigError

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


def own_app(connection: Connection) -> str:
    """Returns the app of a store's evaluations if there is exactly one, else `LOCAL_APP`."""
    apps = connection.execute(select(EVALUATIONS.c.app).distinct().limit(2)).scalars().all()
    return apps[0] if len(apps) == 1 else LOCAL_APP
