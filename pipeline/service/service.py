"""The state that both interfaces of the service, MCP and REST, share."""

from turnwise.pipeline.service.computed_fields import FiguresCache
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.version_verdict import VerdictCache
from turnwise.pipeline.store.engine import Store


class Service:
    """A store with the identity and rights of its user.

    The functions of `evaluations`, `changes`, `results` and `comparison` take a service and a request and
    return the response in canonical proto3 JSON. They raise ServiceError if they refuse the request, and
    StoreError if the store does not answer.

    Attributes:
        store: The store.
        actor: Name of the user, for the history.
        read_only: Whether changes are refused.
        cache: Cached figures of evaluations.
        verdicts: Cached verdicts on versions.
    """

    def __init__(self, store: Store, actor: str, read_only: bool = False) -> None:
        self.store, self.actor, self.read_only = store, actor, read_only
        self.cache = FiguresCache()
        self.verdicts = VerdictCache()

    def check_writable(self) -> None:
        """Raises ServiceError if changes are refused."""
        if self.read_only:
            raise ServiceError("PERMISSION_DENIED", "the service is read-only")
