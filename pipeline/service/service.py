"""The state that both interfaces of the service, MCP and REST, share."""

from copy import copy

from turnwise.pipeline.service.computed_fields import FiguresCache
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.users import User
from turnwise.pipeline.service.version_verdict import VerdictCache
from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.roles import Role, includes
from turnwise.pipeline.store_comparison.summaries import keep_summaries


class Service:
    """A store with the identity and rights of its user.

    The functions of `evaluations`, `changes`, `results` and `comparison` take a service and a request and
    return the response in canonical proto3 JSON. They raise ServiceError if they refuse the request, and
    StoreError if the store does not answer.

    Attributes:
        store: The store.
        actor: Name of the user, for the history.
        role: What the user may do.
        read_only: Whether changes are refused to everyone.
        cache: Cached figures of evaluations.
        verdicts: Cached verdicts on versions.
    """

    def __init__(self, store: Store, actor: str, read_only: bool = False, role: Role = "admin") -> None:
        self.store, self.actor, self.role, self.read_only = store, actor, role, read_only
        self.cache = FiguresCache()
        self.verdicts = VerdictCache()

    def of(self, user: User) -> "Service":
        """Returns the service for a user, with the same store and caches."""
        own = copy(self)
        own.actor, own.role = user
        return own

    @property
    def may_change(self) -> bool:
        """Whether the user may change evaluations."""
        return not self.read_only and includes(self.role, "write")

    def check_writable(self) -> None:
        """Raises ServiceError if the user may change nothing."""
        self._check("write")

    def _check(self, needed: Role) -> None:
        if self.read_only:
            raise ServiceError("PERMISSION_DENIED", "the service is read-only")
        if not includes(self.role, needed):
            why = f"needs the role {needed}; the token of {self.actor} has {self.role}"
            raise ServiceError("PERMISSION_DENIED", f"the request {why}")

    def keep_summaries(self, app: str) -> None:
        """Writes the summaries of runs that have none, such as those of earlier versions."""
        if not self.store.read_only:
            keep_summaries(self.store, app)
