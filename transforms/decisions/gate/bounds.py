"""Holds figures against a bound, and a comparison against a margin, whatever the missing verdicts are."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turnwise.schemas.calibration import Corrected
from turnwise.schemas.comparison import Bounds, Comparison, CriterionComparison
from turnwise.schemas.config import BoundRule
from turnwise.transforms.decisions.comparison.collect import Observed
from turnwise.transforms.decisions.comparison.estimates import corrected_figure
from turnwise.transforms.decisions.comparison.sentences import counted
from turnwise.transforms.decisions.comparison.side_values import match, scale_of
from turnwise.transforms.decisions.comparison.sides import ConversationColumns
from turnwise.transforms.decisions.gate.measured import (
    BaselineState,
    GatedVersion,
    GateEntry,
    Rejected,
    corrected_text,
    count_sampled_out,
    counted_values,
    difference_text,
    entries_of,
    number_text,
    passes,
    range_text,
    without_text,
)
from turnwise.transforms.statistics.resampling import SEED, CaseMeans
from turnwise.transforms.statistics.tests import wilson_interval


class _Estimated(NamedTuple):
    """A pass rate or a mean, its interval at 95 %, and its cases; None: nothing to estimate it from."""

    value: float | None
    interval: Bounds | None
    cases: int = 0


class Bounded(NamedTuple):
    """What became of a bound.

    Attributes:
        is_met: True: met whatever those without an outcome would have been. False: missed whatever they
            would have been.
            None: neither.
        seen: The estimate from what was decided, corrected by human labels if the run has them.
        figure: What human labels say; None: the run has none for it.
        not_applied: Number of conversations that the criterion measures nothing of.
    """

    is_met: bool | None
    seen: _Estimated
    figure: Corrected | None
    not_applied: int
    sampled_out: int
    unmeasured: int
    missing: list[str]


def hold_bound(rule: BoundRule, version: GatedVersion, rejected: Rejected, is_lenient: bool) -> Bounded:
    """Holds what a version's conversations have against a bound; what was rejected may have been anything.

    Where a rule on coverage allows for what has no outcome (`is_lenient`), that is left out.
    """
    entries = entries_of(version, rule.criterion)
    is_rate = rule.measure == "pass_rate"
    scale = (0.0, 1.0) if is_rate else scale_of(rule.criterion)
    known_values = [*(passes(entries) if is_rate else counted_values(entries, rule.criterion))]
    open_names = [entry.name for entry, value in known_values if value is None]
    failed = [entry.name for entry, _ in known_values if entry.observed.outcome == "FAIL"]
    decided = [(entry.case, value) for entry, value in known_values if value is not None]
    seen = _estimate(decided, scale, is_rate)
    unmeasured = len(open_names) + rejected.number
    ways = [seen]
    if unmeasured and not is_lenient:
        assumed = ([*decided, *_assumed(known_values, rejected, value)] for value in scale or ())
        ways = [_estimate(values, scale, is_rate) for values in assumed]
    figure = corrected_figure(version.calibration, rule.criterion, rule.measure, {version.app_version})
    if figure is not None and figure.value is not None:
        left = rejected.number if figure.covers == "all" else unmeasured
        ways = [*_corrected_ways(figure, figure.value, scale, 0 if is_lenient else left)]
        seen = _Estimated(figure.value, figure.interval, seen.cases)
    sampled_out = count_sampled_out(version, rule.criterion)
    verdicts = {_is_met(rule, way) for way in ways}
    return Bounded(
        verdicts.pop() if decided and len(verdicts) == 1 else None,
        seen,
        figure,
        len(version.conversations) - len(known_values) - sampled_out,
        sampled_out,
        unmeasured,
        [*failed, *open_names],
    )


def _corrected_ways(
    figure: Corrected, value: float, scale: tuple[float, float] | None, left: int
) -> Iterator[_Estimated]:
    """Yields the corrected figure, where something is left as if all of it were at an end of the scale."""
    interval = figure.interval
    if not left:
        yield _Estimated(value, interval)
        return
    covered = figure.scores - (0 if figure.covers == "all" else figure.no_score)
    share = left / (left + covered)
    for end in scale or ():
        ends = None if interval is None else Bounds(*(limit + share * (end - limit) for limit in interval))
        yield _Estimated(value + share * (end - value), ends)


def bound_text(rule: BoundRule, held: Bounded, rejected: Rejected) -> str:
    """Returns what was seen, in one line."""
    seen, is_share = held.seen, rule.measure == "pass_rate"
    if seen.value is None:
        text = "nothing was scored"
    else:
        text = f"{number_text(seen.value, is_share)}{range_text(seen.interval, is_share)}"
        text += f", {counted(seen.cases, 'case')}"
        if side_of(rule, seen) is None:
            text += ", and its interval is not known"
    figure = held.figure
    if figure is not None and figure.value is None:
        text += f"; not corrected by its labels: {figure.reason}"
    elif figure is not None:
        raw = "" if figure.raw is None else f", {number_text(figure.raw, is_share)} by the scores"
        part = "" if figure.covers == "all" else ", of what is decided alone"
        text += f"; corrected by {counted(figure.labels, 'label')} of people{raw}{part}"
    if held.unmeasured:
        text += f"; {held.unmeasured} without an outcome{f' ({rejected.text})' if rejected.text else ''}"
    return text + without_text(held.not_applied, held.sampled_out)


def _assumed(
    values: Sequence[tuple[GateEntry, float | None]], rejected: Rejected, value: float
) -> list[tuple[str, float]]:
    """Returns everything without an outcome, as if it had this value."""
    assumed = [(entry.case, value) for entry, known in values if known is None]
    return assumed + [(f"\0{number}", value) for number in range(rejected.number)]


def _is_met(rule: BoundRule, seen: _Estimated) -> bool | None:
    value = side_of(rule, seen)
    if value is None:
        return None
    return value >= rule.at_least if rule.at_least is not None else value <= (rule.at_most or 0.0)


def side_of(rule: BoundRule, seen: _Estimated) -> float | None:
    """Returns what is held against the bound; None: it is not known."""
    if rule.side == "estimate":
        return seen.value
    if seen.interval is None:
        return None
    return seen.interval.low if rule.side == "lower" else seen.interval.high


def _estimate(
    values: Sequence[tuple[str, float]], scale: tuple[float, float] | None, is_rate: bool
) -> _Estimated:
    """Returns the mean over cases and its 95 % interval; a case counts once, however many runs it has."""
    by_case: defaultdict[str, list[float]] = defaultdict(list)
    for case, value in values:
        by_case[case].append(value)
    if not by_case:
        return _Estimated(None, None)
    means = {case: sum(scores) / len(scores) for case, scores in by_case.items()}
    mean = sum(means.values()) / len(means)
    if is_rate:
        return _Estimated(mean, _scaled_interval(mean, len(means), scale), len(means))

    interval = CaseMeans(means, SEED).interval()
    return _Estimated(mean, interval or _scaled_interval(mean, len(means), scale), len(means))


def _scaled_interval(mean: float, cases: int, scale: tuple[float, float] | None) -> Bounds | None:
    """Returns Wilson's interval, which is wide enough for values on a scale however they vary."""
    if scale is None:
        return None
    low, extent = scale[0], scale[1] - scale[0]
    share = wilson_interval((mean - low) / extent * cases, cases)
    return None if share is None else Bounds(low + share.low * extent, low + share.high * extent)


