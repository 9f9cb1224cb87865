"""Labels brought together with scores: agreement, thresholds, and figures without the judge's bias."""

from itertools import product

import numpy as np
import pytest

from tests.tables import is_as_wanted, lines_beside, value_at
from turnwise.pipeline.report.calibration import calibration_text
from turnwise.schemas.calibration import HumanLabel, LabelDraw
from turnwise.transforms.decisions.calibration.calibrate import ErrorCosts, calibrate
from turnwise.transforms.decisions.calibration.labels import (
    CriterionKey,
    JudgedScore,
    LabelLine,
    Scale,
    joined_labels,
    judged_scores,
    label_queue,
    people_agreement,
)

SIZE = 400
CALIBRATED = lines_beside(__file__, "calibrated.jsonl")
"""Scores and parts of labels, and what comes of them: path -> value, or what it must be."""
LABELS = lines_beside(__file__, "labels.jsonl")
"""Labels of people beside the answers that they are, and the problems of those that are none."""


def judged(name, value, passed, *, turn=None, case=None, version="v1", slices=(), threshold=0.5):
    level = "conversation" if turn is None else "turn"
    key = CriterionKey("safe", level)
    return JudgedScore(None, name, turn, key, case or name, version, slices, value, passed, threshold)


def simulated(size=SIZE, rate=0.8, error=0.2, seed=0):
    """Returns scores of a judge that errs, and what people say."""
    generator = np.random.default_rng(seed)
    people = generator.random(size) < rate
    found = np.where(generator.random(size) < error, ~people, people)
    scores = [
        judged(f"c{i}", float(own), bool(own), version=f"v{i % 2}", slices=("odd",) if i % 2 else ())
        for i, own in enumerate(found)
    ]
    return scores, people


def lines_of(labels, size=SIZE, of=None, unit="conversation", **more):
    """Returns a random sample's lines: conversation, or conversation and turn -> label."""
    draw = LabelDraw(seed=1, size=size, of=of or SIZE, unit=unit)
    found = []
    for name, label in labels.items():
        name, turn = name if isinstance(name, tuple) else (name, None)
        own = {"chosen": "random", "draw": draw} | more
        label = HumanLabel(conversation_id=name, turn_index=turn, criterion="safe", label=label, **own)
        found.append(LabelLine(label, f"l:{len(found) + 1}"))
    return found


def calibrated(lines, scores, scales=None, costs=ErrorCosts()):  # noqa: B008
    return calibrate("run-1", ["l"], lines, scores, scales or {"safe": Scale(bounds=(0.0, 1.0))}, costs)


def drawn(people, size):
    return {f"c{i}": "PASS" if people[i] else "FAIL" for i in range(size)}


def given_scores(stated):
    """Returns scores and what people say of them: simulated, or values one after the other."""
    if "simulated" in stated:
        return simulated(*stated["simulated"])
    if "numbers" in stated:
        return numbers()
    if "random" in stated:
        values = np.random.default_rng(3).random(stated["random"])
        return [judged(f"c{i}", float(v), None, threshold=None) for i, v in enumerate(values)], values > 0.62
    turns = range(stated["turns"]) if "turns" in stated else [None]
    scores = []
    for i, turn in product(range(stated["size"]), turns):
        value, passed = stated["values"][len(scores) % len(stated["values"])]
        scores.append(judged(f"c{i}", value, passed, turn=turn, threshold=stated.get("threshold", 0.5)))
    return scores, None


