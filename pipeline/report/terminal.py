"""Formats the report at the end of a run."""

from collections import Counter
from collections.abc import Iterable, Sequence

from turnwise.pipeline.io.terminal import LONGEST_NAME, columns, counted, padded, printable
from turnwise.pipeline.report.counts import RunCounts
from turnwise.schemas.conversation import UNKNOWN
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.transforms.criteria.base import CRITERIA, Criterion, CustomMetric
from turnwise.transforms.decisions.comparison.sentences import decimals
from turnwise.transforms.scoring.evaluate import STATUS
from turnwise.transforms.text.cleaning import natural_order

_GAP = "  "
_REASONS_SHOWN = 3
_VERSIONS_SHOWN = 8
_MOST_UNKNOWN = 5


def version_table(
    rows: Sequence[MetricsByAppVersionRow], criteria: Sequence[str], failures: dict[str, int]
) -> str:
    """Returns a table with one column per app version: the last ones by name, with a line about the others.

    Args:
        rows: The rows of `metrics_by_app_version`.
        criteria: Names of the criteria, in display order.
        failures: App version -> number of failures.
    """
    every = versions_of(rows)
    versions, others = every[-_VERSIONS_SHOWN:], every[:-_VERSIONS_SHOWN]
    by_key = {(row["app_version"] or "", row["criterion"], row["level"]): row for row in rows}
    measured = {row["criterion"] for row in rows}
    lines = [["", *_headings(versions)]]
    status = [by_key.get((version, STATUS, "conversation")) for version in versions]
    lines.append(["conversations", *(str(row["conversations"]) if row else "" for row in status)])
    lines.append(["turns", *(str(row["turns"]) if row else "" for row in status)])
    lines.append(["pass rate", *(_pass_rate(row) for row in status)])
    if any(_repeated(row) for row in status):
        lines.append(["pass^k, pass@k", *map(_repeats, status)])
    lines.append(["not decided", *(_undecided(row) if row else "" for row in status)])
    for name in (name for name in criteria if name in measured):
        lines.append([name, *(_mean(_row_of(by_key, version, name)) for version in versions)])
    lines.append(["unscored", *(_total(by_key, version, criteria) for version in versions)])
    lines.append(["failures", *(str(failures.get(version, 0)) for version in versions)])
    return _aligned(lines) + (_others(others, by_key, failures) if others else "")


def _others(
    versions: Sequence[str],
    by_key: dict[tuple[str, str, str], MetricsByAppVersionRow],
    failures: dict[str, int],
) -> str:
    """Returns the line about the versions without a column."""
    rows = [row for version in versions if (row := by_key.get((version, STATUS, "conversation")))]
    conversations, passed, scored = (
        sum(row[name] for row in rows) for name in ("conversations", "pass_count", "scored")
    )
    lost = sum(failures.get(version, 0) for version in versions)
    return (
        f"\n{counted(len(versions), 'app version')} before these by name: "
        f"{counted(conversations, 'conversation')}, {passed} of {scored} passed, "
        f"{counted(lost, 'failure')} (see metrics_by_app_version)"
    )


def versions_of(rows: Iterable[MetricsByAppVersionRow]) -> list[str]:
    """Returns the app versions in the order of the columns; "": not stated."""
    return sorted({row["app_version"] or "" for row in rows}, key=natural_order)


def _row_of(
    by_key: dict[tuple[str, str, str], MetricsByAppVersionRow], version: str, name: str
) -> MetricsByAppVersionRow | None:
    """Returns the row to show: by turn for latencies and counts, by conversation for scores."""
    levels = ("conversation", "turn") if _has_scale(name) else ("turn", "conversation")
    return by_key.get((version, name, levels[0])) or by_key.get((version, name, levels[1]))


def _headings(versions: Sequence[str]) -> list[str]:
    """Returns the last segments of the versions; full names or numbers where those are ambiguous."""
    short = [version.rsplit("/", 1)[-1] or "(no version)" for version in versions]
    names = [s if short.count(s) == 1 else v for s, v in zip(short, versions, strict=True)]
    shown = [printable(name, LONGEST_NAME) for name in names]
    return [s if shown.count(s) == 1 else f"{s} #{number}" for number, s in enumerate(shown, 1)]


def _pass_rate(row: MetricsByAppVersionRow | None) -> str:
    if row is None or row["pass_rate"] is None:
        return "-"
    low, high = row["pass_rate_low"], row["pass_rate_high"]
    return f"{row['pass_rate']:.0%} ({row['pass_count']} of {row['scored']}, {low:.0%} to {high:.0%})"


def _undecided(row: MetricsByAppVersionRow) -> str:
    sampled_out = row["sampled_out"]
    return f"{row['unscored'] + sampled_out}" + (f" ({sampled_out} sampled out)" if sampled_out else "")


def _repeated(row: MetricsByAppVersionRow | None) -> JsonObject | None:
    """Returns the figures of repeated runs, if a case ran at least twice."""
    repeats = row["repeats"] if row else None
    return repeats if repeats and len(repeats["pass_hat_k"]) > 1 else None


