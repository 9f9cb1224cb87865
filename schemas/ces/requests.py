"""Requests and responses of the methods that the store serves."""

from pydantic import Field

from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.results import EvaluationResult
from turnwise.schemas.proto.fields import Bool, FieldMask, Int32, Repeated, Text
from turnwise.schemas.proto.json import Message


class UpdateEvaluationRequest(Message):
    """Change a case."""

    evaluation: Evaluation | None = None
    update_mask: FieldMask | None = None
    """Absent: all fields."""


class CreateEvaluationRequest(Message):
    """Add a case to an app."""

    parent: Text = ""
    evaluation_id: Text = ""
    """Last part of its name; absent: generated."""
    evaluation: Evaluation | None = None


class ListEvaluationsRequest(Message):
    """List the cases of an app."""

    parent: Text = ""
    page_size: Int32 = 0
    page_token: Text = ""
    filter: Text = ""
    """Superseded by the other two."""
    evaluation_filter: Text = ""
    evaluation_run_filter: Text = ""
    """On the runs of a case."""
    order_by: Text = ""
    """`name`, `create_time` or `update_time`, which is the default; times from the newest on."""
    last_ten_results: Bool = False


class ListEvaluationsResponse(Message):
    """A page of cases."""

    evaluations: Repeated[Evaluation] = Field(default_factory=list)
    next_page_token: Text = ""


class GetEvaluationRequest(Message):
    """Read a case."""

    name: Text = ""


class GetEvaluationResultRequest(Message):
    """Read a result."""

    name: Text = ""


class ListEvaluationResultsRequest(Message):
    """List the results of a case."""

    parent: Text = ""
    """A case, or `.../evaluations/-` for all."""
    page_size: Int32 = 0
    page_token: Text = ""
    filter: Text = ""
    order_by: Text = ""


class ListEvaluationResultsResponse(Message):
    """A page of results."""

    evaluation_results: Repeated[EvaluationResult] = Field(default_factory=list)
    next_page_token: Text = ""
