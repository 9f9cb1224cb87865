"""Decides who holds the limits of a judge: one process, a place that all workers share, or each its part."""

import re

from apache_beam.options.pipeline_options import (
    DebugOptions,
    FlinkRunnerOptions,
    PipelineOptions,
    PortableOptions,
    WorkerOptions,
)
from apache_beam.runners.runner import PipelineRunner
from msgspec.structs import replace

from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_postgresql_url
from turnwise.transforms.judging.shared_places import BUDGET, stated_limits

_CPUS = re.compile(r"custom-(\d+)-\d+|-(\d+)$")
_STATED_BY = {"Dataflow": "--max_num_workers and --machine_type", "Flink": "--parallelism"}


def fit_limits(
    settings: RunSettings, options: PipelineOptions, runner: PipelineRunner, are_here: bool
) -> RunSettings:
    """Returns settings by which the limits of the judge hold over all worker processes of the run.

    Args:
        settings: Settings of the run.
        options: Beam's options.
        runner: Beam's runner.
        are_here: Whether the workers run on this machine.

    Raises:
        ConfigError: The limits would hold for each of an unknown number of workers, or cannot be divided.
    """
    judge = settings.judge
    limits = stated_limits(judge.config)
    if not limits or not judge.kind.connect or not settings.judged or judge.only_estimates:
        return settings
    most = most_processes(settings, options, runner, are_here)
    if most == 1:
        return settings
    cache = judge.config.cache
    can_share = cache is not None and (are_here or is_postgresql_url(cache))
    shares_budget = can_share and not limits.keys().isdisjoint(BUDGET)
    name = next((name for name in limits if not (can_share and name in BUDGET)), None)
    if name is None:
        return replace(settings, judge=replace(judge, shares_budget=True))
    instead = "name a database that they share (--judge_cache postgresql://HOST/DB)"
    if name not in BUDGET:
        instead = "leave it out (what a server refuses is sent again later)"
    if most is None:
        kind = type(runner).__name__
        wanted = next((f", or state {option}" for part, option in _STATED_BY.items() if part in kind), "")
        raise ConfigError(
            f"judge.{name}: would hold for each of an unknown number of workers of {kind}; {instead}{wanted}"
        )
    fitted = replace(judge, workers=most, shares_budget=shares_budget)
    if 0 in fitted.per_worker.values() and 0 not in limits.values():
        raise ConfigError(f"judge.{name}: {limits[name]:g} cannot be divided among {most} workers; {instead}")
    return replace(settings, judge=fitted)


def most_processes(
    settings: RunSettings, options: PipelineOptions, runner: PipelineRunner, are_here: bool
) -> int | None:
    """Returns the number of worker processes of a run at most; None: it is unknown.

    Args:
        settings: Settings of the run.
        options: Beam's options.
        runner: Beam's runner.
        are_here: Whether the workers run on this machine: in processes of the runner, or in this one.
    """
    if are_here:
        forks = options.view_as(DebugOptions).lookup_experiment("use_loopback_process_worker", False)
        return None if forks else settings.workers
    kind = type(runner).__name__
    if "Dataflow" in kind:
        return _dataflow_processes(options)
    parallelism = options.view_as(FlinkRunnerOptions).parallelism
    processes = int(options.view_as(PortableOptions).sdk_worker_parallelism)
    # Every slot may be on a machine of its own, which starts that many processes.
    return parallelism * processes if "Spark" not in kind and parallelism > 0 and processes > 0 else None


def _dataflow_processes(options: PipelineOptions) -> int | None:
    """Returns machines times processes: one for each processor, unless an experiment says one a machine."""
    worker = options.view_as(WorkerOptions)
    is_fixed = worker.autoscaling_algorithm == "NONE"
    machines = worker.max_num_workers or (worker.num_workers if is_fixed else None)
    if "no_use_multiple_sdk_containers" in (options.view_as(DebugOptions).experiments or ()):
        return machines
    found = _CPUS.search(worker.machine_type or "")
    return machines * int(found[1] or found[2]) or None if machines and found else None
