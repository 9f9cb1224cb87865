"""Tells JSON that a limit on the length of attributes cut off from a text that merely begins like JSON."""

import ast
import re

from pydantic_core import from_json

CUT = "JSON that is cut off"
"""Type of a part of a message that is cut off."""
_STRUCTURED = re.compile(r"""\s*[\[{][\s\[{]*["']""")
_MARKS = re.compile(r"\s*(\.{3}|…)\s*([\[(<].{0,40}[\])>])?\s*\Z")
_OPEN = ("was never closed", "unterminated")
_LONGEST_LITERAL = 100_000


def is_cut(text: str) -> bool:
    """Returns whether a text is a list or an object, in JSON or as Python writes it, that is not closed."""
    if not _STRUCTURED.match(text[:80]):
        return False
    text = _MARKS.sub("", text)
    try:
        from_json(text)
    except ValueError as error:
        return str(error).startswith("EOF") or _is_open_literal(text.strip())
    return False


def _is_open_literal(text: str) -> bool:
    if len(text) > _LONGEST_LITERAL or "'" not in text[:80]:
        return False
    try:
        ast.parse(text, mode="eval")
    except SyntaxError as error:
        return any(word in error.msg for word in _OPEN)
    except (ValueError, MemoryError, RecursionError):
        return False
    return False
