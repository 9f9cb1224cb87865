"""Whole runs with a judge: a real client that talks to a server that stands in for Gemini."""

import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.logs import order, turn_scores
from tests.samples import score_conversation
from turnwise.schemas.config import EvalConfig, JudgeConfig
from turnwise.schemas.conversation import Record
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.formats.canonical import read_conversation
from turnwise.transforms.judging.setup import JudgeSettings, JudgeWorker
from turnwise.transforms.matching.sample import Sample, inline_case
from turnwise.transforms.scoring.config import build_criteria
from turnwise.transforms.scoring.evaluate import judge_conversation
from turnwise.transforms.scoring.selection import hash_place

pytestmark = pytest.mark.usefixtures("with_credentials")
MODEL = "gemini-2.5-flash"
MATCH = "final_response_match_v2"


@pytest.fixture
def run(turnwise: Any, server: Any, tmp_path: Path) -> Any:
    """Returns a function that judges so many conversations; keywords go into the config's judge section."""

    def go(
        size: int, *options: str, criteria: Any = None, name: str = "out", files: int = 1, **judge: Any
    ) -> Any:
        logs, config = tmp_path / "logs", tmp_path / "config.json"
        logs.mkdir(exist_ok=True)
        for part in range(files):
            rows = (json.dumps(order(i)) + "\n" for i in range(part, size, files))
            (logs / f"{part}.jsonl").write_text("".join(rows), encoding="utf-8")
        judge = {"base_url": server.url, "retry_delay_s": 0.01, **judge}
        config.write_text(
            json.dumps({"criteria": criteria or {MATCH: 0.5}, "judge": judge}), encoding="utf-8"
        )
        arguments = ["run", "--input", logs, "--config", config, *options]
        if "--judge_cache" not in options:
            arguments += ["--judge_cache", "none"]
        return turnwise(*arguments, output=tmp_path / name)

    return go


def usage(done: Any) -> dict[str, Any]:
    figures: dict[str, Any] = done.document("run.json")["judge"]["usage"][MODEL]
    return figures


def test_faults_of_the_judge_are_not_the_agents(run, server):
    """Of 200 conversations, a tenth of the requests are refused, a twentieth of the replies cut off."""
    limit = {"every": 10, "status": 429, "headers": {"Retry-After": "0"}, "message": "slow down"}
    server.script(limit, {"every": 19, "cut": 12, "finish": "MAX_TOKENS"})
    options = {"judge_model_options": {"num_samples": 1}, "threshold": 0.5}
    done = run(200, criteria={MATCH: options})
    scores = turn_scores(done)
    assert (done.status, len(done.rows("results")), len(scores), done.rows("failures")) == (0, 200, 200, [])
    outcomes = Counter(row["outcome"] for row in scores)
    assert outcomes["FAIL"] == 0 and outcomes["PASS"] > 150 and outcomes[None] > 0
    assert {row["reason"] for row in scores if row["outcome"] is None} == {
        "the answer was cut off at its token limit (MAX_TOKENS)"
    }
    figures = usage(done)
    assert figures["calls"] == 200 and figures["retries"] > 10
    assert sum(figures["unusable"].values()) == outcomes[None]
    (row,) = [
        r for r in done.rows("metrics_by_app_version") if (r["criterion"], r["level"]) == (MATCH, "turn")
    ]
    assert (row["scored"], row["no_score"]) == (outcomes["PASS"], outcomes[None])
    statuses = Counter(row.get("evaluationStatus") for row in done.rows("results"))
    assert statuses == {"PASS": outcomes["PASS"], None: outcomes[None]}


def test_credentials_that_are_refused_later_end_it_too(run, server):
    server.script({"skip": 5, "status": 401, "message": "revoked"})
    before = set(threading.enumerate())
    done = run(40)
    assert done.status == 2 and done.err.count("\n") == 1 and "credentials are refused" in done.err
    assert [path for path in done.directory.iterdir() if not path.name.startswith(".")] == []
    assert server.stats()["requests"] < 120
    new = set(threading.enumerate()) - before
    assert [thread.name for thread in new if thread.name.startswith("turnwise")] == []


def test_a_sample_is_the_same_in_every_run_and_counted(run, server):
    criteria = {MATCH: 0.5, "safety_v1": {"sample_rate": 1.0}, "response_match_score": 0.1}
    done = run(60, "--sample_rate", "0.3", criteria=criteria)
    judged = {row["conversation_id"] for row in turn_scores(done)}
    assert judged == {f"c{i}" for i in range(60) if hash_place(f"c{i}") < 0.3}
    assert 5 < len(judged) < 35
    rows = {r["criterion"]: r for r in done.rows("metrics_by_app_version") if r["level"] == "conversation"}
    assert (rows[MATCH]["count"], rows[MATCH]["sampled_out"]) == (len(judged), 60 - len(judged))
    assert (rows["safety_v1"]["count"], rows["safety_v1"]["sampled_out"]) == (60, 0)
    assert (rows["response_match_score"]["count"], rows["response_match_score"]["sampled_out"]) == (60, 0)
    # Without the judge of its gate a conversation has no verdict, though its other gate is decided.
    for row in done.rows("conversations"):
        is_judged = row["conversation_id"] in judged
        assert row["sampled_out"] == ([] if is_judged else [MATCH, "verdict"])
        assert is_judged or (row["verdict"], row["reason"]) == (None, f"sampled out: {MATCH}")
    status = rows["verdict"]
    assert (status["count"], status["sampled_out"]) == (len(judged), 60 - len(judged))
    assert f"{status['no_score']} ({60 - len(judged)} more sampled out)" in done.out