def given_labels(stated, people):
    """Returns the lines of some conversations: what people say, or labels one after the other."""
    own = {key: stated[key] for key in ("weight", "rater") if key in stated}
    if stated.get("is_hand_picked"):
        own |= {"chosen": "hand-picked", "draw": None}
    elif "weight" in own:
        own |= {"draw": None}
    turns = range(stated["turns"]) if "turns" in stated else [None]
    start, end = stated["conversations"]
    names = [(f"c{i}", turn) for i in range(start, end) for turn in turns]
    names = [name for name in names if [*name] not in stated.get("without", [])]
    said = stated.get("labels")
    lines = []
    for place, (name, turn) in enumerate(names):
        label = said[place % len(said)] if said else people[int(name[1:])]
        if not said and people.dtype == bool:
            label = ("PASS" if label else "FAIL") if place < stated.get("labelled", end) else None
        if "is_numbered" in stated:
            own["number"] = int(name[1:]) + 1
        label = label if isinstance(label, str | None) else float(label)
        size, of = stated.get("size", end - start), stated.get("of", SIZE)
        lines += lines_of({name if turn is None else (name, turn): label}, size, of, **own)
    return lines


@pytest.mark.parametrize("name", CALIBRATED)
def test_what_is_calibrated(name):
    line = CALIBRATED[name]
    scores, people = given_scores(line["scores"])
    labels = [own for part in line["labels"] for own in given_labels(part, people)]
    lines = [LabelLine(own.label, f"l:{number}") for number, own in enumerate(labels, 1)]
    found = calibrated(lines, scores)
    assert found == calibrated(lines, scores)
    (own,) = found.criteria
    root = {"found": found, "own": own, "problems": [[one.kind, one.count] for one in found.problems]}
    root["groups"] = [[one.group, one.name, one.scores, one.labels] for one in own.corrected]
    for path, wanted in line["says"].items():
        assert is_as_wanted(value_at(root, path), wanted), (path, value_at(root, path), wanted)
    assert own.not_corrected is None or all(one.value is None for one in own.corrected)


def test_what_is_drawn_and_has_no_label_widens_the_interval():
    scores, people = simulated()
    whole = drawn(people, 100)
    (full,) = calibrated(lines_of(whole, 100), scores).criteria
    (gaps,) = calibrated(lines_of(whole | {f"c{i}": None for i in range(10)}, 100), scores).criteria
    own, other = full.corrected[0], gaps.corrected[0]
    assert other.missing == 10 and other.labels == 90 and other.rogan_gladen is None
    assert other.interval.low < own.interval.low and own.interval.high < other.interval.high


def test_who_says_both_of_a_score_has_no_say():
    given = (("a", "PASS"), ("b", "FAIL"), ("b", "PASS"), ("c", "PASS"))
    labels = [line.label for rater, label in given for line in lines_of({"c1": label}, rater=rater)]
    (found,) = people_agreement(labels)
    assert (found.shared, found.agreed, found.disagreements) == (1, 1, [])


def numbers(bias=0.1, size=SIZE):
    generator = np.random.default_rng(2)
    people = generator.random(size) * 0.6 + 0.2
    values = np.clip(people + bias + generator.normal(0, 0.05, size), 0, 1)
    return [judged(f"c{i}", float(v), None) for i, v in enumerate(values)], people


@pytest.mark.parametrize("passes_from, best", [(True, 0.7), (False, 0.3)])
def test_the_threshold_with_the_lowest_cost(passes_from, best):
    generator = np.random.default_rng(4)
    values = generator.random(300)
    quality = values if passes_from else 1 - values
    people = quality + generator.normal(0, 0.05, 300) > 0.7
    scores = [judged(f"c{i}", float(v), bool((v >= 0.5) == passes_from)) for i, v in enumerate(values)]
    labels = {f"c{i}": "PASS" if people[i] else "FAIL" for i in range(200)}
    scales = {"safe": Scale(bounds=(0.0, 1.0), passes_from=passes_from)}
    (own,) = calibrated(lines_of(labels, 200, 300), scores, scales).criteria
    advice = own.threshold
    assert abs(advice.threshold - best) < 0.06 and advice.range.low <= advice.threshold <= advice.range.high
    assert advice.word == "better" and advice.saving.interval.low > 0 and advice.present == 0.5
    assert advice.cost <= advice.validated_cost.value and (advice.labels, advice.cases) == (200, 200)
    (strict,) = calibrated(lines_of(labels, 200, 300), scores, scales, ErrorCosts(20.0, 1.0)).criteria
    assert (strict.threshold.threshold > advice.threshold) == passes_from


