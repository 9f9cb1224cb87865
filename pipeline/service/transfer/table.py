"""Reads goldens in the CSV form that the API imports."""

import csv
import io
from collections.abc import Iterator, Sequence

from turnwise.pipeline.service.errors import invalid
from turnwise.schemas.proto.scalars import shown
from turnwise.schemas.values import JsonObject
from turnwise.transforms.formats.ces.golden_rows import RowGroup, check_begun_once, golden_of_rows, row_groups

_NEEDED = ("display_name", "turn_index", "action_type")
_BY_TYPE = {
    "INPUT_TEXT": {"text_content"},
    "INPUT_UPDATED_VARIABLES": {"updated_variables_json"},
    "EXPECTATION_TEXT": {"response_agent", "text_content", "expectation_note"},
    "EXPECTATION_TOOL_CALL": {"tool_name", "args_json"},
}
"""Type of an action -> columns that its row may fill."""
_REQUIRED = {
    "INPUT_TEXT": "text_content",
    "INPUT_UPDATED_VARIABLES": "updated_variables_json",
    "EXPECTATION_TEXT": "text_content",
    "EXPECTATION_TOOL_CALL": "tool_name",
}
_KNOWN = {*_NEEDED, *(name for names in _BY_TYPE.values() for name in names)}
_FIELD = "csvContent"
_LINE = "line"


def table_evaluations(content: bytes) -> Iterator[tuple[str, JsonObject | ValueError]]:
    """Yields the goldens of a table, each with its place, or why it is invalid.

    Raises:
        ServiceError: It is no such table.
    """
    groups = row_groups([(row[_LINE], row) for row in _rows(content)])
    if not groups:
        raise invalid(_FIELD, "the table has a header and no evaluation")
    for group in groups:
        place = f"{_FIELD} line {group.begun_at[0]}"
        try:
            yield place, _golden(group)
        except ValueError as error:
            yield place, error


def _rows(content: bytes) -> Iterator[JsonObject]:
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        header = [name.strip() for name in next(reader, [])]
        _check_header(header)
        for cells in reader:
            if not any(cells):
                continue
            row: JsonObject = dict(zip(header, cells, strict=False))
            extra = cells[len(header) :]
            yield {_LINE: reader.line_num, **row, **({"": extra} if any(extra) else {})}
    except (UnicodeError, csv.Error) as error:
        raise invalid(_FIELD, f"is no CSV in UTF-8: {error}") from None


def _check_header(header: Sequence[str]) -> None:
    if tuple(header[: len(_NEEDED)]) != _NEEDED:
        raise invalid(_FIELD, f"the first columns must be {', '.join(_NEEDED)}")
    unknown = sorted({*header} - _KNOWN)
    if unknown:
        raise invalid(_FIELD, f"unknown column {shown(unknown[0])}; known are {', '.join(sorted(_KNOWN))}")
    if len({*header}) != len(header):
        raise invalid(_FIELD, "a column stands twice")


def _golden(group: RowGroup) -> JsonObject:
    """Returns an Evaluation in proto3 JSON; raises ValueError if a row is invalid."""
    check_begun_once(group.begun_at, _LINE)
    rows = group.rows
    faults = [f"line {row[_LINE]}: {fault}" for row in rows if (fault := _fault(row))]
    if faults:
        raise ValueError("; ".join(faults))
    if not any(row["action_type"] for row in rows):
        raise ValueError(f"line {rows[0][_LINE]}: the evaluation has no rows of a turn")
    plain = [{key: text for key, text in row.items() if key != _LINE} for row in rows]
    golden = golden_of_rows(plain)
    if golden.unread:
        raise ValueError(f"not read: {', '.join(golden.unread)}")
    return golden.evaluation


def _fault(row: JsonObject) -> str:
    """Returns why a row is invalid; "": it is not."""
    kind = row.get("action_type") or ""
    filled = {name for name, text in row.items() if name not in (_LINE, *_NEEDED) and text}
    if "" in filled:
        return "it has more cells than the header"
    if not kind:
        if not row.get("display_name"):
            return "action_type is missing"
        return f"without action_type, {min(filled)} says nothing" if filled else ""
    if kind not in _BY_TYPE:
        return f"the action_type {shown(kind)} is not supported; supported are {', '.join(_BY_TYPE)}"
    wrong = filled - _BY_TYPE[kind]
    if wrong:
        return f"a row of the type {kind} has no {min(wrong)}"
    if not str(row.get("turn_index", "")).isdecimal() or int(row["turn_index"]) < 1:
        return f"turn_index must be a number from 1, not {shown(row.get('turn_index', ''))}"
    return "" if row.get(_REQUIRED[kind]) else f"{_REQUIRED[kind]} is missing"
