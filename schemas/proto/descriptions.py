"""Reads the descriptions of fields: the docstrings below them in the classes of messages."""

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise

from turnwise.schemas.proto.message import Message


def field_description(message: type[Message], field: str) -> str:
    """Returns the description of a field.

    Raises:
        LookupError: The field has none.
    """
    for kind in message.__mro__:
        text = _descriptions(kind.__module__).get((kind.__name__, field))
        if text:
            return text
    raise LookupError(f"{message.__name__}.{field} has no docstring")


@cache
def _descriptions(module: str) -> dict[tuple[str, str], str]:
    """Returns the docstrings of a module's fields by class and field."""
    if not module.startswith("turnwise."):
        return {}
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {
        (kind.name, field.target.id): " ".join(text.value.value.split())
        for kind in tree.body
        if isinstance(kind, ast.ClassDef)
        for field, text in pairwise(kind.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        if isinstance(text.value.value, str)
    }
