"""The states of runs, without importing a database library."""

from typing import Literal, get_args

RUNNING = "RUNNING"
COMPLETED = "COMPLETED"
UNKNOWN = "UNKNOWN"

COUNTED = (COMPLETED, UNKNOWN)
"""States of runs that figures and comparisons speak of. UNKNOWN: of an earlier version."""

Broken = Literal["ERROR", "CANCELLED"]
"""How a run can break off."""

STATES = (RUNNING, COMPLETED, *get_args(Broken), UNKNOWN)
"""All states of a run."""
