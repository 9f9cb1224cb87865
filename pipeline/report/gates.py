"""Says whether a run failed, and why."""

from collections.abc import Callable, Sequence

from turnwise.pipeline.io.terminal import counted
from turnwise.pipeline.report.counts import RunCounts
from turnwise.pipeline.report.missed import LONGEST_PLACE, names_text
from turnwise.pipeline.report.table import balance_text
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.rows import MetricsByAppVersionRow


def gate_problems(
    settings: RunSettings,
    counts: RunCounts,
    rows: Sequence[MetricsByAppVersionRow],
    missed: Callable[[str], list[str]] = lambda criterion: [],
    lost_places: Callable[[], list[str]] = list,
    unused: Sequence[str] = (),
) -> list[str]:
    """Returns why the run fails, one line per reason; empty if it does not.

    Args:
        settings: Settings of the run.
        counts: Numbers of what was read, scored and lost.
        rows: Rows of `metrics_by_app_version` over the whole run.
        missed: Returns the conversations that failed a criterion or are undecided on it.
        lost_places: Returns source and position of lost records and cases.
        unused: Eval cases without a conversation, as far as their names are known.
    """
    problems = _nothing_scored(settings, counts, rows)
    if not _is_balanced(counts):
        problems.append(f"the counts do not add up: {'; '.join(balance_text(counts).splitlines())}")
    unread = counts.get("unread_ends", 0)
    lost = counts["lost_records"] + counts["lost_conversations"] + unread
    total = counts["lost_records"] + counts["conversations"] + unread
    limit = settings.max_failure_ratio
    if limit is not None and total and lost / total > limit:
        problems.append(
            f"{lost} of {total} records and conversations failed, more than --max_failure_ratio {limit:g}"
        )
    has_given = settings.eval_cases or counts["lost_cases"]
    if has_given and not counts["cases"] and not settings.is_streaming:
        problems.append(f"no eval case was read: {_why_no_case(settings, counts)}")
    for name in settings.fail_on:
        problem = _gate(name, settings, counts, rows)
        if problem:
            lost_text = _lost_text(settings, counts, lost_places)
            texts = (names_text(missed(name)), lost_text, _unused_text(counts, unused))
            names = [text for text in texts if text]
            problems.append(f"{name}: {problem}" + (f": {'; '.join(names)}" if names else ""))
    return problems


def _lost_text(settings: RunSettings, counts: RunCounts, lost_places: Callable[[], list[str]]) -> str:
    """Returns source and position of lost records that leave a gate undecided; empty if there are none."""
    records = counts["lost_records"] if settings.max_failure_ratio is None else 0
    return f"lost: {names_text(lost_places(), LONGEST_PLACE)}" if records or counts["lost_cases"] else ""


def _unused_text(counts: RunCounts, unused: Sequence[str]) -> str:
    """Returns the eval cases that no conversation names, which leave a gate undecided; empty: none."""
    number = counts["unused_cases"]
    names = f": {names_text(unused)}" if unused else ""
    return f"{counted(number, 'eval case')} without a conversation{names}" if number else ""


def _why_no_case(settings: RunSettings, counts: RunCounts) -> str:
    if counts["lost_cases"]:
        return f"{counts['lost_cases']} failed; {_see(settings, 'failures')}"
    return f"{'--eval_cases' if settings.output else 'cases'} holds none"


def _see(settings: RunSettings, table: str) -> str:
    """Returns where to look: a file of the output, or an attribute of the Python API's result."""
    return f"see {table}-*" if settings.output else f"see result.{table}"


def _nothing_scored(
    settings: RunSettings, counts: RunCounts, rows: Sequence[MetricsByAppVersionRow]
) -> list[str]:
    """Returns why no conversation has a score or a verdict; empty if one has."""
    if any(row["scored"] for row in rows):
        return []
    lost = counts["lost_records"] + counts["lost_conversations"]
    if counts["results"]:
        has = "has" if counts["results"] == 1 else "have"
        unscored = f"{counted(counts['results'], 'conversation')} {has} no value by any criterion"
        has_raised = any(kind.startswith("score: ") for kind in counts.get("failures", ()))
        reason = f"{unscored}; {_see(settings, 'failures' if has_raised else 'scores')}"
    elif counts.get("unread_ends"):
        files = counted(counts["unread_ends"], "file")
        reason = f"{_failed(lost)}, {files} {'breaks' if files == '1 file' else 'break'} off"
    elif lost:
        reason = f"{_failed(lost)}; {_see(settings, 'failures')}"
    else:
        reason = "the input holds no record"
    return [f"no conversation was scored: {reason}"]


def _failed(lost: int) -> str:
    return f"{lost} record{' or conversation' if lost == 1 else 's and conversations'} failed"


def _is_balanced(counts: RunCounts) -> bool:
    conversations = counts["results"] + counts["lost_conversations"]
    records = counts["parsed_records"] + counts["lost_records"]
    return bool(conversations == counts["conversations"] and records == counts["records"])


def _gate(
    name: str, settings: RunSettings, counts: RunCounts, rows: Sequence[MetricsByAppVersionRow]
) -> str | None:
    own = [row for row in rows if row["criterion"] == name and row["level"] == "conversation"]
    failed = sum(row["fail_count"] for row in own)
    undecided = sum(row["count"] - row["pass_count"] - row["fail_count"] for row in own)
    undecided += sum(row["errors"] for row in rows if row["criterion"] == name)
    undecided += counts["lost_cases"] + counts["unused_cases"]
    if settings.max_failure_ratio is None:
        undecided += counts["lost_records"] + counts["lost_conversations"] + counts.get("unread_ends", 0)
    if not sum(row["count"] for row in own):
        return "nothing was scored"
    return f"{failed} failed, {undecided} not decided" if failed or undecided else None
