"""Sets how often the garbage collector of a process runs."""

import gc

_OBJECTS_BETWEEN_COLLECTIONS = 200_000


def calm_collector() -> None:
    """Makes the garbage collector run rarely, and scan nothing of what exists.

    Records and answers to requests are short-lived and hold no cycles.
    """
    gc.freeze()  # before it is enabled, which would begin a collection of what exists
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 20)
    gc.enable()
