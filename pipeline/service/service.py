"""The state that both interfaces of the service, MCP and REST, share."""

from copy import copy

from turnwise.pipeline.service.computed_fields import FiguresCache
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.version_verdict import VerdictCache
from turnwise.pipeline.store.database import Store
from turnwise.pipeline.store.summaries import keep_summaries


class Service:
    """A store, and what a request may do with it.

    The functions of `evaluations`, `changes`, `results` and `comparison` take a service and a request and
    return the response in canonical proto3 JSON. They raise ServiceError if they refuse the request, and
    StoreError if the store does not answer.

    Attributes:
        store: The store.
        actor: Name of the server's user, for the history.
        read_only: Whether changes are refused.
        cache: Cached figures of evaluations.
        verdicts: Cached verdicts on versions.
    """

    def __init__(self, store: Store, actor: str, read_only: bool = False) -> None:
        self.store, self.actor, self.read_only = store, actor, read_only
        self.cache = FiguresCache()
        self.verdicts = VerdictCache()

    def of(self, may_write: bool) -> "Service":
        """Returns the service for a request, with the same store and caches."""
        if may_write:
            return self
        own = copy(self)
        own.read_only = True
        return own

    def check_writable(self) -> None:
        """Raises ServiceError if changes are refused."""
        if self.read_only:
            raise ServiceError("PERMISSION_DENIED", "the server, or the token of the request, only reads")

    def keep_summaries(self, app: str) -> None:
        """Writes the summaries of runs that have none, such as those of earlier versions."""
        if not self.store.read_only:
            keep_summaries(self.store, app)
