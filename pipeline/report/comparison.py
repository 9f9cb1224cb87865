"""Shows a comparison on the terminal."""

from collections import Counter
from collections.abc import Sequence
from textwrap import wrap

from turnwise.pipeline.io.terminal import clipped, columns, counted, padded, printable
from turnwise.schemas.comparison import Comparison, CriterionComparison, Flip, Side, VersionDifference
from turnwise.transforms.decisions.comparison.sentences import amount, decimals, shown_p
from turnwise.transforms.scoring.evaluate import STATUS

_GAP = "  "
_NARROWEST = 12
_FLIPS_SHOWN = 10
_SLICES_SHOWN = 5
_DROPPED = (4, 1, 2)
"""Columns that a narrow terminal leaves out, in this order: p, A, B."""


def comparison_text(found: Comparison, width: int) -> str:
    """Returns a comparison as text.

    Args:
        found: The comparison.
        width: Columns of the terminal.
    """
    lines = [
        *_wrapped(f"A: {side_text(found.a)}", width),
        *_wrapped(f"B: {side_text(found.b)}", width),
        *_wrapped(pairing_text(found), width),
        "",
        *criteria_table(found, width),
        "",
    ]
    parts = [
        *(f"{own.criterion}: {own.sentence}" for own in found.criteria),
        *(f"{name}: not compared: {why}" for name, why in found.not_compared.items()),
        *_slices(found),
        families_text(found),
        *(f"note: {note}" for note in found.notes),
    ]
    lines += [line for part in parts for line in _wrapped(part, width)]
    return "\n".join([*lines, *_flips(found, width)])


def _wrapped(text: str, width: int) -> list[str]:
    """Returns a text in lines of at most the width, the later ones indented."""
    return wrap(printable(text), max(width, _NARROWEST), subsequent_indent="  ", break_on_hyphens=False)


def side_text(side: Side) -> str:
    """Returns one line about a side."""
    decided = f"{side.passed} passed, {side.failed} failed, {side.undecided} undecided"
    text = f"{side.name}: {counted(side.conversations, 'conversation')} ({decided}), {side.source}"
    if side.lost:
        text += f"; {side.lost} records or conversations lost"
    if side.problems:
        more = f", and {len(side.problems) - 1} more" if len(side.problems) > 1 else ""
        text += f"; {failed_text(side)}{side.problems[0]}{more}"
    return text


def failed_text(side: Side) -> str:
    """Returns what stands before a problem of a side; of a store, the problem names its run."""
    return "the run failed: " if side.create_time else ""


def pairing_text(found: Comparison) -> str:
    """Returns one line about the pairs."""
    pairing = found.pairing
    if pairing.by == "nothing":
        return "not paired: two groups"
    alone = f"{pairing.only_a} in A alone, {pairing.only_b} in B alone"
    if pairing.unidentified_a or pairing.unidentified_b:
        alone += f", {pairing.unidentified_a + pairing.unidentified_b} conversations without one"
    if pairing.changed:
        alone += f"; {counted(pairing.changed, 'case')} left out, whose expectation differs"
    return f"{counted(pairing.pairs, 'pair')} by {pairing.by}; {alone}"


def families_text(found: Comparison) -> str:
    """Returns one line about levels and adjustments."""
    return (
        f"margin {found.margin:g} of the scale, level {found.alpha:g}; p adjusted by Holm over the criteria "
        f"with outcomes, and over those without; slices and turns by Benjamini-Hochberg, q {found.q:g}"
    )


def criteria_table(found: Comparison, width: int) -> list[str]:
    """Returns the table of criteria, fitted to the terminal."""
    lines = [["", f"A {found.a.name}", f"B {found.b.name}", "difference", "p", ""]]
    lines += [_line(own) for own in found.criteria]
    lines = [[printable(cell) for cell in line] for line in lines]
    for dropped in range(len(_DROPPED) + 1):
        kept = [place for place in range(len(lines[0])) if place not in _DROPPED[:dropped]]
        fitted = _fitted([[line[place] for place in kept] for line in lines], width)
        if fitted is not None:
            return fitted
    return [printable(f"{line[0]}: {line[-1]}", max(width, _NARROWEST)) for line in lines[1:]]


def _line(own: CriterionComparison) -> list[str]:
    overall = own.overall
    values = [value_text(value, own) for value in (overall.value_a, overall.value_b)]
    return [own.criterion, *values, difference_text(overall, own), shown_p(own.p_adjusted), overall.word]


