"""Measures agreement of the local judge with labelled data, compared with token overlap, and its cost.

Usage: python -m benchmarks.local_judge [--json FILE]

All thresholds were chosen on the even lines of the data; the odd lines are held out. The overlap of tokens is
shown with the threshold that is best for the evidence of one answer, and with the best for so much evidence.
"""

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sentencex import segment

from benchmarks.agreement import balanced_accuracy, best_threshold, spearman
from benchmarks.figures import Found, NotMeasured, Table, run_benchmark
from benchmarks.figures import Row as FigureRow
from benchmarks.wording import sentence, text
from turnwise.transforms.local_judge.grounding import ground
from turnwise.transforms.local_judge.similarity import answer_similarity, compare_answers
from turnwise.transforms.local_judge.speech_acts import NOTHING_SAID
from turnwise.transforms.text.rouge import rouge, rouge_tokens

DATA = Path(__file__).parents[1] / "../shared/data"
GROUNDING = "begin_wow_dev.jsonl"
LIKENESS = ("klue_sts_ko.jsonl", "jsts_ja.jsonl")
MIXED_IN = (0, 20, 60)
LEAST_SAME_MEANING = 3
_LAST_DIGIT = re.compile(r"\d(?=\D*$)")
_CASES, _ROUNDS = 200, 7

Json = dict[str, Any]
Case = tuple[str, list[str]]
Judge = Callable[[str, Sequence[str]], bool]
Measure = Callable[[Sequence[Any], Sequence[Any]], float]


class Row(NamedTuple):
    """The same measure on the even and on the odd lines."""

    task: str
    judge: str
    measure: str
    even: float
    odd: float


def read(name: str) -> list[Json]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def is_attributable(answer: str, evidence: Sequence[str]) -> bool:
    """Returns whether all sentences of an answer with a claim are supported."""
    verdicts = ground(list(segment("en", answer)), evidence)
    return {verdict.label for verdict in verdicts if verdict.reason != NOTHING_SAID} == {"supported"}


def overlap(answer: str, evidence: Sequence[str]) -> float:
    """Returns the share of the tokens of an answer that the evidence has, 0..1."""
    known, said = {token for piece in evidence for token in rouge_tokens(piece)}, rouge_tokens(answer)
    return sum(token in known for token in said) / max(1, len(said))


def halves(measure: Measure, judged: Sequence[Any], labels: Sequence[Any]) -> tuple[float, float]:
    return measure(judged[::2], labels[::2]), measure(judged[1::2], labels[1::2])


def evidence_of(records: list[Json], number: int, mixed_in: int) -> list[str]:
    """Returns the evidence of an answer, and that of so many others."""
    rng = random.Random(number)
    places = [number, *(rng.randrange(len(records)) for _ in range(mixed_in))]
    return [piece["content"] for place in places for piece in records[place]["references"]]


def grounding_rows(records: list[Json]) -> list[Row]:
    labels = [record["labels"]["attribution"] == "Fully attributable" for record in records]
    alone = cases_of(records, 0)
    least = best_overlap(alone, labels)
    rows = []
    for mixed_in in MIXED_IN:
        cases = cases_of(records, mixed_in)
        judges = judges_with(least) | judges_with(best_overlap(cases, labels))
        for name, judge in judges.items():
            both = halves(balanced_accuracy, [judge(*case) for case in cases], labels)
            rows.append(
                Row(f"BEGIN, evidence of {mixed_in} others mixed in", name, "balanced accuracy", *both)
            )
    attributable = [case for case, label in zip(alone, labels, strict=True) if label]
    for name, judge in judges_with(least).items():
        rows.append(
            Row("BEGIN, a digit changed", name, "found", *halves(found, *changed(attributable, judge)))
        )
    return rows


def judges_with(least: float) -> dict[str, Judge]:
    return {"local": is_attributable, f"overlap >= {least:.2f}": partial(overlaps, least)}


def best_overlap(cases: Sequence[Case], labels: Sequence[bool]) -> float:
    """Returns the best threshold of the even lines."""
    return best_threshold([overlap(*case) for case in cases[::2]], labels[::2])


def cases_of(records: list[Json], mixed_in: int) -> list[Case]:
    return [(record["answer"], evidence_of(records, n, mixed_in)) for n, record in enumerate(records)]


def overlaps(least: float, answer: str, evidence: Sequence[str]) -> bool:
    return overlap(answer, evidence) >= least


def changed(cases: Sequence[Case], judge: Judge) -> tuple[list[bool], list[bool]]:
    """Judges answers before and after their last digit is another one."""
    of_numbers = [case for case in cases if _LAST_DIGIT.search(case[0])]
    wrong = [(_LAST_DIGIT.sub(_next_digit, answer), evidence) for answer, evidence in of_numbers]
    return [judge(*case) for case in wrong], [judge(*case) for case in of_numbers]


def found(judged_wrong: Sequence[bool], judged_right: Sequence[bool]) -> float:
    """Returns the share of the accepted answers that are not accepted with a wrong digit."""
    accepted = [wrong for wrong, right in zip(judged_wrong, judged_right, strict=True) if right]
    return accepted.count(False) / len(accepted)


def _next_digit(digit: re.Match[str]) -> str:
    return str((int(digit[0]) + 1) % 10)


def likeness_rows(name: str) -> list[Row]:
    records = read(name)
    pairs = [(record["text_a"], record["text_b"]) for record in records]
    people = [record["score"] for record in records]
    scores = [compare_answers(*pair).score for pair in pairs]
    plain = [rouge(*pair).fmeasure for pair in pairs]
    figures: dict[str, Sequence[float]] = {
        "local, figure": [answer_similarity(*pair) for pair in pairs],
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
    rows = grounding_rows(read(GROUNDING)) + [row for name in LIKENESS for row in likeness_rows(name)]
    columns = ("data", "judge", "measure", "even lines", "odd lines (held out)")
    took = ("", "words of the answer", "characters of the evidence", "CPU us")
    return Found([Table("agreement with people", columns, rows), Table("cost", took, costs())])


def main(argv: Sequence[str]) -> int:
    """Measures, and prints tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local_judge", allow_abbrev=False)
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
