"""Eval cases of a stream, which are read again while it runs."""

import json
from collections import Counter
from collections.abc import Callable, Collection
from hashlib import blake2b
from threading import Lock
from time import monotonic

from msgspec import Struct
from msgspec.structs import replace

from turnwise.pipeline.io.files import case_records, list_inputs, read_cases
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import CesConfig, ConfigError, MatchCasesBy
from turnwise.schemas.conversation import Receipt, Record
from turnwise.schemas.score import Failure, record_failure
from turnwise.transforms.beam.windows import CurrentCases
from turnwise.transforms.formats.reading import CaseReader
from turnwise.transforms.matching.sample import CaseIndex

_OPTION = "--eval_cases"


class CasePlaces(Struct, frozen=True):
    """Where the eval cases of a stream are.

    Attributes:
        paths: Files, directories, globs and addresses of stores.
        limit: A record of more bytes is a failure.
        store_app: Read only this app's evaluations of a store; "": those of all apps.
        ces: How CES cases are judged where they do not say.
        every: Seconds between two looks for changes.
        match_by: What finds the case of a conversation that names none.
    """

    paths: tuple[str, ...]
    limit: int
    store_app: str
    ces: CesConfig
    every: float
    match_by: MatchCasesBy | None = None

    def read(self) -> tuple[CaseIndex, list[Failure]]:
        """Reads all cases; raises ConfigError if there is none: the stream would not be held against any."""
        records = case_records(_OPTION, self.paths, self.limit, self.store_app, "parse_case")
        index, failures = read_cases(records, CaseReader(self.ces), Counter(), self.match_by)
        if next(iter(index), None) is None:
            first = f": {failures[0].message}" if failures else ""
            raise ConfigError(f"{_OPTION} {self.paths[0]}: no eval case was read{first}")
        return index, failures


def case_places(settings: RunSettings) -> CasePlaces | None:
    """Returns where the eval cases of a stream are; None: none are given."""
    cases, limit, config = settings.eval_cases, settings.max_record_bytes, settings.config
    every = settings.stream.refresh_cases
    places = CasePlaces(cases, limit, settings.store_app, config.ces, every, config.match_cases_by)
    return places if cases else None


class CaseBook:
    """The eval cases of a stream as they were last read.

    A case that was read before and is not found in a file stays as it was as long as something in that file
    cannot be read; so do all, if nothing can be read. A case that is gone from a readable file is removed.
    """

    def __init__(self, places: CasePlaces, clock: Callable[[], float] = monotonic) -> None:
        """Reads the cases; raises ConfigError if there is none."""
        self._places, self._clock, self._lock = places, clock, Lock()
        self.index = CaseIndex()
        self._known: set[Receipt] = set()
        self._unreported: list[Failure] = []
        self._files = list_inputs(places.paths, _OPTION)
        self._take(*places.read())
        self._looked = clock()

    @property
    def is_due(self) -> bool:
        """Whether `refresh` has something to do."""
        return bool(self._unreported) or self._clock() - self._looked >= self._places.every

    def refresh(self) -> list[Failure]:
        """Reads what changed, if it is time for it; returns failures that were not returned before."""
        with self._lock:
            if self._clock() - self._looked >= self._places.every:
                try:
                    files = list_inputs(self._places.paths, _OPTION)
                    if files is None or files != self._files or self._known:
                        self._take(*self._places.read())
                        self._files = files
                except Exception as error:
                    self._report([record_failure("parse_case", error, Record(self._places.paths[0], 0, b""))])
                self._looked = self._clock()
            failures, self._unreported = self._unreported, []
            return failures

    def _take(self, index: CaseIndex, failures: Collection[Failure]) -> None:
        faulty = {failure.source for failure in failures if failure.source}
        folders = tuple(f"{folder.rstrip('/')}/" for folder in faulty)
        for case in self.index if faulty else ():
            source = json.loads(case.source)
            if (source in faulty or source.startswith(folders)) and not index.has(case.key):
                index.add([case])
        self.index = index
        self._report(failures)

    def _report(self, failures: Collection[Failure]) -> None:
        known = set[Receipt]()
        for failure in failures:
            # By a receipt of its own, a stream that goes on tells a failure apart.
            text = f"{failure.error_type} {failure.message} {failure.record}"
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            receipt = Receipt(f"{failure.source} {digest}", failure.position or 0)
            known.add(receipt)
            if receipt not in self._known:
                self._unreported.append(replace(failure, receipts=(receipt,)))
        self._known = known


_BOOKS: dict[str, CaseBook] = {}
_OPENING = Lock()


def worker_cases(places: CasePlaces) -> CurrentCases:
    """Returns the cases on a worker. The first call in a process waits until they are read."""
    with _OPENING:
        book = _BOOKS.get(repr(places)) or _BOOKS.setdefault(repr(places), CaseBook(places))
    failures = book.refresh()
    return CurrentCases(book.index, failures)
