"""Converts filters to SQL conditions, with bound values and a fixed list of fields."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic.alias_generators import to_snake
from sqlalchemy import Column, ColumnElement, and_, exists, false, func, not_, or_

from turnwise.pipeline.store.tables import EVALUATIONS, FAILURES, RESULTS, RUNS, TAGS, key_nanos, key_text
from turnwise.schemas.ces.result_parts import EvaluationOutcome
from turnwise.schemas.ces.results import ExecutionState
from turnwise.schemas.proto.filters import Condition, FieldComparison, FilterError, Junction, Operator
from turnwise.schemas.proto.scalars import shown, timestamp_nanos

Sql = ColumnElement[bool]
Field = Callable[[Operator, str], Sql]
"""Returns the condition of an operator and a value; raises ValueError."""

_ORDERED = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def condition_of(parsed: Condition, fields: Mapping[str, Field]) -> Sql:
    """Returns the condition of a parsed filter.

    Raises:
        FilterError: It names an unknown field, or uses an operator that the field does not support.
    """
    if isinstance(parsed, Junction):
        parts = [condition_of(part, fields) for part in parsed.parts]
        return and_(*parts) if parsed.kind == "AND" else or_(*parts)
    if isinstance(parsed, FieldComparison):
        return _comparison(parsed, fields)
    return not_(condition_of(parsed.part, fields))


def _comparison(parsed: FieldComparison, fields: Mapping[str, Field]) -> Sql:
    make = fields.get(parsed.field) or fields.get(to_snake(parsed.field))
    if make is None:
        raise FilterError(f"no field {shown(parsed.field)}; fields are {', '.join(fields)}")
    try:
        return make(parsed.operator, parsed.value)
    except ValueError as error:
        raise FilterError(f"{parsed.field} {parsed.operator}: {error}") from None


def _equal_or_not(operator: Operator, equal: Sql) -> Sql:
    if operator not in ("=", "!="):
        raise ValueError("only = and != are supported")
    return equal if operator == "=" else not_(equal)


def text_field(column: Column[str], *others: Column[str]) -> Field:
    """Returns a text field: equal to one of the columns or (`:`) part of the first, ignoring case."""

    def make(operator: Operator, value: str) -> Sql:
        if operator == ":":
            part = value.replace("\0", "")
            # SQLite's lower() supports only ASCII.
            in_any_case = func.lower(column).contains(part.lower(), autoescape=True)
            return or_(in_any_case, column.contains(part, autoescape=True))
        found = key_text(value)
        return _equal_or_not(operator, or_(column == found, *(other == found for other in others)))

    return make


def name_field(column: Column[str], prefix: str) -> Field:
    """Returns a field for a resource name, given in full or by its last part."""

    def make(operator: Operator, value: str) -> Sql:
        name = value if "/" in value else f"{prefix}/{value}"
        return _equal_or_not(operator, column == key_text(name))

    return make


def enum_field(column: Column[str], kind: type[Any]) -> Field:
    """Returns an enum field; the first value means unset."""

    def make(operator: Operator, value: str) -> Sql:
        if value not in kind.__members__:
            raise ValueError(f"{shown(value)} is none of {', '.join(kind.__members__)}")
        return _equal_or_not(operator, column == (value if kind[value] else ""))

    return make


def time_field(column: Column[int]) -> Field:
    """Returns a time field."""

    def make(operator: Operator, value: str) -> Sql:
        nanos = key_nanos(timestamp_nanos(value))
        if operator in _ORDERED:
            condition: Sql = getattr(column, _ORDERED[operator])(nanos)
            return condition
        return _equal_or_not(operator, column == nanos)

    return make


def _tags(operator: Operator, value: str) -> Sql:
    has = exists().where(TAGS.c.evaluation == EVALUATIONS.c.name, TAGS.c.tag == key_text(value))
    return has if operator == ":" else _equal_or_not(operator, has)


def _nothing(operator: Operator, value: str) -> Sql:
    return false() if operator == ":" else _equal_or_not(operator, false())


def evaluation_fields(app: str) -> dict[str, Field]:
    """Returns the filter fields of evaluations. The store has no datasets, so no evaluation is in one."""
    columns = EVALUATIONS.c
    return {
        "name": name_field(columns.name, f"{app}/evaluations"),
        "display_name": text_field(columns.display_name),
        "tags": _tags,
        "create_time": time_field(columns.create_nanos),
        "update_time": time_field(columns.update_nanos),
        "created_by": text_field(columns.created_by),
        "last_updated_by": text_field(columns.last_updated_by),
        "evaluation_datasets": _nothing,
    }


def run_fields(app: str) -> dict[str, Field]:
    """Returns the filter fields of the runs of an evaluation's results."""
    columns = RESULTS.c
    return {
        "name": name_field(columns.evaluation_run, f"{app}/evaluationRuns"),
        "create_time": time_field(columns.create_nanos),
        "initiated_by": text_field(columns.initiated_by),
        "app_version": text_field(columns.app_version, columns.version_id),
        "app_version_display_name": text_field(columns.app_version_display_name),
    }


def runs_table_fields(app: str) -> dict[str, Field]:
    """Returns the filter fields of runs."""
    columns = RUNS.c
    return {
        "name": name_field(columns.name, f"{app}/evaluationRuns"),
        "display_name": text_field(columns.run_id),
        "state": text_field(columns.state),
        "create_time": time_field(columns.create_nanos),
        "update_time": time_field(columns.update_nanos),
    }


def of_runs(condition: Sql) -> Sql:
    """Returns the condition that an evaluation has a result that meets a condition of `run_fields`."""
    return exists().where(RESULTS.c.evaluation == EVALUATIONS.c.name, condition)


def result_fields(app: str) -> dict[str, Field]:
    """Returns the filter fields of results."""
    columns = RESULTS.c
    return {
        "name": text_field(columns.name),
        "display_name": text_field(columns.display_name),
        "evaluation": name_field(columns.evaluation, f"{app}/evaluations"),
        "evaluation_status": enum_field(columns.evaluation_status, EvaluationOutcome),
        "execution_state": enum_field(columns.execution_state, ExecutionState),
        "evaluation_run": name_field(columns.evaluation_run, f"{app}/evaluationRuns"),
        "app_version": text_field(columns.app_version, columns.version_id),
        "app_version_display_name": text_field(columns.app_version_display_name),
        "initiated_by": text_field(columns.initiated_by),
        "conversation": text_field(columns.conversation_id),
        "create_time": time_field(columns.create_nanos),
        "update_time": time_field(columns.update_nanos),
    }


def failure_fields(app: str) -> dict[str, Field]:
    """Returns the filter fields of failures."""
    columns = FAILURES.c
    return {
        "evaluation_run": name_field(columns.evaluation_run, f"{app}/evaluationRuns"),
        "update_time": time_field(columns.update_nanos),
        **{
            name: text_field(columns[name])
            for name in ("stage", "error_type", "conversation_id", "criterion", "app_version", "source")
        },
    }
