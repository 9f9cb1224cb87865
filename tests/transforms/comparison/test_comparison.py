"""Comparisons of known conversations: pairs, words, missing ones, flips. Nothing unmeasured looks good."""

import pytest

from tests.compared_sides import F, P, U, compared, observed
from turnwise.pipeline.report.comparison import fail_on_problems
from turnwise.schemas.comparison import Comparison
from turnwise.transforms.decisions.comparison.collect import (
    ComparedConversation,
    Observed,
    Summary,
    TurnScore,
    collect,
)
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions
from turnwise.transforms.decisions.comparison.sides import ComparedSide, columns_of

STATUS, MATCH, LATENCY = "verdict", "response_match_score", "turn_latency"


def conversation(case, side, found, number=0, **fields):
    """A conversation with criterion -> outcome or value."""
    criteria = {name: observed(value, f"{name} of {side} {case}") for name, value in found.items()}
    return ComparedConversation(
        f"{side}-{case}-{number}", side, fields.pop("eval_id", f"e{case}"), criteria=criteria, **fields
    )


def sides(a, b):
    return (
        ComparedSide("v1", "out", columns_of(a), ["run"]),
        ComparedSide("v2", "out", columns_of(b), ["run"]),
    )


def paired(outcomes):
    """Compares (outcome of A, outcome of B) of one case each."""
    return only(compared(*({STATUS: own} for own in zip(*outcomes, strict=True))))


def by_criterion(criterion, a, b, **options):
    """Compares the values of a criterion, one a case."""
    return only(compared({criterion: a}, {criterion: b}, **options))


def latencies(size=40):
    """Conversations whose candidate is a second faster."""
    a = [conversation(i, "v1", {"turn_latency": 2.0 + 0.1 * (i % 7)}) for i in range(size)]
    b = [conversation(i, "v2", {"turn_latency": 1.0 + 0.1 * (i % 5)}) for i in range(size)]
    return a, b


def only(found: Comparison):
    (criterion,) = found.criteria
    return criterion


KNOWN = [
    # fixed, regressed, both pass, both fail -> word
    (84, 73, 320, 23, "inconclusive"),
    (30, 5, 50, 15, "better"),
    (5, 30, 50, 15, "worse"),
    (0, 0, 500, 0, "same"),
    (2, 2, 996, 0, "same"),
    (20, 4, 2000, 0, "better"),
    (8, 4, 400, 0, "not worse"),
    (5, 0, 0, 0, "inconclusive"),
    (5, 0, 14, 0, "inconclusive"),
    (5, 0, 15, 0, "not worse"),
    (6, 0, 0, 0, "better"),
]


@pytest.mark.parametrize("fixed, regressed, both, neither, word", KNOWN)
def test_words_of_pairs(fixed, regressed, both, neither, word):
    found = paired([(F, P)] * fixed + [(P, F)] * regressed + [(P, P)] * both + [(F, F)] * neither)
    assert found.overall.word == word
    assert (found.fixed, found.regressed) == (fixed, regressed)
    assert (found.still_passing, found.still_failing) == (both, neither)
    assert found.overall.pairs == fixed + regressed + both + neither


@pytest.mark.parametrize("by, size", [(0.001, 20), (-0.001, 20), (0.001, 5)])
def test_a_word_and_its_interval_say_the_same(by, size):
    """All cases differ by the same amount; p is 2 / 2^size."""
    own = by_criterion(MATCH, [0.5] * size, [0.5 + by] * size).overall
    holds_0 = own.interval is not None and own.interval.low <= 0 <= own.interval.high
    assert own.word == ("inconclusive" if size < 6 else "better" if by > 0 else "worse")
    assert holds_0 is (size < 6)


@pytest.mark.parametrize(("other", "stated"), [(0.5, 0.5), (0.8, None)])
def test_a_threshold_is_stated_where_all_scores_have_it(other, stated):
    scores = [Observed(0.9, P, 0.5)] * 3, [Observed(0.9, P, other)] * 3
    assert by_criterion(MATCH, *scores).threshold == stated


def test_the_sentence_of_500_pairs():
    found = paired([(F, P)] * 84 + [(P, F)] * 73 + [(P, P)] * 343)
    assert found.sentence == (
        "v2 against v1 is inconclusive: +2.2 points (-2.7 to +7.1), "
        "84 fixed, 73 regressed, p = 0.42; "
        "with 500 cases a change of 7.0 points would have been seen; 2.2 points need about 5,100 cases"
    )


