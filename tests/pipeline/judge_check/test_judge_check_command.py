"""`turnwise judge-check` with a real client and a server that stands in for Gemini."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.pipeline.logs import write
from turnwise.transforms.decisions.calibration.judge_check import reordered
from turnwise.transforms.judging.prompts import Section, fill
from turnwise.transforms.judging.setup import WAITING

pytestmark = pytest.mark.usefixtures("with_credentials")
MATCH = "final_response_match_v2"
GRADE = "response_evaluation_score"
ROOT = Path(__file__).parents[3]
PATIENCE = 120


def texts(number: int) -> tuple[str, str, str]:
    user, agent = f"Where is order {number}?", f"Order {number} arrives on Monday."
    return user, agent, f"Your order {number} will come on Monday."


def conversation(number: int) -> dict[str, Any]:
    user, agent, expected = texts(number)
    turn = {"user": user, "agent": agent, "expected": {"response": expected}}
    return {"conversation_id": f"c{number}", "turns": [turn]}


def swapped(number: int) -> dict[str, str]:
    """Returns a rule's condition: the request of the swapped question about a conversation."""
    user, agent, expected = texts(number)
    sections = [Section("request", user), Section("reference answer", expected)]
    prompt = reordered(fill("test/1", "", [*sections, Section("agent's answer", agent)]))
    assert prompt
    return {"match": json.dumps(prompt.evidence)[1:-1]}


@pytest.fixture
def check(turnwise: Any, server: Any, tmp_path: Path) -> Any:
    """Returns a function that checks a judge; keywords go into the config's judge section."""

    def go(
        *options: str | Path, size: int = 6, criteria: Any = None, output: Any = None, **judge: Any
    ) -> Any:
        log = write(tmp_path / "log.jsonl", *map(conversation, range(size)))
        judge = {"base_url": server.url, "retry_delay_s": 0.01, **judge}
        stated = {"criteria": criteria or {MATCH: 0.5, GRADE: 3}, "judge": judge}
        config = write(tmp_path / "config.json", stated)
        places = ["--input", log, "--config", config, "--judge_cache", tmp_path / "cache.sqlite"]
        return turnwise("judge-check", *places, *options, output=output)

    return go


def figures(document: dict[str, Any], criterion: str = MATCH) -> dict[str, Any]:
    """Returns perturbation -> (changed, verdicts), or None where it is n/a."""
    found = next(each for each in document["criteria"] if each["criterion"] == criterion)
    names = ("repeat", "swap", "paraphrase")
    return {name: found[name] and (found[name]["changed"], found[name]["verdicts"]) for name in names}


def test_what_changes_is_found_and_the_second_time_nothing_is_asked(check, server, tmp_path):
    wrong = {"values": {"verdict": "invalid"}}
    server.script(
        {**swapped(1), **wrong},
        {**swapped(4), **wrong},
        {"match": "Regard the reference as correct", **wrong},
        {"match": "order 2?", "times": 1, **wrong},
    )
    first = check("--yes", "--format", "json", "--judge_concurrency", "1", output=tmp_path / "out")
    document = json.loads(first.out)
    assert (first.status, document["problems"], document["used"]["calls"]) == (0, [], 90)
    assert server.stats()["requests"] == 90
    assert figures(document) == {"repeat": (1, 6), "swap": (2, 6), "paraphrase": (6, 6)}
    assert figures(document, GRADE) == {"repeat": (0, 6), "swap": None, "paraphrase": (0, 6)}
    assert document["criteria"][0]["swap"]["interval"]["low"] == pytest.approx(0.097, abs=0.001)
    assert json.loads((tmp_path / "out/judge_check.json").read_text()) == document
    again = check("--yes")
    assert (again.status, server.stats()["requests"]) == (0, 90)
    assert "about 0 calls" in again.out and "used: 0 calls" in again.out
    (line,) = [line for line in again.out.splitlines() if line.startswith(GRADE)]
    assert " n/a " in line and "0.0% (0.0% to 39.0%; 0 of 6)" in line
    assert "33.3% (9.7% to 70.0%; 2 of 6)" in again.out


def test_a_bound_that_is_exceeded_fails(check, server):
    server.script({**swapped(1), "values": {"verdict": "invalid"}})
    done = check("--yes", "--max_flip", "0.1", criteria={MATCH: 0.5})
    assert done.status == 1
    assert done.err == f"turnwise: {MATCH}, swap: 1 of 6 verdicts change (16.7%), more than 10.0%\n"
    assert check("--yes", "--max_flip", "0.2", criteria={MATCH: 0.5}).status == 0


def test_a_vote_that_is_missing_is_told_and_counts_against_a_bound(check, server):
    server.script({**swapped(3), "status": 400})
    done = check("--yes", criteria={MATCH: 0.5})
    assert done.status == 0 and f"{MATCH}, swap: 1 verdict not measured: " in done.out
    bound = check("--yes", "--max_flip", "0.1", criteria={MATCH: 0.5})
    assert bound.status == 1 and "1 verdicts were not measured; if they changed, more than" in bound.err


def drawn(done: Any, server: Any) -> set[str]:
    return {f"c{i}" for i in range(30) if server.stats()["rules_used"][i]}


def test_the_sample_is_the_same_whatever_the_order_and_another_one_with_another_seed(
    turnwise, check, server, tmp_path
):
    rules = [{"match": f"order {i}?"} for i in range(30)]
    found = []
    for seed, is_reversed in (("0", False), ("0", True), ("1", False)):
        server.script(*rules)
        options = ["--seed", seed, "--sample", "4", "--yes", "--judge_cache", "none"]
        check(size=30)
        log = tmp_path / "log.jsonl"
        lines = log.read_text().splitlines(keepends=True)
        log.write_text("".join(lines[::-1] if is_reversed else lines), encoding="utf-8")
        done = turnwise("judge-check", "--input", log, "--config", tmp_path / "config.json", *options)
        assert "about 4 conversations" in done.out
        found.append(drawn(done, server))
    assert [len(each) for each in found] == [4, 4, 4]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_replies_in_flight_are_kept_at_a_signal(check, own_server, tmp_path, number):
    """The first check only writes the files of the second one."""
    check(size=30, criteria={MATCH: 0.5}, base_url=own_server.url)
    own_server.script({"delay_ms": 2000})
    command = ["judge-check", "--input", tmp_path / "log.jsonl", "--config", tmp_path / "config.json"]
    command += ["--judge", "gemini", "--judge_cache", tmp_path / "kept.sqlite", "--judge_concurrency", "8"]
    environment = {**os.environ, "GOOGLE_API_KEY": own_server.key}
    process = forked.Process([*command, "--yes"], ROOT, environment, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + PATIENCE
        while own_server.stats()["requests"] < 8:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    told = f"turnwise: {WAITING}\nturnwise: interrupted by {number.name}\n"
    assert (process.returncode, err) == (128 + number, told)
    asked = own_server.stats()["requests"]
    with closing(sqlite3.connect(tmp_path / "kept.sqlite")) as cache:
        assert cache.execute("SELECT count(*) FROM replies").fetchall() == [(asked,)]
    assert asked < 180
