"""google.rpc.Status, and the messages it commonly carries."""

from pydantic import Field

from turnwise.schemas.proto.any import AnyMessage
from turnwise.schemas.proto.fields import Duration, Int32, Int64, Map, Repeated, Text
from turnwise.schemas.proto.message import Message
from turnwise.schemas.values import no_items


class RpcMessage(Message):
    """Base of the messages of google.rpc."""

    PACKAGE = "google.rpc"


class ErrorInfo(RpcMessage):
    """Cause of an error, for programs."""

    reason: Text = ""
    domain: Text = ""
    metadata: Map[Text] = Field(default_factory=dict)


class RetryInfo(RpcMessage):
    """When to try again."""

    retry_delay: Duration | None = None


class DebugInfo(RpcMessage):
    """Where it went wrong."""

    stack_entries: Repeated[Text] = Field(default_factory=no_items)
    detail: Text = ""


class QuotaViolation(RpcMessage):
    """One exceeded quota."""

    PROTO = "QuotaFailure.Violation"

    subject: Text = ""
    description: Text = ""
    api_service: Text = ""
    quota_metric: Text = ""
    quota_id: Text = ""
    quota_dimensions: Map[Text] = Field(default_factory=dict)
    quota_value: Int64 = 0
    future_quota_value: Int64 | None = None


class QuotaFailure(RpcMessage):
    """Quotas that were exceeded."""

    violations: Repeated[QuotaViolation] = Field(default_factory=no_items)


class PreconditionViolation(RpcMessage):
    """One unmet precondition."""

    PROTO = "PreconditionFailure.Violation"

    type: Text = ""
    subject: Text = ""
    description: Text = ""


class PreconditionFailure(RpcMessage):
    """Preconditions that were not met."""

    violations: Repeated[PreconditionViolation] = Field(default_factory=no_items)


class LocalizedMessage(RpcMessage):
    """A text for people."""

    locale: Text = ""
    message: Text = ""


class FieldViolation(RpcMessage):
    """One wrong field."""

    PROTO = "BadRequest.FieldViolation"

    field: Text = ""
    description: Text = ""
    reason: Text = ""
    localized_message: LocalizedMessage | None = None


class BadRequest(RpcMessage):
    """Fields of a request that were wrong."""

    field_violations: Repeated[FieldViolation] = Field(default_factory=no_items)


class RequestInfo(RpcMessage):
    """The request that failed."""

    request_id: Text = ""
    serving_data: Text = ""


class ResourceInfo(RpcMessage):
    """The resource it was about."""

    resource_type: Text = ""
    resource_name: Text = ""
    owner: Text = ""
    description: Text = ""


class HelpLink(RpcMessage):
    """One link."""

    PROTO = "Help.Link"

    description: Text = ""
    url: Text = ""


class Help(RpcMessage):
    """Links to help."""

    links: Repeated[HelpLink] = Field(default_factory=no_items)


class Status(RpcMessage):
    """An error of an API."""

    code: Int32 = 0
    """Code of google.rpc.Code."""
    message: Text = ""
    """Message for developers."""
    details: Repeated[AnyMessage] = Field(default_factory=no_items)
    """Further details."""