@pytest.mark.parametrize("outcomes", [[(U, U)] * 30, [(P, U)] * 30, [(U, P)] * 30])
def test_what_is_missing_everywhere_is_not_the_same(outcomes):
    found = paired(outcomes)
    assert found.overall.word == "inconclusive" and found.overall.difference is None
    assert found.p_adjusted is None and found.missing is not None and found.missing.changes_the_word
    assert found.sentence.startswith("v2 against v1 is inconclusive: ")


def test_missing_ones_are_counted_in_three_ways():
    found = paired([(F, P)] * 12 + [(P, P)] * 40 + [(P, U)] * 30)
    three = found.missing
    assert (three.baseline_missing, three.candidate_missing) == (0, 30)
    readings = (three.left_out, three.worst_for_candidate, three.best_for_candidate)
    told = [(reading.word, reading.pairs) for reading in readings]
    assert told == [("better", 52), ("worse", 82), ("better", 82)]
    assert three.changes_the_word and "counted against v2: worse; counted for v2: better" in found.sentence
    assert paired([(F, P)] * 12).missing is None


NO_VALUE = [
    # A, B -> word; "": the criterion has no score there
    ([1.0] * 300, [1.0] * 150 + [None] * 150, "inconclusive"),
    ([1.0] * 300, [1.0] * 150 + [""] * 150, "inconclusive"),
    ([1.0] * 150 + [""] * 150, [1.0] * 300, "not worse"),
    ([1.0] * 150 + [""] * 150, [1.0] * 150 + [""] * 150, "same"),
    ([1.0] * 999 + [""] * 900, [1.0] * 999 + [""] * 900, "same"),
    ([0.0] * 30 + [1.0] * 300, [1.0] * 328 + [""] * 2, "better"),
    ([0.0] * 8 + [1.0] * 1000, [1.0] * 1003 + [""] * 5, "not worse"),
]


@pytest.mark.parametrize("criterion", ["response_match_score", "mine"])
@pytest.mark.parametrize("a, b, word", NO_VALUE)
def test_the_word_holds_whatever_has_no_value(criterion, a, b, word):
    def side(name, values):
        found = [conversation(i, name, {criterion: 1.0}) for i in range(len(values))]
        for own, value in zip(found, values, strict=True):
            own.criteria = {} if value == "" else {criterion: Observed(value)}
        return found

    found = only(compare(*sides(side("v1", a), side("v2", b)), CompareOptions()))
    if criterion == "mine" and word in ("better", "not worse"):
        word = {"better": "differs", "not worse": "inconclusive"}[word]
    assert found.overall.word == word
    missing = tuple(
        sum(v is None or v == "" != w for v, w in zip(own, other, strict=True))
        for own, other in ((a, b), (b, a))
    )
    if any(missing):
        assert (found.missing.baseline_missing, found.missing.candidate_missing) == missing


def test_what_was_sampled_out_is_no_pair_and_not_missing():
    """A sample rate of one side leaves the pairs that are decided on both."""
    a, b = ([conversation(i, side, {STATUS: P}) for i in range(40)] for side in ("v1", "v2"))
    for one in b[8:]:
        one.criteria, one.sampled_out = {}, frozenset({STATUS})
    found = compare(*sides(a, b), CompareOptions())
    assert (found.criteria[0].overall.pairs, found.criteria[0].missing) == (8, None)
    assert any("32 conversations sampled out of verdict" in note for note in found.notes)
    for one in b:
        one.criteria, one.sampled_out = {}, frozenset({STATUS})
    assert compare(*sides(a, b), CompareOptions()).candidate.no_verdict == 40


@pytest.mark.parametrize(
    ("case", "number", "changes"),
    [
        (0, 0, True),  # a case that both sides have: only the missing value is its pair
        (0, 1, True),  # a further run of it
        (99, 0, False),  # a case that A has not
    ],
)
@pytest.mark.parametrize(("criterion", "base"), [("turn_latency", 1.0), ("grounding_score", 0.1)])
def test_what_has_no_value_changes_the_word_where_it_is_compared(criterion, base, case, number, changes):
    """On an open scale any value may be the missing one; on a closed one it is held against both ends."""
    a = [conversation(i, "v1", {criterion: base + 0.3 + 0.02 * (i % 7)}) for i in range(40)]
    b = [conversation(i, "v2", {criterion: base + 0.02 * (i % 5)}) for i in range(40)]
    word = only(compare(*sides(a, b), CompareOptions())).overall.word
    assert word == {"turn_latency": "better", "grounding_score": "worse"}[criterion]
    b = [one for one in b if number or one.eval_id != f"e{case}"]
    b.append(conversation(case, "v2", {}, number))
    b[-1].criteria[criterion] = Observed(why="no clock")
    found = only(compare(*sides(a, b), CompareOptions()))
    is_open = criterion == "turn_latency"
    assert found.missing is None or found.missing.changes_the_word is (is_open and changes)
    assert found.overall.word == ("inconclusive" if is_open and changes else word)


