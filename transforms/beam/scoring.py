"""Scores conversations and emits rows for the sinks and sums for the metrics."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

import apache_beam as beam
from apache_beam.pvalue import DoOutputsTuple, PCollection, TaggedOutput
from apache_beam.transforms.window import BoundedWindow, GlobalWindows
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from turnwise.schemas.rows import ConversationRow, ResultRow, ScoreRow
from turnwise.schemas.run import PROGRESS, RunInfo
from turnwise.schemas.score import RAISED, Failure, record_failure
from turnwise.transforms.beam.steps import COUNTS, FAILURES, CountingDoFn, told
from turnwise.transforms.criteria.base import Criterion, MeasuredCriterion
from turnwise.transforms.criteria.tool_effects import UsesToolEffects
from turnwise.transforms.judging.limits import JudgeUsage
from turnwise.transforms.judging.routes import JUDGING
from turnwise.transforms.judging.setup import JudgeSettings, JudgeWorker, open_judge
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.metrics.state import MetricsState, add_conversation
from turnwise.transforms.review.problems import ReadingList
from turnwise.transforms.review.row import EvaluatedConversation, decide
from turnwise.transforms.scoring.config import judged_counts
from turnwise.transforms.scoring.evaluate import GuessCounts, ScoredConversation, evaluate, redacted_counts
from turnwise.transforms.scoring.selection import Criteria, Selection

STATISTICS = "statistics"
ROWS = "rows"
SCORES = "scores"
RESULTS = "results"
CONVERSATIONS = "conversations"
TO_READ = "to_read"

ROW_TABLES = (SCORES, RESULTS, CONVERSATIONS)
"""Tables with rows of single conversations."""

_BATCH = 16  # what so few conversations made is still in the caches of the processor when it is written
_BATCH_BYTES = 1024 * 1024


class Emitter(Protocol):
    """Output form of evaluated conversations."""

    def start(self) -> None:
        """Discards an aborted bundle."""

    def give(self, evaluated: EvaluatedConversation, timestamp: Timestamp | None) -> list[Any]:
        """Returns the outputs that a conversation makes."""

    def rejected(self, failure: Failure) -> Any:
        """Returns the output for a conversation that could not be scored."""

    def finish(self) -> list[Any]:
        """Returns the remaining outputs of the bundle."""


class BundleSums:
    """Emits the rows of up to 16 conversations, or of 1 MiB of records, in one list; sums at a bundle's end.

    For the global window: a row may leave with a later conversation of its bundle.
    """

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Discards what an aborted bundle left."""
        self._sums: dict[str, MetricsState] = {}
        self._scores: list[ScoreRow] = []
        self._results: list[ResultRow] = []
        self._conversations: list[ConversationRow] = []
        self._bytes = 0
        self._to_read = ReadingList()

    def give(self, evaluated: EvaluatedConversation, timestamp: Timestamp | None) -> list[Any]:
        """Returns the failures of criteria, and the rows when there are enough."""
        self._scores += evaluated.scores
        self._results += evaluated.results
        self._conversations += evaluated.conversations
        add_conversation(self._sums, evaluated.scored, evaluated.verdict, evaluated.parts)
        outputs: list[Any] = []
        for failure in evaluated.scored.failures:
            outputs.append(TaggedOutput(FAILURES, failure))
        self._bytes += len(evaluated.scored.sample.record.data)
        if len(self._results) >= _BATCH or self._bytes >= _BATCH_BYTES:
            outputs += [TaggedOutput(ROWS, rows) for rows in self._taken()]
        return outputs

    def rejected(self, failure: Failure) -> Any:
        """Returns the failure."""
        return TaggedOutput(FAILURES, failure)

    def finish(self) -> list[Any]:
        """Returns the remaining rows, the sums by app version, and the conversations to read."""
        sums, self._sums = self._sums, {}
        outputs: list[tuple[str, Any]] = [(STATISTICS, entry) for entry in sums.items()]
        if self._results:
            outputs += [(ROWS, rows) for rows in self._taken()]
        finished = [TaggedOutput(tag, GlobalWindows.windowed_value(value)) for tag, value in outputs]
        chosen = self._to_read.rows()
        return [*finished, told(TO_READ, chosen)] if chosen else finished

    def _taken(self) -> list[tuple[str, Any]]:
        """Returns the collected rows by table, and collects new ones."""
        rows = list(zip(ROW_TABLES, (self._scores, self._results, self._conversations), strict=True))
        self._to_read.add(self._conversations)
        self._scores, self._results, self._conversations, self._bytes = [], [], [], 0
        return rows


class ScoringDoFn(CountingDoFn):
    """Computes verdicts and emits rows and sums."""

    def __init__(self, criteria: Iterable[Criterion], run: RunInfo, emission: Emitter) -> None:
        super().__init__()
        self._run, self._emission = run, emission
        self._guesses, self._may_guess = GuessCounts(), any(isinstance(c, UsesToolEffects) for c in criteria)

    def start_bundle(self) -> None:
        """Resets the output."""
        super().start_bundle()
        self._emission.start()
        self._guesses = GuessCounts()

    def finish_bundle(self) -> Iterator[Any]:
        """Yields the outputs of the bundle."""
        for key, number in self._guesses.items():
            self.count(key, number)
        yield from super().finish_bundle()
        yield from self._emission.finish()

    def outputs(self, scored: ScoredConversation, timestamp: Timestamp | None = None) -> list[Any]:
        """Returns the outputs of a scored conversation, or its failure."""
        try:
            evaluated = decide(scored, self._run)
        except RAISED as error:
            return [self.rejected(scored.sample, error)]
        return self.emitted(evaluated, timestamp)

    def emitted(self, evaluated: EvaluatedConversation, timestamp: Timestamp | None = None) -> list[Any]:
        """Returns the outputs of an evaluated conversation, and counts it."""
        scored = evaluated.scored
        self.counts["results"] += 1
        PROGRESS.conversations += 1
        PROGRESS.turns += len(scored.sample.conversation.turns)
        if self._may_guess:
            self._guesses.add(scored)
        if scored.redactor is not None:
            self.counts.update(redacted_counts(scored))
        return self._emission.give(evaluated, timestamp)

    def rejected(self, sample: Sample, error: BaseException) -> Any:
        """Returns the failure of a conversation that could not be scored, and counts it."""
        self.count("rejected_conversations")
        failure = record_failure("score", error, sample.record, sample.conversation.conversation_id)
        return self._emission.rejected(failure)


