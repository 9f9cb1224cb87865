"""The criteria, one family a module. Importing this package enters all of them in `CRITERIA`."""

import importlib
import pkgutil

from turnwise.transforms.criteria.base import CRITERIA, Criterion

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)

__all__ = ["CRITERIA", "Criterion"]
