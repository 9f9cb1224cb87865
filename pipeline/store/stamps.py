"""Says whether anything that a comparison rests on has changed."""

from typing import NamedTuple

from sqlalchemy import Connection, func, select

from turnwise.pipeline.store.naming import LOCAL_APP
from turnwise.pipeline.store.tables import CONVERSATIONS, FAILURES, RESULTS, SCORES


class AppStamp(NamedTuple):
    """Changes when results, conversations, scores or failures of an app change.

    Attributes:
        results: Their number, and the sum of their stamps.
        conversations: Their number, and the time of the last one.
        failures: The same of the app's, and of those that name no app.
        scores: Their number.
    """

    results: tuple[int, int]
    conversations: tuple[int, int]
    failures: tuple[int, int]
    scores: int


def app_stamp(connection: Connection, app: str) -> AppStamp:
    """Returns the stamp of an app."""
    written = (
        select(func.count(), func.coalesce(func.max(table.c.update_nanos), 0)).where(table.c.app.in_(apps))
        for table, apps in ((CONVERSATIONS, [app]), (FAILURES, [app, LOCAL_APP]))
    )
    conversations, failures = (tuple(connection.execute(query).one()) for query in written)
    results = select(func.count(), func.coalesce(func.sum(RESULTS.c.stamp), 0)).where(RESULTS.c.app == app)
    count, stamps = connection.execute(results).one()
    scores = select(func.count()).select_from(SCORES).where(SCORES.c.app == app)
    number = connection.execute(scores).scalar_one()
    return AppStamp((count, int(stamps)), conversations, failures, number)
