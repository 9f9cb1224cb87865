"""Labels brought together with scores: agreement, thresholds, and figures without the judge's bias."""

import numpy as np
import pytest

from tests.tables import lines_beside
from turnwise.pipeline.report.calibration import calibration_text
from turnwise.schemas.calibration import HumanLabel, LabelDraw
from turnwise.transforms.decisions.calibration.calibrate import ErrorCosts, calibrate
from turnwise.transforms.decisions.calibration.labels import (
    CriterionKey,
    JudgedScore,
    LabelLine,
    LabelProblems,
    Scale,
    joined_labels,
    judged_scores,
    label_queue,
    people_agreement,
)

SIZE = 400
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


def test_figures_of_all_versions_and_slices():
    scores, people = simulated()
    found = calibrated(lines_of(drawn(people, 100), 100), scores)
    (own,) = found.criteria
    assert (own.labelled, own.random, own.hand_picked, own.scores, found.problems) == (100, 100, 0, 400, [])
    assert [(one.group, one.name, one.scores, one.labels) for one in own.corrected] == [
        ("all", None, 400, 100),
        ("app_version", "v0", 200, 50),
        ("app_version", "v1", 200, 50),
        ("slice", "odd", 200, 50),
    ]
    table = own.outcomes.confusion
    assert table.both_pass + table.false_pass + table.false_fail + table.both_fail == 100
    assert own.outcomes.agreement.interval.low < 0.8 < own.outcomes.agreement.interval.high
    assert own.outcomes.kappa.interval.low < own.outcomes.kappa.value < own.outcomes.kappa.interval.high
    assert own.corrected[0].rogan_gladen.low < 0.8 < own.corrected[0].rogan_gladen.high
    assert [one.name for one in own.slices] == ["v0", "v1", "odd"]
    assert found == calibrated(lines_of(drawn(people, 100), 100), scores)


HAND = {"chosen": "hand-picked", "draw": None}


@pytest.mark.parametrize(
    "lines, reason",
    [
        (lambda p: lines_of(drawn(p, 100), 100, **HAND), "hand-picked; only labels of a random sample"),
        (lambda p: lines_of(drawn(p, 100), 100, of=399), "drawn from 399 conversations, but the run has 400"),
        (
            lambda p: lines_of(drawn(p, 99), 100),
            "the sample has 100 conversations, but the file has lines of 99",
        ),
        (lambda p: lines_of(drawn(p, 50), 50) + lines_of(drawn(p, 60), 60), "of 2 random samples"),
        (lambda p: lines_of(drawn(p, 29), 29), "too few labels: 29 of 29 cases; 30 cases are needed"),
        (
            lambda p: lines_of(drawn(p, 40), draw=None, weight=2.0) + lines_of({"c41": "PASS"}, 1),
            "1 of 41 labels have no sampling weight",
        ),
        (
            lambda p: (
                lines_of(drawn(p, 3), draw=None, weight=1e9)
                + [one for one in lines_of(drawn(p, 60), draw=None, weight=1.0)][3:]
            ),
            "the sampling weights rest on too few labels: 60 tell as much as 3.0 with equal weights",
        ),
    ],
)
def test_a_correction_is_refused_with_the_reason(lines, reason):
    scores, people = simulated()
    (own,) = calibrated(lines(people), scores).criteria
    assert reason in own.not_corrected and own.outcomes is not None
    assert all(one.value is None for one in own.corrected)


def test_what_is_drawn_and_has_no_label_widens_the_interval():
    scores, people = simulated()
    whole = drawn(people, 100)
    (full,) = calibrated(lines_of(whole, 100), scores).criteria
    (gaps,) = calibrated(lines_of(whole | {f"c{i}": None for i in range(10)}, 100), scores).criteria
    own, other = full.corrected[0], gaps.corrected[0]
    assert other.missing == 10 and other.labels == 90 and other.rogan_gladen is None
    assert other.interval.low < own.interval.low and own.interval.high < other.interval.high


