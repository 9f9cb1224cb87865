"""Gates and comparisons as Markdown for a pull request: the answer, its counts, a row a case, details."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from turnwise.pipeline.io.terminal import printable
from turnwise.pipeline.report.comparison import families_text, flips_reason, pairing_text, side_text
from turnwise.pipeline.report.gate import kinds_of, shown_rules
from turnwise.schemas.comparison import (
    Comparison,
    FirstPage,
    Flip,
    GatedConversation,
    GateReport,
    ListedConversation,
)
from turnwise.schemas.config import STATUS
from turnwise.schemas.jsonio import counted, grouped
from turnwise.transforms.decisions.comparison import words
from turnwise.transforms.decisions.first_page import counts_text, destructive_text, reasons_of

_LONGEST = 300
_MOST_NAMES = 5
_MOST_CASES = 50
# A word or number of a sentence: no markup, link, mention, reference to an issue, or emoji.
_PLAIN = re.compile(
    r"""[("'“‘]*(?!GH-\d)(?:[+-]?\d[\d.,]*|[^\W_]+(?:(?:[-'_/…(]|\.(?=\d))[^\W_]+)*)[)"'”’,.;:!?%…]*"""
    "|[=·%]?[:,;.]?",
    re.IGNORECASE,
)
_HARMLESS = "(),;=%+?'-\""
_LESS = re.compile(r"<(?:\d[\d.]*%?[,;.)]?)?")
"""A sign before a number, where no markup begins."""
_CHANGES = {"newly_missing": "no verdict any more", "newly_measured": "measured now"}
_LOST = ("regressed", "newly_missing")
_VERDICTS = {"PASS": "passing", "FAIL": "failing", None: "no verdict"}


def shown(text: str, width: int = _LONGEST) -> str:
    """Returns a text as Markdown shows it as it is, in one line.

    A word that could be markup, a link or a mention is inline code of character references: there, GitHub
    looks for none.
    """
    parts = printable(text, width).split(" ")
    for index, word in enumerate(parts):
        if not (_PLAIN.fullmatch(word) or _LESS.fullmatch(word)):
            is_safe = (char.isalnum() or char in _HARMLESS or not char.isascii() for char in word)
            chars = (c if safe else f"&#{ord(c)};" for c, safe in zip(word, is_safe, strict=True))
            parts[index] = f"<code>{''.join(chars)}</code>"
    return " ".join(parts)


def gate_markdown(report: GateReport) -> str:
    """Returns the result of a gate: the answer, the rules that did not pass, a row a case, details folded."""
    lines = [f"## turnwise: {report.status}", ""]
    verdicts = Counter(check.status for check in report.checks if check.criterion == STATUS)
    if report.page is not None:
        lines += _answer(report.page)
    else:
        decided = f"{verdicts['passed']} passed, {verdicts['failed']} failed"
        rejected = f"; {counted(len(report.rejected), 'record')} rejected" if report.rejected else ""
        conversations = counted(verdicts.total(), "conversation")
        no_verdict = f"{verdicts['inconclusive']} without a verdict"
        lines += [f"{conversations}: {decided}, {no_verdict}{rejected}.", ""]
    rules = shown_rules(report.rules)
    missed = sorted((rule for rule in rules if rule.status != "passed"), key=lambda rule: rule.status)
    reasons = [*map(shown, report.problems)]
    for rule in missed:
        version = f" ({shown(rule.app_version)})" if rule.app_version else ""
        names = "".join(_names(*kind) for kind in kinds_of(rule))
        rejected = _names("; missing: ", rule.rejected, rule.more_rejected)
        why = f"{shown(rule.why, 3 * _LONGEST)}{names}{rejected}"
        reasons.append(f"**{rule.status}**: {why} — {shown(rule.rule)}{version}")
    if reasons:  # a list after a list would be one list
        lines += ["why it did not pass:", "", *(f"- {reason}" for reason in reasons), ""]
    flips = report.comparison.flips if report.comparison is not None else []
    lines += _cases(report.page.read_first if report.page is not None else report.to_read, flips)
    passed = [[rule.rule, rule.app_version or "", rule.why] for rule in rules if rule.status == "passed"]
    details = [*_table(["passed", "version", "why"], passed)] if passed else []
    if report.comparison is not None:
        notes = (f"- note: {shown(note)}" for note in report.comparison.notes)
        details += [*_criteria(report.comparison), *_changed(flips), *notes]
    return "\n".join([*lines, *_folded(details)]) + "\n"


def _names(before: str, names: Sequence[str], others: int) -> str:
    short = words.last_parts(names)
    text = ", ".join(shown(short[name]) for name in names[:_MOST_NAMES])
    left = len(names) + others - _MOST_NAMES
    return f"{before}{text}" + (f" and {left} more" if left > 0 else "") if names else ""


def _answer(page: FirstPage) -> Iterator[str]:
    yield from (f"**{shown(page.headline)}** {shown(page.detail)}".rstrip(), "")
    yield from (shown(counts_text(page)), "")
    if destructive := destructive_text(page):
        yield from (f"**{shown(destructive[0].upper() + destructive[1:])}.**", "")
    if reasons := reasons_of(page):
        yield from (shown(reasons[0]), "", *(f"- {shown(reason.strip())}" for reason in reasons[1:]), "")


def _cases(listed: Sequence[ListedConversation | GatedConversation], flips: Sequence[Flip]) -> Iterator[str]:
    """Yields a row for each case that is to be read first, with the change of its verdict."""
    of_verdict = (flip for flip in flips if flip.criterion == STATUS)
    kinds = {name: flip.kind for flip in of_verdict for name in flip.candidate_conversations}
    lost = (flip for flip in flips if flip.criterion != STATUS and flip.kind in _LOST)
    lost_criteria = grouped((name, flip) for flip in lost for name in flip.candidate_conversations)
    rows: dict[tuple[str, str | None], tuple[str, str]] = {}
    for check in listed:
        kind, verdict = kinds.get(check.conversation_id), _VERDICTS.get(check.verdict, "no verdict")
        change = verdict if kind is None else _CHANGES.get(kind, kind)
        change = f"{verdict}, no verdict before" if kind == "newly_measured" else change
        key = check.eval_id or check.conversation_id, check.app_version
        changes = "" if kind in _LOST else _changes(lost_criteria.get(check.conversation_id, ()))
        why = check.why or "no reason is known"
        rows.setdefault(key, (f"{changes}; {why}" if changes else why, change))
    if rows:
        short = words.last_parts(case for case, _ in rows)
        versions = words.last_parts({version or "" for _, version in rows})
        in_order = ((*key, *texts) for key, texts in rows.items())
        cells = [[why, short[case], change, versions[name or ""]] for case, name, why, change in in_order]
        width = 4 if len(versions) > 1 else 3
        head = ["read first", "case", "verdict", "version"]
        yield from _table(head[:width], [row[:width] for row in cells])
        shown_ids = {check.conversation_id for check in listed}
        gone: dict[str, set[str]] = {}
        for flip in flips:
            if flip.kind == "regressed" or (flip.kind in _LOST and flip.criterion == STATUS):
                gone.setdefault(flip.case, set()).update(flip.candidate_conversations)
        if left := sum(map(shown_ids.isdisjoint, gone.values())):
            now = f"regressed or {'has' if left == 1 else 'have'} no verdict any more"
            yield from (f"{counted(left, 'more case')} {now}: the details below list changed cases.", "")


def _changes(flips: Sequence[Flip]) -> str:
    """Returns how the criteria of a case or conversation changed."""
    by_change: dict[str, list[str]] = {}
    for flip in flips:
        is_lost = flip.kind == "newly_missing" and flip.criterion != STATUS
        change = "no score any more" if is_lost else _CHANGES.get(flip.kind, flip.kind)
        by_change.setdefault(change, []).append(flip.criterion)
    return "; ".join(f"{change}: {', '.join(criteria)}" for change, criteria in by_change.items())


def comparison_markdown(comparison: Comparison) -> str:
    """Returns a comparison: the answer, a row a case, the table of criteria, and the details folded."""
    lines = [f"## {shown(comparison.candidate.name)} against {shown(comparison.baseline.name)}", ""]
    if comparison.page is not None:
        lines += [*_answer(comparison.page), *_cases(comparison.page.read_first, comparison.flips)]
    details = [
        f"baseline {side_text(comparison.baseline)}",
        f"candidate {side_text(comparison.candidate)}",
        pairing_text(comparison),
        *(f"{result.criterion}: {result.sentence}" for result in comparison.criteria),
        families_text(comparison),
        *([comparison.page.chosen] if comparison.page is not None else []),
    ]
    notes = (f"- note: {shown(note)}" for note in comparison.notes)
    items = [*(f"- {shown(line)}" for line in details), *notes, "", *_changed(comparison.flips)]
    return "\n".join([*lines, *_criteria(comparison), *_folded(items)]) + "\n"


def _criteria(comparison: Comparison) -> Iterator[str]:
    head, *rows = words.criteria_lines(comparison)
    yield from _table([*head[:-1], "word"], rows)
    if notes := words.table_notes(comparison):
        yield from (*(f"- {shown(note)}" for note in notes), "")
    if parts := [[*map(str, part)] for part in words.standing_out(comparison)]:
        head = ["slice or turn that stands out", "criterion", "difference", "q", "cases"]
        yield from _table(head, parts[:_MOST_CASES])
    if len(parts) > _MOST_CASES:
        yield from (f"{len(parts) - _MOST_CASES} more in the JSON file.", "")


def _changed(flips: Sequence[Flip]) -> Iterator[str]:
    """Yields a row for each case that changed, in whatever criteria."""
    if by_case := grouped((flip.case, flip) for flip in flips):
        short, shown_cases = words.last_parts(by_case), [*by_case.items()][:_MOST_CASES]
        rows = [[flips_reason(of_case), short[case], _changes(of_case)] for case, of_case in shown_cases]
        yield from _table([counted(len(by_case), "changed case"), "case", "changes"], rows)
    if len(by_case) > _MOST_CASES:
        yield from (f"{len(by_case) - _MOST_CASES} more in the JSON file.", "")


def _folded(lines: Sequence[str]) -> Iterator[str]:
    if lines:
        end = [] if lines[-1] == "" else [""]
        yield from ("<details><summary>Details</summary>", "", *lines, *end, "</details>")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(shown, head))} |"
    yield "|" + "---|" * len(head)
    yield from (f"| {' | '.join(map(shown, row))} |" for row in rows)
    yield ""
