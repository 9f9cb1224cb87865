"""Writes a comparison as Markdown, for a pull request or the summary of a CI step."""

import re
from collections.abc import Iterator, Sequence

from turnwise.pipeline.io.terminal import printable
from turnwise.pipeline.report.comparison import (
    difference_text,
    families_text,
    pairing_text,
    side_text,
    value_text,
)
from turnwise.schemas.comparison import Comparison, Flip
from turnwise.transforms.decisions.comparison.sentences import shown_p

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~@&])")
_FLIPS_SHOWN = 50
_LONGEST = 300


def comparison_markdown(found: Comparison) -> str:
    """Returns a comparison as Markdown; all text of the runs is escaped."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Comparison) -> Iterator[str]:
    yield f"## {_text(found.b.name)} against {_text(found.a.name)}"
    yield ""
    for line in (f"A: {side_text(found.a)}", f"B: {side_text(found.b)}", pairing_text(found)):
        yield f"- {_text(line)}"
    for own in found.criteria:
        yield f"- **{_text(own.criterion)}**: {_text(own.sentence)}"
    for name, why in found.not_compared.items():
        yield f"- **{_text(name)}**: not compared: {_text(why)}"
    yield ""
    yield from _table(
        ["", f"A {found.a.name}", f"B {found.b.name}", "difference", "p", "word"],
        [
            [
                own.criterion,
                value_text(own.overall.value_a, own),
                value_text(own.overall.value_b, own),
                difference_text(own.overall, own),
                shown_p(own.p_adjusted),
                own.overall.word,
            ]
            for own in found.criteria
        ],
    )
    yield from _slices(found)
    yield from _flips(found.flips)
    yield f"- {_text(families_text(found))}"
    for note in found.notes:
        yield f"- note: {_text(note)}"


def _slices(found: Comparison) -> Iterator[str]:
    units = {own.criterion: own for own in found.criteria}
    shown = [own for own in found.slices if own.stands_out]
    if shown:
        yield "Slices that stand out:"
        yield ""
        yield from _table(
            ["slice", "criterion", "difference", "q"],
            [
                [s.slice, s.criterion, difference_text(s.difference, units[s.criterion]), shown_p(s.q)]
                for s in shown
            ],
        )


def _flips(flips: Sequence[Flip]) -> Iterator[str]:
    if not flips:
        return
    yield f"<details><summary>{len(flips)} flips</summary>"
    yield ""
    yield from _table(
        ["", "case", "criterion", "turn", "reason"],
        [
            [
                flip.kind.replace("_", " "),
                flip.case,
                flip.criterion,
                "" if flip.turn_index is None else str(flip.turn_index),
                flip.reason or "",
            ]
            for flip in flips[:_FLIPS_SHOWN]
        ],
    )
    if len(flips) > _FLIPS_SHOWN:
        yield f"{len(flips) - _FLIPS_SHOWN} more in compare.json."
        yield ""
    yield "</details>"
    yield ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(map(_text, head)) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(map(_text, row)) + " |"
    yield ""


def _text(text: str) -> str:
    """Returns a text that Markdown shows as it is, in one line."""
    return _SPECIAL.sub(r"\\\1", printable(text, _LONGEST))
