"""What a reader of a comparison must know: its sentences, notes, changed settings, flips."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import floor, log10
from os.path import commonprefix

import numpy as np
from msgspec.structs import replace

from turnwise.schemas.comparison import (
    GATE_PROBLEM,
    Comparison,
    ComparisonWord,
    CorrectedDifference,
    CriterionComparison,
    Flip,
    FlipKind,
    PairedBy,
    Pairing,
    SettingsChange,
    Side,
    SliceDifference,
    TurnDifference,
    VersionDifference,
)
from turnwise.schemas.config import STATUS
from turnwise.schemas.conversation import turn_name
from turnwise.schemas.jsonio import JsonValue, counted, dump_json, grouped, listed
from turnwise.schemas.run import RunDocument, redacted_text
from turnwise.transforms.decisions.comparison.side_values import CriterionMeasure, MatchedValues, scale_of
from turnwise.transforms.decisions.comparison.sides import ComparedSide, ConversationColumns, distinct_pairs
from turnwise.transforms.text.cleaning import natural_order

FEWEST_CASES = 6
"""From so many cases (of each side) on the spread of values is estimated from them.

Fewer may be nearly equal by chance, and Student's t takes their spread for that of all.
"""
LONGEST_NAME = 32
"""How long names of versions may be in sentences and tables."""


def short_names(names: Iterable[str], longest: int = LONGEST_NAME) -> dict[str, str]:
    """Returns names -> short forms that differ as the names do.

    Of a long name, the middle is left out. Names that would look alike keep the part that tells them apart;
    where that is not enough, they stay whole.
    """
    half, short = longest // 2, {name: name for name in names}
    short |= {name: f"{name[: half - 1]}…{name[-half:]}" for name in short if len(name) > longest}
    by_form = grouped((form, name) for name, form in short.items())
    for alike in (form_names for form_names in by_form.values() if len(form_names) > 1):
        # The window begins before the first difference.
        start = max(0, len(commonprefix(alike)) - longest // 3)  # noqa: RUF071
        end = start + longest - 2
        for name in alike:
            short[name] = f"{'…' if start else ''}{name[start:end]}{'…' if name[end:] else ''}"
    number_of = Counter(short.values())
    return {name: form if number_of[form] == 1 else name for name, form in short.items()}


def last_parts(names: Iterable[str], longest: int = 60) -> dict[str, str]:
    """Returns names by as many of their last segments as tell them apart, and these short."""
    segments = {name: name.split("/") for name in names}
    for number in range(1, max(map(len, segments.values()), default=0)):
        short = {name: "/".join(parts[-number:]) for name, parts in segments.items()}
        if len({*short.values()}) == len(short) and all(short.values()):
            break
    else:
        short = {name: name for name in segments}
    forms = short_names(short.values(), longest)
    return {name: forms[last] for name, last in short.items()}


_NAMES_SHOWN = 5


def comparison_notes(
    a: ComparedSide,
    b: ComparedSide,
    matched: MatchedValues,
    changes: Sequence[SettingsChange],
    left_out: int,
    criteria: Sequence[CriterionComparison],
) -> list[str]:
    """Returns the notes, one line each; `left_out` slices were not compared."""
    notes = [*_pairing(a, b, matched)]
    for change in changes:
        where = f"{change.baseline} in the baseline, {change.candidate} in the candidate"
        notes.append(f"the scoring settings changed: {change.what}: {where}")
    columns = [side.conversations for side in (a, b)]
    versions, other_versions = ({*column.app_versions.used()} for column in columns)
    if versions == other_versions:
        ids, other_ids = ({*zip(c.conversation_ids, c.app_versions, strict=True)} for c in columns)
        if ids == other_ids and matched.pairing.by != "nothing":
            same = "both sides are the same recordings"
            notes.append(f"{same}: differences are those of the measurement, not of the agent")
        elif len(versions) == 1 and None not in versions:
            chance = "differences are chance, or changes outside the agent"
            notes.append(f"both sides are the same app version: {chance}")
        elif None not in versions:
            chance = "differences are chance, changes outside the agent, or other shares of the versions"
            notes.append(f"both sides are of the same {len(versions)} app versions: {chance}")
    notes += [*_rejected(a, b), *dict.fromkeys([*a.notes, *b.notes]), *_settings_notes(a, b)]
    notes += [f"{left_out} slices are not compared, because there are too many"] if left_out else []
    is_open = (r for r in criteria if r.overall.word == "inconclusive" and not r.unmeasured)
    if few := {r.criterion: r.overall.fewest_alike for r in is_open if r.overall.fewest_alike}:
        what = f"fewer than {max(few.values())} cases cannot show that {b.name} is the same or not worse"
        notes.append(f"{what}: {', '.join(few)}")
    return notes


def _pairing(a: ComparedSide, b: ComparedSide, matched: MatchedValues) -> Iterator[str]:
    pairing = matched.pairing
    if pairing.by == "nothing":
        taken = "which sees less than pairs, and takes their cases to be alike"
        yield f"no id is in both: two groups are compared, {taken}"
        return
    only = pairing.baseline_only, pairing.candidate_only
    unidentified = pairing.baseline_unidentified, pairing.candidate_unidentified
    for side, alone, without in zip((a, b), only, unidentified, strict=True):
        if alone:
            yield f"{counted(alone, 'case')} of {side.name} alone: not in the paired figures"
        if without:
            yield f"{counted(without, 'conversation')} of {side.name} without {pairing.by}: left out"
    if pairing.changed:
        names = listed(pairing.changed_names, _NAMES_SHOWN, pairing.changed)
        what = "left out, whose expectation is not the same in baseline and candidate"
        yield f"{counted(pairing.changed, 'case')} {what}: {names}"
    sizes = (side.cases.sizes.tolist() for side in (matched.baseline, matched.candidate))
    uneven = [(runs_a, other) for runs_a, other in zip(*sizes, strict=True) if runs_a != other]
    if uneven:
        runs = [sum(side) for side in zip(*uneven, strict=True)]
        often = f"{runs[0]} runs in the baseline, {runs[1]} in the candidate"
        number = f"{counted(len(uneven), 'case')} not run equally often"
        yield f"{number}: {often}; runs that are missing are not in the figures"


def run_places(a: ComparedSide | Side, b: ComparedSide | Side) -> list[str]:
    """Returns how texts call the runs of A, and those of B unless the same is said of them."""
    if a.run_ids == b.run_ids and (a.rejected, list(a.problems)) == (b.rejected, list(b.problems)):
        return [a.source]
    return [a.source, b.source] if a.source != b.source else [a.name, b.name]


def _rejected(a: ComparedSide, b: ComparedSide) -> Iterator[str]:
    for side, run_place in zip((a, b), run_places(a, b), strict=False):
        if side.rejected:
            what = "records or conversations that were rejected, not in the figures"
            yield f"{run_place}: {what}: {side.rejected}"
        for problem in side.problems:
            if not problem.startswith(GATE_PROBLEM):  # a rule of the run says nothing of its figures
                yield f"{run_place}: {'the run failed: ' if side.document else ''}{problem}"
    places = [a.source, b.source] if a.source != b.source else [a.name, b.name]
    for side, run_place in zip((a, b), places, strict=True):
        for criterion, count in sorted(side.errors.items()):
            yield f"{run_place}: {counted(count, 'error')} of {criterion}"


def _settings_notes(a: ComparedSide, b: ComparedSide) -> Iterator[str]:
    """Yields other versions of turnwise, where the sample rates differ, and what sampling left out."""
    if a.document is not None and b.document is not None:
        base, other = a.document, b.document
        versions = [document.versions.get("turnwise") for document in (base, other)]
        if versions[0] != versions[1]:
            yield f"the baseline was scored by turnwise {versions[0]}, the candidate by {versions[1]}"
        rates = [(SAMPLE_RATE, base.judge, other.judge)]
        for name in sorted(base.criteria.keys() & other.criteria.keys()):
            rates.append((f"criteria.{name}.{SAMPLE_RATE}", base.criteria[name], other.criteria[name]))
        for what, before, after in rates:
            a_rate, b_rate = before.get(SAMPLE_RATE), after.get(SAMPLE_RATE)
            if a_rate != b_rate:
                yield f"{what}: {a_rate} for the baseline, {b_rate} for the candidate"
    hidden = {side.source: redacted_text(side.document.redacted) for side in (a, b) if side.document}
    yield from (f"{path}: {text}" for path, text in hidden.items() if text)
    for side in (a, b):
        numbers = Counter[str]()
        sampled_out = side.conversations.sampled_out
        for names, number in zip(sampled_out.values, sampled_out.counts().tolist(), strict=True):
            numbers.update(dict.fromkeys(names, number))
        for name, number in sorted((+numbers).items()):
            yield f"{side.name}: {counted(number, 'conversation')} sampled out of {name}: not in its figures"


# Finds what measured the two sides of a comparison differently.

_LONGEST = 60
SAMPLE_RATE = "sample_rate"
"""The share of conversations that are judged: it changes how many are measured, not how."""


def settings_changes(a: ComparedSide, b: ComparedSide) -> list[SettingsChange]:
    """Returns what is not the same for both sides, as far as it concerns criteria that both have."""
    judged = sorted(a.judges.keys() & b.judges.keys())
    # The judge's model and prompt, by what stands in the scores.
    pairs = [("; ".join(sorted(a.judges[name])), "; ".join(sorted(b.judges[name]))) for name in judged]
    named = ((pair, name) for pair, name in zip(pairs, judged, strict=True) if all(pair))
    by_judges = grouped((pair, name) for pair, name in named if pair[0] != pair[1])
    changes = [_change("judge model, prompt version", *pair, of) for pair, of in by_judges.items()]
    if (base := a.document) is None or (other := b.document) is None:
        return [*changes, *_applied_thresholds(a, b)]
    changes += _verdict(sorted(base.thresholds), sorted(other.thresholds))
    common = sorted(base.criteria.keys() & other.criteria.keys())
    parts: list[tuple[str, JsonValue, JsonValue, list[str]]] = []
    for name in common:
        # How many conversations are judged does not change how one is scored.
        fields, others = ({**document.criteria[name], SAMPLE_RATE: None} for document in (base, other))
        parts.append((f"criteria.{name}", fields, others, [name]))
    parts.append(("", base.scoring_settings["config"], other.scoring_settings["config"], common))
    if used := [name for name in judged if name in common]:
        judge, other_judge = (document.config.get("judge") or {} for document in (base, other))
        generation = judge.get("generation_config"), other_judge.get("generation_config")
        parts.append(("judge.generation_config", *generation, used))
    for start, before, after, concerned in parts:
        for path, value, other_value in _differences(before, after, start):
            texts = ("not set" if v is None else dump_json(v).decode() for v in (value, other_value))
            shown, other_shown = (t if len(t) <= _LONGEST else f"{t[:_LONGEST]}..." for t in texts)
            changes.append(_change(path, shown, other_shown, concerned))
    return changes


def _verdict(base: Sequence[str], other: Sequence[str]) -> Iterator[SettingsChange]:
    """Yields a change if the verdicts do not rest on the same criteria."""
    if base != other:
        before, after = (", ".join(names) or "none" for names in (base, other))
        yield _change("criteria of the verdict", before, after, [STATUS])


def _differences(a: JsonValue, b: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue, JsonValue]]:
    """Yields the paths at which two JSON values differ; what one does not have counts as empty."""
    a = {} if a is None and isinstance(b, Mapping) else a
    b = {} if b is None and isinstance(a, Mapping) else b
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted({*a, *b}):
            yield from _differences(a.get(key), b.get(key), f"{path}.{key}" if path else str(key))
    elif a != b and not {str(a), str(b)} <= {"None", "[]"}:
        yield path, a, b


def _change(what: str, a: str, b: str, criteria: Sequence[str]) -> SettingsChange:
    return SettingsChange(what=what, baseline=a, candidate=b, criteria=[*criteria])


# Lists the cases whose outcome differs between two versions, with the reason.

LEAST_CHANGE = 0.5 - 1e-9
"""Change of the share of passed runs, half of them, from which a case counts as fixed or regressed."""
_KINDS: tuple[FlipKind, ...] = ("regressed", "newly_missing", "fixed", "newly_measured")


def flips(matched: MatchedValues, measures: Sequence[CriterionMeasure]) -> list[Flip]:
    """Returns the flips of all criteria that have outcomes: regressed ones first, by criterion and case."""
    shares = [measure for measure in measures if measure.measure == "pass_rate"]
    changed = [flip for measure in shares for flip in _flips(matched, measure)]
    order = {measure.criterion: index for index, measure in enumerate(shares)}
    by_case = sorted(changed, key=lambda flip: natural_order(flip.case))
    return sorted(by_case, key=lambda flip: (_KINDS.index(flip.kind), order[flip.criterion]))


def _flips(matched: MatchedValues, measure: CriterionMeasure) -> Iterator[Flip]:
    sides = matched.baseline, matched.candidate
    seen = [side.count(side.observed.values(measure).is_seen) for side in sides]
    is_on_both = ((seen[0] > 0) & (seen[1] > 0)).tolist()
    # The share of passed runs of every case; None: none is decided.
    runs = (zip(*map(np.ndarray.tolist, side.runs(measure)), strict=True) for side in sides)
    shares = ([mean if count else None for count, mean in of_side] for of_side in runs)
    for index, (base, other) in enumerate(zip(*shares, strict=True)):
        if not is_on_both[index]:
            continue
        kind: FlipKind
        if base is None and other is not None:
            kind = "newly_measured"
        elif other is None and base is not None:
            kind = "newly_missing"
        elif base is not None and other is not None and abs(other - base) >= LEAST_CHANGE:
            kind = "fixed" if other > base else "regressed"
        else:
            continue
        worse = sides[kind not in ("fixed", "newly_measured")]
        values, is_seen, _ = worse.observed.values(measure)
        rows = (row for row in worse.cases[index] if is_seen[row] and values[row] != 1.0)
        given = (worse.observed.conversations.given(row, measure.criterion) for row in rows)
        not_passed = [observed for observed in given if observed is not None]
        why = next((item for item in not_passed if item.why), not_passed[0] if not_passed else None)
        (rows_a, a), (rows_b, b) = ((side.cases[index], side.observed.conversations) for side in sides)
        languages = [*(b.languages[row] for row in rows_b), *(a.languages[row] for row in rows_a)]
        tags = [*(a.tags[row] for row in rows_a), *(b.tags[row] for row in rows_b)]
        yield Flip(
            criterion=measure.criterion,
            kind=kind,
            case=matched.names[index],
            baseline_conversations=[a.conversation_ids[row] for row in rows_a],
            candidate_conversations=[b.conversation_ids[row] for row in rows_b],
            baseline_share=base,
            candidate_share=other,
            turn_index=why.turn_index if why else None,
            reason=why.why if why else None,
            tags=sorted({tag for item in tags for tag in item}),
            language=next(filter(None, languages), None),
        )


# Finds, from scores alone, which thresholds were not the same: where a config is not at hand.

_Thresholds = set[float | None]


def _applied_thresholds(a: ComparedSide, b: ComparedSide) -> Iterator[SettingsChange]:
    """Yields thresholds that differ, and the criteria with a threshold if they are not the same."""
    base, other = [_thresholds_by_case(side.conversations) for side in (a, b)]
    deciding: list[list[str]] = []
    seen: list[set[str]] = []
    for side, applied in ((a, base), (b, other)):
        given = side.conversations
        # What never got a score applied no threshold, and decides, too: its conversations have no verdict.
        names = (given.criteria.keys() - applied.keys()).intersection(side.thresholds)
        names |= {name for name, cases in applied.items() if set().union(*cases.values()) != {None}}
        deciding.append(sorted(names))
        left_out = [*given.skipped.used(), *given.sampled_out.used()]
        seen.append({*given.criteria, *chain.from_iterable(left_out)} - {STATUS})
    gates, other_gates = deciding
    if all(seen) and ({*gates} - seen[1] or {*other_gates} - seen[0]):
        yield from _verdict(gates, other_gates)
    for criterion in sorted(base.keys() & other.keys()):
        cases, other_cases = base[criterion], other[criterion]
        pairs = [(set().union(*cases.values()), set().union(*other_cases.values()))]
        if any(len(thresholds) > 1 for thresholds in pairs[0]):
            # Those that differ from case to case are compared where both sides have the case.
            common = sorted(cases.keys() & other_cases.keys(), key=str)
            pairs = [(cases[case], other_cases[case]) for case in common]
        change = next(((before, after) for before, after in pairs if before != after), None)
        if change is not None:
            ordered = [sorted(side, key=lambda value: (value is not None, value)) for side in change]
            texts = (["not set" if value is None else f"{value:g}" for value in side] for side in ordered)
            before, after = map("; ".join, texts)
            yield _change(f"criteria.{criterion}.threshold", before, after, [criterion])


def _thresholds_by_case(conversations: ConversationColumns) -> dict[str, dict[str | None, _Thresholds]]:
    """Returns criterion -> case -> thresholds of scores that count; None: one on the scale without any."""
    applied: dict[str, dict[str | None, _Thresholds]] = {}
    for name, given in conversations.criteria.items():
        counts = given.where(lambda kind: kind.has_value and kind.threshold is not None)
        counts |= given.is_within(scale_of(name))
        cases, kinds = conversations.eval_ids.at(counts), given.kinds.at(counts)
        for case, kind_index in distinct_pairs(cases, kinds) if name != STATUS else ():
            if (kind := kinds.values[kind_index]) is not None:
                of_case = applied.setdefault(name, {}).setdefault(cases.values[case], set())
                of_case.add(kind.threshold)
    return applied


# Says a difference as one sentence.


_ANY_NUMBER = 10**9
"""Stands for a number of records that nobody knows: more than all that was measured."""


def unmeasured_numbers(
    result: CriterionComparison, a: ComparedSide | Side, b: ComparedSide | Side, pairing: Pairing
) -> dict[str, int]:
    """Returns what was not measured and may have been either, as texts, with its number."""
    # What has no score on an open scale is read as any value already: see `three_readings`.
    missing = result.missing.candidate_missing if result.missing and result.unit == "score" else 0
    # Where nothing pairs the sides, the baseline has other cases, and none of them is awaited.
    gone = pairing.baseline_only if result.overall.pairs else 0
    numbers = {
        f"{counted(gone, 'case')} of {a.name} without a conversation of {b.name}": gone,
        f"{counted(missing, 'conversation')} of {b.name} without a {outcome_noun(result)}": missing,
    }
    # Nobody knows of which version of a run a record was that could not be read.
    for side in (b,) if a.run_ids == b.run_ids else (b, a):
        rejected, cut, whose = side.rejected or 0, side.cut_inputs, f"(perhaps of {side.name})"
        numbers[f"{counted(rejected, 'rejected record or conversation', ',')} {whose}"] = rejected
        numbers[f"the rest of {counted(cut, 'input')} that broke off {whose}"] = cut * _ANY_NUMBER
    return {text: number for text, number in numbers.items() if number}


def with_words(
    result: CriterionComparison, a: ComparedSide, b: ComparedSide, pairing: Pairing, margin: float
) -> CriterionComparison:
    """Returns a criterion with its sentence; inconclusive if what was not measured could turn it."""
    numbers = unmeasured_numbers(result, a, b, pairing)
    unknown, measured = sum(numbers.values()), result.overall.pairs or result.overall.candidate_count
    # Had all of the unknown failed on the one side and passed on the other, a difference of this share of
    # the scale could be gone. Nothing bounds a value of an open scale.
    bridged = abs(result.overall.difference or 0) * measured if result.unit == "score" else 0.0
    is_few = unknown <= margin * (unknown + measured) or unknown <= bridged
    if result.overall.word != "inconclusive" and not is_few:
        overall = replace(result.overall, word="inconclusive")
        result = replace(result, overall=overall, unmeasured=[*numbers])
    interval = result.overall.interval
    # Why it is inconclusive beside an interval without 0.
    is_beside_0 = interval is not None and not interval.low <= 0 <= interval.high
    why = _left_open(result, b.name) if result.overall.word == "inconclusive" and is_beside_0 else ""
    return replace(result, sentence=_sentence(result, a.name, b.name, pairing.by), why_open=why)


def _sentence(result: CriterionComparison, a: str, b: str, by: PairedBy) -> str:
    """Returns what may be said of a criterion, in one sentence with the names of base and candidate."""
    overall = result.overall
    if overall.difference is None:
        sizes = (a, overall.baseline_count), (b, overall.candidate_count)
        lacking = [name for name, size in sizes if not size]
        why = f"{lacking[0]} has no value" if lacking else "there are too few values"
        why = "no case has a value on both sides" if len(lacking) == 2 else why
        return f"{claim(overall.word, a, b)}: {why}"
    figures = [difference_figures(result)]
    if by != "nothing" and result.fixed is not None and result.measure == "pass_rate":
        figures += [f"{result.fixed} fixed", f"{result.regressed} regressed"]
    if result.p_adjusted is not None:
        shown = shown_p(overall.p)
        is_other = overall.p is not None and result.p_adjusted != overall.p
        adjusted = f" (adjusted {shown_p(result.p_adjusted)})" if is_other else ""
        figures.append(f"p {'' if shown.startswith('<') else '= '}{shown}{adjusted}")
    text = f"{claim(overall.word, a, b)}: {', '.join(figures)}"
    missing = result.missing
    is_open = missing is not None and missing.changes_the_word
    if result.unmeasured:
        text += f"; {_left_open(result, b)}"
    elif overall.word in ("inconclusive", "not worse") and not is_open:
        text += _sight(result, by)
    if alone := result.baseline_only + result.candidate_only:
        text += f"; {alone} of the paired cases {'has' if alone == 1 else 'have'} a value on one side alone"
    if missing is not None:
        counts = f"{missing.baseline_missing} of {a}, {missing.candidate_missing} of {b}"
        text += f"; without a {outcome_noun(result)}: {counts}"
    return text + (f"; {_left_open(result, b)}" if is_open and not result.unmeasured else "")


def difference_figures(result: CriterionComparison) -> str:
    """Returns a difference that there is, with its interval or why it has none."""
    assert result.overall.difference is not None
    return f"{_amount(result.overall.difference, result, signed=True)}{_range(result.overall, result)}"


def corrected_text(corrected: CorrectedDifference, measure: str) -> str:
    """Returns the difference that labels of people leave, as a clause."""
    scale, digits, unit = (100, 1, " points") if measure == "pass_rate" else (1, 3, "")
    value, low, high = (
        f"{scale * number:+.{digits}f}"
        for number in (corrected.difference, corrected.interval.low, corrected.interval.high)
    )
    labels = f"{corrected.baseline_labels} and {corrected.candidate_labels} labels"
    return f"corrected by {labels} of people: {value}{unit} ({low} to {high})"


def needed_text(result: CriterionComparison) -> str:
    """Returns how many cases would settle a difference; "": it is settled, or no number would."""
    overall = result.overall
    if overall.word != "inconclusive" or not overall.pairs_needed or not overall.difference:
        return ""
    if result.unmeasured:  # more cases settle nothing while these lack
        return ""
    per_version = "" if overall.pairs else " of each version"
    needed = f"about {rounded(overall.pairs_needed)} {unit_noun(overall)}s{per_version}"
    return f"{needed} would settle a difference of this size"


def table_notes(comparison: Comparison) -> list[str]:
    """Returns what stands beside the table of criteria: what is not in it, and words it does not explain."""
    notes = [f"{name}: not compared: {why}" for name, why in comparison.not_compared.items()]
    is_open = [result for result in comparison.criteria if result.why_open]
    if comparison.same_as_verdict:
        notes.append(f"{STATUS}: the same as {comparison.same_as_verdict}, which alone has a threshold")
    return notes + [f"{result.criterion}: inconclusive: {result.why_open}" for result in is_open]


def standing_out(comparison: Comparison) -> list[tuple[str, str, str, str, int]]:
    """Returns slices and turns that stand out, the surest first: name, criterion, difference, q, cases."""
    parts: list[tuple[str, str, SliceDifference | TurnDifference]] = []
    parts += [(f"slice {part.slice}", part.criterion, part) for part in comparison.slices]
    for result in comparison.criteria:
        parts += [(turn_name(part.turn_index), result.criterion, part) for part in result.turns]
    of_name, rows = {result.criterion: result for result in comparison.criteria}, []
    surest_first = sorted((part for part in parts if part[2].stands_out), key=lambda part: part[2].q or 0.0)
    for name, criterion, part in surest_first:
        cell = difference_cell(part.difference, of_name[criterion])
        cases = part.difference.pairs or part.difference.baseline_count
        rows.append((name, criterion, cell, shown_p(part.q), cases))
    return rows


def side_names(comparison: Comparison) -> tuple[str, str]:
    """Returns the short names of baseline and candidate."""
    short = short_names((comparison.baseline.name, comparison.candidate.name))
    return short[comparison.baseline.name], short[comparison.candidate.name]


def _left_open(result: CriterionComparison, b: str) -> str:
    """Returns what could turn a word, or how it depends on what has no score; "": neither."""
    if result.unmeasured:
        return f"{' and '.join(result.unmeasured)} could turn it"
    missing = result.missing
    if missing is None or not missing.changes_the_word:
        return ""
    left_out, worst, best = missing.left_out, missing.worst_for_candidate, missing.best_for_candidate
    if worst is None or best is None:
        return f"left out: {left_out.word}; their values may lie anywhere"
    return f"left out: {left_out.word}; counted against {b}: {worst.word}; counted for {b}: {best.word}"


def claim(word: ComparisonWord, a: str, b: str, by: str = "", within: str = "") -> str:
    """Returns what a word says of base and candidate; `by` a criterion, `within` a margin that is named."""
    sentences = {
        "better": f"{b} is better than {a}{by}",
        "worse": f"{b} is worse than {a}{by}",
        "same": f"{b} is the same as {a}{by}{f', within {within}' if within else ' within the margin'}",
        "not worse": f"{b} is not worse than {a}{by}{f' by more than {within}' if within else ''}",
        "differs": f"{b} differs from {a}{by}",
        "inconclusive": f"{b} against {a} is inconclusive",
    }
    return sentences[word]


def unit_noun(overall: VersionDifference) -> str:
    """Returns what counts once: a case, however often it was recorded, or else a conversation."""
    return "case" if overall.pairs or overall.baseline_cases is not None else "conversation"


def units_compared(overall: VersionDifference) -> tuple[int, int]:
    """Returns how many cases of each side a difference rests on; where none has several, conversations."""
    if overall.pairs:
        return overall.pairs, overall.pairs
    if overall.baseline_cases is None or overall.candidate_cases is None:
        return overall.baseline_count, overall.candidate_count
    return overall.baseline_cases, overall.candidate_cases


def _sight(result: CriterionComparison, by: PairedBy) -> str:
    """Returns what would have been seen, and how many cases the difference needs."""
    overall = result.overall
    noun = f"{unit_noun(overall)}s"
    unit = noun if by != "nothing" else f"{noun} a side"
    sizes = units_compared(overall)
    count = f"{sizes[0]} and {sizes[1]} {noun}" if by == "nothing" else counted(overall.pairs, "case")
    if overall.fewest is not None:
        return f"; {count} are too few: at least {overall.fewest} {unit} are needed"
    if overall.detectable is None and not overall.difference and min(sizes) >= FEWEST_CASES:
        return ""  # so many cases are not too few: their values are all equal
    if overall.detectable is None:
        seen = f"; {count} {'is' if count.startswith('1 ') else 'are'} too few to show any difference"
    else:
        seen = f"; with {count} a change of {_amount(overall.detectable, result)} would have been seen"
    if not overall.pairs_needed or not overall.difference:
        return seen
    needed = f"{_amount(abs(overall.difference), result)} need about {rounded(overall.pairs_needed)} {unit}"
    return f"{seen}; {needed}"


def in_table_order(criteria: Iterable[str], documents: Iterable[RunDocument]) -> list[str]:
    """Returns criteria as every table has them: the verdict first, then as configured, others as given."""
    configured = [STATUS, *(name for document in documents for name in document.criteria)]
    given = dict.fromkeys(criteria)
    return [name for name in dict.fromkeys([*configured, *given]) if name in given]


def margin_text(margin: float, criterion: str, is_share: bool) -> str:
    """Returns a margin, a share of a criterion's scale, in the unit of the criterion's differences."""
    if is_share:
        return f"{100 * margin:.4g} points"
    return f"{100 * margin:.4g}% of {'its scale' if scale_of(criterion) else 'the mean of the baseline'}"


def same_as_verdict(criteria: Sequence[CriterionComparison], sides: Sequence[ComparedSide]) -> str:
    """Returns the only criterion with a threshold, where the verdicts have its figures; "": there is none."""
    of_sides = [side.document.thresholds if side.document else {} for side in sides]
    of_criterion = {result.criterion: _line(result)[1:] for result in criteria}
    name = next(iter(of_sides[0]), "")
    is_alone = name in of_criterion and all(thresholds.keys() == {name} for thresholds in of_sides)
    return name if is_alone and of_criterion.get(STATUS) == of_criterion[name] else ""


def criteria_lines(comparison: Comparison) -> list[list[str]]:
    """Returns the cells of the table of criteria, the head first."""
    head = ["compared cases", *side_names(comparison), "cases", "difference", "p (Holm)", ""]
    return [head, *map(_line, comparison.criteria)]


def _line(result: CriterionComparison) -> list[str]:
    overall = result.overall
    values = [value_text(value, result) for value in (overall.baseline_value, overall.candidate_value)]
    figures = [difference_cell(overall, result), shown_p(result.p_adjusted)]
    # Without pairs, each side has a number of cases of its own.
    cases = ", ".join(f"{number:,}" for number in dict.fromkeys(units_compared(overall)))
    return [result.criterion, *values, cases, *figures, overall.word]


def value_text(value: float | None, result: CriterionComparison) -> str:
    """Returns a share or mean; a dash where there is none."""
    if value is None:
        return "-"
    if result.measure == "pass_rate":
        return share_text(value)
    digits = decimals(result.overall.difference, result.measure, result.unit)
    return amount(value, result.measure, result.unit, digits=digits)


def difference_cell(difference: VersionDifference, result: CriterionComparison) -> str:
    """Returns a difference with its interval; a dash where there is none."""
    if difference.difference is None:
        return "-"
    return change_text(difference, result).replace(" points", " pt")


def change_text(difference: VersionDifference, result: CriterionComparison) -> str:
    """Returns a difference that there is with its interval, if it has one, whose unit is not repeated."""
    assert difference.difference is not None
    bounds = "" if difference.interval is None else _range(difference, result).replace(" s)", ")")
    return f"{_amount(difference.difference, result, signed=True)}{bounds}"


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
    """Returns with how many decimals a value is shown: so many that it is not shown as 0, at most 6.

    Of an amount of money below 1 three digits are shown: a turn may cost a millionth.
    """
    least = 1 if measure == "pass_rate" else {"seconds": 2, "count": 1, "money": 2}.get(unit, 3)
    shown = abs(value or 0.0) * (100 if measure == "pass_rate" else 1)
    if unit == "money" and measure != "pass_rate" and 1e-15 < shown < 1:
        return 2 - floor(log10(shown))
    return least if not shown or round(shown, least) else min(6, 1 - floor(log10(shown)))


def share_text(share: float) -> str:
    """Returns a share as a percentage; 100.0% and 0.0% only if it is that, but for errors of rounding."""
    share = round(share, 9)
    return ">99.9%" if 0.9995 <= share < 1 else "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def amount(value: float, measure: str, unit: str, *, signed: bool = False, digits: int | None = None) -> str:
    """Returns a value or difference with its unit; shares in percentage points.

    A positive number has a sign only if `signed`. `digits`: number of decimals; None: those of `decimals`.
    """
    digits = decimals(value, measure, unit) if digits is None else digits
    factor, name = (100, " points") if measure == "pass_rate" else (1, " s" if unit == "seconds" else "")
    text = f"{factor * value:{'+' if signed else ''}.{digits}f}"
    return (text.lstrip("+-") if not text.strip("+-0.") else text) + name


def _amount(value: float, result: CriterionComparison, *, signed: bool = False) -> str:
    return amount(value, result.measure, result.unit, signed=signed)


def _range(overall: VersionDifference, result: CriterionComparison) -> str:
    if (bounds := overall.interval) is None:
        return " (no interval)" if overall.fewest else " (no interval: the values do not vary)"
    digits = decimals(overall.difference, result.measure, result.unit)
    low, high = (amount(bound, result.measure, result.unit, signed=True, digits=digits) for bound in bounds)
    return f" ({low.removesuffix(' points').removesuffix(' s')} to {high.removesuffix(' points')})"


def outcome_noun(result: CriterionComparison) -> str:
    """Returns what a conversation has by a criterion: a verdict or a score."""
    return "verdict" if result.criterion == STATUS else "score"
