"""Checks that workers on other machines can reach the files and credentials of a run."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from apache_beam.options.pipeline_options import (
    DebugOptions,
    FlinkRunnerOptions,
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    SparkRunnerOptions,
    TestOptions,
    WorkerOptions,
)
from apache_beam.runners.runner import PipelineRunner
from msgspec.structs import replace

from turnwise.pipeline.settings.extras import check_google
from turnwise.pipeline.settings.run import DEFAULT_CACHE, RunSettings
from turnwise.pipeline.settings.workers import check_package
from turnwise.pipeline.store.urls import is_loopback
from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import is_local, is_postgresql_url, is_sqlite_url, is_store_url, shown_url
from turnwise.schemas.registry import is_file
from turnwise.transforms.judging.judges import Access, JudgeKind, find_judge
from turnwise.transforms.judging.routes import Routes
from turnwise.transforms.judging.shared_places import BUDGET, stated_limits

_IN_PROCESS = (
    *("FnApiRunner", "BundleBasedDirectRunner", "SwitchingDirectRunner", "PythonRPCDirectRunner"),
    *("InteractiveRunner", "RenderRunner"),
)
_HAVE_AN_IDENTITY = ("DataflowRunner", "TestDataflowRunner")
_SERVICES = ("http:", "https:", "kafka:")
_PORT = re.compile(r":\d*$")
_ADC = "GOOGLE_APPLICATION_CREDENTIALS"
_ADC_FILE = "gcloud/application_default_credentials.json"


def is_in_process(runner: PipelineRunner) -> bool:
    """Returns whether a runner works in this process, or starts its own processes on this machine."""
    return type(runner).__name__ in _IN_PROCESS


def are_elsewhere(runner: PipelineRunner, options: PipelineOptions) -> bool:
    """Returns whether workers lack access to the files and environment of this machine.

    Beam's runners for Prism, and for Flink and Spark without a cluster, start workers on this machine by
    default; `--environment_type=LOOPBACK` does so on every portable runner. Dataflow ignores that option.
    """
    kind, portable = type(runner).__name__, options.view_as(PortableOptions)
    if kind in _HAVE_AN_IDENTITY:
        return True
    if is_in_process(runner) or portable.environment_type == "LOOPBACK":
        return False
    if portable.environment_type or portable.output_executable_path:
        return True
    if kind == "FlinkRunner":
        return options.view_as(FlinkRunnerOptions).flink_master not in ("[local]", "[auto]")
    if kind == "SparkRunner":
        return not re.match(r"local(\[.+\])?$", options.view_as(SparkRunnerOptions).spark_master_url)
    return kind != "PrismRunner"


def check_access(settings: RunSettings) -> None:
    """Raises ConfigError, in seconds, if a place of a run is Google's and there are no credentials for it."""
    for option, path in _paths(settings):
        if place := path.removeprefix("parquet:"):
            check_google(f"{option} {path}", place)


def check_runner_access(runner: PipelineRunner, options: PipelineOptions) -> None:
    """Raises ConfigError, in seconds, if a runner of Google's would find no credentials.

    A dry run needs none, and a template those for the places that it is written to.
    """
    kind, cloud = type(runner).__name__, options.view_as(GoogleCloudOptions)
    if kind not in _HAVE_AN_IDENTITY or options.view_as(TestOptions).dry_run:
        return
    if not (cloud.no_auth or cloud.template_location):
        check_google(f"--runner={kind}")
    for name in ("temp_location", "staging_location", "template_location"):
        if place := getattr(cloud, name):
            check_google(f"--{name}={place}", place)


def fit_workers(
    settings: RunSettings, options: PipelineOptions, runner: PipelineRunner, environ: Mapping[str, str]
) -> RunSettings:
    """Adapts the settings to remote workers; returns them unchanged for local workers.

    Raises ConfigError if they would lack turnwise, a file of this machine, or the judge's credentials.
    """
    if not are_elsewhere(runner, options):
        return settings
    kind = type(runner).__name__
    for option, path in _paths(settings):
        if _is_here(path):
            raise ConfigError(
                f"{option} {shown_url(path)}: is on this machine, which workers of {kind} cannot access; "
                "name a shared place (gs://..., postgresql://HOST/...)"
            )
    for plugin in filter(is_file, settings.plugins):
        raise ConfigError(
            f"--plugin {plugin}: is a file of this machine, where workers of {kind} do not find it; "
            "put it into a package that they install, and name its module"
        )
    routes = Routes(settings.judge.config, environ, settings.judge.kind)
    urls = (settings.store, settings.judge.config.cache or "", *settings.input, *settings.eval_cases)
    of_judges = {kind.extra for kind in _judges(settings, routes) if kind.extra}
    # Beyond what turnwise itself installs.
    extras = (*(["postgres"] if any(map(is_postgresql_url, urls)) else []), *sorted(of_judges))
    check_package(options, kind, extras)
    cache = settings.judge.config.cache
    shared = {"cache": cache if cache and is_postgresql_url(cache) else None}
    access = _access(settings, routes, kind, environ)
    if access is None:
        return _with_judge(settings, **shared)
    _check_credentials(access, settings.judge.config, kind, environ)
    stated = {"project": access.project, "location": access.location, "base_url": access.base_url}
    return _with_judge(settings, **shared, **stated)


