"""Fits the probabilities of the local judge to labelled answers, and prints its constants.

Usage: python -m benchmarks.local_judge_fit

Logistic regression by maximum likelihood (Platt 1999): log odds of the label against the mean coverage of the
sentences that claim something, on the even lines of BEGIN, each with the evidence of 0, 20 and 60 others
mixed in, and on the dialogues of `dialogues.jsonl` for tuning. The odd lines and the other dialogues
are held out for `benchmarks.local_judge`.
"""

import json
import sys
from collections.abc import Sequence
from math import exp
from pathlib import Path

from benchmarks.local_judge_grounding import MIXED_IN, Json, cases_of, dialogues, is_attributable
from turnwise.transforms.local_judge.grounding import ground
from turnwise.transforms.text.sentences import sentences

DATA = Path(__file__).parents[1] / "../shared/data/begin_wow_dev.jsonl"
_STEPS = 30
_COST = 1.3
"""What an unsupported answer weighs, as a multiple of a supported one: to pass what is wrong costs more."""


def fitted(records: Sequence[Json]) -> tuple[float, float]:
    """Returns the log odds where the coverage is 0, and where it is 1, by dialogues and the even records."""
    points = [
        (coverage, label)
        for case, label, _ in dialogues("tuning")
        if (coverage := _coverage(case.answer, case.evidence, case.user)) is not None
    ]
    points += [
        (coverage, is_attributable(record))
        for mixed_in in MIXED_IN
        for case, record in list(zip(cases_of(records, mixed_in), records, strict=True))[::2]
        if (coverage := _coverage(case.answer, case.evidence, case.user)) is not None
    ]
    nothing = slope = 0.0
    for _ in range(_STEPS):
        nothing, slope = _newton(points, nothing, slope)
    return nothing, nothing + slope


def _coverage(answer: str, evidence: Sequence[str], user: str) -> float | None:
    texts = [answer[start:end] for start, end in sentences(answer, None)]
    found = [
        (verdict.coverage, verdict.weight)
        for verdict in ground(texts, evidence, [user])
        if verdict.coverage is not None
    ]
    return (
        sum(covered * weight for covered, weight in found) / sum(weight for _, weight in found)
        if found
        else None
    )


def _newton(points: Sequence[tuple[float, bool]], nothing: float, slope: float) -> tuple[float, float]:
    """Returns the next estimate, by Newton's method."""
    g0 = g1 = h00 = h01 = h11 = 0.0
    for x, label in points:
        p = 1 / (1 + exp(-nothing - slope * x))
        cost = 1 if label else _COST
        g0, g1 = g0 + cost * (label - p), g1 + cost * (label - p) * x
        w = cost * p * (1 - p)
        h00, h01, h11 = h00 + w, h01 + w * x, h11 + w * x * x
    scale = h00 * h11 - h01 * h01
    return nothing + (h11 * g0 - h01 * g1) / scale, slope + (h00 * g1 - h01 * g0) / scale


def main() -> int:
    """Prints the constants of `transforms/local_judge/grounding.py`."""
    if not DATA.is_file():
        print(f"no labelled data at {DATA.resolve()}", file=sys.stderr)
        return 3
    nothing, everything = fitted([json.loads(line) for line in DATA.read_text("utf-8").splitlines()])
    print(f"LOG_ODDS_OF_NOTHING = {nothing:.2f}\nLOG_ODDS_OF_ALL = {everything:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
