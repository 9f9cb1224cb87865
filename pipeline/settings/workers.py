"""Where the workers of a run are, and what of this machine they would not find there."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    PipelineOptions,
    PortableOptions,
    SetupOptions,
    SparkRunnerOptions,
    WorkerOptions,
)
from apache_beam.runners.runner import PipelineRunner

from turnwise.pipeline.settings.extras import check_extra
from turnwise.pipeline.settings.run import DEFAULT_CACHE, RunSettings
from turnwise.pipeline.store.urls import is_store_url, shown_url
from turnwise.schemas.config import ConfigError
from turnwise.transforms.judging.backends.access import find_access, stated_access

_IN_PROCESS = (
    *("FnApiRunner", "BundleBasedDirectRunner", "SwitchingDirectRunner", "PythonRPCDirectRunner"),
    *("InteractiveRunner", "RenderRunner"),
)
_HAVE_AN_IDENTITY = ("DataflowRunner", "TestDataflowRunner")
_SERVICES = ("pubsub:", "http:", "https:")
_SETUP_FILES = ("setup.py", "pyproject.toml")
_ADC = "GOOGLE_APPLICATION_CREDENTIALS"
_ADC_FILE = "gcloud/application_default_credentials.json"


def are_elsewhere(runner: PipelineRunner, options: PipelineOptions) -> bool:
    """Tells whether workers are not processes of this machine that share its files and environment.

    Beam's runners for Prism, and for Flink and Spark without a cluster, start workers here unless told
    otherwise; `--environment_type=LOOPBACK` does so on every portable runner.
    """
    kind, portable = type(runner).__name__, options.view_as(PortableOptions)
    if kind in _IN_PROCESS or portable.environment_type == "LOOPBACK":
        return False
    if portable.environment_type or portable.output_executable_path:
        return True
    if kind == "FlinkRunner":
        return options.view_as(FlinkRunnerOptions).flink_master not in ("[local]", "[auto]")
    if kind == "SparkRunner":
        return not re.match(r"local(\[.+\])?$", options.view_as(SparkRunnerOptions).spark_master_url)
    return kind != "PrismRunner"


def fit_workers(
    settings: RunSettings, options: PipelineOptions, runner: PipelineRunner, environ: Mapping[str, str]
) -> RunSettings:
    """Returns the settings as workers elsewhere can use them; where they are here, as they are.

    Raises:
        ConfigError: Workers elsewhere would miss turnwise itself, a file of this machine, or the judge's
            credentials.
    """
    if not are_elsewhere(runner, options):
        return settings
    kind = type(runner).__name__
    for option, path in _paths(settings):
        if _is_here(path):
            raise ConfigError(
                f"{option} {shown_url(path)}: is on this machine, where workers of {kind} do not find it; "
                "name a place that they share (gs://..., postgresql://HOST/...)"
            )
    _check_package(options, kind)
    if not _asks_gemini(settings):
        return _with_judge(settings, cache=None)
    _check_credentials(settings, kind, environ)
    stated = stated_access(settings.judge.config, environ)
    return _with_judge(settings, cache=None, **stated)


def _with_judge(settings: RunSettings, **fields: str | None) -> RunSettings:
    return replace(
        settings, judge=replace(settings.judge, config=settings.judge.config.model_copy(update=fields))
    )


def _paths(settings: RunSettings) -> Iterator[tuple[str, str]]:
    """Yields what workers read and write, with the option that names it."""
    yield "--output", settings.output
    yield from (("--input", path) for path in settings.input)
    yield from (("--eval_cases", path) for path in settings.eval_cases)
    yield "--store", settings.store
    yield "--alerts", settings.stream.alerts or ""
    cache = settings.judge.config.cache
    if cache != str(DEFAULT_CACHE):
        yield "--judge_cache", cache or ""


def _is_here(path: str) -> bool:
    if not path or path.startswith(_SERVICES):
        return False
    if not is_store_url(path):
        return "://" not in path or path.lower().startswith("file:")
    parts = urlsplit(path)
    if parts.scheme.lower() == "sqlite":
        return True
    hosts = [parts.hostname or "", *parse_qs(parts.query).get("host", [])]
    return not any(host and not host.startswith("/") and not is_loopback(host) for host in hosts)


def _check_package(options: PipelineOptions, kind: str) -> None:
    setup = options.view_as(SetupOptions)
    path = setup.setup_file
    if path is not None:
        if not (Path(path).is_absolute() and Path(path).is_file() and Path(path).name in _SETUP_FILES):
            raise ConfigError(f"--setup_file {path}: must be the whole path of a pyproject.toml or setup.py")
        if Path(path).name == "pyproject.toml":
            check_extra(f"--setup_file {path}", "build")
        return
    own_image = (
        options.view_as(WorkerOptions).sdk_container_image
        or options.view_as(PortableOptions).environment_config
    )
    if not (own_image or setup.extra_packages or setup.requirements_file):
        raise ConfigError(
            f"--setup_file is missing: workers of {kind} have no turnwise; name the whole path of its "
            "pyproject.toml, or an image that holds it (--sdk_container_image)"
        )


def _asks_gemini(settings: RunSettings) -> bool:
    selection, judge = settings.selection, settings.judge
    asked = selection.judged or (selection.of_dialects and settings.eval_cases)
    return bool(asked) and judge.config.backend == "gemini" and not judge.only_estimates


def _check_credentials(settings: RunSettings, kind: str, environ: Mapping[str, str]) -> None:
    access = find_access(settings.judge.config, environ)
    if access.api_key:
        what = "its API key stands in this machine's environment"
    elif kind not in _HAVE_AN_IDENTITY and (file := _credentials_file(environ)):
        what = f"its credentials are a file of this machine ({file})"
    else:
        return
    raise ConfigError(
        f"judge: {what}, which workers of {kind} do not have; "
        "take judge.project (Vertex AI) with workers that have an identity of their own, or --judge local"
    )


def _credentials_file(environ: Mapping[str, str]) -> str:
    """Returns the file of Google's application default credentials; "": they do not come from a file."""
    home = environ.get("CLOUDSDK_CONFIG")
    usual = Path(home) / Path(_ADC_FILE).name if home else Path.home() / ".config" / _ADC_FILE
    return environ.get(_ADC) or (str(usual) if os.path.isfile(usual) else "")


def is_loopback(host: str) -> bool:
    """Tells whether a host name or address can only be this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
