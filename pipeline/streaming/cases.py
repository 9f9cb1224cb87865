"""Reads the eval cases of a stream before it starts."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from turnwise.pipeline.io.sources import file_patterns, matched_files, read_records
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.store.urls import is_store_url
from turnwise.schemas.case import CaseKey, EvalCase
from turnwise.schemas.failure import Failure, record_failure
from turnwise.schemas.record import Record
from turnwise.transforms.beam.parse import distinct_case
from turnwise.transforms.formats.registry import CaseReader
from turnwise.transforms.matching.cases import CaseIndex


class Cases(NamedTuple):
    """Eval cases, and the failures of reading them."""

    by_id: CaseIndex
    failures: list[Failure]


def read_cases(settings: RunSettings) -> Cases | None:
    """Reads all eval cases.

    Returns:
        The cases; None if --eval_cases was not given.

    Raises:
        ConfigError: A path does not exist, or a store cannot be opened.
    """
    if not settings.eval_cases:
        return None
    names = tuple(name for name in settings.eval_cases if not is_store_url(name))
    paths = matched_files(file_patterns("--eval_cases", names)) if names else []
    found: defaultdict[CaseKey, list[tuple[Record, EvalCase]]] = defaultdict(list)
    failures: list[Failure] = []
    reader = CaseReader(settings.config.ces)
    read = chain(*(_records(path, settings.max_record_bytes) for path in paths), _stored(settings))
    for record in read:
        if isinstance(record, Failure):
            failures.append(record)
            continue
        for case in _cases(reader, record):
            if isinstance(case, Failure):
                failures.append(case)
            else:
                found[case.key].append((record, case))
    distinct = [distinct_case(entries) for entries in found.values()]
    failures += [failure for _, repeated in distinct for failure in repeated]
    return Cases(CaseIndex([case for case, _ in distinct if case is not None]), failures)


def _stored(settings: RunSettings) -> Iterator[Record]:
    """Yields the evaluations of the stores in --eval_cases; raises ConfigError if one cannot be opened."""
    urls = [name for name in dict.fromkeys(settings.eval_cases) if is_store_url(name)]
    if urls:
        from turnwise.pipeline.io.store_source import store_records
        from turnwise.pipeline.store.engine import try_store

        for url in urls:
            try_store("--eval_cases", url, read_only=True).close()
            yield from store_records(url, settings.store_app)


def _records(path: str | Failure, limit: int) -> Iterator[Record | Failure]:
    if isinstance(path, Failure):
        yield path
        return
    try:
        yield from read_records(path, limit)
    except Exception as error:
        yield record_failure("parse_case", error, Record(path, 0, b""))


def _cases(reader: CaseReader, record: Record) -> Iterator[EvalCase | Failure]:
    try:
        found = reader.read(record)
    except Exception as error:
        yield record_failure("parse_case", error, record)
        return
    for case in found:
        yield record_failure("parse_case", case, record) if isinstance(case, ValueError) else case
