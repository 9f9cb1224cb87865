import json
from pathlib import Path

import pytest

from tests.tables import rows_test
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.adk_sessions import session_conversation
from turnwise.transforms.formats.canonical import read_case, read_conversation
from turnwise.transforms.formats.mapped import recognise
from turnwise.transforms.formats.reading import CaseReader

DATA = Path(__file__).parents[3] / "../shared/data"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="no shared data")

test_rows = rows_test(globals(), "shared_data")


def adk_cases(name, counts):
    """Of recorded eval sets: how many cases, turns and calls there are."""
    path = DATA / "raw/adk" / f"{name}.test.json"
    cases = CaseReader(CesConfig()).read(Record(str(path), 1, path.read_bytes()))
    turns = [turn for case in cases for turn in case.turns]
    assert [len(cases), len(turns), sum(len(turn.tool_calls) for turn in turns)] == counts


def adk_sessions(name, counts):
    """Of recorded sessions: calls and results of their turns."""
    value = json.loads((DATA / "raw/adk" / f"tests__integration__fixture__{name}.session.json").read_text())
    assert recognise(value) == "adk_session"
    conversation = session_conversation(value)
    assert [[len(t.tool_calls), len(t.tool_responses)] for t in conversation.turns] == counts
    assert all(turn.user and turn.agent and turn.latency_ms for turn in conversation.turns)


def neutral(name, conversations, turns, calls, expected_calls):
    lines = (DATA / f"{name}.jsonl").read_bytes().splitlines()
    read = [read_conversation(line) for line in lines]
    all_turns = [turn for conversation in read for turn in conversation.turns]
    wanted = [call for turn in all_turns if turn.expected for call in turn.expected.tool_calls or []]
    wanted += [call for c in read if c.expected for call in c.expected.actions or []]
    assert (len(read), len(all_turns)) == (conversations, turns)
    assert (sum(len(turn.tool_calls) for turn in all_turns), len(wanted)) == (calls, expected_calls)
    assert all(call.name and call.args is not None for turn in all_turns for call in turn.tool_calls)
    assert {recognise(json.loads(line)) for line in lines} == {"turnwise"}


@pytest.mark.parametrize("name", ["adk_evalsets", "bfcl_multi_turn", "cxas_evals"])
def test_expected_only_records_are_cases(name):
    for line in (DATA / f"{name}.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        case = read_case(line)
        assert case.eval_id == record["conversation_id"]
        assert [turn.user for turn in case.turns] == [turn["user"] for turn in record["turns"]]
