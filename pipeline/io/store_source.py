"""Reads the evaluations of a store as eval cases."""

from collections.abc import Iterator, Sequence

import apache_beam as beam

from turnwise.pipeline.io.sources import ReadRecords, Source
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.store.cases import store_records
from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import is_store_url


class _ReadStoreFn(beam.DoFn):
    def __init__(self, app: str) -> None:
        self._app = app

    def process(self, url: str) -> Iterator[Record]:
        yield from store_records(url, self._app)


class StoreSource:
    """Reads the evaluations of stores, each in one transaction, and the records of another source."""

    def __init__(self, urls: Sequence[str], app: str, other: Source | None) -> None:
        """Creates a source.

        Args:
            urls: URLs of the stores.
            app: Read only the evaluations of this app; "": of all apps.
            other: Another source to read.
        """
        self._urls, self._app, self._other = list(urls), app, other

    def read(self, root: beam.Pipeline, name: str) -> ReadRecords:
        """Adds the reading steps to a pipeline."""
        urls = root | f"{name}Stores" >> beam.Create(self._urls, reshuffle=False)
        records = urls | f"{name}ReadStores" >> beam.ParDo(_ReadStoreFn(self._app))
        if self._other is None:
            nothing = [root | f"{name}No{what}" >> beam.Create([]) for what in ("Failures", "Counts")]
            return ReadRecords(records, *nothing)
        others = self._other.read(root, name)
        return others._replace(records=(records, others.records) | f"{name}OfAllKinds" >> beam.Flatten())


def with_stores(files: Source | None, settings: RunSettings) -> Source:
    """Returns the source of all eval cases of a run; raises ConfigError if a store cannot be opened."""
    urls = list(dict.fromkeys(path for path in settings.eval_cases if is_store_url(path)))
    for url in urls:
        try:
            open_store(url, read_only=True).close()
        except (ConfigError, StoreError) as error:
            raise ConfigError(f"--eval_cases: {error}") from None
    return StoreSource(urls, settings.store_app, files)
