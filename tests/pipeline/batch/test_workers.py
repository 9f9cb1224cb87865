"""Runs whose worker processes read and score: they give what one process gives, and end as it does."""

import gzip
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.engines.tables import differences, tables
from tests import forked
from turnwise.pipeline.batch.processes import fit_processes
from turnwise.pipeline.cli.run_options import parse_options
from turnwise.schemas.config import ConfigError

ROOT = Path(__file__).parents[3]
CRITERIA = {"criteria": {"response_match_score": 0.5}}


def conversation(number: int, **fields: Any) -> dict[str, Any]:
    turn = {"user": f"Order {number}? " + "Hello " * 300, "agent": f"Order {number % 7} comes."}
    expected = {"response": f"Order {number % 5} comes today."}
    return {"app_version": f"v{number % 2}", "turns": [{**turn, "expected": expected}], **fields}


def chat(number: int) -> dict[str, Any]:
    """Returns a conversation that is named by its file and line."""
    asked = {"role": "user", "content": f"Order {number}? " + "Hello " * 300}
    return {"messages": [asked, {"role": "assistant", "content": f"Order {number % 7} comes."}]}


def case(number: int) -> dict[str, Any]:
    said = {name: {"parts": [{"text": "It comes."}]} for name in ("user_content", "final_response")}
    return {"eval_id": f"e{number}", "conversation": [said]}


def text(*rows: Mapping[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Returns arguments with logs that are divided in the middle of anything, and eval cases."""
    place = tmp_path_factory.mktemp("inputs")
    (place / "logs").mkdir()
    wide = [chat(number) for number in range(1400)]
    (place / "logs/a.jsonl").write_text(text(*wide[:700]) + "{broken\n" + text(*wide[700:]))
    named = text(*(conversation(i, conversation_id="same", eval_id=f"e{i}") for i in range(9)))
    (place / "logs/b.jsonl.gz").write_bytes(gzip.compress(named.encode()))
    (place / "logs/c.json").write_text(json.dumps(wide[:3]))
    (place / "logs/rejected.jsonl").symlink_to(place / "nothing")
    cases = json.dumps({"eval_set_id": "set", "eval_cases": [case(i) for i in (*range(9), 20, 21, 21)]})
    (place / "cases.jsonl").write_text(cases + "\n{broken\n")
    (place / "config.json").write_text(json.dumps(CRITERIA))
    given = {"--input": "logs", "--eval_cases": "cases.jsonl", "--config": "config.json"}
    arguments = [word for option, name in given.items() for word in (option, str(place / name))]
    return ["run", *arguments, "--judge", "none", "--run_id", "r", "--max_failure_ratio", "0.001"]


def outcome(directory: Path) -> dict[str, Any]:
    """Returns what `run.json` says of what was found, without times and places."""
    document = json.loads((directory / "run.json").read_text())
    names = ("counts", "problems", "exit_status", "to_read", "guessed_tools", "judge", "criteria")
    return {name: document[name] for name in names}


@pytest.mark.parametrize("output_format", ["jsonl", "avro"])
def test_workers_give_what_one_process_gives(inputs, turnwise, tmp_path, output_format):
    arguments = [*inputs, "--output_format", output_format]
    one = turnwise(*arguments, "--workers", "1", output=tmp_path / "one")
    done = forked.run_text([*arguments, "--workers", "3", "--output", tmp_path / "three"], ROOT)
    assert one.status == done.returncode == 1 and one.err == done.stderr
    places = [str(tmp_path / name) for name in ("one", "three")]
    [first, second] = [
        said.replace(place, "OUT").rpartition("; tables in")[0]
        for said, place in zip((one.out, done.stdout), places, strict=True)
    ]
    assert first == second and "files: OUT" in first
    assert differences(tables(tmp_path / "one"), tables(tmp_path / "three")) == []
    assert outcome(tmp_path / "one") == outcome(tmp_path / "three")
    document = json.loads((tmp_path / "three/run.json").read_text())
    counts, by_worker = document["counts"], document["records_by_worker"]
    assert (counts["results"], counts["unused_cases"], counts["rejected_cases"]) == (1412, 2, 2)
    assert sum(by_worker.values()) == 1400 + 1 + 9 + 3 and 1 < len(by_worker) <= 3
    assert set(document["files"]["scores"]) == {
        f"scores-{i:05}-of-{len(by_worker):05}.{output_format}" for i in range(len(by_worker))
    }
    assert not list((tmp_path / "three").rglob("*.partial"))


@contextmanager
def another_thread() -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_where_a_fork_is_not_safe_workers_are_started_anew(inputs, turnwise, tmp_path):
    with another_thread():
        done = turnwise(*inputs, "--workers", "2", output=tmp_path / "out")
    assert (done.status, len(done.rows("results"))) == (1, 1412), done.err
    by_worker = done.document("run.json")[
        "records_by_worker"
    ]  # one may read all before the other has started
    assert sum(by_worker.values()) == 1413 and len(by_worker) <= 2


def test_events_that_are_found_late_are_joined(turnwise, tmp_path):
    """Both files begin with a conversation; the turns of one are in both of them."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(2):
        turn = {"user": f"Turn {number}", "agent": "Yes", "expected": {"response": "Yes"}}
        event = {"conversation_id": "joined", "turn_index": number, "turn": turn}
        (logs / f"{number}.jsonl").write_text(text(conversation(number, conversation_id=f"c{number}"), event))
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CRITERIA))
    arguments = ["run", "--input", logs, "--config", config, "--judge", "none", "--run_id", "r"]
    one = turnwise(*arguments, output=tmp_path / "one")
    two = forked.run_text([*arguments, "--workers", "2", "--output", tmp_path / "two"], ROOT)
    again = "turnwise: several records are joined: the run starts again in one process (--workers 1)\n"
    assert (one.status, two.returncode, two.stderr) == (0, 0, again)
    assert differences(tables(tmp_path / "one"), tables(tmp_path / "two")) == []
    assert outcome(tmp_path / "one") == outcome(tmp_path / "two")
    assert outcome(tmp_path / "two")["counts"]["results"] == 3


