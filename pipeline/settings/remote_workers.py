"""Checks that workers on other machines get turnwise, and can reach the files and credentials of a run."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from apache_beam.options import pipeline_options as beam_options
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineRunner
from msgspec.structs import replace

from turnwise.pipeline.io.sinks import folder_of
from turnwise.pipeline.settings.options import check_extra, check_google
from turnwise.pipeline.settings.run import DEFAULT_CACHE, PREVIOUS, RunSettings
from turnwise.pipeline.store.urls import is_loopback
from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import is_local, is_postgresql_url, is_sqlite_url, is_store_url, shown_url
from turnwise.schemas.registry import is_file
from turnwise.transforms.judging.backends.base import one_line
from turnwise.transforms.judging.judges import Access, find_judge, route_of
from turnwise.transforms.judging.shared_places import BUDGET, stated_limits

_IN_PROCESS = (
    *("FnApiRunner", "BundleBasedDirectRunner", "SwitchingDirectRunner", "PythonRPCDirectRunner"),
    *("InteractiveRunner", "RenderRunner"),
)
_HAVE_AN_IDENTITY = ("DataflowRunner", "TestDataflowRunner")
_SERVICES = ("http:", "https:", "kafka:", "otlp:", "otlps:")
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
    kind, portable = type(runner).__name__, options.view_as(beam_options.PortableOptions)
    if kind in _HAVE_AN_IDENTITY:
        return True
    if is_in_process(runner) or portable.environment_type == "LOOPBACK":
        return False
    if portable.environment_type or portable.output_executable_path:
        return True
    if kind == "FlinkRunner":
        return options.view_as(beam_options.FlinkRunnerOptions).flink_master not in ("[local]", "[auto]")
    if kind == "SparkRunner":
        spark = options.view_as(beam_options.SparkRunnerOptions)
        return not re.match(r"local(\[.+\])?$", spark.spark_master_url)
    return kind != "PrismRunner"


def check_access(settings: RunSettings) -> None:
    """Raises ConfigError, in seconds, if a place of a run is Google's and there are no credentials for it."""
    for option, path in _paths(settings):
        if path:
            check_google(f"{option} {path}", folder_of(path))


def check_runner_access(runner: PipelineRunner, options: PipelineOptions) -> None:
    """Raises ConfigError, in seconds, if a runner of Google's would find no credentials.

    A dry run needs none, and a template those for the places that it is written to.
    """
    kind, cloud = type(runner).__name__, options.view_as(beam_options.GoogleCloudOptions)
    if kind not in _HAVE_AN_IDENTITY or options.view_as(beam_options.TestOptions).dry_run:
        return
    if not (cloud.no_auth or cloud.template_location):
        check_google(f"--runner={kind}")
    for name in ("temp_location", "staging_location", "template_location"):
        if path := getattr(cloud, name):
            check_google(f"--{name}={path}", path)


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
            what = f"is on this machine, which workers of {kind} cannot access"
            step = "name a shared place (gs://..., postgresql://HOST/...)"
            raise ConfigError(f"{option} {shown_url(path)}: {what}; {step}")
    for plugin in filter(is_file, settings.plugins):
        what = f"is a file of this machine, where workers of {kind} do not find it"
        step = "put it into a package that they install, and name its module"
        raise ConfigError(f"--plugin {plugin}: {what}; {step}")
    urls = (settings.store, settings.judge.config.cache or "", *settings.input, *settings.eval_cases)
    # None is asked if only estimates are made.
    models = () if settings.judge.only_estimates else settings.judged_models
    asked = list(dict.fromkeys(route_of(settings.judge.kind, model).kind for model in models))
    of_judges = {judge.extra for judge in asked if judge.extra}
    # Beyond what turnwise itself installs.
    extras = (*(["postgres"] if any(map(is_postgresql_url, urls)) else []), *sorted(of_judges))
    check_package(options, kind, extras)
    cache = settings.judge.config.cache
    fields = {"cache": cache if cache and is_postgresql_url(cache) else None}
    judge = settings.judge.kind
    for other in asked:
        if other.name != judge.name:
            what = f"is in this machine's environment, which workers of {kind} do not have"
            step = f"name {other.name} as judge.backend, with judge.api_key_secret"
            raise ConfigError(f"judge: the key of {other.name} {what}; {step}")
    if judge.access is not None and judge in asked:  # else nothing is needed for it
        access = judge.access(settings.judge.config, environ)
        _check_credentials(access, settings.judge.config, kind, environ)
        fields |= {"project": access.project, "location": access.location, "base_url": access.base_url}
    config = settings.judge.config.model_copy(update=fields)
    return replace(settings, judge=replace(settings.judge, config=config))


