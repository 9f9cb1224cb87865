"""Counts and times the requests of a server, for Prometheus."""

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PLACES = ("/mcp", "/v1beta", "/healthz", "/metrics", "/ui")


class ServerMetrics:
    """The metrics of one server. Labels have fixed values, nothing of a request's content."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._responses = Counter(
            "turnwise_http_responses", "HTTP responses.", ["place", "code"], registry=self._registry
        )
        self._seconds = Histogram(
            "turnwise_request_seconds",
            "Seconds from a valid request to its answer, waiting included.",
            ["method", "status"],
            registry=self._registry,
        )

    def observe(self, method: str, status: str, seconds: float) -> None:
        """Records an answered request."""
        self._seconds.labels(method, status).observe(seconds)

    async def answer(self, request: Request) -> Response:
        """Answers with the metrics in Prometheus's text format."""
        return Response(generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    def counted(self, app: ASGIApp) -> ASGIApp:
        """Returns an application that counts the responses of another one, refusals included."""

        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            async def count_and_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self._responses.labels(_place(scope["path"]), str(message["status"])).inc()
                await send(message)

            await app(scope, receive, count_and_send)

        return call


def _place(path: str) -> str:
    return next((place for place in _PLACES if path == place or path.startswith(f"{place}/")), "other")
