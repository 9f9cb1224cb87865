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

from turnwise.pipeline.settings.extras import check_places
from turnwise.schemas.config import ConfigError

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "pipeline/sample_data"
LOGS = str(SAMPLE / "conversations")
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


JUDGED = [
    "run",
    "--input",
    LOGS,
    "--eval_cases",
    str(SAMPLE / "cases"),
    "--output",
    "out",
    "--judge_cache",
    "none",
]
NEEDS = [
    (["run", "--input", "gs://b/logs/", "--output", "out"], "turnwise[gcp]"),
    (["run", "--input", "s3://b/logs/", "--output", "out"], "apache-beam[aws]"),
    (["run", "--input", "azfs://b/logs/", "--output", "out"], "apache-beam[azure]"),
    (["run", "--input", "hdfs://b/logs/", "--output", "out"], "apache-beam[hadoop]"),
    (["run", "--input", LOGS, "--output", "out", "--store", "sqlite:///x.db"], "turnwise[store]"),
    (["run", "--input", LOGS, "--output", "out", "--store", "postgresql://h/d"], "turnwise[postgres]"),
    (["run", "--input", LOGS, "--output", "out", "--store", "bigquery://our-project/d"], "turnwise[gcp]"),
    (["run", "--streaming", "--input", "kafka://h:9/t?group=g", "--output", "out"], "turnwise[kafka]"),
    (["run", "--streaming", "--input", "otlp://127.0.0.1:0", "--output", "out"], "turnwise[otlp]"),
    (
        ["run", "--streaming", "--input", "pubsub:projects/p/subscriptions/s", "--output", "out"],
        "turnwise[gcp]",
    ),
    ([*JUDGED, "--judge_model", "openai/gpt-4o"], "turnwise[openai]"),
    ([*JUDGED, "--judge_model", "anthropic/claude-x"], "turnwise[anthropic]"),
    (["tools", "gs://b/logs/"], "turnwise[gcp]"),
    (["serve", "--store", "sqlite:///x.db"], "turnwise[store]"),
    *(
        (["store", *words, "--store", "sqlite:///x.db"], "turnwise[store]")
        for words in (["runs"], ["prune", "--older_than", "9d"], ["delete", "run", "x"], ["check"])
    ),
    (["store", "backup", "copy.db", "--store", "sqlite:///x.db"], "turnwise[store]"),
    (["store", "delete", "user", "x", "--store", "postgresql://h/d"], "turnwise[postgres]"),
    (["compare", "--store", "sqlite:///x.db", "--baseline", "a", "--candidate", "b"], "turnwise[store]"),
    (["run", "--input", LOGS, "--output", "out", "--baseline", "sqlite:///x.db#r"], "turnwise[store]"),
    (["run", "--input", LOGS, "--output", "out", "--baseline", "s3://b/out"], "apache-beam[aws]"),
    (["run", "--input", LOGS, "--output", "out", "--config", "gs://b/c.json"], "turnwise[gcp]"),
    *(([command, "s3://b/out"], "apache-beam[aws]") for command in ("gate", "status")),
]


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> list[Refused]:
    """Returns how all the commands end, each in a process without the packages of the extras."""
    place = tmp_path_factory.mktemp("without_extras")
    given = json.dumps([arguments for arguments, _ in NEEDS])
    keys = {"OPENAI_API_KEY": "key", "ANTHROPIC_API_KEY": "key"}
    command = [*BASE, "--each"]
    done = subprocess.run(
        command, cwd=place, input=given, capture_output=True, text=True, env={**os.environ, **keys}
    )
    assert done.returncode == 0, done.stderr
    return [Refused(*values) for values in json.loads(done.stdout)]


@pytest.mark.parametrize("number", range(len(NEEDS)), ids=[" ".join(words) for words, _ in NEEDS])
def test_what_needs_an_extra_names_it(refused, number):
    done, (_, needed) = refused[number], NEEDS[number]
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
NIGHTLY = ("--output", "out/{date}", "--date", "yesterday", "--lookback", "2", "--empty_dates", "warn")
GOOGLES = (
    ["run", "--input", "gs://b/x.jsonl", "--output", "out"],
    ["run", "--input", "x.jsonl", "--config", "gs://b/c.json", "--output", "out"],
    ["run", "--streaming", "--input", "pubsub:projects/p/subscriptions/s", "--output", "out"],
    ["inspect", "gs://b/x.jsonl"],
    ["run", "--input", "x.jsonl", "--output", "out", "--store", "bigquery://some-project/rows"],
    ["run", "--streaming", "--input", "x.jsonl", "--output", "out", "--alerts", "pubsub:projects/p/topics/t"],
    ["run", "--input", "gs://b/x/", "--output", "gs://b/o", *DATAFLOW],
    ["run", "--input", "bigquery://some-project/d/t?partition={date}", *NIGHTLY],
    ["run", "--input", "gs://b/{date}/", *NIGHTLY],
)


@pytest.mark.parametrize("arguments", GOOGLES, ids=" ".join)
def test_without_credentials_of_google_one_line_says_what_to_do(tmp_path, arguments):
    done = without_credentials(tmp_path, arguments)
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
    code = "from turnwise.pipeline.settings.extras import check_google; check_google('X', 'gs://b/x')"
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
