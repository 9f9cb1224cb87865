"""`--plugin`: modules and files that add to the registries, in this process and in those that it starts."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from turnwise.schemas.registry import PLUGINS, REGISTRIES, plugin_errors

_PARENT = "turnwise.schemas.extension.plugin_files"


def is_file(plugin: str) -> bool:
    """Returns whether a plugin is named as a file, not as a module."""
    return plugin.endswith(".py") or os.sep in plugin


def load_plugins(plugins: Sequence[str]) -> None:
    """Imports plugins, each once, here and at the first lookup in processes that inherit the environment.

    Args:
        plugins: Names of modules, and paths of Python files.

    Raises:
        ConfigError: One cannot be imported, or adds something that is not complete or whose name is taken.
    """
    if not plugins:
        return
    for registry in REGISTRIES:
        len(registry)  # all other names are there first, so that one that is taken is the plugin's fault
    whole = [str(Path(plugin).resolve()) if is_file(plugin) else plugin for plugin in plugins]
    for plugin, place in zip(plugins, whole, strict=True):
        with plugin_errors(f"--plugin {plugin}"):
            import_plugin(place)
    os.environ[PLUGINS] = os.pathsep.join(whole)


def import_plugin(place: str) -> None:
    """Imports a module, or a file under a name by which pickled objects of its classes are found again.

    Args:
        place: Name of a module, or the absolute path of a file.

    Raises:
        ImportError: There is no such file, or another plugin file has the same name.
    """
    if not is_file(place):
        _check(import_module(place))
        return
    path = Path(place)
    name = f"{_PARENT}.{path.stem}"
    known = sys.modules.get(name)
    if known is not None:
        if known.__file__ != place:
            raise ImportError(f"another plugin file has the name {path.name}: {known.__file__}")
        return
    spec = spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ImportError("there is no such Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        _check(module)
    except BaseException:
        del sys.modules[name]
        raise


def _check(module: ModuleType) -> None:
    for registry in REGISTRIES:
        registry.check_module(module)
