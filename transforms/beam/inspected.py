"""A DoFn of which Beam remembers the arguments of its methods."""

from collections.abc import Callable, Set
from functools import cache, partial
from types import FunctionType
from typing import Any

import apache_beam as beam
from apache_beam.transforms.core import get_function_args_defaults

_HOOK = "_inspect_"
_Arguments = tuple[list[str], list[Any]]


class InspectedDoFn(beam.DoFn):
    """A DoFn whose methods are inspected once in a process.

    Beam inspects all methods that `dir` names about eight times for every step, and again in bundles, to find
    state and timers. It asks `_inspect_NAME` for the arguments of the method NAME where there is such an
    attribute.
    """

    def __dir__(self) -> Set[str]:
        """Returns the names that are not those of `beam.DoFn`: its methods have neither state nor timers."""
        own = (each for each in type(self).__mro__ if not issubclass(beam.DoFn, each))
        return {*vars(self), *(name for each in own for name in vars(each))}

    def __getattr__(self, name: str) -> Callable[[], _Arguments]:
        """Returns the inspection of a method; called for what is no attribute of the object."""
        if not name.startswith(_HOOK):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        method = getattr(self, name.removeprefix(_HOOK))
        return partial(_copied_arguments, method.__func__)


def _copied_arguments(function: FunctionType) -> _Arguments:
    names, defaults = _arguments(function)
    return names[1:], defaults[:]


@cache
def _arguments(function: FunctionType) -> _Arguments:
    """Returns the names of the arguments of a function, and the default values."""
    return get_function_args_defaults(function)
