"""What a person sees at the end of a run."""

from collections.abc import Sequence

from schemas.values import JsonObject
from transforms.criteria import CRITERIA
from transforms.rows import STATUS

_GAP = "  "
_REASONS_SHOWN = 3


def version_table(rows: Sequence[JsonObject], criteria: Sequence[str]) -> str:
    """Returns a table with one column per app version.

    Args:
        rows: The rows of `metrics_by_app_version`.
        criteria: Names of the criteria, in the order to show them.
    """
    versions = sorted({row["app_version"] or "" for row in rows})
    by_key = {(row["app_version"] or "", row["criterion"], row["level"]): row for row in rows}
    measured = {row["criterion"] for row in rows}
    lines = [["", *_headings(versions)]]
    status = [by_key.get((version, STATUS, "conversation")) for version in versions]
    lines.append(["conversations", *(str(row["conversations"]) if row else "" for row in status)])
    lines.append(["turns", *(str(row["turns"]) if row else "" for row in status)])
    lines.append(["pass rate", *(_pass_rate(row) for row in status)])
    lines.append(["not decided", *(str(row["unscored"]) if row else "" for row in status)])
    for name in (name for name in criteria if name in measured):
        lines.append([name, *(_mean(_row_of(by_key, version, name)) for version in versions)])
    lines.append(["unscored", *(str(_total(rows, version, "unscored")) for version in versions)])
    lines.append(["criterion errors", *(str(_total(rows, version, "errors")) for version in versions)])
    return _aligned(lines)


def _row_of(by_key: dict[tuple[str, str, str], JsonObject], version: str, name: str) -> JsonObject | None:
    return by_key.get((version, name, "turn")) or by_key.get((version, name, "conversation"))


def _headings(versions: Sequence[str]) -> list[str]:
    """Returns the last segments of the versions, or their full names where two would look the same."""
    short = [version.rsplit("/", 1)[-1] or "(no version)" for version in versions]
    return [s if short.count(s) == 1 else v for s, v in zip(short, versions, strict=True)]


def _pass_rate(row: JsonObject | None) -> str:
    if row is None or row["pass_rate"] is None:
        return "-"
    low, high = row["pass_rate_low"], row["pass_rate_high"]
    return f"{row['pass_rate']:.0%} ({row['pass_count']} of {row['scored']}, {low:.0%} to {high:.0%})"


def _mean(row: JsonObject | None) -> str:
    if row is None or row["mean"] is None:
        return "-"
    if row["unit"] == "seconds":
        return f"{row['mean']:.2f} s (p50 {row['p50']:.2f}, p90 {row['p90']:.2f}, p99 {row['p99']:.2f})"
    return f"{row['mean']:.1f}" if CRITERIA[row["criterion"]].scale is None else f"{row['mean']:.3f}"


def _total(rows: Sequence[JsonObject], version: str, column: str) -> int:
    return sum(
        row[column]
        for row in rows
        if (row["app_version"] or "") == version and row["criterion"] != STATUS and _is_own_level(rows, row)
    )


def _is_own_level(rows: Sequence[JsonObject], row: JsonObject) -> bool:
    """Tells whether a row counts each thing once: turns where a criterion has turns, else conversations."""
    if row["level"] == "turn":
        return True
    key = (row["app_version"], row["criterion"])
    return not any(
        other["level"] == "turn" and (other["app_version"], other["criterion"]) == key for other in rows
    )


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    padded = (
        _GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


def balance_text(counts: JsonObject) -> str:
    """Returns the lines that account for everything, with the most frequent failures."""
    lines = [
        f"{counts['records']} records = {counts['parsed_records']} parsed + {counts['lost_records']} failed; "
        f"{counts['conversations']} conversations = {counts['results']} results "
        f"+ {counts['lost_conversations']} failed"
    ]
    if counts["lost_cases"]:
        lines.append(f"{counts['lost_cases']} eval cases failed, {counts['cases']} are in use")
    if counts["failures"]:
        most = list(counts["failures"].items())[:_REASONS_SHOWN]
        lines.append("failures: " + ", ".join(f"{count} {reason}" for reason, count in most))
    return "\n".join(lines)