def _paths(settings: RunSettings) -> Iterator[tuple[str, str]]:
    yield "--output", settings.output
    yield from (("--input", path) for path in settings.input)
    yield from (("--eval_cases", path) for path in settings.eval_cases)
    if settings.baseline != PREVIOUS:
        yield "--baseline", settings.baseline or ""
    yield "--store", settings.store
    yield "--scores_to", settings.scores_to
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


def _check_credentials(access: Access, config: JudgeConfig, kind: str, environ: Mapping[str, str]) -> None:
    """Raises ConfigError if workers cannot reach the judge's model as this machine does.

    A project or secret in the config says that workers have an identity, and need no file of credentials of
    this machine. The environment of this machine says nothing about workers.
    """
    is_stated = config.project or config.api_key_secret
    home = environ.get("CLOUDSDK_CONFIG")
    usual = Path(home) / Path(_ADC_FILE).name if home else Path.home() / ".config" / _ADC_FILE
    file = environ.get(_ADC) or (str(usual) if os.path.isfile(usual) else "")
    if access.base_url and _is_here(access.base_url):
        what = f"its base_url {shown_url(access.base_url)} is on this machine"
    elif access.api_key:
        what = "its API key is in this machine's environment"
    elif kind not in _HAVE_AN_IDENTITY and file and not is_stated:
        what = f"its credentials are a file of this machine ({file})"
    else:
        return
    key = "judge.api_key_secret" if find_judge(config).extra else "judge.project (Vertex AI)"
    step = f"put {key} into the config if workers have an identity of their own, or use --judge local"
    raise ConfigError(f"judge: {what}, which workers of {kind} do not have; {step}")


_CPUS = re.compile(r"custom-(\d+)-\d+|-(\d+)$")
_STATED_BY = {"Dataflow": "--max_num_workers and --machine_type", "Flink": "--parallelism"}


