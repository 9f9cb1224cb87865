"""What becomes of every conversation of the bundled sample, with the bundled config.

The table was worked out from the files by the rules of the CES evaluation API, apart from the code. A golden
whose answers only a judge can compare, and a scenario's user goal, leave a conversation undecided.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOLDENS = {
    "PASS": (
        "ja-panku-yoyaku-v1 de-bremse-schleift-v1 en-pause-summer-v1 de-pause-huefte-v1 "
        "ja-ryugaku-kyushi-v1 ko-charger-lost-v1 ja-panku-yoyaku-v2 ko-charger-lost-v2 en-pause-summer-v2 "
        "en-welcome-human-v2 ko-pedal-noise-v2 de-klingel-ruecklicht-v2 ja-tounan-futan-v2"
    ),
    "FAIL": (
        "en-flat-tyre-v1 en-welcome-human-v1 en-stolen-ebike-v1 de-klingel-ruecklicht-v1 ko-pedal-noise-v1 "
        "ja-tounan-futan-v1 de-doppelt-abgebucht-v1 ja-ryugaku-kyushi-v2 de-bremse-schleift-v2 "
        "de-pause-huefte-v2"
    ),
    None: "ko-ten-days-v1 en-flat-tyre-v2 en-stolen-ebike-v2 de-doppelt-abgebucht-v2 ko-ten-days-v2",
}
SCENARIOS = [
    ("de-diebstahl-v1", None, True),
    ("ja-shifuto-yoyaku-v1", "FAIL", False),
    ("en-haggling-v1", None, None),
    ("ko-rain-delivery-v1", None, True),
    ("ja-shifuto-yoyaku-v2", None, True),
    ("ko-rain-delivery-v2", None, True),
    ("de-diebstahl-v2", "FAIL", False),
    ("en-haggling-v2", None, True),
]
WITHOUT_CASE = "live-ko-b214 live-de-91c4 live-ja-20ab live-ko-3e58 live-ja-77d0 live-en-6f02 session-de-4c70"
ADK = [
    # conversation, tool_trajectory_avg_score, response_match_score, status
    ("adk-en-lock-code-v1", 1.0, 0.8235, "PASS"),
    ("adk-en-move-to-bristol-v1", 0.5, 0.4401, "FAIL"),
    ("adk-ja-light-repair-v1", 0.0, 0.6977, "FAIL"),
    ("adk-ja-receipt-name-v1", 0.0, 0.6667, "FAIL"),
    ("adk-ko-child-seat-v1", 1.0, 0.14, "FAIL"),
    ("adk-ko-seat-height-v1", 1.0, 0.6, "PASS"),
    ("adk-de-kette-gerissen-v1", 1.0, 0.7586, "PASS"),
    ("adk-de-kette-gerissen-lost", 1.0, 0.75, "PASS"),
    ("adk-en-lock-code-v2", 1.0, 0.8636, "PASS"),
    ("adk-en-move-to-bristol-v2", 1.0, 0.822, "PASS"),
    ("adk-ja-light-repair-v2", 1.0, 0.8358, "PASS"),
    ("adk-ja-receipt-name-v2", 1.0, 0.9398, "PASS"),
    ("adk-ko-child-seat-v2", 1.0, 0.7929, "PASS"),
    ("adk-ko-seat-height-v2", 1.0, 0.902, "PASS"),
    ("adk-de-kette-gerissen-v2", 0.0, 0.6364, "FAIL"),
    ("session-ko-8a11", 1.0, 0.9387, "PASS"),
]


@pytest.fixture(scope="module")
def run(
    turnwise: Callable[..., Any], sample_arguments: list[str], sample: Path, tmp_path_factory: Any
) -> Any:
    out = tmp_path_factory.mktemp("verdicts") / "out"
    return turnwise(*sample_arguments, "--config", sample / "config.json", output=out)


@pytest.fixture(scope="module")
def results(run: Any) -> dict[str, dict[str, Any]]:
    return {short(conversation_of(row)): row for row in run.rows("results")}


def conversation_of(result: dict[str, Any]) -> str:
    held = result.get("scenarioResult") or result["goldenResult"]["turnReplayResults"][0]
    name: str = held["conversation"]
    return name


def short(name: str) -> str:
    return name.rsplit("/", 1)[-1]


@pytest.mark.parametrize(
    ("name", "status"), [(name, status) for status, names in GOLDENS.items() for name in names.split()]
)
def test_goldens(results: dict[str, Any], name: str, status: str | None) -> None:
    assert results[name].get("evaluationStatus") == status
    reason = results[name].get("errorInfo", {}).get("errorMessage", "")
    assert reason.endswith("need a judge to compare meaning") == (status is None)


@pytest.mark.parametrize(("name", "status", "satisfied"), SCENARIOS)
def test_scenarios(results: dict[str, Any], name: str, status: str | None, satisfied: bool | None) -> None:
    assert results[name].get("evaluationStatus") == status
    assert results[name]["scenarioResult"].get("allExpectationsSatisfied") is satisfied


@pytest.mark.parametrize("name", WITHOUT_CASE.split())
def test_conversations_without_a_reference(results: dict[str, Any], name: str) -> None:
    assert "evaluationStatus" not in results[name]
    assert "no criterion with a threshold applies" in results[name]["errorInfo"]["errorMessage"]


@pytest.mark.parametrize(("name", "trajectory", "response", "status"), ADK)
def test_adk_conversations(
    run: Any, results: dict[str, Any], name: str, trajectory: float, response: float, status: str
) -> None:
    assert results[name].get("evaluationStatus") == status
    rows = [row for row in run.rows("scores") if short(row["conversation_id"]) == name]
    found = {row["criterion"]: row["value"] for row in rows if row["turn_index"] is None}
    assert found["tool_trajectory_avg_score"] == trajectory
    assert found["response_match_score"] == pytest.approx(response, abs=5e-5)


def test_the_tables_hold_every_conversation(results: dict[str, Any]) -> None:
    named = [*" ".join(GOLDENS.values()).split(), *WITHOUT_CASE.split()]
    named += [name for name, *_ in [*SCENARIOS, *ADK]]
    assert sorted(named) == sorted(results)
