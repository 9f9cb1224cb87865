"""Hallucination scores of the local judge on labelled answers, made by the command `turnwise run`."""

import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.agreement import area_under_curve, balanced_accuracy
from turnwise.transforms.text.rouge import common_subsequence, rouge_tokens

CRITERIA = ("hallucinations_v1", "hallucination")
MIXED_IN = (0, 20, 60)
DIALOGUES = Path(__file__).with_name("dialogues.jsonl")
"""Replies of our own in four languages to a sentence of knowledge, for tuning and held out."""
LEAST = 1.0
"""Lowest value that is taken as supported: all sentences are."""
LEAST_OVERLAP = 0.75
"""Threshold of the overlap of tokens with the best balanced accuracy on the even lines."""
_LAST_DIGIT = re.compile(r"\d(?=\D*$)")
_AUXILIARY = re.compile(r"\b(?:is|was|are|were|has been|can|does|will)\b")
_NEGATED = re.compile(r"\b(?:not|no|never)\b|n['’]t\b")

Json = dict[str, Any]
Measure = Callable[[Sequence[Any], Sequence[Any]], float]


class Row(NamedTuple):
    """The same measure on the even and on the odd lines; of dialogues, on those for tuning and held out."""

    task: str
    judge: str
    measure: str
    even: float
    odd: float


class Case(NamedTuple):
    """An answer, the user's message before it, and its evidence."""

    user: str
    answer: str
    evidence: list[str]

    def conversation(self, name: str) -> Json:
        """Returns it as a canonical conversation in which a tool finds the evidence."""
        calls = [{"name": "search", "args": {}} for _ in self.evidence]
        responses = [{"name": "search", "response": piece} for piece in self.evidence]
        turn = {
            "user": self.user,
            "agent": self.answer,
            "tool_calls": calls,
            "tool_responses": responses,
        }
        return {"conversation_id": name, "turns": [turn]}


def halves(measure: Measure, judged: Sequence[Any], labels: Sequence[Any]) -> tuple[float, float]:
    """Returns a measure of the even and of the odd lines."""
    return measure(judged[::2], labels[::2]), measure(judged[1::2], labels[1::2])


def cases_of(records: Sequence[Json], mixed_in: int) -> list[Case]:
    """Returns the answers with their own evidence, and that of so many others."""
    cases = []
    for number, record in enumerate(records):
        rng = random.Random(number)
        places = [number, *(rng.randrange(len(records)) for _ in range(mixed_in))]
        evidence = [piece["content"] for place in places for piece in records[place]["references"]]
        cases.append(Case(record["query"], record["answer"], evidence))
    return cases


def dialogues(part: str) -> list[tuple[Case, bool, str]]:
    """Returns the dialogues of a part, `tuning` or `held out`; whether each is supported; its language."""
    records = [json.loads(line) for line in DIALOGUES.read_text("utf-8").splitlines()]
    return [
        (Case(r["user"], r["reply"], [r["knowledge"]]), r["supported"], r["language"])
        for r in records
        if r["part"] == part
    ]


def is_attributable(record: Json) -> bool:
    """Returns whether people called an answer fully attributable to its evidence."""
    return bool(record["labels"]["attribution"] == "Fully attributable")


class Judged(NamedTuple):
    """The value of an answer, and the probability beside it; an answer without a value has 0 for both."""

    value: float
    probability: float


NO_VALUE = Judged(0.0, 0.0)


