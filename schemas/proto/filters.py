"""Parses filter expressions of list requests, as in https://google.aip.dev/160.

    evaluation_status = FAIL AND (app_version = v8 OR create_time > "2026-11-01T00:00:00Z") AND NOT tags:slow

OR binds tighter than AND. Two terms without an operator are joined by AND.
"""

import re
from typing import Literal, TypeAlias, cast

from msgspec import Struct

from turnwise.schemas.proto.scalars import shown

Operator = Literal["=", "!=", "<", "<=", ">", ">=", ":"]

_LONGEST = 4_000
_DEEPEST = 20
_TOKEN = re.compile(
    r"""\s*(?: (?P<op>!=|<=|>=|[=<>:]) | (?P<paren>[()]) | (?P<minus>-(?=[\w(]))
    | "(?P<double>(?:[^"\\]|\\.)*)" | '(?P<single>(?:[^'\\]|\\.)*)' | (?P<word>[^\s()<>=!:"',]+) )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class FilterError(ValueError):
    """A filter is invalid; one line."""


class FieldComparison(Struct, frozen=True):
    """A comparison of a field with a value."""

    field: str
    operator: Operator
    value: str


class Junction(Struct, frozen=True):
    """A conjunction or disjunction of conditions."""

    kind: Literal["AND", "OR"]
    parts: tuple["Condition", ...]


class Negation(Struct, frozen=True):
    """A negated condition."""

    part: "Condition"


Condition: TypeAlias = FieldComparison | Junction | Negation


def parse_filter(text: str) -> Condition | None:
    """Parses a filter; None: it is empty.

    Raises:
        FilterError: It is invalid, longer than 4,000 characters or nested deeper than 20 levels.
    """
    if len(text) > _LONGEST:
        raise FilterError(f"longer than {_LONGEST} characters")
    parser = _FilterParser(_tokens(text))
    return parser.whole() if parser.tokens else None


_Token: TypeAlias = tuple[str, str]


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    rest = text.rstrip()
    place = 0
    while place < len(rest):
        match = _TOKEN.match(rest, place)
        if match is None:
            raise FilterError(f"{shown(rest[place : place + 20])} at character {place + 1} is not understood")
        kind, value = next((name, found) for name, found in match.groupdict().items() if found is not None)
        if kind in ("double", "single"):
            kind, value = "string", _ESCAPE.sub(r"\1", value)
        tokens.append((kind, value))
        place = match.end()
    return tokens


class _FilterParser:
    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self._place = 0

    def whole(self) -> Condition:
        condition = self._all(0)
        if self._place < len(self.tokens):
            raise FilterError(f"{shown(self._peek()[1])} is not expected")
        return condition

    def _peek(self) -> _Token:
        return self.tokens[self._place] if self._place < len(self.tokens) else ("end", "the end")

    def _take(self) -> _Token:
        token = self._peek()
        self._place += 1
        return token

    def _takes(self, *token: str) -> bool:
        is_next = self._peek() == token
        self._place += is_next
        return is_next

    def _all(self, depth: int) -> Condition:
        if depth > _DEEPEST:
            raise FilterError(f"it nests deeper than {_DEEPEST}")
        parts = [self._any(depth)]
        while self._takes("word", "AND") or self._peek() not in (("end", "the end"), ("paren", ")")):
            parts.append(self._any(depth))
        return parts[0] if len(parts) == 1 else Junction("AND", tuple(parts))

    def _any(self, depth: int) -> Condition:
        parts = [self._term(depth)]
        while self._takes("word", "OR"):
            parts.append(self._term(depth))
        return parts[0] if len(parts) == 1 else Junction("OR", tuple(parts))

    def _term(self, depth: int) -> Condition:
        if self._takes("word", "NOT") or self._takes("minus", "-"):
            return Negation(self._term_after_not(depth))
        return self._term_after_not(depth)

    def _term_after_not(self, depth: int) -> Condition:
        if not self._takes("paren", "("):
            return self._comparison()
        inner = self._all(depth + 1)
        if not self._takes("paren", ")"):
            raise FilterError("a closing parenthesis is missing")
        return inner

    def _comparison(self) -> FieldComparison:
        kind, field = self._take()
        if kind != "word":
            raise FilterError(f"{shown(field)} stands where a field is expected")
        kind, operator = self._take()
        if kind != "op":
            raise FilterError(f"{shown(field)} is compared with nothing (field = value)")
        kind, value = self._take()
        if kind not in ("word", "string"):
            raise FilterError(f"{shown(field)} {operator}: no value follows (quote it)")
        return FieldComparison(field, cast(Operator, operator), value)
