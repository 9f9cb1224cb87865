"""The states of runs, without importing a database library."""

from typing import Literal, get_args

RUNNING = "RUNNING"
COMPLETED = "COMPLETED"
"""Figures and comparisons speak of runs in this state."""

Broken = Literal["ERROR", "CANCELLED"]
"""How a run can break off."""

STATES = (RUNNING, COMPLETED, *get_args(Broken))
"""All states of a run."""
