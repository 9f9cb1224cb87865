"""The methods that run, import, export and generate evaluations."""

from turnwise.pipeline.service.rescoring.run import run_evaluation
from turnwise.pipeline.service.rest.method import RestMethod, in_app
from turnwise.pipeline.service.transfer.exporting import (
    export_evaluation_results,
    export_evaluation_runs,
    export_evaluations,
)
from turnwise.pipeline.service.transfer.generating import generate_evaluation
from turnwise.pipeline.service.transfer.importing import import_evaluations
from turnwise.schemas.ces.operations import Operation
from turnwise.schemas.ces.run_requests import GenerateEvaluationRequest, RunEvaluationRequest
from turnwise.schemas.ces.transfers import (
    ExportEvaluationResultsRequest,
    ExportEvaluationRunsRequest,
    ExportEvaluationsRequest,
    ImportEvaluationsRequest,
)

_APP = in_app("parent")

METHODS = (
    RestMethod(
        "run_evaluation",
        "POST",
        f"{in_app('app')}:runEvaluation",
        RunEvaluationRequest,
        Operation,
        run_evaluation,
        body="*",
    ),
    RestMethod(
        "import_evaluations",
        "POST",
        f"{_APP}:importEvaluations",
        ImportEvaluationsRequest,
        Operation,
        import_evaluations,
        body="*",
    ),
    RestMethod(
        "export_evaluations",
        "POST",
        f"{_APP}/evaluations:export",
        ExportEvaluationsRequest,
        Operation,
        export_evaluations,
        body="*",
    ),
    RestMethod(
        "export_evaluation_results",
        "POST",
        f"{in_app('parent', 'evaluations/*')}/results:export",
        ExportEvaluationResultsRequest,
        Operation,
        export_evaluation_results,
        body="*",
    ),
    RestMethod(
        "export_evaluation_runs",
        "POST",
        f"{_APP}/evaluationRuns:export",
        ExportEvaluationRunsRequest,
        Operation,
        export_evaluation_runs,
        body="*",
    ),
    RestMethod(
        "generate_evaluation",
        "POST",
        f"{in_app('conversation', 'conversations/*')}:generateEvaluation",
        GenerateEvaluationRequest,
        Operation,
        generate_evaluation,
        body="*",
    ),
)
