"""Finds what a run lost before it could be scored, and the eval cases that lost records name."""

import re
from collections.abc import Iterable, Sequence

from turnwise.schemas.rows import FailureRow

_READING = ("read", "parse", "parse_case", "assemble", "match")
_CASE_NAME = re.compile(r'"eval_?[iI]d"\s*:\s*"([^"\\]+)"')


def lost_rows(failures: Iterable[FailureRow]) -> list[FailureRow]:
    """Returns the failures that a whole record, conversation or eval case was lost by."""
    return [row for row in failures if _is_lost(row)]


def lost_names(failures: Iterable[FailureRow]) -> set[str]:
    """Returns the eval cases that lost records name."""
    return {name for row in lost_rows(failures) for name in _named_case(row)}


def _is_lost(row: FailureRow) -> bool:
    return row["stage"] in _READING or (row["stage"] == "score" and row["criterion"] is None)


def _named_case(row: FailureRow) -> Sequence[str]:
    """Returns the one eval case that a lost record names, as far as it can be read; else nothing."""
    found = {str(name) for name in _CASE_NAME.findall(row["record"] or "")}
    return [*found] if len(found) == 1 else []