def value_text(value: float | None, own: CriterionComparison) -> str:
    """Returns a share or mean; a dash where there is none.

    Where something is undecided, with the number of pairs behind it: those decided on both sides.
    """
    if value is None:
        return "-"
    overall, digits = own.overall, decimals(own.overall.difference, own.measure, own.unit)
    shown = (
        f"{value:.1%}" if own.measure == "pass_rate" else amount(value, own.measure, own.unit, digits=digits)
    )
    is_part = bool(overall.pairs) and (own.undecided is not None or own.only_a or own.only_b)
    return f"{shown} of {overall.pairs}" if is_part else shown


def difference_text(found: VersionDifference, own: CriterionComparison) -> str:
    """Returns a difference with its interval; a dash where there is none."""
    if found.difference is None:
        return "-"
    scale = 100 if own.measure == "pass_rate" else 1
    digits = decimals(found.difference, own.measure, own.unit)
    unit = " pt" if own.measure == "pass_rate" else " s" if own.unit == "seconds" else ""
    value = f"{scale * found.difference:+.{digits}f}{unit}"
    if found.interval is None:
        return value
    low, high = (f"{scale * bound:+.{digits}f}" for bound in (found.interval.low, found.interval.high))
    return f"{value} ({low} to {high})"


def _fitted(lines: Sequence[Sequence[str]], width: int) -> list[str] | None:
    """Returns aligned lines, with names cut so that they fit; None if they do not fit."""
    widths = [max(columns(line[place]) for line in lines) for place in range(len(lines[0]))]
    least = [max(columns(line[place]) for line in lines[1:]) for place in range(len(lines[0]))]
    least[0] = min(widths[0], _NARROWEST)
    for place in sorted(range(len(widths)), key=lambda place: (place == 0, -widths[place])):
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
        if excess > 0:
            widths[place] = max(least[place], widths[place] - excess, _NARROWEST - 4)
    if sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        return None
    cut = ([printable(cell, room) for cell, room in zip(line, widths, strict=True)] for line in lines)
    return [
        _GAP.join(padded(cell, room) for cell, room in zip(line, widths, strict=True)).rstrip()
        for line in cut
    ]


def _slices(found: Comparison) -> list[str]:
    shown = [own for own in found.slices if own.stands_out]
    units = {own.criterion: own for own in found.criteria}
    lines = [
        f"slice {own.slice}: {own.criterion} {difference_text(own.difference, units[own.criterion])}, "
        f"q {shown_p(own.q)}, {counted(own.difference.pairs or own.difference.count_a, 'case')}"
        for own in shown[:_SLICES_SHOWN]
    ]
    if len(shown) > _SLICES_SHOWN:
        lines.append(f"{len(shown) - _SLICES_SHOWN} more slices stand out (--format json)")
    if found.slices and not shown:
        lines.append(f"slices: none of {len(found.slices)} slices and criteria stands out")
    return lines


def _flips(found: Comparison, width: int) -> list[str]:
    if not found.flips:
        return []
    by_case: dict[tuple[str, str], list[Flip]] = {}
    for flip in found.flips:
        by_case.setdefault((flip.kind, flip.case), []).append(flip)
    counts = Counter(kind for kind, _ in by_case)
    shown = ", ".join(
        f"{counts[kind]} {kind.replace('_', ' ')}" for kind in dict.fromkeys(k for k, _ in by_case)
    )
    lines = ["", *_wrapped(f"flips (cases with any criterion): {shown}", width)]
    lines += [_cut(_flip_text(flips), width) for flips in list(by_case.values())[:_FLIPS_SHOWN]]
    if len(by_case) > _FLIPS_SHOWN:
        lines.append(f"  {len(by_case) - _FLIPS_SHOWN} more (--format json, --output DIR)")
    return lines


def _cut(text: str, width: int) -> str:
    shown = printable(text)
    return shown if columns(shown) <= width else f"{clipped(shown, width - 1)}…"


def _flip_text(flips: Sequence[Flip]) -> str:
    """Returns the flips of one case as one line, with the reason of the first criterion that has one."""
    first = next((flip for flip in flips if flip.reason and flip.criterion != STATUS), flips[0])
    place = "" if first.turn_index is None else f" turn {first.turn_index}:"
    names = ", ".join(flip.criterion for flip in flips)
    case = first.case.rsplit("/", 1)[-1]
    return f"  {first.kind.replace('_', ' ')} {case} ({names}):{place} {first.reason or 'no reason is known'}"
