"""Reads and writes the files of imports and exports, on Beam's filesystems."""

from collections.abc import Callable
from typing import TypeVar

from turnwise.pipeline.service.errors import ServiceError, invalid
from turnwise.pipeline.service.transfer.waiting import (
    TRANSFER_SECONDS,
    GoogleCredentials,
    bounded,
    one_line,
)
from turnwise.pipeline.settings.extras import check_places
from turnwise.pipeline.settings.rows_address import is_bigquery
from turnwise.pipeline.store.urls import is_store_url
from turnwise.schemas.config import ConfigError
from turnwise.schemas.paths import is_local

T = TypeVar("T")

MOST_BYTES = 64 * 1024 * 1024
"""Size of what is imported or exported at once, unpacked."""

_CREDENTIALS = GoogleCredentials()


def check_uri(field: str, uri: str) -> None:
    """Checks that a URI names a place outside this machine.

    Raises:
        ServiceError: It does not, or the package for its filesystem is not installed.
    """
    if is_local(uri) or is_store_url(uri) or is_bigquery(uri) or uri.lower().startswith("file:"):
        raise invalid(field, "must be a URI such as gs://bucket/object")
    try:
        check_places(field, [uri])
    except ConfigError as error:
        raise ServiceError("FAILED_PRECONDITION", str(error)) from None


def read_file(field: str, uri: str) -> bytes:
    """Returns the content of a file.

    Raises:
        ServiceError: It cannot be read, or is too large.
    """
    from apache_beam.io.filesystem import CompressionTypes
    from apache_beam.io.filesystems import FileSystems

    def read() -> bytes:
        with FileSystems.open(uri, compression_type=CompressionTypes.UNCOMPRESSED) as file:
            return bytes(file.read(MOST_BYTES + 1))

    content = _transferred(field, uri, "read", read)
    check_size(field, len(content))
    return content


def write_file(field: str, uri: str, content: bytes) -> None:
    """Writes a file.

    Raises:
        ServiceError: It cannot be written.
    """
    from apache_beam.io.filesystem import CompressionTypes
    from apache_beam.io.filesystems import FileSystems

    def write() -> None:
        with FileSystems.create(uri, compression_type=CompressionTypes.UNCOMPRESSED) as file:
            file.write(content)

    _transferred(field, uri, "written", write)


def _transferred(field: str, uri: str, what: str, work: Callable[[], T]) -> T:
    _CREDENTIALS.check(field, uri)
    try:
        return bounded(work, TRANSFER_SECONDS)
    except TimeoutError as error:
        raise ServiceError("UNAVAILABLE", f"cannot be {what}: {one_line(error)}", field) from None
    except Exception as error:  # each filesystem has errors of its own
        raise invalid(field, f"cannot be {what}: {one_line(error)}") from None


def check_size(field: str, size: int) -> None:
    """Raises ServiceError if something is larger than can be imported or exported at once."""
    if size > MOST_BYTES:
        raise invalid(field, f"is larger than {MOST_BYTES // 1024 // 1024} MiB")
