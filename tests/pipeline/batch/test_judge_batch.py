"""Judges that are asked by batch jobs: real clients at a server that takes the jobs of Gemini and OpenAI."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.pipeline.logs import order, turn_scores
from tests.served import in_environment

pytestmark = pytest.mark.usefixtures("with_credentials")
MATCH, FACTS = "final_response_match_v2", "hallucinations_v1"
ONE = {MATCH: {"threshold": 0.5, "judge_model_options": {"num_samples": 1}}}
PRICES = {"in": 1000.0, "out": 4000.0}


class Provider(NamedTuple):
    judge: str
    model: str
    path: str = ""


PROVIDERS = [
    Provider("gemini", "gemini-2.5-flash"),
    Provider("openai", "gpt-x", "/v1"),
    Provider("openai", "responses/gpt-x", "/v1"),
]


@pytest.fixture(params=PROVIDERS[:2], ids=lambda each: each.judge)
def provider(request: Any) -> Provider:
    named: Provider = request.param
    return named


class Runs:
    """Runs the command over conversations, with one judge cache."""

    def __init__(self, turnwise: Any, server: Any, folder: Path, provider: Provider):
        self._turnwise, self._server, self._folder, self._provider = turnwise, server, folder, provider
        self.cache = folder / "replies.sqlite"

    def arguments(self, logs: Any = 6, criteria: Any = None, **judge: Any) -> list[Any]:
        rows = [order(number) for number in range(logs)] if isinstance(logs, int) else logs
        log, config = self._folder / "log.jsonl", self._folder / "config.json"
        log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        own = {
            "backend": self._provider.judge,
            "model": self._provider.model,
            "base_url": f"{self._server.url}{self._provider.path}",
            "retry_delay_s": 0.01,
            "prices": {self._provider.model: PRICES},
        }
        config.write_text(json.dumps({"criteria": criteria or ONE, "judge": {**own, **judge}}))
        batch = ["--judge_batch", "--judge_cache", self.cache]
        return ["run", "--input", log, "--config", config, *batch]

    def environment(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": self._server.key, "GOOGLE_API_KEY": self._server.key}

    def __call__(self, *options: Any, name: str = "out", **given: Any) -> Any:
        with in_environment(self.environment()):
            return self._turnwise(*self.arguments(**given), *options, output=self._folder / name)

    def open_jobs(self) -> list[dict[str, Any]]:
        """Returns the records of jobs that the cache holds."""
        with sqlite3.connect(self.cache) as connection:
            texts = [text for (text,) in connection.execute("SELECT text FROM replies")]
        return [json.loads(text) for text in texts if text.startswith('{"name":"turnwise-')]


@pytest.fixture
def run(turnwise: Any, server: Any, tmp_path: Path, provider: Provider) -> Runs:
    return Runs(turnwise, server, tmp_path, provider)


def judge_of(done: Any) -> Any:
    return done.document("run.json")["judge"]


def usage(done: Any) -> dict[str, Any]:
    (figures,) = judge_of(done)["usage"].values()
    return dict(figures)


@pytest.mark.parametrize("provider", PROVIDERS, indirect=True, ids=lambda each: each.model)
def test_a_run_asks_by_one_job_at_half_the_price(run, server, provider):
    kept = server.stats()["kept"]
    server.script({"jobs": True, "polls": 2})
    done = run()
    assert done.status == 0 and {row["outcome"] for row in turn_scores(done)} == {"PASS"}
    stats = server.stats()
    assert (stats["jobs"], stats["lines"], stats["requests"]) == (1, 6, 0)
    assert stats["kept"] == kept + (provider.judge == "openai")  # of its jobs the list stays, no texts
    figures = usage(done)
    assert (figures["calls"], figures["cached"], figures["uncounted"]) == (6, 0, 0)
    cost = (figures["tokens_in"] * 1000 + figures["tokens_out"] * 4000) / 1e6
    assert (
        judge_of(done)["cost"] == pytest.approx(cost / 2) and "at half the prices of the config" in done.out
    )
    assert list(judge_of(done)["batch_jobs"].values()) in (["succeeded"], ["completed"])
    assert run.open_jobs() == []
    again = run(name="again")
    assert (server.stats()["jobs"], usage(again)["cached"]) == (1, 6)


MAY_PASS = (401, 403, 404, 408, 409, 429, 500, 503)
"""Statuses of a line after which its question is asked anew by the next run."""


@pytest.mark.parametrize("broken", [MAY_PASS, MAY_PASS[:1]], ids=["each", "one"])
def test_a_line_that_fails_leaves_one_score_out(run, server, broken):
    rules = [{"match": f"order {i}?", "status": status} for i, status in enumerate(broken)]
    server.script(*({**rule, "message": "this one broke"} for rule in rules))
    done, many = run(logs=9), len(broken)
    rows = {row["conversation_id"]: row for row in turn_scores(done)}
    left = [name for name, row in rows.items() if row["value"] is None]
    assert left == [f"c{i}" for i in range(many)]
    reasons = [rows[name]["reason"] for name in left]
    assert all(reason.startswith("the batch job ") and "this one broke" in reason for reason in reasons)
    assert done.document("run.json")["counts"]["left_by_batch"] == many
    if many == 1:
        why = "because batch jobs of the judge gave no answer, or none yet: run again to take it"
        assert f"1 conversation with no score, {why}; 1 of them without a" in " ".join(done.out.split())
    assert usage(done)["unusable"] == {"batch": many} and judge_of(done)["cost"] is not None
    server.script()
    again = run(logs=9, name="again")
    assert {row["outcome"] for row in turn_scores(again)} == {"PASS"}
    assert server.stats()["lines"] == usage(again)["calls"] == many


@pytest.mark.parametrize("kind", ["http", "blocked"])
@pytest.mark.parametrize("is_late", [False, True])
def test_a_line_that_is_refused_for_good_is_not_asked_again(run, server, kind, is_late):
    """Its other votes are not asked for either; a bad answer beside it is."""
    blocked = {"response": {"promptFeedback": {"blockReason": "SAFETY"}}}
    if kind == "blocked" and run._provider.judge == "openai":
        pytest.skip("it answers a blocked question with HTTP 400")
    refusal = {"status": 400, "message": "this one broke"} if kind == "http" else blocked
    why = "HTTP 400" if kind == "http" and run._provider.judge == "openai" else ""
    words = "this one broke" if kind == "http" else "the question was blocked: SAFETY"
    bad = {"match": "order 3?", "text": "no JSON"}
    server.script({"match": "order 2?", **refusal}, bad, {"jobs": True, "polls": int(is_late)})
    criteria = {MATCH: {"threshold": 0.5, "judge_model_options": {"num_samples": 5}}}
    if is_late:
        run("--judge_batch_wait", "0", criteria=criteria, name="late")
    done = run(criteria=criteria)
    rows = {row["conversation_id"]: row for row in turn_scores(done)}
    assert [name for name, row in rows.items() if row["value"] is None] == ["c2", "c3"]
    assert why in rows["c2"]["reason"] and words in rows["c2"]["reason"]
    assert "left_by_batch" not in done.document("run.json")["counts"]  # to run again is of no use
    server.script()
    again = run(name="again", criteria=criteria)
    rows = {row["conversation_id"]: row for row in turn_scores(again)}
    assert [name for name, row in rows.items() if row["value"] is None] == ["c2"]
    assert words in rows["c2"]["reason"] and "refused for good" in rows["c2"]["reason"]
    assert server.stats()["lines"] == 3 == usage(again)["calls"]
    assert usage(again)["unusable"].keys() == {"batch"}


@pytest.mark.parametrize("state", ["failed", "expired", "cancelled"])
def test_a_job_that_breaks_leaves_no_score_and_is_made_anew_by_the_next_run(run, server, state):
    server.script({"jobs": True, "state": state}, *([] if state == "failed" else [{"status": 500}]))
    done = run()
    assert {row["value"] for row in turn_scores(done)} == {None} and run.open_jobs() == []
    assert all(f" {state}: " in row["reason"] for row in turn_scores(done))
    assert done.status == 1 and "no conversation was scored" in done.err
    server.script()
    assert {row["outcome"] for row in turn_scores(run(name="again"))} == {"PASS"}


def test_a_late_job_is_taken_up_by_the_next_run(run, server):
    server.script({"jobs": True, "polls": 3})
    first = run("--judge_batch_wait", "0")
    (job,) = run.open_jobs()
    reason = f"the batch job {job['job']} is still running; run again to take its results"
    assert {(row["value"], row["reason"]) for row in turn_scores(first)} == {(None, reason)}
    counts = first.document("run.json")["counts"]
    assert counts["short_of_batch"] == counts["left_by_batch"] == 6
    text = " ".join(first.out.split())
    assert f"batch jobs: {job['job']} (" in text and "6 conversations with no score" in text
    assert judge_of(first)["cost"] is None and usage(first)["uncounted"] == 6
    assert ": 0 answers " in first.out and "cost unknown: batch jobs gave no answer, or none yet" in first.out
    still = run("--judge_batch_wait", "0", name="still")
    assert {row["reason"] for row in turn_scores(still)} == {reason}
    second = run(name="second", logs=7)  # one more conversation makes a job of its own
    assert (server.stats()["jobs"], server.stats()["lines"]) == (2, 7)
    assert {row["outcome"] for row in turn_scores(second)} == {"PASS"}
    assert usage(second)["calls"] == 7 and judge_of(second)["cost"] > 0 and run.open_jobs() == []


@pytest.fixture
def process(own_server: Any, turnwise: Any, tmp_path: Path, provider: Provider) -> Iterator[Any]:
    """Starts the command in a process of its own, at a server whose jobs do not end."""
    own_server.script({"jobs": True, "polls": 1_000_000})
    runs = Runs(turnwise, own_server, tmp_path, provider)
    with in_environment(runs.environment()):
        arguments = [*map(str, runs.arguments()), "--output", str(tmp_path / "killed")]
        started = subprocess.Popen(
            [sys.executable, "-m", "turnwise", *arguments], stderr=subprocess.PIPE, text=True
        )
        yield runs, own_server, started
        started.kill()
        started.communicate()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_while_it_waits_loses_no_job(process, ending):
    runs, server, started = process
    while server.stats()["jobs"] == 0 or not (runs.cache.exists() and runs.open_jobs()[0].get("job")):
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(ending)
    said = started.communicate(timeout=20)[1]
    if ending == signal.SIGINT:
        assert "the batch jobs of the judge go on; run again to take their results" in said
    (job,) = runs.open_jobs()
    late = runs("--judge_batch_wait", "0", name="late")
    assert server.stats()["jobs"] == 1 and job["job"] in turn_scores(late)[0]["reason"]


@pytest.mark.parametrize(("changes", "jobs"), [({"job": ""}, 1), ({"job": "batches/gone", "made": 1e9}, 2)])
def test_a_job_that_is_not_known_by_its_id(run, server, changes, jobs):
    """The process ended before it could write the id down, and the job has a name; or it is there no more."""
    server.script({"jobs": True, "polls": 1})
    run("--judge_batch_wait", "0")
    (job,) = run.open_jobs()
    changes = {**changes, **({"made": time.time() - 60} if "made" in changes else {})}
    with sqlite3.connect(run.cache) as connection:
        text = json.dumps({**job, **changes}, separators=(",", ":"))
        connection.execute('UPDATE replies SET text = ? WHERE text LIKE \'{"name":"turnwise-%\'', (text,))
    done = run(name="again")
    assert server.stats()["jobs"] == jobs and {row["outcome"] for row in turn_scores(done)} == {"PASS"}


@pytest.mark.parametrize("provider", PROVIDERS[:1], indirect=True)
def test_a_response_without_a_key_among_others_in_another_order_is_nobodys(run, server):
    server.script(
        {"jobs": True, "nameless": 5, "order": -1}, {"match": "order 3?", "values": {"verdict": "invalid"}}
    )
    outcomes = Counter(row["outcome"] for row in turn_scores(run()))
    assert outcomes[None] == 1 and outcomes["FAIL"] <= 1 and outcomes["PASS"] >= 4
    server.script({"match": "order 3?", "values": {"verdict": "invalid"}})
    again = {row["conversation_id"]: row["outcome"] for row in turn_scores(run(name="again"))}
    assert again == {f"c{i}": "FAIL" if i == 3 else "PASS" for i in range(6)}


def test_no_personal_data_and_no_key_stand_in_a_job(run, server, tmp_path):
    canary = "canary.mail@example.com"
    server.script({"jobs": True, "polls": 1})
    done = run("--redact", "default", "--judge_batch_wait", "0", logs=[order(1, f" I am {canary}.")])
    bodies = server.last()["bodies"]
    assert bodies and "<EMAIL_1>" in bodies[-1]
    written = b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "log.jsonl"
    )
    for text in (*bodies, written.decode("utf-8", "replace"), done.out, done.err):
        assert canary not in text and server.key not in text


@pytest.mark.parametrize("provider", PROVIDERS[1:2], indirect=True)
def test_jobs_are_kept_in_a_database_too(run, server, postgres_url):
    server.script({"jobs": True, "polls": 1})
    run.cache = postgres_url
    late = run("--judge_batch_wait", "0")
    assert {row["value"] for row in turn_scores(late)} == {None}
    again = run(name="again")
    assert {row["outcome"] for row in turn_scores(again)} == {"PASS"} and server.stats()["jobs"] == 1
    assert usage(run(name="cached"))["cached"] == 6
