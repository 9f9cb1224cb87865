"""Says which erasures did not end, and what is in a store although it was erased."""

from collections.abc import Iterator

from sqlalchemy import Connection, select

from turnwise.pipeline.store.maintenance.checks.check import first_of
from turnwise.pipeline.store.maintenance.erasure import unreadable
from turnwise.pipeline.store.maintenance.returned import returned, returned_mentions, returned_resources
from turnwise.pipeline.store.tables import ERASURES
from turnwise.schemas.proto.scalars import nanos_timestamp


def erasure_problems(connection: Connection, _: int) -> Iterator[str]:
    """Yields which erasures did not end, and what an erasure should have removed."""
    query = select(ERASURES).where(ERASURES.c.end_nanos.is_(None)).order_by(ERASURES.c.nanos)
    begun = (
        f"{row.kind} on {nanos_timestamp(row.nanos)[:10]} by {row.actor}" for row in connection.execute(query)
    )
    yield from first_of(begun, "erasures did not end; repeat turnwise store delete, which ends them")
    ids = sorted(key.conversation_id for key in returned(connection))
    yield from first_of(ids, "erased conversations are in the store again")
    resources = returned_resources(connection)
    yield from first_of(resources, "erased evaluations, expectations or datasets are in the store again")
    mentions = returned_mentions(connection)
    if mentions:
        yield f"{mentions} failures or entries of to_read mention what was erased"
    has_erased = connection.execute(select(ERASURES.c.digest).limit(1)).first() is not None
    for table, count in unreadable(connection).items() if has_erased else ():
        yield f"{count} rows of {table} cannot be read, and may mention what was erased"