def test_what_one_side_left_out_by_sampling_is_not_missing_on_the_other():
    a, b = latencies()
    b[0].criteria["turn_latency"] = Observed(why="no clock")
    a[0].criteria, a[0].sampled_out = {}, frozenset({"turn_latency"})
    found = only(compare(*sides(a, b), CompareOptions()))
    assert (found.overall.pairs, found.overall.word) == (39, "better")
    assert found.missing is not None and not found.missing.changes_the_word


def test_runs_of_a_case_are_one_case():
    """Twenty equal runs of two cases are no more evidence than two cases."""
    a = [conversation(c, "v1", {STATUS: F}, n) for c in range(2) for n in range(20)]
    b = [conversation(c, "v2", {STATUS: P}, n) for c in range(2) for n in range(20)]
    found = only(compare(*sides(a, b), CompareOptions()))
    assert (found.overall.pairs, found.overall.baseline_count, found.overall.word) == (2, 40, "inconclusive")
    assert found.overall.p == 0.5 and found.mid_p is None


def test_unequal_numbers_of_runs():
    """A case counts once, however many runs it has on either side."""
    runs = [(1, 4, 0.75), (3, 2, 0.5), (2, 2, 1.0)] * 8
    a = [conversation(c, "v1", {STATUS: F}, n) for c, (count, _, _) in enumerate(runs) for n in range(count)]
    b = [
        conversation(c, "v2", {STATUS: P if n < share * count else F}, n)
        for c, (_, count, share) in enumerate(runs)
        for n in range(count)
    ]
    comparison = compare(*sides(a, b), CompareOptions())
    found = only(comparison)
    uneven = "16 cases not run equally often: 32 runs in the baseline, 48 in the candidate"
    assert any(uneven in note for note in comparison.notes)
    assert found.overall.candidate_value == pytest.approx(0.75) and found.overall.baseline_value == 0.0
    assert (found.overall.pairs, found.overall.word, found.fixed) == (24, "better", 24)


def test_less_latency_is_better():
    a, b = latencies()
    found = only(compare(*sides(a, b), CompareOptions()))
    assert (found.better_is, found.overall.word, found.unit) == ("less", "better", "seconds")
    ratio = found.quantiles[0]
    assert ratio.quantile == 0.5 and ratio.interval.low < ratio.ratio < ratio.interval.high < 0.7
    assert only(compare(*sides(b, a), CompareOptions())).overall.word == "worse"


@pytest.mark.parametrize("criterion, word", [("turn_latency", "inconclusive"), ("grounding_score", "same")])
def test_values_that_do_not_vary(criterion, word):
    """On an open scale, nothing says how far the next case may lie."""
    many, few = (by_criterion(criterion, [0.7] * size, [0.7] * size) for size in (400, 9))
    assert (many.overall.word, few.overall.word) == (word, "inconclusive")


def test_the_criteria_of_a_family_share_the_level():
    names = [f"mine_{i}" for i in range(4)]
    found = compared(*(dict.fromkeys((STATUS, *names), own) for own in ([F] * 7 + [P] * 20, [P] * 27)))
    assert [own.criterion for own in found.criteria] == [STATUS, *names]
    assert {round(own.overall.p, 9) for own in found.criteria} == {2 / 2**7}
    assert [own.overall.word for own in found.criteria] == ["better"] + ["not worse"] * 4
    assert [own.p_adjusted for own in found.criteria] == pytest.approx([1 / 2**6] + [1 / 2**4] * 4)
    assert "(adjusted 0.062)" in found.criteria[1].sentence and found.word == "better"


