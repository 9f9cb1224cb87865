"""Holds a comparison with a baseline against a margin, whatever was not measured would have been."""

from collections.abc import Sequence
from typing import NamedTuple

from turnwise.schemas.comparison import Bounds, Comparison, CriterionComparison
from turnwise.transforms.comparison.columns import ConversationColumns
from turnwise.transforms.comparison.observed import Observed
from turnwise.transforms.comparison.pairing import match
from turnwise.transforms.decisions.gate.measured import BaselineState, Lost, scale_of
from turnwise.transforms.gating.words import corrected_text, difference_text


class Held(NamedTuple):
    """What became of a comparison: True: not worse; False: worse; None: open; and why, in one line."""

    is_met: bool | None
    why: str


class _Open(NamedTuple):
    """Something that was not compared: number of cases, and what, in words."""

    number: int
    text: str


def mark_missing(a: ConversationColumns, b: ConversationColumns) -> None:
    """Marks as undecided what has a value on the other side of its case alone.

    Args:
        a: Conversations of the baseline; changed in place.
        b: Conversations of the run; changed in place.
    """
    matched = match(a, b)
    for rows_a, rows_b in zip(matched.cases_a, matched.cases_b, strict=True):
        for own, rows, other, rows_of_other in ((a, rows_a, b, rows_b), (b, rows_b, a, rows_a)):
            names = _applied(other, rows_of_other)
            for row in rows:
                for name in sorted(names - own.sampled_out[row]):
                    if not _applies(name, own.given(row, name)):
                        own.put(row, name, Observed(why="no value, and the other side has one"))


def _applied(conversations: ConversationColumns, rows: Sequence[int]) -> set[str]:
    """Returns the criteria that apply to any of some conversations."""
    names = conversations.criteria
    return {name for name in names for row in rows if _applies(name, conversations.given(row, name))}


def _applies(criterion: str, found: Observed | None) -> bool:
    """Returns whether there is a score that counts; a value below the scale (no claim) does not."""
    if found is None:
        return False
    scale = scale_of(criterion)
    return found.value is None or found.outcome is not None or scale is None or found.value >= scale[0]


def hold_baseline(
    margin: float,
    criterion: str,
    comparison: Comparison,
    state: BaselineState,
    lost: Lost,
    coverage: float | None,
) -> Held:
    """Holds the difference of a criterion from the baseline against a margin.

    Args:
        margin: Largest loss that does not matter, as a share of the scale.
        criterion: What is compared.
        comparison: The comparison with the baseline, of sides that `mark_missing` has seen.
        state: The baseline itself.
        lost: What was lost of the run.
        coverage: Share that a rule on coverage asks for; what is undecided is left out then. None: no rule.
    """
    unpaired = _why_unpaired(comparison, state)
    if unpaired:
        return Held(None, unpaired)
    own = next((one for one in comparison.criteria if one.criterion == criterion), None)
    if own is None:
        return Held(None, comparison.not_compared.get(criterion, "it is not in both runs"))
    found = [*_not_compared(comparison, state, lost)]
    is_met = _held(margin * _unit(own), own, coverage is not None)
    texts = [
        difference_text(own),
        *_too_few(own, is_met),
        *corrected_text(own),
        *(f"{one.number} {one.text}" for one in found),
    ]
    if state.problems:
        texts.append(f"the baseline itself failed: {'; '.join(state.problems)}")
        is_met = None
    elif coverage is None:
        is_met = is_met if not found or (is_met is False and _stays(margin, own, found)) else None
    elif _compared_share(own, found) < coverage:
        texts.append(f"{100 * _compared_share(own, found):.4g} % compared, {100 * coverage:.4g} % asked for")
        is_met = None
    return Held(is_met, "; ".join(texts))


def _why_unpaired(comparison: Comparison, state: BaselineState) -> str:
    """Returns why no case has a pair; "": some have."""
    pairing = comparison.pairing
    if pairing.changed and not pairing.pairs:
        return f"{pairing.changed} cases, and the expectation of none is that of the baseline"
    if pairing.by == "nothing" or not pairing.pairs:
        return f"nothing pairs: {state.cases} cases of the baseline have no conversation in the run"
    return ""


def _too_few(own: CriterionComparison, is_met: bool | None) -> list[str]:
    fewest = own.overall.fewest_alike
    return (
        [f"fewer than {fewest} cases cannot show that it is not worse"] if fewest and is_met is None else []
    )


def _not_compared(comparison: Comparison, state: BaselineState, lost: Lost) -> list[_Open]:
    """Returns what may have been the other side of a pair, or a failure."""
    pairing = comparison.pairing
    found = [
        _Open(pairing.only_a, "cases of the baseline have no conversation here"),
        _Open(pairing.changed, "cases whose expectation is not that of the baseline"),
        _Open(pairing.unidentified_a, f"conversations of the baseline have no {pairing.by}"),
        _Open(state.lost.number, f"not measured in the baseline ({state.lost.text})"),
        _Open(lost.number, f"not measured here ({lost.text})"),
    ]
    return [one for one in found if one.number]


def _compared_share(own: CriterionComparison, found: Sequence[_Open]) -> float:
    """Returns the share of cases with a value on both sides."""
    pairs = own.overall.pairs
    total = pairs + own.only_a + own.only_b + sum(one.number for one in found)
    return pairs / total if total else 0.0


def _stays(margin: float, own: CriterionComparison, found: Sequence[_Open]) -> bool:
    """Returns whether a share remains worse though all that was not compared were a gain."""
    interval, pairs = own.overall.interval, own.overall.pairs
    if interval is None or own.measure != "pass_rate":
        return False
    gained = sum(one.number for one in found)
    high = interval.high if own.better_is == "more" else -interval.low
    return (pairs * high + gained) / (pairs + gained) < -margin


def _unit(own: CriterionComparison) -> float:
    """Returns what a margin is a share of: the scale, or on an open scale the baseline's mean."""
    if own.measure == "pass_rate":
        return 1.0
    scale = scale_of(own.criterion)
    return abs(own.overall.value_a or 0.0) if scale is None else scale[1] - scale[0]


def _held(margin: float, own: CriterionComparison, is_lenient: bool) -> bool | None:
    """Returns whether it is not worse; None: the data, labels, or what is undecided, leave it open."""
    if own.better_is == "neither":
        return None
    intervals = [own.overall.interval]
    if own.undecided is not None and not is_lenient:
        readings = (own.undecided.worst_for_b, own.undecided.best_for_b)
        intervals += [None if reading is None else reading.interval for reading in readings]
    if own.corrected is not None:
        intervals.append(own.corrected.interval)
    found = {_of_interval(margin, interval, own.better_is) for interval in intervals}
    if len(found) > 1 or (found == {True} and own.overall.word != "better" and own.overall.fewest_alike):
        return None
    return found.pop()


def _of_interval(margin: float, interval: Bounds | None, better: str) -> bool | None:
    if interval is None:
        return None
    low, high = (interval.low, interval.high) if better == "more" else (-interval.high, -interval.low)
    return True if low >= -margin else False if high < -margin else None