def test_a_refused_judge_is_said_as_by_one_process(inputs, server, tmp_path):
    server.script({"skip": 2, "status": 401, "message": "revoked"})
    config = {"criteria": {"final_response_match_v2": 0.5}, "judge": {"base_url": server.url}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    given = [*inputs, "--judge_cache", tmp_path / "cache"]
    for option, value in (("--config", tmp_path / "config.json"), ("--judge", "gemini")):
        given[given.index(option) + 1] = value
    environ = {**os.environ, "GOOGLE_API_KEY": server.key}
    ends = []
    for workers in ("1", "2"):
        command = [*given, "--workers", workers, "--output", tmp_path / workers]
        done = forked.run_text(command, ROOT, environ)
        ends.append((done.returncode, done.stderr))
        assert not [path for path in (tmp_path / workers).rglob("*") if not path.name.startswith(".")]
    [(status, said), other] = ends
    assert other == (status, said) and (status, said.count("\n")) == (2, 1)
    assert said.startswith("turnwise: judge: the credentials are refused")


LIMITS = {
    "each has its part": ("none", {"max_calls": 200}),
    "the cache holds it": ("cache", {"max_calls": 60}),
}


@pytest.mark.parametrize(("cache", "limit"), LIMITS.values(), ids=LIMITS)
def test_limits_hold_over_both_attempts(server, tmp_path, cache, limit):
    """Both files end with an event: the run starts again, with what is left of the limit."""
    (tmp_path / "logs").mkdir()
    for number in range(2):
        rows = [conversation(number * 100 + i, conversation_id=f"c{number}-{i}") for i in range(60)]
        turn = {"user": "Hi", "agent": "Yes", "expected": {"response": "Yes"}}
        event = {"conversation_id": "joined", "turn_index": number, "turn": turn}
        (tmp_path / f"logs/{number}.jsonl").write_text(text(*rows, event))
    criterion = {"threshold": 0.5, "judge_model_options": {"num_samples": 1}}
    judge = {"base_url": server.url, **limit}
    (tmp_path / "config.json").write_text(
        json.dumps({"criteria": {"final_response_match_v2": criterion}, "judge": judge})
    )
    given = ["--input", tmp_path / "logs", "--config", tmp_path / "config.json", "--judge", "gemini"]
    place = cache if cache == "none" else tmp_path / cache
    out = tmp_path / "out"
    command = ["run", *given, "--judge_cache", place, "--workers", "2", "--output", out]
    done = forked.run_text(command, ROOT, {**os.environ, "GOOGLE_API_KEY": server.key})
    assert "the run starts again in one process" in done.stderr
    document = json.loads((out / "run.json").read_text())
    [usage] = document["judge"]["usage"].values()
    requests = server.stats()["requests"]
    assert usage["calls"] == requests >= 60
    assert requests == limit["max_calls"] or not usage["unusable"].get("budget")
    assert requests <= limit["max_calls"]


PLUGIN = """
import os, signal, sys, threading, time
import turnwise

if {at_start!r}:
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()  # workers are no forks
if "--multiprocessing-fork" in sys.orig_argv:
    exec({at_start!r})


class Deadly(turnwise.MeasuredCriterion):
    name = "deadly"

    def score(self, sample, pair):
        {at_work}
        return turnwise.Score(1.0)
"""
ENDS = {
    "error": ("raise ValueError('broke')", "pass", "failed: broke"),
    "exit": ("os._exit(0)", "pass", "ended early, with status 0"),
    "raised exit": ("raise SystemExit(0)", "pass", "failed: SystemExit: 0"),
    "odd signal": ("", "os.kill(os.getpid(), 40)", "was killed by signal 40"),
    "killed": ("", "os.kill(os.getpid(), 9)", "was killed by SIGKILL (out of memory?)"),
}


def end_of(tmp_path: Path, at_start: str, at_work: str, *options: object) -> tuple[int, str]:
    """Returns how a run of two files ended whose workers have a plugin with that code.

    They are forks unless something happens at the start of each.
    """
    (tmp_path / "plugin.py").write_text(PLUGIN.format(at_start=at_start, at_work=at_work))
    (tmp_path / "logs").mkdir(exist_ok=True)
    for number in range(2):
        (tmp_path / f"logs/{number}.jsonl").write_text(
            text(conversation(number, conversation_id=f"c{number}"))
        )
    (tmp_path / "config.json").write_text(json.dumps({"criteria": {"deadly": 0.5}}))
    given = ["--input", tmp_path / "logs", "--config", tmp_path / "config.json", "--run_id", "r"]
    command = ["run", *given, "--plugin", tmp_path / "plugin.py", "--output", tmp_path / "out", *options]
    done = forked.run_text(command, ROOT)
    assert done.stdout == "" and not list((tmp_path / "out").rglob("*"))
    return done.returncode, done.stderr


@pytest.mark.parametrize(("at_start", "at_work", "said"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_worker_is_one_line(at_start, at_work, said, tmp_path):
    line = f"turnwise: a worker process {said}; no file of this run was kept\n"
    assert end_of(tmp_path, at_start, at_work, "--workers", 2) == (1, line)


def test_a_killed_worker_may_leave_rows_in_a_store(tmp_path):
    store = ("--store", f"sqlite:///{tmp_path / 'evals.db'}")
    status, said = end_of(tmp_path, "", "os.kill(os.getpid(), 9)", "--workers", 2, *store)
    how = "was killed by SIGKILL (out of memory?); no file of this run was kept"
    assert (status, said) == (1, f"turnwise: a worker process {how}; the store may hold rows of run r\n")


def test_an_interrupt_in_a_criterion_is_said_as_by_one_process(tmp_path):
    one, two = (end_of(tmp_path, "", "raise KeyboardInterrupt", "--workers", n) for n in (1, 2))
    assert one == two and one[0] == 130


MIB = 1 << 20
CONVERSATION = '{"conversation_id": "c", "turns": [{"user": "Hi", "agent": "Hello"}]}\n'
EVENT = '{"conversation_id": "c", "turn_index": 0, "turn": {"user": "Hi", "agent": "Hello"}}\n'


def made(path: Path, size: int, start: str = CONVERSATION) -> str:
    """Makes a file of a size, the rest of which is a hole."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        file.write(start)
        file.truncate(size)
    return str(path)


@pytest.fixture
def workers(tmp_path: Path) -> Any:
    """Returns a function that gives the number of workers for options, on a machine of eight processors."""
    (tmp_path / "judged.json").write_text(json.dumps({"criteria": {"safety_v1": {}}}))

    def fitted(*options: str, stated: int | None = None) -> int:
        given = ["--output", str(tmp_path / "out"), *options, "--workers", "1"]
        return fit_processes(parse_options(given)[0], stated, lambda: 8).workers

    return fitted


@pytest.mark.parametrize(
    ("mib", "stated", "number"), [(7, None, 1), (8, None, 2), (900, None, 8), (31, 1, 1), (31, 30, 30)]
)
def test_a_worker_is_started_for_each_4_mib(workers, mib, stated, number, tmp_path):
    assert workers("--input", made(tmp_path / "a.jsonl", mib * MIB), stated=stated) == number


def test_files_that_are_not_divided_limit_the_number(workers, tmp_path):
    assert workers("--input", made(tmp_path / "a.json", 90 * MIB)) == 1
    made(tmp_path / "many/a.json", 30 * MIB), made(tmp_path / "many/b.avro", 30 * MIB)
    assert workers("--input", str(tmp_path / "many")) == 2
    assert workers("--input", str(tmp_path / "many"), stated=5) == 2
    made(tmp_path / "one/a.json", MIB)
    assert workers("--input", str(tmp_path / "one"), stated=5) == 1


def test_files_on_other_machines_are_not_asked_for_their_sizes(workers, tmp_path):
    logs = made(tmp_path / "a.jsonl", 64 * MIB)
    assert workers("--input", "gs://no-such-bucket/logs/") == 1
    assert workers("--input", logs, "--eval_cases", "gs://no-such-bucket/cases/") == 1
    assert workers("--input", logs, "--eval_cases", f"sqlite:///{tmp_path}/store.db") == 8


def test_eval_cases_are_read_by_every_worker(workers, tmp_path):
    logs, cases = made(tmp_path / "a.jsonl", 64 * MIB), made(tmp_path / "cases.jsonl", 30 * MIB, "{}\n")
    assert workers("--input", logs) == 8
    assert workers("--input", logs, "--eval_cases", cases) == 2


def test_events_are_joined_in_one_process(workers, tmp_path):
    events = made(tmp_path / "logs/b.jsonl", 40 * MIB, EVENT)
    assert workers("--input", events) == workers("--input", events, stated=3) == 1
    assert workers("--input", events, "--input_format", "turn_event") == 1
    made(tmp_path / "logs/a.jsonl", 20 * MIB)
    assert workers("--input", str(tmp_path / "logs")) == 1
    assert workers("--input", str(tmp_path / "logs/a.jsonl")) == 5


def test_what_several_could_not_share_is_left_to_one(workers, tmp_path):
    logs = ["--input", made(tmp_path / "a.jsonl", 64 * MIB)]
    store = ["--store", f"sqlite:///{tmp_path / 'evals.db'}"]
    judged = ["--config", str(tmp_path / "judged.json"), "--judge", "gemini"]
    uncached = [*logs, *judged, "--judge_cache", "none"]
    assert workers(*logs, *store) == 1 and workers(*logs, *store, stated=2) == 2
    assert workers(*uncached) == 1 and workers(*uncached, stated=2) == 2
    assert workers(*logs, *judged) == 8
    assert workers(*logs, *judged, "--judge_concurrency", "3") == 3
    assert workers(*uncached, "--judge_concurrency", "3", stated=5) == 3
    assert workers(*logs, *judged, "--estimate") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workers", "0"], "--workers must be 1 or more, not 0"),
        (["--workers", "2", "--streaming"], "--workers cannot be used with --streaming"),
        (["--workers", "2", "--estimate", "--judge", "gemini"], "--workers cannot be used with --estimate"),
        (["--direct_num_workers=2"], "--direct_num_workers, --direct_running_mode: take --workers N instead"),
    ],
)
def test_contradictions_are_refused(options, said, tmp_path):
    logs = made(tmp_path / "a.jsonl", MIB)
    with pytest.raises(ConfigError) as caught:
        parse_options(["--input", logs, "--output", str(tmp_path / "out"), *options])
    assert str(caught.value) == said
