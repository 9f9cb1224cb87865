"""Checks that workers on other machines get turnwise: as a package, by requirements, or in an image."""

import re
from collections.abc import Sequence
from pathlib import Path

from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions, SetupOptions, WorkerOptions

from turnwise.pipeline.settings.extras import check_extra
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_local

_SETUP_FILES = ("setup.py", "pyproject.toml")
_BESIDE = ("setup.py", "setup.cfg", "pyproject.toml", "requirements*.txt", "requirements*.in")
_NAMED = re.compile(r"(?<![\w-])turnwise(?![\w-])", re.IGNORECASE)
_OTHER_FILES = re.compile(r"^\s*(?:-r|--requirement|-e|--editable|[./])", re.MULTILINE)
_OWN_NAME = re.compile(r"^name\s*=\s*[\"']turnwise[\"']", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
_STOCK_IMAGE = re.compile(r"(?:[\w.-]*docker\.io/)?apache/beam_\w|(?:[\w.-]+\.)?gcr\.io/cloud-dataflow/")


def check_package(options: PipelineOptions, kind: str, extras: Sequence[str] = ()) -> None:
    """Checks that the options install turnwise on the workers of a runner, as far as it can be checked here.

    Args:
        options: Beam's options.
        kind: Name of the runner, for the message.
        extras: Extras of turnwise that the workers need.

    Raises:
        ConfigError: A named file does not exist, or none of the options installs turnwise or its extras.
    """
    setup, image = options.view_as(SetupOptions), _image(options)
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


def _image(options: PipelineOptions) -> str | None:
    stated = options.view_as(WorkerOptions).sdk_container_image
    return stated or options.view_as(PortableOptions).environment_config or None


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
