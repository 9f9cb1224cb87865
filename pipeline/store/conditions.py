"""Converts filters to SQL conditions, with bound values and a fixed list of fields."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic.alias_generators import to_snake
from sqlalchemy import Column, ColumnElement, and_, exists, func, not_, or_

from turnwise.pipeline.store.database import (
    EVALUATIONS,
    FAILURES,
    RESULTS,
    RUNS,
    TAGS,
    key_nanos,
    key_text,
    plain_text,
)
from turnwise.pipeline.store.urls import STATES
from turnwise.schemas.ces.names import id_of
from turnwise.schemas.ces.result import EvaluationOutcome, ExecutionState
from turnwise.schemas.proto.masks import Condition, FieldComparison, FilterError, Junction, Operator
from turnwise.schemas.proto.scalars import shown, timestamp_nanos

Sql = ColumnElement[bool]
Field = Callable[[Operator, str], Sql]
"""Returns the condition of an operator and a value; raises ValueError."""

LONGEST_PART = 160
"""Characters of a value with a wildcard: of longer texts, the columns hold the beginning and a digest."""

_ORDERED = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def condition_of(parsed: Condition, fields: Mapping[str, Field]) -> Sql:
    """Returns the condition of a parsed filter; raises FilterError for an unknown field or operator."""
    if isinstance(parsed, Junction):
        parts = [condition_of(part, fields) for part in parsed.parts]
        return and_(*parts) if parsed.kind == "AND" else or_(*parts)
    if isinstance(parsed, FieldComparison):
        make = fields.get(parsed.field) or fields.get(to_snake(parsed.field))
        if make is None:
            raise FilterError(f"no field {shown(parsed.field)}; fields are {', '.join(fields)}")
        try:
            return make(parsed.operator, parsed.value)
        except ValueError as error:
            raise FilterError(f"{parsed.field} {parsed.operator}: {error}") from None
    return not_(condition_of(parsed.part, fields))


def _equal_or_not(operator: Operator, equal: Sql) -> Sql:
    if operator not in ("=", "!="):
        raise ValueError("only = and != are supported")
    return equal if operator == "=" else not_(equal)


def matches(column: Column[str] | ColumnElement[str], value: str) -> Sql:
    """Returns the condition that a text is a value; `*` at its start or end stands for any text.

    Raises:
        ValueError: A `*` stands elsewhere, or the value with it is too long.
    """
    if "*" not in value:
        return column == key_text(value)
    part = plain_text(value.strip("*"))
    if "*" in part:
        raise ValueError("a * may stand at the start and at the end of the value only")
    if len(part) > LONGEST_PART:
        raise ValueError(f"a value with * must have at most {LONGEST_PART} characters")
    if not part:
        return column != ""
    if value.startswith("*") and value.endswith("*"):
        return func.replace(column, part, "") != column
    # LIKE would ignore the case of ASCII letters in SQLite alone.
    if value.endswith("*"):
        return func.substr(column, 1, len(part)) == part
    start = func.length(column) - len(part) + 1
    return and_(start > 0, func.substr(column, start) == part)


def _contains(column: Column[str], value: str) -> Sql:
    """Returns the condition that a value matches or is part of a text, ignoring case."""
    # SQLite's lower() supports only ASCII.
    in_lower_case = func.lower(column)
    if "*" in value:
        return or_(matches(in_lower_case, value.lower()), matches(column, value))
    part = value.replace("\0", "")
    contains = in_lower_case.contains(part.lower(), autoescape=True)
    return or_(contains, column.contains(part, autoescape=True))


def text_field(column: Column[str], *others: Column[str]) -> Field:
    """Returns a text field: equal to one of the columns or (`:`) part of the first, ignoring case."""

    def make(operator: Operator, value: str) -> Sql:
        if operator == ":":
            return _contains(column, value)
        return _equal_or_not(operator, or_(*(matches(field, value) for field in (column, *others))))

    return make


def name_field(column: Column[str], prefix: str) -> Field:
    """Returns a field for a resource name, given in full or by its last part."""

    def make(operator: Operator, value: str) -> Sql:
        if "/" in value or value.startswith("*"):
            return _equal_or_not(operator, matches(column, _full(value)))
        last = value if "*" in value else id_of(value)
        return _equal_or_not(operator, matches(column, f"{prefix}/{last}"))

    return make


def _full(name: str) -> str:
    if not name.startswith(("projects/", "*")):
        raise ValueError(f"{shown(name)} is neither a full name (projects/...) nor the last part of one")
    return name


def _result_name(operator: Operator, value: str) -> Sql:
    column = RESULTS.c.name
    if operator == ":":
        return _contains(column, value)
    is_last_part = "/" not in value and not value.startswith("*")
    pattern = f"*/results/{value}" if is_last_part else _full(value)
    return _equal_or_not(operator, matches(column, pattern))


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
    has = exists().where(TAGS.c.evaluation == EVALUATIONS.c.name, matches(TAGS.c.tag, value))
    return has if operator == ":" else _equal_or_not(operator, has)


def evaluation_fields(app: str) -> dict[str, Field]:
    """Returns the filter fields of evaluations."""
    columns = EVALUATIONS.c
    return {
        "name": name_field(columns.name, f"{app}/evaluations"),
        "display_name": text_field(columns.display_name),
        "create_time": time_field(columns.create_nanos),
        "update_time": time_field(columns.update_nanos),
        "created_by": text_field(columns.created_by),
        "last_updated_by": text_field(columns.last_updated_by),
        "tags": _tags,
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


def _run_state(operator: Operator, value: str) -> Sql:
    if value not in STATES:
        raise ValueError(f"{shown(value)} is none of {', '.join(STATES)}")
    return _equal_or_not(operator, RUNS.c.state == value)


def runs_table_fields(app: str) -> dict[str, Field]:
    """Returns the filter fields of runs."""
    columns = RUNS.c
    return {
        "name": name_field(columns.name, f"{app}/evaluationRuns"),
        "display_name": text_field(columns.run_id),
        "state": _run_state,
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
        "name": _result_name,
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
