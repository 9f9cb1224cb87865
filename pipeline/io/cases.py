"""Eval cases that are read before a run, not by its pipeline."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from turnwise.pipeline.io.files import file_patterns, file_records, matched_files
from turnwise.schemas.case import CaseKey, EvalCase
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import is_store_url
from turnwise.schemas.score import Failure, Stage
from turnwise.transforms.formats.reading import CaseReader, distinct_case, parse_case


class Cases(NamedTuple):
    """Eval cases with distinct keys, what could not be read of them, and the source of each case."""

    cases: list[EvalCase]
    failures: list[Failure]
    sources: list[str]


def read_cases(
    found: Iterable[tuple[Record, EvalCase] | Record | Failure], reader: CaseReader, counts: Counter[str]
) -> Cases:
    """Reads records of eval cases; what is a case already is taken as it is."""
    by_key: defaultdict[CaseKey, list[tuple[Record, EvalCase]]] = defaultdict(list)
    failures: list[Failure] = []
    for one in found:
        if isinstance(one, Failure):
            counts["lost_cases"] += 1
            failures.append(one)
        elif isinstance(one, Record):
            for case in parse_case(reader, one, counts):
                if isinstance(case, Failure):
                    failures.append(case)
                else:
                    by_key[case[1].key].append(case)
        else:
            counts["cases"] += 1
            by_key[one[1].key].append(one)
    cases, sources = list[EvalCase](), list[str]()
    for entries in by_key.values():
        distinct, repeated = distinct_case(entries, counts)
        failures += repeated
        if distinct is not None:
            cases.append(distinct)
            sources.append(entries[0][0].source)
    return Cases(cases, failures, sources)


def case_records(
    option: str, paths: Sequence[str], limit: int, store_app: str = "", stage: Stage = "read"
) -> Iterator[Record | Failure]:
    """Yields the records of files and stores.

    Raises:
        ConfigError: A path names nothing, or a store cannot be opened.
    """
    for path in matched_files(file_patterns(option, [path for path in paths if not is_store_url(path)])):
        yield from file_records(path, limit, stage)
    urls = [path for path in dict.fromkeys(paths) if is_store_url(path)]
    if urls:
        from turnwise.pipeline.store.database import try_store
        from turnwise.pipeline.store.evaluations import store_records

        for url in urls:
            try_store(option, url, read_only=True).close()
            yield from store_records(url, store_app)
