"""Verdicts of panels of judges as counts, which add up over conversations."""

from collections import Counter
from typing import TypeAlias

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.scoring.evaluate import CriterionScores
from turnwise.transforms.scoring.joint.counting import verdict_letters
from turnwise.transforms.scoring.joint.figures import panel_summary
from turnwise.transforms.scoring.joint.panel import PANEL

PanelCounts: TypeAlias = dict[tuple[str, bool], Counter[str]]
"""(Criterion, whether of whole conversations) -> letters of the members' verdicts -> number of questions."""


def add_panel(counts: PanelCounts, entry: CriterionScores) -> None:
    """Counts the verdicts of a judged criterion's panel, if it has one, on one conversation, in place."""
    criterion = entry.criterion
    assert isinstance(criterion, JudgedCriterion)
    if not criterion.judge_model_options.panel:
        return
    scores = [(False, score) for _, score in entry.turns]
    for is_whole, score in [*scores, (True, entry.overall)] if entry.overall else scores:
        panel = (score.details or {}).get(PANEL)
        if panel:
            counts.setdefault((criterion.name, is_whole), Counter())[verdict_letters(panel)] += 1


def merge_panels(counts: PanelCounts, more: PanelCounts, sign: int) -> None:
    """Adds counts, in place, or takes them back (`sign` -1); what falls to nothing goes."""
    for key, own in more.items():
        mine = counts.setdefault(key, Counter())
        for letters, number in own.items():
            mine[letters] += sign * number
            if not mine[letters]:
                del mine[letters]
        if not mine:
            del counts[key]


def panel_column(counts: PanelCounts, criterion: str, level: str) -> JsonObject | None:
    """Returns what a row of metrics says of a panel; None: there was none."""
    found = counts.get((criterion, level == "conversation"))
    return panel_summary(found) if found else None
