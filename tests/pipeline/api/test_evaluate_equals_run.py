"""`turnwise.evaluate` gives what `turnwise run` writes."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import turnwise as api

DATA = Path(__file__).parents[3] / "../shared/data"
METRICS = ("metrics_by_app_version", "metrics_by_turn", "metrics_by_slice")
TABLES = ("scores", "results", "conversations", *METRICS, "failures")
OF_RUN = ("run_id", "createTime", "evaluationRun")
MATCH = "final_response_match_v2"
Compare = Callable[..., tuple[Any, Any]]


def told(row):
    """Returns what a row says as JSON, but for what differs between any two runs."""
    plain = json.loads(json.dumps(row.get("result", row)))
    if plain.get("judge"):
        # Which of several equal questions is asked, and which waits for its answer, is chance.
        plain["judge"] = {name: plain["judge"][name] for name in ("model", "prompt_version", "samples")}
    return {name: value for name, value in plain.items() if name not in OF_RUN}


def key(row):
    """Returns what orders rows: all but sums of floats, whose last digit depends on the order of adding."""
    return json.dumps({k: v for k, v in row.items() if not isinstance(v, float)}, sort_keys=True)


def assert_equal(result, done):
    for table in TABLES:
        ours = sorted(map(told, getattr(result, table)), key=key)
        theirs = sorted(map(told, done.rows(table)), key=key)
        assert len(ours) == len(theirs), table
        for one, other in zip(ours, theirs, strict=True):
            assert one.keys() == other.keys()
            for name, value in other.items():
                near = table.startswith("metrics") and isinstance(value, float)
                assert one[name] == (pytest.approx(value, rel=1e-12) if near else value), (table, name)


def without_difference(text):
    """Returns a report without the difference between versions, which needs the files of a run."""
    named = r"(?:\A|\n\n)(?:difference: |not compared: ).*?(?=\n\n)"
    return re.sub(named, "", text, flags=re.DOTALL).lstrip("\n")


@pytest.fixture
def both(turnwise, tmp_path):
    """Returns a function that evaluates twice, compares, and returns the result and the finished run."""

    def compare(logs, cases=None, config=None, judge="local"):
        file = tmp_path / "config.json"
        file.write_text(json.dumps(config or {}))
        options = ["--eval_cases", cases] if cases else []
        done = turnwise(
            "run", "--input", logs, "--config", file, "--judge", judge, *options, output=tmp_path / "out"
        )
        for cache in tmp_path.glob("cache*"):
            cache.unlink()
        result = api.evaluate(logs, cases=cases, config=config or {}, judge=judge)
        assert_equal(result, done)
        document = done.document("run.json")
        assert json.loads(json.dumps(result.counts)) == document["counts"]
        # What differs is how long calls took, on a wire.
        ours, theirs = dict(result.judge), document["judge"]
        for usage in [*ours.get("usage", {}).values(), *theirs.get("usage", {}).values()]:
            del usage["mean_latency_ms"]
        assert ours == theirs
        if judge == "local":
            assert without_difference(done.out).startswith(without_difference(result.summary))
        return result, done

    return compare


def test_on_the_sample(both, sample):
    result, _ = both(sample / "conversations", sample / "cases")
    assert (result.status, len(result.results), len(result.failures)) == ("FAIL", 59, 2)


@pytest.mark.usefixtures("with_credentials")
def test_with_a_model(both, sample, server, tmp_path):
    judge = {"base_url": server.url, "retry_delay_s": 0.01, "cache": f"{tmp_path}/cache"}
    config = {"criteria": {MATCH: 0.5, "hallucinations_v1": 0.5}, "judge": judge}
    result, _ = both(sample / "conversations", sample / "cases", config, "gemini")
    assert result.judge["usage"]["gemini-2.5-flash"]["calls"] > 50


@pytest.mark.skipif(not DATA.is_dir(), reason="the data is not there")
@pytest.mark.parametrize(
    ("logs", "criteria"),
    [
        ("tau2_airline_gpt-4.1_vs_ft.jsonl", {"tool_effects_v1": 1.0, "expectations_met": {}}),
        ("functionchat_dialog_ko.jsonl", {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.5}),
        ("discovery_engine.jsonl", {"citation_validity": 1.0, "turn_latency": {}}),
        ("adk_sessions.jsonl", {"tool_call_latency": {}, "ended_normally": 1.0}),
    ],
)
def test_on_real_data(both, logs, criteria):
    result, _ = both(DATA / logs, None, {"criteria": criteria})
    assert result.results


def test_on_events_repeated_cases_and_broken_records(both, tmp_path):
    """Joined events, an event twice, equal and different cases of one name, an unknown case, no JSON."""
    turns = [
        {"conversation_id": "s1", "turn_index": i, "event_id": f"e{i}", "turn": {"user": "u", "agent": "a"}}
        for i in (1, 0, 1)
    ]
    logs = [
        *turns,
        {"conversation_id": "c1", "eval_id": "twice", "turns": [{"user": "u", "agent": "a"}]},
        {"conversation_id": "c2", "eval_id": "differs", "turns": [{"user": "u", "agent": "a"}]},
        {"conversation_id": "c3", "turns": []},
    ]
    log = tmp_path / "logs.jsonl"
    log.write_text("".join(json.dumps(one) + "\n" for one in logs) + "{no JSON\n")
    names = (("twice", "a"), ("twice", "a"), ("differs", "a"), ("differs", "b"), ("idle", "a"))
    cases = [{"eval_id": name, "turns": [{"user": "u", "response": words}]} for name, words in names]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    result, _ = both(log, tmp_path / "cases.json")
    assert [row["conversation_id"] for row in result.results] == ["c1", "s1"]
    stages = sorted(row["stage"] for row in result.failures)
    assert stages == ["match", "parse", "parse", "parse_case", "parse_case", "parse_case"]
    assert result.counts["unused_cases"] == 1 and result.counts["joined_entries"] == 3


def test_a_named_file_of_which_nothing_can_be_read(both, tmp_path):
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(gzip.compress(b'{"conversation_id": "c", "turns": [{"user": "u", "agent": "a"}]}')[:-9])
    result, done = both(cut)
    assert result.counts["unread_files"] == done.document("run.json")["counts"]["unread_files"] == 1
    assert "1 named file could not be read at all" in " ".join(result.problems) and done.status == 1