def test_what_pairs_is_the_id_that_pairs_most():
    a = [conversation(i, "v1", {STATUS: P}, eval_id=None, task=f"t{i}") for i in range(5)]
    b = [conversation(i, "v2", {STATUS: P}, eval_id=None, task=f"t{i}") for i in range(1, 7)]
    found = compare(*sides(a, b), CompareOptions())
    assert (found.pairing.by, found.pairing.pairs) == ("task", 4)
    assert (found.pairing.baseline_only_names, found.pairing.candidate_only_names) == (["t0"], ["t5", "t6"])
    for own in (*a, *b):
        own.conversation_id = own.conversation_id.split("-")[1]
    found = compare(*sides(a, b), CompareOptions(by="conversation_id"))
    assert (found.pairing.by, found.pairing.pairs, found.pairing.baseline_only) == ("conversation_id", 4, 1)
    assert found.criteria[0].unpaired.candidate_count == 6


@pytest.mark.parametrize(
    ("before", "after", "pairs", "changed"),
    [("x", "x", 1, 0), ("x", "y", 0, 1), ("x", "", 0, 1), ("x", None, 1, 0), (None, "y", 1, 0)],
)
def test_a_case_whose_expectation_changed_is_no_pair(before, after, pairs, changed):
    """An expectation that is not known (None) may be the same."""
    a, b = (
        [conversation(1, side, {STATUS: P}, case_digest=digest)]
        for side, digest in (("v1", before), ("v2", after))
    )
    found = compare(*sides(a, b), CompareOptions(by="eval_id")).pairing
    assert (found.pairs, found.changed) == (pairs, changed)


def test_conversations_without_ids_are_two_groups():
    def group(side, passes, fails):
        outcomes = [P] * passes + [F] * fails
        return [conversation(i, side, {STATUS: own}, eval_id=None) for i, own in enumerate(outcomes)]

    found = compare(*sides(group("v1", 50, 50), group("v2", 90, 30)), CompareOptions())
    assert found.pairing.by == "nothing" and found.flips == []
    overall = found.criteria[0].overall
    assert (overall.pairs, overall.baseline_count, overall.candidate_count) == (0, 100, 120)
    assert (
        overall.word == "better"
        and overall.difference == pytest.approx(0.25)
        and "two groups" in found.notes[0]
    )
    alike = compare(*sides(group("v1", 2, 0), group("v2", 2, 0)), CompareOptions())
    assert alike.criteria[0].overall.word == "inconclusive"


def groups(criterion, a, b):
    """Compares cases that the sides do not share: values of the runs of each case."""
    made = (
        [
            conversation(f"{side}{c}", side, {criterion: value}, n)
            for c, runs in enumerate(values)
            for n, value in enumerate(runs)
        ]
        for side, values in (("v1", a), ("v2", b))
    )
    return compare(*sides(*made), CompareOptions())


@pytest.mark.parametrize(
    "criterion, a, b, word",
    [
        (STATUS, [[P] * 20] * 2 + [[F] * 20] * 2, [[P] * 20] * 4, "inconclusive"),
        (STATUS, [[P] * 9 + [F] * 11] * 5, [[P] * 12 + [F] * 8] * 4 + [[P] * 20], "inconclusive"),
        (STATUS, [[P, F]] * 9 + [[P]], [[P, P]] * 9 + [[F]], "better"),
        ("turn_latency", [[2.0, 2.1] * 10] * 2, [[1.0, 1.1] * 10] * 2, "inconclusive"),
        ("turn_latency", [[2.0], [2.1], [2.2]] * 4, [[1.0, 1.1]] * 9 + [[1.2]], "better"),
    ],
)
def test_runs_of_a_case_are_one_case_in_groups(criterion, a, b, word):
    found = groups(criterion, a, b)
    own = found.criteria[0].overall
    assert found.pairing.by == "nothing" and own.word == word
    assert (own.baseline_count, own.candidate_count) == (sum(map(len, a)), sum(map(len, b)))
    assert (own.baseline_cases, own.candidate_cases) == (len(a), len(b))
    assert (found.baseline.cases, found.candidate.cases) == (len(a), len(b))
    if own.interval is not None and criterion == STATUS:
        assert -1 <= own.interval.low <= own.difference <= own.interval.high <= 1


