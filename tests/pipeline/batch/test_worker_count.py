"""How many processes work on a batch: by default as many as pay, and one where records must be joined."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnwise.pipeline.batch.processes import fit_processes
from turnwise.pipeline.cli.run_options import parse_options
from turnwise.schemas.config import ConfigError

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
    ("mib", "stated", "number"),
    [(7, None, 1), (8, None, 2), (900, None, 8), (31, 1, 1), (31, 30, 30)],
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
