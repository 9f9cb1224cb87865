"""Metrics of an app version: an additive state, and the one CombineFn over it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import apache_beam as beam

from schemas.score import Outcome
from schemas.values import JsonObject
from transforms.aggregates import Part, Sums, add_parts, add_sums, result_parts
from transforms.criteria import CRITERIA
from transforms.criteria.base import JudgedCriterion
from transforms.scoring import ScoredConversation
from transforms.statistics import ScoreStatistic, Tally
from transforms.verdict import Verdict


class ConversationStatistics(NamedTuple):
    """What one conversation adds to the metrics of its app version."""

    turns: int
    status: Outcome | None
    scores: tuple[ScoreStatistic, ...]
    ces: list[Part]
    sampled_out: tuple[str, ...] = ()


@dataclass(slots=True)
class MetricsState:
    """Sums over the conversations of one app version.

    Attributes:
        conversations: How many.
        turns: Recorded turns in them.
        passes: Verdicts PASS.
        fails: Verdicts FAIL.
        tallies: (criterion, turn index) -> sums; turn index None: conversations as a whole.
        ces: Sums behind CES's AggregatedMetrics.
        sampled_out: Judged criterion -> conversations that sampling left out.
    """

    conversations: int = 0
    turns: int = 0
    passes: int = 0
    fails: int = 0
    tallies: dict[tuple[str, int | None], Tally] = field(default_factory=dict)
    ces: Sums = field(default_factory=dict)
    sampled_out: Counter[str] = field(default_factory=Counter)

    def add(self, statistics: ConversationStatistics) -> None:
        """Counts one conversation."""
        self.conversations += 1
        self.turns += statistics.turns
        self.passes += statistics.status == "PASS"
        self.fails += statistics.status == "FAIL"
        for criterion, turn, value, outcome, is_error in statistics.scores:
            tally = self.tallies.get((criterion, turn))
            if tally is None:
                tally = self.tallies[criterion, turn] = Tally()
            if is_error:
                tally.errors += 1
            else:
                tally.add(value, outcome, CRITERIA[criterion].unit == "seconds")
        add_parts(self.ces, statistics.ces)
        if statistics.sampled_out:
            self.sampled_out.update(statistics.sampled_out)

    def merge(self, other: "MetricsState") -> None:
        """Adds the sums of other conversations."""
        self.conversations += other.conversations
        self.turns += other.turns
        self.passes += other.passes
        self.fails += other.fails
        for key, tally in other.tallies.items():
            self.tallies.setdefault(key, Tally()).merge(tally)
        add_sums(self.ces, other.ces)
        self.sampled_out.update(other.sampled_out)

    def criterion_tallies(self) -> dict[tuple[str, bool], Tally]:
        """Returns the sums by (criterion, whether of whole conversations), over all turns."""
        merged: dict[tuple[str, bool], Tally] = {}
        for (criterion, turn), tally in self.tallies.items():
            merged.setdefault((criterion, turn is None), Tally()).merge(tally)
        for criterion in self.sampled_out:
            merged.setdefault((criterion, True), Tally())
        return merged


def conversation_statistics(
    scored: ScoredConversation, verdict: Verdict, result: JsonObject
) -> ConversationStatistics:
    """Returns what a scored conversation adds to the metrics."""
    scores: list[ScoreStatistic] = []
    for entry in scored.scores:
        name = entry.criterion.name
        turns = entry.turns
        if isinstance(entry.criterion, JudgedCriterion):
            turns = [(turn, score) for turn, score in turns if entry.criterion.counts(score)]
        scores += [ScoreStatistic(name, turn, score.value, score.outcome) for turn, score in turns]
        if entry.overall is not None and entry.criterion.counts(entry.overall):
            scores.append(ScoreStatistic(name, None, entry.overall.value, entry.overall.outcome))
        scores += [ScoreStatistic(name, turn, None, None, is_error=True) for turn in entry.errors]
    return ConversationStatistics(
        len(scored.case.conversation.turns),
        verdict.status,
        tuple(scores),
        result_parts(result),
        scored.sampled_out,
    )


class MetricsFn(beam.CombineFn):
    """Adds up sums; the accumulator is itself the output, to be merged or read."""

    def create_accumulator(self) -> MetricsState:
        """Returns the sums of no conversation."""
        return MetricsState()

    def add_input(self, state: MetricsState, sums: MetricsState) -> MetricsState:
        """Adds the sums of a bundle."""
        state.merge(sums)
        return state

    def merge_accumulators(self, states: Iterable[MetricsState]) -> MetricsState:
        """Adds up sums."""
        merged = MetricsState()
        for state in states:
            merged.merge(state)
        return merged

    def extract_output(self, state: MetricsState) -> MetricsState:
        """Returns the sums."""
        return state
