"""Whole runs with panels and cascades: real clients of three APIs, at a server that speaks their wires."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.logs import turn_scores
from tests.served import in_environment

pytestmark = pytest.mark.usefixtures("with_credentials")
MATCH = "final_response_match_v2"
PANEL = ["gemini-2.5-flash", "openai/gpt-x", "anthropic/claude-x"]


def conversation(number: int) -> dict[str, Any]:
    turn = {"user": f"Order {number}?", "agent": "On Monday.", "expected": {"response": "Monday"}}
    return {"conversation_id": f"c{number}", "app_version": "v1", "turns": [turn]}


@pytest.fixture
def run(turnwise: Any, server: Any, tmp_path: Path) -> Any:
    """Judges six conversations by one sample each; keywords go into the config's judge section."""

    def go(*options: str, criterion: Any = None, name: str = "out", **judge: Any) -> Any:
        log, config = tmp_path / "log.jsonl", tmp_path / "config.json"
        log.write_text("".join(json.dumps(conversation(i)) + "\n" for i in range(6)), encoding="utf-8")
        own = criterion or {"judge_model_options": {"num_samples": 1}}
        judge = {"base_url": server.url, "retry_delay_s": 0.01, "cache": "none", **judge}
        stated = {"criteria": {MATCH: {"threshold": 0.5, **own}}, "judge": judge}
        config.write_text(json.dumps(stated), encoding="utf-8")
        keys = {"OPENAI_API_KEY": server.key, "OPENAI_BASE_URL": f"{server.url}/v1"}
        anthropic = {"ANTHROPIC_API_KEY": server.key, "ANTHROPIC_BASE_URL": server.url}
        with in_environment({**keys, **anthropic}):
            return turnwise("run", "--input", log, "--config", config, *options, output=tmp_path / name)

    return go


def judge_of(done: Any) -> Any:
    return done.document("run.json")["judge"]


def calls(done: Any) -> dict[str, int]:
    return {model: own["calls"] for model, own in judge_of(done)["usage"].items()}


def test_a_panel_of_three_providers(run, server):
    """Claude fails two that the others pass; GPT refuses one; in one GPT and Claude fail."""
    no = {"values": {"verdict": "invalid"}}
    server.script(
        {"model": "claude-x", "match": "Order 1?", **no},
        {"model": "claude-x", "match": "Order 2?", **no},
        {"model": "gpt-x", "match": "Order 3?", "finish": "SAFETY"},
        {"model": "claude-x", "match": "Order 4?", **no},
        {"model": "gpt-x", "match": "Order 4?", **no},
    )
    prices = {model: {"input_per_million": 1, "output_per_million": 2} for model in PANEL}
    done = run(panel=PANEL, prices=prices)
    assert done.status == 0, done.err
    rows = turn_scores(done)
    values = {row["conversation_id"]: row["value"] for row in rows}
    assert values == {f"c{number}": 0.0 if number == 4 else 1.0 for number in range(6)}
    assert {row["judge"]["model"] for row in rows} == {", ".join(PANEL)}
    assert judge_of(done)["model"] == ", ".join(PANEL)
    found = judge_of(done)["panels"][MATCH]
    assert (found["questions"], found["decided"]) == (6, 6)
    assert found["agreement"] == pytest.approx((3 * 1 + 3 * 2 / 3) / 6)
    gemini, gpt, claude = (found["members"][model] for model in PANEL)
    assert (gpt["verdicts"], gpt["unmeasured"]) == (5, 1)
    assert gemini["bias"] == pytest.approx((0.5 + 0.5 + 1) / 6)
    assert claude["bias"] == pytest.approx((-1 - 1 - 0.5) / 6)
    assert calls(done) == dict.fromkeys(PANEL, 6)
    assert judge_of(done)["usage"]["openai/gpt-x"]["unusable"] == {"blocked": 1}
    assert judge_of(done)["cost"] > 0
    columns = {row["level"]: row["panel"] for row in done.rows("metrics_by_app_version")[1:]}
    of_all = {name: found[name] for name in ("questions", "decided", "agreement", "alpha")}
    assert columns == {"turn": of_all, "conversation": None}
    assert f"panel: {MATCH}: 6 of 6 questions decided, agreement 83%, alpha" in done.out
    assert "openai/gpt-x bias +10%, 1 without a verdict" in done.out


def test_a_panel_takes_the_replies_of_runs_of_one_model(run, server, tmp_path):
    cache = str(tmp_path / "replies.sqlite")
    assert run(model=PANEL[0], cache=cache, name="one").status == 0
    done = run(panel=PANEL[:2], cache=cache, name="two")
    assert calls(done) == {PANEL[0]: 0, PANEL[1]: 6}
    server.script()
    again = run(model=PANEL[1], cache=cache, name="three", base_url=None)
    assert (again.status, server.stats()["requests"]) == (0, 0)


def test_a_budget_is_that_of_the_run(run):
    done = run("--judge_concurrency", "1", panel=PANEL, max_calls=9)
    assert sum(calls(done).values()) == 9
    found = judge_of(done)["panels"][MATCH]
    unmeasured = sum(member["unmeasured"] for member in found["members"].values())
    assert (found["questions"], unmeasured) == (6, 9)
    reasons = [row["reason"] for row in turn_scores(done) if row["value"] is None]
    assert reasons and all(reason.endswith("budget") for reason in reasons)
    assert done.document("run.json")["counts"]["results"] == 6


