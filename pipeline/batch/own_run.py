"""Says whether a run may replace what its output directory holds."""

from turnwise.pipeline.io.run_writer import (
    ALERTS_FILE,
    PROGRESS_FILE,
    RECEIVED_FILE,
    earlier_files,
    read_run_file,
)
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError
from turnwise.schemas.run import RUN_FILE

_OF_STREAMS = (PROGRESS_FILE, RECEIVED_FILE, ALERTS_FILE)


def replaces_earlier(settings: RunSettings) -> bool:
    """Returns whether a run may replace an earlier one in its output directory.

    It may with `--overwrite`. A run with a date also replaces itself, and what batches that did not finish
    left.

    Raises:
        ConfigError: A run with a date meets a finished run with another id, or of another date.
    """
    if settings.overwrite or settings.date is None:
        return settings.overwrite
    names = [path.rsplit("/", 1)[-1] for path in earlier_files(settings.output)]
    if RUN_FILE not in names:
        return not any(name.startswith(_OF_STREAMS) for name in names)
    run_id, date = _run(settings.output)
    if run_id != settings.run.run_id:
        what = f"holds the run {run_id}, not {settings.run.run_id}: inputs or config are others"
    elif date != settings.date:
        what = f"holds the run {run_id} of {date}, not of {settings.date}"
    else:
        return True
    raise ConfigError(f"--output {settings.output}: {what}; --overwrite replaces it")


def _run(directory: str) -> tuple[object, object]:
    """Returns id and date of the run in a directory."""
    try:
        document = read_run_file(directory)
        return document.get("run_id"), document.get("date")
    except (ValueError, AttributeError):
        return "of a broken run.json", None
