"""Requests and responses of the methods that the store serves."""

from typing import ClassVar

from turnwise.schemas.ces.result import Evaluation, EvaluationResult
from turnwise.schemas.proto.message import Bool, FieldMask, Int32, Message, Repeated, Text, field


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