def fit_limits(settings: RunSettings, options: PipelineOptions, runner: PipelineRunner) -> RunSettings:
    """Returns settings by which limits and calls in flight of the judge hold over all worker processes.

    Raises ConfigError if they would hold for each of an unknown number of workers, or cannot be divided.
    """
    judge = settings.judge
    limits = stated_limits(judge.config)
    if not judge.kind.connect or not settings.judged or judge.only_estimates:
        return settings
    kind, are_here = type(runner).__name__, not are_elsewhere(runner, options)
    most = most_processes(settings, options, kind, are_here)
    if judge.shares_budget and not are_here and not is_postgresql_url(judge.config.cache or ""):
        what = f"workers elsewhere count the budget of the {judge.config.per} in a database"
        raise ConfigError(f"judge.per: {what} (--judge_cache postgresql://HOST/DB)")
    if most == 1:
        return settings
    if most and not are_here:  # processes of this machine divide the calls in flight when they start
        judge = replace(judge, concurrency=max(1, judge.concurrency // most))
        settings = replace(settings, judge=judge)
    if not limits:
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
        wanted = next((f", or state {option}" for part, option in _STATED_BY.items() if part in kind), "")
        what = f"judge.{name}: would hold for each of an unknown number of workers of {kind}"
        raise ConfigError(f"{what}; {instead}{wanted}")
    fitted = replace(judge, workers=most, shares_budget=shares_budget)
    if 0 in fitted.per_worker.values() and 0 not in limits.values():
        raise ConfigError(f"judge.{name}: {limits[name]:g} cannot be divided among {most} workers; {instead}")
    return replace(settings, judge=fitted)


def most_processes(settings: RunSettings, options: PipelineOptions, kind: str, are_here: bool) -> int | None:
    """Returns the number of worker processes of a run on a kind of runner at most; None: it is unknown.

    `are_here`: the workers run on this machine, in processes of the runner or in this one.
    """
    debug = options.view_as(beam_options.DebugOptions)
    if are_here:
        forks = debug.lookup_experiment("use_loopback_process_worker", False)
        return None if forks else settings.workers
    if "Dataflow" in kind:
        # Machines times processes: one for each processor, unless an experiment says one a machine.
        worker = options.view_as(beam_options.WorkerOptions)
        is_fixed = worker.autoscaling_algorithm == "NONE"
        machines = worker.max_num_workers or (worker.num_workers if is_fixed else None)
        if "no_use_multiple_sdk_containers" in (debug.experiments or ()):
            return machines
        match = _CPUS.search(worker.machine_type or "")
        return machines * int(match[1] or match[2]) or None if machines and match else None
    parallelism = options.view_as(beam_options.FlinkRunnerOptions).parallelism
    processes = int(options.view_as(beam_options.PortableOptions).sdk_worker_parallelism)
    # Every slot may be on a machine of its own, which starts that many processes.
    return parallelism * processes if "Spark" not in kind and parallelism > 0 and processes > 0 else None


_SETUP_FILES = ("setup.py", "pyproject.toml")
_BESIDE = ("setup.py", "setup.cfg", "pyproject.toml", "requirements*.txt", "requirements*.in")
_NAMED = re.compile(r"(?<![\w-])turnwise(?![\w-])", re.IGNORECASE)
_OTHER_FILES = re.compile(r"^\s*(?:-r|--requirement|-e|--editable|[./])", re.MULTILINE)
_OWN_NAME = re.compile(r"^name\s*=\s*[\"']turnwise[\"']", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
_STOCK_IMAGE = re.compile(r"(?:[\w.-]*docker\.io/)?apache/beam_\w|(?:[\w.-]+\.)?gcr\.io/cloud-dataflow/")


def check_package(options: PipelineOptions, kind: str, extras: Sequence[str] = ()) -> None:
    """Checks that the options install turnwise on the workers of a runner, as far as it can be checked here.

    Raises ConfigError if a named file does not exist, or none of the options installs turnwise or its extras.
    """
    setup = options.view_as(beam_options.SetupOptions)
    image = options.view_as(beam_options.WorkerOptions).sdk_container_image
    image = image or options.view_as(beam_options.PortableOptions).environment_config or None
    lacking: list[str] = []
    if setup.setup_file is not None:
        file = Path(setup.setup_file)
        if not (file.is_absolute() and file.is_file() and file.name in _SETUP_FILES):
            what = "must be the whole path of a pyproject.toml or setup.py"
            raise ConfigError(f"--setup_file {setup.setup_file}: {what}")
        if file.name == "pyproject.toml":
            check_extra(f"--setup_file {setup.setup_file}", "build")
        # A project is turnwise, or may depend on it.
        beside = [project for pattern in _BESIDE for project in file.parent.glob(pattern)]
        if not any(_NAMED.search(_without_comments(project)) for project in beside):
            lacking.append(f"--setup_file {setup.setup_file}: does not install turnwise")
    if setup.requirements_file is not None:
        if not Path(setup.requirements_file).is_file():
            raise ConfigError(f"--requirements_file {setup.requirements_file}: there is no such file")
        text = _without_comments(Path(setup.requirements_file))
        if not (_NAMED.search(text) or _OTHER_FILES.search(text)):  # other files may list it
            lacking.append(f"--requirements_file {setup.requirements_file}: does not list turnwise")
    if image and _STOCK_IMAGE.match(image):
        lacking.append(f"--sdk_container_image {image}: is Beam's own image, without turnwise")
    for package in setup.extra_packages or ():
        if is_local(package) and not Path(package).is_file():
            raise ConfigError(f"--extra_package {package}: there is no such file")
    named = [setup.setup_file, setup.requirements_file, image]
    others = [setup.requirements_file, image, setup.extra_packages]
    if extras and setup.setup_file and not any(others):
        file = Path(setup.setup_file)
        projects = filter(Path.is_file, (file, file.with_name("pyproject.toml")))
        if any(_OWN_NAME.search(_without_comments(project)) for project in projects):
            what = f"installs turnwise without its extra {extras[0]}, which workers of {kind} need"
            packages = f"add a --requirements_file with the packages of turnwise[{extras[0]}]"
            raise ConfigError(f"--setup_file {file}: {what}; {packages}, or name an image")
    if setup.extra_packages or len(lacking) < sum(version is not None for version in named):
        return
    what = lacking[0] if lacking else "--setup_file is missing"
    step = "name the whole path of its pyproject.toml, or an image that holds it (--sdk_container_image)"
    raise ConfigError(f"{what}; workers of {kind} have no turnwise: {step}")


def _without_comments(file: Path) -> str:
    return _COMMENT.sub("", file.read_text(encoding="utf-8", errors="replace"))


_ERROR = re.compile(r"ERROR:|[\w.]*(?:Error|Exception)\b")


def try_staging(options: PipelineOptions) -> None:
    """Builds and downloads the packages of the options as Beam will do; raises ConfigError if one fails."""
    setup = options.view_as(beam_options.SetupOptions)
    # Modules of Python, each of which writes into a folder that is its last argument.
    modules: list[tuple[Sequence[str], str]] = []
    if setup.setup_file is not None and find_spec("build") is not None:  # else Beam uses setup.py itself
        build = ("build", "--no-isolation", "--sdist", str(Path(setup.setup_file).parent), "--outdir")
        modules.append((build, f"--setup_file {setup.setup_file}: cannot be built: "))
    if setup.requirements_file is not None and setup.requirements_cache != "skip":
        sources = ("--no-binary", ":all:") if setup.requirements_cache_only_sources else ()
        texts = map(str.strip, Path(setup.requirements_file).read_text(encoding="utf-8").splitlines())
        # One by one, as Beam gives them to pip; it leaves out itself.
        for package in [text for text in texts if text and not text.startswith(("#", "apache-beam"))]:
            download = ("pip", "download", "--disable-pip-version-check", "--no-deps", *sources, package)
            what = f"--requirements_file {setup.requirements_file}: Beam cannot download {package}: "
            modules.append(((*download, "--dest"), what))
    for module, what in modules:
        with tempfile.TemporaryDirectory(prefix="turnwise-staging-") as folder:
            done = subprocess.run([sys.executable, "-m", *module, folder], capture_output=True, text=True)
        if done.returncode:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            errors = [line for line in lines if _ERROR.match(line)]
            raise ConfigError(what + one_line((errors or lines or ["no reason is given"])[-1]))


_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def usable_cores(groups: Path = _GROUPS, process_groups: Path = _OWN_GROUPS) -> int:
    """Returns the number of processors that this process may use: at least 1, whole ones.

    The processors it is bound to count, and the limits of its control groups, which containers have, and of
    those that hold them; `groups` is where they are, `process_groups` the file that names this process's.
    """
    cores = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1]
    paths = [Path(line.rpartition(":")[2].lstrip("/")) for line in _words(process_groups)]
    folders = [groups, *(groups / part for path in paths for part in (path, *path.parents))]
    folders += [groups / "cpu" / folder.relative_to(groups) for folder in folders]
    for folder in folders:
        # Version 2 has both numbers in one file, version 1 each in its own.
        for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
            words = [word for name in names for word in _words(folder / name)]
            if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]):
                cores.append(int(words[0]) // int(words[1]))
    return max(1, min(cores))


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return []
