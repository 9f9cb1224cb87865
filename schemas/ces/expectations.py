"""Expectations that evaluations name, and the requests about them."""

from typing import ClassVar

from pydantic import Field

from turnwise.schemas.proto.fields import FieldMask, Int32, Repeated, Text, Timestamp
from turnwise.schemas.proto.json import Message
from turnwise.schemas.values import no_items


class LlmCriteria(Message):
    """What a judge is asked."""

    PROTO = "EvaluationExpectation.LlmCriteria"
    REQUIRED = ("prompt",)

    prompt: Text = ""
    """The statement that the conversation must meet."""


class EvaluationExpectation(Message):
    """A statement that a judge holds against whole conversations."""

    ONEOFS = (("llm_criteria",),)
    REQUIRED = ("display_name",)
    IDENTIFIER = "name"
    OUTPUT_ONLY: ClassVar[frozenset[str]] = frozenset({"createTime", "etag", "updateTime"})

    llm_criteria: LlmCriteria | None = None
    """What the judge is asked."""
    name: Text = ""
    """projects/P/locations/L/apps/A/evaluationExpectations/E. It never changes."""
    display_name: Text = ""
    """Name for people, unique in the app."""
    tags: Repeated[Text] = Field(default_factory=no_items)
    """Labels."""
    create_time: Timestamp | None = None
    """When it was created."""
    update_time: Timestamp | None = None
    """When it was last changed."""
    etag: Text = ""
    """Version of the content. An update that sends an older one is refused."""


class CreateEvaluationExpectationRequest(Message):
    """Add an expectation to an app."""

    REQUIRED = ("parent", "evaluation_expectation")

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    evaluation_expectation_id: Text = ""
    """Last part of the name; absent: generated."""
    evaluation_expectation: EvaluationExpectation | None = None
    """The expectation."""


class GetEvaluationExpectationRequest(Message):
    """Read an expectation."""

    REQUIRED = ("name",)

    name: Text = ""
    """Name of the expectation."""


class ListEvaluationExpectationsRequest(Message):
    """List the expectations of an app."""

    REQUIRED = ("parent",)
    RANGES = (("page_size", 0, None),)

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    page_size: Int32 = 0
    """Most entries of a page."""
    page_token: Text = ""
    """nextPageToken of the page before."""
    filter: Text = ""
    """Condition, such as display_name:polite."""
    order_by: Text = ""
    """name (default), create_time or update_time; times from the newest on."""


class ListEvaluationExpectationsResponse(Message):
    """A page of expectations."""

    evaluation_expectations: Repeated[EvaluationExpectation] = Field(default_factory=no_items)
    """The expectations."""
    next_page_token: Text = ""
    """pageToken of the next page; absent: this is the last."""


class UpdateEvaluationExpectationRequest(Message):
    """Change an expectation."""

    REQUIRED = ("evaluation_expectation",)

    evaluation_expectation: EvaluationExpectation | None = None
    """The new values; its name says which expectation changes."""
    update_mask: FieldMask | None = None
    """Comma-separated paths of the fields to change; absent: all fields."""


class DeleteEvaluationExpectationRequest(Message):
    """Delete an expectation that no evaluation names."""

    REQUIRED = ("name",)

    name: Text = ""
    """Name of the expectation."""
    etag: Text = ""
    """The etag that it must have; absent: any."""
