"""Counts the verdicts of judges, of panels and of cascades, so that a run can sum them up."""

from collections import Counter
from collections.abc import Iterable, Mapping

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.scoring.evaluate import ScoredConversation
from turnwise.transforms.scoring.joint.cascade import CASCADE
from turnwise.transforms.scoring.joint.panel import PANEL

JOINT_PANEL = "panel "
"""Start of the names of the counters of panels, `panel CRITERION|LETTERS`; see `verdict_letters`."""
JOINT_CASCADE = "cascade "
"""Start of the names of the counters of cascades, `cascade CRITERION|FIGURE` or `... FIGURE MODEL`."""
JUDGED, VERDICTS, INAPPLICABLE = "judged ", "verdicts", "not_applicable"
"""Start of the names of the counters of verdicts, `judged CRITERION|FIGURE`, and the figures."""
NO_VERDICT = "U"
LEFT_BY_BUDGET = "left_by_budget"
"""Counter of conversations that have no verdict because a budget of the judge was spent."""
_BUDGET = "budget"


def judged_counts(scored: ScoredConversation, status: str | None) -> Counter[str]:
    """Returns the counts of a conversation: of verdicts, panels and cascades, and of a spent budget.

    Args:
        scored: The conversation.
        status: Its verdict; None: it has none.
    """
    found: Counter[str] = Counter()
    for entry in scored.scores:
        if entry.verdicts:
            name = entry.criterion.name
            found[f"{JUDGED}{name}|{VERDICTS}"] += entry.verdicts
            found[f"{JUDGED}{name}|{INAPPLICABLE}"] += entry.inapplicable
        if isinstance(entry.criterion, JudgedCriterion):
            scores = [score for _, score in entry.turns] + ([entry.overall] if entry.overall else [])
            found += joint_counts((entry.criterion.name, score.details) for score in scores)
            if status is None and any(score.reason and _BUDGET in score.reason for score in scores):
                found[LEFT_BY_BUDGET] = 1
    return found


def verdict_counts(counts: Mapping[str, int]) -> dict[str, Counter[str]]:
    """Returns the `verdicts` and `not_applicable` of each criterion, of the counts of a run."""
    found: dict[str, Counter[str]] = {}
    for name, number in counts.items():
        if name.startswith(JUDGED):
            criterion, _, figure = name.removeprefix(JUDGED).rpartition("|")
            found.setdefault(criterion, Counter())[figure] += number
    return found


def joint_counts(scores: Iterable[tuple[str, JsonObject | None]]) -> Counter[str]:
    """Returns the counts of some scores, each given by its criterion and its details."""
    found: Counter[str] = Counter()
    for criterion, details in scores:
        if not details:
            continue
        if PANEL in details:
            found[f"{JOINT_PANEL}{criterion}|{verdict_letters(details[PANEL])}"] += 1
        if CASCADE in details:
            for figure, number in _cascade_counts(details[CASCADE]).items():
                found[f"{JOINT_CASCADE}{criterion}|{figure}"] += number
    return found


def verdict_letters(panel: JsonObject) -> str:
    """Returns the verdicts of a panel's members in order, one letter each: P, F, O, or U for none."""
    return "".join((member["verdict"] or NO_VERDICT)[0] for member in panel["members"])


def _cascade_counts(cascade: JsonObject) -> Counter[str]:
    first, found = cascade["first"], Counter[str]()
    found["questions"] = 1
    if cascade["unsure"]:
        found[cascade["unsure"]] = 1
    found["first_calls"] = first["samples"] - first["cached"]
    found["first_uncounted"] = int(first["tokens_in"] is None or first["tokens_out"] is None)
    found["first_tokens_in"], found["first_tokens_out"] = first["tokens_in"] or 0, first["tokens_out"] or 0
    for model, spared in (cascade["spared"] or {}).items():
        for figure, number in spared.items():
            found[f"spared_{figure} {model}"] = number
    return found
