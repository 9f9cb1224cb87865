"""Counts the rows of one execution of a run."""

import json

from sqlalchemy import ColumnElement, Connection, Table, case, func, or_, select

from turnwise.pipeline.store.database import CONVERSATION_ROWS, FAILURE_ROWS, RESULT_ROWS
from turnwise.schemas.jsonio import JsonObject

LOSING = ("read", "parse", "parse_case", "assemble", "match", "score")
"""Stages at which a failure without a criterion is a lost record, case or conversation."""
REPLACED = "ReplacedResult"
"""Error type of the row that says how many results of a run others of the same run replaced."""
_FINDING = "check"
_VERDICTS = ("PASS", "FAIL")


def count_rows(connection: Connection, run: str, execution: int) -> JsonObject:
    """Returns the counts and app versions of an execution in one app, by column of `run_executions`."""
    table = RESULT_ROWS
    is_own = table.c.evaluation_run == run, table.c.execution == execution
    columns = table.c.version_id, table.c.evaluation_status
    found = connection.execute(select(*columns, func.count()).where(*is_own).group_by(*columns)).all()
    statuses = [(status, count) for _, status, count in found]
    versions = sorted({version for version, _, _ in found})
    return {
        "results": sum(count for _, count in statuses),
        "passes": sum(count for status, count in statuses if status == "PASS"),
        "fails": sum(count for status, count in statuses if status == "FAIL"),
        "undecided": sum(count for status, count in statuses if status not in _VERDICTS),
        "app_versions": json.dumps(versions, ensure_ascii=False),
        "conversations": _conversations(connection, run, execution),
        **_failures(connection, run, execution),
    }


def count_by_evaluation(connection: Connection, run: str, execution: int) -> dict[str, dict[str, int]]:
    """Returns evaluation -> counts of its results by verdict, by name in an EvaluationRunSummary."""
    table = RESULT_ROWS
    columns = table.c.evaluation, table.c.evaluation_status
    is_own = table.c.evaluation_run == run, table.c.execution == execution
    found: dict[str, dict[str, int]] = {}
    query = select(*columns, func.count()).where(*is_own).group_by(*columns)
    for evaluation, status, count in connection.execute(query):
        name = {"PASS": "passedCount", "FAIL": "failedCount"}.get(status)
        found.setdefault(evaluation, {}).update({name: count} if name else {})
    return found


def _conversations(connection: Connection, run: str, execution: int) -> int:
    table = CONVERSATION_ROWS
    query = select(func.count()).where(table.c.evaluation_run == run, table.c.execution == execution)
    return int(connection.execute(query).scalar_one())


def _failures(connection: Connection, run: str, execution: int) -> dict[str, int]:
    table = FAILURE_ROWS
    is_own = table.c.evaluation_run == run, table.c.execution == execution
    is_failure = table.c.stage != _FINDING
    failures = connection.execute(select(func.count()).where(*is_own, is_failure)).scalar_one()
    told = replaced_text(table).label("told")
    losses = select(told, func.count()).where(*is_own, is_loss(table)).group_by("told")
    lost = sum(lost_by(text) * count for text, count in connection.execute(losses))
    return {"failures": failures, "lost": lost}


def is_loss(table: Table) -> ColumnElement[bool]:
    """Returns the condition that a failure is a loss: of a record, case or conversation, or of results."""
    return or_(table.c.stage.in_(LOSING) & (table.c.criterion == ""), table.c.error_type == REPLACED)


def replaced_text(table: Table) -> ColumnElement[str]:
    """Returns the JSON of a failure that says how many results were replaced; "" of another one."""
    return case((table.c.error_type == REPLACED, table.c.content), else_="")


def lost_by(text: str) -> int:
    """Returns how many were lost; `text` is that of `replaced_text`."""
    return int(json.loads(text)["replaced"]) if text else 1
