"""Measures agreement of the local judge with labelled data, compared with token overlap, and its cost.

Usage: python -m benchmarks.local_judge [--json FILE]

Hallucination scores are those of `turnwise run --judge local`. The constants were fitted to the even lines
of the data and to dialogues of our own for tuning. The odd lines and the other dialogues are held out for the
constants alone: their totals were in view when weights were chosen, and new data gives worse figures.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.agreement import balanced_accuracy, best_threshold, spearman
from benchmarks.figures import Found, NotMeasured, Table, run_benchmark
from benchmarks.figures import Row as FigureRow
from benchmarks.local_judge_grounding import (
    CHANGES,
    MIXED_IN,
    Json,
    Row,
    change_rows,
    dialogue_rows,
    grounding_rows,
    halves,
)
from benchmarks.wording import sentence, text
from turnwise.transforms.local_judge.grounding import compare_answers, ground
from turnwise.transforms.text.rouge import rouge

DATA = Path(__file__).parents[1] / "../shared/data"
GROUNDING = "begin_wow_dev.jsonl"
LIKENESS = ("klue_sts_ko.jsonl", "jsts_ja.jsonl")
LEAST_SAME_MEANING = 3
_CASES, _ROUNDS = 200, 7


def read(name: str) -> list[Json]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def likeness_rows(name: str) -> list[Row]:
    records = read(name)
    pairs = [(record["text_a"], record["text_b"]) for record in records]
    people = [record["score"] for record in records]
    scores = [compare_answers(*pair).score for pair in pairs]
    plain = [rouge(*pair)[2] for pair in pairs]
    figures: dict[str, Sequence[float]] = {
        "local, figure": [compare_answers(*pair).similarity for pair in pairs],
        "local, 0..4": scores,
        "overlap": plain,
    }
    rows = [
        Row(name, judge, "Spearman", *halves(spearman, judged, people)) for judge, judged in figures.items()
    ]
    if "binary" in records[0]:
        labels = [record["binary"] == 1 for record in records]
        least = best_threshold(plain[::2], labels[::2])
        for judge, judged in (
            (f"local >= {LEAST_SAME_MEANING}", [score >= LEAST_SAME_MEANING for score in scores]),
            (f"overlap >= {least:.2f}", [figure >= least for figure in plain]),
        ):
            rows.append(Row(name, judge, "balanced accuracy", *halves(balanced_accuracy, judged, labels)))
    return rows


def answers(rng: random.Random, sentences: int) -> list[str]:
    """Makes sentences with numbers."""
    facts = (f"W{rng.randrange(9999999)}", f"${rng.randrange(900)}.50")
    return [text([sentence(rng, facts)]) for _ in range(sentences)]


def microseconds(work: Callable[[], object]) -> float:
    """Returns the CPU time of one of `_CASES` calls: the minimum over some rounds, without the first."""
    times = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times[1:]) / _CASES * 1e6


def costs() -> list[FigureRow]:
    """Returns CPU microseconds: what is done, words of an answer, characters of the evidence."""
    rng = random.Random(0)
    said = [answers(rng, 4) for _ in range(_CASES)]
    known = [[" ".join(answers(rng, 10))] for _ in range(_CASES)]
    wanted, got = ([" ".join(answers(rng, 4)) for _ in range(_CASES)] for _ in range(2))
    words = round(sum(len(sentence.split()) for sentences in said for sentence in sentences) / _CASES)
    size = round(sum(len(piece) for pieces in known for piece in pieces) / _CASES)
    grounding = microseconds(lambda: [ground(*case) for case in zip(said, known, strict=True)])
    again = microseconds(lambda: [ground(case, known[0]) for case in said])
    comparing = microseconds(lambda: [compare_answers(*pair) for pair in zip(wanted, got, strict=True)])
    return [
        ["ground", words, size, grounding],
        ["ground, evidence read before, as that of earlier turns has been", words, size, again],
        ["compare_answers", words, None, comparing],
    ]


def measure(options: argparse.Namespace) -> Found:
    if not DATA.is_dir():
        raise NotMeasured(f"agreement of the local judge: no labelled data at {DATA.resolve()}")
    labelled = read(GROUNDING)
    rows = [row for mixed_in in MIXED_IN for row in grounding_rows(labelled, mixed_in)]
    rows += dialogue_rows()
    rows += [row for change in CHANGES for row in change_rows(labelled, change)]
    rows += [row for name in LIKENESS for row in likeness_rows(name)]
    columns = ("data", "judge", "measure", "even lines, or for tuning", "odd lines, or held out")
    took = ("", "words of the answer", "characters of the evidence", "CPU us")
    return Found([Table("agreement with people", columns, rows), Table("cost", took, costs())])


def main(argv: Sequence[str]) -> int:
    """Measures, and prints tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local_judge", allow_abbrev=False)
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
