"""Scores the benchmark's cases with google-adk, and prints CPU seconds and scores as JSON.

Run by the Python of an environment that holds google-adk; it knows nothing of turnwise.
"""

import asyncio
import json
import logging
import sys
import tempfile
import time
from pathlib import Path

from google.adk.agents.llm_agent import Agent
from google.adk.evaluation.base_eval_service import EvaluateConfig, EvaluateRequest, InferenceResult
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric, ToolTrajectoryCriterion
from google.adk.evaluation.eval_result import EvalCaseResult
from google.adk.evaluation.eval_set import EvalSet
from google.adk.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from google.adk.evaluation.local_eval_service import LocalEvalService
from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager

CRITERIA = {
    "tool_trajectory_avg_score": ToolTrajectoryCriterion(threshold=1.0),
    "response_match_score": BaseCriterion(threshold=0.8),
}
METRICS = [EvalMetric(metric_name=name, criterion=value) for name, value in CRITERIA.items()]
WARM_UP_CASES = 10


async def evaluate(service: LocalEvalService, results: list[InferenceResult]) -> list[EvalCaseResult]:
    request = EvaluateRequest(inference_results=results, evaluate_config=EvaluateConfig(eval_metrics=METRICS))
    return [result async for result in service.evaluate(request)]


def parse(text: str) -> tuple[EvalSet, list[InferenceResult]]:
    document = json.loads(text)
    results = [InferenceResult.model_validate(entry) for entry in document["inference_results"]]
    return EvalSet.model_validate(document["eval_set"]), results


def local_service(eval_set: EvalSet, app: str) -> LocalEvalService:
    manager = InMemoryEvalSetsManager()
    manager.create_eval_set(app, eval_set.eval_set_id)
    for case in eval_set.eval_cases:
        manager.add_eval_case(app, eval_set.eval_set_id, case)
    agent = Agent(name="recorded", model="none", instruction="Never called: every answer is recorded.")
    return LocalEvalService(root_agent=agent, eval_sets_manager=manager)


def case_scores(case: EvalCaseResult) -> list[tuple[str, int | None, str, float | None]]:
    """Returns (eval id, turn index or None for the case, metric, score)."""
    turns = enumerate(turn.eval_metric_results for turn in case.eval_metric_result_per_invocation)
    return [
        (case.eval_id, turn, metric.metric_name, metric.score)
        for turn, metrics in [(None, case.overall_eval_metric_results), *turns]
        for metric in metrics
    ]


def main(path: str) -> None:
    logging.disable(logging.WARNING)
    text = Path(path).read_text(encoding="utf-8")
    start = time.process_time()
    eval_set, results = parse(text)
    parsed = time.process_time()
    service = local_service(eval_set, results[0].app_name)
    asyncio.run(evaluate(service, results[:WARM_UP_CASES]))
    warm = time.process_time()
    cases = asyncio.run(evaluate(service, results))
    done = time.process_time()
    with tempfile.TemporaryDirectory() as directory:
        manager = LocalEvalSetResultsManager(directory)
        manager.save_eval_set_result(results[0].app_name, eval_set.eval_set_id, cases)
        saved = time.process_time()
    report = {
        "turns": sum(len(result.inferences or []) for result in results),
        "parse_seconds": parsed - start,
        "evaluate_seconds": done - warm,
        "save_seconds": saved - done,
        "scores": [score for case in cases for score in case_scores(case)],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
