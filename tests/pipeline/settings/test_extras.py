"""Without the extras the main job runs; what needs one ends with a line that names it."""

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.tables import lines_beside
from turnwise.pipeline.settings.options import check_places
from turnwise.schemas.config import ConfigError

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "pipeline/sample_data"
LOGS = str(SAMPLE / "conversations")
LINES = lines_beside(__file__, "needs.jsonl")
"""Commands, and the extra, or Google's credentials, that each of them needs."""
NEEDS = [name for name, line in LINES.items() if line["needs"] != "Google"]
BASE = [sys.executable, str(ROOT / "tests/base_environment.py")]


def test_the_main_job_needs_no_extra(tmp_path):
    arguments = ["--input", LOGS, "--eval_cases", str(SAMPLE / "cases"), "--judge", "local"]
    command = [*BASE, "run", *arguments, "--output", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "out/run.json").read_text())["counts"]["results"] > 50


class Refused(NamedTuple):
    """How a command ended, and how many files it left."""

    status: int
    out: str
    err: str
    files: int


def arguments_of(line):
    places = {"$LOGS": LOGS, "$CASES": str(SAMPLE / "cases")}
    return [places.get(word, word) for word in line["arguments"]]


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Returns how all the commands end, each in a process without the packages of the extras."""
    place = tmp_path_factory.mktemp("without_extras")
    given = json.dumps([arguments_of(LINES[name]) for name in NEEDS])
    keys = {"OPENAI_API_KEY": "key", "ANTHROPIC_API_KEY": "key"}
    command = [*BASE, "--each"]
    done = subprocess.run(
        command, cwd=place, input=given, capture_output=True, text=True, env={**os.environ, **keys}
    )
    assert done.returncode == 0, done.stderr
    return [Refused(*values) for values in json.loads(done.stdout)]


@pytest.mark.parametrize("name", NEEDS)
def test_what_needs_an_extra_names_it(refused, name):
    done, needed = refused[NEEDS.index(name)], LINES[name]["needs"]
    (line,) = done.err.splitlines()
    assert line.endswith(f": needs {needed}, which is not installed: pip install '{needed}'")
    assert (done.status, done.out, done.files) == (2, "", 0)


@pytest.mark.parametrize("path", ["ftp://h/logs/", "gss://b/logs"])
def test_an_unknown_file_system_is_refused(path):
    with pytest.raises(ConfigError, match="unknown file system"):
        check_places("--input", [path])


DATAFLOW = (
    *("--runner=DataflowRunner", "--project=some-project", "--region=us-central1"),
    "--sdk_container_image=example.com/turnwise:1",
)


@pytest.mark.parametrize("name", [name for name in LINES if name not in NEEDS])
def test_without_credentials_of_google_one_line_says_what_to_do(tmp_path, name):
    done = without_credentials(tmp_path, arguments_of(LINES[name]))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert re.search(r"(no credentials of Google|credentials were not found.*); run `gcloud auth app", line)
    assert "--config gs" not in line.split(": ", 2)[2]  # the option is named once


def without_credentials(folder, arguments, **more):
    """Runs Python, or the command, where no credentials of Google are found."""
    (folder / "x.jsonl").write_text('{"conversation_id": "c", "turns": [{"user": "a", "agent": "b"}]}\n')
    environ = {name: value for name, value in os.environ.items() if "EMULATOR" not in name}
    environ |= {"NO_GCE_CHECK": "true", "HOME": str(folder), "CLOUDSDK_CONFIG": str(folder / "none"), **more}
    environ.pop("GOOGLE_APPLICATION_CREDENTIALS", None)
    command = [sys.executable, *([] if arguments[0] == "-c" else ["-m", "turnwise"]), *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=300)


def test_a_dry_run_for_dataflow_needs_no_credentials(tmp_path):
    places = [
        "--input",
        "gs://some-bucket/x/",
        "--output=gs://some-bucket/o",
        "--temp_location=gs://some-bucket/t",
    ]
    done = without_credentials(tmp_path, ["run", *places, *DATAFLOW, "--dry_run=True"])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("status", "needed"), [(200, False), (401, True), (404, True)])
def test_only_a_bucket_that_lists_without_credentials_needs_none(tmp_path, status, needed):
    code = "from turnwise.pipeline.settings.options import check_google; check_google('X', 'gs://b/x')"
    with answering(status) as url:
        done = without_credentials(tmp_path, ["-c", code], STORAGE_EMULATOR_HOST=url)
    assert ("X: no credentials of Google; run" in done.stderr) == needed


@contextmanager
def answering(status):
    """Serves one answer to everybody; yields its address."""

    class Answering(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b'{"error": "invalid_grant"}')

        do_POST = do_GET

        def log_message(self, *arguments):
            pass

    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{served.server_port}"
    finally:
        served.shutdown()
        thread.join()
        served.server_close()


@pytest.mark.parametrize("status", [400, 401])
def test_credentials_that_are_refused_are_one_line(tmp_path, status):
    with answering(status) as url:
        pem = rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        held = {"type": "service_account", "client_email": "a@b.c", "private_key": pem.decode()}
        held["token_uri"] = f"{url}/token"
        (tmp_path / "key.json").write_text(json.dumps(held))
        environ = os.environ | {"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "key.json")}
        command = [sys.executable, "-m", "turnwise", "run", "--input", "gs://b/x.jsonl", "--output", "out"]
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "refused" in done.stderr and "gcloud auth application-default login" in done.stderr
    assert "PRIVATE" not in done.stderr
