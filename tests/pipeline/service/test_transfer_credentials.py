"""Places in Google Cloud Storage without credentials are refused, and hold up no other operation."""

import os
import socket
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep
from typing import Any

import pytest

APP = "/v1beta/projects/acme-cx/locations/us/apps/travel-desk"
TABLE = b"display_name,turn_index,action_type,text_content\nCase,1,INPUT_TEXT,hi\n"


@pytest.fixture
def metadata() -> Iterator[str]:
    """Returns the address of a metadata server that never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=20) as silent:
        yield f"127.0.0.1:{silent.getsockname()[1]}"


def done(server: Any, operation: Any) -> Any:
    for _ in range(600):
        code, value = server.call("GET", f"/v1beta/{operation['name']}")
        assert code == 200
        if value.get("done"):
            return value
        sleep(0.1)
    raise AssertionError("it is not done")


def test_without_credentials_an_import_or_export_fails_and_others_go_on(
    start: Callable[..., Any], metadata: str, tmp_path: Path
) -> None:
    pytest.importorskip("google.cloud.storage")
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GOOGLE_")}
    environment |= {"HOME": str(tmp_path), "CLOUDSDK_CONFIG": str(tmp_path), "GCE_METADATA_IP": metadata}
    server = start(environment=environment)

    def begun(path: str, body: Any) -> Any:
        code, value = server.call("POST", f"{APP}{path}", body)
        assert code == 200, value
        return value

    imports = [begun(":importEvaluations", {"gcsUri": "gs://bucket/all.zip"}) for _ in range(4)]
    table = begun(":importEvaluations", {"csvContent": b64encode(TABLE).decode()})
    (made,) = done(server, table)["response"]["evaluations"]
    place = {"names": [made["name"]], "includeEvaluations": True, "exportOptions": {"gcsUri": "gs://bucket"}}
    export = begun("/evaluations:export", place)
    for operation, field in [*((one, "gcsUri") for one in imports), (export, "exportOptions.gcsUri")]:
        error = done(server, operation)["error"]
        assert error["code"] == 9
        assert error["message"].startswith(f"{field}: no credentials for Google Cloud Storage: ")