def test_labels_in_the_order_of_drawing_may_end_early():
    scores, people = simulated()
    lines = []
    for number in range(1, 101):
        label = drawn(people, 100)[f"c{number - 1}"] if number <= 60 else None
        lines += lines_of({f"c{number - 1}": label}, 100, number=number)
    found = calibrated(lines, scores)
    assert [(problem.kind, problem.count) for problem in found.problems] == [("after_end", 40)]
    (own,) = found.criteria
    assert (own.corrected[0].labels, own.corrected[0].missing) == (60, 0)
    (other,) = calibrated(lines[1:], scores).criteria
    assert "the sample has 60 conversations, but the file has lines of 59" in other.not_corrected


def test_turns_of_drawn_conversations_are_all_of_the_sample():
    scores = [judged(f"c{i}", 1.0, i % 3 > 0, turn=turn) for i in range(40) for turn in range(3)]
    labels = {(f"c{i}", turn): "PASS" for i in range(35) for turn in range(3)}
    (own,) = calibrated(lines_of(labels, 35, 40), scores).criteria
    assert own.level == "turn" and own.corrected[0].missing == 0 and own.corrected[0].cases == 35
    for turn in (1, 2):
        del labels["c0", turn]
    (own,) = calibrated(lines_of(labels, 35, 40), scores).criteria
    assert own.corrected[0].missing == 2


def test_raters_agree_and_tie():
    scores, people = simulated()
    lines = [
        line
        for rater in "abc"
        for line in lines_of(drawn(people, 60 if rater == "a" else 40), 60, rater=rater, **HAND)
    ]
    lines += lines_of({"c50": "FAIL" if people[50] else "PASS"}, 60, rater="d", **HAND)
    (own,) = calibrated(lines, scores).criteria
    assert (own.raters, own.labelled, own.outcomes.tied) == (4, 60, 1)
    assert 0.8 < own.between_people.value < 1 and own.between_people.count == 41


def test_who_says_both_of_a_score_has_no_say():
    given = (("a", "PASS"), ("b", "FAIL"), ("b", "PASS"), ("c", "PASS"))
    labels = [line.label for rater, label in given for line in lines_of({"c1": label}, rater=rater)]
    (found,) = people_agreement(labels)
    assert (found.shared, found.agreed, found.disagreements) == (1, 1, [])


def test_one_class_gives_no_kappa_and_no_threshold():
    scores, _ = simulated(60, rate=1.0, error=0.0)
    (own,) = calibrated(lines_of({f"c{i}": "PASS" for i in range(40)}, 40, 60), scores).criteria
    assert own.outcomes.kappa.value is None and "one and the same" in own.outcomes.kappa.reason
    assert own.no_threshold == "people pass all 40 labelled scores"
    assert own.corrected[0].interval.low < 0.97 and own.corrected[0].interval.high > 0.99
    assert own.outcomes.fail_recall.reason == "people fail nothing"


def test_many_labels_of_few_cases_suggest_no_threshold():
    scores = [judged(f"c{i}", turn / 4, turn > 1, turn=turn) for i in range(9) for turn in range(4)]
    labels = {(f"c{i}", turn): "PASS" if turn > 1 else "FAIL" for i in range(9) for turn in range(4)}
    (own,) = calibrated(lines_of(labels, 9, **HAND), scores).criteria
    assert own.no_threshold == "too few labels: 36 of 9 cases; 20 of 10 cases are needed"


def numbers(bias=0.1, size=SIZE):
    generator = np.random.default_rng(2)
    people = generator.random(size) * 0.6 + 0.2
    values = np.clip(people + bias + generator.normal(0, 0.05, size), 0, 1)
    return [judged(f"c{i}", float(v), None) for i, v in enumerate(values)], people


