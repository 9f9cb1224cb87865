"""Applies the rules of a gate."""

from collections.abc import Iterator, Mapping, Sequence

from turnwise.schemas.conversation_row import ConversationRow
from turnwise.schemas.difference import Bounds
from turnwise.schemas.gate import RuleResult, RuleStatus
from turnwise.schemas.gate_config import (
    AllPassRule,
    BoundRule,
    CoverageRule,
    DestructiveRule,
    GateConfig,
    GateRule,
    NotWorseRule,
)
from turnwise.transforms.criteria.calls.tool_effects import ToolEffects
from turnwise.transforms.gating.baseline import hold_baseline
from turnwise.transforms.gating.bounds import hold_bound, side_of
from turnwise.transforms.gating.measured import GatedVersion, Lost, entries_of
from turnwise.transforms.gating.words import number_text, range_text

_MOST_NAMES = 20
_DESTRUCTIVE = "destructive"
_NONE_SCORED = "no conversation was scored"


def apply_rules(
    config: GateConfig, versions: Sequence[GatedVersion], lost: Lost, not_allowed: Lost | None = None
) -> list[RuleResult]:
    """Applies every rule to every app version; that all conversations pass, to all of them together.

    Args:
        config: The rules.
        versions: The app versions of the run; without one, no rule can be decided.
        lost: What was lost, of the run as a whole.
        not_allowed: The part of it that the run's options do not allow for; None: all of it.
    """
    tolerant: dict[str, float] = {}
    for rule in config.rules:
        if isinstance(rule, CoverageRule):
            tolerant[rule.criterion] = max(rule.at_least, tolerant.get(rule.criterion, 0.0))
    found: list[RuleResult] = []
    for rule in config.rules:
        if isinstance(rule, AllPassRule):
            found.append(_all_pass(rule, versions, lost if not_allowed is None else not_allowed))
        elif not versions:
            found.append(_result(rule_text(rule), None, None, _NONE_SCORED))
        else:
            for version in versions:
                found += _of_version(rule, config.primary, version, lost, tolerant)
    return found


def _of_version(
    rule: BoundRule | NotWorseRule | DestructiveRule | CoverageRule,
    primary: Sequence[str],
    version: GatedVersion,
    lost: Lost,
    tolerant: Mapping[str, float],
) -> list[RuleResult]:
    if isinstance(rule, BoundRule):
        return [_bound(rule, version, lost, rule.criterion in tolerant)]
    if isinstance(rule, CoverageRule):
        return [_coverage(rule, version, lost)]
    if isinstance(rule, DestructiveRule):
        return [_destructive(rule, version, lost, bool(tolerant))]
    names = [rule.criterion] if rule.criterion else primary
    return [_not_worse(rule, name, version, lost, tolerant.get(name)) for name in names]


def rule_text(rule: GateRule) -> str:
    """Returns a rule in words."""
    if isinstance(rule, AllPassRule):
        return f"{rule.criterion}: every conversation passes"
    if isinstance(rule, BoundRule):
        side = {"lower": "lower bound of the ", "upper": "upper bound of the ", "estimate": ""}[rule.side]
        what = "pass rate" if rule.measure == "pass_rate" else "mean"
        word, bound = ("at least", rule.at_least) if rule.at_least is not None else ("at most", rule.at_most)
        return (
            f"{rule.criterion}: {side}{what} {word} {number_text(bound or 0.0, rule.measure == 'pass_rate')}"
        )
    if isinstance(rule, CoverageRule):
        return f"{rule.criterion}: at least {number_text(rule.at_least, True)} decided"
    if isinstance(rule, DestructiveRule):
        return "no destructive call that was not expected"
    return f"{rule.criterion or 'primary criteria'}: not worse than the baseline by more than {rule.margin:g}"


def _all_pass(rule: AllPassRule, versions: Sequence[GatedVersion], lost: Lost) -> RuleResult:
    entries = [entry for version in versions for entry in entries_of(version, rule.criterion)]
    held = [entry for entry in entries if entry.found.outcome == "FAIL" or not entry.found.is_summed]
    failed = [entry.name for entry in held if entry.found.outcome == "FAIL"]
    missing = [entry.name for entry in held if entry.found.outcome not in ("PASS", "FAIL")]
    missing += [
        one.conversation_id
        for version in versions
        for one in version.conversations
        if rule.criterion in one.skipped
    ]
    undecided = len(missing) + lost.number
    text = f"{len(failed)} failed, {undecided} not decided" if held or missing else "nothing was scored"
    text += f" ({lost.text})" if lost.text else ""
    is_met = False if failed else None if undecided or not held else True
    names = [*failed, *missing]
    return _result(
        rule_text(rule), None, is_met, text if versions else _NONE_SCORED, names=names, lost=lost.names
    )


