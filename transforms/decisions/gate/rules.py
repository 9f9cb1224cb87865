"""Applies the rules of a gate."""

from collections.abc import Container, Iterator, Mapping, Sequence

from turnwise.schemas.comparison import Bounds, CriterionComparison, RuleResult, RuleStatus
from turnwise.schemas.config import (
    STATUS,
    AllPassRule,
    BoundRule,
    CoverageRule,
    DestructiveRule,
    GateConfig,
    NotWorseRule,
)
from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.decisions.comparison.words import counted, margin_text, share_text
from turnwise.transforms.decisions.gate.bounds import (
    GatedVersion,
    Rejected,
    beside_text,
    bound_text,
    count_sampled_out,
    entries_of,
    hold_baseline,
    hold_bound,
    limit_text,
    names_text,
    rejected_with,
    side_of,
    unit_of,
    without_score,
    without_text,
)
from turnwise.transforms.effects.call_effects import DESTRUCTIVE

MOST_NAMES = 20
"""Names of each kind that a result holds."""
_MISSING = "without an outcome"
_NONE_SCORED = "no conversation was scored"


def apply_rules(
    config: GateConfig,
    versions: Sequence[GatedVersion],
    rejected: Rejected,
    not_allowed: Rejected | None = None,
) -> list[RuleResult]:
    """Applies every rule to every app version; that all conversations pass, to all of them together.

    Without a version, no rule can be decided. `not_allowed` is the part of what was rejected that the
    options of the run do not allow for; None: all of it.
    """
    tolerant: dict[str, float] = {}
    for rule in config.rules:
        if isinstance(rule, CoverageRule):
            tolerant[rule.criterion] = max(rule.at_least, tolerant.get(rule.criterion, 0.0))
    results: list[RuleResult] = []
    for rule in config.rules:
        if isinstance(rule, AllPassRule):
            not_allowed_of_all = rejected_with(rejected if not_allowed is None else not_allowed, versions)
            results.append(_all_pass(rule, versions, not_allowed_of_all))
        elif isinstance(rule, NotWorseRule) and all(version.comparison is None for version in versions):
            why = "there is no baseline" if versions else _NONE_SCORED
            names = held_criteria(rule, config)
            results += [_result(_not_worse_text(rule, name, versions), None, None, why) for name in names]
        elif not versions and not isinstance(rule, NotWorseRule):
            results.append(_result(_rule_text(rule), None, None, _NONE_SCORED))
        else:
            for version in versions:
                results += _of_version(rule, config, version, rejected, tolerant)
    return results


def held_criteria(rule: NotWorseRule, config: GateConfig) -> Sequence[str]:
    """Returns the criteria that a rule compares with the baseline."""
    return [rule.criterion] if rule.criterion else config.primary or (STATUS,)


def _of_version(
    rule: BoundRule | NotWorseRule | DestructiveRule | CoverageRule,
    config: GateConfig,
    version: GatedVersion,
    rejected: Rejected,
    tolerant: Mapping[str, float],
) -> list[RuleResult]:
    if isinstance(rule, NotWorseRule):  # its comparison counts the cases of the baseline alone itself
        names = held_criteria(rule, config)
        return [_not_worse(rule, name, version, rejected, tolerant.get(name)) for name in names]
    rejected_here = rejected_with(rejected, [version])
    if isinstance(rule, BoundRule):
        held = hold_bound(rule, version, rejected_here, (rule.criterion in tolerant))
        return [
            _result(
                _rule_text(rule),
                version.app_version,
                held.is_met,
                bound_text(rule, held, rejected_here),
                value=side_of(rule, held.seen),
                interval=held.seen.interval,
                names={} if held.is_met else _kinds(held.failed, held.missing, held.unmeasured),
            )
        ]
    if isinstance(rule, CoverageRule):
        return [_coverage(rule, version, rejected_here)]
    return [_destructive(rule, version, rejected_here, tolerant)]


def _kinds(failed: list[str], missing: list[str], unmeasured: int) -> dict[str, list[str]]:
    kinds = ("failed", failed, len(failed)), (_MISSING, missing, unmeasured)
    return {kind: names for kind, names, number in kinds if number}


