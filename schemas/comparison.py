"""The result of comparing two versions: what `compare.json` holds.

What is said of the baseline (`baseline_value`) holds of the candidate. Every difference is candidate minus
baseline. Shares and differences of shares are 0..1 and -1..1; other values have the unit of their criterion.
None: not known, or not defined.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

NO_VERSION = "(no version)"
"""How the app version of conversations that state none is named, on the command line, too."""

ComparisonWord = Literal["better", "worse", "not worse", "same", "inconclusive", "differs"]
"""What may be said of the candidate; `differs`: a difference of a criterion that has no better side."""


class Bounds(msgspec.Struct, frozen=True):
    """An interval of confidence: a lower and an upper bound, which unpack as such."""

    low: float
    high: float

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))


class VersionDifference(msgspec.Struct, frozen=True):
    """One difference and what may be said about it.

    Attributes:
        pairs: Cases with a value on both sides; for unpaired groups 0.
        baseline_count: Conversations of the baseline with a value behind it.
        baseline_value: Share or mean of the baseline: over the pairs, or over all if unpaired.
        word: What may be said, whatever is missing would have been.
        detectable: Smallest difference that a power of 80 % would show; None: not known, or beyond the scale.
        pairs_needed: Cases (if unpaired: of each side) needed to see this difference with a power of 80 %.
        baseline_cases: Its unpaired cases with a value, if some have several; None: each conversation is one.
        fewest: Fewest cases (if unpaired: of each side) from which a word is given; None: there are enough.
        fewest_alike: The same for outcomes that may be called the same or not worse; None: there are enough.
        method: Names of the test and of the interval.
    """

    pairs: int
    baseline_count: int
    candidate_count: int
    baseline_value: float | None = None
    candidate_value: float | None = None
    difference: float | None = None
    interval: Bounds | None = None
    p: float | None = None
    word: ComparisonWord = "inconclusive"
    detectable: float | None = None
    pairs_needed: int | None = None
    baseline_cases: int | None = None
    candidate_cases: int | None = None
    fewest: int | None = None
    fewest_alike: int | None = None
    method: str = ""


class MissingReading(msgspec.Struct, frozen=True, kw_only=True):
    """The difference under one reading of what has no score; `p` is adjusted as that of the criterion."""

    pairs: int
    baseline_value: float | None
    candidate_value: float | None
    difference: float | None
    interval: Bounds | None
    p: float | None
    word: ComparisonWord


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """What has no score on either side, counted in three ways.

    Attributes:
        baseline_missing: Conversations of the baseline without a value: the criterion gave no score or raised
            an error, or only the other side of their case has a score of it.
        left_out: They do not count.
        worst_for_candidate: What has no score passes in the baseline and fails in the candidate.
        best_for_candidate: What has no score fails in the baseline and passes in the candidate.
        changes_the_word: The three do not agree on the word, or it is not known how far the missing ones may
            lie (open scale). The word of the criterion is then what all three bear out.
    """

    baseline_missing: int
    candidate_missing: int
    left_out: MissingReading
    worst_for_candidate: MissingReading | None
    best_for_candidate: MissingReading | None
    changes_the_word: bool


class QuantileRatio(msgspec.Struct, frozen=True, kw_only=True):
    """A quantile (0.5, 0.9 or 0.99) of latencies or counts; `ratio`: candidate by baseline, None: by 0."""

    quantile: float
    baseline_value: float
    candidate_value: float
    ratio: float | None
    interval: Bounds | None


class CorrectedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of all conversations, each side corrected by human labels; the interval is at 95 %."""

    baseline_labels: int
    candidate_labels: int
    baseline_value: float
    candidate_value: float
    difference: float
    interval: Bounds


class JudgeNoise(msgspec.Struct, frozen=True, kw_only=True):
    """How much a judge disagrees with itself: verdicts with two votes or more, and those not unanimous."""

    voted: int
    flipped: int
    flip_rate: float


class TurnDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference at one 0-based turn index; `q` and `stands_out` as of slices, over all turns."""

    turn_index: int
    difference: VersionDifference
    q: float | None
    stands_out: bool


ComparedMeasure = Literal["pass_rate", "mean"]
FlipKind = Literal["fixed", "regressed", "newly_missing", "newly_measured"]
PairedBy = Literal["eval_id", "conversation_id", "task", "nothing"]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two sides of a comparison.

    Attributes:
        name: How texts call it: the app version, or the directory where both have the same one.
        source: Directory of the run, or address of the store.
        app_versions: Its app versions; None: the logs do not state it.
        cases: Units of the comparison: cases, or conversations that name none.
        repeated_cases: Cases with more than one conversation.
        problems: Why its run ended with exit status 1, one line each. Of a store: its runs that have not
            ended or broke off, unless all that is compared was measured later.
        rejected: Records, conversations and eval cases of its run that could not be read or scored, and files
            not read to the end; of the run as a whole where both sides are versions of one run. None: not
            known. Of a store, results that others of the same run replaced are among them.
        cut_inputs: Inputs that were not read to the end: nobody knows how many records are missing.
        destructive: Conversations with an unexpected destructive call; None: not read.
        create_time: Start of the run in RFC 3339; None: of a store.
    """

    name: str
    source: str
    run_ids: list[str]
    app_versions: list[str | None]
    conversations: int
    cases: int
    repeated_cases: int
    passed: int
    failed: int
    no_verdict: int
    rejected: int | None
    cut_inputs: int = 0
    destructive: int | None = None
    create_time: str | None = None
    problems: list[str] = []


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """How the conversations of baseline and candidate were brought together.

    Attributes:
        by: What identifies a case in both.
        changed: Cases on both sides that do not expect the same in both; they are not compared.
        baseline_unidentified: Conversations of the baseline without an id to pair them by.
        baseline_only_names: The first names of the cases of the baseline alone.
    """

    by: PairedBy
    pairs: int
    baseline_only: int
    candidate_only: int
    baseline_unidentified: int
    candidate_unidentified: int
    baseline_only_names: list[str]
    candidate_only_names: list[str]
    changed: int = 0
    changed_names: list[str] = []


class CriterionComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One criterion in both versions.

    Attributes:
        measure: `pass_rate`: outcomes are compared; `mean`: values.
        unit: Unit of the values: `score`, `seconds` or `count`.
        better_is: Which side is better; `neither`: a value without a better side.
        threshold: Threshold of the outcomes; None: none, or not the same everywhere.
        p_adjusted: p-value adjusted by Holm over the criteria that decide; the word rests on it.
        mid_p: McNemar's mid-p; None: another test.
        effect: Size of the effect: Cohen's h of shares; of means, the mean difference divided
            by the standard deviation of the differences (paired) or the pooled one (Cohen's d).
        effect_kind: `h`, `d_z` (paired) or `d`.
        fixed: Paired cases that failed in the baseline and pass in the candidate.
        baseline_only: Cases with a value in the baseline alone.
        unpaired: The same criterion over all conversations, pairs or not; None: it is the overall difference.
        mean: VersionDifference of the mean values beside that of the outcomes; None: the values say no more.
        missing: What has no score, in three ways; None: nothing is.
        quantiles: Of latencies and counts.
        corrected: Difference without the judge's bias, if human labels calibrate both; the word ignores it.
        unmeasured: What was not measured and could turn what the measured cases show, so that the word is
            `inconclusive`; empty: nothing could.
        why_open: Why the word is `inconclusive` although the interval does not hold 0, as a clause; "": it
            does, or p says it.
    """

    criterion: str
    measure: ComparedMeasure
    unit: str
    better_is: Literal["more", "less", "neither"]
    threshold: float | None
    overall: VersionDifference
    p_adjusted: float | None
    mid_p: float | None = None
    effect: float | None = None
    effect_kind: Literal["h", "d_z", "d"] | None = None
    fixed: int | None = None
    regressed: int | None = None
    still_passing: int | None = None
    still_failing: int | None = None
    baseline_only: int = 0
    candidate_only: int = 0
    unpaired: VersionDifference | None = None
    mean: VersionDifference | None = None
    missing: Missing | None = None
    quantiles: list[QuantileRatio] = []
    turns: list[TurnDifference] = []
    judge: JudgeNoise | None = None
    corrected: CorrectedDifference | None = None
    unmeasured: list[str] = []
    why_open: str = ""
    sentence: str = ""


class SliceDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of one criterion in one slice.

    Attributes:
        slice: Name of the slice, such as `language:ko`.
        shrunk: The difference pulled towards the overall one, by its own noise (empirical Bayes).
        q: p-value adjusted by Benjamini and Hochberg over all slices, or over those of the criterion if more.
        stands_out: q is below the level.
    """

    slice: str
    criterion: str
    difference: VersionDifference
    shrunk: float | None
    q: float | None
    stands_out: bool


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A case whose outcome differs between the sides.

    Attributes:
        kind: `fixed`: fails in the baseline, passes in the candidate; `regressed`: the reverse;
            `newly_missing`: measured in the baseline, not in the candidate; `newly_measured`: the reverse.
        case: What pairs the two.
        baseline_share: Share of the baseline's runs that pass; None: no score.
        turn_index: First turn (0-based) on the worse side that fails or has no score; None: the conversation.
        reason: Why it fails, or has no score, on the side that is worse.
    """

    criterion: str
    kind: FlipKind
    case: str
    baseline_conversations: list[str]
    candidate_conversations: list[str]
    baseline_share: float | None
    candidate_share: float | None
    turn_index: int | None
    reason: str | None
    tags: list[str]
    language: str | None


class SettingsChange(msgspec.Struct, frozen=True, kw_only=True):
    """What differed in measuring: `criteria.safety_v1.threshold`, `judge model`, `prompt version` ..."""

    what: str
    baseline: str
    candidate: str
    criteria: list[str]


class ListedConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation to read first; see the columns of conversations."""

    conversation_id: str
    app_version: str | None
    eval_id: str | None
    verdict: str | None
    severity: str | None
    why: str | None


class OpenReason(msgspec.Struct, frozen=True):
    """Why conversations have no verdict, in words that they share, and how many."""

    conversations: int
    reason: str


class FirstPage(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to "ship, or not?": one sentence, five counts, and what to read first.

    Attributes:
        headline: What the leading criterion says, in one sentence with its numbers.
        detail: What is left out or missing, as far as it could change the answer; "": nothing.
        counts_by: The criterion whose outcomes are counted: the leading one, or the verdict if that has none.
        chosen: How it, baseline and candidate were chosen, in one sentence without a stop.
        baseline: Name of the baseline; None: nothing is compared.
        candidate: Name of the candidate, or of the only version; "": there are several, and none is compared.
        regressed: Cases that passed in the baseline and fail in the candidate; None: no baseline, or their
            outcomes are not compared. So are `fixed` and `still_failing`.
        no_verdict: The candidate's conversations without a verdict.
        no_score: Its conversations without a score of `counts_by`; None: the verdicts are counted.
        open_reasons: Why they have no verdict, the most frequent reasons; empty: not read, or none is stated.
        rejected: Records, conversations and eval cases that were rejected; None: not known.
        destructive: The candidate's conversations with an unexpected destructive call; None: not read.
        baseline_destructive: Those of the baseline; None: not read, or no baseline.
        read_first: The candidate's conversations to read first: regressions, then other failures.
    """

    headline: str
    detail: str
    criterion: str
    counts_by: str
    chosen: str
    baseline: str | None
    candidate: str
    regressed: int | None
    fixed: int | None
    still_failing: int | None
    no_verdict: int
    no_score: int | None = None
    open_reasons: list[OpenReason] = []
    rejected: int | None
    destructive: int | None
    baseline_destructive: int | None = None
    read_first: list[ListedConversation]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The baseline compared with the candidate.

    Attributes:
        margin: Largest difference of shares and scores (0..1 of their scale) that does not matter.
        alpha: Level of significance of what decides.
        q: Level of the false discovery rate of what points.
        criteria: One entry per criterion that both have, the verdicts first.
        not_compared: Criterion -> why it is not compared.
        same_as_verdict: The only criterion with a threshold, where the verdicts have its figures; "": none.
        slices: Slice by criterion; those that stand out first.
        flips: Cases whose outcome differs, regressed ones first.
        settings_changes: What measured the sides differently; empty: nothing that is known.
        notes: What a reader must know before believing the figures, one line each.
        word: The word for the verdicts; None: no verdicts.
        page: What it means for the decision; None: of a store.
    """

    baseline: Side
    candidate: Side
    pairing: Pairing
    margin: float
    alpha: float
    q: float
    criteria: list[CriterionComparison]
    not_compared: dict[str, str]
    slices: list[SliceDifference]
    flips: list[Flip]
    settings_changes: list[SettingsChange]
    notes: list[str]
    word: ComparisonWord | None
    same_as_verdict: str = ""
    page: FirstPage | None = None


# The result of a gate: what `turnwise gate --json` writes.

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
        conversations: Conversations that it rests on: those that miss it, at most 20 of a kind.
        kinds: Why they miss it -> how many of them, `more` with them, in this order; empty: there is one why.
        rejected: What leaves it inconclusive, at most 20: source and position, or cases without a recording.
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
    kinds: dict[str, int] = {}
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
    """A conversation to read first, one of `alike` of its problem type; `position`: 1-based line or index."""

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
        comparison: The one with the baseline, else of the run's first and last version; None: there is none.
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
