"""Tries what Beam will do to stage packages for workers, before anything is paid or removed."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from apache_beam.options.pipeline_options import PipelineOptions, SetupOptions

from turnwise.schemas.config import ConfigError
from turnwise.transforms.judging.backends.base import one_line

_ERROR = re.compile(r"ERROR:|[\w.]*(?:Error|Exception)\b")
_OF_BEAM = "apache-beam"
_NO_CACHE = "skip"


def try_staging(options: PipelineOptions) -> None:
    """Builds the package of `--setup_file` and downloads those of `--requirements_file`, as Beam will do.

    Raises:
        ConfigError: One cannot be built or downloaded.
    """
    setup = options.view_as(SetupOptions)
    if setup.setup_file is not None and find_spec("build") is not None:  # else Beam uses setup.py itself
        build = ("build", "--no-isolation", "--sdist", str(Path(setup.setup_file).parent), "--outdir")
        _try(build, f"--setup_file {setup.setup_file}: cannot be built: ")
    if setup.requirements_file is not None and setup.requirements_cache != _NO_CACHE:
        sources = ("--no-binary", ":all:") if setup.requirements_cache_only_sources else ()
        for line in _requirements(setup.requirements_file):
            download = (
                "pip",
                "download",
                "--disable-pip-version-check",
                "--no-deps",
                *sources,
                line,
                "--dest",
            )
            _try(download, f"--requirements_file {setup.requirements_file}: Beam cannot download {line}: ")


def _requirements(path: str) -> list[str]:
    """Returns the lines that Beam gives to pip, one by one; it leaves out itself."""
    lines = map(str.strip, Path(path).read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith(("#", _OF_BEAM))]


def _try(module: Sequence[str], what: str) -> None:
    """Runs a module of Python, which writes into a folder that is its last argument.

    Raises:
        ConfigError: It failed. Beam would show a traceback and all that the module says.
    """
    with tempfile.TemporaryDirectory(prefix="turnwise-staging-") as place:
        done = subprocess.run([sys.executable, "-m", *module, place], capture_output=True, text=True)
    if done.returncode:
        raise ConfigError(what + _reason(done.stderr))


def _reason(output: str) -> str:
    """Returns the last error of a program's output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)]
    return one_line((errors or lines or ["no reason is given"])[-1])
