"""Requests and responses of the methods that the store serves, and the names of resources."""

import re
from hashlib import sha256
from typing import ClassVar

from turnwise.schemas.ces.result import Evaluation, EvaluationResult
from turnwise.schemas.proto.message import Bool, FieldMask, Int32, Message, Repeated, Text, field
from turnwise.schemas.proto.scalars import shown


class UpdateEvaluationRequest(Message):
    """Change a case."""

    REQUIRED = ("evaluation",)

    evaluation: Evaluation | None = field("The new values; its name says which evaluation changes.")
    update_mask: FieldMask | None = field(
        "Comma-separated paths of the fields to change; absent: all fields."
    )


class CreateEvaluationRequest(Message):
    """Add a case to an app."""

    REQUIRED = ("parent", "evaluation")

    parent: Text = field("The app: projects/P/locations/L/apps/A.")
    evaluation_id: Text = field("Last part of the name; absent: generated.")
    evaluation: Evaluation | None = field("The evaluation.")


class DeleteEvaluationRequest(Message):
    """Delete a case; its history stays."""

    REQUIRED = ("name",)

    name: Text = field("Name of the evaluation.")
    force: Bool = field(
        "Whether it is also removed from its datasets; otherwise one that is in a dataset is not deleted."
    )
    etag: Text = field("The etag that it must have; absent: any.")


class PageRequest(Message):
    """Base of requests for a page of what an app has."""

    REQUIRED: ClassVar[tuple[str, ...]] = ("parent",)
    RANGES = (("page_size", 0, None),)

    parent: Text = field("The app: projects/P/locations/L/apps/A.")
    page_size: Int32 = field("Most entries of a page.")
    page_token: Text = field("nextPageToken of the page before.")


class ListEvaluationsRequest(PageRequest):
    """List the cases of an app."""

    DEPRECATED = frozenset({"filter"})

    filter: Text = field("Older form of evaluationFilter.")
    evaluation_filter: Text = field("Condition on evaluations, such as tags:slow AND display_name:refund.")
    evaluation_run_filter: Text = field("Condition on the runs of their results, such as app_version = v8.")
    order_by: Text = field("name (default), create_time or update_time; times from the newest on.")
    last_ten_results: Bool = field("Whether the ten newest results are added.")


class ListEvaluationsResponse(Message):
    """A page of cases."""

    evaluations: Repeated[Evaluation] = field("The evaluations.")
    next_page_token: Text = field("pageToken of the next page; absent: this is the last.")


class GetEvaluationRequest(Message):
    """Read a case."""

    REQUIRED = ("name",)

    name: Text = field("Name of the evaluation.")


class GetEvaluationResultRequest(Message):
    """Read a result."""

    REQUIRED = ("name",)

    name: Text = field("Name of the result: projects/P/locations/L/apps/A/evaluations/E/results/R.")


class ListEvaluationResultsRequest(PageRequest):
    """List the results of a case."""

    parent: Text = field("The evaluation; .../evaluations/- stands for all of the app.")
    filter: Text = field("Condition, such as evaluation_status = FAIL AND app_version = v8.")
    order_by: Text = field("name (default), create_time or update_time; times from the newest on.")


class ListEvaluationResultsResponse(Message):
    """A page of results."""

    evaluation_results: Repeated[EvaluationResult] = field("The results.")
    next_page_token: Text = field("pageToken of the next page; absent: this is the last.")


class GetEvaluationRunRequest(Message):
    """Read a run."""

    REQUIRED = ("name",)

    name: Text = field("Name of the run.")


# Builds and checks resource names of apps, evaluations and results.

ANY = "-"
"""Wildcard for all evaluations in the parent of a list."""

_ID = r"[A-Za-z0-9][A-Za-z0-9._~-]{0,99}"
_PLACE = rf"projects/[A-Za-z0-9][A-Za-z0-9.:-]{{0,99}}/locations/{_ID}"
_APP = rf"{_PLACE}/apps/{_ID}"
_PATTERNS = {
    "app": re.compile(_APP),
    "evaluation": re.compile(rf"{_APP}/evaluations/{_ID}"),
    "result": re.compile(rf"{_APP}/evaluations/{_ID}/results/{_ID}"),
    "run": re.compile(rf"{_APP}/evaluationRuns/{_ID}"),
    "conversation": re.compile(rf"{_APP}/(?:evaluationRuns/{_ID}/)?conversations/{_ID}"),
    "parent of results": re.compile(rf"{_APP}/evaluations/(?:{_ID}|{ANY})"),
}
_FORMS = {
    "app": "projects/{project}/locations/{location}/apps/{app}",
    "evaluation": "projects/{project}/locations/{location}/apps/{app}/evaluations/{evaluation}",
    "result": "projects/{project}/locations/{location}/apps/{app}/evaluations/{evaluation}/results/{result}",
    "run": "projects/{project}/locations/{location}/apps/{app}/evaluationRuns/{run}",
    "conversation": "projects/{project}/locations/{location}/apps/{app}/conversations/{conversation}",
    "parent of results": "projects/{project}/locations/{location}/apps/{app}/evaluations/{evaluation or -}",
}
_WHOLE_ID = re.compile(_ID)
_IN_APP = re.compile(rf"{_APP}/.")


def is_name(kind: str, name: str) -> bool:
    """Returns whether a text is the full name of a kind: `app`, `run`, `evaluation`, `result` ..."""
    return _PATTERNS[kind].fullmatch(name) is not None


def checked_name(kind: str, name: str) -> str:
    """Returns a valid name.

    Raises:
        ValueError: The name is invalid; one line with the expected form.
    """
    if not name:
        raise ValueError(f"is missing; its form is {_FORMS[kind]}")
    if not is_name(kind, name):
        raise ValueError(f"{shown(name)} is not of the form {_FORMS[kind]}")
    return name


def is_id(text: str) -> bool:
    """Returns whether a text is a valid last part of a name."""
    return _WHOLE_ID.fullmatch(text) is not None


def id_of(text: str) -> str:
    """Returns a valid last part of a name: the text, or a digest of it if it is invalid."""
    return text if is_id(text) else f"x-{sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"


def evaluation_id(eval_id: str, eval_set_id: str | None) -> str:
    """Returns the id of a case's evaluation: `{eval_set_id}~{eval_id}`, or `eval_id` without a set."""
    return f"{eval_set_id}~{eval_id}" if eval_set_id else eval_id


def app_of(name: str) -> str:
    """Returns the app of a full name."""
    return "/".join(name.split("/", 6)[:6])


def app_in(*names: str | None) -> str | None:
    """Returns the app of the first name that has one; None: none has."""
    return next((app_of(name) for name in names if name and _IN_APP.match(name)), None)


def version_id(app_version: str) -> str:
    """Returns the last part of an app version's name; "" is the draft."""
    return app_version.rsplit("/", 1)[-1]


def parent_of(name: str) -> str:
    """Returns the parent of a full name."""
    return name.rsplit("/", 2)[0]