TWO = ("--workers", "2")


def test_processes_share_limits_by_the_file_of_replies(run, server, tmp_path):
    done = run(30, *TWO, "--judge_cache", str(tmp_path / "replies.sqlite"), files=8, max_calls=20)
    assert server.stats()["requests"] == 20 and usage(done)["calls"] == 20
    assert usage(done)["unusable"]["budget"] > 0 and "divided" not in done.err
    limits = {"max_calls": 20, "held_by": "judge_cache", "workers": None, "per_worker": None}
    assert done.document("run.json")["judge"]["limits"] == limits


def test_a_budget_of_a_day_holds_for_all_runs_with_one_cache(run, server, tmp_path):
    """Two processes a run, and one run after the other; criteria that decide nothing are counted, too."""
    cache = ("--judge_cache", str(tmp_path / "replies.sqlite"))
    first = run(30, *TWO, *cache, files=8, max_calls=20, per="day")
    assert server.stats()["requests"] == usage(first)["calls"] <= 20
    limits = {"max_calls": 20, "per": "day", "held_by": "judge_cache", "workers": None, "per_worker": None}
    assert first.document("run.json")["judge"]["limits"] == limits
    counts = first.document("run.json")["counts"]
    assert counts["short_of_budget"] == counts["left_by_budget"] >= 10
    (row,) = (row for row in first.rows("metrics_by_app_version")
              if (row["criterion"], row["level"]) == (MATCH, "conversation"))  # fmt: skip
    assert row["no_score"] == counts["short_of_budget"]
    why = f"{row['no_score']} conversations with no score, because the judge's budget is"
    assert why in " ".join(first.out.split())
    again = run(30, *TWO, *cache, files=8, name="again", max_calls=20, per="day")
    kept = [{row["conversation_id"] for row in turn_scores(done) if row["value"] is not None}
            for done in (first, again)]  # fmt: skip
    assert kept[0] and kept[0] <= kept[1]  # what was paid for is not left out
    other = run(60, *cache, criteria={MATCH: {}}, name="other", max_calls=20, per="day")
    assert server.stats()["requests"] <= 20
    reasons = {row["reason"] for row in turn_scores(other) if row["value"] is None}
    assert reasons <= {"budget", "left out, so that the judge's budget lasts for the day"} and reasons
    assert other.document("run.json")["counts"]["short_of_budget"] >= 40


def test_a_budget_of_a_day_is_shared_out_where_the_judge_reads_markers(run, tmp_path):
    cache = ("--judge_cache", str(tmp_path / "replies.sqlite"))
    done = run(60, *cache, "--redact", "email", criteria={MATCH: {}}, max_calls=20, per="day")
    reasons = Counter(row["reason"] for row in turn_scores(done) if row["value"] is None)
    assert reasons["left out, so that the judge's budget lasts for the day"] > 0


def test_processes_without_a_shared_place_divide_the_limits(run, server):
    done = run(30, *TWO, files=8, max_calls=21)
    assert 10 <= server.stats()["requests"] <= 20
    assert "the judge's limits are divided by 2 workers: max_calls 10 each; --judge_cache" in done.err
    limits = {"max_calls": 21, "held_by": "each worker", "workers": 2, "per_worker": {"max_calls": 10}}
    assert done.document("run.json")["judge"]["limits"] == limits


def test_many_conversations_wait_in_order_and_within_the_limit(run, server):
    server.script({"delay_ms": 15}, {"match": "order 3?", "delay_ms": 150})
    done = run(120, "--judge_concurrency", "4")
    assert server.stats()["max_in_flight"] == 4
    assert [row["conversation_id"] for row in turn_scores(done)] == [f"c{i}" for i in range(120)]


def test_the_key_stands_nowhere(run, server):
    server.script({"every": 3, "status": 400, "message": f"bad request with {server.key}"})
    done = run(6)
    texts = [path.read_text(encoding="utf-8") for path in done.directory.rglob("*") if path.is_file()]
    assert all(server.key not in text for text in [*texts, done.out, done.err])


def test_the_run_gives_what_the_plain_functions_give(run, server):
    server.script({"match": "order 2?", "values": {"verdict": "invalid"}}, {"match": "order 4?", "cut": 5})
    done = run(6)
    (criterion,) = build_criteria(EvalConfig(criteria={MATCH: 0.5}))
    assert isinstance(criterion, JudgedCriterion)
    config = JudgeConfig(backend="gemini", base_url=server.url, retry_delay_s=0.01)
    worker = JudgeWorker(JudgeSettings(config), {"GOOGLE_API_KEY": server.key})
    plain = []
    for number in range(6):
        recorded = read_conversation(json.dumps(order(number)).encode())
        case = Sample(recorded, inline_case(recorded), Record("log", number, b""))
        scored = score_conversation(case, ())
        worker.submit(judge_conversation(scored, [criterion], worker.ask)).result()
        plain += [(score.value, score.outcome, score.reason) for _, score in scored.scores[0].turns]
    worker.close()
    assert [(row["value"], row["outcome"], row["reason"]) for row in turn_scores(done)] == plain
    assert len({value for value, _, _ in plain}) == 3
