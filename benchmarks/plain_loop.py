"""The same scoring, rows, results and metrics as `turnwise run`, in a plain loop over plain files.

Usage: python -m benchmarks.plain_loop INPUT OUTPUT CONFIG RUN_ID
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pipeline.build import aggregate_versions
from pipeline.encoders import IndentedJson, JsonLines
from pipeline.run import calm_collector
from pipeline.settings import read_config
from pipeline.sinks import AGGREGATED
from schemas.record import Record
from transforms.config import build_criteria
from transforms.conversation_case import ConversationCase
from transforms.formats.registry import LogReader
from transforms.match import CaseIndex
from transforms.metrics import MetricsState
from transforms.results import RunInfo
from transforms.rows import turn_rows, version_rows
from transforms.score_turns import evaluate


class _Table:
    """A file of JSON Lines, open for as long as the `ExitStack` is."""

    def __init__(self, stack: ExitStack, path: Path, table: str) -> None:
        self._file, self._encode = stack.enter_context(path.open("wb")), JsonLines(table)

    def write(self, rows: Sequence[Any]) -> None:
        for text in self._encode.texts(rows):
            self._file.write(text + b"\n")


def score_file(logs: Path, output: Path, config: Path, run: RunInfo) -> dict[str, MetricsState]:
    """Scores every conversation of a file, writes scores and results, and returns sums by app version."""
    criteria = build_criteria(read_config(str(config)))
    reader, index = LogReader(), CaseIndex(None)
    states: dict[str, MetricsState] = {}
    with ExitStack() as stack:
        scores = _Table(stack, output / "scores-00000-of-00001.jsonl", "scores")
        results = _Table(stack, output / "results-00000-of-00001.jsonl", "results")
        stack.enter_context((output / "failures-00000-of-00001.jsonl").open("wb"))
        lines = stack.enter_context(logs.open("rb"))
        calm_collector()
        for position, line in enumerate(lines, 1):
            record = Record(str(logs), position, line)
            found = reader.read(record)
            for conversation in found if isinstance(found, list) else ():
                case = ConversationCase(conversation, index.find(conversation), record)
                evaluated = evaluate(case, criteria, run)
                scores.write(evaluated.scores)
                results.write(evaluated.result)
                version, statistics = evaluated.statistics
                states.setdefault(version, MetricsState()).add(statistics)
    return states


def write_metrics(states: dict[str, MetricsState], output: Path, run_id: str) -> None:
    entries = list(states.items())
    for table, rows in (("metrics_by_app_version", version_rows), ("metrics_by_turn", turn_rows)):
        lists: list[Sequence[Any]] = [rows(entry, run_id) for entry in entries]
        content = JsonLines(table).file(lists)
        (output / f"{table}.jsonl").write_bytes(content)
    (output / f"{AGGREGATED}.json").write_bytes(IndentedJson().file(aggregate_versions(entries)))


def main(logs: str, output: str, config: str, run_id: str) -> None:
    directory = Path(output)
    directory.mkdir(parents=True)
    started = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    states = score_file(Path(logs), directory, Path(config), RunInfo(run_id, started))
    write_metrics(states, directory, run_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
