"""Reads and writes evaluation results and their sums."""

import json
from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, select

from turnwise.pipeline.store.database import EVALUATIONS, RESULT_ROWS, RESULTS, key_nanos, key_text
from turnwise.pipeline.store.result_parts import result_parts
from turnwise.pipeline.store.runs import is_counted
from turnwise.schemas.ces.names import app_of, parent_of
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.schemas.proto.scalars import timestamp_nanos
from turnwise.transforms.ces.judgements import VersionSums
from turnwise.transforms.metrics.state import Sums, add_parts

COMPLETED = "COMPLETED"
TEXTS = {
    "display_name": "displayName",
    "app_version": "appVersion",
    "app_version_display_name": "appVersionDisplayName",
    "evaluation_status": "evaluationStatus",
    "execution_state": "executionState",
    "evaluation_run": "evaluationRun",
    "initiated_by": "initiatedBy",
}


class ScoredAgainst(NamedTuple):
    """What a result was scored against; null: not known.

    Attributes:
        etag: Etag of the evaluation.
        case_digest: Digest of what is expected.
    """

    etag: str | None = None
    case_digest: str | None = None


_UNKNOWN = ScoredAgainst()


def result_columns(
    result: JsonObject, conversation_id: str, nanos: int, against: ScoredAgainst = _UNKNOWN
) -> JsonObject:
    """Returns the columns of an EvaluationResult with a full name.

    Args:
        result: The result in canonical proto3 JSON.
        conversation_id: Id of the conversation.
        nanos: Time of writing, nanoseconds since 1970.
        against: What it was scored against.
    """
    name: str = result["name"]
    texts = {column: key_text(str(result.get(field, ""))) for column, field in TEXTS.items()}
    created = result.get("createTime")
    return {
        **texts,
        "name": name,
        "app": app_of(name),
        "evaluation": parent_of(name),
        "version_id": key_text(version_id(str(result.get("appVersion", "")))),
        "conversation_id": key_text(conversation_id),
        "create_nanos": key_nanos(timestamp_nanos(created)) if created else nanos,
        "update_nanos": nanos,
        "evaluation_etag": against.etag,
        "case_digest": against.case_digest,
        "parts": dump_json(result_parts(result)).decode(),
        "content": dump_json(result).decode(),
    }


def version_id(app_version: str) -> str:
    """Returns the last part of an app version's name; "" is the draft."""
    return app_version.rsplit("/", 1)[-1]


def find_result(connection: Connection, name: str) -> JsonObject | None:
    """Returns a result by its name, or None."""
    text = connection.execute(select(RESULTS.c.content).where(RESULTS.c.name == name)).scalar()
    return None if text is None else json.loads(text)


def newest_results(connection: Connection, evaluation: str, count: int) -> list[JsonObject]:
    """Returns the `count` newest results of an evaluation from runs that count, newest first."""
    query = _newest_first(RESULT_ROWS.c.evaluation == evaluation).limit(count)
    return [json.loads(text) for text in connection.execute(query).scalars()]


def last_completed(connection: Connection, evaluations: Collection[str]) -> dict[str, JsonObject]:
    """Returns evaluation -> its newest completed result from runs that count, of those that have one."""
    own = EVALUATIONS.c.name
    is_its = RESULT_ROWS.c.evaluation == own, RESULT_ROWS.c.execution_state == COMPLETED
    newest = _newest_first(*is_its).limit(1).correlate(EVALUATIONS).scalar_subquery()
    rows = connection.execute(select(own, newest).where(own.in_(list(evaluations))))
    return {name: json.loads(text) for name, text in rows if text is not None}


def _newest_first(*conditions: ColumnElement[bool]) -> Select[Any]:
    newest = RESULT_ROWS.c.create_nanos.desc(), RESULT_ROWS.c.name.desc()
    return select(RESULT_ROWS.c.content).where(*conditions, is_counted(RESULT_ROWS)).order_by(*newest)


def has_results(connection: Connection, evaluation: str) -> bool:
    """Returns whether an evaluation has any result."""
    query = select(RESULTS.c.name).where(RESULTS.c.evaluation == evaluation).limit(1)
    return connection.execute(query).first() is not None


def evaluations_with_results(connection: Connection, app: str) -> list[str]:
    """Returns the names of the evaluations of an app that an execution gave results, in order."""
    query = select(RESULT_ROWS.c.evaluation).where(RESULT_ROWS.c.app == app).distinct()
    return sorted(connection.execute(query).scalars())


class EvaluationFigures(NamedTuple):
    """Sums over the results of an evaluation from runs that count.

    Attributes:
        versions: App version id ("": the draft) -> sums over completed results; of each conversation, only
            those of the last run.
        undecided: App version id -> number of such results without a verdict.
        runs: Names of these runs.
    """

    versions: dict[str, VersionSums]
    undecided: dict[str, int]
    runs: list[str]


def read_figures(connection: Connection, evaluation: str) -> EvaluationFigures:
    """Returns the sums over the results of an evaluation; each conversation counts in its last run only."""
    columns = (RESULTS.c.version_id, RESULTS.c.evaluation_status, RESULTS.c.evaluation_run, RESULTS.c.parts)
    query = select(*columns, RESULTS.c.execution_state, RESULTS.c.conversation_id)
    newest_first = (RESULTS.c.update_nanos.desc(), RESULTS.c.name.desc())
    counts: dict[str, list[int]] = {}
    sums: dict[str, Sums] = {}
    last_runs: dict[tuple[str, str], str] = {}
    runs = set()
    of_evaluation = RESULTS.c.evaluation == evaluation
    rows = connection.execute(query.where(of_evaluation, is_counted(RESULTS)).order_by(*newest_first))
    for version, status, run, parts, state, conversation in rows:
        runs.add(run)
        if last_runs.setdefault((version, conversation), run) != run or state != COMPLETED:
            continue
        counted = counts.setdefault(version, [0, 0, 0])
        counted[("PASS", "FAIL").index(status) if status in ("PASS", "FAIL") else 2] += 1
        add_parts(
            sums.setdefault(version, {}),
            (((turn, kind, tool), first, second) for (turn, kind, tool), first, second in json.loads(parts)),
        )
    versions = {v: VersionSums(passes, fails, sums[v]) for v, (passes, fails, _) in counts.items()}
    undecided = {v: count for v, (_, _, count) in counts.items() if count}
    return EvaluationFigures(versions, undecided, sorted(runs - {""}))
