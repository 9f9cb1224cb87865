"""Formats as data: what the records in `examples/` hold (conversations, findings) and how they are scored.

`python -m tests.transforms.formats.test_examples NAME...` writes what is read today; look at the diff.
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise
from tests.readings import read_value
from tests.transforms.formats.messages.test_any_values import changed
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.reading import CaseReader

EXAMPLES = {path.stem: path for path in sorted((Path(__file__).parent / "examples").glob("*.json"))}
CRITERIA = {"ended_normally": 1.0, "tool_call_count_v1": 3.0, "turn_latency": {"threshold": None}}


def stated(value: Any) -> Any:
    """Returns the fields of a model that do not have their default value, as JSON."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        defaults = {
            f.name: f.default if f.default_factory is msgspec.NODEFAULT else f.default_factory()
            for f in fields
        }
        held = {name: getattr(value, name) for name in defaults}
        return {name: stated(item) for name, item in held.items() if item != defaults[name]}
    return [stated(item) for item in value] if isinstance(value, list) else value


def reading(name: str, records: list[Any]) -> dict[str, Any]:
    """Returns what is read in records (those of the files `cases_*` are eval cases), and the scores."""
    if name.startswith("cases_"):
        read = CaseReader(CesConfig()).read
        found = [read(Record(f"{name}.json", i, json.dumps(each).encode())) for i, each in enumerate(records)]
        return {"cases": [stated(case) for cases in found for case in cases]}
    conversations, failures = read_value(*records)
    assert not failures
    scores: dict[str, list[Any]] = {}
    for row in turnwise.evaluate(records, criteria=CRITERIA).scores:
        scores.setdefault(row["criterion"], []).append(
            row["reason"] if row["value"] is None else row["value"]
        )
    return {"conversations": [stated(one) for one in conversations], "scores": scores}


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_the_records_hold(name: str) -> None:
    held = json.loads(EXAMPLES[name].read_text())
    found = json.loads(json.dumps(reading(name, held.pop("records"))))
    assert found == held


LOGS = [name for name in EXAMPLES if not name.startswith("cases_")]


@pytest.mark.parametrize("name", LOGS)
@given(data=st.data())
def test_no_value_crashes_a_reader(name: str, data: st.DataObject) -> None:
    found = read_value(data.draw(changed(json.loads(EXAMPLES[name].read_text())["records"][0])))
    assert found.conversations or found.failures
    assert all(failure.error_type in ("ValueError", "WireError") for failure in found.failures)


def lines(value: Any, depth: int = 0) -> str:
    """Returns JSON text with one record, one turn and one case a line."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) < 700 or depth > 4 or not isinstance(value, dict | list):
        return text
    if isinstance(value, list):
        return "[\n" + ",\n".join(lines(item, depth + 1) for item in value) + "\n]"
    return "{\n" + ",\n".join(f"{json.dumps(k)}: {lines(v, depth + 1)}" for k, v in value.items()) + "\n}"


if __name__ == "__main__":
    for path in map(EXAMPLES.__getitem__, sys.argv[1:]):
        records = json.loads(path.read_text())["records"]
        path.write_text(lines({"records": records, **reading(path.stem, records)}) + "\n")