def few_errors(size):
    """Returns values and labels of which the present threshold has two wrong, and another one none."""
    values = np.asarray([0.45] * 2 + [0.1, 0.9] * (size // 2 - 1))
    return values, values > 0.4


def noise(size):
    generator = np.random.default_rng(5)
    return generator.random(size), generator.random(size) < 0.5


@pytest.mark.parametrize(
    "values, people, is_fitted", [(*noise(80), True), (*few_errors(80), False), (*few_errors(60), False)]
)
def test_noise_is_not_shown_to_be_better(values, people, is_fitted):
    """The interval of two cases among many begins at 0, which no rounding makes more."""
    size = len(values)
    scores = [judged(f"c{i}", float(v), bool(v >= 0.5)) for i, v in enumerate(values)]
    labels = {f"c{i}": "PASS" if people[i] else "FAIL" for i in range(size)}
    (own,) = calibrated(lines_of(labels, size, size), scores).criteria
    assert (own.threshold.cost < own.threshold.validated_cost.value) == is_fitted
    assert own.threshold.saving.interval.low <= 0 and own.threshold.word == "not shown to be better"


def test_sampling_weights_undo_how_scores_were_drawn():
    scores, people = simulated(2000, seed=6)
    generator = np.random.default_rng(7)
    chances = [0.05 if score.passed else 0.4 for score in scores]
    lines = []
    for i, chance in enumerate(chances):
        if generator.random() < chance:
            label = {f"c{i}": "PASS" if people[i] else "FAIL"}
            lines += lines_of(label, draw=None, weight=1 / chance)
    (own,) = calibrated(lines, scores).criteria
    whole = own.corrected[0]
    assert whole.interval.low < 0.8 < whole.interval.high and abs(whole.value - 0.8) < 0.06
    assert whole.rogan_gladen is None


def half_without_score(seed, size=SIZE):
    """Returns verdicts whose hard half has no score, and what people say: 40 and 90 % pass."""
    generator = np.random.default_rng(seed)
    hard = generator.random(size) < 0.5
    people = generator.random(size) < np.where(hard, 0.4, 0.9)
    found = np.where(generator.random(size) < 0.1, ~people, people)
    outcomes = (None if hard[i] else bool(own) for i, own in enumerate(found))
    return [judged(f"c{i}", None, passed, version=f"v{i % 2}") for i, passed in enumerate(outcomes)], people


def test_what_has_no_score_is_part_of_all():
    hits = of_decided = 0
    for seed in range(100):
        scores, people = half_without_score(seed)
        found = calibrated(lines_of(drawn(people, 100), 100), scores)
        (own,) = found.criteria
        whole = own.corrected[0]
        assert found.problems == [] and own.labelled == whole.labels == 100
        assert own.scores == whole.scores == SIZE
        assert whole.covers == "all" and whole.no_score == sum(score.passed is None for score in scores)
        hits += whole.interval.low <= 0.65 <= whole.interval.high
        of_decided += whole.interval.low <= 0.9 <= whole.interval.high
    assert 0.9 <= hits / 100 <= 1 and of_decided < 5
    assert 30 < own.outcomes.no_score_pass + own.outcomes.no_score_fail < 70
    assert own.outcomes.no_score_pass < own.outcomes.no_score_fail and whole.rogan_gladen is None
    text = calibration_text(found, 300)
    assert f"pass rate of all 400: {whole.raw:.1%} as scored, of the {400 - whole.no_score} decided;" in text
    assert "100 of 400 scores are labelled" in text and "\n  no score " in text
    first, second = own.corrected[1:]
    assert f" {second.raw:.1%} of {second.scores - second.no_score} " in text and first.scores == SIZE // 2


SCALES = {"safe": Scale(bounds=(0.0, 1.0)), "verdict": Scale(has_values=False)}


def row(**columns):
    plain = {"turn_index": None, "value": 1.0, "outcome": "PASS", "eval_id": None, "app_version": "v1"}
    return {**plain, "threshold": 0.5, "language": "ko", "tags": [], "criterion": "safe", **columns}


ROWS = [
    {"conversation_id": "c1", "score_id": "c1-None"},
    {"conversation_id": "c2", "score_id": "c2-0", "turn_index": 0},
    {"conversation_id": "c2", "score_id": "c2-1", "turn_index": 1, "value": None, "outcome": None},
    {"conversation_id": "twice", "score_id": "a"},
    {"conversation_id": "twice", "score_id": "b", "app_version": "v2"},
    {"conversation_id": "tools", "score_id": "t", "turn_index": 0},
    {"conversation_id": "tools", "score_id": "t.1", "turn_index": 0},
    {"conversation_id": "none", "score_id": "n", "value": 0.4, "outcome": None, "threshold": None},
    {"conversation_id": "v", "score_id": "v", "criterion": "verdict", "value": None},
]


@pytest.mark.parametrize("name", LABELS)
def test_lines_are_used_or_named(name):
    stated = LABELS[name]
    labels = ({"conversation_id": "c1", "criterion": "safe", **label} for label in stated["labels"])
    lines = [LabelLine(HumanLabel(**label), f"l:{number}") for number, label in enumerate(labels, 1)]
    rows = [row(**columns) for columns in stated.get("rows", ROWS)]
    joined = joined_labels(lines, [*judged_scores(rows, SCALES)], SCALES)
    answers = [
        [
            one.score.conversation_id,
            one.score.turn_index,
            {rater or "": v for rater, v in one.answers.items()},
        ]
        for group in joined.groups.values()
        for one in group
        if one.answers
    ]
    assert answers == stated["answers"]
    assert {problem.kind: problem.count for problem in joined.problems} == stated["problems"]
    if "groups" in stated:
        assert sorted(map(list, joined.groups)) == stated["groups"]
        assert sorted(map(list, joined.numbers)) == stated["numbers"]


def queue_row(name, outcome, number=0):
    row = {"conversation_id": name, "app_version": "v1", "eval_id": None, "criterion": "safe"}
    return row | {"turn_index": number, "score_id": f"{name}-{number}", "outcome": outcome}


@pytest.mark.parametrize(
    ("outcomes", "outcome"),
    [(["PASS", "FAIL", None], "FAIL"), (["PASS", None], None), (["PASS", "PASS"], "PASS")],
)
def test_a_conversation_is_picked_by_the_worst_of_its_turns(outcomes, outcome):
    rows = [queue_row("c", own, number) for number, own in enumerate(outcomes)]
    assert label_queue(rows, (), 5, 0, "1").picked == {("v1", outcome): 1}


def test_as_many_are_drawn_as_a_correction_needs_cases():
    pairs = [queue_row(f"{n}-{v}", "PASS") | {"eval_id": f"e{n}"} for n in range(35) for v in (1, 2)]
    queue = label_queue(pairs, (), 70, None, "1")
    cases = {line.conversation_id.partition("-")[0] for line in queue.lines[: queue.drawn]}
    assert queue.drawn == queue.needed > len(cases) == 30
    assert label_queue(pairs[:50], (), 50, None, "1").needed is None


def test_what_was_drawn_is_not_picked_again_and_disputed_ones_are_picked_first():
    rows = [queue_row(str(number), "PASS") for number in range(40)]
    scores = [row | {"details": None, "judge": {"flipped": number >= 30}} for number, row in enumerate(rows)]
    disputed = {str(number) for number in range(30, 40)}
    queue = label_queue(rows, scores, 24, 12, "1")
    names = [line.conversation_id for line in queue.lines]
    drawn = set(names[:12])
    assert len(set(names)) == 24 and (queue.drawn, queue.of) == (12, 40)
    left = disputed - drawn
    assert drawn & disputed and left < set(names[12:])
    assert queue.disputed == len(left)