class MeasuringDoFn(ScoringDoFn):
    """Scores conversations by measured criteria."""

    def __init__(self, criteria: Sequence[MeasuredCriterion], run: RunInfo, emission: Emitter) -> None:
        super().__init__(criteria, run, emission)
        self._criteria = Criteria(tuple(criteria))

    def measured(self, sample: Sample, timestamp: Timestamp | None = None) -> list[Any]:
        """Returns the outputs of a conversation, or its failure."""
        try:
            scored, _ = evaluate(sample, self._criteria)
            evaluated = decide(scored, self._run)
        except RAISED as error:
            return [self.rejected(sample, error)]
        return self.emitted(evaluated, timestamp)


class _MeasureFn(MeasuringDoFn):
    def process(self, sample: Sample) -> list[Any]:
        return self.measured(sample)


@beam.ptransform_fn
def ScoreTurns(
    matched: "PCollection[Sample]", criteria: Sequence[MeasuredCriterion], run: RunInfo
) -> DoOutputsTuple:
    """Fans every conversation out into turns and measured criteria, in one fused step.

    Returns keyed sums, (table, rows), conversations to read, failures, and counts.
    """
    score = beam.ParDo(_MeasureFn(criteria, run, BundleSums()))
    return matched | "Score" >> score.with_outputs(STATISTICS, ROWS, TO_READ, FAILURES, COUNTS)


JUDGE_USAGE = "judge "
"""Start of the names of a judge's counts: `judge MODEL|FIGURE`, for a fault `judge MODEL|unusable KIND`."""
UNUSABLE = "unusable "


class _Waiting(NamedTuple):
    """A conversation whose questions are in flight."""

    answered: "Future[None]"
    scored: ScoredConversation
    timestamp: Timestamp
    window: BoundedWindow


class JudgeFn(ScoringDoFn):
    """Submits the questions of conversations, and emits the conversations in order when they are answered.

    The number of waiting conversations is limited to twice the concurrency, whatever the size of a bundle.
    """

    def __init__(
        self, selection: Selection, run: RunInfo, settings: JudgeSettings, emission: Emitter
    ) -> None:
        super().__init__((*selection.measured, *selection.judged, *selection.of_dialects), run, emission)
        self._selection, self._settings = selection, settings
        self._waiting: deque[_Waiting] = deque()

    def start_bundle(self) -> None:
        """Opens the judge."""
        super().start_bundle()
        self._waiting = deque()
        self._judge: JudgeWorker = open_judge(self._settings)

    def process(
        self, sample: Sample, timestamp: Any = beam.DoFn.TimestampParam, window: Any = beam.DoFn.WindowParam
    ) -> Iterator[Any]:
        """Asks about a conversation, and yields those that are answered."""
        try:
            scored, asking = evaluate(sample, self._selection.of(sample), self._judge.ask)
        except RAISED as error:
            yield self.rejected(sample, error)
            return
        if asking is None:
            yield from self.outputs(scored, timestamp)
            return
        answered = self._judge.submit(asking)
        self._waiting.append(_Waiting(answered, scored, timestamp, window))
        most = self._settings.most_waiting
        while self._waiting and (len(self._waiting) > most or self._waiting[0].answered.done()):
            yield from self._answered(self._waiting.popleft())

    def finish_bundle(self) -> Iterator[Any]:
        """Waits for all answers."""
        while self._waiting:
            yield from self._answered(self._waiting.popleft())
        self._judge.rest()
        for model, usage in self._judge.counts.take().items():
            faults = {f"{UNUSABLE}{kind}": number for kind, number in usage.unusable.items()}
            for name, number in (usage.figures() | faults).items():
                self.count(f"{JUDGE_USAGE}{model}|{name}", number)
            JUDGING.judged.setdefault(model, JudgeUsage()).add(usage)
        yield from super().finish_bundle()

    def emitted(self, evaluated: EvaluatedConversation, timestamp: Timestamp | None = None) -> list[Any]:
        """Returns the outputs of an evaluated conversation, and counts it and what several judges said."""
        self.counts.update(judged_counts(evaluated.scored, evaluated.verdict.status))
        return super().emitted(evaluated, timestamp)

    def _answered(self, waiting: _Waiting) -> Iterator[Any]:
        """Waits for a conversation's answers; raises AuthenticationError if the judge refuses to answer."""
        waiting.answered.result()
        for output in self.outputs(waiting.scored, waiting.timestamp):
            value = WindowedValue(output.value, waiting.timestamp, (waiting.window,))
            yield TaggedOutput(output.tag, value)


@beam.ptransform_fn
def JudgeTurns(
    matched: "PCollection[Sample]", selection: Selection, run: RunInfo, settings: JudgeSettings
) -> DoOutputsTuple:
    """Fans every conversation out into turns and criteria, including judged ones; returns the same."""
    judge = beam.ParDo(JudgeFn(selection, run, settings, BundleSums()))
    return matched | "Judge" >> judge.with_outputs(STATISTICS, ROWS, TO_READ, FAILURES, COUNTS)
