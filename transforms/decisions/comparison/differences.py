"""Compares two sides: every criterion in its family, slices and turn indices, ratios of quantiles."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from turnwise.schemas import comparison
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.jsonio import grouped, listed
from turnwise.transforms.decisions.comparison import estimates, words
from turnwise.transforms.decisions.comparison.side_values import (
    CriterionMeasure,
    MatchedValues,
    SideValues,
    better_side,
    match,
    measure_of,
)
from turnwise.transforms.decisions.comparison.sides import ComparedSide, ConversationColumns
from turnwise.transforms.metrics.state import AGENT, LANGUAGE, TAG, is_wanted
from turnwise.transforms.statistics.resampling import SEED, Numbers, interpolated_quantile, resampling_weights
from turnwise.transforms.statistics.tests import benjamini_hochberg, holm, normal_quantile, shrink


def compare(a: ComparedSide, b: ComparedSide, options: estimates.CompareOptions) -> comparison.Comparison:
    """Compares a candidate (b) with a baseline (a), each with at least one conversation."""
    short = words.short_names((a.name, b.name))
    sides, (a, b) = (a, b), (msgspec.structs.replace(side, name=short[side.name]) for side in (a, b))
    matched = match(a.conversations, b.conversations, options.by)
    pairing = matched.pairing
    changes: list[comparison.SettingsChange] = words.settings_changes(a, b)
    base, other = a.conversations.criteria, b.conversations.criteria
    documents = [side.document for side in (a, b) if side.document is not None]
    thresholds = {name for document in documents for name in document.thresholds}
    names = words.in_table_order((name for name in base if name in other), documents)
    measures = [measure_of(name, [base[name], other[name]], name in thresholds) for name in names]
    missing = {name: f"{b.name} has no score of it" for name in base if name not in other}
    missing |= {name: f"{a.name} has no score of it" for name in other if name not in base}
    change = next((change for change in changes if change.criteria == [STATUS]), None)
    if not options.any_verdicts and change and any(measure.criterion == STATUS for measure in measures):
        where = f"{change.baseline} in the baseline, {change.candidate} in the candidate"
        missing[STATUS] = f"decided by different criteria ({where})"
        measures = [measure for measure in measures if measure.criterion != STATUS]
    measured = [(measure, estimates.estimate(matched, measure, options)) for measure in measures]
    if options.slices is None:
        configs = [document.config for document in documents]
        has_agents = any(AGENT in config.get("slices", ()) for config in configs)
        options = msgspec.structs.replace(options, slices=[LANGUAGE, TAG, *([AGENT] if has_agents else ())])
    slices, turns, left_out = _compare_parts(matched, measured, options)
    criteria = []
    for measure, whole in measured:
        # The words rest on p-values adjusted by Holm within each family: the verdict alone; criteria with
        # outcomes; criteria without.
        other_p: list[float] = []
        for peer, estimated in measured if measure.criterion != STATUS else ():
            is_alike = peer.has_outcomes == measure.has_outcomes and peer.criterion != STATUS
            if is_alike and peer is not measure and estimated.p is not None:
                other_p.append(estimated.p)
        result = _compare(matched, measure, whole, other_p, options)
        result = words.with_words(result, a, b, pairing, options.margin)
        result = msgspec.structs.replace(result, turns=turns.get(measure.criterion, []))
        criteria.append(estimates.with_correction(result, a, b))
    notes = words.comparison_notes(a, b, matched, changes, left_out, criteria)
    return comparison.Comparison(
        baseline=_side(sides[0], pairing.by),
        candidate=_side(sides[1], pairing.by),
        pairing=pairing,
        margin=options.margin,
        alpha=options.alpha,
        q=options.q,
        criteria=criteria,
        not_compared=missing,
        same_as_verdict=words.same_as_verdict(criteria, (a, b)),
        slices=slices,
        flips=words.flips(matched, measures) if options.details else [],
        settings_changes=changes,
        notes=[*notes, *estimates.calibration_notes(criteria, a, b)],
        word=next((result.overall.word for result in criteria if result.criterion == STATUS), None),
    )


def _side(side: ComparedSide, by: comparison.PairedBy) -> comparison.Side:
    conversations = side.conversations
    outcomes: Counter[str | None] = Counter()
    if STATUS in conversations.criteria:
        kinds = conversations.criteria[STATUS].kinds
        for kind, number in zip(kinds.values, kinds.counts().tolist(), strict=True):
            outcomes[kind.outcome if kind else None] += number
    names = conversations.own_cases() if by == "nothing" else conversations.case_names(by)
    counted = zip(names.values, names.counts().tolist(), strict=True)
    sizes = [number for name, number in counted if number and name is not None]
    return comparison.Side(
        name=side.name,
        source=side.source,
        run_ids=side.run_ids,
        app_versions=sorted(conversations.app_versions.used(), key=lambda v: (v is None, v or "")),
        conversations=len(conversations),
        cases=len(sizes),
        repeated_cases=sum(size > 1 for size in sizes),
        passed=outcomes["PASS"],
        failed=outcomes["FAIL"],
        no_verdict=len(conversations) - outcomes["PASS"] - outcomes["FAIL"],
        rejected=side.rejected,
        cut_inputs=side.cut_inputs,
        destructive=side.destructive,
        problems=[*side.problems],
        create_time=side.document.create_time if side.document else None,
    )


def _compare(
    matched: MatchedValues,
    measure: CriterionMeasure,
    whole: estimates.Estimate,
    other_p: Sequence[float],
    options: estimates.CompareOptions,
) -> comparison.CriterionComparison:
    adjusted = None if whole.p is None else holm([whole.p, *other_p])[0]
    sides, pairing = (matched.baseline, matched.candidate), matched.pairing
    is_share, is_paired = measure.measure == "pass_rate", pairing.by != "nothing"
    has_a, has_b = (side.runs(measure).counts > 0 for side in sides)
    fixed = regressed = passed = failed = unpaired = mean = None
    if is_share and is_paired:
        _, a, b = estimates.paired_values(matched, measure)
        changes = b.means - a.means
        fixed, regressed = (int((sign * changes >= words.LEAST_CHANGE).sum()) for sign in (1, -1))
        # The mean of values from 0 to 1 is 1, or 0, where all of them are.
        passed, failed = (int(((a.means == value) & (b.means == value)).sum()) for value in (1, 0))
    alone = pairing.baseline_only + pairing.candidate_only
    if is_paired and alone + pairing.baseline_unidentified + pairing.candidate_unidentified:
        # Some have no partner: over all conversations.
        group_a, group_b = (side.runs_alone(measure) for side in sides)
        groups = estimates.group_estimate(group_a, group_b, measure, options)
        unpaired = groups.as_part(estimates.word_for(groups, groups.p, measure, options))
    has_more = is_share and measure.has_outcomes and measure.criterion != STATUS
    if has_more and not all(side.observed.is_binary(measure) for side in sides):
        # The mean values say more than the outcomes.
        name, better = measure.criterion, better_side(measure.criterion)
        values = CriterionMeasure(name, "mean", measure.scale, measure.unit, better, has_outcomes=False)
        means = estimates.estimate(matched, values, options)
        mean = means.as_part(estimates.word_for(means, means.p, values, options))
    word, missing = estimates.three_readings(matched, measure, options, whole, other_p)
    voted, flipped = map(sum, zip(*(side.votes(measure) for side in sides), strict=True))
    has_quantiles = options.details and measure.unit != "score"
    quantiles = _quantile_ratios(matched, measure, options) if has_quantiles else ()
    judge = comparison.JudgeNoise(voted=voted, flipped=flipped, flip_rate=flipped / voted) if voted else None
    return comparison.CriterionComparison(
        criterion=measure.criterion,
        measure=measure.measure,
        unit=measure.unit,
        better_is=measure.better_is,
        threshold=measure.threshold,
        overall=whole.as_part(word),
        p_adjusted=adjusted,
        mid_p=whole.mid_p,
        effect=whole.effect,
        effect_kind=whole.effect_kind,
        fixed=fixed,
        regressed=regressed,
        still_passing=passed,
        still_failing=failed,
        baseline_only=int((has_a & ~has_b).sum()) if is_paired else 0,
        candidate_only=int((has_b & ~has_a).sum()) if is_paired else 0,
        unpaired=unpaired,
        mean=mean,
        missing=missing,
        quantiles=[*quantiles],
        judge=judge if options.details else None,
    )


# Differences by slice and by turn index: they point, they do not decide.


MOST_SLICES = 100
MOST_TURNS = 30
_NAMES_SHOWN = 20


class _Part(Struct, frozen=True):
    """A slice, or a turn index, of one criterion."""

    measure: CriterionMeasure
    estimate: estimates.Estimate
    slice: str = ""
    turn_index: int = -1


def _compare_parts(
    matched: MatchedValues,
    measured: Sequence[tuple[CriterionMeasure, estimates.Estimate]],
    options: estimates.CompareOptions,
) -> tuple[list[comparison.SliceDifference], dict[str, list[comparison.TurnDifference]], int]:
    """Compares every slice and turn index, each with its q-value.

    Returns the slices, those that stand out first and then by p-value, the turns by criterion, and the number
    of slices that were not compared, because there are too many.
    """
    slices, measures = _slices(matched, options.slices or ()), [measure for measure, _ in measured]
    kept = sorted(slices, key=lambda name: (-_size(slices[name]), name))[:MOST_SLICES]
    parts, of_turns = list[_Part](), list[_Part]()
    for name, measure in product(sorted(kept), measures):
        estimated = estimates.estimate(slices[name], measure, options)
        if estimated.baseline_count or estimated.candidate_count:
            parts.append(_Part(measure, estimated, name))
    for measure in measures if options.details else ():
        of_turns += islice(_of_turns(matched, measure, options), MOST_TURNS)
    # Turns apart, so that slices stand out alike where turns are not read.
    q_values = _q_values(parts) | _q_values(of_turns)
    overall = {measure.criterion: whole for measure, whole in measured}
    shrunk = _shrunk(parts, overall, options)
    differences: list[comparison.SliceDifference] = []
    turns: dict[str, list[comparison.TurnDifference]] = {}
    for part in (*parts, *of_turns):
        q = q_values.get(id(part))
        # A part is better or worse where it stands out.
        scaled = None if q is None else q * options.alpha / options.q
        difference = part.estimate.as_part(estimates.word_for(part.estimate, scaled, part.measure, options))
        turn, name, pulled = part.turn_index, part.measure.criterion, shrunk.get(id(part))
        common: dict[str, Any] = {
            "difference": difference,
            "q": q,
            "stands_out": q is not None and q < options.q,
        }
        if part.slice:
            of_slice = comparison.SliceDifference(slice=part.slice, criterion=name, shrunk=pulled, **common)
            differences.append(of_slice)
        else:
            turns.setdefault(name, []).append(comparison.TurnDifference(turn_index=turn, **common))
    differences.sort(key=lambda s: (not s.stands_out, 2.0 if s.difference.p is None else s.difference.p))
    return differences, turns, len(slices) - len(kept)


def _q_values(parts: Sequence[_Part]) -> dict[int, float]:
    """Returns the q-values of parts: over all of them, or over those of one criterion, whichever is more.

    Over all alone, a criterion that differs everywhere would let slices of the others stand out by chance.
    """
    known = [(part, p) for part in parts if (p := part.estimate.p) is not None]
    families = [known, *grouped((pair[0].measure.criterion, pair) for pair in known).values()]
    adjusted = ((family, benjamini_hochberg([p for _, p in family])) for family in families)
    largest: dict[int, float] = {}
    for family, q_values in adjusted:
        for (part, _), q in zip(family, q_values, strict=True):
            largest[id(part)] = max(q, largest.get(id(part), 0.0))
    return largest


def _size(matched: MatchedValues) -> int:
    return len(matched.names) or len(matched.baseline.rows) + len(matched.candidate.rows)


def _slices(matched: MatchedValues, wanted: Sequence[str]) -> dict[str, MatchedValues]:
    """Returns the conversations of each slice; a slice that holds everything is none."""
    if not wanted:
        return {}
    sides = matched.baseline, matched.candidate
    a, b = (_slice_names(side.observed.conversations, wanted) for side in sides)
    names = {name for side in (a, b) for part in side for name in part}
    slices = {}
    for name in names:
        in_a, in_b = (np.asarray([name in part for part in side], np.bool_) for side in (a, b))
        # A case belongs to it if any of its runs does.
        kept = matched.baseline.count(in_a) + matched.candidate.count(in_b) > 0
        cases = [case for case, is_kept in zip(matched.names, kept.tolist(), strict=True) if is_kept]
        baseline, candidate = (
            SideValues(side.observed, side.rows[is_in[side.rows]], side.cases.take(np.flatnonzero(kept)))
            for side, is_in in zip((matched.baseline, matched.candidate), (in_a, in_b), strict=True)
        )
        part = MatchedValues(cases, baseline, candidate, matched.pairing)
        if 0 < _size(part) < _size(matched):
            slices[name] = part
    return slices


def check_slices(sides: Sequence[ConversationColumns], wanted: Sequence[str]) -> None:
    """Raises ConfigError if no conversation has a slice of one of the wanted names."""
    for name in wanted:
        if not any(any(_slice_names(side, [name])) for side in sides):
            tags = {tag for side in sides for tags_of_row in side.tags.used() for tag in tags_of_row}
            has_language = any(any(side.languages) for side in sides)
            named = sorted({tag.partition(":")[0] for tag in tags if ":" in tag})
            has_agent = any(any(side.agents or ()) for side in sides)
            known = [*([LANGUAGE] if has_language else ()), *([AGENT] if has_agent else ()), *named]
            known += [TAG] if tags else []
            shown = listed(known, _NAMES_SHOWN)
            raise ConfigError(f"--slices {name}: no conversation has one (there are: {shown or 'none'})")


def _slice_names(conversations: ConversationColumns, wanted: Sequence[str]) -> list[set[str]]:
    slices = [{tag for tag in tags if is_wanted(tag, wanted)} for tags in conversations.tags]
    if LANGUAGE in wanted:
        for names, language in zip(slices, conversations.languages, strict=True):
            names |= {f"{LANGUAGE}:{language}"} if language else set()
    if AGENT in wanted and conversations.agents is not None:
        for names, agents in zip(slices, conversations.agents, strict=True):
            names |= {f"{AGENT}:{agent}" for agent in agents}
    return slices


def _of_turns(
    matched: MatchedValues, measure: CriterionMeasure, options: estimates.CompareOptions
) -> Iterator[_Part]:
    """Yields the turn indices at which both sides have scores."""
    is_paired, sides = matched.pairing.by != "nothing", (matched.baseline, matched.candidate)
    a, b = ((side if is_paired else side.alone).turn_runs(measure) for side in sides)
    for turn in sorted(a.keys() & b.keys()):
        if not is_paired:
            base_runs, other = (runs[turn].at(runs[turn].counts > 0) for runs in (a, b))
            yield _Part(measure, estimates.group_estimate(base_runs, other, measure, options), "", turn)
        elif (cases := estimates.on_both_sides(matched.names, a[turn], b[turn])).names:
            yield _Part(measure, estimates.paired_estimate(cases, measure, options), "", turn)


def _shrunk(
    parts: Sequence[_Part], overall: Mapping[str, estimates.Estimate], options: estimates.CompareOptions
) -> dict[int, float]:
    """Returns the differences of slices, pulled towards the overall one by how noisy they are."""
    by_criterion: dict[str, list[tuple[int, float, float]]] = {}
    for part in parts:
        interval, difference = part.estimate.interval, part.estimate.difference
        if interval is None or difference is None or interval.low == interval.high:
            continue
        error = (interval.high - interval.low) / 2 / normal_quantile(1 - options.alpha / 2)
        by_criterion.setdefault(part.measure.criterion, []).append((id(part), difference, error**2))
    shrunk: dict[int, float] = {}
    for criterion, entries in by_criterion.items():
        if (whole := overall[criterion].difference) is not None:
            places, differences, variances = zip(*entries, strict=True)
            shrunk |= zip(places, shrink(differences, variances, whole), strict=True)
    return shrunk


# Ratios of quantiles of latencies and counts, with bootstrap intervals over cases.

QUANTILES = (0.5, 0.9, 0.99)
_REPLICATES = 1_000
_FEWEST_REPLICATES = 200
_MOST_DRAWS = 4_000_000
_FEWEST_CASES = 10


def _quantile_ratios(
    matched: MatchedValues, measure: CriterionMeasure, options: estimates.CompareOptions
) -> Iterator[comparison.QuantileRatio]:
    """Yields the ratios of the quantiles over all single values, those of turns where there are any.

    Paired: over the cases on both sides. An interval needs 10 cases a side.
    """
    sides, names = (matched.baseline, matched.candidate), matched.names
    if matched.pairing.by == "nothing":  # every conversation is resampled by itself
        sizes = [len(side.rows) for side in sides]
        names = [f"{side} {index}" for side, size in zip("ab", sizes, strict=True) for index in range(size)]
        cases = [np.arange(sizes[0]), np.arange(sizes[0], sum(sizes))]
        rows = [side.rows for side in sides]
    else:
        cases = [np.repeat(np.arange(len(names)), side.cases.sizes) for side in sides]
        rows = [side.cases.rows for side in sides]
    ordered = []
    for side, of_side, cases_of_rows in zip(sides, rows, cases, strict=True):
        places, values = side.single_values(measure, of_side)
        order = np.argsort(values, kind="stable")
        ordered.append((cases_of_rows[places[order]], values[order]))
    (cases_a, values_a), (cases_b, values_b) = ordered
    if not len(values_a) or not len(values_b):
        return
    replicates = max(_FEWEST_REPLICATES, min(_REPLICATES, _MOST_DRAWS // max(len(values_a), len(values_b))))
    used = np.unique(cases_a), np.unique(cases_b)
    drawn: list[Numbers] = []
    if min(map(len, used)) >= _FEWEST_CASES:
        wanted = np.union1d(*used).tolist()
        weights = {case: resampling_weights(SEED, names[case], replicates) for case in wanted}
        for cases_of_values, values in ordered:
            # How many of the ascending values each replicate draws up to each of them.
            of_values = np.stack([weights[case] for case in cases_of_values.tolist()])
            counts = of_values.cumsum(axis=0, dtype=np.int32)
            quantiles = np.full((len(QUANTILES), replicates), np.nan)
            for index, quantile in enumerate(QUANTILES):
                positions = np.minimum((counts < quantile * counts[-1]).sum(axis=0), len(values) - 1)
                quantiles[index] = np.where(counts[-1] > 0, values[positions], np.nan)
            drawn.append(quantiles)
    for index, quantile in enumerate(QUANTILES):
        baseline_value, candidate_value = (interpolated_quantile(v, quantile) for v in (values_a, values_b))
        interval = None
        if drawn and not (drawn[0][index] <= 0).any():
            # A replicate that draws no case has no quantile (NaN), and is left out.
            of_replicates = np.sort(drawn[1][index] / drawn[0][index])
            known = of_replicates[~np.isnan(of_replicates)]
            tails = options.alpha / 2, 1 - options.alpha / 2
            interval = comparison.Bounds(*(interpolated_quantile(known, share) for share in tails))
        yield comparison.QuantileRatio(
            quantile=quantile,
            baseline_value=baseline_value,
            candidate_value=candidate_value,
            ratio=candidate_value / baseline_value if baseline_value else None,
            interval=interval,
        )
