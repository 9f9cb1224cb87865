"""Judges the benchmark's cases with google-adk; writes seconds and scores as JSON.

Run by the Python of an environment that holds google-adk; it knows nothing of turnwise.
Usage: python -m benchmarks.judge_peer CASES REPORT
"""

import asyncio
import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

from google.adk.evaluation.base_eval_service import EvaluateConfig, EvaluateRequest, InferenceResult
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric
from google.adk.evaluation.eval_result import EvalCaseResult
from google.adk.evaluation.local_eval_service import LocalEvalService

from benchmarks.adk_peer import case_scores, local_service, parse


def evaluate_config(document: dict[str, Any]) -> EvaluateConfig:
    """Returns the criteria of a document, and its parallelism, or google-adk's own where it has none."""
    metrics = [
        EvalMetric(metric_name=name, criterion=BaseCriterion(**fields))
        for name, fields in document["criteria"].items()
    ]
    if document["parallelism"] is None:
        return EvaluateConfig(eval_metrics=metrics)
    return EvaluateConfig(eval_metrics=metrics, parallelism=document["parallelism"])


async def evaluate(
    service: LocalEvalService, results: list[InferenceResult], config: EvaluateConfig
) -> list[EvalCaseResult]:
    request = EvaluateRequest(inference_results=results, evaluate_config=config)
    return [result async for result in service.evaluate(request)]


def main(cases: str, report: str) -> None:
    logging.disable(logging.WARNING)
    text = Path(cases).read_text(encoding="utf-8")
    eval_set, results = parse(text)
    service = local_service(eval_set, results[0].app_name)
    start = time.perf_counter()
    judged = asyncio.run(evaluate(service, results, evaluate_config(json.loads(text))))
    seconds = time.perf_counter() - start
    scores = [score for case in judged for score in case_scores(case)]
    Path(report).write_text(json.dumps({"seconds": seconds, "scores": scores}), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