def _bound(rule: BoundRule, version: GatedVersion, lost: Lost, is_lenient: bool) -> RuleResult:
    held = hold_bound(rule, version, lost, is_lenient)
    is_share = rule.measure == "pass_rate"
    text = "nothing was scored"
    if held.seen.value is not None:
        text = f"{number_text(held.seen.value, is_share)}{range_text(held.seen.interval, is_share)}"
        if side_of(rule, held.seen) is None:
            text += ", and its interval is not known"
    if held.undecided:
        text += f"; {held.undecided} not decided{f' ({lost.text})' if lost.text else ''}"
    return _result(
        rule_text(rule),
        version.app_version,
        held.is_met,
        text,
        value=side_of(rule, held.seen),
        interval=None if held.seen.interval is None else Bounds(*held.seen.interval),
        names=() if held.is_met else held.missing,
    )


def _coverage(rule: CoverageRule, version: GatedVersion, lost: Lost) -> RuleResult:
    entries = entries_of(version, rule.criterion)
    is_gate = any(entry.found.outcome is not None for entry in entries)
    missing = [
        entry.name for entry in entries if (entry.found.outcome if is_gate else entry.found.value) is None
    ]
    total = len(entries) + lost.number
    if not entries:
        return _result(rule_text(rule), version.app_version, None, "nothing was scored")
    share = (len(entries) - len(missing)) / total
    text = f"{number_text(share, True)}: {len(entries) - len(missing)} of {total}"
    text += f" ({lost.text})" if lost.text else ""
    is_met = share >= rule.at_least
    names = () if is_met else missing
    return _result(rule_text(rule), version.app_version, is_met, text, value=share, names=names)


def _destructive(rule: DestructiveRule, version: GatedVersion, lost: Lost, is_lenient: bool) -> RuleResult:
    found = [row["conversation_id"] for row in version.rows if row["harm_term"] == _DESTRUCTIVE]
    if found:
        text = f"{len(found)} conversations have one"
        return _result(rule_text(rule), version.app_version, False, text, names=found)
    unknown = [*_not_compared(version)]
    if unknown:
        text = (
            f"{len(unknown)} conversations have destructive calls, and nothing says whether they are expected"
        )
        return _result(rule_text(rule), version.app_version, None, text, names=unknown)
    number = sum(row["destructive_calls"] for row in version.rows)
    text = f"{number} destructive calls, all expected"
    if lost.number:
        text += f"; {lost.number} not decided ({lost.text})"
    is_met = None if lost.number and not is_lenient else True
    return _result(rule_text(rule), version.app_version, is_met, text)


def _not_compared(version: GatedVersion) -> Iterator[str]:
    """Yields conversations with destructive calls that were held against no expected calls."""
    compared = {
        one.conversation_id
        for one in version.conversations
        if ToolEffects.name in one.criteria and one.criteria[ToolEffects.name].value is not None
    }
    for row in version.rows:
        if row["destructive_calls"] and row["conversation_id"] not in compared and not _states_calls(row):
            yield row["conversation_id"]


def _states_calls(row: ConversationRow) -> bool:
    """Returns whether the transcript holds expected calls, and the log all calls that were made."""
    transcript = row["transcript"]
    if transcript is None or (row["verdict"] is None and row["reason"]):
        return False
    parts = [transcript.get("expected"), *(turn.get("expected") for turn in transcript["turns"])]
    return any(part is not None and "tool_calls" in part for part in parts)


def _not_worse(
    rule: NotWorseRule, criterion: str, version: GatedVersion, lost: Lost, coverage: float | None
) -> RuleResult:
    text = rule_text(rule.model_copy(update={"criterion": criterion}))
    comparison = version.comparison
    if comparison is None:
        return _result(text, version.app_version, None, "no baseline is named")
    held = hold_baseline(rule.margin, criterion, comparison, version.baseline, lost, coverage)
    own = next((one.overall for one in comparison.criteria if one.criterion == criterion), None)
    flips = [flip for flip in comparison.flips if flip.criterion == criterion]
    worse = [flip.case for flip in flips if flip.kind in ("lost", "newly_undecided")]
    return _result(
        text,
        version.app_version,
        held.is_met,
        held.why,
        value=None if own is None else own.difference,
        interval=None if own is None else own.interval,
        names=() if held.is_met else worse,
    )


def _result(
    rule: str,
    app_version: str | None,
    is_met: bool | None,
    why: str,
    *,
    value: float | None = None,
    interval: Bounds | None = None,
    names: Sequence[str] = (),
    lost: Sequence[str] = (),
) -> RuleResult:
    status: RuleStatus = "undecided" if is_met is None else "passed" if is_met else "failed"
    shown, gone = (list(dict.fromkeys(found)) for found in (names, lost))
    return RuleResult(
        rule=rule,
        status=status,
        app_version=app_version,
        why=why,
        value=value,
        interval=interval,
        conversations=shown[:_MOST_NAMES],
        more=max(0, len(shown) - _MOST_NAMES),
        lost=gone[:_MOST_NAMES],
        more_lost=max(0, len(gone) - _MOST_NAMES),
    )
