import json
from pathlib import Path

import pytest

from turnwise.transforms.formats.adk_cases import eval_cases, legacy_cases
from turnwise.transforms.formats.adk_sessions import session_conversation
from turnwise.transforms.formats.canonical import looks_canonical, read_case, read_conversation
from turnwise.transforms.formats.mapped import recognise

DATA = Path(__file__).parents[3] / "../shared/data"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="no shared data")

RAW = "tests__integration__fixture__"
HOME = RAW + "home_automation_agent__"


def expected_counts(cases):
    return (
        len(cases),
        sum(len(c.turns) for c in cases),
        sum(len(t.tool_calls) for c in cases for t in c.turns),
    )


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        (RAW + "ecommerce_customer_service_agent__order_query", (1, 4, 7)),
        (RAW + "hello_world_agent__roll_die", (1, 3, 1)),
        (HOME + "test_files__dependent_tool_calls", (1, 2, 2)),
        (HOME + "test_files__simple_multi_turn_conversation", (1, 2, 2)),
        (RAW + "trip_planner_agent__trip_inquiry", (1, 2, 1)),
    ],
)
def test_recorded_adk_cases(name, counts):
    value = json.loads((DATA / "raw/adk" / f"{name}.test.json").read_text())
    cases = eval_cases(value) if recognise(value) == "adk_eval_set" else legacy_cases(value, name)
    assert expected_counts(cases) == counts


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("context_update_test__successful_test", [(0, 0), (1, 1)]),
        ("flow_complex_spark__sample", [(2, 2)]),
        ("trip_planner_agent__initial", []),
    ],
)
def test_recorded_adk_sessions(name, counts):
    value = json.loads((DATA / "raw/adk" / f"{RAW}{name}.session.json").read_text())
    assert recognise(value) == "adk_session"
    conversation = session_conversation(value)
    assert [(len(t.tool_calls), len(t.tool_responses)) for t in conversation.turns] == counts
    assert all(turn.user and turn.agent and turn.latency_ms for turn in conversation.turns)


@pytest.mark.parametrize(
    ("name", "conversations", "turns", "calls", "expected_calls"),
    [
        ("adk_sessions", 2, 12, 8, 0),
        ("bfcl_multi_turn", 30, 131, 0, 186),
        ("cxas_evals", 15, 17, 0, 7),
        ("functionchat_dialog_ko", 10, 31, 12, 12),
        ("tau_bench_airline_gpt-4o", 40, 339, 274, 92),
        ("xstest_mistral", 90, 90, 0, 0),
    ],
)
def test_neutral_conversations(name, conversations, turns, calls, expected_calls):
    lines = (DATA / f"{name}.jsonl").read_bytes().splitlines()
    read = [read_conversation(line) for line in lines]
    all_turns = [turn for conversation in read for turn in conversation.turns]
    wanted = [call for turn in all_turns if turn.expected for call in turn.expected.tool_calls or []]
    wanted += [call for c in read if c.expected for call in c.expected.actions or []]
    assert (len(read), len(all_turns)) == (conversations, turns)
    assert (sum(len(turn.tool_calls) for turn in all_turns), len(wanted)) == (calls, expected_calls)
    assert all(call.name and call.args is not None for turn in all_turns for call in turn.tool_calls)
    assert {recognise(json.loads(line)) for line in lines} == {"turnwise"}
    assert all(looks_canonical(line) for line in lines if b'"messages"' not in line)


@pytest.mark.parametrize("name", ["adk_evalsets", "bfcl_multi_turn", "cxas_evals"])
def test_expected_only_records_are_cases(name):
    for line in (DATA / f"{name}.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        case = read_case(line)
        assert case.eval_id == record["conversation_id"]
        assert [turn.user for turn in case.turns] == [turn["user"] for turn in record["turns"]]
