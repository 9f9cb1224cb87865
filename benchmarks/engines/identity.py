"""A server that gives processes the identity of a machine, as the one of Google's machines does."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from tests.served import http_served

_ACCOUNTS = "/computeMetadata/v1/instance/service-accounts/"
_NAME = "worker@some-project.iam.example"
_ACCOUNT = {"email": _NAME, "scopes": [], "aliases": ["default"]}
_TOKEN = {"access_token": "token-of-the-machine", "expires_in": 3600, "token_type": "Bearer"}
_ANSWERS = {"/": "", "/computeMetadata/v1/project/project-id": "some-project"} | {
    f"{_ACCOUNTS}{name}/{end}": json.dumps(value)
    for name in ("default", _NAME)
    for end, value in (("", _ACCOUNT), ("token", _TOKEN))
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answers a question for the account, its token or the project."""
        path = self.path.partition("?")[0]
        text = _ANSWERS.get(path)
        self.send_response(404 if text is None else 200)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", "application/json" if _ACCOUNTS in path else "text/plain")
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


@contextmanager
def machine_identity() -> Iterator[Mapping[str, str]]:
    """Serves the identity; yields the variables by which Google's clients find it."""
    with http_served(_Handler) as address:
        host = address.removeprefix("http://")
        yield {"GCE_METADATA_HOST": host, "GCE_METADATA_IP": host}
