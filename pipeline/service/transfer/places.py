"""Reads and writes the files of imports and exports, on Beam's filesystems."""

from turnwise.pipeline.service.errors import ServiceError, invalid
from turnwise.pipeline.settings.extras import check_places
from turnwise.pipeline.settings.rows_address import is_bigquery
from turnwise.pipeline.store.urls import is_store_url
from turnwise.schemas.config import ConfigError
from turnwise.schemas.paths import is_local

MOST_BYTES = 64 * 1024 * 1024
"""Size of what is imported or exported at once, unpacked."""


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
    from apache_beam.io.filesystem import BeamIOError, CompressionTypes
    from apache_beam.io.filesystems import FileSystems

    try:
        with FileSystems.open(uri, compression_type=CompressionTypes.UNCOMPRESSED) as file:
            content = bytes(file.read(MOST_BYTES + 1))
    except (OSError, BeamIOError, ValueError) as error:
        raise invalid(field, f"cannot be read: {_line(error)}") from None
    check_size(field, len(content))
    return content


def write_file(field: str, uri: str, content: bytes) -> None:
    """Writes a file.

    Raises:
        ServiceError: It cannot be written.
    """
    from apache_beam.io.filesystem import BeamIOError, CompressionTypes
    from apache_beam.io.filesystems import FileSystems

    try:
        with FileSystems.create(uri, compression_type=CompressionTypes.UNCOMPRESSED) as file:
            file.write(content)
    except (OSError, BeamIOError, ValueError) as error:
        raise invalid(field, f"cannot be written: {_line(error)}") from None


def check_size(field: str, size: int) -> None:
    """Raises ServiceError if something is larger than can be imported or exported at once."""
    if size > MOST_BYTES:
        raise invalid(field, f"is larger than {MOST_BYTES // 1024 // 1024} MiB")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
