"""`turnwise compare` through its own arguments, on runs of `turnwise run`."""

import gzip
import json
import re
import sqlite3
from base64 import b64decode
from contextlib import closing
from pathlib import Path

import pytest

from turnwise.pipeline.cli.main import main

SHARED = Path(__file__).parents[4] / "shared" / "data"
TAU = SHARED / "tau2_airline_gpt-4.1_vs_ft.jsonl"
PAIRS = SHARED / "pairs_500"
FINE_TUNED = "ft:gpt-4.1-2025-04-14:sierra:tau2-full-sft:BzrYdMNm"
CONFIG = {"criteria": {"response_match_score": 0.8}}
SIDES = ("--baseline", "v1", "--candidate", "v2")


def log(number, version, answer="Hello", **fields):
    turn = {"user": f"Hi {number}", "agent": answer, "expected": {"response": "Hello"}}
    return {
        "conversation_id": f"{version}-{number}",
        "app_version": version,
        "eval_id": fields.pop("eval_id", None),
        "turns": [turn],
        **{key: value for key, value in fields.items() if value is not None},
    }


@pytest.fixture
def scored(score_logs):
    """Scores logs and returns the output directory."""
    return lambda logs, config, *options: str(score_logs(logs, config, *options).directory)


@pytest.fixture
def compared(turnwise):
    """Runs `turnwise compare` and returns status, output and errors."""
    return lambda *arguments: turnwise("compare", *arguments)[:3]


def criterion(text, name):
    return next(own for own in json.loads(text)["criteria"] if own["criterion"] == name)


@pytest.mark.skipif(not TAU.exists(), reason=f"{TAU} is absent")
def test_base_against_fine_tuned_by_the_recorded_reward(tmp_path, compared):
    output = str(tmp_path / "out")
    assert main(["run", "--input", str(TAU), "--output", output]) == 0
    status, text, _ = compared(output, "--baseline", "gpt-4.1", "--candidate", FINE_TUNED, "--format", "json")
    found = criterion(text, "recorded_reward")
    assert status == 0 and json.loads(text)["pairing"]["by"] == "eval_id"
    assert (found["overall"]["baseline_value"], found["overall"]["candidate_value"]) == (10 / 20, 13 / 20)
    assert (found["fixed"], found["regressed"], found["overall"]["word"]) == (6, 3, "inconclusive")
    assert found["overall"]["p"] == pytest.approx(0.508, abs=5e-4)


