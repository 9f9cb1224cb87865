"""Scores recorded conversations again, by the functions of `turnwise.evaluate`, and writes the run."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from time import time_ns
from typing import Any

import msgspec

from turnwise.pipeline.api.collected import Collected
from turnwise.pipeline.api.evaluate import finished, score_with_judge
from turnwise.pipeline.api.result import RunResult
from turnwise.pipeline.api.settings import Options, run_settings
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.operations.jobs import Going
from turnwise.pipeline.service.rescoring.plan import EvaluationRecordings, Rescoring
from turnwise.pipeline.service.service import Scoring
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.store.executions import Execution, begin, complete, write_rows
from turnwise.pipeline.store.recordings import StoredRecording, read_recording
from turnwise.pipeline.store.row_tables import ROW_TABLES
from turnwise.schemas.config import ConfigError
from turnwise.schemas.failure import RAISED, Failure, record_failure
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.record import Record
from turnwise.schemas.run import time_text
from turnwise.schemas.values import JsonObject
from turnwise.transforms.evaluation.recording import recorded_conversation
from turnwise.transforms.formats.parsing import parse_case
from turnwise.transforms.formats.readers import CaseReader
from turnwise.transforms.matching.cases import USED_CASE, CaseIndex
from turnwise.transforms.matching.sample import Sample

_PIECE = 500
_TABLES = ("results", "conversations", "scores", "failures", "metrics_by_app_version", "metrics_by_turn")
_NOT_KEPT = "run {} kept no recording of it: --no_transcripts, or an earlier turnwise; score its log instead"


def score_again(going: Going, rescoring: Rescoring, scoring: Scoring) -> None:
    """Scores the conversations of a run again and writes it.

    Raises:
        ServiceError: The config is wrong, or no conversation could be scored.
        StoppedError: The operation was cancelled.
    """
    try:
        settings = run_settings(
            Options(config=scoring.config, judge=scoring.judge, run_id=rescoring.run_id), True
        )
        execution = _begun(going, rescoring, settings)
        collected = Collected(settings)
        usage = finished(
            score_with_judge(_samples(going, rescoring, settings, collected), settings, collected)
        )
    except ConfigError as error:
        raise ServiceError("FAILED_PRECONDITION", str(error)) from None
    result = collected.result(usage)
    _write(going, execution, result)
    if not result.results:
        raise ServiceError("FAILED_PRECONDITION", "no conversation could be scored; the failures say why")
    document = _document(settings, rescoring) | _ending(result)
    going.write(lambda connection: complete(connection, execution, document, time_ns()))


def _begun(going: Going, rescoring: Rescoring, settings: RunSettings) -> Execution:
    number = going.operation.create_nanos
    execution = Execution(rescoring.run_id, number, rescoring.app, settings.run.create_time[:10])
    document = _document(settings, rescoring)
    going.write(lambda connection: begin(connection, execution, document, time_ns()))
    return execution


def _document(settings: RunSettings, rescoring: Rescoring) -> JsonObject:
    from turnwise.pipeline.batch.summary import begun_document

    dataset = {"evaluation_dataset": rescoring.dataset} if rescoring.dataset else {}
    return begun_document(settings) | {"scored_again": True} | dataset


def _ending(result: RunResult) -> JsonObject:
    return {
        "end_time": time_text(datetime.now(UTC)),
        "counts": result.counts,
        "judge": result.judge,
        "problems": list(result.problems),
        "exit_status": 1 if result.problems else 0,
    }


def _samples(
    going: Going, rescoring: Rescoring, settings: RunSettings, collected: Collected
) -> Iterator[Sample]:
    reader = CaseReader(settings.config.ces)
    for part in rescoring.parts:
        counts = Counter[str]()
        for found in _of_part(going, part, reader, rescoring.version, counts):
            if isinstance(found, Failure):
                collected.fail([found])
            else:
                yield found
        is_unused = counts["cases"] and not counts["conversations"]
        collected.count(counts, [part.evaluation.name] if is_unused else ())


def _of_part(
    going: Going, part: EvaluationRecordings, reader: CaseReader, version: str | None, counts: Counter[str]
) -> Iterator[Sample | Failure]:
    """Yields the samples of an evaluation, and counts as a run over their log does."""
    name = part.evaluation.name
    (case,) = parse_case(reader, Record(name, 1, dump_json(part.case)), counts)
    if isinstance(case, Failure):
        yield case
        return
    index = CaseIndex([case[1]])
    if not part.recordings:
        yield _unscored(part, version)
    for recording in part.recordings:
        going.check()
        counts["records"] += 1
        found = _sample(going, name, recording, index)
        if isinstance(found, Failure):
            counts["lost_records"] += 1
        else:
            counts.update(("parsed_records", "conversations"))
            counts[f"{USED_CASE}{case[1].key.text}"] = 1
        yield found


def _unscored(part: EvaluationRecordings, version: str | None) -> Failure:
    of = "" if version is None else f" of the app version {version}"
    return Failure("match", "LookupError", f"no run of the store scored it{of}", part.evaluation.name, 1)


def _sample(going: Going, evaluation: str, stored: StoredRecording, index: CaseIndex) -> Sample | Failure:
    record = Record(evaluation, 1, b"")
    try:
        text = going.store.read(lambda connection: read_recording(connection, stored.name or ""))
        if text is None:
            raise LookupError(_NOT_KEPT.format(stored.run))
        record = record._replace(data=text.encode())
        # The case is the evaluation, by whatever name the log had it.
        whole = msgspec.structs.replace(recorded_conversation(text), eval_id=evaluation, eval_set_id=None)
        return Sample(whole, index.find(whole), record)
    except RAISED as error:
        failure = record_failure("match", error, record, stored.conversation_id)
        failure.app_version = stored.app_version or None
        return failure


def _write(going: Going, execution: Execution, result: RunResult) -> None:
    for name in _TABLES:
        table, columns_of = ROW_TABLES[name]
        rows: Sequence[Any] = getattr(result, name)
        for start in range(0, len(rows), _PIECE):
            now = max(time_ns(), execution.number)
            columns = [columns_of(row, execution, now) for row in rows[start : start + _PIECE]]
            going.write(partial(write_rows, execution=execution, table=table, rows=columns, nanos=now))
