"""Metrics of an app version as an additive state: sums of scores, intervals, runs and slices; their rows."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from math import ceil, copysign, fsum, log, log1p, sqrt
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import astuple, replace

from turnwise.schemas.config import STATUS, RedactConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import (
    FailureRow,
    MetricRow,
    MetricsByAppVersionRow,
    MetricsBySliceRow,
    MetricsByTurnRow,
)
from turnwise.schemas.score import LARGEST_VALUE, Failure, Outcome, Score
from turnwise.transforms.criteria.base import CRITERIA, QUANTILE_UNITS, JudgedCriterion
from turnwise.transforms.judging.ask import Flips
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.config import panel_summary, verdict_letters
from turnwise.transforms.scoring.evaluate import CriterionScores, ScoredConversation, Verdict
from turnwise.transforms.scoring.panels import PANEL
from turnwise.transforms.scoring.redaction import REDACTED, redact_failure
from turnwise.transforms.statistics.tests import wilson_interval
from turnwise.transforms.text.dates import rfc3339

# pass^k and pass@k: how reliably repeated runs of a case pass.

MOST_CASES = 10_000
MOST_RUNS = 100
_Runs = tuple[int, int]


class Repeats(Struct):
    """Sums over the runs of the cases of one app version; two of them add up.

    `cases` are key of a case -> criterion -> decided runs, and how many of them passed. More than 10,000 are
    full: none is kept, so that memory is bounded, in whatever order sums with too many together are added up.
    """

    cases: dict[str, dict[str, _Runs]] = field(default_factory=dict)
    is_full: bool = False

    def add(self, case: str, outcomes: Iterable[tuple[str, Outcome | None]]) -> None:
        """Counts one run of a case, by criterion; a run without a verdict does not count."""
        if not self.is_full:
            decided = {name: (1, int(o == "PASS")) for name, o in outcomes if o in ("PASS", "FAIL")}
            self._add_runs(case, decided)

    def merge(self, other: "Repeats", sign: int = 1) -> None:
        """Adds the runs of other conversations, or takes them back (`sign` -1); what becomes 0 goes."""
        if other.is_full:
            self._give_up()
        for case, runs in other.cases.items():
            if not self.is_full:
                self._add_runs(case, runs, sign)

    def _add_runs(self, case: str, runs: dict[str, _Runs], sign: int = 1) -> None:
        counts = self.cases.setdefault(case, {})
        for name, (count, passes) in runs.items():
            before = counts.pop(name, (0, 0))
            after = before[0] + sign * count, before[1] + sign * passes
            if any(after):
                counts[name] = after
        if not counts:
            del self.cases[case]
        if len(self.cases) > MOST_CASES:
            self._give_up()

    def _give_up(self) -> None:
        self.cases, self.is_full = {}, True

    def figures(self, criterion: str) -> JsonObject | None:
        """Returns pass^k and pass@k for every k up to the largest number of runs, 100 at most.

        Of the cases, those with at least k decided runs count.

        Returns:
            `cases`, `runs` (the smallest number of decided runs of a case), `pass_hat_k` and `pass_at_k`,
            lists of `{k, cases, value, low, high}`; None: no run of a named case was decided.
        """
        runs = [counts[criterion] for counts in self.cases.values() if criterion in counts]
        if not runs:
            return None
        largest = min(max(count for count, _ in runs), MOST_RUNS)
        hat = _all_pass(runs, largest)
        missed = _all_pass([(count, count - passes) for count, passes in runs], largest)
        return {
            "cases": len(runs),
            "runs": min(count for count, _ in runs),
            "pass_hat_k": [_figure(k, value, cases) for k, (value, cases) in enumerate(hat, 1)],
            "pass_at_k": [_figure(k, 1.0 - value, cases) for k, (value, cases) in enumerate(missed, 1)],
        }


def _all_pass(runs: Sequence[_Runs], largest: int) -> list[tuple[float, int]]:
    """Returns the mean over the cases with k runs, and how many these are, for k from 1 to `largest`."""
    by_k: list[list[float]] = [[] for _ in range(largest)]
    for count, passes in runs:
        share = 1.0  # C(passes, k) / C(count, k): the share of choices of k runs that all pass
        for i, shares in zip(range(count), by_k, strict=False):
            share *= max(0, passes - i) / (count - i)
            shares.append(share)
    # Rounded once: the same in whatever order workers add up their cases.
    return [(fsum(shares) / len(shares), len(shares)) for shares in by_k]


def _figure(k: int, value: float, cases: int) -> JsonObject:
    """Returns a mean over cases with its 95 % Wilson interval, in which every case is one trial.

    Runs of one case are not independent, cases are. A case's share lies between 0 and 1, so it varies no more
    than a trial of the same mean: the interval is on the safe side, also for few cases and means of 0 and 1.
    """
    value = min(1.0, max(0.0, value))
    interval = wilson_interval(value * cases, cases)
    low, high = interval or (0.0, 1.0)
    return {"k": k, "cases": cases, "value": value, "low": low, "high": high}


# Slices: what divides the metrics of an app version.

TAG = "tag"
LANGUAGE = "language"
AGENT = "agent"


def slices_of(sample: Sample, wanted: Sequence[str]) -> dict[str, frozenset[int] | None]:
    """Returns the slices that a conversation belongs to, each with the indices of its turns; None: all.

    A label of an answer (`skipped:NO_RELEVANT_CONTENT`) is of its turn, every other tag of all turns.
    `wanted` holds the part before the colon of labels and tags; `tag`: every tag; `language`: the language;
    `agent`: the agents that spoke, called or took over, each of the turns in which it did.
    """
    if not wanted:
        return {}
    turns: dict[str, list[int]] = {}
    for pair in sample.pairs:
        answer = pair.actual.grounded if pair.actual is not None else None
        of_turn = answer.tags if answer is not None else []
        if AGENT in wanted and pair.actual is not None:
            of_turn = [*of_turn, *(f"{AGENT}:{name}" for name in pair.actual.agents)]
        for label in of_turn:
            turns.setdefault(label, []).append(pair.index)
    labels: dict[str, frozenset[int] | None] = {tag: None for tag in sample.tags}
    labels |= {tag: frozenset(places) for tag, places in turns.items()}
    slices = {tag: places for tag, places in labels.items() if is_wanted(tag, wanted)}
    language = sample.conversation.language
    return slices | {f"{LANGUAGE}:{language}": None} if LANGUAGE in wanted and language else slices


def is_wanted(tag: str, wanted: Iterable[str]) -> bool:
    """Returns whether a tag is a slice, given the dimensions that are wanted."""
    return TAG in wanted or (":" in tag and tag.partition(":")[0] in wanted)


# Quantiles within 0.1 % of the value, from counts in logarithmic bins that can be added and taken back.
#
# The bins, and the value that stands for each, are those of DDSketch: Masson, Rim and Lee, "DDSketch: a fast
# and fully-mergeable quantile sketch with relative-error guarantees", PVLDB 12(12), 2019.

K = TypeVar("K")

ACCURACY = 0.001
SMALLEST, LARGEST = 1e-9, 1e9
_GROWTH = (1 + ACCURACY) / (1 - ACCURACY)
_PER_LOG = 1 / log1p(2 * ACCURACY / (1 - ACCURACY))
_SHIFT = ceil(log(LARGEST) * _PER_LOG) + 1

Bins = dict[int, int]
"""Bin -> how many values lie in it. Bins are numbered in the order of their values; 0 holds what is nearer to
0 than `SMALLEST`. Sizes beyond `LARGEST` count as that, so that there are 41,451 bins at most."""


def bin_of(value: float) -> int:
    """Returns the bin of a value."""
    size = abs(value)
    if size < SMALLEST:
        return 0
    number = ceil(log(min(size, LARGEST)) * _PER_LOG) + _SHIFT
    return number if value > 0 else -number


def add_counts(counts: dict[K, int], more: Mapping[K, int], sign: int = 1) -> None:
    """Adds counts, in place, or takes them back (`sign` -1); a key that falls to nothing goes."""
    for key, count in more.items():
        now = counts.get(key, 0) + sign * count
        if now:
            counts[key] = now
        else:
            counts.pop(key, None)


def rank_of(share: float, count: int) -> int:
    """Returns the 0-based rank of the smallest of some values that a share (0..1) of them does not exceed."""
    return max(ceil(share * count), 1) - 1


def value_at(bins: Bins, rank: int) -> float:
    """Returns the value of a 0-based rank, the smallest being 0; of a rank too high, the largest.

    It stands for a bin, and is within 0.1 % of every value in it.
    """
    number, below = 0, 0
    for number in sorted(bins):
        below += bins[number]
        if below > rank:
            break
    size = 2 * _GROWTH ** (abs(number) - _SHIFT) / (1 + _GROWTH)
    return copysign(size, number) if number else 0.0


_FLOAT_ONE = 2.0**100
ONE = 1 << 100
"""Values are summed as whole numbers of 2^-100: such sums are exact in any order, and can be taken back."""


def _whole(value: float) -> int:
    """Returns a value as a number of 2^-100, cut off there; beyond 1e15, as 1e15."""
    return int(min(max(value, -LARGEST_VALUE), LARGEST_VALUE) * _FLOAT_ONE)


class Tally(Struct):
    """Sums over the scores of one criterion; two tallies add up to the tally of all their scores.

    Attributes:
        errors: Times the criterion raised.
        total: Sum of the values, in 2^-100.
        squares: Sum of their squares, in 2^-200.
        sketch: Counts of the values for quantiles, for latencies and costs; None elsewhere.
        voted: Verdicts of a judge with two votes or more.
        flipped: Those of them whose votes are not all the same.
    """

    scored: int = 0
    no_score: int = 0
    errors: int = 0
    total: int = 0
    squares: int = 0
    passes: int = 0
    fails: int = 0
    sketch: Bins | None = None
    voted: int = 0
    flipped: int = 0

    def add(self, value: float | None, outcome: Outcome | None, with_quantiles: bool = False) -> None:
        """Counts one score."""
        if outcome == "PASS":
            self.passes += 1
        elif outcome == "FAIL":
            self.fails += 1
        if value is None:
            self.no_score += 1
            return
        whole = int(value * _FLOAT_ONE) if abs(value) < LARGEST_VALUE else _whole(value)
        self.scored += 1
        self.total += whole
        self.squares += whole * whole
        if with_quantiles:
            if self.sketch is None:
                self.sketch = {}
            number = bin_of(value)
            self.sketch[number] = self.sketch.get(number, 0) + 1

    def merge(self, other: "Tally", sign: int = 1) -> None:
        """Adds another tally to this one, or takes it back (`sign` -1)."""
        for name in _TALLY_NUMBERS:
            setattr(self, name, getattr(self, name) + sign * getattr(other, name))
        if other.sketch is not None:
            bins = {} if self.sketch is None else self.sketch
            add_counts(bins, other.sketch, sign)
            self.sketch = bins or None

    @property
    def is_empty(self) -> bool:
        """Whether it is empty, because nothing was added or everything was subtracted."""
        return not any(astuple(self))

    @property
    def mean(self) -> float | None:
        """Mean of the values; None without any."""
        return self.total / (self.scored * ONE) if self.scored else None

    @property
    def variance(self) -> float | None:
        """Sample variance; None below two values."""
        count = self.scored
        if count < 2:
            return None
        return (count * self.squares - self.total**2) / (count * (count - 1) * ONE**2)

    @property
    def stddev(self) -> float | None:
        """Sample standard deviation; None below two values."""
        variance = self.variance
        return None if variance is None else sqrt(variance)

    def mean_if_missing(self, value: float) -> float | None:
        """Mean if everything without a score had this value; None if there is nothing at all."""
        count = self.scored + self.no_score
        return (self.total + _whole(value) * self.no_score) / (count * ONE) if count else None

    def quantile(self, share: float) -> float | None:
        """Smallest value that at least `share` of the values do not exceed; None without a sketch."""
        if self.sketch is None:
            return None
        if self.scored == 1:
            return self.total / ONE
        return value_at(self.sketch, rank_of(share, self.scored))


_TALLY_NUMBERS = tuple(name for name in Tally.__struct_fields__ if name != "sketch")


# Verdicts of panels of judges as counts, which add up over conversations.

PanelCounts: TypeAlias = Counter[tuple[str, bool, str]]
"""(Criterion, whether of whole conversations, letters of the members' verdicts) -> number of questions."""


def add_panel(counts: PanelCounts, entry: CriterionScores) -> None:
    """Counts the verdicts of a judged criterion's panel, if it has one, on one conversation, in place."""
    criterion = entry.criterion
    if isinstance(criterion, JudgedCriterion) and criterion.judge_model_options.panel:
        for turn, score in entry.scores():
            if panel := (score.details or {}).get(PANEL):
                counts[criterion.name, turn is None, verdict_letters(panel)] += 1


def panel_column(counts: PanelCounts, criterion: str, level: str) -> JsonObject | None:
    """Returns what a row of metrics says of a panel; None: there was none."""
    key = criterion, level == "conversation"
    questions = {letters: number for (*of, letters), number in counts.items() if tuple(of) == key}
    return panel_summary(questions) if questions else None


# The state.

_MOST_KEPT = 500
_BITS = 64

SumKey = tuple[int | None, str, str]
"""Key of a pair of sums.

A 0-based turn index (None: the whole conversation), a kind, and the tool where the kind is about one.
"""

Sums = dict[SumKey, list[int]]
"""Pairs of sums that a dialect gives; those of two sets of conversations add up to those of both together."""

SumPart = tuple[SumKey, int, int]
"""Addition of one observation to a pair of sums."""


def add_parts(sums: Sums, parts: Iterable[SumPart]) -> None:
    """Adds observations to sums, in place."""
    for key, first, second in parts:
        pair = sums.get(key)
        if pair is None:
            sums[key] = [first, second]
        else:
            pair[0] += first
            pair[1] += second


def add_sums(sums: Sums, more: Sums, sign: int = 1) -> None:
    """Adds sums to sums, in place, or takes them back (`sign` -1); a pair that falls to nothing goes."""
    add_parts(sums, ((key, sign * first, sign * second) for key, (first, second) in more.items()))
    for key in more:
        if sums[key] == [0, 0]:
            del sums[key]


class Units(Struct):
    """Conversations by their unit: the named case, or else the conversation itself; `total` are all.

    `kept` is hash of a unit -> conversations of it, exact for up to 500 units. Of more, a sample is kept:
    those whose hash has `level` leading zero bits (distinct sampling, Gibbons and Tirthapura 2001), so that
    memory is bounded and sums add up in any order.
    """

    kept: dict[int, int] = field(default_factory=dict)
    level: int = 0
    total: int = 0

    def add(self, unit: str) -> None:
        """Counts one conversation of a unit."""
        digest = int.from_bytes(blake2b(unit.encode("utf-8", "replace"), digest_size=8).digest(), "big")
        self.total += 1
        if not digest >> (_BITS - self.level):
            self.kept[digest] = self.kept.get(digest, 0) + 1
            if len(self.kept) > _MOST_KEPT:
                self._limit()

    def merge(self, other: "Units", sign: int = 1) -> None:
        """Adds other conversations, or takes them back (`sign` -1); what becomes 0 goes."""
        self.total += sign * other.total
        if other.level > self.level:
            self.level = other.level
            self.kept = self._sampled(self.kept)
        add_counts(self.kept, self._sampled(other.kept), sign)
        self._limit()

    def _limit(self) -> None:
        while len(self.kept) > _MOST_KEPT:
            self.level += 1
            self.kept = self._sampled(self.kept)

    def _sampled(self, counts: dict[int, int]) -> dict[int, int]:
        """Returns the counts of the hashes that the level keeps."""
        return {digest: number for digest, number in counts.items() if not digest >> (_BITS - self.level)}

    def independent(self, count: int) -> float:
        """Returns how many independent trials so many scores are: fewer where cases were recorded repeatedly.

        It is the count times the share of units in the conversations, at least 1 for any score.
        """
        units, recordings = len(self.kept), sum(self.kept.values())
        if not self.level or not units:
            return independent_trials(count, units, recordings)
        # Whether the sample holds one of a few cases that were recorded very often is chance, so that its
        # share counts only as far as the number of units that it stands for may be.
        about, spread = units << self.level, 2 / sqrt(units)
        estimated = min(max(units * self.total / recordings, about * (1 - spread)), about * (1 + spread))
        return independent_trials(count, estimated, self.total)


def independent_trials(count: int, units: float, recordings: int) -> float:
    """Returns how many independent trials a count of scores is, of the conversations of some cases."""
    return count if not count or recordings <= units else max(1.0, count * units / recordings)


class MetricsState(Struct):
    """Sums over the conversations of one app version.

    Attributes:
        turns: Recorded turns in them.
        tallies: (criterion, turn index) -> sums; turn index None: conversations as a whole.
        ces: Sums that a dialect gives: those behind CES's AggregatedMetrics.
        sampled_out: Judged criterion, or `verdict` -> conversations that sampling left out.
        units: The cases that the conversations are of.
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
    panels: PanelCounts = field(default_factory=Counter)
    units: Units = field(default_factory=Units)

    def add(self, scored: ScoredConversation, verdict: Verdict, parts: Sequence[SumPart] = ()) -> None:
        """Counts one conversation, with its verdict and what it adds to the sums of its dialect."""
        self._add_part(scored, verdict, None)
        if parts:
            add_parts(self.ces, parts)
        key = scored.sample.run_of
        if key is not None:
            overall = ((e.criterion.name, e.overall.outcome) for e in scored.scores if e.overall)
            self.repeats.add(key, [(STATUS, verdict.status), *overall])
        for name, turns in scored.slices.items():
            self.slices.setdefault(name, MetricsState())._add_part(scored, verdict, turns)

    def _add_part(self, scored: ScoredConversation, verdict: Verdict, turns: frozenset[int] | None) -> None:
        """Counts a conversation by some of its turns; None: by all of them."""
        self.conversations += 1
        sample = scored.sample
        self.units.add(sample.unit)
        self.turns += len(sample.conversation.turns) if turns is None else len(turns)
        self.passes += verdict.status == "PASS"
        self.fails += verdict.status == "FAIL"
        if scored.sampled_out:
            self.sampled_out.update(scored.sampled_out)
        tallies = self.tallies
        for entry in scored.scores:
            criterion, overall = entry.criterion, entry.overall
            name, is_judged = criterion.name, criterion._is_judged
            with_quantiles = criterion.unit in QUANTILE_UNITS
            scores: Sequence[tuple[int | None, Score]] = entry.turns
            if is_judged and turns is None:
                add_panel(self.panels, entry)
            if turns is not None and scores:  # what was scored as a whole stays whole
                scores = [(turn, score) for turn, score in scores if turn in turns]
                overall = criterion.overall([score for _, score in scores])
            for turn, score in scores if overall is None else (*scores, (None, overall)):
                key, judge = (name, turn), score.judge
                if not is_judged or criterion.counts(score):
                    if (tally := tallies.get(key)) is None:
                        tally = tallies[key] = Tally()
                    tally.add(score.value, score.outcome, with_quantiles)
                if judge is not None and judge.voted:  # also of a score that enters no mean
                    tally = tallies.setdefault(key, Tally())
                    tally.voted += judge.voted
                    tally.flipped += judge.flipped or 0
            for errored in entry.errors:
                if turns is None or errored is None or errored in turns:
                    tallies.setdefault((name, errored), Tally()).errors += 1

    def merge(self, other: "MetricsState", sign: int = 1) -> None:
        """Adds the sums of other conversations, or takes them back (`sign` -1).

        What falls to nothing goes, so that adding and taking back leaves no trace.
        """
        for name in ("conversations", "turns", "passes", "fails"):
            setattr(self, name, getattr(self, name) + sign * getattr(other, name))
        for key, tally in other.tallies.items():
            mine = self.tallies.setdefault(key, Tally())
            mine.merge(tally, sign)
            if mine.is_empty:
                del self.tallies[key]
        add_sums(self.ces, other.ces, sign)
        self.repeats.merge(other.repeats, sign)
        self.units.merge(other.units, sign)
        add_counts(self.panels, other.panels, sign)
        add_counts(self.sampled_out, other.sampled_out, sign)
        for part_name, state in other.slices.items():
            part = self.slices.setdefault(part_name, MetricsState())
            part.merge(state, sign)
            if part.is_empty:
                del self.slices[part_name]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added, or everything was taken back.

        A conversation that is scored again leaves a change without conversations, but with other sums.
        """
        counts = self.conversations or self.turns or self.passes or self.fails
        held = self.tallies, self.ces, self.sampled_out, self.repeats.cases, self.slices, self.panels
        return not (counts or any(held) or self.units.kept or self.units.total)


def add_conversation(
    sums: dict[str, MetricsState], scored: ScoredConversation, verdict: Verdict, parts: Sequence[SumPart]
) -> None:
    """Adds a conversation to the sums of its app version ("" if unknown); see `MetricsState.add`."""
    version = scored.sample.conversation.app_version or ""
    state = sums.get(version)
    if state is None:
        state = sums[version] = MetricsState()
    state.add(scored, verdict, parts)


# Metrics as bytes, for state, for shuffles between workers, and for what is kept beside the output.

_VERSION = 1


class _EncodedTally(Struct, array_like=True):
    """A Tally with its key; sums that exceed 64 bits stand as big-endian two's complement, also below."""

    criterion: str
    turn: int | None
    scored: int
    no_score: int
    errors: int
    total: bytes
    squares: bytes
    passes: int
    fails: int
    sketch: Bins | None
    voted: int = 0
    flipped: int = 0


class _EncodedState(Struct, array_like=True):
    """A MetricsState. New fields go to the end, with a default; a change of old ones needs a new version."""

    version: int
    conversations: int
    turns: int
    passes: int
    fails: int
    tallies: list[_EncodedTally]
    ces: list[tuple[int | None, str, str, bytes, bytes]]
    sampled_out: dict[str, int]
    repeats: dict[str, dict[str, tuple[int, int]]]
    are_repeats_full: bool
    slices: dict[str, bytes]
    panels: list[tuple[str, bool, dict[str, int]]] = []
    units: tuple[dict[int, int], int, int] = ({}, 0, 0)


def packed(state: MetricsState) -> bytes:
    """Returns sums as MessagePack."""
    return msgspec.msgpack.encode(
        _EncodedState(
            _VERSION,
            state.conversations,
            state.turns,
            state.passes,
            state.fails,
            [_packed_tally(*key, tally) for key, tally in state.tallies.items()],
            [(*key, _bytes(first), _bytes(second)) for key, (first, second) in state.ces.items()],
            state.sampled_out,
            state.repeats.cases,
            state.repeats.is_full,
            {name: packed(part) for name, part in state.slices.items()},
            [(name, is_whole, {letters: n}) for (name, is_whole, letters), n in state.panels.items()],
            (state.units.kept, state.units.level, state.units.total),
        )
    )


def unpacked(data: bytes) -> MetricsState:
    """Returns the sums that were packed; raises ValueError for anything else, or of another version of it."""
    encoded = _DECODER.decode(data)
    if encoded.version != _VERSION:
        raise ValueError(f"metrics of version {encoded.version} cannot be read, only of version {_VERSION}")
    return MetricsState(
        encoded.conversations,
        encoded.turns,
        encoded.passes,
        encoded.fails,
        {(tally.criterion, tally.turn): _unpacked_tally(tally) for tally in encoded.tallies},
        {(turn, kind, tool): [_int(a), _int(b)] for turn, kind, tool, a, b in encoded.ces},
        Counter(encoded.sampled_out),
        Repeats(encoded.repeats, encoded.are_repeats_full),
        {name: unpacked(part) for name, part in encoded.slices.items()},
        Counter(
            {(name, whole, text): n for name, whole, counts in encoded.panels for text, n in counts.items()}
        ),
        Units(*encoded.units),
    )


def _packed_tally(criterion: str, turn: int | None, tally: Tally) -> _EncodedTally:
    scored, no_score, errors, total, squares, *rest = astuple(tally)
    return _EncodedTally(criterion, turn, scored, no_score, errors, _bytes(total), _bytes(squares), *rest)


def _unpacked_tally(encoded: _EncodedTally) -> Tally:
    _, _, scored, no_score, errors, total, squares, *rest = astuple(encoded)
    return Tally(scored, no_score, errors, _int(total), _int(squares), *rest)


def _bytes(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)


def _int(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


_DECODER = msgspec.msgpack.Decoder(_EncodedState)


# Metrics and failures as rows.

VersionState: TypeAlias = tuple[str, MetricsState]
"""App version ("": unknown), and the sums over its conversations."""


class RowWindow(NamedTuple):
    """The window that metrics are of, in seconds since the epoch; the end is exclusive.

    `pane` is `EARLY`, `ON_TIME`, `LATE` or `UNKNOWN`, `revision` how often the window gave figures before.
    """

    start: float
    end: float
    pane: str
    revision: int


_FAILURE_FIELDS = tuple(name for name in FailureRow.__annotations__ if name != "run_id")


def failure_rows(
    failure: Failure, run_id: str, redact: RedactConfig | None = None, counts: Counter[str] | None = None
) -> list[FailureRow]:
    """Returns the one row of a failure, with markers if anything is redacted; adds how many by kind."""
    if redact is not None:
        failure = replace(failure)
        for kind, number in redact_failure(failure, redact).items():
            if counts is not None:
                counts[f"{REDACTED}{kind}"] += number
    row = {"run_id": run_id, **{name: getattr(failure, name) for name in _FAILURE_FIELDS}}
    return [row]  # type: ignore[list-item]


def version_rows(
    entry: VersionState, run_id: str, window: RowWindow | None = None
) -> list[MetricsByAppVersionRow]:
    """Returns an app version's ("": unknown) row of verdicts, then one per criterion and level."""
    state = entry[1]
    return [
        {
            **row,
            "conversations": state.conversations,
            "turns": state.turns,
            "sampled_out": state.sampled_out[row["criterion"]],
            "repeats": state.repeats.figures(row["criterion"]) if row["level"] == "conversation" else None,
            "panel": panel_column(state.panels, row["criterion"], row["level"]),
        }
        for row in _criterion_rows(entry, run_id, window)
    ]


def _criterion_rows(entry: VersionState, run_id: str, window: RowWindow | None) -> list[MetricRow]:
    """Returns the row of verdicts, then one per criterion and level."""
    state = entry[1]
    rows = [_metric_row(entry, run_id, window, STATUS, "conversation", status_tally(state))]
    merged: defaultdict[tuple[str, bool], Tally] = defaultdict(Tally)
    for (name, turn), tally in state.tallies.items():
        merged[name, turn is None].merge(tally)
    left_out = ((name, True) for name in state.sampled_out if name != STATUS)
    for name, is_whole in sorted({*merged, *left_out}):
        level = "conversation" if is_whole else "turn"
        rows.append(_metric_row(entry, run_id, window, name, level, merged[name, is_whole]))
    return rows


def slice_rows(entry: VersionState, run_id: str, window: RowWindow | None = None) -> list[MetricsBySliceRow]:
    """Returns an app version's ("": unknown) rows per slice: of verdicts, then per criterion and level."""
    version, whole = entry
    return [
        {
            **row,
            "slice": name,
            "conversations": state.conversations,
            "turns": state.turns,
            "share_of_turns": state.turns / whole.turns if whole.turns else 0.0,
        }
        for name, state in sorted(whole.slices.items())
        for row in _criterion_rows((version, state), run_id, window)
    ]


def turn_rows(entry: VersionState, run_id: str, window: RowWindow | None = None) -> list[MetricsByTurnRow]:
    """Returns an app version's ("": unknown) rows per turn index and criterion."""
    turns = [(turn, name, tally) for (name, turn), tally in entry[1].tallies.items() if turn is not None]
    return [
        {**_metric_row(entry, run_id, window, name, "turn", tally), "turn_index": turn}
        for turn, name, tally in sorted(turns, key=lambda item: item[:2])
    ]


def status_tally(state: MetricsState) -> Tally:
    """Returns the verdicts as sums: PASS counts 1, FAIL 0, a conversation without a verdict has no score.

    One that sampling left out counts as neither.
    """
    decided = state.passes + state.fails
    return Tally(
        scored=decided,
        no_score=state.conversations - decided - state.sampled_out[STATUS],
        total=state.passes * ONE,
        squares=state.passes * ONE**2,
        passes=state.passes,
        fails=state.fails,
    )


def _metric_row(
    entry: VersionState, run_id: str, window: RowWindow | None, criterion: str, level: str, tally: Tally
) -> MetricRow:
    version, state = entry
    kind = CRITERIA.get(criterion)
    scale = kind.scale if kind else (0.0, 1.0) if criterion == STATUS else None
    gated = tally.passes + tally.fails
    # Cases are independent, their recordings are not.
    trials = state.units.independent(gated)
    interval = wilson_interval(tally.passes * trials / gated, trials) if gated else None
    flips = Flips(tally.voted, tally.flipped if tally.voted else None)
    return {
        "run_id": run_id,
        "app_version": version or None,
        "criterion": criterion,
        "level": level,
        "unit": kind.unit if kind else "score",
        "count": tally.scored + tally.no_score,
        "scored": tally.scored,
        "no_score": tally.no_score,
        "errors": tally.errors,
        "mean": tally.mean,
        "mean_low": tally.mean_if_missing(scale[0]) if scale else None,
        "mean_high": tally.mean_if_missing(scale[1]) if scale else None,
        "stddev": tally.stddev,
        "pass_count": tally.passes,
        "fail_count": tally.fails,
        "pass_rate": tally.passes / gated if gated else None,
        "pass_rate_low": interval.low if interval else None,
        "pass_rate_high": interval.high if interval else None,
        "p50": tally.quantile(0.5),
        "p90": tally.quantile(0.9),
        "p99": tally.quantile(0.99),
        "voted": tally.voted,
        "flipped": flips.flipped,
        "flip_rate": flips.rate,
        "window_start": rfc3339(window.start) if window else None,
        "window_end": rfc3339(window.end) if window else None,
        "pane": window.pane if window else None,
        "revision": window.revision if window else None,
    }
