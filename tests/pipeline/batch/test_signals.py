"""Ctrl-C and SIGTERM end a batch, whatever swallows the first interrupt, and leave nothing half done."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from tests import forked
from tests.served import until
from turnwise.pipeline.batch.process import Interrupted, interrupted_by_signal
from turnwise.pipeline.store.database import EXECUTIONS, RUNS, open_store
from turnwise.transforms.judging.setup import WAITING

ROOT = Path(__file__).parents[3]
PATIENCE = 120
NUMBERS = [signal.SIGINT, signal.SIGTERM]


class Swallowing:
    """Interrupts its own process where Python can only print the exception and go on."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.kill(os.getpid(), self.number)
        time.sleep(0.1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", NUMBERS)
def test_an_interrupt_that_a_finaliser_swallows_comes_again(number):
    before = [signal.getsignal(one) for one in (*NUMBERS, signal.SIGALRM)]
    reached = []
    with pytest.raises(Interrupted, match=number.name) as raised, interrupted_by_signal():
        thing = Swallowing(number)
        del thing
        reached.append("the first was lost")
        threading.Event().wait(PATIENCE)
        reached.append("the second was lost")
    assert reached == ["the first was lost"] and raised.value.number == number
    assert [signal.getsignal(one) for one in (*NUMBERS, signal.SIGALRM)] == before


def test_what_ends_after_an_interrupt_counts_as_interrupted():
    with pytest.raises(Interrupted), interrupted_by_signal():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(PATIENCE)
        except KeyboardInterrupt:
            pass
    with pytest.raises(Interrupted), interrupted_by_signal():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(PATIENCE)
        except KeyboardInterrupt:
            raise RuntimeError("said by something else") from None


STUBBORN = """
from turnwise.transforms.judging.setup import WAITING
from turnwise.pipeline.batch.process import interrupted_by_signal
import time
with interrupted_by_signal():
    while True:
        try:
            print("going on", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            pass
"""


@pytest.mark.parametrize("number", NUMBERS)
def test_the_second_signal_ends_at_once(number):
    process = subprocess.Popen([sys.executable, "-c", STUBBORN], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def judged_run(own_server: Any, tmp_path: Path) -> Iterator[Callable[..., forked.Process]]:
    """Returns a function that starts a run whose judge takes its time."""
    own_server.script({"delay_ms": 3000})
    expected = {"response": "Soon."}
    logs, config = tmp_path / "logs", tmp_path / "config.json"
    turns = ({"user": f"Where is {i}?", "agent": "It comes.", "expected": expected} for i in range(2000))
    rows = [{"conversation_id": turn["user"], "turns": [turn]} for turn in turns]
    logs.mkdir()
    for part in range(2):
        text = "".join(json.dumps(row) + "\n" for row in rows[part::2])
        (logs / f"{part}.jsonl").write_text(text, encoding="utf-8")
    settings = {"criteria": {"final_response_match_v2": 0.5}, "judge": {"base_url": own_server.url}}
    config.write_text(json.dumps(settings), encoding="utf-8")
    command = ["run", "--input", logs, "--config", config, "--output", tmp_path / "out"]
    command += ["--judge", "gemini", "--judge_cache", tmp_path / "replies.sqlite"]
    environment = {**os.environ, "GOOGLE_API_KEY": own_server.key}
    started: list[forked.Process] = []

    def start(*more: str) -> forked.Process:
        started.append(forked.Process([*command, *more], ROOT, environment, stderr=subprocess.PIPE))
        return started[-1]

    try:
        yield start
    finally:
        for process in started:
            process.kill()
            process.communicate()


def children(process: forked.Process) -> list[Path]:
    """Returns the processes that a process has started."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [Path(f"/proc/{child}") for child in found]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_batch_with_judge_calls_in_flight_ends_soon(judged_run, own_server, tmp_path, number, workers):
    process = judged_run("--workers", str(workers))
    until(lambda: own_server.stats()["requests"] >= 64)
    assert own_server.stats()["max_in_flight"] == 64, "of all workers together"
    started = children(process)
    assert len(started) == (workers if workers > 1 else 0)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    said = f"turnwise: {WAITING}\nturnwise: interrupted by {number.name}; no file of this run was kept\n"
    assert (process.returncode, err) == (128 + number, said)
    asked = own_server.stats()["requests"]
    assert asked < 2000, "most were never asked"
    with closing(sqlite3.connect(tmp_path / "replies.sqlite")) as cache:
        assert cache.execute("SELECT count(*) FROM replies").fetchall() == [(asked,)], "each reply is kept"
    assert [path for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")] == []
    until(lambda: not any(child.exists() for child in started))


@pytest.mark.parametrize("earlier", [False, True])
def test_what_is_left_in_the_store_is_said(
    judged_run, turnwise, sample_arguments, own_server, tmp_path, earlier
):
    store = ["--store", f"sqlite:///{tmp_path / 'evals.db'}"]
    for run_id in ("a_b", "A_B", "axb")[: 3 * earlier]:
        arguments = [*sample_arguments, *store, "--judge", "none", "--run_id", run_id]
        turnwise(*arguments, output=tmp_path / f"first-{run_id}")
    process = judged_run(*store, "--run_id", "a_b")
    until(lambda: own_server.stats()["requests"] >= 64)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    left = "keeps the earlier execution" if earlier else "may hold rows"
    said = f"interrupted by SIGTERM; no file of this run was kept; the store {left} of run a_b"
    assert err == f"turnwise: {WAITING}\nturnwise: {said}\n"
    after = ("COMPLETED", ["CANCELLED", "COMPLETED"]) if earlier else ("CANCELLED", ["CANCELLED"])
    assert states(store[1], "a_b") == after


def states(store_url: str, run_id: str) -> tuple[str, list[str]]:
    """Returns the state of a run that is read, and those of all of its executions."""
    queries = [select(table.c.state).where(table.c.run_id == run_id) for table in (RUNS, EXECUTIONS)]
    with closing(open_store(store_url)) as store:
        shown, every = store.read(lambda c: [set(c.execute(query).scalars()) for query in queries])
    (state,) = shown
    return state, sorted(every)


def test_a_run_that_is_killed_is_running_until_the_next_one_finds_it_dead_and_leaves_the_earlier_one(
    judged_run, turnwise, sample_arguments, own_server, tmp_path
):
    store = ["--store", f"sqlite:///{tmp_path / 'evals.db'}"]
    arguments = [*sample_arguments, *store, "--judge", "none", "--run_id", "a"]
    assert turnwise(*arguments, output=tmp_path / "a").status == 0
    for number, run_id in enumerate(("a", "b"), 1):
        process = judged_run(*store, "--run_id", run_id)
        until(lambda number=number: own_server.stats()["requests"] >= 64 * number)
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert states(store[1], "a") == ("COMPLETED", ["COMPLETED", "ERROR"]), "b wrote into its directory"
    assert states(store[1], "b") == ("RUNNING", ["RUNNING"])


SLOW_START = """
import sys, time
class Slow:
    def find_spec(name, path=None, target=None):
        if name == "pydantic":
            print("importing", flush=True)
            time.sleep(60)
sys.meta_path.insert(0, Slow)
from turnwise.pipeline.cli.main import run_command
run_command()
"""


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_while_modules_are_imported_is_one_line(number, tmp_path):
    command = [sys.executable, "-c", SLOW_START, "run", "--input", str(tmp_path)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=pipe,
        stderr=pipe,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "importing\n"
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE)
        assert (process.returncode, said) == (128 + number, f"turnwise: interrupted by {number.name}\n")
    finally:
        process.kill()
        process.communicate()


def test_workers_end_when_the_command_is_killed(judged_run, own_server):
    process = judged_run("--workers", "2")
    until(lambda: own_server.stats()["requests"] >= 64)
    started = children(process)
    process.kill()
    until(lambda: not any(child.exists() for child in started))
