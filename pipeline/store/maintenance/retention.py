"""For how long the runs of a store stay, as the store itself says."""

import json
from typing import NamedTuple

from sqlalchemy import Connection, delete, select

from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.maintenance.age import DAY_NANOS, MOST_DAYS
from turnwise.pipeline.store.maintenance.pruning import OldRun, Pruning, prune
from turnwise.pipeline.store.tables import SETTINGS, upsert
from turnwise.schemas.config import ConfigError

_NAME = "retention"
_ACTOR = "retention"


class Retention(NamedTuple):
    """When runs are deleted.

    Attributes:
        days: After how many days.
        keep_metrics: Whether the row of a run and its metrics stay.
    """

    days: int
    keep_metrics: bool

    def pruning(self, actor: str, now: int) -> Pruning:
        """Returns what is to be deleted at a time, nanoseconds since 1970."""
        return Pruning(now - self.days * DAY_NANOS, self.keep_metrics, actor, now)


def read_retention(connection: Connection) -> Retention | None:
    """Returns the retention of a store; None: runs stay.

    Raises:
        ConfigError: The store holds something else.
    """
    value = connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.name == _NAME)).scalar()
    return None if value is None else _parsed(value)


def _parsed(value: str) -> Retention:
    try:
        rule = Retention(**json.loads(value))
    except (TypeError, ValueError):
        rule = Retention(0, False)
    is_age = type(rule.days) is int and 0 < rule.days <= MOST_DAYS
    if not is_age or not isinstance(rule.keep_metrics, bool):
        raise ConfigError(
            f"the store's retention is none: {value[:100]!r}; set it by turnwise store retention 90d, or off"
        )
    return rule


def write_retention(connection: Connection, rule: Retention | None) -> None:
    """Sets the retention of a store, or (None) removes it."""
    if rule is None:
        connection.execute(delete(SETTINGS).where(SETTINGS.c.name == _NAME))
    else:
        upsert(connection, SETTINGS, [{"name": _NAME, "value": json.dumps(rule._asdict())}])


def apply_retention(store: Store, now: int) -> list[OldRun]:
    """Deletes what a store keeps for no longer; returns the runs. Raises ConfigError as `read_retention`."""
    rule = store.read(read_retention)
    return [] if rule is None else prune(store, rule.pruning(_ACTOR, now))
