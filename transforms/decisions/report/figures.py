"""The first screen in words: what cannot be relied on, the verdicts, and the balance of records."""

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from turnwise.schemas.comparison import Comparison
from turnwise.schemas.report import CriterionFigure, CriterionRow, ReportRun, ReportVersion, Sentence
from turnwise.schemas.run import RunDocument
from turnwise.transforms.decisions.report.collect import RunRows
from turnwise.transforms.scoring.evaluate import STATUS

LEAST_COVERAGE = 0.95
_IDS_SHOWN = 3


def problem_sentences(run: ReportRun, versions: Sequence[ReportVersion]) -> Iterator[Sentence]:
    """Yields why a run cannot be relied on: gates, lost records, too few verdicts, gaps, no transcripts."""
    name = run.run_id
    if run.exit_status:
        why = "; ".join(run.problems) or "it does not say why"
        yield _problem(f"{name} ended with exit status {run.exit_status}: {why}.")
    lost = _count(run, "lost_records"), _count(run, "lost_conversations"), _count(run, "lost_cases")
    if any(lost):
        what = ("record", "conversation", "eval case")
        parts = [_counted(number, noun) for number, noun in zip(lost, what, strict=True) if number]
        yield _problem(f"{name} lost {_listed(parts)}; they are in no figure.")
    decided = sum(version.passed + version.failed for version in versions)
    everything = sum(version.conversations for version in versions) + _count(run, "lost_conversations")
    if everything and decided / everything < LEAST_COVERAGE:
        few, have, rest = (f"only {decided}", "have", "the others") if decided else ("none", "has", "them")
        yield _problem(
            f"{name}: {few} of {_counted(everything, 'conversation')} {have} a verdict "
            f"({percent(decided / everything)}); nothing is known of {rest}."
        )
    yield from map(_problem, run.gaps)
    if not run.has_transcripts:
        yield _problem(f"{name} wrote no transcripts, so that no conversation of it can be read here.")


def _problem(text: str) -> Sentence:
    return Sentence(text, "problem")


def _count(run: ReportRun, name: str) -> int:
    number = run.counts.get(name)
    return number if isinstance(number, int) else 0


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def percent(share: float) -> str:
    """Returns a share as a percentage; 100% and 0% only if it is exactly that, but for errors of rounding."""
    share = round(share, 9)
    if 0.995 < share < 1:
        return f"{share:.1%}" if share < 0.9995 else "more than 99.9%"
    if 0 < share < 0.005:
        return f"{share:.1%}" if share >= 0.0005 else "less than 0.1%"
    return f"{share:.0%}"


class Compared(Struct, frozen=True):
    """The first version against others.

    Attributes:
        comparisons: What was compared.
        refused: Why other versions are not compared, one sentence each.
    """

    comparisons: Sequence[Comparison] = ()
    refused: Sequence[str] = ()


def verdict_sentences(
    rows: Sequence[CriterionRow], versions: Sequence[ReportVersion], compared: Compared
) -> Iterator[Sentence]:
    """Yields one sentence a criterion: of the difference between versions, or else of each version."""
    yield from map(_problem, compared.refused)
    for comparison in compared.comparisons:
        for one in comparison.criteria:
            yield Sentence(_capital(one.sentence), one.overall.word, one.criterion)
    if not compared.comparisons:
        for row in rows:
            yield from _figure_sentences(row, versions)
    for comparison in compared.comparisons:
        yield from (Sentence(_capital(note), "note") for note in comparison.notes)


def _capital(text: str) -> str:
    """Returns a text as a sentence; the name of a version at its beginning is left as it is."""
    return f"{text[:1].upper()}{text[1:]}." if text.startswith("cannot") else f"{text}."


def _figure_sentences(row: CriterionRow, versions: Sequence[ReportVersion]) -> Iterator[Sentence]:
    for version, figure in zip(versions, row.figures, strict=True):
        if figure is not None and (figure.share is not None or row.name == STATUS):
            yield Sentence(f"{version.name}: {_outcome_text(row, figure)}.", "neutral", row.name)


