"""The criteria, one family a module. Importing this package enters all of them in `CRITERIA`."""

import importlib
import pkgutil

from turnwise.transforms.criteria.base import CRITERIA, Criterion

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["CRITERIA", "Criterion"]
