"""The criteria, one family a module. All of them are in `CRITERIA`."""

from turnwise.transforms.criteria.base import CRITERIA, Criterion

__all__ = ["CRITERIA", "Criterion"]