@pytest.mark.parametrize(
    "a, b, word",
    [
        ([1.0] * 5, [1.001, 1.002, 1.001, 1.002, 1.001], "inconclusive"),
        ([1.0] * 6, [1.001, 1.002, 1.001, 1.002, 1.001, 1.001], "worse"),
    ],
)
def test_few_values_that_hardly_vary_say_nothing(a, b, word):
    two = only(groups(LATENCY, [[v] for v in a], [[v] for v in b]))
    for own, needed in ((by_criterion(LATENCY, a, b), "cases"), (two, "conversations a side")):
        assert own.overall.word == word
        assert (own.overall.interval is None) is (word == "inconclusive") is (own.overall.fewest == 6)
        assert (f"too few: at least 6 {needed} are needed" in own.sentence) is (word == "inconclusive")


def test_a_difference_that_would_be_seen_is_within_the_scale():
    own = only(groups(STATUS, [[P], [F]], [[P], [F]]))
    assert own.overall.detectable is None
    assert "too few to show any difference" in own.sentence
    scored = by_criterion(MATCH, [0.0, 0.99] * 3, [0.99, 0.0] * 3).overall
    assert scored.detectable is None and scored.pairs == 6


def test_a_criterion_of_one_side_is_not_compared():
    found = compared({STATUS: [P] * 3, "mine": [P] * 3}, {STATUS: [P] * 3, "other": [P] * 3})
    assert found.not_compared == {"mine": "v2 has no score of it", "other": "v1 has no score of it"}


def test_flips_have_the_reason_of_the_worse_side():
    outcomes = [(P, P), (P, F), (F, P), (P, U), (U, P), (U, U), (F, F)]
    a = [conversation(i, "v1", {"mine": own}, tags=["x"]) for i, (own, _) in enumerate(outcomes)]
    b = [conversation(i, "v2", {"mine": own}, language="ko") for i, (_, own) in enumerate(outcomes)]
    found = compare(*sides(a, b), CompareOptions()).flips
    assert [(flip.kind, flip.case, flip.reason) for flip in found] == [
        ("regressed", "e1", "mine of v2 1"),
        ("newly_missing", "e3", "mine of v2 3"),
        ("fixed", "e2", "mine of v1 2"),
        ("newly_measured", "e4", "mine of v1 4"),
    ]
    assert (found[0].tags, found[0].language) == (["x"], "ko")
    assert (found[0].baseline_share, found[0].candidate_share) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("PPPP", "PPFF", "regressed"),
        ("PPPP", "PPPF", None),
        ("PPF", "PFF", None),
        ("P" * 11, "P" * 6 + "F" * 5, None),
        ("FFFF", "PPFF", "fixed"),
        ("P" * 7 + "FFF", "PP" + "F" * 8, "regressed"),
        ("PFFFFF", "PPF", "fixed"),
        ("PPPU", "PFUU", "regressed"),
        ("PUUU", "UUUU", "newly_missing"),
    ],
)
def test_a_repeated_case_flips_from_half_of_its_decided_runs_on(before, after, kind):
    outcomes = {"P": P, "F": F, "U": U}
    a, b = (
        [conversation(1, side, {STATUS: outcomes[letter]}, n) for n, letter in enumerate(runs)]
        for side, runs in (("v1", before), ("v2", after))
    )
    found = compare(*sides(a, b), CompareOptions())
    assert [(flip.kind, flip.case) for flip in found.flips] == ([(kind, "e1")] if kind else [])
    counts = {"regressed": found.criteria[0].regressed, "fixed": found.criteria[0].fixed}
    assert counts == {name: int(name == kind) for name in counts}


def test_a_slice_that_is_worse_stands_out():
    def side(name, bad):
        return [
            conversation(i, name, {STATUS: F if bad and i % 2 else P}, language="ko" if i % 2 else "en")
            for i in range(60)
        ]

    found = compare(*sides(side("v1", False), side("v2", True)), CompareOptions(slices=("language",)))
    first, second = found.slices
    assert (first.slice, first.stands_out, first.difference.word) == ("language:ko", True, "worse")
    assert (second.slice, second.stands_out, second.difference.word) == ("language:en", False, "inconclusive")
    assert first.q <= 0.001 and -1 <= first.shrunk <= -0.5