# Holds a comparison with a baseline against a margin, whatever was not measured would have been.


class _HeldMargin(NamedTuple):
    """What became of a comparison: True: not worse; False: worse; None: open; and why, in one line."""

    is_met: bool | None
    why: str


class _Open(NamedTuple):
    """Something that was not compared: number of cases, and what, in words."""

    number: int
    text: str


def mark_missing(a: ConversationColumns, b: ConversationColumns) -> None:
    """Marks as unmeasured, in place, what has a value on the other side of its case alone."""
    matched = match(a, b)
    for rows_a, rows_b in zip(matched.baseline_cases, matched.candidate_cases, strict=True):
        for side, rows, other, rows_of_other in ((a, rows_a, b, rows_b), (b, rows_b, a, rows_a)):
            given = ((name, other.given(row, name)) for name in other.criteria for row in rows_of_other)
            names = {name for name, observed in given if _applies(name, observed)}
            for row in rows:
                for name in sorted(names - side.sampled_out[row]):
                    if not _applies(name, side.given(row, name)):
                        side.put(row, name, Observed(why="no value, and the other side has one"))


def _applies(criterion: str, observed: Observed | None) -> bool:
    """Returns whether there is a score that counts; a value below the scale (no claim) does not."""
    if observed is None:
        return False
    scale = scale_of(criterion)
    return (
        observed.value is None or observed.outcome is not None or scale is None or observed.value >= scale[0]
    )


