"""The clients of a process: one of each judge whose models are asked."""

from collections.abc import Callable, Mapping

from turnwise.schemas.config import ConfigError
from turnwise.schemas.registry import hook_errors
from turnwise.transforms.judging.backends.base import (
    AuthenticationError,
    Backend,
    RawReply,
    Request,
    backend_fault,
)
from turnwise.transforms.judging.judges_base import JUDGES, JudgeKind
from turnwise.transforms.judging.routes import Routes


class Connections:
    """A backend for the models of all judges. The run's own judge is connected at once, others when asked."""

    def __init__(
        self, routes: Routes, own: JudgeKind, environ: Mapping[str, str], note_retry: Callable[[str], None]
    ):
        """Connects the run's own judge; raises ConfigError if that fails."""
        self._routes, self._environ, self._note_retry = routes, environ, note_retry
        self._backends = {own.name: self._connected(own)}

    async def generate(self, request: Request, count: int) -> list[RawReply]:
        """Makes one call; see Backend.

        Raises:
            AuthenticationError: A judge cannot be connected.
        """
        name = request.template.judge
        if name not in self._backends:
            try:
                self._backends[name] = self._connected(JUDGES[name])
            except ConfigError as error:
                raise AuthenticationError(str(error)) from None
        return await self._backends[name].generate(request, count)

    async def aclose(self) -> None:
        """Closes all connections."""
        for backend in self._backends.values():
            await backend.aclose()

    def _connected(self, kind: JudgeKind) -> Backend:
        assert kind.connect
        with hook_errors(f"judge {kind.name}: connect"):
            backend = kind.connect(self._routes.config(kind), self._environ, self._note_retry)
        fault = backend_fault(backend)
        if fault:
            raise ConfigError(f"judge {kind.name}: connect returned no Backend: {fault}")
        return backend