def _judges(settings: RunSettings, routes: Routes) -> list[JudgeKind]:
    """Returns the judges that workers ask; none if only estimates are made."""
    if settings.judge.only_estimates:
        return []
    return list(dict.fromkeys(routes.find(model).kind for model in settings.judged_models))


def _with_judge(settings: RunSettings, **fields: str | None) -> RunSettings:
    return replace(
        settings, judge=replace(settings.judge, config=settings.judge.config.model_copy(update=fields))
    )


def _paths(settings: RunSettings) -> Iterator[tuple[str, str]]:
    yield "--output", settings.output
    yield from (("--input", path) for path in settings.input)
    yield from (("--eval_cases", path) for path in settings.eval_cases)
    yield "--baseline", settings.baseline or ""
    yield "--store", settings.store
    yield "--alerts", settings.stream.alerts or ""
    cache = settings.judge.config.cache
    if cache != str(DEFAULT_CACHE):
        yield "--judge_cache", cache or ""


def _is_here(path: str) -> bool:
    if not path or path.startswith("pubsub:"):
        return False
    if path.lower().startswith(_SERVICES):
        hosts = urlsplit(path).netloc.rpartition("@")[2].split(",")
        return all(is_loopback(_PORT.sub("", host)) for host in hosts)
    if not is_store_url(path):
        return is_local(path) or path.lower().startswith("file:")
    if is_sqlite_url(path):
        return True
    parts = urlsplit(path)
    hosts = [parts.hostname or "", *parse_qs(parts.query).get("host", [])]
    return not any(host and not host.startswith("/") and not is_loopback(host) for host in hosts)


def _access(settings: RunSettings, routes: Routes, runner: str, environ: Mapping[str, str]) -> Access | None:
    """Returns how workers reach the run's judge; None: it is not asked, or nothing is needed for it."""
    asked, own = _judges(settings, routes), settings.judge.kind
    for kind in asked:
        if kind.name != own.name:
            raise ConfigError(
                f"judge: the key of {kind.name} is in this machine's environment, which workers of {runner} "
                f"do not have; name {kind.name} as judge.backend, with judge.api_key_secret"
            )
    return own.access(settings.judge.config, environ) if own.access and own in asked else None


def _check_credentials(access: Access, config: JudgeConfig, kind: str, environ: Mapping[str, str]) -> None:
    """Raises ConfigError if workers cannot reach the judge's model as this machine does.

    A project or secret in the config says that workers have an identity, and need no file of credentials of
    this machine. The environment of this machine says nothing about workers.
    """
    is_stated = config.project or config.api_key_secret
    if access.base_url and _is_here(access.base_url):
        what = f"its base_url {shown_url(access.base_url)} is on this machine"
    elif access.api_key:
        what = "its API key is in this machine's environment"
    elif kind not in _HAVE_AN_IDENTITY and not is_stated and (file := _credentials_file(environ)):
        what = f"its credentials are a file of this machine ({file})"
    else:
        return
    own = "judge.api_key_secret" if find_judge(config).extra else "judge.project (Vertex AI)"
    raise ConfigError(
        f"judge: {what}, which workers of {kind} do not have; "
        f"put {own} into the config if workers have an identity of their own, "
        "or use --judge local"
    )


def _credentials_file(environ: Mapping[str, str]) -> str:
    """Returns the file of Google's application default credentials; "" if there is none."""
    home = environ.get("CLOUDSDK_CONFIG")
    usual = Path(home) / Path(_ADC_FILE).name if home else Path.home() / ".config" / _ADC_FILE
    return environ.get(_ADC) or (str(usual) if os.path.isfile(usual) else "")


_CPUS = re.compile(r"custom-(\d+)-\d+|-(\d+)$")
_STATED_BY = {"Dataflow": "--max_num_workers and --machine_type", "Flink": "--parallelism"}


def fit_limits(
    settings: RunSettings, options: PipelineOptions, runner: PipelineRunner, are_here: bool
) -> RunSettings:
    """Returns settings by which the limits of the judge hold over all worker processes of the run.

    Raises ConfigError if they would hold for each of an unknown number of workers, or cannot be divided.
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

    `are_here`: the workers run on this machine, in processes of the runner or in this one.
    """
    if are_here:
        forks = options.view_as(DebugOptions).lookup_experiment("use_loopback_process_worker", False)
        return None if forks else settings.workers
    kind = type(runner).__name__
    if "Dataflow" in kind:
        # Machines times processes: one for each processor, unless an experiment says one a machine.
        worker = options.view_as(WorkerOptions)
        is_fixed = worker.autoscaling_algorithm == "NONE"
        machines = worker.max_num_workers or (worker.num_workers if is_fixed else None)
        if "no_use_multiple_sdk_containers" in (options.view_as(DebugOptions).experiments or ()):
            return machines
        found = _CPUS.search(worker.machine_type or "")
        return machines * int(found[1] or found[2]) or None if machines and found else None
    parallelism = options.view_as(FlinkRunnerOptions).parallelism
    processes = int(options.view_as(PortableOptions).sdk_worker_parallelism)
    # Every slot may be on a machine of its own, which starts that many processes.
    return parallelism * processes if "Spark" not in kind and parallelism > 0 and processes > 0 else None
