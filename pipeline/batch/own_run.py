"""Says whether a run may replace what its output directory holds."""

from turnwise.pipeline.io.directory import (
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
        ConfigError: A run with a date meets a finished run with another id.
    """
    if settings.overwrite or settings.date is None:
        return settings.overwrite
    names = [path.rsplit("/", 1)[-1] for path in earlier_files(settings.output)]
    if RUN_FILE not in names:
        return not any(name.startswith(_OF_STREAMS) for name in names)
    found = _run_id(settings.output)
    if found == settings.run.run_id:
        return True
    what = f"holds the run {found}, not {settings.run.run_id}: inputs or config are others"
    raise ConfigError(f"--output {settings.output}: {what}; --overwrite replaces it")


def _run_id(directory: str) -> object:
    try:
        document = read_run_file(directory)
    except ValueError:
        return "of a broken run.json"
    return document.get("run_id") if isinstance(document, dict) else "of a broken run.json"
