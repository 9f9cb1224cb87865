"""Registries: the implementations of one kind, built in, of installed packages, and of `--plugin`."""

import importlib
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import Distribution, distributions
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import walk_packages
from threading import RLock
from traceback import walk_tb
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import did_you_mean, short_repr
from turnwise.schemas.score import RAISED

PLUGINS = "TURNWISE_PLUGINS"
"""The environment variable by which worker processes find the plugins of a run."""
REGISTRIES: "list[Registry[Any]]" = []
"""All registries of this process."""
_FEW = 12


class Named(Protocol):
    """What a registry holds."""

    @property
    def name(self) -> str:
        """The name that a config or an option gives."""


T = TypeVar("T", bound=Named)


class Registry(Mapping[str, T], Generic[T]):
    """Implementations by name.

    Modules of the built-in package and entry points of installed ones are imported at the first lookup.

    Args:
        kind: What an implementation is called in messages, such as `input format`.
        group: Entry point group in which installed packages name their implementations.
        package: The module, or the package whose modules hold the built-in implementations.
        fault: Returns what is wrong with an object that is to be added; None: nothing.
        is_left_out: Returns whether an object of a plugin is wrong if it is not added.

    Attributes:
        changes: Number of implementations that were added or replaced.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        package: str,
        fault: Callable[[object], str | None],
        is_left_out: Callable[[object], bool] = lambda item: False,
    ) -> None:
        self.kind, self.group, self._package, self._fault = kind, group, package, fault
        self._is_left_out = is_left_out
        self.changes = 0
        self._items: dict[str, T] = {}
        self._is_complete = self._is_loading = False
        self._lock = RLock()
        REGISTRIES.append(self)

    def add(self, item: T) -> T:
        """Adds an implementation and returns it; one that is there already is left as it is.

        Raises TypeError if it is none of this kind, is not complete, or its name is taken.
        """
        name = getattr(item, "name", "-")
        is_name = isinstance(name, str) and name.isprintable() and name.split() == [name]
        no_name = f"its name is {short_repr(name)}; a name is a text without spaces"
        fault = self._fault(item) if is_name else no_name
        if fault:
            raise TypeError(f"{_shown(item)} cannot be used as {self.kind}: {fault}")
        known = self._items.get(item.name, item)
        if known is not item:
            # A definition may be executed again: in a notebook, or in a module that is reloaded.
            again = {"__main__", *getattr(importlib, "_RELOADING", ())} & modules_of(item) & modules_of(known)
            if not again or getattr(item, "__qualname__", "") != getattr(known, "__qualname__", ""):
                raise TypeError(f"the name {item.name} is taken by another {self.kind}")
        self.changes += known is not item or item.name not in self._items
        self._items[item.name] = item
        return item

    def find(self, name: str, before: str = "", among: Iterable[str] | None = None) -> T:
        """Returns the implementation of a name, one of `among` (None: all); raises ConfigError.

        The message begins with `before`, and names all if there are few or none is similar, else the nearest.
        """
        known = sorted(self if among is None else among)
        if name in known:
            return self[name]
        everything = f" (there are: {', '.join(known)})"
        hint = everything if len(known) <= _FEW else did_you_mean(name, known) or everything
        raise ConfigError(f"{before}{name}: unknown {self.kind}{hint}")

    def __getitem__(self, name: str) -> T:
        return self.load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.load())

    def __len__(self) -> int:
        return len(self.load())

    def load(self) -> dict[str, T]:
        """Imports all modules and entry points, at the first lookup or now; raises ConfigError."""
        if not self._is_complete:
            with self._lock:
                if not (self._is_complete or self._is_loading):
                    self._load()
        return self._items

    def _load(self) -> None:
        self._is_loading = True
        try:
            with hook_errors(self._package, ()):
                package = import_module(self._package)
                for module in walk_packages(getattr(package, "__path__", ()), f"{self._package}."):
                    import_module(module.name)
            for distribution, installed in _distributions().items():
                for point in installed.entry_points.select(group=self.group):
                    with hook_errors(f"plugin {point.name} of {distribution}", (), [point.module]):
                        item = self.add(point.load())
                        if item.name != point.name:
                            raise TypeError(f"the {self.kind} that it names is called {item.name}")
            if os.environ.get(PLUGINS):
                with hook_errors(f"{PLUGINS} {os.environ[PLUGINS]}", ()):
                    import_plugins()
            self._is_complete = True
        finally:
            self._is_loading = False


def modules_of(item: object) -> set[str]:
    """Returns the modules of a class, or of the functions that an object holds."""
    parts = asdict(item).values() if isinstance(item, Struct) else [item]
    return {module for part in parts if isinstance(module := getattr(part, "__module__", None), str)}


def _shown(item: object) -> str:
    if isinstance(item, type):
        return f"{item.__module__}.{item.__qualname__}"
    name = getattr(item, "name", None)
    return short_repr(item) if name is None else f"{type(item).__name__} {short_repr(name)}"


@contextmanager
def hook_errors(
    hook: str,
    passing: tuple[type[BaseException], ...] = (ConfigError, OSError),
    modules: Collection[str] = (),
) -> Iterator[None]:
    """For errors of a plugin or its function, raises ConfigError or OSError that begins with its name.

    With `modules` it names the line of theirs, too.
    """
    try:
        yield
    except RAISED as error:
        if isinstance(error, passing):
            # A library's error becomes an OSError that begins likewise; our errors say what they are of.
            if isinstance(error, ConfigError) or type(error).__module__.startswith("turnwise."):
                raise
            raise OSError(f"{hook}: {error_text(error)}") from error
        raise ConfigError(f"{hook}: {error_text(error)}{raised_at(error, modules)}") from error


def raised_at(error: BaseException, modules: Collection[str]) -> str:
    """Returns ` (FILE:LINE)` of the last line in these modules, their packages or a plugin file; "": none."""
    packages, at = {name.partition(".")[0] for name in modules} - {"turnwise"}, ""
    for frame, line in walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__"))
        if name in modules or name.partition(".")[0] in packages or name.startswith(_PARENT):
            at = f" ({Path(frame.f_code.co_filename).name}:{line})"
    return at


def plugin_place(error: BaseException) -> str:
    """Returns ` (FILE:LINE)` of the last line of any plugin that an error went through, or ""."""
    return raised_at(error, {name for name in _modules() if not name.startswith("turnwise.")})


def _modules() -> set[str]:
    items = (item for registry in REGISTRIES for item in registry._items.values())
    return {name for item in items for name in modules_of(item)}


def error_text(error: BaseException) -> str:
    """Returns class and message of an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@cache
