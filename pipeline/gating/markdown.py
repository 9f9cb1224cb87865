"""The result of a gate as Markdown for a pull request: what changed, and why."""

from collections import Counter
from collections.abc import Iterator, Sequence

from turnwise.pipeline.io.terminal import counted, printable
from turnwise.schemas.comparison import Comparison, CriterionComparison, Flip
from turnwise.schemas.gate import GateReport, RuleResult
from turnwise.transforms.decisions.gate.measured import difference_text
from turnwise.transforms.scoring.evaluate import STATUS

_MARKS = {"passed": "passed", "failed": "**failed**", "undecided": "**not decided**"}
_LONGEST = 160
_MOST_FLIPS = 10
_MOST_NAMES = 5
_FLIPS = (("lost", "Now failing"), ("newly_undecided", "No longer decided"), ("gained", "Now passing"))


def plain(text: str) -> str:
    """Returns a text of turnwise's own that is shown as it is.

    Every character of ASCII that is no letter, digit or space becomes a character reference, so that none is
    markup, ends a table's cell or begins a link.
    """
    return "".join(
        char if char.isalnum() or char == " " or not char.isascii() else f"&#{ord(char)};" for char in text
    )


def code(text: str | None, width: int = _LONGEST) -> str:
    """Returns a text of a log as inline code, in which mentions are not looked for either."""
    escaped = plain(printable(text or "", width))
    return f"<code>{escaped}</code>" if escaped else ""


def markdown(report: GateReport) -> str:
    """Returns the summary: the rules, what changed against the baseline, and the conversations to read."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: GateReport) -> Iterator[str]:
    yield f"## turnwise: {_MARKS[report.status].strip('*')}"
    yield ""
    yield _balance(report)
    yield from ("", *(f"- {code(problem, 400)}" for problem in report.problems)) if report.problems else ()
    yield from ("", "| rule | version | result | why |", "|---|---|---|---|")
    order = {"failed": 0, "undecided": 1, "passed": 2}
    yield from (_rule(rule) for rule in sorted(report.rules, key=lambda rule: order[rule.status]))
    if report.comparison is not None:
        yield from _changes(report.comparison)
    if report.to_read:
        yield from _to_read(report)


def _balance(report: GateReport) -> str:
    verdicts = Counter(check.status for check in report.checks if check.criterion == STATUS)
    counts = f"{verdicts['passed']} passed, {verdicts['failed']} failed, {verdicts['undecided']} not decided"
    lost = f"; {counted(len(report.lost), 'record')} lost" if report.lost else ""
    return f"{counted(verdicts.total(), 'conversation')}: {counts}{lost}."


def _rule(rule: RuleResult) -> str:
    names = _names(": ", rule.conversations, rule.more, 60) + _names(
        "; lost: ", rule.lost, rule.more_lost, _LONGEST
    )
    cells = (plain(rule.rule), code(rule.app_version), _MARKS[rule.status], plain(rule.why) + names)
    return f"| {' | '.join(cells)} |"


def _names(before: str, names: Sequence[str], others: int, width: int) -> str:
    shown = ", ".join(code(name, width) for name in names[:_MOST_NAMES])
    left = len(names) + others - _MOST_NAMES
    return f"{before}{shown}" + (f" and {left} more" if left > 0 else "") if shown else ""


def _changes(comparison: Comparison) -> Iterator[str]:
    """Yields the criteria that changed, and the cases whose outcome did."""
    changed = [one for one in comparison.criteria if one.overall.difference or one.gained or one.lost]
    yield from ("", f"### Against the baseline {code(comparison.a.name)}", "")
    if not changed:
        yield "No criterion changed."
        yield from _notes(comparison)
        return
    yield from ("| criterion | baseline | now | difference |", "|---|---|---|---|")
    yield from map(_criterion, changed)
    for kind, title in _FLIPS:
        yield from _flips(title, [flip for flip in comparison.flips if flip.kind == kind])
    yield from _notes(comparison)


def _notes(comparison: Comparison) -> Iterator[str]:
    for note in comparison.notes:
        yield from ("", code(note, 400))


def _criterion(one: CriterionComparison) -> str:
    before, after = (_value(value, one) for value in (one.overall.value_a, one.overall.value_b))
    return f"| {plain(one.criterion)} | {before} | {after} | {plain(difference_text(one))} |"


def _value(value: float | None, one: CriterionComparison) -> str:
    if value is None:
        return ""
    return f"{100 * value:.1f} %" if one.measure == "pass_rate" else f"{value:.4g}"


def _flips(title: str, found: Sequence[Flip]) -> Iterator[str]:
    if not found:
        return
    yield from ("", f"{title}: {len(found)}", "", "| case | criterion | turn | why |", "|---|---|---|---|")
    for flip in found[:_MOST_FLIPS]:
        turn = "" if flip.turn_index is None else str(flip.turn_index)
        yield f"| {code(flip.case)} | {plain(flip.criterion)} | {turn} | {code(flip.reason)} |"
    if len(found) > _MOST_FLIPS:
        yield f"| and {len(found) - _MOST_FLIPS} more | | | |"


def _to_read(report: GateReport) -> Iterator[str]:
    yield from ("", "<details>", f"<summary>{len(report.to_read)} conversations to read first</summary>", "")
    yield from ("| conversation | version | verdict | why | alike | place |", "|---|---|---|---|---|---|")
    for one in report.to_read:
        place = code(f"{one.source}:{one.position}" if one.position else one.source)
        yield (
            f"| {code(one.conversation_id)} | {code(one.app_version)} | {one.verdict or 'not decided'} "
            f"| {code(one.why)} | {one.alike} | {place} |"
        )
    yield from ("", "</details>")
