"""Long-running operations, to the real client of the API."""

import io
import zipfile
from typing import Any

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import ces_v1beta
from google.longrunning import operations_pb2

APP = "projects/acme-cx/locations/us/apps/travel-desk"
TABLE = b"display_name,turn_index,action_type,text_content\nCase,1,INPUT_TEXT,hi\n,1,EXPECTATION_TEXT,hello\n"


@pytest.fixture(scope="module")
def client(server: Any) -> Any:
    """The real client, without credentials, at the server."""
    return ces_v1beta.EvaluationServiceClient(
        transport="rest", credentials=AnonymousCredentials(), client_options={"api_endpoint": server.url}
    )


def test_the_futures_of_the_client_end_with_the_responses(client: Any) -> None:
    request = ces_v1beta.ImportEvaluationsRequest(parent=APP, csv_content=TABLE)
    future = client.import_evaluations(request=request)
    (made,) = future.result(timeout=60).evaluations
    assert made.display_name == "Case" and future.metadata.status_message == "done"
    assert client.get_evaluation(name=made.name).golden == made.golden
    again = client.import_evaluations(request=request).result(timeout=60)
    assert again.import_failure_count == 1 and "exists already" in again.error_messages[0]
    export = ces_v1beta.ExportEvaluationsRequest(parent=APP, names=[made.name], include_evaluations=True)
    content = client.export_evaluations(request=export).result(timeout=60).evaluations_content
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        (name,) = file.namelist()
        exported = ces_v1beta.Evaluation.from_json(file.read(name))
    assert exported.golden == made.golden
    with pytest.raises(exceptions.BadRequest, match="no run of the store scored"):
        run = ces_v1beta.RunEvaluationRequest(app=APP, evaluations=[made.name])
        client.run_evaluation(request=run)
    with pytest.raises(exceptions.NotFound):
        client.generate_evaluation(conversation=f"{APP}/conversations/none").result(timeout=60)
    with pytest.raises(exceptions.NotFound):
        names = [f"{APP}/evaluationRuns/none"]
        request = ces_v1beta.ExportEvaluationRunsRequest(parent=APP, names=names)
        client.export_evaluation_runs(request=request).result(timeout=60)


def test_the_client_lists_reads_cancels_and_deletes_operations(client: Any) -> None:
    future = client.import_evaluations(
        request=ces_v1beta.ImportEvaluationsRequest(parent=APP, csv_content=b"wrong")
    )
    with pytest.raises(exceptions.InvalidArgument, match="the first columns must be"):
        future.result(timeout=60)
    name = future.operation.name
    listed = client.list_operations(
        request=operations_pb2.ListOperationsRequest(name=APP.partition("/apps/")[0], filter="done=true")
    )
    assert name in [one.name for one in listed.operations]
    got = client.get_operation(request=operations_pb2.GetOperationRequest(name=name))
    assert got.done and got.error.code == 3
    client.cancel_operation(request=operations_pb2.CancelOperationRequest(name=name))
    client.delete_operation(request=operations_pb2.DeleteOperationRequest(name=name))
    with pytest.raises(exceptions.NotFound):
        client.get_operation(request=operations_pb2.GetOperationRequest(name=name))
