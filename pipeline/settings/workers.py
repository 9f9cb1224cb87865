"""Checks that workers on other machines get turnwise: as a package, by requirements, or in an image."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions, SetupOptions, WorkerOptions

from turnwise.pipeline.settings.extras import check_extra
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_local
from turnwise.transforms.judging.backends.base import one_line

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
    setup = options.view_as(SetupOptions)
    image = options.view_as(WorkerOptions).sdk_container_image
    image = image or options.view_as(PortableOptions).environment_config or None
    lacking: list[str] = []
    if setup.setup_file is not None and not _setup_brings(setup.setup_file):
        lacking.append(f"--setup_file {setup.setup_file}: does not install turnwise")
    if setup.requirements_file is not None and not _requirements_bring(setup.requirements_file):
        lacking.append(f"--requirements_file {setup.requirements_file}: does not list turnwise")
    if image and _STOCK_IMAGE.match(image):
        lacking.append(f"--sdk_container_image {image}: is Beam's own image, without turnwise")
    for package in setup.extra_packages or ():
        if is_local(package) and not Path(package).is_file():
            raise ConfigError(f"--extra_package {package}: there is no such file")
    named = [setup.setup_file, setup.requirements_file, image]
    others = [setup.requirements_file, image, setup.extra_packages]
    if extras and setup.setup_file and not any(others) and _is_turnwise(Path(setup.setup_file)):
        raise ConfigError(
            f"--setup_file {setup.setup_file}: installs turnwise without its extra {extras[0]}, which "
            f"workers of {kind} need; add a --requirements_file with the packages of turnwise[{extras[0]}], "
            "or name an image"
        )
    if setup.extra_packages or len(lacking) < sum(each is not None for each in named):
        return
    raise ConfigError(
        f"{lacking[0] if lacking else '--setup_file is missing'}; workers of {kind} have no turnwise: name "
        "the whole path of its pyproject.toml, or an image that holds it (--sdk_container_image)"
    )


def _is_turnwise(file: Path) -> bool:
    """Returns whether a project is turnwise itself, and not one that depends on it."""
    return any(
        _OWN_NAME.search(_without_comments(found))
        for found in (file, file.with_name("pyproject.toml"))
        if found.is_file()
    )


def _setup_brings(path: str) -> bool:
    """Returns whether a project is turnwise or may depend on it; raises ConfigError if it does not exist."""
    file = Path(path)
    if not (file.is_absolute() and file.is_file() and file.name in _SETUP_FILES):
        raise ConfigError(f"--setup_file {path}: must be the whole path of a pyproject.toml or setup.py")
    if file.name == "pyproject.toml":
        check_extra(f"--setup_file {path}", "build")
    beside = [found for pattern in _BESIDE for found in file.parent.glob(pattern)]
    return any(_NAMED.search(_without_comments(found)) for found in beside)


def _requirements_bring(path: str) -> bool:
    """Returns whether requirements list turnwise, or other files whose content is unknown."""
    file = Path(path)
    if not file.is_file():
        raise ConfigError(f"--requirements_file {path}: there is no such file")
    text = _without_comments(file)
    return _NAMED.search(text) is not None or _OTHER_FILES.search(text) is not None


def _without_comments(file: Path) -> str:
    return _COMMENT.sub("", file.read_text(encoding="utf-8", errors="replace"))


_ERROR = re.compile(r"ERROR:|[\w.]*(?:Error|Exception)\b")
_OF_BEAM = "apache-beam"
_NO_CACHE = "skip"


def try_staging(options: PipelineOptions) -> None:
    """Builds and downloads the packages of the options as Beam will do; raises ConfigError if one fails."""
    setup = options.view_as(SetupOptions)
    if setup.setup_file is not None and find_spec("build") is not None:  # else Beam uses setup.py itself
        build = ("build", "--no-isolation", "--sdist", str(Path(setup.setup_file).parent), "--outdir")
        _try(build, f"--setup_file {setup.setup_file}: cannot be built: ")
    if setup.requirements_file is not None and setup.requirements_cache != _NO_CACHE:
        sources = ("--no-binary", ":all:") if setup.requirements_cache_only_sources else ()
        lines = map(str.strip, Path(setup.requirements_file).read_text(encoding="utf-8").splitlines())
        # One by one, as Beam gives them to pip; it leaves out itself.
        for line in [line for line in lines if line and not line.startswith(("#", _OF_BEAM))]:
            download = ("pip", "download", "--disable-pip-version-check", "--no-deps", *sources, line)
            _try(
                (*download, "--dest"),
                f"--requirements_file {setup.requirements_file}: Beam cannot download {line}: ",
            )


def _try(module: Sequence[str], what: str) -> None:
    """Runs a module of Python, which writes into a folder that is its last argument.

    Raises:
        ConfigError: It failed. Beam would show a traceback and all that the module says.
    """
    with tempfile.TemporaryDirectory(prefix="turnwise-staging-") as place:
        done = subprocess.run([sys.executable, "-m", *module, place], capture_output=True, text=True)
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if _ERROR.match(line)]
        raise ConfigError(what + one_line((errors or lines or ["no reason is given"])[-1]))


_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def usable_cores(groups: Path = _GROUPS, own: Path = _OWN_GROUPS) -> int:
    """Returns the number of processors that this process may use: at least 1, whole ones.

    The processors it is bound to count, and the limits of its control groups, which containers have, and of
    those that hold them; `groups` is where they are, `own` the file that names those of this process.
    """
    cores = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1]
    paths = [Path(line.rpartition(":")[2].lstrip("/")) for line in _words(own)]
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
