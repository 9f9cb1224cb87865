"""The key of a judge in Secret Manager: read where calls are made, and never part of the graph."""

import base64
import json
import os
import pickle
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.served import http_served, in_environment
from turnwise.pipeline.cli.run_options import parse_options
from turnwise.schemas.config import ConfigError
from turnwise.transforms.judging.backends.base import OVERRIDE, read_secret

NAME = "projects/p/secrets/judge/versions/latest"
REGIONAL = "projects/p/locations/europe-west4/secrets/judge/versions/3"
DATAFLOW = ["--runner=DataflowRunner", "--dry_run=True", "--project=some-project", "--region=us-central1"]
DATAFLOW += ["--temp_location=gs://some-bucket/tmp", "--sdk_container_image=example.com/turnwise:1"]


class Secrets(BaseHTTPRequestHandler):
    """Secret Manager's method `access`, for a bearer token of the server that stands in for Google's."""

    held: ClassVar[dict[str, Any]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        name = self.path.removeprefix("/v1/").removesuffix(":access")
        status, text = self.held.get(name, (404, ""))
        if self.headers["Authorization"] != "Bearer loopback":
            status = 401
        body = json.dumps({"name": name, "payload": {"data": base64.b64encode(text.encode()).decode()}})
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def secrets(server: Any, tmp_path: Path) -> Iterator[type[Secrets]]:
    """Secret Manager on this machine, and the credentials of a service account for this process."""
    pem = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = {
        "type": "service_account",
        "client_email": "a@b",
        "private_key": pem.decode(),
        "project_id": "p",
    }
    (tmp_path / "account.json").write_text(json.dumps({**account, "token_uri": f"{server.url}/token"}))
    Secrets.held, Secrets.asked = {NAME: (200, f"{server.key}\n"), REGIONAL: (200, server.key)}, []
    credentials = {"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "account.json")}
    with http_served(Secrets) as address, in_environment({**credentials, OVERRIDE: address}):
        yield Secrets


@pytest.fixture
def arguments(server: Any, tmp_path: Path) -> list[str]:
    """A run with a judge whose key is a secret."""
    turn = {"user": "hi", "agent": "Hello", "expected": {"response": "Hello"}}
    (tmp_path / "log.jsonl").write_text(json.dumps({"conversation_id": "c", "turns": [turn]}) + "\n")
    judge = {"api_key_secret": NAME, "base_url": server.url, "retry_delay_s": 0.01}
    config = {"criteria": {"final_response_match_v2": 0.5}, "judge": judge}
    (tmp_path / "config.json").write_text(json.dumps(config))
    return ["--config", str(tmp_path / "config.json"), "--judge_cache", "none"]


def test_a_run_reads_its_key_from_the_secret(turnwise, server, secrets, arguments, tmp_path):
    done = turnwise("run", "--input", tmp_path / "log.jsonl", *arguments, output=tmp_path / "out")
    assert done.status == 0, done.err
    assert done.document("run.json")["judge"]["backend"] == "gemini"
    assert {row["outcome"] for row in done.rows("scores")} == {"PASS"}
    assert secrets.asked == [f"/v1/{NAME}:access"] * 2
    texts = [path.read_text(encoding="utf-8") for path in done.directory.glob("*") if path.is_file()]
    assert all(server.key not in text for text in [*texts, done.out, done.err])


@pytest.mark.usefixtures("with_credentials")
def test_workers_elsewhere_get_the_name_and_not_the_key(server, secrets, arguments, tmp_path):
    """The launcher's own key does not count there."""
    config = json.loads((tmp_path / "config.json").read_text())
    del config["judge"]["base_url"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    places = ["--input=gs://some-bucket/logs/", "--output=gs://some-bucket/out"]
    settings, _ = parse_options([*DATAFLOW, *places, *arguments])
    graph = pickle.dumps(settings)
    assert NAME.encode() in graph and server.key.encode() not in graph
    assert settings.judge.config.backend == "gemini" and secrets.asked == []


@pytest.mark.parametrize(
    ("held", "why"),
    [
        ({}, "HTTP 404: there is no such secret or version"),
        ({NAME: (200, "geheim \u00e9")}, "holds no API key"),
    ],
)
def test_a_secret_that_cannot_be_read_ends_the_run_before_it_starts(
    turnwise, server, secrets, arguments, tmp_path, held, why
):
    secrets.held = held
    done = turnwise("run", "--input", tmp_path / "log.jsonl", *arguments, output=tmp_path / "out")
    assert (done.status, done.err.count("\n"), server.stats()["requests"]) == (2, 1, 0)
    assert f"judge.api_key_secret: {NAME}: {why}" in done.err and "geheim" not in done.err


def test_a_regional_secret_and_no_credentials(server, secrets):
    assert read_secret(REGIONAL) == server.key
    os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = "/no/such/file.json"
    with pytest.raises(ConfigError, match=r"cannot be read: File /no/such/file\.json was not found"):
        read_secret(NAME)