def _outcome_text(row: CriterionRow, figure: CriterionFigure) -> str:
    what = _counted(figure.passed + figure.failed, row.level)
    name = "" if row.name == STATUS else f" {row.name}"
    rest = f"; {figure.unscored:,} not decided" if row.name == STATUS else f"; {figure.unscored:,} not scored"
    rest = rest if figure.unscored else ""
    if figure.share is None or figure.low is None or figure.high is None:
        return f"no conversation has a verdict{rest}"
    interval = f"{percent(figure.share)}, {percent(figure.low)} to {percent(figure.high)}"
    return f"{figure.passed:,} of {what} passed{name} ({interval}){rest}"


def coverage_sentence(
    run: ReportRun, versions: Sequence[ReportVersion], unscored: int, scores: int
) -> Sentence:
    """Returns the balance of a run: what came in, and what became of all of it.

    Args:
        run: The run.
        versions: Its versions.
        unscored: Scores without a value.
        scores: All scores.
    """
    passed, failed, undecided = (
        sum(getattr(version, name) for version in versions) for name in ("passed", "failed", "undecided")
    )
    lost = _count(run, "lost_conversations")
    records = _counted(_count(run, "records"), "record")
    text = (
        f"{records} = {_count(run, 'parsed_records'):,} read + {_count(run, 'lost_records'):,} lost. "
        f"{_counted(passed + failed + undecided + lost, 'conversation')} = {passed:,} passed "
        f"+ {failed:,} failed + {undecided:,} not decided + {lost:,} lost. "
        f"{_counted(scores, 'score')} = {scores - unscored:,} with a value + {unscored:,} not scored."
    )
    return Sentence(f"{run.run_id}: {text}{_judge_text(run)}", "neutral")


def _judge_text(run: ReportRun) -> str:
    parts = [f"Judge: {run.judge.get('model') or run.judge.get('backend') or 'none'}"]
    usage = run.judge.get("usage")
    if isinstance(usage, dict):
        unusable = sum(sum((own.get("unusable") or {}).values()) for own in usage.values())
        parts.append(f"{unusable:,} unusable answers")
    parts.append(f"{run.sampled_out:,} conversations sampled out")
    return f" {', '.join(parts)}."


def report_run(
    run: RunRows, has_transcripts: bool, sampled_out: int, idle: Sequence[str], repeated: Collection[str]
) -> ReportRun:
    """Returns what a report says about a run."""
    document = run.document
    return ReportRun(
        run_id=document.run_id,
        directory=run.directory,
        create_time=document.create_time,
        exit_status=document.exit_status,
        problems=document.problems,
        counts=document.counts,
        criteria=document.criteria,
        judge=document.judge,
        has_conversations=run.has_conversations,
        has_transcripts=has_transcripts,
        sampled_out=sampled_out,
        gaps=[*_gaps(document, idle, repeated)],
    )


def _gaps(document: RunDocument, idle: Sequence[str], repeated: Collection[str]) -> Iterator[str]:
    """Yields what was asked for and not measured at all."""
    unused = document.counts.get("unused_cases") or 0
    if unused:
        cases = _counted(document.counts.get("cases") or unused, "eval case")
        verb = "has" if unused == 1 else "have"
        yield f"{document.run_id}: {unused:,} of {cases} {verb} no recording; nothing is known of them."
    if repeated:
        shown = ", ".join(sorted(repeated)[:_IDS_SHOWN]) + (", ..." if len(repeated) > _IDS_SHOWN else "")
        what = f"{_counted(len(repeated), 'conversation id')} ({shown})"
        yield (
            f"{document.run_id}: several recordings of one app version and case have the same id: {what}; "
            "their scores cannot be told apart, and are not shown beside them."
        )
    for name in idle:
        yield f"{document.run_id}: {name} has a threshold, and is not applicable to any conversation."
