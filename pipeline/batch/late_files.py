"""Says whether the run of an earlier date must be repeated, because its input files have changed."""

from typing import NamedTuple

from turnwise.pipeline.io.input_files import list_inputs, names_nothing
from turnwise.pipeline.io.run_reader import open_run
from turnwise.pipeline.io.terminal import counted
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError
from turnwise.schemas.run import RunDocument, files_changed


class Again(NamedTuple):
    """Whether a date runs again, and why.

    Attributes:
        runs: Whether it runs again.
        why: Why it does or does not.
        status: Exit status of the run that stays: its own; 2: there is none.
    """

    runs: bool
    why: str
    status: int = 0


def why_again(settings: RunSettings) -> Again:
    """Compares the input files with those of the finished run in the output directory.

    A date whose input is gone keeps its run: to repeat it would lose it.

    Raises:
        ConfigError: The input files cannot be listed, so that it is not known whether they changed.
        OSError: A filesystem does not answer.
    """
    now = list_inputs([path for path in settings.input if not names_nothing(path)])
    if now is None:
        raise ConfigError("--lookback: inputs are not all files and tables: changes of others are not known")
    before = _earlier(settings.output)
    if not now.count:
        if isinstance(before, ConfigError):
            return Again(False, f"there is no input, and no run: {before}", 2)
        return _stays("there is no input; its run stays", before)
    if isinstance(before, ConfigError):
        return Again(True, f"there is no run: {before}")
    if before.input_files is None:
        return Again(True, "its run.json does not list its input files")
    changes = files_changed(before.input_files, now)
    return (
        Again(True, changes) if changes else _stays(f"{counted(now.count, 'input file')} as before", before)
    )


def _stays(why: str, run: RunDocument) -> Again:
    return Again(False, "; ".join((why, *run.problems)), run.exit_status)


def _earlier(directory: str) -> RunDocument | ConfigError:
    """Returns the finished run of a directory, or why there is none."""
    try:
        return open_run(directory).document
    except ConfigError as error:
        return error