def test_a_cascade(run, server):
    """The cheap judge is unsure of two by its confidence, and of one because it gives no answer."""
    server.script(
        {"model": "gpt-x", "match": "Order 1?", "values": {"confidence": 40}},
        {"model": "gpt-x", "match": "Order 2?", "values": {"confidence": 79}},
        {"model": "gpt-x", "match": "Order 3?", "finish": "MAX_TOKENS"},
        {"model": "gpt-x", "values": {"confidence": 80}},
        {"model": "claude-x", "match": "Order 2?", "values": {"verdict": "invalid"}},
    )
    cascade = {"model": "openai/gpt-x", "num_samples": 1, "min_confidence": 80}
    prices = {
        "openai/gpt-x": {"input_per_million": 1, "output_per_million": 2},
        "anthropic/claude-x": {"input_per_million": 100, "output_per_million": 200},
    }
    done = run(model="anthropic/claude-x", cascade=cascade, prices=prices, base_url=None)
    assert done.status == 0, done.err
    rows = {row["conversation_id"]: row for row in turn_scores(done)}
    decided = {name: row["details"]["cascade"]["decided_by"] for name, row in rows.items()}
    assert [name for name in sorted(decided) if decided[name] == "second"] == ["c1", "c2", "c3"]
    assert [rows[f"c{number}"]["value"] for number in range(6)] == [1, 1, 0, 1, 1, 1]
    assert calls(done) == {"openai/gpt-x": 6, "anthropic/claude-x": 3}
    assert judge_of(done)["model"] == "openai/gpt-x > anthropic/claude-x"
    found = judge_of(done)["cascades"][MATCH]
    assert (found["questions"], found["went_on"]) == (6, 3)
    assert found["unsure"] == {"votes": 0, "confidence": 2, "no_score": 1}
    assert found["saved"]["calls"] == 3 - 6
    assert found["saved"]["cost"] > 0
    assert f"cascade: {MATCH}: 3 of 6 questions went on (2 confidence, 1 no score); saved about" in done.out


def test_a_stream_counts_panels_and_cascades(run, server):
    server.script({"model": "claude-x", "match": "Order 1?", "values": {"verdict": "invalid"}})
    cascade = {"model": "openai/gpt-x", "num_samples": 1, "min_confidence": 80}
    panel = [PANEL[0], PANEL[2]]
    done = run("--streaming", "--stop_after", "6", panel=panel, cascade=cascade)
    assert done.status == 0, done.err
    assert judge_of(done)["cascades"][MATCH]["went_on"] == 6  # the server's confidence is 0
    found = judge_of(done)["panels"][MATCH]
    assert (found["questions"], found["decided"], found["agreement"]) == (6, 5, 1.0)


def test_an_estimate_of_a_cascade(run, server):
    cascade = {"model": "openai/gpt-x"}
    own = {"judge_model_options": {"num_samples": 3, "cascade": cascade, "judge_model": "anthropic/claude-x"}}
    done = run("--estimate", criterion=own, backend="gemini")
    assert done.status == 0, done.err
    assert "openai/gpt-x: 12 calls if answers agree, 18 at the most" in done.out
    assert "anthropic/claude-x: 0 calls if answers agree, 18 at the most" in done.out
    assert server.stats()["requests"] == 0


def test_the_option_for_a_model_replaces_the_panel(run):
    done = run("--judge_model", PANEL[1], panel=PANEL, base_url=None)
    assert (calls(done), judge_of(done)["model"]) == ({PANEL[1]: 6}, PANEL[1])


FLASH = "gemini-2.5-flash"
SAME = f"judge: {FLASH} and gemini/{FLASH} are the same model"
WRONG = [
    ({"panel": [FLASH]}, {}, "judge.panel: a panel has at least two models"),
    ({"panel": [FLASH, f"gemini/{FLASH}"]}, {}, SAME),
    ({"panel": PANEL}, {}, "judge: the credentials are refused: HTTP 401"),
    ({"cascade": {"model": f"gemini/{FLASH}"}}, {}, f"gemini/{FLASH} and {FLASH} are the same"),
    ({"cascade": {"model": "openai/x", "num_samples": 1}}, {}, "judge.cascade: with num_samples 1 it is"),
    ({}, {"judge_model": f" {FLASH}", "cascade": {"model": FLASH}}, "are the same model"),
    ({"backend": "none"}, {"panel": PANEL}, "judge: a panel or cascade asks models, and none asks none"),
    ({}, {"panel": ["gemini-2.5-pro", "gemini-2.5-pro"]}, "gemini-2.5-pro is named twice"),
    ({"panel": PANEL, "max_cost": 1}, {}, "judge.max_cost: there is no price of the model anthropic"),
]


@pytest.mark.parametrize(("judge", "options", "said"), WRONG)
def test_wrong_panels_are_said_in_one_line(run, server, judge, options, said):
    server.script({"checks": True, "model": "claude-x", "status": 401})
    done = run(criterion={"judge_model_options": options} if options else None, **judge)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert said in done.err
    assert (done.directory.exists(), server.stats()["requests"]) == (False, 0)
