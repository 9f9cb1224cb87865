"""Sets how often the garbage collector of a process runs."""

import gc

_OBJECTS_BETWEEN_COLLECTIONS = 200_000


def calm_collector() -> None:
    """Makes the garbage collector run rarely, and scan nothing of what exists.

    Most of what records and requests make is freed without it.
    """
    gc.freeze()  # before it is enabled, which would begin a collection of what exists
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 20)
    gc.enable()
