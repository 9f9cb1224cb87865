"""The methods that begin long-running operations, and how an operation is told."""

from typing import NamedTuple

from turnwise.pipeline.service.errors import RPC_CODES
from turnwise.pipeline.store.operations import CANCELLED, StoredOperation
from turnwise.schemas.ces import operations
from turnwise.schemas.proto.json import Message
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.schemas.values import JsonObject

_TYPES = "type.googleapis.com/"
_CES = "google.cloud.ces.v1beta."


class OperationKind(NamedTuple):
    """A method that begins operations.

    Attributes:
        method: Its name.
        response: Full name of the message that it answers with.
        metadata: Message about how it stands.
    """

    method: str
    response: str
    metadata: type[Message]


RUN = OperationKind(
    "RunEvaluation", f"{_CES}RunEvaluationResponse", operations.RunEvaluationOperationMetadata
)
IMPORT = OperationKind(
    "ImportEvaluations", f"{_CES}ImportEvaluationsResponse", operations.ImportEvaluationsOperationMetadata
)
EXPORT = OperationKind("ExportEvaluations", f"{_CES}ExportEvaluationsResponse", operations.OperationMetadata)
EXPORT_RESULTS = OperationKind(
    "ExportEvaluationResults",
    f"{_CES}ExportEvaluationResultsResponse",
    operations.ExportEvaluationResultsOperationMetadata,
)
EXPORT_RUNS = OperationKind(
    "ExportEvaluationRuns",
    f"{_CES}ExportEvaluationRunsResponse",
    operations.ExportEvaluationRunsOperationMetadata,
)
GENERATE = OperationKind(
    "GenerateEvaluation", f"{_CES}Evaluation", operations.GenerateEvaluationOperationMetadata
)
DELETE_RUN = OperationKind(
    "DeleteEvaluationRun", "google.protobuf.Empty", operations.DeleteEvaluationRunOperationMetadata
)
_KINDS = {
    kind.method: kind for kind in (RUN, IMPORT, EXPORT, EXPORT_RESULTS, EXPORT_RUNS, GENERATE, DELETE_RUN)
}


def operation_value(stored: StoredOperation) -> JsonObject:
    """Returns a google.longrunning.Operation in proto3 JSON."""
    kind = _KINDS[stored.method]
    value: JsonObject = {"name": stored.name, "metadata": _metadata(stored, kind.metadata)}
    if stored.end_nanos is None:
        return value
    if stored.error_status is not None:
        error = {"code": RPC_CODES[stored.error_status], "message": stored.error}
        return {**value, "done": True, "error": error}
    return {**value, "done": True, "response": {"@type": _TYPES + kind.response, **(stored.response or {})}}


def _metadata(stored: StoredOperation, message: type[Message]) -> JsonObject:
    asked = stored.cancel_nanos is not None
    known = {
        "create_time": nanos_timestamp(stored.create_nanos),
        "end_time": None if stored.end_nanos is None else nanos_timestamp(stored.end_nanos),
        "status_message": _status(stored),
        "requested_cancellation": asked,
        "cancel_requested": asked,
        "verb": "run",
        "evaluation_run": stored.run or "",
        **stored.metadata,
    }
    own = {name: known[name] for name in message.model_fields if name in known}
    return {"@type": f"{_TYPES}{_CES}{message.PROTO}", **message.from_value(own).to_value()}


def _status(stored: StoredOperation) -> str:
    if stored.end_nanos is None:
        return "waits" if stored.begin_nanos is None else "runs"
    if stored.error_status is None:
        return "done"
    return "cancelled" if stored.error_status == CANCELLED else "failed"
