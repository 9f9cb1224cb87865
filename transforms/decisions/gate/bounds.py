"""Holds a pass rate or a mean against a bound, whatever was not decided would have been."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turnwise.schemas.calibration import Corrected
from turnwise.schemas.config import BoundRule
from turnwise.transforms.comparison.corrected import corrected_figure
from turnwise.transforms.decisions.gate.measured import (
    GatedVersion,
    GateEntry,
    Lost,
    count_sampled_out,
    counted_values,
    entries_of,
    passes,
    scale_of,
)
from turnwise.transforms.gating.words import counted, number_text, range_text, without_text
from turnwise.transforms.statistics.tests import Interval, wilson_interval


class Estimated(NamedTuple):
    """A pass rate or a mean; None: there is nothing to estimate it from.

    Attributes:
        value: The estimate.
        interval: Its interval at 95 %.
        cases: Number of cases that it is of.
    """

    value: float | None
    interval: Interval | None
    cases: int = 0


class Bounded(NamedTuple):
    """What became of a bound.

    Attributes:
        is_met: True: met whatever the undecided would have been. False: missed whatever they would have been.
            None: neither.
        seen: The estimate from what was decided, corrected by human labels if the run has them.
        figure: What human labels say; None: the run has none for it.
        not_applied: Number of conversations that the criterion measures nothing of.
        sampled_out: Number of conversations that a sample rate left out of it.
        undecided: Number of conversations, records and cases without an outcome.
        missing: Conversations that fail, or are undecided.
    """

    is_met: bool | None
    seen: Estimated
    figure: Corrected | None
    not_applied: int
    sampled_out: int
    undecided: int
    missing: list[str]


def hold_bound(rule: BoundRule, version: GatedVersion, lost: Lost, is_lenient: bool) -> Bounded:
    """Holds what a version's conversations have against a bound.

    Args:
        rule: The bound.
        version: The conversations.
        lost: What was lost; it may have been anything.
        is_lenient: Whether a rule on coverage allows for what is undecided; it is left out then.
    """
    entries = entries_of(version, rule.criterion)
    is_rate = rule.measure == "pass_rate"
    scale = (0.0, 1.0) if is_rate else scale_of(rule.criterion)
    found = [*(passes(entries) if is_rate else counted_values(entries, rule.criterion))]
    open_names = [entry.name for entry, value in found if value is None]
    failed = [entry.name for entry, _ in found if entry.found.outcome == "FAIL"]
    decided = [(entry.case, value) for entry, value in found if value is not None]
    seen = _estimate(decided, scale, is_rate)
    undecided = len(open_names) + lost.number
    ways = [seen]
    if undecided and not is_lenient:
        assumed = ([*decided, *_assumed(found, lost, value)] for value in scale or ())
        ways = [_estimate(values, scale, is_rate) for values in assumed]
    figure = corrected_figure(version.calibration, rule.criterion, rule.measure, {version.app_version})
    if figure is not None and figure.value is not None:
        left = lost.number if figure.covers == "all" else undecided
        ways = [*_corrected_ways(figure, figure.value, scale, 0 if is_lenient else left)]
        seen = Estimated(figure.value, _interval(figure), seen.cases)
    sampled_out = count_sampled_out(version, rule.criterion)
    verdicts = {_is_met(rule, way) for way in ways}
    return Bounded(
        verdicts.pop() if decided and len(verdicts) == 1 else None,
        seen,
        figure,
        len(version.conversations) - len(found) - sampled_out,
        sampled_out,
        undecided,
        [*failed, *open_names],
    )


def _corrected_ways(
    figure: Corrected, value: float, scale: tuple[float, float] | None, left: int
) -> Iterator[Estimated]:
    """Yields the corrected figure, where something is left as if all of it were at an end of the scale."""
    interval = _interval(figure)
    if not left:
        yield Estimated(value, interval)
        return
    covered = figure.scores - (0 if figure.covers == "all" else figure.undecided)
    share = left / (left + covered)
    for end in scale or ():
        ends = None if interval is None else Interval(*(one + share * (end - one) for one in interval))
        yield Estimated(value + share * (end - value), ends)


def _interval(figure: Corrected) -> Interval | None:
    return None if figure.interval is None else Interval(figure.interval.low, figure.interval.high)


def bound_text(rule: BoundRule, held: Bounded, lost: Lost) -> str:
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
    if held.undecided:
        text += f"; {held.undecided} not decided{f' ({lost.text})' if lost.text else ''}"
    return text + without_text(held.not_applied, held.sampled_out)


def _assumed(
    found: Sequence[tuple[GateEntry, float | None]], lost: Lost, value: float
) -> list[tuple[str, float]]:
    """Returns everything that is undecided, as if it had this value."""
    own = [(entry.case, value) for entry, known in found if known is None]
    return own + [(f"\0{number}", value) for number in range(lost.number)]


def _is_met(rule: BoundRule, seen: Estimated) -> bool | None:
    value = side_of(rule, seen)
    if value is None:
        return None
    return value >= rule.at_least if rule.at_least is not None else value <= (rule.at_most or 0.0)


def side_of(rule: BoundRule, seen: Estimated) -> float | None:
    """Returns what is held against the bound; None: it is not known."""
    if rule.side == "estimate":
        return seen.value
    if seen.interval is None:
        return None
    return seen.interval.low if rule.side == "lower" else seen.interval.high


def _estimate(
    values: Sequence[tuple[str, float]], scale: tuple[float, float] | None, is_rate: bool
) -> Estimated:
    """Returns the mean over cases and its 95 % interval; a case counts once, however many runs it has."""
    by_case: defaultdict[str, list[float]] = defaultdict(list)
    for case, value in values:
        by_case[case].append(value)
    if not by_case:
        return Estimated(None, None)
    means = {case: sum(own) / len(own) for case, own in by_case.items()}
    mean = sum(means.values()) / len(means)
    if is_rate:
        return Estimated(mean, _scaled_interval(mean, len(means), scale), len(means))
    from turnwise.transforms.statistics.resampling import SEED, CaseMeans  # numpy, loaded if needed

    interval = CaseMeans(means, SEED).interval()
    return Estimated(mean, interval or _scaled_interval(mean, len(means), scale), len(means))


def _scaled_interval(mean: float, cases: int, scale: tuple[float, float] | None) -> Interval | None:
    """Returns Wilson's interval, which is wide enough for values on a scale however they vary."""
    if scale is None:
        return None
    low, extent = scale[0], scale[1] - scale[0]
    found = wilson_interval((mean - low) / extent * cases, cases)
    return None if found is None else Interval(low + found.low * extent, low + found.high * extent)
