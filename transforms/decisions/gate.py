"""Holds the figures of a run against the bounds of a gate, whatever is missing."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from msgspec import Struct

from turnwise.schemas.calibration import Calibration, Corrected
from turnwise.schemas.case import CaseKey
from turnwise.schemas.comparison import Bounds, Comparison, CriterionComparison, RuleResult, RuleStatus
from turnwise.schemas.config import (
    STATUS,
    AllPassRule,
    BoundRule,
    ConfigError,
    CoverageRule,
    DestructiveRule,
    GateConfig,
    NotWorseRule,
)
from turnwise.schemas.jsonio import JsonObject, counted, did_you_mean, grouped, listed
from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.criteria.base import CRITERIA, Criterion
from turnwise.transforms.decisions.comparison import words
from turnwise.transforms.decisions.comparison.collect import Observed
from turnwise.transforms.decisions.comparison.estimates import corrected_figure
from turnwise.transforms.decisions.comparison.side_values import SHARES, scale_of
from turnwise.transforms.decisions.comparison.sides import ConversationColumns
from turnwise.transforms.effects.call_effects import DESTRUCTIVE
from turnwise.transforms.statistics.resampling import SEED, CaseMeans
from turnwise.transforms.statistics.tests import wilson_interval

# What a gate is applied to: an app version of a run, and what was rejected.

_CASES = (("rejected_cases", "eval case", "not read"), ("unused_cases", "eval case", "without a recording"))
_LOST = (
    ("rejected_records", "record", "rejected"),
    ("rejected_conversations", "conversation", "rejected"),
    ("unread_ends", "file", "not read to the end"),
    *_CASES,
)


class Rejected(NamedTuple):
    """What a run rejected before scoring; `names`: places of records, and eval cases, as far as known."""

    number: int
    text: str
    names: Sequence[str] = ()


class BaselineState(NamedTuple):
    """The baseline itself; `problems`: why it failed or is none, but for missed rules of its own."""

    cases: int = 0
    rejected: Rejected = Rejected(0, "")
    problems: Sequence[str] = ()


class GatedVersion(Struct, frozen=True):
    """One app version of a run, with its comparison with the baseline and what labels say, if there are any.

    `unrecorded` are ids of the eval cases that other versions of the run alone have a recording of.
    """

    app_version: str | None
    conversations: ConversationColumns
    rows: list[ConversationRow]
    comparison: Comparison | None
    baseline: BaselineState = BaselineState()
    calibration: Calibration | None = None
    unrecorded: Sequence[str] = ()


class GateEntry(NamedTuple):
    """What a criterion gave one conversation; `case`: what it is a run of, or else the conversation."""

    case: str
    name: str
    observed: Observed


def rejected_of(counts: JsonObject, names: Sequence[str] = (), only_cases: bool = False) -> Rejected:
    """Returns what the counts of `run.json` say was rejected; `names` are known of it."""
    kinds = _CASES if only_cases else _LOST
    numbers = [(counts.get(name) or 0, noun, what) for name, noun, what in kinds]
    number = sum(number for number, _, _ in numbers)
    text = ", ".join(f"{counted(n, noun)} {what}" for n, noun, what in numbers if n)
    return Rejected(number, text, names if number else ())


def rejected_with(rejected: Rejected, versions: Iterable[GatedVersion]) -> Rejected:
    """Adds to what a run rejected the eval cases that some of its app versions have no recording of."""
    texts, names = [rejected.text], [*rejected.names]
    for version in versions:
        number = counted(len(version.unrecorded), "eval case")
        texts += [f"{number} without a recording in {version.app_version}"] if version.unrecorded else []
        names += [f"eval case {name} ({version.app_version})" for name in version.unrecorded]
    number_of_all = rejected.number + len(names) - len(rejected.names)
    return Rejected(number_of_all, ", ".join(filter(None, texts)), names)


class GivenScores(NamedTuple):
    """What a criterion gave, and the ids of whom it skipped or sampling left out (`sampled_out` of them)."""

    entries: list[GateEntry]
    left_out: list[str]
    sampled_out: int


def scores_of(criterion: str, versions: Iterable[GatedVersion]) -> GivenScores:
    """Returns what a criterion gave; where it applies to all, the log of what it gave nothing lacks it."""
    kind = CRITERIA.get(criterion)
    missing = Observed(why="not in the log") if kind is not None and kind.applies_always else None
    entries, left_out, number = list[GateEntry](), list[str](), 0
    for columns in (version.conversations for version in versions):
        unmeasured = zip(columns.skipped, columns.sampled_out, strict=True)
        rows = zip(columns.own_cases(), columns.conversation_ids, unmeasured, strict=True)
        for row, (case, name, (skipped, sampled_out)) in enumerate(rows):
            number += criterion in sampled_out
            if criterion in skipped or criterion in sampled_out:
                left_out.append(name)
            elif (score := columns.given(row, criterion) or missing) is not None:
                entries.append(GateEntry(str(case), name, score))
    return GivenScores(entries, left_out, number)


# Checks that the rules of a gate can ever be decided by the criteria of a run.


def check_gate(gate: GateConfig, criteria: Iterable[Criterion]) -> None:
    """Raises ConfigError if a rule or a primary criterion of the config is not of its criteria."""
    if fault := gate_fault(gate, {criterion.name: criterion.threshold for criterion in criteria}):
        raise ConfigError(f"config: gate.{fault}")


def gate_fault(gate: GateConfig, thresholds: Mapping[str, float | None]) -> str | None:
    """Returns the first mistake of rules, after its place in the section; None: there is none.

    `thresholds`: criterion of the run -> its threshold, or None.
    """
    for index, name in enumerate(gate.primary):
        if fault := _name_fault(name, thresholds):
            return f"primary.{index}: {fault}"
    for index, rule in enumerate(gate.rules):
        criterion = getattr(rule, "criterion", None)
        fault = criterion and _name_fault(criterion, thresholds)
        if isinstance(rule, AllPassRule) or (isinstance(rule, BoundRule) and rule.measure == "pass_rate"):
            fault = outcome_fault(rule.criterion, thresholds)
        if fault:
            return f"rules.{index}.criterion: {fault}"
        if isinstance(rule, BoundRule) and rule.measure != "pass_rate":
            scale = scale_of(rule.criterion)
            bounds = [bound for bound in (rule.at_least, rule.at_most) if bound is not None]
            if scale and not all(scale[0] <= bound <= scale[1] for bound in bounds):
                lies = f"a mean of {rule.criterion} lies between {scale[0]:g} and {scale[1]:g}"
                return f"rules.{index}.at_least, at_most: {lies}"
    return None


def outcome_fault(criterion: str, thresholds: Mapping[str, float | None]) -> str | None:
    """Returns why a criterion has no outcome in a run, or is not in it; None: it can have one."""
    fault = _name_fault(criterion, thresholds)
    is_open = not fault and criterion != STATUS and thresholds[criterion] is None and not scale_of(criterion)
    return f"{criterion} has no threshold in the config, so it cannot fail" if is_open else fault


def _name_fault(name: str, thresholds: Mapping[str, float | None]) -> str | None:
    if name == STATUS or name in thresholds:
        return None
    known = [STATUS, *thresholds]
    hint = did_you_mean(name, known) or f"; it can be {', '.join(known)}"
    return f"{name!r} is not among the config's criteria{hint}"


# Numbers of a gate as texts.

_MOST_NAMES = 5
_LONGEST_NAME = 60


def names_text(names: Iterable[str]) -> str:
    """Returns the first of the names, each once and in order, and the number of others."""
    shown = sorted({" ".join(name.split())[:_LONGEST_NAME] or "(no name)" for name in names})
    return listed(shown, _MOST_NAMES)


def unit_of(rule: BoundRule) -> str:
    """Returns what stands behind the numbers of a rule: `%` of a share, ` s`, or nothing."""
    kind = CRITERIA.get(rule.criterion)
    is_time = kind is not None and kind.unit == "seconds"
    return "%" if rule.measure == "pass_rate" else " s" if is_time else ""


def _number_text(value: float, unit: str) -> str:
    return words.share_text(value) if unit == "%" else f"{value:.4g}{unit}"


def limit_text(limit: float, unit: str) -> str:
    """Returns a limit of a rule with the digits that it was written with, at most four."""
    return f"{100 * limit if unit == '%' else limit:.4g}{unit}"


def beside_text(share: float, limit: float) -> str:
    """Returns on which side of a limit a share lies that prints as the limit does; "": it does not."""
    if share == limit or words.share_text(share) != words.share_text(limit):
        return ""
    return f", {'more' if share > limit else 'less'} than {limit_text(limit, '%')} by under 0.1 points"


def without_text(number: int, sampled_out: int) -> str:
    """Returns what a criterion says nothing of: conversations that it measures nothing of, or left out."""
    text = f"; n/a for {counted(number, 'other conversation')}" if number else ""
    return text + (f"; {sampled_out} sampled out" if sampled_out else "")


def difference_text(result: CriterionComparison, is_lenient: bool) -> str:
    """Returns a difference from the baseline, with its interval and what may be said of it.

    `is_lenient`: a rule on coverage allows for what has no score.
    """
    overall = result.overall
    if overall.difference is None:
        return "there is no difference to be measured"
    number, unit = (overall.pairs, "case") if overall.pairs else (overall.candidate_count, "conversation")
    units = counted(number, unit)
    word = "" if overall.word == "inconclusive" else f"{overall.word}, "
    texts = [f"{words.difference_figures(result)}, {word}{units}"]
    if result.missing is not None:
        before, here = result.missing.baseline_missing, result.missing.candidate_missing
        whose = f"{counted(before, 'conversation')} of the baseline and {here} of the candidate"
        how = "may be either (a rule on coverage would leave them out)"
        how = "are left out, as a rule on coverage allows" if is_lenient else how
        texts.append(f"{whose} have no {words.outcome_noun(result)} and {how}")
    return "; ".join(texts)


# Finds the eval cases that an app version has no recording of, and another version of the run has.


def unrecorded_cases(rows: Iterable[ConversationRow], lost: Container[str]) -> dict[str | None, list[str]]:
    """Returns app version -> ids of the eval cases that other versions alone have a recording of.

    Logs that state no version are no version of their own: their recordings may be of any.
    """
    recorded: defaultdict[str, set[CaseKey]] = defaultdict(set)
    for row in rows:
        name = row["eval_id"]
        if row["app_version"]:
            keys = recorded[row["app_version"]]
            # A record that contains its expectations and names no case has the id of its conversation.
            if name is not None and (name != row["conversation_id"] or name == row["task"]):
                keys.add(CaseKey(row["eval_set_id"] or "", name))
    known = {key for keys in recorded.values() for key in keys if key.eval_id not in lost}
    return {version: sorted(key.eval_id for key in known - keys) for version, keys in recorded.items()}


class _Estimated(NamedTuple):
    """A pass rate or a mean (also of the runs of cases, if estimated), its 95 % interval, and its cases."""

    value: float | None
    interval: Bounds | None
    cases: int = 0
    runs: int = 0
    of_runs: float | None = None


def _bound(rule: BoundRule, version: GatedVersion, rejected: Rejected, is_lenient: bool) -> RuleResult:
    """Holds what a version's conversations have against a bound; what was rejected may have been anything.

    Where a rule on coverage allows for what has no outcome (`is_lenient`), that is left out.
    """
    entries, _, sampled_out = scores_of(rule.criterion, [version])
    is_rate = rule.measure == "pass_rate"
    scale = (0.0, 1.0) if is_rate else scale_of(rule.criterion)
    decided: list[tuple[str, float]] = []
    missing, failed = list[GateEntry](), list[str]()
    for entry in entries:
        value = SHARES.get(entry.observed.outcome) if is_rate else entry.observed.value
        if value is not None and isfinite(value):
            if scale is not None and value < scale[0]:
                continue  # no claim
            decided.append((entry.case, value))
        else:
            missing.append(entry)
        if entry.observed.outcome == "FAIL":
            failed.append(entry.name)
    seen = _estimate(decided, scale, is_rate)
    unmeasured = len(missing) + rejected.number
    ways = [seen]
    if unmeasured and not is_lenient:
        # Everything without an outcome, as if all of it were at an end of the scale.
        cases = [*(entry.case for entry in missing), *(f"\0{number}" for number in range(rejected.number))]
        filled = ([*decided, *((case, end) for case in cases)] for end in scale or ())
        ways = [_estimate(values, scale, is_rate) for values in filled]
    figure = corrected_figure(version.calibration, rule.criterion, rule.measure, {version.app_version})
    if figure is not None and figure.value is not None:
        seen = _Estimated(figure.value, figure.interval, seen.cases, seen.runs)
        left, covered = rejected.number, figure.scores
        if figure.covers != "all":
            left, covered = unmeasured, figure.scores - figure.no_score
        ways = [seen]
        if left and not is_lenient:
            # As if all of what is left were at an end of the scale.
            share, limits = left / (left + covered), (figure.value, *(figure.interval or ()))
            ends = ([limit + share * (end - limit) for limit in limits] for end in scale or ())
            ways = [_Estimated(value, Bounds(*bounds) if bounds else None) for value, *bounds in ends]
    held, least, most = [side_of(rule, way) for way in ways], rule.at_least, rule.at_most or 0.0
    verdicts = {None if v is None else v <= most if least is None else v >= least for v in held}
    is_met = verdicts.pop() if decided and len(verdicts) == 1 else None
    text = _seen_text(rule, seen, figure)
    if unmeasured:
        text += f"; {unmeasured} without an outcome{f' ({rejected.text})' if rejected.text else ''}"
    number = len(version.conversations) - len(decided) - len(missing) - sampled_out
    text += without_text(number, sampled_out)
    names = {} if is_met else _kinds(failed, [entry.name for entry in missing], unmeasured)
    about = _rule_text(rule), version.app_version
    return _result(*about, is_met, text, value=side_of(rule, seen), interval=seen.interval, names=names)


def _seen_text(rule: BoundRule, seen: _Estimated, figure: Corrected | None) -> str:
    """Returns what was decided, corrected by human labels if the run has them, in one line."""
    unit = unit_of(rule)
    if seen.value is None:
        text = "nothing was scored"
    else:
        # The tables are of all conversations, or of turns.
        is_other = seen.runs > seen.cases or (unit != "%" and scale_of(rule.criterion) is None)
        text = f"{_number_text(seen.value, unit)}{' by case' if is_other else ''}"
        if seen.interval is not None:
            low, high = (_number_text(round(end, 11) + 0.0, unit) for end in seen.interval)
            text += f" ({low} to {high})"
        text += f", {counted(seen.cases, 'case')}"
        if seen.runs > seen.cases:
            of_runs = "" if seen.of_runs is None else f"{_number_text(seen.of_runs, unit)} "
            text += f", each counting once ({of_runs}of their {seen.runs} conversations)"
        side, limit = side_of(rule, seen), rule.at_most if rule.at_least is None else rule.at_least
        if side is None:
            text += ", and its interval is not known"
        elif unit == "%":
            text += beside_text(side, limit or 0.0)
    if figure is not None and figure.value is None:
        text += f"; not corrected by its labels: {figure.reason}"
    elif figure is not None:
        raw = "" if figure.raw is None else f", {_number_text(figure.raw, unit)} by the scores"
        part = "" if figure.covers == "all" else ", of what is decided alone"
        text += f"; corrected by {counted(figure.labels, 'label')} of people{raw}{part}"
    return text


def side_of(rule: BoundRule, seen: _Estimated) -> float | None:
    """Returns what is held against the bound; None: it is not known."""
    if rule.side == "estimate":
        return seen.value
    if seen.interval is None:
        return None
    return seen.interval.low if rule.side == "lower" else seen.interval.high


def _estimate(
    values: Sequence[tuple[str, float]], scale: tuple[float, float] | None, is_rate: bool
) -> _Estimated:
    """Returns the mean over cases and its 95 % interval; a case counts once, however many runs it has."""
    if not (by_case := grouped(values)):
        return _Estimated(None, None)
    means = {case: sum(scores) / len(scores) for case, scores in by_case.items()}
    mean = sum(means.values()) / len(means)
    interval = None if is_rate else CaseMeans(means, SEED).interval()
    if interval is None and scale is not None:
        # Wilson's is wide enough for values on a scale however they vary.
        low, extent = scale[0], scale[1] - scale[0]
        share = wilson_interval((mean - low) / extent * len(means), len(means))
        interval = share and Bounds(low + share.low * extent, low + share.high * extent)
    of_runs = sum(value for _, value in values) / len(values)
    return _Estimated(mean, interval, len(means), len(values), of_runs)


# Holds a comparison with a baseline against a margin, whatever was not measured would have been.


def _hold_baseline(
    rule: NotWorseRule,
    criterion: str,
    comparison: Comparison,
    state: BaselineState,
    compared: CriterionComparison | None,
    rejected: Rejected,
    coverage: float | None,
) -> tuple[bool | None, str]:
    """Returns whether a criterion is not worse than the baseline by a margin (None: open), and why in a line.

    The margin is a share of the scale. `coverage` is the share that a rule on coverage asks for; what has no
    outcome is left out then. None: no rule.
    """
    pairing = comparison.pairing
    if pairing.changed and not pairing.pairs:
        return None, f"{counted(pairing.changed, 'case')}, none with the expectation of the baseline"
    if pairing.by == "nothing" or not pairing.pairs:
        cases = counted(state.cases, "case")
        return None, f"nothing pairs: {cases} of the baseline without a conversation in the run"
    if compared is None:
        why = comparison.not_compared.get(criterion, "neither side has a score of it")
        return None, f"not compared: {why}"
    # What may have been the other side of a pair, or a failure.
    kinds = (
        (pairing.baseline_only, "case", "of the baseline without a conversation here"),
        (pairing.changed, "case", "whose expectation is not that of the baseline"),
        (pairing.baseline_unidentified, "conversation", f"of the baseline without {pairing.by}"),
    )
    gaps = [f"{counted(number, noun)} {what}" for number, noun, what in kinds if number]
    sides = (state.rejected, "in the baseline"), (rejected, "here")
    gaps += [f"not measured {where}: {of_side.text}" for of_side, where in sides if of_side.number]
    missing = sum(number for number, _, _ in kinds) + state.rejected.number + rejected.number
    is_met = _held(rule.margin, compared, coverage is not None)
    total = compared.overall.pairs + compared.baseline_only + compared.candidate_only + missing
    fewest = compared.overall.fewest_alike
    texts = [difference_text(compared, coverage is not None)]
    if is_met is None and (needed := words.needed_text(compared)):
        texts.append(needed)
    if fewest and is_met is None:
        texts.append(f"fewer than {fewest} cases cannot show that it is not worse")
    if compared.corrected is not None:
        texts.append(words.corrected_text(compared.corrected, compared.measure))
    texts += gaps
    if state.problems:
        texts.append(f"the baseline itself failed: {'; '.join(state.problems)}")
        is_met = None
    elif coverage is None:
        is_met = is_met if not gaps or (is_met is False and _stays(rule.margin, compared, missing)) else None
    elif (share := compared.overall.pairs / total if total else 0.0) < coverage:
        beside = beside_text(share, coverage)
        texts.append(f"{words.share_text(share)} compared{beside}, {limit_text(coverage, '%')} asked for")
        is_met = None
    if is_met is not None and compared.overall.word == "inconclusive":
        texts.append("this rule goes by the interval alone")
    return is_met, "; ".join(texts)


def _stays(margin: float, compared: CriterionComparison, added: int) -> bool:
    """Returns whether a share remains worse though all that was not compared were a gain."""
    interval, pairs = compared.overall.interval, compared.overall.pairs
    if interval is None or compared.measure != "pass_rate":
        return False
    high = interval.high if compared.better_is == "more" else -interval.low
    return (pairs * high + added) / (pairs + added) < -margin


def _held(margin: float, compared: CriterionComparison, is_lenient: bool) -> bool | None:
    """Returns whether it is not worse; None: the data, labels, or what has no outcome, leave it open."""
    if compared.better_is == "neither":
        return None
    # The margin is a share of the scale, or on an open scale of the baseline's mean.
    scale = (0.0, 1.0) if compared.measure == "pass_rate" else scale_of(compared.criterion)
    margin *= abs(compared.overall.baseline_value or 0.0) if scale is None else scale[1] - scale[0]
    intervals = [compared.overall.interval]
    if compared.missing is not None and not is_lenient:
        readings = (compared.missing.worst_for_candidate, compared.missing.best_for_candidate)
        intervals += [None if reading is None else reading.interval for reading in readings]
    if compared.corrected is not None:
        intervals.append(compared.corrected.interval)
    overall, answers = compared.overall, set[bool | None]()
    for interval in intervals:
        low, high = interval or (None, None)
        if low is not None and high is not None and compared.better_is == "less":
            low, high = -high, -low
        is_within, is_beyond = low is not None and low >= -margin, high is not None and high < -margin
        answers.add(True if is_within else False if is_beyond else None)
    is_few = answers == {True} and overall.word != "better" and overall.fewest_alike
    return None if is_few or len(answers) > 1 else answers.pop()


# The rules of a gate.

MOST_NAMES = 20
"""Names of each kind that a result holds."""
_MISSING = "without an outcome"
_NONE_SCORED = "no conversation was scored"


def apply_rules(
    config: GateConfig,
    versions: Sequence[GatedVersion],
    rejected: Rejected,
    not_allowed: Rejected | None = None,
) -> Iterator[RuleResult]:
    """Applies every rule to every app version; that all conversations pass, to all of them together.

    Without a version, no rule can be decided. `not_allowed` is the part of what was rejected that the
    options of the run do not allow for; None: all of it.
    """
    coverage = (rule for rule in config.rules if isinstance(rule, CoverageRule))
    shares = grouped((rule.criterion, rule.at_least) for rule in coverage)
    tolerant = {criterion: max(of_criterion) for criterion, of_criterion in shares.items()}
    for rule in config.rules:
        if isinstance(rule, AllPassRule):
            not_allowed_of_all = rejected_with(rejected if not_allowed is None else not_allowed, versions)
            yield _all_pass(rule, versions, not_allowed_of_all)
        elif isinstance(rule, NotWorseRule):
            names = held_criteria(rule, config)
            problems = versions[0].baseline.problems if versions else [_NONE_SCORED]
            why = "; ".join(problems) or "there is no baseline"
            if all(version.comparison is None for version in versions):
                yield from (_result(_not_worse_text(rule, name, versions), None, None, why) for name in names)
            else:  # a comparison counts the cases of the baseline alone itself
                pairs = [(name, version) for version in versions for name in names]
                yield from (_not_worse(rule, *pair, rejected, tolerant.get(pair[0])) for pair in pairs)
        elif not versions:
            yield _result(_rule_text(rule), None, None, _NONE_SCORED)
        else:
            gaps = [(version, rejected_with(rejected, [version])) for version in versions]
            if isinstance(rule, BoundRule):
                yield from (_bound(rule, *gap, rule.criterion in tolerant) for gap in gaps)
            elif isinstance(rule, CoverageRule):
                yield from (_coverage(rule, *gap) for gap in gaps)
            else:
                yield from (_destructive(rule, *gap, tolerant) for gap in gaps)


def held_criteria(rule: NotWorseRule, config: GateConfig) -> Sequence[str]:
    """Returns the criteria that a rule compares with the baseline."""
    return [rule.criterion] if rule.criterion else config.primary or (STATUS,)


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


def _not_worse_text(rule: NotWorseRule, name: str, gated: Sequence[GatedVersion], measure: str = "") -> str:
    is_share = measure == "pass_rate" or (not measure and name == STATUS)
    if not measure and not is_share:
        is_share = any(entry.observed.outcome for entry in scores_of(name, gated).entries)
    margin = words.margin_text(rule.margin, name, is_share)
    return f"{name}: not worse than the baseline by more than {margin}"


def _all_pass(rule: AllPassRule, versions: Sequence[GatedVersion], rejected: Rejected) -> RuleResult:
    number = sum(len(version.conversations) for version in versions)
    entries, skipped, sampled_out = scores_of(rule.criterion, versions)
    held = [entry for entry in entries if entry.observed.outcome == "FAIL" or not entry.observed.is_summed]
    failed = [entry.name for entry in held if entry.observed.outcome == "FAIL"]
    missing = [entry.name for entry in held if entry.observed.outcome not in ("PASS", "FAIL")] + skipped
    unmeasured = len(missing) + rejected.number
    text = f"{len(failed)} failed, {unmeasured} without an outcome"
    text = text if held or skipped else "nothing was scored"
    text += f" ({rejected.text})" if rejected.text else ""
    text += without_text(number - len(entries) - len(skipped) if held else 0, sampled_out)
    is_met = False if failed else None if unmeasured or not held else True
    kinds = _kinds(failed, missing, unmeasured)
    text = text if versions else _NONE_SCORED
    return _result(_rule_text(rule), None, is_met, text, names=kinds, rejected=rejected.names)


def _coverage(rule: CoverageRule, version: GatedVersion, rejected: Rejected) -> RuleResult:
    entries, _, sampled_out = scores_of(rule.criterion, [version])
    is_gate = any(entry.observed.outcome is not None for entry in entries)
    given = [(entry.name, entry.observed.outcome if is_gate else entry.observed.value) for entry in entries]
    missing = [name for name, value in given if value is None]
    total = len(entries) + sampled_out + rejected.number
    if not entries:
        text = "nothing was scored" + without_text(0, sampled_out)
        return _result(_rule_text(rule), version.app_version, None, text)
    share = (len(entries) - len(missing)) / total
    text = f"{words.share_text(share)}: {len(entries) - len(missing)} of {total}"
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
    texts = []
    if unclear := [row for row in version.rows if row["unclear_tools"]]:
        tools = names_text(name for row in unclear for name in row["unclear_tools"])
        unknown = f"nothing says whether the calls were expected, or what the tools do ({tools})"
        step = "state the effects in `tools` of the run's config"
        texts.append(f"open in {counted(len(unclear), 'conversation')}: {unknown}; {step}")
    else:
        number = sum(row["destructive_calls"] for row in version.rows)
        texts.append(counted(number, "destructive call") + (", expected" if number else ""))
    if gaps := [row for row in version.rows if row["unknown_calls"]]:
        texts.append(f"calls may be missing in the logs of {counted(len(gaps), 'conversation')}")
    if rejected.number:
        texts.append(f"{rejected.number} without an outcome ({rejected.text})")
    guessed = {name for row in version.rows for name in row["guessed_tools"]}
    if guessed and not unclear:
        number_of_tools = counted(len(guessed), "tool")
        texts.append(f"effects guessed from the names of {number_of_tools}: {names_text(guessed)}")
    is_open = unclear or (gaps and STATUS not in tolerant) or (rejected.number and not tolerant)
    kinds = {"open": unclear, "calls may be missing": gaps} if is_open else {}
    names = {kind: [row["conversation_id"] for row in rows] for kind, rows in kinds.items() if rows}
    is_met = None if is_open else True
    return _result(_rule_text(rule), version.app_version, is_met, "; ".join(texts), names=names)


def _not_worse(
    rule: NotWorseRule, criterion: str, version: GatedVersion, rejected: Rejected, coverage: float | None
) -> RuleResult:
    comparison = version.comparison
    assert comparison is not None, "the rules are applied to what is compared"
    compared = next((result for result in comparison.criteria if result.criterion == criterion), None)
    overall = compared.overall if compared else None
    text = _not_worse_text(rule, criterion, [version], compared.measure if compared else "")
    is_met, why = _hold_baseline(rule, criterion, comparison, version.baseline, compared, rejected, coverage)
    flips = [flip for flip in comparison.flips if flip.criterion == criterion]
    kinds = {"regressed": "regressed", "newly_missing": "without an outcome now"}
    cases = {text: [flip.case for flip in flips if flip.kind == kind] for kind, text in kinds.items()}
    worse = {text: names for text, names in cases.items() if names}
    why += without_text(0, scores_of(criterion, [version]).sampled_out)
    if worse and not is_met:
        why += "".join(f"; {counted(len(names), 'case')} {kind}" for kind, names in worse.items())
    value, interval = (overall.difference, overall.interval) if overall else (None, None)
    names = {} if is_met else worse
    return _result(text, version.app_version, is_met, why, value=value, interval=interval, names=names)


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