def test_means_lose_the_bias():
    scores, people = numbers()
    (own,) = calibrated(lines_of({f"c{i}": float(people[i]) for i in range(80)}, 80), scores).criteria
    whole = own.corrected[0]
    assert own.measure == "mean" and own.kind == "numbers" and own.outcomes is None
    assert whole.raw > 0.58 and abs(whole.value - people.mean()) < 0.02
    assert whole.interval.low < people.mean() < whole.interval.high
    assert own.numbers.bias.interval.low > 0 and own.numbers.correlation.value > 0.9


def test_equal_numbers_give_no_interval_of_width_nothing():
    scores = [judged(f"c{i}", 0.5, None) for i in range(60)]
    (own,) = calibrated(lines_of({f"c{i}": 0.5 for i in range(40)}, 40, 60), scores).criteria
    assert "the error is unknown" in own.not_corrected and own.numbers.alpha.value is None


def test_a_criterion_without_a_threshold_has_no_pass_rate_but_gets_a_threshold():
    generator = np.random.default_rng(3)
    values = generator.random(200)
    scores = [judged(f"c{i}", float(v), None, threshold=None) for i, v in enumerate(values)]
    labels = {f"c{i}": "PASS" if values[i] > 0.62 else "FAIL" for i in range(100)}
    (own,) = calibrated(lines_of(labels, 100, 200), scores).criteria
    assert "no threshold, so that there is no pass rate" in own.not_corrected and own.outcomes is None
    assert abs(own.threshold.threshold - 0.62) < 0.05 and own.threshold.cost == 0
    assert own.threshold.word == "no threshold to compare with" and own.threshold.present is None


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


def test_a_present_threshold_that_no_other_beats_stays():
    """All of 0.4 fail and all of 0.55 pass: 0.5 is the shortest of the cheapest, and 0.55 is as cheap."""
    scores = [judged(f"c{i}", (0.4, 0.55)[i % 2], bool(i % 2), threshold=0.55) for i in range(60)]
    labels = {f"c{i}": ("FAIL", "PASS")[i % 2] for i in range(60)}
    (own,) = calibrated(lines_of(labels, 60, 60), scores).criteria
    assert (own.threshold.threshold, own.threshold.word) == (0.55, "the present one")


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
    return [judged(f"c{i}", None, None if hard[i] else bool(own)) for i, own in enumerate(found)], people


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


def test_nothing_decided_is_not_corrected():
    scores = [judged(f"c{i}", None, None) for i in range(60)]
    (own,) = calibrated(lines_of({f"c{i}": "PASS" for i in range(40)}, 40, 60), scores).criteria
    assert own.not_corrected == "none of the 60 scores is decided" and own.outcomes is None


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
    stated, problems = LABELS[name], LabelProblems()
    labels = ({"conversation_id": "c1", "criterion": "safe", **label} for label in stated["labels"])
    lines = [LabelLine(HumanLabel(**label), f"l:{number}") for number, label in enumerate(labels, 1)]
    rows = [row(**columns) for columns in stated.get("rows", ROWS)]
    joined = joined_labels(lines, judged_scores(rows, SCALES), SCALES, problems)
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
    assert {problem.kind: problem.count for problem in problems.listed()} == stated["problems"]
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
    assert label_queue(rows, set(), 5, 0, "1").picked == {("v1", outcome): 1}


def test_what_was_drawn_is_not_picked_again_and_disputed_ones_are_picked_first():
    rows = [queue_row(str(number), "PASS") for number in range(40)]
    disputed = {(str(number), "v1", str(number)) for number in range(30, 40)}
    queue = label_queue(rows, disputed, 24, 12, "1")
    names = [line.conversation_id for line in queue.lines]
    drawn = set(names[:12])
    assert len(set(names)) == 24 and (queue.drawn, queue.of) == (12, 40)
    left = {name for name, *_ in disputed} - drawn
    assert drawn & {name for name, *_ in disputed} and left < set(names[12:])
    assert queue.disputed == len(left)
