"""Says a difference as one sentence."""

from math import floor, log10

from turnwise.schemas.comparison import CriterionComparison, Missing, PairedBy, VersionDifference
from turnwise.schemas.config import STATUS


def sentence(found: CriterionComparison, a: str, b: str, by: PairedBy) -> str:
    """Returns what may be said of a criterion, in one sentence with the names of base and candidate."""
    overall = found.overall
    if overall.difference is None:
        lacking = [
            name for name, count in ((a, overall.baseline_count), (b, overall.candidate_count)) if not count
        ]
        why = f"{lacking[0]} has no value" if lacking else "there are too few values"
        why = "no case has a value on both sides" if len(lacking) == 2 else why
        return f"{_opening(found, a, b)}: {why}"
    figures = [difference_figures(found)]
    if by != "nothing" and found.fixed is not None and found.measure == "pass_rate":
        figures += [f"{found.fixed} fixed", f"{found.regressed} regressed"]
    if found.p_adjusted is not None:
        shown = shown_p(overall.p)
        is_other = overall.p is not None and found.p_adjusted != overall.p
        adjusted = f" (adjusted {shown_p(found.p_adjusted)})" if is_other else ""
        figures.append(f"p {'' if shown.startswith('<') else '= '}{shown}{adjusted}")
    text = f"{_opening(found, a, b)}: {', '.join(figures)}"
    missing = found.missing
    is_open = missing is not None and missing.changes_the_word
    if overall.word in ("inconclusive", "not worse") and not is_open:
        text += _sight(found, by)
    if overall.word == "inconclusive" and overall.fewest_alike is not None:
        text += f"; fewer than {overall.fewest_alike} cannot show that {b} is the same or not worse"
    alone = found.baseline_only + found.candidate_only
    if alone:
        text += f"; {alone} of the paired cases {'has' if alone == 1 else 'have'} a value on one side alone"
    if missing is not None:
        counts = f"{missing.baseline_missing} of {a}, {missing.candidate_missing} of {b}"
        text += f"; no {outcome_noun(found)}: {counts}"
    return text + (_readings(missing, b) if missing is not None and is_open else "")


def difference_figures(found: CriterionComparison) -> str:
    """Returns a difference that there is, with its interval or why it has none."""
    assert found.overall.difference is not None
    return f"{_amount(found.overall.difference, found, signed=True)}{_range(found.overall, found)}"


def needed_text(found: CriterionComparison) -> str:
    """Returns how many cases would settle a difference; "": it is settled, or no number would."""
    overall = found.overall
    if overall.word != "inconclusive" or not overall.pairs_needed or not overall.difference:
        return ""
    each = "" if overall.pairs else " of each version"
    return f"about {rounded(overall.pairs_needed)} cases{each} would settle a difference of this size"


def _readings(missing: Missing, b: str) -> str:
    """Returns how the word depends on what has no score."""
    left_out, worst, best = missing.left_out, missing.worst_for_candidate, missing.best_for_candidate
    if worst is None or best is None:
        return f"; without them: {left_out.word}; their values may lie anywhere"
    return (
        f"; without them: {left_out.word}, with them counted against {b}: {worst.word}, for it: {best.word}"
    )


def _opening(found: CriterionComparison, a: str, b: str) -> str:
    said = {
        "better": f"{b} is better than {a}",
        "worse": f"{b} is worse than {a}",
        "same": f"{b} is the same as {a} within the margin",
        "not worse": f"{b} is not worse than {a}",
        "differs": f"{b} differs from {a}",
        "inconclusive": f"{b} against {a} is inconclusive",
    }
    return said[found.overall.word]


def _sight(found: CriterionComparison, by: PairedBy) -> str:
    """Returns what would have been seen, and how many cases the difference needs."""
    overall = found.overall
    noun = "conversations" if overall.baseline_cases is None else "cases"
    unit = "pairs" if by != "nothing" else f"{noun} a side"
    if by == "nothing" and overall.baseline_cases is not None:
        count = f"{overall.baseline_cases} and {overall.candidate_cases} cases"
    elif by == "nothing":
        count = f"{overall.baseline_count} and {overall.candidate_count} conversations"
    else:
        count = "1 pair" if overall.pairs == 1 else f"{overall.pairs} pairs"
    if overall.fewest is not None:
        return f"; {count} are too few: at least {overall.fewest} {unit} are needed"
    if overall.detectable is None:
        seen = f"; {count} cannot show any difference"
        if found.measure == "pass_rate":
            seen += ": it would have to be more than the whole scale"
    else:
        seen = f"; with {count} a change of {_amount(overall.detectable, found)} would have been seen"
    if not overall.pairs_needed or not overall.difference:
        return seen
    needed = f"{_amount(abs(overall.difference), found)} need about {rounded(overall.pairs_needed)} {unit}"
    return f"{seen}; {needed}"


def shown_p(p: float | None) -> str:
    """Returns a p-value with two digits."""
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"


def rounded(number: int) -> str:
    """Returns a number with two significant digits and thousands separators: 5085 is 5,100."""
    digits = floor(log10(number)) - 1 if number >= 100 else 0
    return f"{round(number / 10**digits) * 10**digits:,}"


def decimals(value: float | None, measure: str, unit: str) -> int:
    """Returns with how many decimals a value is shown: so many that it is not shown as 0, at most 6."""
    least = 1 if measure == "pass_rate" else {"seconds": 2, "count": 1, "money": 2}.get(unit, 3)
    shown = abs(value or 0.0) * (100 if measure == "pass_rate" else 1)
    return least if not shown or round(shown, least) else min(6, 1 - floor(log10(shown)))


def amount(value: float, measure: str, unit: str, *, signed: bool = False, digits: int | None = None) -> str:
    """Returns a value or difference with its unit; shares in percentage points.

    A positive number has a sign only if `signed`. `digits`: number of decimals; None: those of `decimals`.
    """
    digits = decimals(value, measure, unit) if digits is None else digits
    factor, name = (100, " points") if measure == "pass_rate" else (1, " s" if unit == "seconds" else "")
    text = f"{factor * value:{'+' if signed else ''}.{digits}f}"
    return (text.lstrip("+-") if not text.strip("+-0.") else text) + name


def _amount(
    value: float, found: CriterionComparison, *, signed: bool = False, digits: int | None = None
) -> str:
    return amount(value, found.measure, found.unit, signed=signed, digits=digits)


def _range(overall: VersionDifference, found: CriterionComparison) -> str:
    bounds = overall.interval
    if bounds is None:
        return " (no interval)" if overall.fewest else " (no interval: the values do not vary)"
    digits = decimals(overall.difference, found.measure, found.unit)
    low, high = (_amount(bound, found, signed=True, digits=digits) for bound in (bounds.low, bounds.high))
    return f" ({low.removesuffix(' points').removesuffix(' s')} to {high.removesuffix(' points')})"


def outcome_noun(found: CriterionComparison) -> str:
    """Returns what a conversation has by a criterion: a verdict or a score."""
    return "verdict" if found.criterion == STATUS else "score"


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
