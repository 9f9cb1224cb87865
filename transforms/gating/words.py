"""Numbers of a gate as texts."""

from collections.abc import Iterable

from turnwise.schemas.comparison import CriterionComparison
from turnwise.transforms.statistics.tests import Interval

_MOST_NAMES = 5
_LONGEST_NAME = 60


def names_text(names: Iterable[str]) -> str:
    """Returns the first of the names, each once and in order, and the number of others."""
    found = sorted({" ".join(name.split())[:_LONGEST_NAME] or "(no name)" for name in names})
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    return ", ".join(found[:_MOST_NAMES]) + more


def number_text(value: float, is_share: bool) -> str:
    """Returns a share as a percentage, and any other number with four digits."""
    return f"{100 * value:.4g} %" if is_share else f"{value:.4g}"


def range_text(interval: Interval | None, is_share: bool) -> str:
    """Returns an interval in parentheses; empty: there is none."""
    if interval is None:
        return ""
    factor = 100 if is_share else 1
    low, high = (round(factor * end, 9) + 0.0 for end in interval)
    return f" ({low:.4g} to {high:.4g})"


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def without_text(number: int, sampled_out: int) -> str:
    """Returns of how many conversations a criterion says nothing; empty: none.

    Args:
        number: Conversations that it measures nothing of.
        sampled_out: Conversations that a sample rate left out.
    """
    text = f"; does not apply to {counted(number, 'other conversation')}" if number else ""
    return text + (f"; {sampled_out} sampled out" if sampled_out else "")


def difference_text(own: CriterionComparison) -> str:
    """Returns a difference from the baseline, with its interval and what may be said of it."""
    overall, is_share = own.overall, own.measure == "pass_rate"
    if overall.difference is None:
        return "there is no difference to be measured"
    factor, unit = (100, " points") if is_share else (1, "")
    text = f"{overall.difference * factor:+.3g}{unit}"
    if overall.interval is not None:
        text += f" ({overall.interval.low * factor:+.3g} to {overall.interval.high * factor:+.3g})"
    else:
        text += ", and its interval is not known"
    units = f"{overall.pairs} cases" if overall.pairs else f"{overall.count_b} conversations"
    text += f", {overall.word}, {units}"
    if overall.word == "cannot tell" and overall.pairs_needed:
        text += f"; this difference needs about {overall.pairs_needed:,}"
    if own.undecided is not None:
        text += (
            f"; not decided: {own.undecided.undecided_a} in the baseline, {own.undecided.undecided_b} here"
        )
    return text


def corrected_text(own: CriterionComparison) -> list[str]:
    """Returns the difference that human labels correct; empty: there is none."""
    found = own.corrected
    if found is None:
        return []
    factor, unit = (100, " points") if own.measure == "pass_rate" else (1, "")
    value, low, high = (
        f"{factor * number:+.3g}" for number in (found.difference, found.interval.low, found.interval.high)
    )
    return [f"corrected by {found.labels_a} and {found.labels_b} labels: {value}{unit} ({low} to {high})"]
