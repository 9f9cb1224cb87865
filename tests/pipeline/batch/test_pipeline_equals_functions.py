"""The graph and the plain functions say the same of the same data."""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from turnwise.pipeline.batch.build import aggregate_versions, build
from turnwise.pipeline.io.files import read_records
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.failure import Failure
from turnwise.schemas.record import Record
from turnwise.schemas.run import RunInfo
from turnwise.transforms.ces.results import ConversationResult, evaluation_result, result_message
from turnwise.transforms.evaluation import RULES
from turnwise.transforms.formats.registry import CaseReader, LogReader
from turnwise.transforms.matching.cases import CaseIndex
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.metrics.rows import result_row, score_rows, turn_rows, version_rows
from turnwise.transforms.metrics.state import MetricsState
from turnwise.transforms.scoring.config import build_criteria
from turnwise.transforms.scoring.conversation import ScoredConversation, score_conversation
from turnwise.transforms.scoring.verdict import Verdict, conversation_verdict

CONFIG = EvalConfig()
SETTINGS = RunSettings(
    run=RunInfo("run-1", "2026-11-21T00:00:00.000Z"), config=CONFIG, criteria=build_criteria(CONFIG)
)


class MemorySource:
    """Records that are there already."""

    def __init__(self, records: list[Record]) -> None:
        self._records = records

    def read(self, root: beam.Pipeline, name: str) -> tuple[Any, Any]:
        records = root | f"{name}Create" >> beam.Create(self._records)
        return records, root | f"{name}Nothing" >> beam.Create([])


class AppendFn(beam.DoFn):
    """Appends what comes to a file, one JSON text a line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def process(self, element: Any) -> None:
        rows = element if isinstance(element, list) else [element]
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


class AppendingSink:
    """Tables as files that grow."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write_table(self, rows: Any, table: str, part: str = "") -> None:
        _ = rows | f"Append{table}{part}" >> beam.ParDo(AppendFn(self._folder / table))

    def write_document(self, document: Any, name: str) -> None:
        _ = document | f"Append{name}" >> beam.ParDo(AppendFn(self._folder / name))

    def finish(self, root: Any) -> None:
        """Every line is written already."""

    def rows(self, table: str) -> list[Any]:
        """Returns what was written, in an order of its own."""
        path = self._folder / table
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return sorted((json.loads(line) for line in lines), key=row_key)


def row_key(row: dict[str, Any]) -> str:
    """Returns what orders rows: everything but measured numbers, which may differ in their last digit."""
    return json.dumps({k: v for k, v in row.items() if not isinstance(v, float)}, sort_keys=True)


def all_records(folder: Path) -> list[Record]:
    found = chain.from_iterable(read_records(str(path), 1 << 26) for path in sorted(folder.iterdir()))
    return [record for record in found if isinstance(record, Record)]


@pytest.fixture(scope="module")
def written(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> AppendingSink:
    sink = AppendingSink(tmp_path_factory.mktemp("sink"))
    root = beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner"]))
    logs, cases = (
        MemorySource(all_records(sample / "conversations")),
        MemorySource(all_records(sample / "cases")),
    )
    build(root, logs, cases, SETTINGS, sink)
    root.run().wait_until_finish()
    return sink


def conversations(folder: Path, failures: list[Failure | Exception]) -> Iterator[tuple[Any, Record]]:
    reader = LogReader()
    for record in all_records(folder):
        try:
            found = reader.read(record)
        except ValueError as error:
            failures.append(error)
            continue
        assert isinstance(found, list), "the sample data holds no session log entries"
        yield from ((conversation, record) for conversation in found)


class Evaluated(NamedTuple):
    """What the functions say of one conversation."""

    scored: ScoredConversation
    verdict: Verdict
    result: ConversationResult


def evaluated(sample: Sample) -> Evaluated:
    scored = score_conversation(sample, SETTINGS.criteria)
    verdict = conversation_verdict(scored, RULES)
    return Evaluated(scored, verdict, evaluation_result(scored, verdict))


class Plain:
    """The sample data, evaluated in a loop."""

    def __init__(self, sample: Path) -> None:
        self.failures: list[Any] = []
        self.evaluated: list[Evaluated] = []
        reader = CaseReader(CONFIG.ces)
        index = CaseIndex(
            [
                case
                for r in all_records(sample / "cases")
                for case in reader.read(r)
                if isinstance(case, EvalCase)
            ]
        )
        for conversation, record in conversations(sample / "conversations", self.failures):
            try:
                case = Sample(conversation, index.find(conversation), record)
            except LookupError as error:
                self.failures.append(error)
                continue
            self.evaluated.append(evaluated(case))
        self.states: dict[str, MetricsState] = {}
        for one in self.evaluated:
            state = self.states.setdefault(one.scored.sample.conversation.app_version or "", MetricsState())
            state.add(one.scored, one.verdict, one.result.parts())


@pytest.fixture(scope="module")
def plain(sample: Path) -> Plain:
    return Plain(sample)


def as_read(rows: Any) -> list[Any]:
    return sorted(json.loads(json.dumps(list(rows))), key=row_key)


def test_score_rows(written: AppendingSink, plain: Plain) -> None:
    rows = chain.from_iterable(score_rows(one.scored, "run-1") for one in plain.evaluated)
    assert written.rows("scores") == as_read(rows)
    assert len(written.rows("scores")) > 400


def test_results(written: AppendingSink, plain: Plain) -> None:
    rows = [
        result_row(
            one.scored.sample,
            one.result.verdict,
            one.result.name,
            result_message(one.result, SETTINGS.run),
        )
        for one in plain.evaluated
    ]
    assert written.rows("results") == as_read(rows)
    assert len(rows) == 59


def test_failures(written: AppendingSink, plain: Plain) -> None:
    lost = [type(error).__name__ for error in plain.failures]
    raised = [failure.error_type for one in plain.evaluated for failure in one.scored.failures]
    assert sorted(row["error_type"] for row in written.rows("failures")) == sorted(lost + raised)


@pytest.mark.parametrize(
    ("table", "rows"), [("metrics_by_app_version", version_rows), ("metrics_by_turn", turn_rows)]
)
def test_metrics(written: AppendingSink, plain: Plain, table: str, rows: Any) -> None:
    expected = as_read(chain.from_iterable(rows(entry, "run-1") for entry in plain.states.items()))
    found = written.rows(table)
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        for key, value in other.items():
            assert one[key] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)


def test_aggregated_metrics(written: AppendingSink, plain: Plain) -> None:
    assert written.rows("aggregated_metrics") == [aggregate_versions(list(plain.states.items()))]