def _distributions() -> dict[str, Distribution]:
    """Returns the installed distributions that extend turnwise; of two of one name the first on the path."""
    # `importlib.metadata.entry_points` parses the files of all distributions: it takes three times as long.
    named = [item for item in distributions() if "[turnwise." in (item.read_text("entry_points.txt") or "")]
    return {item.metadata["Name"]: item for item in reversed(named)}


_PARENT = "turnwise.schemas.plugin_files"
_PLUGIN_FOLDERS: set[str] = set()


def is_file(plugin: str) -> bool:
    """Returns whether a plugin is named as a file, not as a module."""
    return plugin.endswith(".py") or os.sep in plugin


def load_plugins(plugins: Sequence[str]) -> None:
    """Imports plugins, each once, here and at the first lookup in processes that inherit the environment.

    They are modules, and paths of Python files. Raises ConfigError if one cannot be imported, or adds
    nothing, what is not complete or whose name is taken.
    """
    if not plugins:
        return
    for registry in REGISTRIES:
        registry.load()  # all other names are there first, so that one that is taken is the plugin's fault
    whole = [str(Path(plugin).resolve()) if is_file(plugin) else plugin for plugin in plugins]
    earlier = os.environ.get(PLUGINS, "").split(os.pathsep)
    for plugin, module in zip(plugins, whole, strict=True):
        before = sum(registry.changes for registry in REGISTRIES)
        with hook_errors(f"--plugin {plugin}", (), [module]):
            import_plugin(module)
        # What was imported before adds nothing now.
        home = f"{_PARENT}.{Path(plugin).stem}" if is_file(plugin) else module.partition(".")[0]
        is_known = module in earlier or any(f"{name}.".startswith(f"{home}.") for name in _modules())
        if not is_known and before == sum(registry.changes for registry in REGISTRIES):
            what = "it adds no criterion, format, sink or judge; name the module that does"
            raise ConfigError(f"--plugin {plugin}: {what}")
    os.environ[PLUGINS] = os.pathsep.join(whole)


def import_plugins() -> None:
    """Imports the plugins that the environment names; those that are there already stay."""
    for plugin in filter(None, os.environ.get(PLUGINS, "").split(os.pathsep)):
        import_plugin(plugin)


def import_plugin(plugin: str) -> None:
    """Imports a module, or a file under a name by which pickled objects of its classes are found again.

    A file can import the modules beside it; installed ones go before. Raises ImportError if there is no such
    file, or another plugin file has the same name, or another module beside it.
    """
    if not is_file(plugin):
        _check(import_module(plugin))
        return
    path = Path(plugin)
    folder, name = str(path.parent), f"{_PARENT}.{path.stem}"
    known = sys.modules.get(name)
    if known is not None:
        if known.__file__ != plugin:
            raise ImportError(f"another plugin file has the name {path.name}: {known.__file__}")
        return
    spec = spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ImportError("there is no such Python file")
    if folder not in sys.path:
        for beside in {file.stem for file in path.parent.iterdir()} & {*sys.modules}:
            file = str(getattr(sys.modules[beside], "__file__", ""))
            if os.path.dirname(file.removesuffix(f"{os.sep}__init__.py")) in _PLUGIN_FOLDERS:
                raise ImportError(f"{beside} lies beside another plugin file, too: {file}; rename one")
        sys.path.append(folder)
        _PLUGIN_FOLDERS.add(folder)
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        _check(module)
    except BaseException:
        del sys.modules[name]
        raise


def _check(module: ModuleType) -> None:
    """Raises TypeError if a module defines an implementation that is not added, and should be."""
    made = [item for item in vars(module).values() if getattr(item, "__module__", None) == module.__name__]
    for registry in REGISTRIES:
        lost = [item for item in filter(registry._is_left_out, made) if item not in registry._items.values()]
        if lost:
            raise TypeError(f"{_shown(lost[0])} cannot be used as {registry.kind}: it has no name of its own")
