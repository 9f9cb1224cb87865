"""Decides how many processes of this machine work on a batch."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TypeAlias

from msgspec.structs import replace

from turnwise.pipeline.io.files import SizedPath, file_records, listed_files
from turnwise.pipeline.io.records import named_as_lines
from turnwise.pipeline.io.shards import divided_among
from turnwise.pipeline.settings.cores import usable_cores
from turnwise.pipeline.settings.options import is_bigquery
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_local, is_sqlite_url, is_store_url
from turnwise.schemas.score import Failure
from turnwise.transforms.formats.events import ConversationEvent, may_hold_events
from turnwise.transforms.formats.reading import LogReader, parse_record
from turnwise.transforms.formats.registry import AUTO

Listed: TypeAlias = Sequence[SizedPath | Failure]
_LEAST_BYTES = 4 << 20
"""With so much to read each, two workers take 0.85 of the critical path of one process."""
_LOOKED_AT = 64
_LARGEST_LOOKED_AT = 8 << 20


def fit_processes(
    settings: RunSettings, stated: int | None, cores: Callable[[], int] = usable_cores
) -> RunSettings:
    """Returns the settings with the number of worker processes; 1: all is done in the process of the command.

    Args:
        settings: Settings of the run.
        stated: `--workers`; None: as many as pay.
        cores: Returns the number of processors.

    Raises:
        ConfigError: `--workers` is wrong, or for another kind of run.
    """
    if stated is not None:
        _check(settings, stated)
    is_here = not (settings.is_distributed or settings.is_streaming)
    if not is_here or settings.judge.only_estimates or any(map(is_bigquery, settings.input)):
        return settings
    is_alone = _have_no_share(settings) or _is_remote(settings)
    most = (1 if is_alone else cores()) if stated is None else stated
    if settings.judged and settings.judge.kind.connect:
        most = min(most, settings.judge.concurrency)
    if most == 1:
        return settings
    listed = _listed(settings.input)
    if stated is None:
        most = min(most, _most_that_pay(settings, listed))
    most = min(most, len(divided_among(listed, max(1, most))))
    return settings if most < 2 or _holds_events(settings, listed) else replace(settings, workers=most)


def _check(settings: RunSettings, stated: int) -> None:
    if stated < 1:
        raise ConfigError(f"--workers must be 1 or more, not {stated}")
    if settings.judge.only_estimates and stated > 1:
        raise ConfigError("--workers cannot be used with --estimate")
    if settings.is_distributed:
        raise ConfigError("--workers is for DirectRunner; other runners start workers of their own")


def _have_no_share(settings: RunSettings) -> bool:
    """Returns whether several processes would wait for a database, or ask a judge the same twice."""
    is_asking = bool(settings.judged and settings.judge.kind.connect)
    return is_sqlite_url(settings.store) or (is_asking and not settings.judge.config.cache)


def _is_remote(settings: RunSettings) -> bool:
    """Returns whether files lie on other machines, which would be asked for their sizes before the run."""
    return any(not (is_local(one) or is_store_url(one)) for one in (*settings.input, *settings.eval_cases))


def _most_that_pay(settings: RunSettings, listed: Listed) -> int:
    """Returns how many workers have enough to read: at least as much as the eval cases, which each reads."""
    cases = _listed([path for path in settings.eval_cases if not is_store_url(path)])
    return _bytes(listed) // max(_LEAST_BYTES, _bytes(cases))


def _bytes(listed: Listed) -> int:
    return sum(one.size for one in listed if isinstance(one, SizedPath))


def _listed(paths: Sequence[str]) -> Listed:
    try:
        return listed_files(list(paths))
    except Exception:  # of a filesystem: the run itself says what is wrong
        return []


def _holds_events(settings: RunSettings, listed: Listed) -> bool:
    """Returns whether some files begin with events, which one process joins over all files."""
    if not may_hold_events(settings.input_format):
        return False
    if settings.input_format != AUTO:
        return True
    reader = LogReader(settings.input_format, settings.config)
    paths = [one.path for one in listed if isinstance(one, SizedPath) and _is_shown(one)]
    for path in paths[:: len(paths) // _LOOKED_AT + 1]:
        for record in islice(file_records(path, settings.max_record_bytes), 1):
            found = [] if isinstance(record, Failure) else parse_record(reader, record, Counter())
            if any(isinstance(one, ConversationEvent) for one in found):
                return True
    return False


def _is_shown(file: SizedPath) -> bool:
    """Returns whether the first record of a file is found without reading much."""
    return named_as_lines(file.path) or file.size <= _LARGEST_LOOKED_AT