def _repeats(row: MetricsByAppVersionRow | None) -> str:
    repeats = _repeated(row)
    if repeats is None:
        return "-"
    place = min(max(repeats["runs"], 2), len(repeats["pass_hat_k"])) - 1
    hat, at = repeats["pass_hat_k"][place], repeats["pass_at_k"][place]
    shown = (f"{each['value']:.0%} ({each['low']:.0%} to {each['high']:.0%})" for each in (hat, at))
    all_cases = hat["cases"] == repeats["cases"]
    cases = "" if all_cases else f", {hat['cases']} of {repeats['cases']} cases"
    return f"k={hat['k']}{cases}: {', '.join(shown)}"


def _mean(row: MetricsByAppVersionRow | None) -> str:
    if row is None or row["mean"] is None:
        return "-"
    if row["unit"] == "seconds":
        mean, *quantiles = (_seconds(row[name]) for name in ("mean", "p50", "p90", "p99"))
        return "{} s (p50 {}, p90 {}, p99 {})".format(mean, *quantiles)
    return f"{row['mean']:.3f}" if _has_scale(row["criterion"]) else f"{row['mean']:.1f}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.{decimals(value, 'mean', 'seconds')}f}"


def _has_scale(name: str) -> bool:
    kind = CRITERIA.get(name)  # none: a custom metric
    return kind is None or kind.scale is not None


def _total(
    by_key: dict[tuple[str, str, str], MetricsByAppVersionRow], version: str, names: Sequence[str]
) -> str:
    """Returns how many scores of a version have no value, at the displayed level."""
    rows = (_row_of(by_key, version, name) for name in names)
    return str(sum(row["unscored"] for row in rows if row is not None))


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    lines = [[printable(cell) for cell in line] for line in lines]
    widths = [max(columns(line[column]) for line in lines) for column in range(len(lines[0]))]
    filled = (
        _GAP.join(padded(cell, width) for cell, width in zip(line, widths, strict=True)) for line in lines
    )
    return "\n".join(line.rstrip() for line in filled)


def balance_text(counts: RunCounts) -> str:
    """Returns the lines that balance records, conversations and cases, with the most frequent failures."""
    lines = [
        f"{counted(counts['records'], 'record')} = {counts['parsed_records']} parsed "
        f"+ {counts['lost_records']} failed; {counted(counts['conversations'], 'conversation')} = "
        f"{counted(counts['results'], 'result')} + {counts['lost_conversations']} failed"
    ]
    if counts["lost_cases"] or counts["unused_cases"]:
        known = f"{counts['cases']} read, {counts['unused_cases']} without a recording, "
        lines.append(f"eval cases: {'' if counts['cases'] is None else known}{counts['lost_cases']} failed")
    if counts.get("late_conversations"):
        late = counts["late_conversations"]
        lines.append(
            f"{late} conversations came later than --allowed_lateness; they were added to their windows "
            "at the end"
        )
    if left := counts.get("left_by_budget"):
        who = counted(left, "conversation")
        lines.append(f"budget: {who} without a verdict, because the judge's budget was spent")
    for name, numbers in (("failures", counts["failures"]), ("findings", counts["findings"])):
        if numbers:
            most = list(numbers.items())[:_REASONS_SHOWN]
            more = sum(numbers.values()) - sum(count for _, count in most)
            shown = [f"{count} {printable(reason, LONGEST_NAME)}" for reason, count in most] + (
                [f"{more} others"] if more else []
            )
            lines.append(f"{name}: " + ", ".join(shown))
    return "\n".join(lines)


def idle_text(criteria: Sequence[Criterion], rows: Sequence[MetricsByAppVersionRow]) -> str:
    """Returns the line about criteria with a threshold that applied to no conversation; "" if none."""
    seen = {row["criterion"] for row in rows}
    idle = [c.name for c in criteria if c.threshold is not None and c.name not in seen]
    return f"not applicable to any conversation: {', '.join(idle)}" if idle else ""


def custom_text(criteria: Sequence[Criterion]) -> str:
    """Returns the line about custom metrics; "" if there are none."""
    names = [criterion.name for criterion in criteria if isinstance(criterion, CustomMetric)]
    return (
        f"custom_metrics: unscored, because their functions are not run: {printable(', '.join(names))}"
        if names
        else ""
    )


def guesses_text(guesses: JsonObject) -> str:
    """Returns the lines about tools whose effect was guessed or is unknown."""
    unknown = [printable(name) for name, tool in guesses.items() if tool["effect"] == UNKNOWN]
    by_effect = Counter(tool["effect"] for tool in guesses.values() if tool["effect"] != UNKNOWN)
    counts, lines = ", ".join(f"{number} {effect}" for effect, number in sorted(by_effect.items())), []
    if counts:
        guessed = f"tools: the effect of {by_effect.total()} is guessed by name ({counts})"
        lines.append(f"{guessed}; `turnwise tools` lists them")
    if unknown:
        shown = ", ".join([*unknown[:_MOST_UNKNOWN], *(["..."] if unknown[_MOST_UNKNOWN:] else [])])
        lines.append(f"tools: the effect of {len(unknown)} is unknown ({shown}); state it in the config")
    return "\n".join(lines)
