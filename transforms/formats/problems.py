"""What was wrong with a record, in one line."""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ValidationError


def problem(error: ValidationError) -> str:
    """Returns the first problem as `path: what is wrong`, and how many more there are."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    path = ".".join(str(step) for step in problems[0]["loc"])
    said = problems[0]["msg"].removeprefix("Value error, ")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{path}: {said}{more}" if path else said + more


@contextmanager
def one_line_problems(what: str) -> Iterator[None]:
    """Raises ValueError with one line, that opens with `what`, in place of pydantic's report."""
    try:
        yield
    except ValidationError as error:
        raise ValueError(f"{what}: {problem(error)}") from None