def hold_baseline(
    margin: float,
    criterion: str,
    comparison: Comparison,
    state: BaselineState,
    rejected: Rejected,
    coverage: float | None,
) -> _HeldMargin:
    """Holds the difference of a criterion from the baseline against a margin, a share of the scale.

    The comparison is of sides that `mark_missing` has seen. `coverage` is the share that a rule on coverage
    asks for; what has no outcome is left out then. None: no rule.
    """
    unpaired = _why_unpaired(comparison, state)
    if unpaired:
        return _HeldMargin(None, unpaired)
    compared = next((item for item in comparison.criteria if item.criterion == criterion), None)
    if compared is None:
        return _HeldMargin(None, comparison.not_compared.get(criterion, "it is not in both runs"))
    gaps = [*_not_compared(comparison, state, rejected)]
    is_met = _held(margin * _unit(compared), compared, coverage is not None)
    fewest = compared.overall.fewest_alike
    texts = [difference_text(compared, coverage is not None)]
    if fewest and is_met is None:
        texts.append(f"fewer than {fewest} cases cannot show that it is not worse")
    texts += [*corrected_text(compared), *(f"{item.number} {item.text}" for item in gaps)]
    if state.problems:
        texts.append(f"the baseline itself failed: {'; '.join(state.problems)}")
        is_met = None
    elif coverage is None:
        is_met = is_met if not gaps or (is_met is False and _stays(margin, compared, gaps)) else None
    elif _compared_share(compared, gaps) < coverage:
        texts.append(
            f"{100 * _compared_share(compared, gaps):.4g} % compared, {100 * coverage:.4g} % asked for"
        )
        is_met = None
    return _HeldMargin(is_met, "; ".join(texts))


def _why_unpaired(comparison: Comparison, state: BaselineState) -> str:
    """Returns why no case has a pair; "": some have."""
    pairing = comparison.pairing
    if pairing.changed and not pairing.pairs:
        return f"{pairing.changed} cases, and the expectation of none is that of the baseline"
    if pairing.by == "nothing" or not pairing.pairs:
        return f"nothing pairs: {state.cases} cases of the baseline have no conversation in the run"
    return ""


def _not_compared(comparison: Comparison, state: BaselineState, rejected: Rejected) -> list[_Open]:
    """Returns what may have been the other side of a pair, or a failure."""
    pairing = comparison.pairing
    kinds = [
        _Open(pairing.baseline_only, "cases of the baseline have no conversation here"),
        _Open(pairing.changed, "cases whose expectation is not that of the baseline"),
        _Open(pairing.baseline_unidentified, f"conversations of the baseline have no {pairing.by}"),
        _Open(state.rejected.number, f"were not measured in the baseline ({state.rejected.text})"),
        _Open(rejected.number, f"were not measured here ({rejected.text})"),
    ]
    return [kind for kind in kinds if kind.number]


def _compared_share(compared: CriterionComparison, gaps: Sequence[_Open]) -> float:
    """Returns the share of cases with a value on both sides."""
    pairs = compared.overall.pairs
    total = pairs + compared.baseline_only + compared.candidate_only + sum(kind.number for kind in gaps)
    return pairs / total if total else 0.0


def _stays(margin: float, compared: CriterionComparison, gaps: Sequence[_Open]) -> bool:
    """Returns whether a share remains worse though all that was not compared were a gain."""
    interval, pairs = compared.overall.interval, compared.overall.pairs
    if interval is None or compared.measure != "pass_rate":
        return False
    added = sum(kind.number for kind in gaps)
    high = interval.high if compared.better_is == "more" else -interval.low
    return (pairs * high + added) / (pairs + added) < -margin


def _unit(compared: CriterionComparison) -> float:
    """Returns what a margin is a share of: the scale, or on an open scale the baseline's mean."""
    if compared.measure == "pass_rate":
        return 1.0
    scale = scale_of(compared.criterion)
    return abs(compared.overall.baseline_value or 0.0) if scale is None else scale[1] - scale[0]


def _held(margin: float, compared: CriterionComparison, is_lenient: bool) -> bool | None:
    """Returns whether it is not worse; None: the data, labels, or what has no outcome, leave it open."""
    if compared.better_is == "neither":
        return None
    intervals = [compared.overall.interval]
    if compared.missing is not None and not is_lenient:
        readings = (compared.missing.worst_for_candidate, compared.missing.best_for_candidate)
        intervals += [None if reading is None else reading.interval for reading in readings]
    if compared.corrected is not None:
        intervals.append(compared.corrected.interval)
    answers = {_of_interval(margin, interval, compared.better_is) for interval in intervals}
    if len(answers) > 1 or (
        answers == {True} and compared.overall.word != "better" and compared.overall.fewest_alike
    ):
        return None
    return answers.pop()


def _of_interval(margin: float, interval: Bounds | None, better: str) -> bool | None:
    if interval is None:
        return None
    low, high = (interval.low, interval.high) if better == "more" else (-interval.high, -interval.low)
    return True if low >= -margin else False if high < -margin else None
