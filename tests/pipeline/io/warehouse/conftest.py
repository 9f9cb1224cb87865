"""Small runs, staged rows, and BigQuery on this machine."""

import json
from contextlib import contextmanager
from uuid import uuid4

import pytest
from pyarrow.parquet import write_table

from tests.bigquery.append import started_storage
from tests.bigquery.http import started_bigquery
from tests.served import in_environment
from turnwise.pipeline.io.bigquery_source import STORAGE_EMULATOR
from turnwise.pipeline.io.staging import StagedRows, staged_columns
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.schemas.rows import arrow_rows, arrow_schema

PROJECT, DATASET = "our-project", "nightly"
SECRET = "token-of-the-own-identity-provider"


def conversation(name, version="v1", said="Hello", **more):
    turn = {"user": "Hi", "agent": said, "expected": {"response": "Hello"}}
    return {"conversation_id": name, "app_version": version, "turns": [turn], **more}


def place(url, output, run_id="night", day="2026-11-21", start="1"):
    return SinkPlace(url, "", run_id, f"2026-11-22T01:00:00.00{start}Z", day, str(output))


def staged(folder, table, *rows, day=None, version="v1"):
    """Writes a staged file; with a day as for one table of all versions."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{table}.{uuid4().hex}.parquet"
    schema = arrow_schema(staged_columns(table, by_version=day is None))
    content, unfit = arrow_rows([{"date": day, **row} for row in rows], schema)
    assert not unfit
    write_table(content, path)
    return StagedRows(table, version, str(path), len(rows), ())


@pytest.fixture(scope="session")
def score(turnwise):
    """Returns a function that runs the command over conversations, into a store."""

    def run(folder, store, *records, run_id="night", **more):
        log = folder / "log.jsonl"
        log.write_text("".join(json.dumps(record) + "\n" for record in records))
        options = [f"--{name}={value}" for name, value in more.items()]
        given = (
            "--input",
            log,
            "--judge=none",
            "--overwrite",
            f"--run_id={run_id}",
            "--store",
            store,
            *options,
        )
        return turnwise("run", *given, output=folder / "out")

    return run


@contextmanager
def connected(folder, dataset):
    """Yields the service, which the client of this process uses with a federated identity."""
    with started_bigquery(PROJECT, dataset, folder / "bucket") as (service, address):
        subject, file = folder / "subject", folder / "account.json"
        subject.write_text(SECRET)
        account = {
            "type": "external_account",
            "audience": "//iam.googleapis.com/of-the-tests",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": f"{address}/token",
            "credential_source": {"file": str(subject)},
        }
        file.write_text(json.dumps(account))
        own = {"BIGQUERY_EMULATOR_HOST": address, "GOOGLE_APPLICATION_CREDENTIALS": str(file)}
        with in_environment(own):
            yield service


@pytest.fixture
def bigquery(tmp_path):
    """Returns the service with the dataset that runs are written to."""
    with connected(tmp_path, DATASET) as service:
        yield service


@pytest.fixture
def rows(tmp_path):
    """Returns the service with the dataset that logs are read from."""
    with connected(tmp_path, "logs") as service, started_storage(service) as (_, address):
        service.tables |= {"turns": {}, "agent_events": {}}
        with in_environment({STORAGE_EMULATOR: address}):
            yield service


@pytest.fixture
def appends(bigquery):
    """Returns the service to which the client of this process appends."""
    with started_storage(bigquery) as (service, address), in_environment({STORAGE_EMULATOR: address}):
        yield service