def _rule_text(rule: AllPassRule | BoundRule | CoverageRule | DestructiveRule) -> str:
    if isinstance(rule, AllPassRule):
        return f"{rule.criterion}: every conversation passes"
    if isinstance(rule, BoundRule):
        side = {"lower": "lower bound of the ", "upper": "upper bound of the ", "estimate": ""}[rule.side]
        what = "pass rate" if rule.measure == "pass_rate" else "mean"
        word, bound = ("at least", rule.at_least) if rule.at_least is not None else ("at most", rule.at_most)
        return f"{rule.criterion}: {side}{what} {word} {limit_text(bound or 0.0, unit_of(rule))}"
    if isinstance(rule, CoverageRule):
        return f"{rule.criterion}: at least {limit_text(rule.at_least, '%')} decided"
    return "no destructive call that was not expected"


def _not_worse_text(
    rule: NotWorseRule,
    criterion: str,
    versions: Sequence[GatedVersion],
    compared: CriterionComparison | None = None,
) -> str:
    entries = (entry for version in versions for entry in entries_of(version, criterion))
    has_outcomes = criterion == STATUS or any(entry.observed.outcome for entry in entries)
    is_share = has_outcomes if compared is None else compared.measure == "pass_rate"
    margin = margin_text(rule.margin, criterion, is_share)
    return f"{criterion}: not worse than the baseline by more than {margin}"


def _all_pass(rule: AllPassRule, versions: Sequence[GatedVersion], rejected: Rejected) -> RuleResult:
    number = sum(len(version.conversations) for version in versions)
    entries = [entry for version in versions for entry in entries_of(version, rule.criterion)]
    held = [entry for entry in entries if entry.observed.outcome == "FAIL" or not entry.observed.is_summed]
    failed = [entry.name for entry in held if entry.observed.outcome == "FAIL"]
    sampled_out = sum(count_sampled_out(version, rule.criterion) for version in versions)
    skipped = [name for version in versions for name in without_score(version, rule.criterion)]
    missing = [entry.name for entry in held if entry.observed.outcome not in ("PASS", "FAIL")] + skipped
    text = "nothing was scored"
    if held or skipped:
        text = f"{len(failed)} failed, {len(missing) + rejected.number} without an outcome"
    text += f" ({rejected.text})" if rejected.text else ""
    text += without_text(number - len(entries) - len(skipped) if held else 0, sampled_out)
    is_met = False if failed else None if missing or rejected.number or not held else True
    kinds = _kinds(failed, missing, len(missing) + rejected.number)
    text = text if versions else _NONE_SCORED
    return _result(_rule_text(rule), None, is_met, text, names=kinds, rejected=rejected.names)


def _coverage(rule: CoverageRule, version: GatedVersion, rejected: Rejected) -> RuleResult:
    entries = entries_of(version, rule.criterion)
    is_gate = any(entry.observed.outcome is not None for entry in entries)
    given = [(entry.name, entry.observed.outcome if is_gate else entry.observed.value) for entry in entries]
    missing = [name for name, value in given if value is None]
    sampled_out = count_sampled_out(version, rule.criterion)
    total = len(entries) + sampled_out + rejected.number
    if not entries:
        text = "nothing was scored" + without_text(0, sampled_out)
        return _result(_rule_text(rule), version.app_version, None, text)
    share = (len(entries) - len(missing)) / total
    text = f"{share_text(share)}: {len(entries) - len(missing)} of {total}"
    text += beside_text(share, rule.at_least)
    text += f" ({rejected.text})" if rejected.text else ""
    text += without_text(len(version.conversations) - len(entries) - sampled_out, sampled_out)
    is_met = share >= rule.at_least
    names = {} if is_met else {_MISSING: missing}
    return _result(_rule_text(rule), version.app_version, is_met, text, value=share, names=names)


