"""Puts the result of a gate together."""

from collections.abc import Iterator, Sequence

from turnwise.pipeline.gating.reading import conversation_rows
from turnwise.schemas.gate import GateCheck, GatedConversation, LostRecord, RuleResult, RuleStatus
from turnwise.schemas.rows import FailureRow
from turnwise.transforms.comparison.observed import Observed
from turnwise.transforms.gating.measured import GatedVersion
from turnwise.transforms.review.choice import cluster_sizes, to_read
from turnwise.transforms.scoring.verdict import STATUS

_READING = ("read", "parse", "parse_case", "assemble", "match")


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
    more = f" and {rule.more} more" if rule.more else ""
    names = f": {', '.join(rule.conversations)}{more}" if rule.conversations else ""
    return f"{rule.rule}{version}: {status}: {rule.why}{names}"


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
            for name in sorted(
                one.criteria.keys() & (gates | {STATUS}), key=lambda name: (name != STATUS, name)
            ):
                found = one.criteria[name]
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
    return [
        LostRecord(
            place=f"{row['source']}:{row['position']}" if row["position"] else str(row["source"]),
            message=row["message"],
        )
        for row in failures
        if row["stage"] in _READING or (row["stage"] == "score" and row["criterion"] is None)
    ]
