"""Checks a request to run evaluations: what recordings cannot answer is refused."""

from typing import Any

from turnwise.pipeline.service.errors import field_errors, invalid
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.run_requests import (
    EvaluationRunCachingMode,
    EvaluationRunCachingSettings,
    RunEvaluationRequest,
)
from turnwise.schemas.ces.run_settings import EvaluationChannel, EvaluationConfig, EvaluationToolCallBehaviour

_RECORDED = "recorded conversations are scored again, no agent is run"


def _differs(value: Any, *allowed: int) -> bool:
    return int(value) not in (0, *allowed)


def _asked(request: RunEvaluationRequest) -> dict[str, bool]:
    """Returns fields of a request -> whether they ask for what recordings cannot answer."""
    config = request.config or EvaluationConfig()
    caching = (request.evaluation_run_caching_settings or EvaluationRunCachingSettings()).run_caching_mode
    return {
        "runCount": request.run_count not in (None, 1),
        "personaRunConfigs": bool(request.persona_run_configs),
        "optimizationConfig": request.optimization_config is not None,
        "scheduledEvaluationRun": bool(request.scheduled_evaluation_run),
        "goldenRunMethod": _differs(request.golden_run_method),
        "generateLatencyReport": request.generate_latency_report,
        "evaluationRunCachingSettings": _differs(caching, EvaluationRunCachingMode.FORCE_RUN),
        "config.inputAudioConfig": config.input_audio_config is not None,
        "config.outputAudioConfig": config.output_audio_config is not None,
        "config.evaluationChannel": _differs(config.evaluation_channel, EvaluationChannel.TEXT),
        "config.toolCallBehaviour": _differs(config.tool_call_behaviour, EvaluationToolCallBehaviour.REAL),
    }


def check_run(request: RunEvaluationRequest) -> None:
    """Raises ServiceError if a request is invalid, or asks for what recordings cannot answer."""
    with field_errors("app"):
        app = checked_name("app", request.app)
    for field, is_asked in _asked(request).items():
        if is_asked:
            raise invalid(field, f"is not supported: {_RECORDED}")
    if bool(request.evaluations) == bool(request.evaluation_dataset):
        raise invalid("evaluations", "either they or evaluationDataset is required")
    for name in request.evaluations:
        with field_errors("evaluations"):
            checked_name("evaluation", name)
        if not name.startswith(f"{app}/"):
            raise invalid("evaluations", f"{name} is not in {app}")
    if len(set(request.evaluations)) != len(request.evaluations):
        raise invalid("evaluations", "holds a name twice")
    if dataset := request.evaluation_dataset:
        with field_errors("evaluationDataset"):
            checked_name("dataset", dataset)
        if not dataset.startswith(f"{app}/"):
            raise invalid("evaluationDataset", f"{dataset} is not in {app}")
    version = request.app_version
    if "/" in version and not version.startswith(f"{app}/versions/"):
        raise invalid("appVersion", f"is no version of {app}")
