"""Says whether a run failed whatever the rules of its gate say, and why."""

from collections.abc import Sequence

from turnwise.pipeline.io.terminal import counted
from turnwise.pipeline.report.counts import RunCounts
from turnwise.pipeline.report.terminal import balance_text
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.schemas.score import IncompleteReadError

_INCOMPLETE = f": {IncompleteReadError.__name__}"


def gate_problems(
    settings: RunSettings, counts: RunCounts, rows: Sequence[MetricsByAppVersionRow]
) -> list[str]:
    """Returns why the run fails whatever its rules say, one line per reason; empty if it does not.

    Args:
        settings: Settings of the run.
        counts: Numbers of what was read, scored and lost.
        rows: Rows of `metrics_by_app_version` over the whole run.
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
    if files := counts.get("unread_files", 0):
        said = f"{counted(files, 'named file')} could not be read at all"
        problems.append(f"{said}; {_see(settings, 'failures')}")
    broken = sum(number for kind, number in counts["failures"].items() if kind.endswith(_INCOMPLETE))
    if broken:
        said = f"{counted(broken, 'input')} could not be read to the end"
        problems.append(f"{said}: an unknown number of records is missing; {_see(settings, 'failures')}")
    has_given = settings.eval_cases or counts["lost_cases"]
    if has_given and not counts["cases"] and not settings.is_streaming:
        problems.append(f"no eval case was read: {_why_no_case(settings, counts)}")
    return problems


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
