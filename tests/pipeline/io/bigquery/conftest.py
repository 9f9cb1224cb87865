"""BigQuery on this machine, and credentials of a service account for it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.bigquery.http import started_bigquery
from tests.bigquery.service import BigQuery
from tests.served import in_environment

PROJECT = "our-project"


@pytest.fixture(scope="session")
def reader_key() -> str:
    """Returns the PEM of a key for a service account."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


@pytest.fixture
def rows(tmp_path: Path, reader_key: str) -> Iterator[BigQuery]:
    """Returns the service, to which the client of this process connects."""
    with started_bigquery(PROJECT, "logs", tmp_path / "bucket") as (service, url):
        account = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "1",
            "private_key": reader_key,
            "client_email": f"reader@{PROJECT}.iam.gserviceaccount.com",
            "token_uri": f"{url}/token",
        }
        file = tmp_path / "account.json"
        file.write_text(json.dumps(account))
        given = {"BIGQUERY_EMULATOR_HOST": url, "GOOGLE_APPLICATION_CREDENTIALS": str(file)}
        with in_environment(given):
            yield service