def test_slices_are_pulled_towards_the_whole_by_how_noisy_they_are():
    """By the variance between slices of DerSimonian and Laird 1986, about the difference of the whole."""

    def side(name, by_slice, step):
        values = [by_slice[i % 3] + 0.05 * (i * step % 7) for i in range(45)]
        return [
            conversation(i, name, {"response_match_score": value}, tags=[f"s:{i % 3}"])
            for i, value in enumerate(values)
        ]

    a, b = side("v1", [0.2] * 3, 2), side("v2", [0.2, 0.3, 0.4], 3)
    found = compare(*sides(a, b), CompareOptions(slices=("s",)))
    whole, slices = only(found).overall.difference, found.slices
    widths = [one.difference.interval.high - one.difference.interval.low for one in slices]
    weights = [(2 * 1.959964 / width) ** 2 for width in widths]
    gaps = [one.difference.difference - whole for one in slices]
    excess = sum(w * gap**2 for w, gap in zip(weights, gaps, strict=True)) - 2
    between = excess / (sum(weights) - sum(w**2 for w in weights) / sum(weights))
    assert len(slices) == 3 and between > 0
    for one, gap, weight in zip(slices, gaps, weights, strict=True):
        kept = between / (between + 1 / weight)
        assert 0.05 < kept < 0.95 and one.shrunk == pytest.approx(whole + gap * kept, abs=1e-6)


@pytest.mark.parametrize(
    ("size", "alpha", "sees", "is_told"),
    [(5, 0.05, False, False), (6, 0.05, True, False), (7, 0.01, False, False), (10, 0.05, True, True)],
)
def test_few_cases_show_no_difference_and_ratios_of_quantiles_have_no_interval(size, alpha, sees, is_told):
    found = only(compare(*sides(*latencies(size)), CompareOptions(alpha=alpha)))
    assert (found.overall.detectable is not None) is sees
    assert [ratio.interval is not None for ratio in found.quantiles] == [is_told] * 3
    assert all(ratio.ratio < 0.8 for ratio in found.quantiles)


@pytest.mark.parametrize(("size", "is_known"), [(1, False), (2, True)])
def test_a_single_case_does_not_say_how_many_are_needed(size, is_known):
    found = only(compare(*sides(*latencies(size)), CompareOptions()))
    assert (found.overall.pairs_needed is not None) is is_known


@pytest.mark.parametrize(("by", "word"), [(0.1, "same"), (1.0, "inconclusive")])
def test_on_an_open_scale_the_margin_is_a_share_of_the_base(by, word):
    """2 % of 10 seconds are 0.2."""
    a = [10.0 + 0.1 * (i % 7) for i in range(40)]
    b = [seconds + by * (2 * (i % 2) - 1) for i, seconds in enumerate(a)]
    assert by_criterion(LATENCY, a, b).overall.word == word


def test_a_stricter_level_needs_more_cases_of_each_group():
    def needed(alpha):
        made = (
            [conversation(f"{side}{i}", side, {STATUS: P if i % 10 < passes else F}) for i in range(40)]
            for side, passes in (("v1", 5), ("v2", 7))
        )
        return only(compare(*sides(*made), CompareOptions(alpha=alpha))).overall.pairs_needed

    # 0.46 * (2.80, 3.42)^2 / 0.2^2, and what Fisher's test needs more (Casagrande, Pike and Smith 1978).
    assert (needed(0.05), needed(0.01)) == (101, 145)


def test_turn_indices_are_compared():
    def side(name, late):
        made = [conversation(i, name, {"response_match_score": 0.5}) for i in range(30)]
        for i, own in enumerate(made):
            noise = 0.001 * (i % 7)
            own.criteria["response_match_score"].turns = [
                TurnScore(0, 0.5 + noise, None),
                TurnScore(1, late + (noise if name == "v1" else 0), None),
            ]
        return made

    found = only(compare(*sides(side("v1", 0.8), side("v2", 0.4)), CompareOptions()))
    assert [(turn.turn_index, turn.stands_out) for turn in found.turns] == [(0, False), (1, True)]
    assert found.turns[1].difference.difference == pytest.approx(-0.4, abs=0.01)


def test_the_same_conversations_give_the_same_figures_in_any_order_and_any_run():
    runs = [(i, n) for i in range(30) for n in range(2)]
    a = [conversation(i, "v1", {STATUS: P if (i * 7 + n) % 3 else F}, n) for i, n in runs]
    b = [conversation(i, "v2", {STATUS: P if (i * 5 + n) % 4 else F}, n) for i, n in runs]
    found = compare(*sides(a, b), CompareOptions())
    turned = compare(*sides(a[::-1], b[::-1]), CompareOptions())
    assert found.criteria[0].overall == turned.criteria[0].overall
    other = ComparedSide("v1", "out", columns_of(a), ["another run"]), sides(a, b)[1]
    assert compare(*other, CompareOptions()).criteria[0].overall == found.criteria[0].overall


