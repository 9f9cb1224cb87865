"""Eval cases and conversations as CES's command line and Python classes write them."""

import pytest

from tests.readings import FORMATS
from turnwise.pipeline.io.records import file_records
from turnwise.schemas.config import CesConfig
from turnwise.transforms.formats.reading import CaseReader

CXAS = FORMATS.parent / "cxas"
WELCOME = "<event>welcome</event>"
GREETING = "In a sentence or two, what are you calling about today?"
UNLOCK = [("retrieve_intent_matches", {}), ("transfer_to_cx", {"intent": "Unlock"})]
TRANSFER = "There must be a transfer_to_cx tool call with the intent parameter set to Unlock"


def cases(path):
    return [
        case for record in file_records(str(path), 1 << 20) for case in CaseReader(CesConfig()).read(record)
    ]


def expected(case):
    turns = [
        (turn.user, turn.response, [(c.name, c.args) for c in turn.tool_calls or []]) for turn in case.turns
    ]
    return case.eval_id, turns, case.evaluation_expectations


@pytest.mark.skipif(not CXAS.exists(), reason="no shared data")
@pytest.mark.parametrize("name", ["golden_eval_example", "compressed_example"])
def test_recorded_goldens(name):
    found = cases(CXAS / f"{name}.yaml")
    first = [(WELCOME, GREETING, [])]
    assert [expected(case) for case in found] == [
        ("Unlock_Intent1", [*first, ("unlock a phone", None, UNLOCK)], [TRANSFER]),
        ("Unlock.Intent2", [*first, ("I'm locked out of my account", None, UNLOCK)], [TRANSFER]),
        (
            "Datastore_Intent1",
            [*first, ("block a number", None, [("website_datastore", {})])],
            ["The agent must invoke the website_datastore tool."],
        ),
    ]
    assert found[0].tags == ["direct", "p0"]
    state = {"account_id": "9820598207", "customer_id": "4444444"} if name.startswith("golden") else {}
    assert {tuple(case.session_state.items()) for case in found} == {tuple(state.items())}


@pytest.mark.skipif(not CXAS.exists(), reason="no shared data")
def test_a_recorded_export_holds_its_statements():
    [case] = cases(CXAS / "exported_eval_example.yaml")
    assert [turn.user for turn in case.turns] == [
        "<event>WelcomeEvent</event>",
        "balloons",
        "cups",
        "sandwiches",
    ]
    assert case.evaluation_expectations[0].startswith("Did the agent call get_themes and filter_themes")


@pytest.mark.skipif(not CXAS.exists(), reason="no shared data")
def test_recorded_checks_of_single_turns():
    found = {case.eval_id: case.turns[0] for case in cases(CXAS / "turn_eval_example.yaml")}
    assert len(found) == 6
    said = {
        name: [(e.kind, e.text or e.target_agent, e.comparison) for e in t.expectations]
        for name, t in found.items()
    }
    assert said["Session Start Event Check"] == [("agent_response", "Shopping Assistant", "CONTAINS")]
    assert said["Party Planner transfer"][0][:2] == ("agent_transfer", "party_planner")
    assert [each[0] for each in said["Direct Response Only"]] == ["no_tool_calls", "agent_response"]
    search = found["Product search tool I/O"]
    [call] = search.tool_calls
    assert (call.name, call.args, call.compare_args) == (
        "search_products",
        {"query": "cupcake decorations"},
        ["query"],
    )
    assert "tool_output" in search.unread


@pytest.mark.skipif(not CXAS.exists(), reason="no shared data")
def test_recorded_simulations():
    found = cases(CXAS / "simulation_eval_example.yaml")
    assert [(case.kind, len(case.evaluation_expectations)) for case in found] == [
        ("scenario", n) for n in (4, 4, 4, 7)
    ]
    assert found[3].task.splitlines()[0] == "Authenticate and ask about your current balance"
    assert found[0].session_state == {"account_id": "9820598207", "customer_id": "4444444"}
