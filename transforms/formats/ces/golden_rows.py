"""Goldens in the CSV form that CES imports: rows of evaluations, and below each the rows of its turns."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, json_structure
from turnwise.transforms.formats.ces_cases import eval_case
from turnwise.transforms.formats.messages.values import objects
from turnwise.transforms.formats.registry import Format, ReadSettings, register_format

_NEEDED = frozenset(("display_name", "turn_index", "action_type"))
_TEXT = ("text_content", "response_agent", "expectation_note")
_READ = frozenset((*_NEEDED, *_TEXT, "tool_name", "updated_variables_json"))
_ARGS = ("args_json", "call_json")


def _is_row(row: JsonObject) -> bool:
    return row.keys() >= _NEEDED


class GoldenRows(NamedTuple):
    """A golden of several rows.

    Attributes:
        evaluation: An Evaluation in proto3 JSON.
        unread: What of the rows is not read.
    """

    evaluation: JsonObject
    unread: list[str]


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> Sequence[EvalCase | ValueError]:
    found: list[EvalCase | ValueError] = []
    rows = list(enumerate(objects(value if isinstance(value, list) else [value], "rows"), 1))
    for own in row_groups(rows):
        try:
            check_begun_once(own.begun_at, "row")
            found.append(_case(golden_of_rows(own.rows), settings))
        except ValueError as error:
            found.append(error)
    return found


class RowGroup(NamedTuple):
    """The rows of a golden.

    Attributes:
        begun_at: Places of the rows that have its display name; more than one: it is not clear which of the
            rows below are its own.
        rows: The rows of the first of these places.
    """

    begun_at: list[int]
    rows: list[JsonObject]


def row_groups(rows: Iterable[tuple[int, JsonObject]]) -> list[RowGroup]:
    """Returns the rows of each golden: one with a display name, and those below it without.

    Args:
        rows: The rows of a table, each with its place.
    """
    groups: dict[str, RowGroup] = {}
    name = ""
    for place, row in rows:
        if row.get("display_name") or not groups:
            name = str(row.get("display_name") or "")
            groups.setdefault(name, RowGroup([], [])).begun_at.append(place)
        if len(groups[name].begun_at) == 1:
            groups[name].rows.append(row)
    return list(groups.values())


def check_begun_once(begun_at: Sequence[int], unit: str) -> None:
    """Raises ValueError if a golden begins at several places of a table, of a unit such as `line`."""
    if len(begun_at) > 1:
        places = ", ".join(map(str, begun_at[:-1]))
        raise ValueError(
            f"the {unit}s {places} and {begun_at[-1]} have the same display_name: state it in the first row "
            "of an evaluation only, and another one for each evaluation"
        )


def _case(golden: GoldenRows, settings: ReadSettings) -> EvalCase:
    case = eval_case(dump_json(golden.evaluation), settings.ces)
    case.unread = f"not read: {', '.join(golden.unread)}" if golden.unread else None
    return case


def golden_of_rows(rows: Sequence[JsonObject]) -> GoldenRows:
    """Returns the golden of a group of rows.

    Raises:
        ValueError: A row is invalid.
    """
    name = rows[0].get("display_name")
    if not name:
        raise ValueError("the first row has no display_name")
    turns: dict[int, list[JsonObject]] = {}
    unread: set[str] = set()
    for row in rows:
        if not row.get("action_type"):
            continue
        index = _index(row)
        if turns and index < max(turns):
            raise ValueError(f"turn_index: {index} stands below {max(turns)}")
        steps, step = turns.setdefault(index, []), _step(row)
        if step is None:
            unread.add(f"rows of the type {row['action_type']}")
        else:
            steps.append(step)
            unread |= {f"the column {key}" for key in row if row[key] and not _is_read(key)}
    golden = {"turns": [{"steps": steps} for steps in turns.values()]}
    return GoldenRows({"displayName": name, "golden": golden}, sorted(unread))


def _index(row: JsonObject) -> int:
    try:
        return int(str(row.get("turn_index")))
    except ValueError:
        raise ValueError(f"turn_index: a whole number is needed, not {row.get('turn_index')!r}") from None


def _is_read(column: str) -> bool:
    return column in _READ or column.endswith(_ARGS)


def _step(row: JsonObject) -> JsonObject | None:
    """Returns the step of a row; None: its type is not read."""
    kind = row.get("action_type")
    if kind == "INPUT_TEXT":
        return {"userInput": {"text": row.get("text_content") or ""}}
    if kind == "INPUT_UPDATED_VARIABLES":
        return {"userInput": {"variables": _object(row, "updated_variables_json")}}
    if kind == "EXPECTATION_TEXT":
        chunk = {"text": row.get("text_content") or ""}
        message = {"role": row.get("response_agent") or "agent", "chunks": [chunk]}
        note = {"note": row["expectation_note"]} if row.get("expectation_note") else {}
        return {"expectation": {"agentResponse": message, **note}}
    if kind == "EXPECTATION_TOOL_CALL" and row.get("tool_name"):
        args = next((_object(row, key) for key in row if key.endswith(_ARGS)), {})
        return {"expectation": {"toolCall": {"tool": row["tool_name"], "args": args}}}
    return None


def _object(row: JsonObject, key: str) -> JsonObject:
    text = row.get(key)
    found = json_structure(text) if isinstance(text, str) else {}
    if not isinstance(found, dict):
        raise ValueError(f"{key}: a JSON object is needed")
    return found


register_format(
    Format(
        name="ces_golden_rows",
        keys=("display_name", "turn_index", "action_type"),
        help="goldens in the CSV form that CES imports",
        rank=106,
        recognises=_is_row,
        read_cases=_read,
        is_list=_is_row,
    )
)
