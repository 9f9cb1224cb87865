"""Datasets of evaluations, and the requests about them."""

from typing import ClassVar

from pydantic import Field

from turnwise.schemas.ces.aggregates import AggregatedMetrics
from turnwise.schemas.proto.fields import FieldMask, Int32, Repeated, Text, Timestamp
from turnwise.schemas.proto.json import Message
from turnwise.schemas.values import no_items


class EvaluationDataset(Message):
    """A named group of evaluations."""

    REQUIRED = ("display_name",)
    IDENTIFIER = "name"
    OUTPUT_ONLY: ClassVar[frozenset[str]] = frozenset(
        {"aggregatedMetrics", "createTime", "createdBy", "etag", "lastUpdatedBy", "updateTime"}
    )

    name: Text = ""
    """projects/P/locations/L/apps/A/evaluationDatasets/D. It never changes."""
    display_name: Text = ""
    """Name for people, unique in the app."""
    evaluations: Repeated[Text] = Field(default_factory=no_items)
    """Names of the evaluations."""
    create_time: Timestamp | None = None
    """When it was created."""
    update_time: Timestamp | None = None
    """When it was last changed."""
    etag: Text = ""
    """Version of the content. An update that sends an older one is refused."""
    created_by: Text = ""
    """Who created it."""
    last_updated_by: Text = ""
    """Who last changed it."""
    aggregated_metrics: AggregatedMetrics | None = None
    """Averages and counts over the results of its evaluations."""


class CreateEvaluationDatasetRequest(Message):
    """Add a dataset to an app."""

    REQUIRED = ("parent", "evaluation_dataset")

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    evaluation_dataset_id: Text = ""
    """Last part of the name; absent: generated."""
    evaluation_dataset: EvaluationDataset | None = None
    """The dataset."""


class GetEvaluationDatasetRequest(Message):
    """Read a dataset."""

    REQUIRED = ("name",)

    name: Text = ""
    """Name of the dataset."""


class ListEvaluationDatasetsRequest(Message):
    """List the datasets of an app."""

    REQUIRED = ("parent",)
    RANGES = (("page_size", 0, None),)

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    page_size: Int32 = 0
    """Most entries of a page."""
    page_token: Text = ""
    """nextPageToken of the page before."""
    filter: Text = ""
    """Condition, such as display_name:refund."""
    order_by: Text = ""
    """name (default), create_time or update_time; times from the newest on."""


class ListEvaluationDatasetsResponse(Message):
    """A page of datasets."""

    evaluation_datasets: Repeated[EvaluationDataset] = Field(default_factory=no_items)
    """The datasets."""
    next_page_token: Text = ""
    """pageToken of the next page; absent: this is the last."""


class UpdateEvaluationDatasetRequest(Message):
    """Change a dataset."""

    REQUIRED = ("evaluation_dataset",)

    evaluation_dataset: EvaluationDataset | None = None
    """The new values; its name says which dataset changes."""
    update_mask: FieldMask | None = None
    """Comma-separated paths of the fields to change; absent: all fields."""


class DeleteEvaluationDatasetRequest(Message):
    """Delete a dataset; its evaluations stay."""

    REQUIRED = ("name",)

    name: Text = ""
    """Name of the dataset."""
    etag: Text = ""
    """The etag that it must have; absent: any."""
