"""What a gate is applied to: an app version of a run, and what was rejected."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import NamedTuple

from msgspec import Struct

from turnwise.schemas.calibration import Calibration
from turnwise.schemas.case import CaseKey
from turnwise.schemas.comparison import Bounds, Comparison, CriterionComparison
from turnwise.schemas.config import STATUS, AllPassRule, BoundRule, ConfigError, GateConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.criteria.base import CRITERIA, Criterion
from turnwise.transforms.decisions.comparison.collect import Observed
from turnwise.transforms.decisions.comparison.sentences import (
    counted,
    difference_figures,
    needed_text,
    outcome_noun,
)
from turnwise.transforms.decisions.comparison.side_values import scale_of
from turnwise.transforms.decisions.comparison.sides import ConversationColumns

_LOST_RECORDS = (
    ("rejected_records", "record", "rejected"),
    ("rejected_conversations", "conversation", "rejected"),
    ("unread_ends", "file", "not read to the end"),
)
_LOST_CASES = (
    ("rejected_cases", "eval case", "not read"),
    ("unused_cases", "eval case", "without a recording"),
)


class Rejected(NamedTuple):
    """What was rejected before it could be scored, of the run as a whole.

    Attributes:
        names: What is known of it by name: source and position of records, eval cases.
    """

    number: int
    text: str
    names: Sequence[str] = ()


class BaselineState(NamedTuple):
    """The baseline itself.

    Attributes:
        problems: Why it failed, one line each, but for rules of its own that it missed.
    """

    cases: int = 0
    rejected: Rejected = Rejected(0, "")
    problems: Sequence[str] = ()


NO_BASELINE = BaselineState()


class GatedVersion(Struct, frozen=True):
    """One app version of a run.

    Attributes:
        conversations: Its conversations with what every criterion gave them.
        comparison: Its comparison with the baseline; None: there is no baseline.
        calibration: What human labels say of the run; None: it has no labels.
        unrecorded: Ids of the eval cases that other versions of the run alone have a recording of.
    """

    app_version: str | None
    conversations: ConversationColumns
    rows: list[ConversationRow]
    comparison: Comparison | None
    baseline: BaselineState = NO_BASELINE
    calibration: Calibration | None = None
    unrecorded: Sequence[str] = ()


class GateEntry(NamedTuple):
    """What a criterion gave one conversation.

    Attributes:
        case: The case that it is a run of; without one, the conversation itself.
    """

    case: str
    name: str
    observed: Observed


def rejected_of(counts: JsonObject, names: Sequence[str] = (), only_cases: bool = False) -> Rejected:
    """Returns what the counts of `run.json` say was rejected; `names` are known of it."""
    kinds = _LOST_CASES if only_cases else (*_LOST_RECORDS, *_LOST_CASES)
    found = [(counts.get(name) or 0, noun, what) for name, noun, what in kinds]
    number = sum(number for number, _, _ in found)
    text = ", ".join(f"{counted(n, noun)} {what}" for n, noun, what in found if n)
    return Rejected(number, text, names if number else ())


def rejected_with(rejected: Rejected, versions: Iterable[GatedVersion]) -> Rejected:
    """Adds to what a run rejected the eval cases that some of its app versions have no recording of."""
    found = [one for one in versions if one.unrecorded]
    texts = [
        f"{counted(len(one.unrecorded), 'eval case')} without a recording in {one.app_version}"
        for one in found
    ]
    return Rejected(
        rejected.number + sum(len(one.unrecorded) for one in found),
        ", ".join(filter(None, (rejected.text, *texts))),
        [
            *rejected.names,
            *(f"eval case {name} ({one.app_version})" for one in found for name in one.unrecorded),
        ],
    )


def baseline_state(
    conversations: ConversationColumns, counts: JsonObject, problems: Sequence[str]
) -> BaselineState:
    """Returns the state of a baseline, by its conversations and the counts of its `run.json`.

    Eval cases without a recording do not count: a case may be newer than the baseline.
    """
    cases = len(conversations.own_cases().used())
    return BaselineState(cases, rejected_of({**counts, "unused_cases": 0}), problems)


def entries_of(version: GatedVersion, criterion: str) -> list[GateEntry]:
    """Returns what a criterion gave the conversations that it applies to.

    Where it applies to all, one without a score has no outcome: its log lacks what is measured.
    """
    kind = CRITERIA.get(criterion)
    missing = Observed(why="not in the log") if kind is not None and kind.applies_always else None
    columns = version.conversations
    rows = zip(
        columns.own_cases(), columns.conversation_ids, columns.skipped, columns.sampled_out, strict=True
    )
    entries = []
    for row, (case, name, skipped, sampled_out) in enumerate(rows):
        found = columns.given(row, criterion) or missing
        if found is not None and criterion not in skipped and criterion not in sampled_out:
            entries.append(GateEntry(str(case), name, found))
    return entries


def count_sampled_out(version: GatedVersion, criterion: str) -> int:
    """Returns how many conversations a sample rate left out of a criterion."""
    return sum(criterion in own for own in version.conversations.sampled_out)


def without_score(version: GatedVersion, criterion: str) -> list[str]:
    """Returns the conversations that a criterion skipped, or that a sample rate left out of it."""
    columns = version.conversations
    rows = zip(columns.conversation_ids, columns.skipped, columns.sampled_out, strict=True)
    return [name for name, skipped, left_out in rows if criterion in skipped or criterion in left_out]


def counted_values(entries: Iterable[GateEntry], criterion: str) -> Iterator[tuple[GateEntry, float | None]]:
    """Yields values, None where there is none; one below the scale (no claim) does not count."""
    scale = scale_of(criterion)
    for entry in entries:
        value = entry.observed.value
        if value is None or not isfinite(value):
            yield entry, None
        elif scale is None or value >= scale[0]:
            yield entry, value


def passes(entries: Iterable[GateEntry]) -> Iterator[tuple[GateEntry, float | None]]:
    """Yields 1 for PASS, 0 for FAIL, None for what has no outcome."""
    for entry in entries:
        yield entry, {"PASS": 1.0, "FAIL": 0.0}.get(entry.observed.outcome or "")


# Checks that the rules of a gate can ever be decided by the criteria of a run.


def check_gate(gate: GateConfig, criteria: Iterable[Criterion]) -> None:
    """Raises ConfigError if a rule or a primary criterion of the config is not of its criteria."""
    fault = gate_fault(gate, {criterion.name: criterion.threshold for criterion in criteria})
    if fault:
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
        if not fault and isinstance(rule, BoundRule):
            fault = _bound_fault(rule, thresholds)
        elif isinstance(rule, AllPassRule):
            fault = outcome_fault(rule.criterion, thresholds)
        if fault:
            return f"rules.{index}.{fault if fault.startswith('at_') else f'criterion: {fault}'}"
    return None


def outcome_fault(criterion: str, thresholds: Mapping[str, float | None]) -> str | None:
    """Returns why a criterion has no outcome in a run, or is not in it; None: it can have one."""
    fault = _name_fault(criterion, thresholds)
    is_open = not fault and criterion != STATUS and thresholds[criterion] is None and not scale_of(criterion)
    return f"{criterion} has no threshold in the config, so it cannot fail" if is_open else fault


def _name_fault(name: str, thresholds: Mapping[str, float | None]) -> str | None:
    if name == STATUS or name in thresholds:
        return None
    near = get_close_matches(name, [*thresholds, STATUS], n=1)
    hint = f" (did you mean {near[0]}?)" if near else f"; it can be {', '.join([STATUS, *thresholds])}"
    return f"{name!r} is not among the config's criteria{hint}"


def _bound_fault(rule: BoundRule, thresholds: Mapping[str, float | None]) -> str | None:
    scale = scale_of(rule.criterion)
    if rule.measure == "pass_rate":
        return outcome_fault(rule.criterion, thresholds)
    bounds = [bound for bound in (rule.at_least, rule.at_most) if bound is not None]
    if scale and not all(scale[0] <= bound <= scale[1] for bound in bounds):
        return f"at_least, at_most: a mean of {rule.criterion} lies between {scale[0]:g} and {scale[1]:g}"
    return None


# Numbers of a gate as texts.

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


def range_text(interval: Bounds | None, is_share: bool) -> str:
    """Returns an interval in parentheses; empty: there is none."""
    if interval is None:
        return ""
    factor = 100 if is_share else 1
    low, high = (round(factor * end, 9) + 0.0 for end in interval)
    return f" ({low:.4g} to {high:.4g})"


def without_text(number: int, sampled_out: int) -> str:
    """Returns what a criterion says nothing of: conversations that it measures nothing of, or left out."""
    text = f"; n/a for {counted(number, 'other conversation')}" if number else ""
    return text + (f"; {sampled_out} sampled out" if sampled_out else "")


def difference_text(own: CriterionComparison, is_lenient: bool) -> str:
    """Returns a difference from the baseline, with its interval and what may be said of it.

    `is_lenient`: a rule on coverage allows for what has no score.
    """
    overall = own.overall
    if overall.difference is None:
        return "there is no difference to be measured"
    units = f"{overall.pairs} cases" if overall.pairs else f"{overall.candidate_count} conversations"
    texts = [f"{difference_figures(own)}, {overall.word}, {units}", needed_text(own)]
    if own.missing is not None:
        before, here = own.missing.baseline_missing, own.missing.candidate_missing
        counts = (
            "are left out, as a rule on coverage allows"
            if is_lenient
            else "may be either (a rule on coverage would leave them out)"
        )
        whose = f"{counted(before, 'conversation')} of the baseline and {here} of the candidate"
        texts.append(f"{whose} have no {outcome_noun(own)} and {counts}")
    return "; ".join(filter(None, texts))


def corrected_text(own: CriterionComparison) -> list[str]:
    """Returns the difference that human labels correct; empty: there is none."""
    found = own.corrected
    if found is None:
        return []
    factor, unit = (100, " points") if own.measure == "pass_rate" else (1, "")
    value, low, high = (
        f"{factor * number:+.3g}" for number in (found.difference, found.interval.low, found.interval.high)
    )
    labels = f"{found.baseline_labels} and {found.candidate_labels} labels"
    return [f"corrected by {labels}: {value}{unit} ({low} to {high})"]


# Finds the eval cases that an app version has no recording of, and another version of the run has.


def unrecorded_cases(
    rows: Iterable[ConversationRow], rejected: Container[str]
) -> Mapping[str | None, Sequence[str]]:
    """Returns app version -> ids of the eval cases that other versions alone have a recording of.

    Logs that state no version are no version of their own: their recordings may be of any.
    """
    recorded: defaultdict[str, set[CaseKey]] = defaultdict(set)
    for row in rows:
        name = row["eval_id"]
        if row["app_version"]:
            own = recorded[row["app_version"]]
            # A record that contains its expectations and names no case has the id of its conversation.
            if name is not None and (name != row["conversation_id"] or name == row["task"]):
                own.add(CaseKey(row["eval_set_id"] or "", name))
    known = {key for own in recorded.values() for key in own if key.eval_id not in rejected}
    return {version: sorted(key.eval_id for key in known - own) for version, own in recorded.items()}
