"""Groups of cases, and statements that an LLM judges over whole conversations."""

from pydantic import Field

from turnwise.schemas.ces.aggregates import AggregatedMetrics
from turnwise.schemas.proto.fields import Repeated, Text, Timestamp
from turnwise.schemas.proto.json import Message


class EvaluationDataset(Message):
    """A named group of cases."""

    name: Text = ""
    display_name: Text = ""
    evaluations: Repeated[Text] = Field(default_factory=list)
    create_time: Timestamp | None = None
    update_time: Timestamp | None = None
    etag: Text = ""
    created_by: Text = ""
    last_updated_by: Text = ""
    aggregated_metrics: AggregatedMetrics | None = None


class LlmCriteria(Message):
    """Prompt of the judge."""

    PROTO = "EvaluationExpectation.LlmCriteria"

    prompt: Text = ""


class EvaluationExpectation(Message):
    """A reusable statement that an LLM judges over a whole conversation."""

    ONEOFS = (("llm_criteria",),)

    llm_criteria: LlmCriteria | None = None
    name: Text = ""
    display_name: Text = ""
    tags: Repeated[Text] = Field(default_factory=list)
    create_time: Timestamp | None = None
    update_time: Timestamp | None = None
    etag: Text = ""
