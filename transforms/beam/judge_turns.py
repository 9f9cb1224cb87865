"""Scores conversations by measured and judged criteria; questions to the judge are in flight together."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import DoOutputsTuple, PCollection, TaggedOutput
from apache_beam.transforms.window import BoundedWindow
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import RAISED
from turnwise.transforms.beam.counters import COUNTS
from turnwise.transforms.beam.scoring import ROWS, STATISTICS, TO_READ, BundleSums, Emitter, ScoringDoFn
from turnwise.transforms.beam.steps import FAILURES
from turnwise.transforms.judging.limits import JudgeUsage
from turnwise.transforms.judging.routes import JUDGING
from turnwise.transforms.judging.setup import JudgeSettings, JudgeWorker, open_judge
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.config import judged_counts
from turnwise.transforms.scoring.conversation import EvaluatedConversation
from turnwise.transforms.scoring.evaluate import ScoredConversation, judge_conversation, score_selected
from turnwise.transforms.scoring.selection import Selection

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
        self,
        sample: Sample,
        timestamp: Any = beam.DoFn.TimestampParam,
        window: Any = beam.DoFn.WindowParam,
    ) -> Iterator[Any]:
        """Asks about a conversation, and yields those that are answered."""
        try:
            scored, asked = score_selected(sample, self._selection)
        except RAISED as error:
            yield self.lost(sample, error)
            return
        if not asked and scored.comparer is None:
            yield from self.outputs(scored, timestamp)
            return
        answered = self._judge.submit(judge_conversation(scored, asked, self._judge.ask))
        self._waiting.append(_Waiting(answered, scored, timestamp, window))
        while self._is_full() or self._waiting[0].answered.done():
            yield from self._answered(self._waiting.popleft())
            if not self._waiting:
                break

    def finish_bundle(self) -> Iterator[Any]:
        """Waits for all answers."""
        while self._waiting:
            yield from self._answered(self._waiting.popleft())
        self._judge.rest()
        for model, usage in self._judge.counts.take().items():
            self._count_usage(model, usage)
            JUDGING.judged.setdefault(model, JudgeUsage()).add(usage)
        yield from super().finish_bundle()

    def emitted(self, evaluated: EvaluatedConversation, timestamp: Timestamp | None = None) -> list[Any]:
        """Returns the outputs of an evaluated conversation, and counts it and what several judges said."""
        self.counts.update(judged_counts(evaluated.scored, evaluated.verdict.status))
        return super().emitted(evaluated, timestamp)

    def _count_usage(self, model: str, usage: JudgeUsage) -> None:
        faults = {f"{UNUSABLE}{kind}": number for kind, number in usage.unusable.items()}
        for name, number in (usage.figures() | faults).items():
            self.count(f"{JUDGE_USAGE}{model}|{name}", number)

    def _is_full(self) -> bool:
        return len(self._waiting) > self._settings.most_waiting

    def _answered(self, waiting: _Waiting) -> Iterator[Any]:
        """Waits for a conversation's answers; raises AuthenticationError if the judge refuses to answer."""
        waiting.answered.result()
        for output in self.outputs(waiting.scored, waiting.timestamp):
            value = WindowedValue(output.value, waiting.timestamp, (waiting.window,))
            yield TaggedOutput(output.tag, value)


class JudgeTurns(beam.PTransform[PCollection[Sample], DoOutputsTuple]):
    """Fans every conversation out into turns and criteria, including judged ones."""

    def __init__(self, selection: Selection, run: RunInfo, settings: JudgeSettings) -> None:
        super().__init__()
        self._selection, self._run, self._settings = selection, run, settings

    def expand(self, matched: "PCollection[Sample]") -> Any:
        """Returns keyed sums, (table, rows), conversations to read, failures, and counts."""
        judge = JudgeFn(self._selection, self._run, self._settings, BundleSums())
        return matched | "Judge" >> beam.ParDo(judge).with_outputs(
            STATISTICS, ROWS, TO_READ, FAILURES, COUNTS
        )
