"""Says whether the run of an earlier date must be repeated, because its input files have changed."""

from typing import NamedTuple

from turnwise.pipeline.io.input_files import list_inputs, names_nothing
from turnwise.pipeline.io.run_reader import open_run
from turnwise.pipeline.io.terminal import counted
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError
from turnwise.schemas.input_files import files_changed
from turnwise.schemas.run import RunDocument


class Again(NamedTuple):
    """Whether a date runs again, and why."""

    runs: bool
    why: str


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
        return Again(False, "there is no input" + ("; its run stays" if before else ", and no run"))
    if before is None:
        return Again(True, f"{settings.output} holds no finished run")
    if before.input_files is None:
        return Again(True, "its run.json does not list its input files")
    changes = files_changed(before.input_files, now)
    return Again(bool(changes), changes or f"{counted(now.count, 'input file')} as before")


def _earlier(directory: str) -> RunDocument | None:
    try:
        return open_run(directory).document
    except ConfigError:
        return None
