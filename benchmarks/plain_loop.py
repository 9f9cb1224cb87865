"""Scores as `turnwise run` does, in a plain loop over plain files.

Usage: python -m benchmarks.plain_loop INPUT OUTPUT CONFIG RUN_ID
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turnwise.pipeline.batch.build import aggregate_versions
from turnwise.pipeline.batch.process import calm_collector
from turnwise.pipeline.io.run_writer import AGGREGATED
from turnwise.pipeline.io.sinks import JsonLinesWriter, document_content, table_content
from turnwise.pipeline.settings.run import read_config
from turnwise.schemas.conversation import Record
from turnwise.schemas.run import RunInfo
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.sample import Sample, inline_case
from turnwise.transforms.metrics.state import MetricsState, add_conversation, turn_rows, version_rows
from turnwise.transforms.review.row import decide
from turnwise.transforms.scoring.config import build_criteria
from turnwise.transforms.scoring.evaluate import evaluate
from turnwise.transforms.scoring.selection import Criteria


def score_file(logs: Path, output: Path, config: Path, run: RunInfo) -> dict[str, MetricsState]:
    """Scores every conversation of a file, writes its rows, and returns sums by app version."""
    criteria = Criteria(build_criteria(read_config(str(config))))
    reader = LogReader()
    states: dict[str, MetricsState] = {}
    with ExitStack() as stack:
        scores, results, conversations, _ = (
            JsonLinesWriter(stack.enter_context((output / f"{table}-00000-of-00001.jsonl").open("wb")), table)
            for table in ("scores", "results", "conversations", "failures")
        )
        for writer in (scores, results, conversations):
            stack.callback(writer.finish)
        lines = stack.enter_context(logs.open("rb"))
        calm_collector()
        for position, line in enumerate(lines, 1):
            record = Record(str(logs), position, line)
            found = reader.read(record)
            for conversation in found if isinstance(found, list) else ():
                case = Sample(conversation, inline_case(conversation), record)
                evaluated = decide(evaluate(case, criteria)[0], run)
                scores.write(evaluated.scores)
                results.write(evaluated.results)
                conversations.write(evaluated.conversations)
                add_conversation(states, evaluated.scored, evaluated.verdict, evaluated.parts)
    return states


def write_metrics(states: dict[str, MetricsState], output: Path, run_id: str) -> None:
    entries = list(states.items())
    for table, rows in (("metrics_by_app_version", version_rows), ("metrics_by_turn", turn_rows)):
        lists: list[Sequence[Any]] = [rows(entry, run_id) for entry in entries]
        content = table_content(lists, table, "jsonl")
        (output / f"{table}.jsonl").write_bytes(content)
    (output / f"{AGGREGATED}.json").write_bytes(document_content(aggregate_versions(entries)))


def main(logs: str, output: str, config: str, run_id: str) -> None:
    directory = Path(output)
    directory.mkdir(parents=True)
    started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    states = score_file(Path(logs), directory, Path(config), RunInfo(run_id, started))
    write_metrics(states, directory, run_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