@pytest.mark.skipif(not PAIRS.exists(), reason=f"{PAIRS} is absent")
def test_500_pairs(tmp_path, compared):
    output = str(tmp_path / "out")
    inputs = ["--input", str(PAIRS / "logs.jsonl"), "--eval_cases", str(PAIRS / "cases.jsonl")]
    config = json.loads((PAIRS / "config.json").read_text())
    config["tools"] = {"do_address": "write", "do_invoice": "write"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert main(["run", *inputs, "--config", str(tmp_path / "config.json"), "--output", output]) == 0
    status, text, _ = compared(output, *SIDES, "--format", "json")
    found = criterion(text, "tool_effects_v1")
    overall = found["overall"]
    assert status == 0
    assert (found["fixed"], found["regressed"], overall["word"]) == (84, 73, "inconclusive")
    assert overall["difference"] == pytest.approx(0.022) and overall["p"] == pytest.approx(0.425, abs=1e-3)
    assert overall["detectable"] == pytest.approx(0.0697, abs=1e-3) and overall["pairs_needed"] == 5085
    assert [own for own in json.loads(text)["slices"] if own["stands_out"]] == []


BAD = "No, not at all, never"


def versions(size, bad=0):
    """Logs of two versions; the first answers of v2 are bad."""
    answers = {"v1": ["Hello"] * size, "v2": [BAD] * bad + ["Hello"] * (size - bad)}
    return [log(i, v, own, eval_id=f"e{i}") for v in answers for i, own in enumerate(answers[v])]


def test_copies_of_goldens_without_a_name_are_one_case(scored, compared, tmp_path, capsys):
    """Four texts, each recorded ten times by both versions; compared (files and store), gated, reported."""
    logs = [
        log(number % 4, version, BAD if number % 5 == 0 and version == "v2" else "Hello")
        | {"eval_id": None, "conversation_id": f"c{number}"}
        for version in ("v1", "v2")
        for number in range(40)
    ]
    gate = {"rules": [{"rule": "bound", "criterion": "verdict", "side": "lower", "at_least": 0.8}]}
    store = ["--store", f"sqlite:///{tmp_path / 'store.db'}"]
    output = scored(logs, CONFIG | {"gate": gate}, *store)
    for where in ([output], store):
        found = json.loads(compared(*where, *SIDES, "--format", "json")[1])
        assert (found["pairing"]["by"], found["pairing"]["pairs"]) == ("task", 4)
        assert (found["baseline"]["conversations"], found["baseline"]["cases"]) == (40, 4)
        assert found["word"] == "inconclusive"
        by_id = compared(*where, *SIDES, "--by", "conversation_id", "--format", "json")[1]
        assert json.loads(by_id)["pairing"]["pairs"] == 40
    capsys.readouterr()
    assert main(["gate", output]) == 1
    assert "(v1): failed: 100.0% by case (51.0% to 100.0%), 4 cases" in capsys.readouterr().err
    assert main(["report", output]) == 0
    page = re.search(r'id="report">([^<]*)<', Path(output, "report.html").read_text("utf-8"))
    verdicts = json.loads(gzip.decompress(b64decode(page[1])))["criteria"][0]
    assert [round(100 * figure["low"], 2) for figure in verdicts["figures"][:1]] == [51.01]


def test_a_store_says_what_a_directory_says(scored, compared, tmp_path):
    """Also of its slices, turns, flips and their reasons."""
    store = ["--store", f"sqlite:///{tmp_path / 'store.db'}"]
    more = {"criteria": {**CONFIG["criteria"], "tool_trajectory_avg_score": 1.0, "turn_latency": {}}}
    logs = [
        one
        | {"language": "ko" if number % 3 else "en", "tags": ["plan:gold"] if number % 2 else []}
        | {"turns": [turn | {"latency_ms": 100 * number + 1} for turn in one["turns"] * (1 + number % 2)]}
        for number, one in enumerate(versions(24, 9))
    ]
    output = scored(logs, more, *store, "--run_id", "first")
    wanted = [*SIDES, "--slices", "language", "plan", "--format", "json"]
    of_files, of_store = (json.loads(compared(*where, *wanted)[1]) for where in ([output], store))
    assert of_files["slices"] and of_files["flips"][0]["reason"]
    assert all(any(own[part] for own in of_files["criteria"]) for part in ("quantiles", "turns"))
    for document in (of_files, of_store):
        # A store holds why a conversation is to be read in place of why its verdict is what it is.
        document["flips"] = [own for own in document["flips"] if own["criterion"] != "verdict"]
    by_name = [
        {own["criterion"]: own for own in document.pop("criteria")} for document in (of_files, of_store)
    ]
    assert by_name[0] == by_name[1]
    for part in ("pairing", "slices", "flips", "word"):
        assert of_store[part] == of_files[part]


@pytest.mark.parametrize("version, message", [(17, "has tables of version 17"), (0, "the store is empty")])
def test_a_store_that_cannot_be_compared_is_no_worse_version(compared, tmp_path, version, message):
    path = tmp_path / "store.db"
    path.touch()
    if version:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"CREATE TABLE turnwise_store_version AS SELECT {version} AS version")
    status, text, errors = compared("--store", f"sqlite:///{path}", *SIDES)
    assert (status, text) == (2, "") and message in errors and errors.count("\n") == 1
