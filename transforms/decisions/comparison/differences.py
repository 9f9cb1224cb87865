"""Compares two sides: every criterion in its family, slices and turn indices, ratios of quantiles."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
from msgspec import Struct

from turnwise.schemas.comparison import (
    Comparison,
    ComparisonWord,
    CriterionComparison,
    JudgeNoise,
    PairedBy,
    QuantileRatio,
    RulerChange,
    Side,
    SliceDifference,
    TurnDifference,
    VersionDifference,
)
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.transforms.decisions.comparison.estimates import (
    Estimate,
    PairedRuns,
    Setup,
    bounds_of,
    calibration_notes,
    difference_of,
    paired_estimate,
    with_correction,
    word_for,
)
from turnwise.transforms.decisions.comparison.sentences import sentence
from turnwise.transforms.decisions.comparison.side_values import (
    CriterionMeasure,
    MatchedValues,
    SideValues,
    match,
    measure_of,
    value_direction,
    values_of,
)
from turnwise.transforms.decisions.comparison.sides import ComparedSide, ConversationColumns, Integers
from turnwise.transforms.decisions.comparison.values import (
    estimate,
    group_estimate,
    group_values,
    lasting_word,
    paired_values,
    three_readings,
)
from turnwise.transforms.decisions.comparison.words import comparison_notes, flips, ruler_changes
from turnwise.transforms.metrics.repeats import LANGUAGE, TAG, is_wanted
from turnwise.transforms.statistics.resampling import SEED, Numbers, interpolated_quantile, resampling_weights
from turnwise.transforms.statistics.tests import Interval, benjamini_hochberg, holm, normal_quantile


class CompareOptions(Struct, frozen=True):
    """What a comparison is asked for.

    Attributes:
        by: What pairs conversations; None: the id that pairs most cases.
        margin: Largest difference that does not matter, as a share of the scale, 0..1.
        alpha: Level of significance of what decides, between 0 and 1.
        q: Level of the false discovery rate of what points, between 0 and 1.
        any_verdicts: Whether verdicts are compared although different criteria decide them.
    """

    by: PairedBy | None = None
    margin: float = 0.02
    alpha: float = 0.05
    q: float = 0.1
    slices: Sequence[str] = ()
    any_verdicts: bool = False
    details: bool = True


def compare(a: ComparedSide, b: ComparedSide, options: CompareOptions) -> Comparison:
    """Compares B with A, each with at least one conversation."""
    setup = Setup(options.alpha, options.margin, options.q, SEED, options.details)
    paired = match(a.conversations, b.conversations, options.by)
    matched, pairing = values_of(paired), paired.pairing
    changes: list[RulerChange] = ruler_changes(a, b)
    measures, missing = _measures(a, b)
    if not options.any_verdicts:
        measures = _without_verdicts(measures, missing, changes)
    measured = [Measured(measure, estimate(matched, measure, setup)) for measure in measures]
    overall = [(one.measure, one.estimate) for one in measured]
    parts = _compare_parts(matched, overall, options.slices, setup) if options.details else NO_PARTS
    criteria = _compare_criteria(matched, measured, parts.turns, setup, (a.name, b.name))
    criteria = [with_correction(own, a, b) for own in criteria]
    return Comparison(
        a=_side(a, pairing.by),
        b=_side(b, pairing.by),
        pairing=pairing,
        margin=options.margin,
        alpha=options.alpha,
        q=options.q,
        criteria=criteria,
        not_compared=missing,
        slices=parts.slices,
        flips=flips(matched, measures) if options.details else [],
        ruler=changes,
        notes=[*comparison_notes(a, b, paired, changes, parts.left_out), *calibration_notes(criteria, a, b)],
        word=next((own.overall.word for own in criteria if own.criterion == STATUS), None),
    )


def _measures(a: ComparedSide, b: ComparedSide) -> tuple[list[CriterionMeasure], dict[str, str]]:
    """Returns what is compared, verdicts first, and why other criteria are not."""
    own, other = a.conversations.criteria, b.conversations.criteria
    names = sorted((name for name in own if name in other), key=lambda name: name != STATUS)
    thresholds = {
        name
        for side in (a, b)
        if side.document is not None
        for name, settings in side.document.criteria.items()
        if settings.get("threshold") is not None
    }
    missing = {name: f"{b.name} has no score of it" for name in own if name not in other}
    missing |= {name: f"{a.name} has no score of it" for name in other if name not in own}
    return [measure_of(name, [own[name], other[name]], name in thresholds) for name in names], missing


def _without_verdicts(
    measures: list[CriterionMeasure], missing: dict[str, str], changes: Sequence[RulerChange]
) -> list[CriterionMeasure]:
    """Returns the measures without the verdicts, and adds the reason, if different criteria decide them."""
    change = next((change for change in changes if change.criteria == [STATUS]), None)
    if change is None or all(measure.criterion != STATUS for measure in measures):
        return measures
    missing[STATUS] = f"decided by different criteria ({change.a} for A, {change.b} for B)"
    return [measure for measure in measures if measure.criterion != STATUS]


def _side(side: ComparedSide, by: PairedBy) -> Side:
    conversations = side.conversations
    passed, failed = (_verdicts(conversations, outcome) for outcome in ("PASS", "FAIL"))
    names = conversations.own_cases() if by == "nothing" else conversations.case_names(by)
    counted = zip(names.values, names.counts().tolist(), strict=True)
    sizes = [number for name, number in counted if number and name is not None]
    return Side(
        name=side.name,
        source=side.source,
        run_ids=side.run_ids,
        app_versions=sorted(conversations.app_versions.used(), key=lambda v: (v is None, v or "")),
        conversations=len(conversations),
        cases=len(sizes),
        repeated_cases=sum(size > 1 for size in sizes),
        passed=passed,
        failed=failed,
        undecided=len(conversations) - passed - failed,
        lost=side.lost,
        problems=[*side.problems],
        create_time=side.document.create_time if side.document else None,
    )


def _verdicts(conversations: ConversationColumns, outcome: str) -> int:
    """Returns the number of verdicts of one kind."""
    found = conversations.criteria.get(STATUS)
    return 0 if found is None else int(found.where(lambda kind: kind.outcome == outcome).sum())


# Compares all criteria of two sides, each in its family.


class Measured(msgspec.Struct, frozen=True):
    """One criterion with its difference over everything.

    Attributes:
        family: Criteria whose p-values are adjusted together: the verdicts alone; those with outcomes; those
            without.
    """

    measure: CriterionMeasure
    estimate: Estimate

    @property
    def family(self) -> str:
        """Name of the family."""
        if self.measure.criterion == STATUS:
            return "verdicts"
        return "outcomes" if self.measure.has_outcomes else "values"


def _compare_criteria(
    matched: MatchedValues,
    measured: Sequence[Measured],
    turns: Mapping[str, Sequence[TurnDifference]],
    setup: Setup,
    names: tuple[str, str],
) -> list[CriterionComparison]:
    """Returns the compared criteria; the words rest on p-values adjusted by Holm within each family."""
    found = []
    for one in measured:
        others = [
            other.estimate.p
            for other in measured
            if other is not one and other.family == one.family and other.estimate.p is not None
        ]
        own = _compare(matched, one, others, list(turns.get(one.measure.criterion, ())), setup)
        said = sentence(own, *names, matched.pairing.by)
        found.append(msgspec.structs.replace(own, sentence=said))
    return found


def _compare(
    matched: MatchedValues,
    one: Measured,
    other_p: Sequence[float],
    turns: list[TurnDifference],
    setup: Setup,
) -> CriterionComparison:
    measure, whole = one.measure, one.estimate
    adjusted = None if whole.p is None else holm([whole.p, *other_p])[0]
    is_share, is_paired = measure.measure == "pass_rate", matched.pairing.by != "nothing"
    counts = _sides_alone(matched, measure) if is_paired else (0, 0)
    both = _both(matched, measure) if is_share and is_paired else (None, None)
    undecided = three_readings(matched, measure, setup, whole, other_p)
    said = lasting_word(word_for(whole, adjusted, measure, setup), undecided)
    with_quantiles = setup.details and measure.unit != "score"
    return CriterionComparison(
        criterion=measure.criterion,
        measure=measure.measure,
        unit=measure.unit,
        better_is=measure.better_is,
        threshold=measure.threshold,
        overall=difference_of(whole, said),
        p_adjusted=adjusted,
        mid_p=whole.mid_p,
        effect=whole.effect,
        effect_kind=whole.effect_kind,
        gained=whole.higher,
        lost=whole.lower,
        both_pass=both[0],
        both_fail=both[1],
        only_a=counts[0],
        only_b=counts[1],
        unpaired=_unpaired(matched, measure, setup) if is_paired else None,
        mean=_mean(matched, measure, setup) if measure.has_more_values and is_share else None,
        undecided=undecided,
        quantiles=_quantile_ratios(matched, measure, setup) if with_quantiles else [],
        turns=turns,
        judge=_judge_noise(matched, measure) if setup.details else None,
    )


def _sides_alone(matched: MatchedValues, measure: CriterionMeasure) -> tuple[int, int]:
    """Returns how many paired cases have a value on one side alone: in A, in B."""
    has_a, has_b = (side.runs(measure).counts > 0 for side in (matched.a, matched.b))
    return int((has_a & ~has_b).sum()), int((has_b & ~has_a).sum())


def _both(matched: MatchedValues, measure: CriterionMeasure) -> tuple[int, int]:
    """Returns how many paired cases pass in all runs of both sides, and how many fail in all."""
    _, a, b = paired_values(matched, measure)
    # The mean of values from 0 to 1 is 1, or 0, where all of them are.
    passed, failed = (int(((a.means == value) & (b.means == value)).sum()) for value in (1, 0))
    return passed, failed


def _unpaired(matched: MatchedValues, measure: CriterionMeasure, setup: Setup) -> VersionDifference | None:
    """Returns the difference over all conversations, if some have no partner."""
    pairing = matched.pairing
    if not (pairing.only_a or pairing.only_b or pairing.unidentified_a or pairing.unidentified_b):
        return None
    found = group_estimate(group_values(matched.a, measure), group_values(matched.b, measure), measure, setup)
    return difference_of(found, word_for(found, found.p, measure, setup))


def _mean(matched: MatchedValues, measure: CriterionMeasure, setup: Setup) -> VersionDifference | None:
    """Returns the difference of the mean values beside that of the outcomes, if they say more."""
    if all(side.observed.is_binary(measure) for side in (matched.a, matched.b)):
        return None
    values = measure.as_mean(value_direction(measure.criterion))
    found = estimate(matched, values, setup)
    return difference_of(found, word_for(found, found.p, values, setup))


def _judge_noise(matched: MatchedValues, measure: CriterionMeasure) -> JudgeNoise | None:
    votes = [side.votes(measure) for side in (matched.a, matched.b)]
    voted, flipped = (sum(numbers) for numbers in zip(*votes, strict=True))
    return JudgeNoise(voted=voted, flipped=flipped, flip_rate=flipped / voted) if voted else None


# Differences by slice and by turn index: they point, they do not decide.


MOST_SLICES = 100
MOST_TURNS = 30
_NAMES_SHOWN = 20


class _Part(Struct, frozen=True):
    """A slice, or a turn index, of one criterion."""

    measure: CriterionMeasure
    estimate: Estimate
    slice: str = ""
    turn_index: int = -1


class Parts(Struct, frozen=True):
    """Where the versions differ.

    Attributes:
        slices: Those that stand out first, then by p-value.
        left_out: Number of slices that were not compared, because there are too many.
    """

    slices: list[SliceDifference]
    turns: dict[str, list[TurnDifference]]
    left_out: int


NO_PARTS = Parts([], {}, 0)


def _compare_parts(
    matched: MatchedValues,
    overall: Sequence[tuple[CriterionMeasure, Estimate]],
    wanted: Sequence[str],
    setup: Setup,
) -> Parts:
    """Compares every slice and turn index, with q-values over all of them together."""
    slices = _slices(matched, wanted)
    kept = sorted(slices, key=lambda name: (-_size(slices[name]), name))[:MOST_SLICES]
    parts = [part for name in sorted(kept) for part in _of_slice(name, slices[name], overall, setup)]
    parts += [part for measure, _ in overall for part in _of_turns(matched, measure, setup)]
    with_p = [part for part in parts if part.estimate.p is not None]
    q_values = benjamini_hochberg([part.estimate.p or 0.0 for part in with_p])
    q_of = {id(part): q for part, q in zip(with_p, q_values, strict=True)}
    shrunk = _shrunk(
        [part for part in parts if part.slice], dict((m.criterion, e) for m, e in overall), setup
    )
    found = [_slice(part, q_of.get(id(part)), shrunk.get(id(part)), setup) for part in parts if part.slice]
    turns: dict[str, list[TurnDifference]] = {}
    for part in parts:
        if not part.slice:
            turns.setdefault(part.measure.criterion, []).append(_turn(part, q_of.get(id(part)), setup))
    ordered = sorted(
        found, key=lambda s: (not s.stands_out, 2.0 if s.difference.p is None else s.difference.p)
    )
    return Parts(ordered, turns, len(slices) - len(kept))


def _size(matched: MatchedValues) -> int:
    return len(matched.names) or len(matched.a.rows) + len(matched.b.rows)


def _slices(matched: MatchedValues, wanted: Sequence[str]) -> dict[str, MatchedValues]:
    """Returns the conversations of each slice; a slice that holds everything is none."""
    if not wanted:
        return {}
    a, b = (_slice_names(side.observed.conversations, wanted) for side in (matched.a, matched.b))
    names = {name for side in (a, b) for own in side for name in own}
    found = {name: _within(matched, [name in own for own in a], [name in own for own in b]) for name in names}
    return {name: own for name, own in found.items() if 0 < _size(own) < _size(matched)}


def check_slices(sides: Sequence[ConversationColumns], wanted: Sequence[str]) -> None:
    """Raises ConfigError if no conversation has a slice of one of the wanted names."""
    for name in wanted:
        if not any(any(_slice_names(side, [name])) for side in sides):
            tags = {tag for side in sides for own in side.tags.used() for tag in own}
            has_language = any(any(side.languages) for side in sides)
            named = sorted({tag.partition(":")[0] for tag in tags if ":" in tag})
            known = [*([LANGUAGE] if has_language else ()), *named, *([TAG] if tags else ())]
            shown = ", ".join(known[:_NAMES_SHOWN]) + (", ..." if len(known) > _NAMES_SHOWN else "")
            raise ConfigError(f"--slices {name}: no conversation has one (there are: {shown or 'none'})")


def _slice_names(conversations: ConversationColumns, wanted: Sequence[str]) -> list[set[str]]:
    found = [{tag for tag in tags if is_wanted(tag, wanted)} for tags in conversations.tags]
    if LANGUAGE in wanted:
        for names, language in zip(found, conversations.languages, strict=True):
            names |= {f"{LANGUAGE}:{language}"} if language else set()
    return found


def _within(matched: MatchedValues, is_in_a: Sequence[bool], is_in_b: Sequence[bool]) -> MatchedValues:
    """Returns the part of the conversations in a slice; a case belongs to it if any of its runs does."""
    own, other = np.asarray(is_in_a, np.bool_), np.asarray(is_in_b, np.bool_)
    kept = matched.a.count(own) + matched.b.count(other) > 0
    names = [name for name, is_kept in zip(matched.names, kept.tolist(), strict=True) if is_kept]
    return MatchedValues(names, matched.a.within(own, kept), matched.b.within(other, kept), matched.pairing)


def _of_slice(
    name: str, matched: MatchedValues, overall: Sequence[tuple[CriterionMeasure, Estimate]], setup: Setup
) -> Iterator[_Part]:
    for measure, _ in overall:
        found = estimate(matched, measure, setup)
        if found.count_a or found.count_b:
            yield _Part(measure, found, slice=name)


def _of_turns(matched: MatchedValues, measure: CriterionMeasure, setup: Setup) -> Iterator[_Part]:
    """Yields the turn indices at which both sides have scores."""
    is_paired = matched.pairing.by != "nothing"
    a, b = ((side if is_paired else side.alone).turn_runs(measure) for side in (matched.a, matched.b))
    number = 0
    for turn in sorted(a.keys() & b.keys()):
        own, other = a[turn], b[turn]
        if not is_paired:
            own, other = own.at(own.counts > 0), other.at(other.counts > 0)
            found = group_estimate(own, other, measure, setup)
        else:
            kept = (own.counts > 0) & (other.counts > 0)
            names = [matched.names[place] for place in np.flatnonzero(kept).tolist()]
            if not names:
                continue
            found = paired_estimate(PairedRuns(names, own.at(kept), other.at(kept)), measure, setup)
        yield _Part(measure, found, "", turn)
        number += 1
        if number == MOST_TURNS:
            return


def _shrunk(parts: Sequence[_Part], overall: Mapping[str, Estimate], setup: Setup) -> dict[int, float]:
    """Returns the differences of slices, pulled towards the overall one by how noisy they are.

    Empirical Bayes: the variance between the slices of a criterion is that of DerSimonian and Laird 1986.
    """
    found: dict[int, float] = {}
    for criterion, whole in overall.items():
        own = [part for part in parts if part.measure.criterion == criterion and _variance(part, setup)]
        if whole.difference is None or not own:
            continue
        weights = [1 / _variance(part, setup) for part in own]
        gaps = [(part.estimate.difference or 0.0) - whole.difference for part in own]
        total, squares = sum(weights), sum(w * w for w in weights)
        excess = sum(w * gap * gap for w, gap in zip(weights, gaps, strict=True)) - (len(own) - 1)
        scale = total - squares / total
        between = max(0.0, excess / scale) if scale > 0 else 0.0
        for part, weight, gap in zip(own, weights, gaps, strict=True):
            found[id(part)] = whole.difference + gap * between / (between + 1 / weight)
    return found


def _variance(part: _Part, setup: Setup) -> float:
    """Returns the variance of a difference, from its interval; 0: not known."""
    interval = part.estimate.interval
    if interval is None or part.estimate.difference is None:
        return 0.0
    return ((interval.high - interval.low) / 2 / normal_quantile(1 - setup.alpha / 2)) ** 2


def _slice(part: _Part, q: float | None, shrunk: float | None, setup: Setup) -> SliceDifference:
    return SliceDifference(
        slice=part.slice,
        criterion=part.measure.criterion,
        difference=difference_of(part.estimate, _word(part, q, setup)),
        shrunk=shrunk,
        q=q,
        stands_out=_stands_out(q, setup),
    )


def _turn(part: _Part, q: float | None, setup: Setup) -> TurnDifference:
    return TurnDifference(
        turn_index=part.turn_index,
        difference=difference_of(part.estimate, _word(part, q, setup)),
        q=q,
        stands_out=_stands_out(q, setup),
    )


def _word(part: _Part, q: float | None, setup: Setup) -> ComparisonWord:
    """Returns the word of a part; it is better or worse where it stands out."""
    scaled = None if q is None else q * setup.alpha / setup.q
    return word_for(part.estimate, scaled, part.measure, setup)


def _stands_out(q: float | None, setup: Setup) -> bool:
    return q is not None and q < setup.q


# Ratios of quantiles of latencies and counts, with bootstrap intervals over cases.

QUANTILES = (0.5, 0.9, 0.99)
_REPLICATES = 1_000
_FEWEST_REPLICATES = 200
_MOST_DRAWS = 4_000_000
_FEWEST_CASES = 10


class _Values(Struct, eq=False):
    """The values of one side in ascending order, each with the place of its case among all cases."""

    cases: Integers
    values: Numbers


def _quantile_ratios(matched: MatchedValues, measure: CriterionMeasure, setup: Setup) -> list[QuantileRatio]:
    """Returns the ratios of the quantiles over all single values, those of turns where there are any.

    Paired: over the cases on both sides. An interval needs 10 cases a side.
    """
    if matched.pairing.by == "nothing":  # every conversation is resampled by itself
        sizes = len(matched.a.rows), len(matched.b.rows)
        names = [f"{side} {place}" for side, size in zip("ab", sizes, strict=True) for place in range(size)]
        cases = np.arange(sizes[0]), np.arange(sizes[0], sum(sizes))
        rows = matched.a.rows, matched.b.rows
    else:
        names = matched.names
        places = np.arange(len(names))
        cases = np.repeat(places, matched.a.cases.sizes), np.repeat(places, matched.b.cases.sizes)
        rows = matched.a.cases.rows, matched.b.cases.rows
    sides = zip((matched.a, matched.b), rows, cases, strict=True)
    a, b = (_ordered(side, own, of, measure) for side, own, of in sides)
    if not len(a.values) or not len(b.values):
        return []
    replicates = max(_FEWEST_REPLICATES, min(_REPLICATES, _MOST_DRAWS // max(len(a.cases), len(b.cases))))
    used = [np.unique(own.cases) for own in (a, b)]
    is_enough = min(map(len, used)) >= _FEWEST_CASES
    wanted = np.union1d(*used).tolist() if is_enough else []
    weights = {case: resampling_weights(setup.seed, names[case], replicates) for case in wanted}
    drawn = [_drawn(own, weights, replicates) if is_enough else None for own in (a, b)]
    return [_ratio(place, a, b, drawn, setup) for place in range(len(QUANTILES))]


def _ordered(side: SideValues, rows: Integers, cases: Integers, measure: CriterionMeasure) -> _Values:
    places, values = side.single_values(measure, rows)
    order = np.argsort(values, kind="stable")
    return _Values(cases[places[order]], values[order])


def _drawn(own: _Values, weights: Mapping[int, "np.typing.NDArray[np.uint8]"], replicates: int) -> Numbers:
    """Returns the quantiles of every replicate; an array of (quantiles, replicates)."""
    counts = np.stack([weights[case] for case in own.cases.tolist()]).cumsum(axis=0, dtype=np.int32)
    totals = counts[-1]
    found = np.full((len(QUANTILES), replicates), np.nan)
    for place, quantile in enumerate(QUANTILES):
        positions = np.minimum((counts < quantile * totals).sum(axis=0), len(own.values) - 1)
        found[place] = np.where(totals > 0, own.values[positions], np.nan)
    return found


def _ratio(
    place: int, a: _Values, b: _Values, drawn: Sequence[Numbers | None], setup: Setup
) -> QuantileRatio:
    quantile = QUANTILES[place]
    value_a, value_b = (interpolated_quantile(own.values, quantile) for own in (a, b))
    return QuantileRatio(
        quantile=quantile,
        value_a=value_a,
        value_b=value_b,
        ratio=value_b / value_a if value_a else None,
        interval=bounds_of(_interval(drawn, place, setup)),
    )


def _interval(drawn: Sequence[Numbers | None], place: int, setup: Setup) -> Interval | None:
    own, other = drawn
    # A replicate that draws no case has no quantile (NaN), and is left out.
    if own is None or other is None or (own[place] <= 0).any():
        return None
    ratios = np.sort(other[place] / own[place])
    known = ratios[~np.isnan(ratios)]
    tails = setup.alpha / 2, 1 - setup.alpha / 2
    return Interval(*(interpolated_quantile(known, share) for share in tails))
