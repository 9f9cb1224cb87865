"""The source of a run's logs: files, and rows of BigQuery."""

from turnwise.pipeline.io.files import file_patterns
from turnwise.pipeline.io.sources import FileSource, Source
from turnwise.pipeline.settings.options import is_bigquery
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError

_LOST = "unread_records"


def log_source(settings: RunSettings) -> Source:
    """Returns the source of all logs of a run.

    Raises:
        ConfigError: An input does not exist, or cannot be read.
    """
    limit, spread = settings.max_record_bytes, settings.is_distributed
    patterns = file_patterns("--input", [path for path in settings.input if not is_bigquery(path)])
    files = FileSource(patterns, limit, _LOST, spread)
    rows = [path for path in settings.input if is_bigquery(path)]
    if not rows:
        return files
    # Imported late: it needs Google's libraries.
    from turnwise.pipeline.io.bigquery.query import prepare_query
    from turnwise.pipeline.io.bigquery.source import BigQuerySource

    try:
        queries = [prepare_query(path) for path in dict.fromkeys(rows)]
    except ConfigError as error:
        raise ConfigError(f"--input: {error}") from None
    return BigQuerySource(queries, files if patterns else None, limit, _LOST, spread)
