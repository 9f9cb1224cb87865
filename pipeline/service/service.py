"""The state that both interfaces of the service, MCP and REST, share."""

from copy import copy
from typing import NamedTuple

from turnwise.pipeline.service.computed_fields import FiguresCache
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.operations.jobs import Job, Jobs
from turnwise.pipeline.service.users import User
from turnwise.pipeline.service.version_verdict import VerdictCache
from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.roles import Role, includes
from turnwise.pipeline.store_comparison.summaries import keep_summaries
from turnwise.schemas.values import JsonObject


class Scoring(NamedTuple):
    """How the service scores recorded conversations again.

    Attributes:
        config: Path of a config file; None: the default config.
        judge: Name of a judge.
    """

    config: str | None = None
    judge: str = "none"


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
        jobs: Does long-running operations.
        scoring: How recorded conversations are scored again.
    """

    def __init__(
        self,
        store: Store,
        actor: str,
        read_only: bool = False,
        role: Role = "admin",
        scoring: Scoring | None = None,
    ) -> None:
        self.store, self.actor, self.role, self.read_only = store, actor, role, read_only
        self.cache = FiguresCache()
        self.verdicts = VerdictCache()
        self.jobs = Jobs(store)
        self.scoring = scoring or Scoring()

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

    def check_deletable(self) -> None:
        """Raises ServiceError if the user may not delete runs and results."""
        self._check("admin")

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

    def begin(self, job: Job) -> JsonObject:
        """Begins a long-running operation and returns it.

        Raises:
            ServiceError: Changes are refused, or too many operations wait.
        """
        self.check_writable()
        return self.jobs.submit(job)
