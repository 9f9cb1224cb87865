"""The result of a gate: what `turnwise gate --json` writes."""

from typing import Literal

import msgspec

from turnwise.schemas.comparison import Bounds, Comparison, FirstPage

RuleStatus = Literal["passed", "failed", "inconclusive"]
GATE_PROBLEM = "gate: "
"""Begins the problems of `run.json` that come from the rules of a gate, not from the run itself."""


class RuleResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one rule, for one app version.

    Attributes:
        status: `inconclusive` does not pass.
        app_version: Version that it was applied to; None: the log does not state it, or the whole run.
        value: What was held against the bound; None: it is not known.
        why: What was seen, in one line.
        conversations: Conversations that it rests on: those that miss it, at most 20.
        rejected: What was rejected and leaves it inconclusive, at most 20: source and position of records,
            eval cases without a recording.
        more_rejected: How many others are known by name.
    """

    rule: str
    status: RuleStatus
    app_version: str | None
    why: str
    value: float | None = None
    interval: Bounds | None = None
    conversations: list[str] = []
    more: int = 0
    rejected: list[str] = []
    more_rejected: int = 0


class GateCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One criterion on one conversation.

    Attributes:
        criterion: A criterion with a threshold, or `verdict`.
        status: `inconclusive`: it has no outcome.
        turn_index: 0-based turn that `why` is of; None: the whole conversation.
        why: Why it is not passed, in one line.
    """

    conversation_id: str
    app_version: str | None
    eval_id: str | None
    criterion: str
    status: RuleStatus
    value: float | None = None
    threshold: float | None = None
    turn_index: int | None = None
    why: str | None = None


class GatedConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation to read first.

    Attributes:
        problem_label: Kind of its problem.
        alike: Number of conversations of the same problem type, with itself.
        position: 1-based line or index.
    """

    conversation_id: str
    app_version: str | None
    eval_id: str | None
    verdict: str | None
    why: str | None
    problem_label: str | None
    alike: int
    source: str | None
    position: int | None


class RejectedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record or conversation that was rejected before it was scored: file and line or index, and why."""

    place: str
    message: str


class GateReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a gate.

    Attributes:
        status: `failed`: a rule failed; `inconclusive`: none failed, and one could not be decided.
        baseline: Directory of the baseline; None: there is none.
        rules: The rules, each for each app version.
        problems: Why the run itself failed, one line each, as in `run.json`.
        rejected: Records, conversations and eval cases that were rejected.
        comparison: The comparison with the baseline, else that of the run's first and last version; None:
            there is none.
        page: The first page of the run, or of the comparison; None: nothing was scored, or not compared.
    """

    status: RuleStatus
    output: str
    run_id: str
    baseline: str | None
    rules: list[RuleResult]
    checks: list[GateCheck]
    problems: list[str]
    rejected: list[RejectedRecord]
    to_read: list[GatedConversation]
    comparison: Comparison | None
    page: FirstPage | None = None