def _destructive(
    rule: DestructiveRule, version: GatedVersion, rejected: Rejected, tolerant: Container[str]
) -> RuleResult:
    conversations = [row["conversation_id"] for row in version.rows if row["severity_reason"] == DESTRUCTIVE]
    if conversations:
        text = f"found in {counted(len(conversations), 'conversation')}"
        return _result(_rule_text(rule), version.app_version, False, text, names={DESTRUCTIVE: conversations})
    unclear = [row for row in version.rows if row["unclear_tools"]]
    gaps = [row for row in version.rows if row["unknown_calls"]]
    text = "; ".join(_why_unclear(version.rows, unclear, gaps, rejected))
    is_open = unclear or (gaps and STATUS not in tolerant) or (rejected.number and not tolerant)
    kinds = {"open": unclear, "calls may be missing": gaps} if is_open else {}
    names = {kind: [row["conversation_id"] for row in rows] for kind, rows in kinds.items() if rows}
    return _result(_rule_text(rule), version.app_version, None if is_open else True, text, names=names)


def _why_unclear(
    rows: Sequence[ConversationRow],
    unclear: Sequence[ConversationRow],
    gaps: Sequence[ConversationRow],
    rejected: Rejected,
) -> Iterator[str]:
    """Yields what is known of the destructive calls of conversations without an unexpected one."""
    if unclear:
        tools = names_text(name for row in unclear for name in row["unclear_tools"])
        yield (
            f"open in {counted(len(unclear), 'conversation')}: nothing says whether the calls were "
            f"expected, or what the tools do ({tools}); state the effects in `tools` of the run's config"
        )
    else:
        number = sum(row["destructive_calls"] for row in rows)
        yield counted(number, "destructive call") + (", expected" if number else "")
    if gaps:
        yield f"calls may be missing in the logs of {counted(len(gaps), 'conversation')}"
    if rejected.number:
        yield f"{rejected.number} without an outcome ({rejected.text})"
    guessed = {name for row in rows for name in row["guessed_tools"]}
    if guessed and not unclear:
        yield f"effects guessed from the names of {counted(len(guessed), 'tool')}: {names_text(guessed)}"


def _not_worse(
    rule: NotWorseRule, criterion: str, version: GatedVersion, rejected: Rejected, coverage: float | None
) -> RuleResult:
    comparison = version.comparison
    assert comparison is not None, "the rules are applied to what is compared"
    compared = next((result for result in comparison.criteria if result.criterion == criterion), None)
    overall = compared.overall if compared else None
    text = _not_worse_text(rule, criterion, [version], compared)
    is_met, why = hold_baseline(rule.margin, criterion, comparison, version.baseline, rejected, coverage)
    flips = [flip for flip in comparison.flips if flip.criterion == criterion]
    kinds = {"regressed": "regressed", "newly_missing": "without an outcome now"}
    cases = {text: [flip.case for flip in flips if flip.kind == kind] for kind, text in kinds.items()}
    worse = {text: names for text, names in cases.items() if names}
    why += without_text(0, count_sampled_out(version, criterion))
    if worse and not is_met:
        why += "".join(f"; {counted(len(names), 'case')} {kind}" for kind, names in worse.items())
    return _result(
        text,
        version.app_version,
        is_met,
        why,
        value=None if overall is None else overall.difference,
        interval=None if overall is None else overall.interval,
        names={} if is_met else worse,
    )


def _result(
    rule: str,
    app_version: str | None,
    is_met: bool | None,
    why: str,
    *,
    value: float | None = None,
    interval: Bounds | None = None,
    names: Mapping[str, Sequence[str]] = {},
    rejected: Sequence[str] = (),
) -> RuleResult:
    status: RuleStatus = "inconclusive" if is_met is None else "passed" if is_met else "failed"
    kinds: dict[str, list[str]] = {}
    for kind, of_kind in names.items():
        seen = {name for others in kinds.values() for name in others}
        kinds[kind] = [name for name in dict.fromkeys(of_kind) if name not in seen]
    shown = [name for of_kind in kinds.values() for name in of_kind[:MOST_NAMES]]
    gone = list(dict.fromkeys(rejected))
    return RuleResult(
        rule=rule,
        status=status,
        app_version=app_version,
        why=why,
        value=value,
        interval=interval,
        conversations=shown,
        more=sum(map(len, kinds.values())) - len(shown),
        kinds={kind: len(of_kind) for kind, of_kind in kinds.items()} if len(kinds) > 1 else {},
        rejected=gone[:MOST_NAMES],
        more_rejected=max(0, len(gone) - MOST_NAMES),
    )