def test_the_same_recordings_are_named():
    for run, text in ((0, "the same recordings"), (1, "the same app version")):
        a, b = ([conversation(i, "v1", {STATUS: P}, number) for i in range(3)] for number in (0, run))
        two = (ComparedSide(name, name, columns_of(own), [name]) for name, own in (("x", a), ("y", b)))
        assert any(text in note for note in compare(*two, CompareOptions()).notes)


def test_notes_and_gates_name_what_each_version_of_a_run_lost():
    a, b = sides(*([conversation(i, name, {STATUS: P}) for i in range(3)] for name in ("v1", "v2")))
    b.rejected, b.problems, b.errors = 2, ["run r3 broke off"], {"safety_v1": 1}
    found = compare(a, b, CompareOptions())
    rejected = [
        "v2: records or conversations that were rejected, not in the figures: 2",
        "v2: run r3 broke off",
    ]
    assert found.notes[:3] == [*rejected, "v2: 1 error of safety_v1"]
    failing = fail_on_problems(found, "worse")
    assert failing == ["v2: 2 records or conversations were rejected", "v2: run r3 broke off"]
    a.rejected, a.problems = b.rejected, b.problems
    assert [note.partition(":")[0] for note in compare(a, b, CompareOptions()).notes[:2]] == ["out", "out"]


@pytest.mark.parametrize(
    ("values", "measure", "mean"), [((0.0, 1.0), "pass_rate", 0.5), ((0.5, 1.0), "mean", 0.75)]
)
def test_turns_without_a_claim_are_left_out(values, measure, mean):
    def side(version):
        for number in range(20):
            value = values[number % 2]
            claims = [TurnScore(0, value, None), TurnScore(1, value if number < 12 else -1.0, None)]
            criteria = {"hallucination": Observed(value, turns=claims)}
            yield ComparedConversation(f"{version}{number}", version, f"e{number}", criteria=criteria)

    found = only(compare(*sides(side("v1"), side("v2")), CompareOptions()))
    assert found.measure == measure
    turns = [(turn.difference.pairs, turn.difference.baseline_value) for turn in found.turns]
    assert turns == [(20, mean), (12, mean)]


BLANK = dict.fromkeys(("outcome", "threshold", "label", "reason", "explanation", "details", "judge"))


def score(eval_id, value, criterion="match"):
    named = {"run_id": "r", "conversation_id": "c", "app_version": "v", "eval_id": eval_id}
    found = {"turn_index": None, "criterion": criterion, "value": value, "revision": 0}
    return {**BLANK, **named, **found, "language": None, "tags": []}


def ended(eval_id, verdict):
    return Summary("c", "v", verdict, eval_id=eval_id)


JOINED = [
    # (case, value) of score rows, (case, verdict) of summaries -> (case, value, verdict)
    ([("a", 1.0), ("b", 0.0)], [("b", "FAIL"), ("a", "PASS")], [("b", 0.0, 0.0), ("a", 1.0, 1.0)]),
    ([("b", 0.0)], [("a", "PASS"), ("b", "FAIL")], [("a", None, 1.0), ("b", 0.0, 0.0)]),
    ([("a", 1.0)], [("b", "FAIL")], [("b", None, 0.0), ("a", 1.0, None)]),
    ([("a", 1.0), ("b", 0.0)], [(None, "PASS"), (None, "FAIL")], [("a", 1.0, 1.0), ("b", 0.0, 0.0)]),
    ([("a", 1.0), ("b", 0.0)], [(None, "FAIL"), ("a", "PASS")], [("a", 1.0, 1.0), ("b", 0.0, 0.0)]),
    ([(None, 0.5), ("a", 1.0)], [("a", "PASS"), (None, "FAIL")], [("a", 1.0, 1.0), (None, 0.5, 0.0)]),
]


@pytest.mark.parametrize(("scores", "verdicts", "expected"), JOINED)
def test_scores_are_joined_to_the_verdict_of_their_case(scores, verdicts, expected):
    found = collect([score(*one) for one in scores], [ended(*one) for one in verdicts])
    values = [[own.criteria.get(name) for name in ("match", STATUS)] for own in found]
    told = [[None if value is None else value.value for value in both] for both in values]
    assert [(own.eval_id, *both) for own, both in zip(found, told, strict=True)] == expected
