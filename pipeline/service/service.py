"""The state that both interfaces of the service, MCP and REST, share."""

from turnwise.pipeline.service.computed_fields import FiguresCache
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.operations.jobs import Job, Jobs
from turnwise.pipeline.service.version_verdict import VerdictCache
from turnwise.pipeline.store.engine import Store
from turnwise.schemas.values import JsonObject


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
        jobs: Does long-running operations.
    """

    def __init__(self, store: Store, actor: str, read_only: bool = False) -> None:
        self.store, self.actor, self.read_only = store, actor, read_only
        self.cache = FiguresCache()
        self.verdicts = VerdictCache()
        self.jobs = Jobs(store)

    def check_writable(self) -> None:
        """Raises ServiceError if changes are refused."""
        if self.read_only:
            raise ServiceError("PERMISSION_DENIED", "the service is read-only")

    def begin(self, job: Job) -> JsonObject:
        """Begins a long-running operation and returns it.

        Raises:
            ServiceError: Changes are refused, or too many operations wait.
        """
        self.check_writable()
        return self.jobs.submit(job)
