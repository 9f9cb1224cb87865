"""Overwrites what was deleted from a store, and says so."""

from typing import TYPE_CHECKING

from turnwise.pipeline.io.terminal import say

if TYPE_CHECKING:
    from turnwise.pipeline.store.engine import Store

_POSTGRES = (
    "PostgreSQL overwrites what was deleted when it uses the space again, VACUUM FULL at once; "
    "its write-ahead log, replicas and backups hold it until they are replaced"
)


def overwritten(store: "Store") -> list[str]:
    """Overwrites what was deleted; returns where it is left, one line each."""
    from turnwise.pipeline.store.maintenance.free_pages import overwrite_deleted
    from turnwise.pipeline.store.urls import StoreError

    try:
        left = overwrite_deleted(store)
    except StoreError as error:
        return [f"what was deleted may be in free pages of the file: {error}"]
    if not store.is_sqlite:
        say(_POSTGRES)
    return left
