"""Replies and errors of BigQuery's REST API."""

from typing import Any, NamedTuple


class Reply(NamedTuple):
    """A reply in JSON."""

    status: int
    body: dict[str, Any]


class Trouble(Exception):
    """An error of the API."""

    def __init__(self, status, reason, message):
        super().__init__(message)
        errors = [{"reason": reason, "message": message, "domain": "global"}]
        self.reply = Reply(status, {"error": {"code": status, "message": message, "errors": errors}})


def not_found(kind, name):
    """Returns the error of something that is not there."""
    return Trouble(404, "notFound", f"Not found: {kind} {name}")


class Rule(NamedTuple):
    """What is answered to some requests: `METHOD /path?query` holds `request`.

    Attributes:
        request: Regular expression.
        trouble: The answer; None: the work is done, but its answer is 503.
        times: How often.
    """

    request: str
    trouble: Trouble | None
    times: int


class Answer(NamedTuple):
    """The result of a query.

    Attributes:
        sql: Regular expression of its text.
        schema: The columns.
        rows: Values as the API writes them, one list a row.
        kind: Type of the statement.
        error: Message with which the job fails; "": it does not.
    """

    sql: str
    schema: list[dict[str, Any]]
    rows: list[list[Any]]
    kind: str = "SELECT"
    error: str = ""
