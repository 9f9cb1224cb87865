"""Records the answers of google-adk's evaluators to random cases, for the tests.

Run by the Python of an environment that holds google-adk; it knows nothing of turnwise. No model is called:
judges answer by a script.
Usage: python -m benchmarks.adk_answers FILE.jsonl.gz
"""

import asyncio
import gzip
import inspect
import json
import logging
import sys
from collections.abc import AsyncGenerator, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric
from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai import types

from benchmarks.adk_cases import CaseMaker, JsonObject

SEED = 2_130
MEASURED_CASES, JUDGED_CASES, ODD_CASES = 240, 80, 240
FIGURES = ("tool_call_count_v1", "inference_call_count_v1", "token_usage_v1", "invocation_duration_v1")
RUBRICS = [
    {"rubric_id": f"r{number}", "rubric_content": {"text_property": f"It names gate {number}."}}
    for number in (1, 2)
]
_SCRIPT: list[str] = []


class ScriptedJudge(BaseLlm):
    """Returns the texts of the script, in order."""

    @classmethod
    def supported_models(cls) -> list[str]:
        """Returns its name."""
        return ["scripted"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yields the next text."""
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=_SCRIPT.pop(0))]))


def trajectory_settings() -> Iterator[JsonObject]:
    for match_type in ("EXACT", "IN_ORDER", "ANY_ORDER"):
        for ignore_args in (False, True):
            yield {"threshold": 0.6, "match_type": match_type, "ignore_args": ignore_args}


def answer(name: str, criterion: JsonObject | None, case: JsonObject) -> JsonObject:
    """Returns a metric's settings, its scores a turn and over all, and the status over all."""
    metric = EvalMetric(metric_name=name, criterion=BaseCriterion(**criterion) if criterion else None)
    evaluator = DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(metric)
    actual = [Invocation.model_validate(value) for value in case["actual"]]
    expected = [Invocation.model_validate(value) for value in case["expected"]]
    result = evaluator.evaluate_invocations(actual, expected)
    if inspect.isawaitable(result):
        result = asyncio.run(result)
    said: JsonObject = {
        "metric": name,
        "criterion": criterion,
        "turns": [turn.score for turn in result.per_invocation_results],
        "overall": result.overall_score,
        "status": result.overall_eval_status.name,
    }
    if name == "invocation_duration_v1":
        details = [turn.duration_details for turn in result.per_invocation_results]
        said["framework"] = [part.framework_seconds if part else None for part in details]
    return said


def measured_answers(case: JsonObject) -> list[JsonObject]:
    answers = [answer("tool_trajectory_avg_score", each, case) for each in trajectory_settings()]
    for is_honoured in (False, True):
        criterion = {"threshold": 0.5, "include_intermediate_responses_in_final": is_honoured}
        answers.append(answer("response_match_score", criterion, case))
    return answers + [answer(name, None, case) for name in FIGURES]


def judged_answers(case: JsonObject) -> list[JsonObject]:
    samples = case["samples"]
    options = {"judge_model": "scripted", "num_samples": samples, "parallelism_limit": 1}
    criterion = {"threshold": 0.5, "judge_model_options": options}
    _SCRIPT[:] = [_match_text(verdict) for turn in case["verdicts"] for verdict in turn]
    answers = [answer("final_response_match_v2", criterion, case)]
    for name in ("rubric_based_final_response_quality_v1", "rubric_based_tool_use_quality_v1"):
        _SCRIPT[:] = [_rubric_text(verdicts) for turn in case["rubrics"] for verdicts in turn]
        answers.append(answer(name, {**criterion, "rubrics": RUBRICS}, case))
    _SCRIPT[:] = [text for labels in case["labels"] for text in _hallucination_texts(labels)]
    answers.append(answer("hallucinations_v1", criterion, case))
    assert not _SCRIPT, "google-adk asked less often than expected"
    return answers


def _match_text(verdict: str | None) -> str:
    return json.dumps({"reasoning": "x", "is_the_agent_response_valid": verdict}) if verdict else "no idea"


def _rubric_text(verdicts: list[str]) -> str:
    blocks = (
        f"ID: {rubric['rubric_id']}\nProperty: {rubric['rubric_content']['text_property']}\n"
        f"Rationale: x\nVerdict: {verdict}\n"
        for rubric, verdict in zip(RUBRICS, verdicts, strict=True)
    )
    return "\n".join(blocks)


def _hallucination_texts(labels: list[str]) -> list[str]:
    fields = "rationale: x\nsupporting_excerpt: null\ncontradicting_excerpt: null"
    checked = "\n".join(f"sentence: s\nlabel: {label}\n{fields}" for label in labels)
    return ["".join("<sentence>s</sentence>" for _ in labels), checked]


def recorded() -> Iterator[Any]:
    """Yields every case with its answers."""
    maker = CaseMaker(SEED)
    for _ in range(MEASURED_CASES):
        case = maker.measured()
        yield {**case, "answers": measured_answers(case)}
    for _ in range(JUDGED_CASES):
        case = maker.judged()
        yield {**case, "answers": judged_answers(case)}
    maker = CaseMaker(SEED + 1)
    for _ in range(ODD_CASES):
        case = maker.odd()
        yield {**case, "is_odd": True, "answers": measured_answers(case)}


def main(path: str) -> None:
    logging.disable(logging.WARNING)
    LLMRegistry.register(ScriptedJudge)
    head = {"google_adk": version("google-adk"), "python": sys.version.split()[0], "seed": SEED}
    lines = [json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in (head, *recorded())]
    Path(path).write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
