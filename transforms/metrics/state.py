"""Metrics of an app version as an additive state."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from turnwise.schemas.score import Score
from turnwise.schemas.values import JsonObject
from turnwise.transforms.ces.aggregates import Sums, add_parts, add_sums, result_parts
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.metrics.repeats import Repeats
from turnwise.transforms.metrics.tally import Tally
from turnwise.transforms.scoring.conversation import CriterionScores, ScoredConversation
from turnwise.transforms.scoring.verdict import STATUS, Verdict


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
        repeats: Runs by case.
        slices: Name of a slice -> the same sums (without CES's) over its turns and their conversations.
    """

    conversations: int = 0
    turns: int = 0
    passes: int = 0
    fails: int = 0
    tallies: dict[tuple[str, int | None], Tally] = field(default_factory=dict)
    ces: Sums = field(default_factory=dict)
    sampled_out: Counter[str] = field(default_factory=Counter)
    repeats: Repeats = field(default_factory=Repeats)
    slices: dict[str, "MetricsState"] = field(default_factory=dict)

    def add(self, scored: ScoredConversation, verdict: Verdict, result: JsonObject) -> None:
        """Counts one conversation, with its verdict and its EvaluationResult."""
        self._add_part(scored, verdict, None)
        add_parts(self.ces, result_parts(result))
        key = scored.sample.run_of
        if key is not None:
            overall = ((e.criterion.name, e.overall.outcome) for e in scored.scores if e.overall)
            self.repeats.add(key, [(STATUS, verdict.status), *overall])
        for name, turns in scored.slices.items():
            self.slices.setdefault(name, MetricsState())._add_part(scored, verdict, turns)

    def _add_part(self, scored: ScoredConversation, verdict: Verdict, turns: frozenset[int] | None) -> None:
        """Counts a conversation by some of its turns; None: by all of them."""
        self.conversations += 1
        self.turns += len(scored.sample.conversation.turns) if turns is None else len(turns)
        self.passes += verdict.status == "PASS"
        self.fails += verdict.status == "FAIL"
        for entry in scored.scores:
            self._add_scores(entry, turns)
        if scored.sampled_out:
            self.sampled_out.update(scored.sampled_out)

    def _add_scores(self, entry: CriterionScores, turns: frozenset[int] | None) -> None:
        criterion = entry.criterion
        in_seconds, may_not_count = criterion.unit == "seconds", isinstance(criterion, JudgedCriterion)
        for turn, score in entry.turns if turns is None else _within(entry.turns, turns):
            if not may_not_count or criterion.counts(score):
                self._tally(criterion.name, turn).add(score.value, score.outcome, in_seconds)
        overall = entry.overall if turns is None else _overall_within(entry, turns)
        if overall is not None and criterion.counts(overall):
            self._tally(criterion.name, None).add(overall.value, overall.outcome, in_seconds)
        for place in entry.errors:
            if turns is None or place is None or place in turns:
                self._tally(criterion.name, place).errors += 1

    def _tally(self, criterion: str, turn: int | None) -> Tally:
        tally = self.tallies.get((criterion, turn))
        if tally is None:
            tally = self.tallies[criterion, turn] = Tally()
        return tally

    def merge(self, other: "MetricsState", sign: int = 1) -> None:
        """Adds the sums of other conversations, or takes them back (`sign` -1).

        What falls to nothing goes, so that adding and taking back leaves no trace.
        """
        self.conversations += sign * other.conversations
        self.turns += sign * other.turns
        self.passes += sign * other.passes
        self.fails += sign * other.fails
        for key, tally in other.tallies.items():
            self._merge_tally(key, tally, sign)
        add_sums(self.ces, other.ces, sign)
        self.repeats.merge(other.repeats, sign)
        for criterion, number in other.sampled_out.items():
            self.sampled_out[criterion] += sign * number
            if not self.sampled_out[criterion]:
                del self.sampled_out[criterion]
        for name, state in other.slices.items():
            self._merge_slice(name, state, sign)

    def _merge_tally(self, key: tuple[str, int | None], tally: Tally, sign: int) -> None:
        mine = self._tally(*key)
        mine.merge(tally, sign)
        if mine.is_empty:
            del self.tallies[key]

    def _merge_slice(self, name: str, state: "MetricsState", sign: int) -> None:
        mine = self.slices.setdefault(name, MetricsState())
        mine.merge(state, sign)
        if not mine.conversations:
            del self.slices[name]

    def criterion_tallies(self) -> dict[tuple[str, bool], Tally]:
        """Returns the sums by (criterion, whether of whole conversations), over all turns."""
        merged: dict[tuple[str, bool], Tally] = {}
        for (criterion, turn), tally in self.tallies.items():
            merged.setdefault((criterion, turn is None), Tally()).merge(tally)
        for criterion in self.sampled_out:
            merged.setdefault((criterion, True), Tally())
        return merged


def _overall_within(entry: CriterionScores, turns: frozenset[int]) -> Score | None:
    """Sums up some turns of a conversation; what was scored as a whole stays whole."""
    if not entry.turns:
        return entry.overall
    return entry.criterion.overall([score for _, score in _within(entry.turns, turns)])


def _within(scores: Iterable[tuple[int, Score]], turns: frozenset[int]) -> Iterable[tuple[int, Score]]:
    return ((turn, score) for turn, score in scores if turn in turns)