def scores_of(cases: Sequence[Case]) -> dict[str, list[Judged]]:
    """Runs the command, and returns the figures of every answer by each criterion."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [json.dumps(case.conversation(str(number))) for number, case in enumerate(cases)]
        (folder / "logs.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (folder / "config.json").write_text(json.dumps({"criteria": {key: {} for key in CRITERIA}}))
        command = [sys.executable, "-m", "turnwise", "run", "--judge", "local", "--input", "logs.jsonl"]
        command += ["--config", "config.json", "--output", "out"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return _values(list((folder / "out").rglob("scores-*.jsonl")), len(cases))


def _values(files: Sequence[Path], count: int) -> dict[str, list[Judged]]:
    values: dict[str, list[Judged]] = {name: [NO_VALUE] * count for name in CRITERIA}
    for row in [json.loads(line) for path in files for line in path.read_text().splitlines()]:
        if row["turn_index"] is not None and row["value"] is not None and row["value"] >= 0:
            judged = Judged(row["value"], row["details"]["probability"])
            values[row["criterion"]][int(row["conversation_id"])] = judged
    return values


def overlap(case: Case) -> float:
    """Returns the share of the tokens of an answer that the evidence has, 0..1."""
    known, said = (
        {token for piece in case.evidence for token in rouge_tokens(piece)},
        rouge_tokens(case.answer),
    )
    return sum(token in known for token in said) / max(1, len(said))


def in_order(case: Case) -> float:
    """Returns the largest share of the tokens that a piece of evidence has in their order, 0..1."""
    said = rouge_tokens(case.answer)
    places: dict[str, int] = {}
    for place, token in enumerate(said):
        places[token] = places.get(token, 0) | 1 << place
    common = (
        common_subsequence((places.get(token, 0) for token in rouge_tokens(piece)), len(said))
        for piece in case.evidence
    )
    return max(common, default=0) / max(1, len(said))


def brier(probabilities: Sequence[float], labels: Sequence[bool]) -> float:
    """Returns the mean squared difference of probabilities from labels, 0..1; 0 is best."""
    return sum((p - label) ** 2 for p, label in zip(probabilities, labels, strict=True)) / len(labels)


def grounding_rows(records: Sequence[Json], mixed_in: int) -> list[Row]:
    """Measures agreement with so much other evidence. An answer without a value counts as 0."""
    task, labels = f"BEGIN, evidence of {mixed_in} others mixed in", list(map(is_attributable, records))
    cases = cases_of(records, mixed_in)
    judged = scores_of(cases)
    figures = {f"local, {name}": [value for value, _ in judged[name]] for name in CRITERIA}
    likely = {f"local, {name}": [probability for _, probability in judged[name]] for name in CRITERIA}
    plain = {"overlap": list(map(overlap, cases)), "longest common subsequence": list(map(in_order, cases))}
    rows = [
        Row(task, judge, "AUC", *halves(area_under_curve, found, labels))
        for judge, found in (likely | plain).items()
    ]
    for judge, found in likely.items():
        rows.append(Row(task, judge, "Brier score", *halves(brier, found, labels)))
    for judge, found, least in [
        *((judge, found, LEAST) for judge, found in figures.items()),
        ("overlap", plain["overlap"], LEAST_OVERLAP),
    ]:
        accepted = [figure >= least for figure in found]
        both = halves(balanced_accuracy, accepted, labels)
        rows.append(Row(task, f"{judge} >= {least:.2f}", "balanced accuracy", *both))
    for judge, found in figures.items():
        for measure, share in _SHARES.items():
            rows.append(Row(task, judge, measure, *halves(share, found, labels)))
    for name in CRITERIA:
        missing = [answer is NO_VALUE for answer in judged[name]]
        rows.append(Row(task, f"local, {name}", "share without a value", *halves(_share, missing, labels)))
    return rows


def _share(flags: Sequence[bool], _: Sequence[bool]) -> float:
    return sum(flags) / len(flags)


def _share_under(figures: Sequence[float], labels: Sequence[bool]) -> float:
    """Returns the share of supported answers under 1."""
    right = [figure for figure, label in zip(figures, labels, strict=True) if label]
    return sum(figure < LEAST for figure in right) / len(right)


def _share_over(figures: Sequence[float], labels: Sequence[bool]) -> float:
    """Returns the share of unsupported answers at 1."""
    wrong = [figure for figure, label in zip(figures, labels, strict=True) if not label]
    return sum(figure >= LEAST for figure in wrong) / len(wrong)


_SHARES: dict[str, Measure] = {
    "supported under 1": _share_under,
    "unsupported at 1": _share_over,
}


def dialogue_rows() -> list[Row]:
    """Measures agreement on the dialogues, all together and by language."""
    parts = [dialogues(part) for part in ("tuning", "held out")]
    found = [scores_of([case for case, _, _ in part])["hallucinations_v1"] for part in parts]
    rows = []
    for language in ("", "en", "de", "ko", "ja"):
        pairs = [
            [
                (judged, label)
                for judged, (_, label, code) in zip(*both, strict=True)
                if code.startswith(language)
            ]
            for both in zip(found, parts, strict=True)
        ]
        for measure, share in {"AUC": area_under_curve, **_SHARES}.items():
            place = measure == "AUC"  # the probability there, else the value
            figures = [
                share([judged[place] for judged, _ in part], [label for _, label in part]) for part in pairs
            ]
            rows.append(Row(f"dialogues {language}".strip(), "local, hallucinations_v1", measure, *figures))
    return rows


def change_rows(records: Sequence[Json], change: str) -> list[Row]:
    """Returns the share of the accepted, attributable answers that are refused with a change.

    Args:
        records: Labelled answers.
        change: Name of the change, of `CHANGES`.
    """
    right = [
        (case, changed)
        for case, record in zip(cases_of(records, 0), records, strict=True)
        if is_attributable(record) and (changed := CHANGES[change](case.answer)) != case.answer
    ]
    cases, wrong = [case for case, _ in right], [case._replace(answer=changed) for case, changed in right]
    before, after = scores_of(cases), scores_of(wrong)
    accepted = {
        f"local, {name} >= {LEAST:.2f}": [
            [value >= LEAST for value, _ in values[name]] for values in (after, before)
        ]
        for name in CRITERIA
    }
    accepted[f"overlap >= {LEAST_OVERLAP:.2f}"] = [
        [overlap(case) >= LEAST_OVERLAP for case in cases] for cases in (wrong, cases)
    ]
    return [
        Row(f"BEGIN, {change}", judge, "found", *halves(_found, *both)) for judge, both in accepted.items()
    ]


def _found(judged_wrong: Sequence[bool], judged_right: Sequence[bool]) -> float:
    accepted = [wrong for wrong, right in zip(judged_wrong, judged_right, strict=True) if right]
    return accepted.count(False) / len(accepted)


def _next_digit(digit: re.Match[str]) -> str:
    return str((int(digit[0]) + 1) % 10)


def _with_a_negation(answer: str) -> str:
    return answer if _NEGATED.search(answer) else _AUXILIARY.sub(r"\g<0> not", answer, count=1)


CHANGES: dict[str, Callable[[str], str]] = {
    "a digit changed": lambda answer: _LAST_DIGIT.sub(_next_digit, answer),
    "a negation put in": _with_a_negation,
}
"""What is changed -> how."""
