"""The first page of a run: one sentence that answers "ship, or not?", its counts, and what to read first.

Every surface shows what this module says.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from msgspec import convert

from turnwise.schemas.comparison import (
    Comparison,
    CriterionComparison,
    FirstPage,
    ListedConversation,
    OpenReason,
    Pairing,
    SliceDifference,
)
from turnwise.schemas.config import STATUS
from turnwise.schemas.jsonio import counted
from turnwise.schemas.jsonio import listed as names_listed
from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.criteria.figures import RecordedReward
from turnwise.transforms.criteria.tool_effects import ToolEffects
from turnwise.transforms.decisions.comparison import words
from turnwise.transforms.decisions.comparison.estimates import FEWEST_ALIKE
from turnwise.transforms.decisions.run import REJECTED, cases_of, shared_reason
from turnwise.transforms.effects.call_effects import DESTRUCTIVE
from turnwise.transforms.review.problems import MOST_OF_A_TYPE, MOST_READ, to_read
from turnwise.transforms.statistics.tests import normal_quantile

NAMED = "baseline and candidate are as they were named"
"""How they were chosen, as a clause."""

_LARGEST_LOSS = 0.2
_FEW = 10
"""Fewer cases say so little that the first page asks for more."""
_ENOUGH_VERDICTS = 100
"""From so many verdicts on, the interval of their pass rate reaches 10 points to each side at most."""
_REASONS_SHOWN = 3
_NAMES_SHOWN = 3


def leading(primary: Sequence[str], measured: Sequence[str], stating: Sequence[str] = ()) -> tuple[str, str]:
    """Returns the criterion that leads, of those that have a value on every side, and why it is this one.

    `stating` are criteria that some case fails, so that they say something about these cases.
    """
    for name in primary:
        if name in measured:
            return name, "the config calls it primary"
    if RecordedReward.name in measured:
        return RecordedReward.name, "the log holds it"
    if ToolEffects.name in measured and ToolEffects.name in stating:
        return ToolEffects.name, "the eval cases state actions"
    return STATUS, "no primary criterion is compared" if primary else "no criterion is called primary"


def two_versions(
    comparison: Comparison, primary: Sequence[str], rows: Sequence[ConversationRow] | None, chosen: str
) -> FirstPage:
    """Returns the first page of a comparison.

    `primary` are criteria that the config calls so, `rows` the conversations of the candidate (None: they are
    not read), `chosen` is how baseline and candidate were chosen, as a clause.
    """
    known = (result for result in comparison.criteria if result.overall.difference is not None)
    by_name = {result.criterion: result for result in known}
    effects, verdict = by_name.get(ToolEffects.name), by_name.get(STATUS)
    stating = []
    if effects is not None and effects.measure == "pass_rate":
        # Where all pass, the cases may state no action; and no verdict that got worse is hidden.
        all_pass = effects.overall.baseline_value == effects.overall.candidate_value == 1
        is_hidden = verdict is not None and verdict.overall.word == "worse" != effects.overall.word
        stating = [] if all_pass or is_hidden else [ToolEffects.name]
    lead, why_lead = leading(primary, list(by_name), stating)
    result = by_name.get(lead)
    has_outcomes = result is not None and result.measure == "pass_rate"
    counts_by = lead if has_outcomes else STATUS
    counts = by_name.get(counts_by)
    details = _details(result, comparison) if result else []
    if primary and lead not in primary:
        # Another criterion leads, and answers nothing about the one that was asked for.
        why = comparison.not_compared.get(primary[0], "it has no value on both sides")
        details.insert(0, f"The primary criterion {primary[0]} is not compared: {why}.")
    no_score = counts.missing.candidate_missing if counts and counts.missing else 0
    worse = (flip for flip in comparison.flips if flip.kind == "regressed")
    of_lead = [flip.candidate_conversations for flip in worse if flip.criterion in (counts_by, STATUS)]
    regressed = {conversation for conversations in of_lead for conversation in conversations}
    return FirstPage(
        headline=headline(result, comparison),
        detail=" ".join(details),
        criterion=lead,
        counts_by=counts_by,
        chosen=f"{'The verdict' if lead == STATUS else lead} leads, because {why_lead}; {chosen}",
        baseline=comparison.baseline.name,
        candidate=comparison.candidate.name,
        regressed=counts.regressed if counts else None,
        fixed=counts.fixed if counts else None,
        still_failing=counts.still_failing if counts else None,
        no_verdict=comparison.candidate.no_verdict,
        no_score=None if counts is None or counts_by in (STATUS, comparison.same_as_verdict) else no_score,
        open_reasons=open_reasons(rows or ()),
        rejected=comparison.candidate.rejected,
        destructive=comparison.candidate.destructive,
        baseline_destructive=comparison.baseline.destructive,
        read_first=listed(read_first(rows or (), regressed)),
    )


def without_baseline(
    versions: Sequence[str],
    verdicts: Sequence[int],
    bounds: tuple[float | None, float | None],
    counts: Sequence[Mapping[str, Any]],
    first_rows: Sequence[Mapping[str, Any]],
    rows: Sequence[ConversationRow] | None,
    why: str = "",
) -> FirstPage:
    """Returns the first page of app versions ("": not stated) that are not compared, of most runs one.

    `verdicts` are the conversations that passed, that failed, and without a verdict, `bounds` the interval of
    the share that passes, 0..1, `counts` those of the runs; `rows` are all of their conversations (None: too
    many to be read again); `why` several are not compared, where nothing else says it.
    """
    passed, failed, missing = verdicts
    low, high = bounds
    between = "" if low is None or high is None else f" ({words.share_text(low)} to {words.share_text(high)})"
    share = f"{words.share_text(passed / (passed + failed))} pass{between}, " if passed + failed else ""
    short = words.last_parts((version or "(no version)" for version in versions), words.LONGEST_NAME).values()
    names = " and ".join(short) if len(short) <= _NAMES_SHOWN else f"{len(short)} app versions"
    few = of_cases = ""
    only = f"{why}{names} are not compared{';' if why else ':'}"
    if len(versions) == 1:
        only, number, noun = "One version only:", passed + failed, "conversation"
        decided = [row for row in rows or () if row["verdict"] is not None]
        if (cases := len({*cases_of(decided)})) < len(decided):
            # Recordings of one case are no further cases.
            number, noun, of_cases = cases, "case", f" (of {counted(cases, 'case')})"
        if 0 < number < _FEW:
            more = f"{_ENOUGH_VERDICTS - number} more {noun}s tell the pass rate to within 10 points"
            has = "has" if number == 1 else "have"
            few = f"Only {counted(number, noun)} {has} a verdict: {more}."
    return FirstPage(
        headline=f"{only} {share}{passed + failed:,} with a verdict{of_cases}, {missing:,} without.",
        detail=" ".join(filter(None, (few, *left_out(*counts)))),
        criterion=STATUS,
        counts_by=STATUS,
        chosen="The verdict leads, because there is no other version to compare",
        baseline=None,
        candidate=versions[0] if len(versions) == 1 else "",
        regressed=None,
        fixed=None,
        still_failing=failed,
        no_verdict=missing,
        open_reasons=open_reasons(rows or ()),
        rejected=sum(of_run.get(name) or 0 for of_run in counts for name in REJECTED),
        destructive=None if rows is None else count_destructive(rows),
        read_first=listed(first_rows),
    )


def nameless_text(number: int) -> str:
    """Returns what is said of conversations that name an eval case where none are given; "": of none."""
    names = "conversation names an eval id" if number == 1 else "conversations name eval ids"
    return f"{number} {names}, but no cases were given: add --eval_cases" if number else ""


def left_out(*counts: Mapping[str, Any]) -> list[str]:
    """Returns what lacked its case, budget of the judge or batch jobs in runs; one sentence each."""
    batch = "batch jobs of the judge gave no answer, or none yet: run again to take it"
    whys = {"budget": "the judge's budget is spent or kept", "batch": batch}
    nameless = nameless_text(sum(of_run.get("no_cases_given") or 0 for of_run in counts))
    sentences = [f"{nameless}."] if nameless else []
    for name, why in whys.items():
        keys = f"short_of_{name}", f"left_by_{name}"
        short, left = (sum(of_run.get(key) or 0 for of_run in counts) for key in keys)
        if short:
            verdicts = f"; {left} of them without a verdict" if left else ""
            sentences.append(f"{counted(short, 'conversation')} with no score, because {why}{verdicts}.")
    return sentences


def count_destructive(rows: Iterable[ConversationRow]) -> int:
    """Returns the number of conversations with an unexpected destructive call."""
    return sum(row["severity_reason"] == DESTRUCTIVE for row in rows)


def listed(rows: Iterable[Mapping[str, Any]]) -> list[ListedConversation]:
    """Returns rows of conversations as the first page lists them."""
    return [convert(row, ListedConversation) for row in rows]


def open_reasons(rows: Iterable[Mapping[str, Any]]) -> list[OpenReason]:
    """Returns the most frequent reasons for no verdict; what sampling left out has none."""
    open_rows = (row for row in rows if row["verdict"] is None and row["reason"])
    reasons = Counter(shared_reason(row["reason"]) for row in open_rows)
    return [OpenReason(number, reason) for reason, number in reasons.most_common(_REASONS_SHOWN)]


def headline(result: CriterionComparison | None, comparison: Comparison) -> str:
    """Returns what a difference means for the decision, in one sentence with its numbers.

    The numbers are those of the table of criteria. It claims and advises nothing that what was not measured
    could turn. None: nothing of what leads is compared.
    """
    if result is None:
        why = "; ".join(f"{name}: {why}" for name, why in comparison.not_compared.items())
        names = f"{comparison.candidate.name} and {comparison.baseline.name}"
        known = (result for result in comparison.criteria if result.overall.difference is not None)
        if both := ", ".join(f"{result.criterion} {result.overall.word}" for result in known):
            why = comparison.not_compared.get(STATUS, "no case has one on both sides")
            return f"The verdicts of {names} cannot be compared: {why}; the criteria that both have: {both}."
        return f"{names} cannot be compared: {why or 'no case has a value on both sides'}."
    a, b = words.side_names(comparison)
    by, overall = "" if result.criterion == STATUS else f" by {result.criterion}", result.overall
    values = (words.value_text(value, result) for value in (overall.candidate_value, overall.baseline_value))
    against = f"{' pass' if result.measure == 'pass_rate' else ''} against ".join(values)
    cases = compared_cases(result, comparison.pairing)
    numbers = f"{against}, {words.change_text(overall, result)}, {cases}"
    if result.unmeasured:
        unmeasured = " and ".join(result.unmeasured)
        return f"Inconclusive{by}: {unmeasured} could turn what the others show: {numbers}."
    if result.overall.word != "inconclusive":
        within = words.margin_text(comparison.margin, result.criterion, result.measure == "pass_rate")
        return f"{words.claim(result.overall.word, a, b, by, within)}: {numbers}."
    reach = _reach(result, comparison) or f"{b} against {a}: {numbers}"
    # Few cases have a sentence of their own.
    needed = words.needed_text(result) if min(words.units_compared(result.overall)) >= _FEW else ""
    return f"Inconclusive{by}: {reach}{f'; {needed}' if needed else ''}."


def compared_cases(result: CriterionComparison, pairing: Pairing) -> str:
    """Returns how many cases of how many a difference rests on, and what pairs them."""
    overall = result.overall
    if overall.pairs:
        every = pairing.pairs + pairing.baseline_only + pairing.candidate_only + pairing.changed
        of_all = f"{overall.pairs:,} of " if every != overall.pairs else ""
        return f"{of_all}{counted(every, 'case')}, paired by {pairing.by}"
    sizes = words.units_compared(overall)
    return f"unpaired samples of {sizes[0]:,} and {sizes[1]:,} {words.unit_noun(overall)}s"


def _reach(result: CriterionComparison, comparison: Comparison) -> str:
    """Returns how far the candidate may be worse or better, and what that would accept; "": unknown."""
    a, b = words.side_names(comparison)
    interval = result.overall.interval
    if interval is None or result.better_is == "neither":
        return ""
    low, high = interval.low, interval.high
    if result.better_is == "less":
        low, high = -high, -low
    digits = words.decimals(result.overall.difference, result.measure, result.unit)
    about = result.measure, result.unit
    loss, gain = (words.amount(abs(value), *about, digits=digits) for value in (low, high))
    span = f"up to {loss} worse or {gain} better"
    # An interval without 0, which something else leaves open: both of its bounds, as in the table.
    if low > 0:
        span = f"{loss.removesuffix(' points').removesuffix(' s')} to {gain} better"
    elif high < 0:
        span = f"{gain.removesuffix(' points').removesuffix(' s')} to {loss} worse"
    text = f"{b} may be {span} than {a} ({compared_cases(result, comparison.pairing)})"
    # Nobody accepts the loss of a fifth of the scale, nor what was not measured may add to the loss, and
    # no advice is given where another figure speaks against it: labels, a criterion, or that nothing passes.
    is_open = result.missing is not None and result.missing.changes_the_word
    measured = result.overall.pairs or result.overall.candidate_count
    sides = comparison.baseline, comparison.candidate
    unknown = sum(words.unmeasured_numbers(result, *sides, comparison.pairing).values())
    is_open = is_open or unknown > comparison.margin * (unknown + measured)
    is_large = result.unit == "score" and -low > _LARGEST_LOSS
    is_against = (
        result.corrected is not None
        or any(other.overall.word == "worse" for other in comparison.criteria)
        or _worse_slices(result, comparison)
        or (result.measure == "pass_rate" and not result.overall.candidate_value)
    )
    if is_open or low > 0 or comparison.candidate.destructive or is_large or is_against:
        return text
    if comparison.baseline.app_versions == comparison.candidate.app_versions != [None]:
        return text  # nights of one version: nothing ships
    return f"{text}. Safe to ship if a loss of {loss} is acceptable"


def _details(result: CriterionComparison, comparison: Comparison) -> list[str]:
    """Returns what is left out or missing, one sentence each, as far as it could change the answer."""
    a, b = words.side_names(comparison)
    missing, pairing, details = result.missing, comparison.pairing, []
    if (number := min(words.units_compared(result.overall))) < _FEW:
        needed, noun = max(FEWEST_ALIKE, result.overall.pairs_needed or 0), words.unit_noun(result.overall)
        of_each = "" if result.overall.pairs else " of each version"
        few = f"Only {counted(number, noun)}{of_each} can be compared"
        details.append(f"{few}: about {words.rounded(needed)} are needed.")
    if result.corrected is not None:
        text = words.corrected_text(result.corrected, result.measure)
        details.append(f"The difference {text}.")
    if pairing.by == "nothing":
        details.append(f"No case is on both sides: those of {a} and {b} are taken to be alike.")
    if missing is not None and missing.changes_the_word:
        counts = f"{missing.baseline_missing} of {a} and {missing.candidate_missing} of {b}"
        is_turned = result.overall.word == "inconclusive"
        then = "they could turn the answer" if is_turned else f"whatever they would be, {b} is not worse"
        details.append(f"{counts} have no {words.outcome_noun(result)}: {then}.")
    if result.overall.word in ("better", "worse") and result.fixed == result.regressed == 0:
        details.append("No case changed in half of its recordings or more, as regressed and fixed ones do.")
    if alone := result.baseline_only + result.candidate_only:
        details.append(f"Left out, with a value on one side alone: {counted(alone, 'case')}.")
    if result.overall.pairs and pairing.baseline_only and not result.unmeasured:
        gone = counted(pairing.baseline_only, "case")
        details.append(f"Left out: {gone} of {a} without a conversation of {b}.")
    unpaired = pairing.baseline_unidentified + pairing.candidate_unidentified
    if result.overall.pairs and unpaired:
        details.append(f"Left out, without {pairing.by}: {counted(unpaired, 'conversation')}.")
    if pairing.changed:
        details.append(f"Left out, because the expectation differs: {counted(pairing.changed, 'case')}.")
    return details + _worse(result, comparison)


def _worse(result: CriterionComparison, comparison: Comparison) -> list[str]:
    """Returns which other criteria and which slices are worse, one sentence each.

    Where the whole is worse, most of them are: only slices that are surely worse than the whole are named.
    """
    whole, sign = result.overall, -1 if result.better_is == "less" else 1
    slices = [(part.slice, result, part.difference) for part in _worse_slices(result, comparison)]
    others = [(o.criterion, o, o.overall) for o in comparison.criteria if o.overall.word == "worse"]
    if whole.word == "worse" and whole.difference is not None:
        # Bounds by Bonferroni: of many slices that are like the whole, some intervals miss it.
        number = sum(part.criterion == result.criterion for part in comparison.slices)
        tails = comparison.alpha / 2 / max(1, number), comparison.alpha / 2
        wider, usual = (normal_quantile(1 - tail) for tail in tails)
        surely = []
        for slice_, of, part in slices:
            own, bounds = sign * (part.difference or 0.0), part.interval
            best = max(sign * bounds.low, sign * bounds.high) if bounds else 0.0
            if own + (best - own) * wider / usual < sign * whole.difference:
                surely.append((slice_, of, part))
        slices, others = surely, []
    sentences = []
    for preposition, parts in ("by", others), ("in", slices):
        short, texts = words.short_names(name for name, _, _ in parts), []
        for name, measured, part in parts[:_NAMES_SHOWN]:
            values = (words.value_text(v, measured) for v in (part.candidate_value, part.baseline_value))
            texts.append(f"{short[name]} ({' against '.join(values)})")
        names = names_listed(texts, _NAMES_SHOWN, len(parts))
        sentences += [f"Worse {preposition} {names}."] if parts else []
    return sentences


def _worse_slices(result: CriterionComparison, comparison: Comparison) -> list[SliceDifference]:
    """Returns the slices that stand out as worse by a criterion, the surest first."""
    worse = (part for part in comparison.slices if part.stands_out and part.difference.word == "worse")
    return [part for part in worse if part.criterion == result.criterion]


def read_first(rows: Sequence[ConversationRow], regressed: Container[str]) -> list[ConversationRow]:
    """Returns the candidate's conversations to read first: regressions, then failures, the most severe first.

    `regressed` are ids of those whose case passed in the baseline and fails now, by verdict or what leads.
    """
    first = to_read([row for row in rows if row["conversation_id"] in regressed])
    taken = Counter(row["problem_type"] for row in first)
    others = [row for row in rows if row["conversation_id"] not in regressed]
    rest = []
    for row in to_read(others, most=len(others)):
        taken[row["problem_type"]] += 1
        if taken[row["problem_type"]] <= MOST_OF_A_TYPE:
            rest.append(row)
    return [*first, *rest][:MOST_READ]


def counts_text(page: FirstPage) -> str:
    """Returns the counts of a first page in one line; by which criterion, if not by verdict alone."""
    of_criterion = {
        "regressed": page.regressed,
        "fixed": page.fixed,
        "still failing" if page.baseline else "failed": page.still_failing,
        "no score": page.no_score,
    }
    of_all = {"no verdict": page.no_verdict, "rejected": page.rejected}
    kinds = (counts.items() for counts in (of_criterion, of_all))
    known = ([f"{name} {number:,}" for name, number in kind if number is not None] for kind in kinds)
    counted_by, others = map(", ".join, known)
    if page.counts_by != STATUS:
        return f"{page.counts_by}: {counted_by}; {others}"
    text = ", ".join(filter(None, (counted_by, others)))
    return text if page.criterion == STATUS else f"{page.counts_by}: {text}"


def reasons_of(page: FirstPage) -> list[str]:
    """Returns lines about why conversations of the candidate have no verdict; empty: no reason is known."""
    if not page.open_reasons:
        return []
    short = {} if page.baseline is None else words.short_names([page.baseline, page.candidate])
    of = f" of {short[page.candidate]}" if short else ""
    others = page.no_verdict - sum(reason.conversations for reason in page.open_reasons)
    parts = [*page.open_reasons, *([OpenReason(others, "other reasons")] if others > 0 else [])]
    lines = (f"  {reason.conversations:,}: {reason.reason}" for reason in parts)
    return [f"no verdict ({page.no_verdict:,}{of}), most often:", *lines]


def destructive_text(page: FirstPage) -> str:
    """Returns a line about unexpected destructive calls, of the candidate and of the baseline; "": none."""
    if not page.destructive and not page.baseline_destructive:
        return ""
    text = f"unexpected destructive calls: in {counted(page.destructive or 0, 'conversation')}"
    short = words.short_names(name for name in (page.candidate, page.baseline) if name)
    text += f" of {short[page.candidate]}" if page.candidate else ""
    if page.baseline is None or page.baseline_destructive is None:
        return text
    return f"{text}, in {page.baseline_destructive:,} of {short[page.baseline]}"
