"""What both faces of the service, MCP and REST, work on."""

from turnwise.pipeline.service.computed_fields import FiguresCache
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.store.engine import Store


class Service:
    """A store, and who works on it.

    The functions of `evaluations`, `changes`, `results` and `comparison` work on it. They take a request,
    return the response in canonical proto3 JSON, and raise ServiceError where they refuse the request,
    StoreError where the store does not answer.

    Attributes:
        store: Where everything is.
        actor: Whoever makes the changes.
        read_only: Whether changes are refused.
        cache: Figures that are known already.
    """

    def __init__(self, store: Store, actor: str, read_only: bool = False) -> None:
        self.store, self.actor, self.read_only = store, actor, read_only
        self.cache = FiguresCache()

    def check_writable(self) -> None:
        """Raises ServiceError if changes are refused."""
        if self.read_only:
            raise ServiceError("PERMISSION_DENIED", "the service is read-only")
