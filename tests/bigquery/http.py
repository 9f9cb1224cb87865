"""Serves BigQuery's REST API, with access tokens."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from tests.bigquery.errors import Reply, Trouble
from tests.bigquery.service import BigQuery
from tests.served import http_served

TOKEN = "token-of-the-tests"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: BigQuery

    def _handle(self):
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {}
        if parts.path == "/token":
            reply = Reply(200, {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600})
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            reply = Trouble(401, "authError", "Invalid Credentials").reply
        else:
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            reply = self.service.done(self.command, parts.path, query, body)
            if "upload" in reply.body:
                headers["Location"] = f"http://{self.headers['Host']}/{reply.body['upload']}"
        content = b"" if reply.status == 204 else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = _handle

    def log_message(self, *_):
        """Says nothing."""


@contextmanager
def started_bigquery(project, dataset, bucket):
    """Starts the service on this machine; yields it and its address."""
    service = BigQuery(project, dataset, bucket)
    try:
        with http_served(type("Handler", (_Handler,), {"service": service})) as address:
            yield service, address
    finally:
        service.duckdb.close()
