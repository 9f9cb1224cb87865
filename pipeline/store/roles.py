"""The roles of tokens, without importing a database library."""

from typing import Literal, get_args

Role = Literal["read", "write", "admin"]
"""read: sees everything. write: changes evaluations too. admin: also deletes runs and results."""

ROLES: tuple[Role, ...] = get_args(Role)
"""Each role includes those before it."""


def includes(role: Role, needed: Role) -> bool:
    """Returns whether a role includes another one."""
    return ROLES.index(role) >= ROLES.index(needed)
