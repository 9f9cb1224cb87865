"""Puts the result of a gate together."""

from collections.abc import Iterable, Iterator, Sequence

from turnwise.pipeline.gating.lost import lost_names, lost_rows
from turnwise.pipeline.gating.reading import conversation_rows
from turnwise.pipeline.io.terminal import LONGEST_PLACE, names_text
from turnwise.schemas.gate import GateCheck, GatedConversation, LostRecord, RuleResult, RuleStatus
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import FailureRow
from turnwise.transforms.decisions.comparison.collect import Observed
from turnwise.transforms.decisions.gate.measured import GatedVersion, Lost, lost_of
from turnwise.transforms.review.problems import cluster_sizes, to_read
from turnwise.transforms.scoring.evaluate import STATUS

_READING_CASES = ("read", "parse_case")


def status_of(rules: Sequence[RuleResult], problems: Sequence[str]) -> RuleStatus:
    """Returns the status of a gate: what is undecided does not pass."""
    found = {rule.status for rule in rules}
    if problems or "failed" in found:
        return "failed"
    return "undecided" if "undecided" in found or not rules else "passed"


def rule_line(rule: RuleResult) -> str:
    """Returns what became of a rule, in one line."""
    version = f" ({rule.app_version})" if rule.app_version else ""
    status = "not decided" if rule.status == "undecided" else rule.status
    more, more_lost = (f" and {number} more" if number else "" for number in (rule.more, rule.more_lost))
    lost = f"; lost: {names_text(rule.lost, LONGEST_PLACE)}{more_lost}" if rule.lost else ""
    names = f": {names_text(rule.conversations)}{more}" if rule.conversations else ""
    return f"{rule.rule}{version}: {status}: {rule.why}{names}{lost}"


def checks_of(versions: Sequence[GatedVersion]) -> Iterator[GateCheck]:
    """Yields every conversation by every criterion that can fail, the verdict first."""
    gates = {
        name
        for version in versions
        for one in version.conversations
        for name, found in one.criteria.items()
        if found.threshold is not None or found.outcome is not None
    }
    for version in versions:
        for one in version.conversations:
            known = one.criteria.keys() | one.sampled_out
            for name in sorted(known & (gates | {STATUS}), key=lambda name: (name != STATUS, name)):
                found = one.criteria.get(name) or Observed(why="sampled out")
                yield GateCheck(
                    conversation_id=one.conversation_id,
                    app_version=version.app_version,
                    eval_id=one.eval_id,
                    criterion=name,
                    status=_status(found),
                    value=found.value,
                    threshold=found.threshold,
                    turn_index=found.turn_index,
                    why=None if found.outcome == "PASS" else found.why,
                )


def _status(found: Observed) -> RuleStatus:
    return {"PASS": "passed", "FAIL": "failed"}.get(found.outcome or "", "undecided")  # type: ignore[return-value]


def read_first(versions: Sequence[GatedVersion]) -> list[GatedConversation]:
    """Returns the conversations to read first."""
    rows = conversation_rows(versions)
    sizes = cluster_sizes(rows)
    return [
        GatedConversation(
            conversation_id=row["conversation_id"],
            app_version=row["app_version"],
            verdict=row["verdict"],
            why=row["why"],
            cluster_label=row["cluster_label"],
            alike=sizes.get(row["cluster"] or "", 1),
            source=row["source"],
            position=row["position"],
        )
        for row in to_read(rows)
    ]


def lost_records(failures: Sequence[FailureRow]) -> list[LostRecord]:
    """Returns what was lost before it could be scored."""
    return [LostRecord(place=_place(row), message=row["message"]) for row in lost_rows(failures)]


def lost_of_run(
    counts: JsonObject,
    failures: Sequence[FailureRow],
    versions: Sequence[GatedVersion],
    unused: Iterable[str] = (),
) -> Lost:
    """Returns what was lost, with source and position of records and the names of eval cases.

    A case without a recording is not counted where a record was lost that names it: it is the same loss.

    Args:
        counts: Of `run.json`.
        failures: Failures of the run.
        versions: What was scored.
        unused: Eval cases without a recording, as far as their names are known.
    """
    scored = {one.eval_id for version in versions for one in version.conversations}
    gone = lost_names(failures) - scored
    other = max(0, (counts.get("unused_cases") or 0) - len(gone))
    names = [*_places(lost_rows(failures)), *_eval_cases(name for name in unused if name not in gone)]
    return lost_of({**counts, "unused_cases": other}, names)


def lost_cases_of_run(counts: JsonObject, failures: Iterable[FailureRow], unused: Iterable[str] = ()) -> Lost:
    """Returns what `lost_of_run` does, of eval cases only."""
    of_cases = (row for row in failures if row["stage"] in _READING_CASES)
    return lost_of(counts, [*_places(of_cases), *_eval_cases(unused)], only_cases=True)


def _eval_cases(unused: Iterable[str]) -> Iterator[str]:
    return (f"eval case {name}" for name in unused)


def _places(rows: Iterable[FailureRow]) -> Iterator[str]:
    return (_place(row) for row in rows if row["source"] is not None)


def _place(row: FailureRow) -> str:
    return f"{row['source']}:{row['position']}" if row["position"] else str(row["source"])
