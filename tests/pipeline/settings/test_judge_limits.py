"""Who holds the limits of a judge: a process, a place that workers share, or each worker its part."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.settings.test_remote_workers import DATAFLOW, FLINK, IMAGE, PLACES, VERTEX, environment
from turnwise.pipeline.cli.run_options import parse_options
from turnwise.pipeline.settings.remote_workers import usable_cores
from turnwise.schemas.config import ConfigError

__all__ = ["environment"]
SHARED = "--judge_cache=postgresql://me:geheim@db.example/d"
SAMPLE = Path(__file__).parents[3] / "pipeline/sample_data"
LOCAL = [f"--input={SAMPLE}/conversations", "--output=out"]
TWO = ["--workers=2"]
REMOTE = [*PLACES, IMAGE]
ONE_A_MACHINE = "--experiments=no_use_multiple_sdk_containers"


@pytest.fixture
def parsed(environment: dict[str, str], tmp_path: Path) -> Callable[..., Any]:
    """Returns a function that gives the settings of the judge for arguments and limits."""

    def parse(arguments: list[str], **limits: Any) -> Any:
        environment.update(VERTEX)
        config = tmp_path / "config.json"
        config.write_text(json.dumps({"criteria": {"safety_v1": {}}, "judge": limits}))
        return parse_options([*arguments, f"--config={config}", "--judge=gemini"])[0].judge

    return parse


@pytest.mark.parametrize(
    ("arguments", "shares", "workers"),
    [
        (LOCAL, False, 1),
        ([*LOCAL, *TWO], True, 1),
        ([*LOCAL, *TWO, "--judge_cache=none"], False, 2),
        ([*LOCAL, "--runner=PrismRunner", "--judge_cache=none"], False, 1),
        ([*REMOTE, *FLINK, SHARED], True, 1),
        ([*REMOTE, *FLINK, "--parallelism=4"], False, 4),
        ([*REMOTE, *FLINK, "--parallelism=4", "--sdk_worker_parallelism=3"], False, 12),
        ([*REMOTE, *DATAFLOW, "--max_num_workers=5", ONE_A_MACHINE], False, 5),
        ([*REMOTE, *DATAFLOW, "--max_num_workers=5", "--machine_type=n2-standard-4"], False, 20),
        ([*REMOTE, *DATAFLOW, "--num_workers=3", "--autoscaling_algorithm=NONE", ONE_A_MACHINE], False, 3),
    ],
)
def test_who_holds_the_limits(parsed, arguments, shares, workers):
    judge = parsed(arguments, max_calls=1000)
    assert (judge.shares_budget, judge.workers) == (shares, workers)
    free = parsed(arguments)
    assert (free.shares_budget, free.workers) == (False, 1)
    elsewhere = workers if arguments[: len(REMOTE)] == REMOTE else 1
    assert free.concurrency == judge.concurrency == 64 // elsewhere
    assert (SHARED in arguments) == (judge.config.cache == SHARED.partition("=")[2])


@pytest.mark.parametrize(
    "arguments",
    [
        [*REMOTE, *FLINK],
        [*REMOTE, *DATAFLOW],
        [*REMOTE, *DATAFLOW, "--max_num_workers=5"],
        [*REMOTE, *DATAFLOW, "--max_num_workers=5", "--machine_type=e2-medium"],
        [*LOCAL, "--runner=PrismRunner", "--experiments=use_loopback_process_worker", "--judge_cache=none"],
        [*REMOTE, "--runner=PortableRunner", "--job_endpoint=h:8099"],
    ],
)
@pytest.mark.parametrize(
    ("limit", "instead"), [("max_cost", "--judge_cache postg"), ("requests_per_minute", "leave it out")]
)
def test_an_unknown_number_of_workers_is_refused(parsed, arguments, limit, instead):
    with pytest.raises(ConfigError, match=f"unknown number of workers.*{instead}") as caught:
        parsed(arguments, **{limit: 1000})
    assert str(caught.value).startswith(f"judge.{limit}: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "per_worker"),
    [
        ([*LOCAL, *TWO], {"requests_per_minute": 30.0}),
        ([*LOCAL, *TWO, "--judge_cache=none"], {"max_calls": 50, "requests_per_minute": 30.0}),
        ([*REMOTE, *FLINK, SHARED, "--parallelism=4"], {"requests_per_minute": 15.0}),
        (LOCAL, {}),
    ],
)
def test_a_rate_is_divided_where_a_budget_is_shared(parsed, arguments, per_worker):
    assert parsed(arguments, max_calls=100, requests_per_minute=60).per_worker == per_worker


def test_a_rate_beside_a_shared_budget_needs_a_number_of_workers(parsed):
    with pytest.raises(ConfigError, match=r"^judge\.requests_per_minute: would hold for each of an unknown"):
        parsed([*REMOTE, *FLINK, SHARED], max_calls=100, requests_per_minute=60)


def test_a_budget_that_renews_is_always_shared(parsed):
    """A worker elsewhere has no file that outlives it; and a process that is alone is not alone tomorrow."""
    renewing = {"max_calls": 100, "per": "day"}
    for arguments in (LOCAL, [*LOCAL, *TWO], [*REMOTE, *FLINK, SHARED]):
        judge = parsed(arguments, **renewing)
        assert (judge.shares_budget, judge.workers) == (True, 1)
    assert parsed([*LOCAL, *TWO], **renewing, requests_per_minute=60).per_worker == {
        "requests_per_minute": 30
    }
    for arguments, said in (
        ([*REMOTE, *FLINK, "--parallelism=1"], "postgresql://HOST/DB"),
        ([*LOCAL, "--judge_cache=none"], "name one: --judge_cache FILE"),
    ):
        with pytest.raises(ConfigError, match=rf"^judge\.per: .*{said}"):
            parsed(arguments, **renewing)


HERE = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "max 100000\n"}, HERE),
        ({"cpu.max": "100000 100000\n"}, 1),
        ({"pods/this/cpu.max": "199999 100000\n"}, 1),
        ({"pods/cpu.max": "100000 100000\n", "pods/this/cpu.max": "max 100000\n"}, 1),
        ({"pods/that/cpu.max": "100000 100000\n"}, HERE),
        ({"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, HERE),
        ({"cpu.max": "100000 0\n"}, HERE),
    ],
)
def test_limits_of_control_groups_count(files, cores, tmp_path):
    own = tmp_path / "own"
    own.write_text("4:memory:/other\n0::/pods/this\n")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path, own) == cores
    assert usable_cores(tmp_path / "nothing", tmp_path / "nothing") == HERE
