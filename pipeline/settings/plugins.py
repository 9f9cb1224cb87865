"""`--plugin`: modules and files that add criteria, input formats, sinks and judges."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from turnwise.schemas.registry import plugin_errors
from turnwise.transforms.criteria import CRITERIA
from turnwise.transforms.formats.base import FORMATS
from turnwise.transforms.judging.judges.base import JUDGES

FILES = "TURNWISE_PLUGIN_FILES"
"""The environment variable by which processes that this one starts find its plugin files."""
_NAME = "turnwise_plugin_"


def is_file(plugin: str) -> bool:
    """Tells whether a plugin is named as a file, not as a module."""
    return plugin.endswith(".py") or os.sep in plugin


def load_plugins(plugins: Sequence[str]) -> list[str]:
    """Imports plugins, each once.

    Args:
        plugins: Names of modules, and paths of Python files.

    Returns:
        The modules that other processes of the run import first.

    Raises:
        ConfigError: One cannot be imported, or adds something that is not complete or whose name is taken.
    """
    if not plugins:
        return []
    for registry in (CRITERIA, FORMATS, JUDGES):
        len(registry)  # a name that is taken is to be the plugin's fault, so all others are there first
    for plugin in plugins:
        with plugin_errors(f"--plugin {plugin}"):
            _import_file(Path(plugin).resolve()) if is_file(plugin) else import_module(plugin)
    files = [str(Path(plugin).resolve()) for plugin in plugins if is_file(plugin)]
    if not files:
        return list(plugins)
    os.environ[FILES] = os.pathsep.join(files)
    return [f"{__package__}.worker_plugins", *(plugin for plugin in plugins if not is_file(plugin))]


def _import_file(path: Path) -> None:
    """Imports a file under a name by which pickled objects of its classes are found again."""
    name = _NAME + path.stem
    known = sys.modules.get(name)
    if known is not None:
        if known.__file__ != str(path):
            raise ImportError(f"another plugin file has the name {path.name}: {known.__file__}")
        return
    spec = spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ImportError("there is no such Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
