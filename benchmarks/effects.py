"""Measures how well trajectory criteria separate successful from failed conversations, by recorded rewards.

Usage: python -m benchmarks.effects [FILE...] [--json FILE]

A file holds canonical conversations (JSON Lines) with `labels.reward` and the expected actions of the whole
conversation. Without a file, the recordings beside the repository are taken. The figures are the area under
the ROC curve (AUC) of a criterion's value against reward 1, where 0.5 is chance, and the accuracy of its PASS
and FAIL at the default threshold.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.agreement import area_under_curve
from benchmarks.figures import Found, NotMeasured, Table, run_benchmark
from turnwise.schemas.conversation import Conversation, Record
from turnwise.transforms.criteria.base import MeasuredCriterion
from turnwise.transforms.criteria.expectations_met import ExpectationsMet
from turnwise.transforms.criteria.tool_effects import ToolEffects
from turnwise.transforms.criteria.trajectory import ToolTrajectory
from turnwise.transforms.formats.canonical import read_conversation
from turnwise.transforms.matching.sample import Sample, broke_off, inline_case
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.evaluate import conversation_verdict, evaluate
from turnwise.transforms.scoring.selection import Criteria

DATA = Path(__file__).parents[1] / "../shared/data"
RECORDINGS = (
    "tau_bench_airline_gpt-4o.jsonl",
    "tau2_airline_gpt-4.1_vs_ft.jsonl",
    "tau2_telecom_sample.jsonl",
)
CRITERIA: dict[str, list[MeasuredCriterion]] = {
    "EXACT": [ToolTrajectory(match_type="EXACT")],
    "IN_ORDER": [ToolTrajectory(match_type="IN_ORDER")],
    "ANY_ORDER": [ToolTrajectory(match_type="ANY_ORDER")],
    "names only (ANY_ORDER)": [ToolTrajectory(match_type="ANY_ORDER", ignore_args=True)],
    "effects": [ToolEffects()],
    "effects, `prose: ignore`": [ToolEffects(prose="ignore")],
    "effects, `extra_handoffs: weigh`": [ToolEffects(extra_handoffs="weigh")],
    "effects, `extra_writes: allow`": [ToolEffects(extra_writes="allow")],
    "verdict of effects and `expectations_met`": [ToolEffects(), ExpectationsMet()],
}
_ROUNDS = 1_000


class Run(NamedTuple):
    """One recorded run of a task."""

    task: str
    conversation: Conversation
    succeeded: bool


class Figure(NamedTuple):
    """An AUC with its 95 % bounds over samples of tasks, and the accuracy of PASS and FAIL."""

    value: float
    low: float
    high: float
    accuracy: float


class Judged(NamedTuple):
    """The value of a run by some criteria, and whether it passes at the default thresholds."""

    value: float
    passes: bool


def read_runs(path: Path) -> list[Run]:
    """Reads the runs that have a reward.

    Raises:
        ValueError: A line is no conversation, or not some runs passed and some failed.
    """
    with path.open("rb") as lines:
        found = [read_conversation(line) for line in lines if line.strip()]
    rewards = [(conversation, conversation.labels.get("reward")) for conversation in found]
    runs = [
        Run(str(conversation.meta.get("task_id", i)), conversation, reward >= 1)
        for i, (conversation, reward) in enumerate(rewards)
        if isinstance(reward, int | float)
    ]
    if len({run.succeeded for run in runs}) < 2:
        raise ValueError(f"{len(runs)} runs with a reward; some must have passed and some failed")
    return runs


def judge(criteria: Sequence[MeasuredCriterion], conversation: Conversation) -> Judged:
    """Scores a whole conversation by one criterion, or by several and the verdict on them.

    The value is 0 where there is none; of several criteria it is the least, and 0 where the conversation
    broke off.
    """
    case = Sample(conversation, inline_case(conversation), Record("", 1, b""))
    scored, _ = evaluate(case, Criteria(criteria))
    overalls = [result.overall for result in scored.scores if result.overall is not None]
    value = min((score.value or 0.0 for score in overalls), default=0.0)
    if len(criteria) == 1:
        return Judged(value, bool(overalls) and overalls[0].outcome == "PASS")
    passes = conversation_verdict(scored, RULES).status == "PASS"
    return Judged(0.0 if broke_off(conversation) else value, passes)


def figure_of(criteria: Sequence[MeasuredCriterion], runs: Sequence[Run]) -> Figure:
    """Measures criteria; the bounds are of samples of tasks, because runs of one task are alike."""
    pairs: dict[str, list[tuple[float, bool]]] = {}
    right = 0
    for run in runs:
        judged = judge(criteria, run.conversation)
        right += judged.passes == run.succeeded
        pairs.setdefault(run.task, []).append((judged.value, run.succeeded))
    tasks, samples = list(pairs.values()), []
    draw = random.Random(0)
    for _ in range(_ROUNDS):
        sample = [pair for _ in tasks for pair in draw.choice(tasks)]
        if len({succeeded for _, succeeded in sample}) == 2:
            samples.append(_auc(sample))
    samples.sort()
    bounds = samples[round(0.025 * (len(samples) - 1))], samples[round(0.975 * (len(samples) - 1))]
    return Figure(_auc([pair for task in tasks for pair in task]), *bounds, right / len(runs))


def _auc(pairs: Sequence[tuple[float, bool]]) -> float:
    return area_under_curve([value for value, _ in pairs], [succeeded for _, succeeded in pairs])


def measure(options: argparse.Namespace) -> Found:
    files = options.files or [DATA / name for name in RECORDINGS]
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise NotMeasured(f"labelled recordings: no such file: {', '.join(missing)}")
    try:
        return Found([_agreement(file.name, read_runs(file)) for file in files])
    except ValueError as error:
        sys.exit(str(error))


def _agreement(name: str, runs: Sequence[Run]) -> Table:
    title = f"{name}, {len(runs)} runs, {sum(run.succeeded for run in runs)} passed"
    columns = ("criterion", "AUC against reward", "95 % bounds from", "to", "accuracy")
    return Table(title, columns, [[key, *figure_of(criteria, runs)] for key, criteria in CRITERIA.items()])


def main(argv: Sequence[str]) -> int:
    """Measures, and prints tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.effects", allow_abbrev=False)
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE", help="other recordings")
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
