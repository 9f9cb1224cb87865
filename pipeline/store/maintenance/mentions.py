"""Finds ids in the texts of a store."""

import json
import re
from collections.abc import Collection
from typing import Protocol

from sqlalchemy import Column, ColumnElement, false, or_, true

_MOST_FORMS = 200
_WORD = re.compile(r"[\w-]+")
_PIECE = re.compile(r"[^\s\"'`,;()<>\[\]{}\\]+")


class Finder(Protocol):
    """Finds ids in texts."""

    def may_be_in(self, column: "Column[str]") -> ColumnElement[bool]:
        """Returns the condition that a text may mention one."""

    def are_in(self, text: str | None) -> bool:
        """Returns whether a text mentions one."""


class Mentions:
    """Some ids, in the spellings that they have in JSON, and in JSON that JSON quotes."""

    def __init__(self, ids: Collection[str]) -> None:
        self._forms = sorted({form for name in ids if name for form in _forms(name)})
        # An id is no part of a longer word: u-1 is not in u-12.
        words = "|".join(map(re.escape, sorted(self._forms, key=len, reverse=True)))
        self._pattern = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])")

    def may_be_in(self, column: "Column[str]") -> ColumnElement[bool]:
        """Returns the condition that a text may mention one; with many ids, any text may."""
        if len(self._forms) > _MOST_FORMS:  # SQLite limits the depth of an expression
            return true()
        return or_(false(), *(column.contains(form, autoescape=True) for form in self._forms))

    def are_in(self, text: str | None) -> bool:
        """Returns whether a text mentions one."""
        return bool(text and self._forms and self._pattern.search(text))


def words_of(text: str) -> set[str]:
    """Returns what may be an id in a text: its words, and its pieces without spaces, quotes and commas."""
    return set(_WORD.findall(text)) | set(_PIECE.findall(text))


def _forms(name: str) -> set[str]:
    once = {name, *(json.dumps(name, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True))}
    return once | {json.dumps(form, ensure_ascii=False)[1:-1] for form in once}
