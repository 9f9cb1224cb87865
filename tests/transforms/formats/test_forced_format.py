"""Records of other systems that are read as chats all the same never pass on calls."""

import json
import re
from pathlib import Path

import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, Record
from turnwise.schemas.run import RunInfo
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.review.row import decide
from turnwise.transforms.scoring.evaluate import evaluate
from turnwise.transforms.scoring.selection import Criteria

FORMATS = Path(__file__).parents[3] / "../shared" / "data" / "raw" / "formats"
FILES = sorted(FORMATS.rglob("*.json*"))
WORK = re.compile(
    rb'(?<!\\)"[^"\\]*(tool_?(use|call|result|invocation)|function_?call)[^"\\]*"(?!: (\[\]|\{\}|null))', re.I
)
NAMES = ("tool_trajectory_avg_score", "tool_effects_v1")


def values_of(path):
    text = path.read_text(encoding="utf-8")
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return [json.loads(text)]


def lists_in(value):
    """Yields every list of objects inside a record, as somebody would cut out the messages."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from lists_in(item)


@pytest.mark.skipif(not FILES, reason="the recorded examples are absent")
def test_no_foreign_record_passes_on_calls():
    criteria, run = [CRITERIA[name]() for name in NAMES], RunInfo("r", "2026-01-01T00:00:00Z")
    read = 0
    for path in FILES:
        try:
            values = values_of(path)
        except ValueError:
            continue
        for value in (values, *values):
            for messages in [value, *lists_in(value)]:
                record = Record(str(path), 1, json.dumps(messages).encode())
                try:
                    (found,) = LogReader("openai_chat").read(record)
                except ValueError:
                    continue
                if isinstance(found, ValueError) or any(turn.tool_calls for turn in found.turns):
                    continue
                case = EvalCase(eval_id="e", turns=[ExpectedTurn(tool_calls=[]) for _ in found.turns])
                scored, _ = evaluate(Sample(found, case, record), Criteria(criteria))
                status = decide(scored, run).verdict.status
                assert status != "PASS" or not WORK.search(record.data), (path.name, messages)
                read += 1
    assert read > 20
