"""Holds a pass rate or a mean against a bound, whatever was not decided would have been."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from turnwise.schemas.gate_config import BoundRule
from turnwise.transforms.gating.measured import (
    GatedVersion,
    GateEntry,
    Lost,
    counted_values,
    entries_of,
    passes,
    scale_of,
)
from turnwise.transforms.statistics.interval import Interval
from turnwise.transforms.statistics.proportions import wilson_interval


class Estimated(NamedTuple):
    """A pass rate or a mean; None: there is nothing to estimate it from."""

    value: float | None
    interval: Interval | None


class Bounded(NamedTuple):
    """What became of a bound.

    Attributes:
        is_met: True: met whatever the undecided would have been. False: missed whatever they would have been.
            None: neither.
        seen: The estimate from what was decided.
        undecided: Number of conversations, records and cases without an outcome.
        missing: Conversations that fail, or are undecided.
    """

    is_met: bool | None
    seen: Estimated
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
    seen = _estimate(decided, scale, is_rate, version.run_id)
    undecided = len(open_names) + lost.number
    verdicts = {_is_met(rule, seen)}
    if undecided and not is_lenient:
        verdicts = (
            {None}
            if scale is None
            else {
                _is_met(
                    rule, _estimate([*decided, *_assumed(found, lost, value)], scale, is_rate, version.run_id)
                )
                for value in scale
            }
        )
    is_met = verdicts.pop() if len(verdicts) == 1 else None
    return Bounded(is_met if decided else None, seen, undecided, [*failed, *open_names])


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
    values: Sequence[tuple[str, float]], scale: tuple[float, float] | None, is_rate: bool, run_id: str
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
        return Estimated(mean, _scaled_interval(mean, len(means), scale))
    from turnwise.transforms.statistics.resampling import (  # numpy, loaded if needed
        CaseMeans,
        resampling_seed,
    )

    interval = CaseMeans(means, resampling_seed([run_id])).interval()
    return Estimated(mean, interval or _scaled_interval(mean, len(means), scale))


def _scaled_interval(mean: float, cases: int, scale: tuple[float, float] | None) -> Interval | None:
    """Returns Wilson's interval, which is wide enough for values on a scale however they vary."""
    if scale is None:
        return None
    low, extent = scale[0], scale[1] - scale[0]
    found = wilson_interval((mean - low) / extent * cases, cases)
    return None if found is None else Interval(low + found.low * extent, low + found.high * extent)
