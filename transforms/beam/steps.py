"""Steps of a batch: parsing, matching, scoring, metrics, counters and progress."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from concurrent.futures import Future
from functools import cache
from itertools import chain
from typing import Any, NamedTuple
from zlib import compress, crc32, decompress

import apache_beam as beam
from apache_beam.coders import Coder
from apache_beam.coders.typecoders import registry
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import DoOutputsTuple, PCollection, TaggedOutput
from apache_beam.transforms.core import get_function_args_defaults
from apache_beam.transforms.window import BoundedWindow, GlobalWindows
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from turnwise.schemas.case import CaseKey
from turnwise.schemas.config import MatchCasesBy
from turnwise.schemas.conversation import Record
from turnwise.schemas.rows import ConversationRow
from turnwise.schemas.run import PROGRESS, RunInfo
from turnwise.schemas.score import RAISED, Failure, record_failure
from turnwise.transforms.criteria.base import Criterion, MeasuredCriterion
from turnwise.transforms.criteria.tool_effects import UsesToolEffects
from turnwise.transforms.formats import reading
from turnwise.transforms.formats.events import ConversationEvent, named_events
from turnwise.transforms.judging.judges import JUDGING
from turnwise.transforms.judging.limits import JudgeUsage
from turnwise.transforms.judging.setup import JudgeSettings, JudgeWorker, open_judge
from turnwise.transforms.matching import sample as matching
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.metrics.state import MetricsState, add_conversation, packed, unpacked
from turnwise.transforms.review.problems import add_candidates, to_read
from turnwise.transforms.review.row import EvaluatedConversation, decide
from turnwise.transforms.scoring.config import judged_counts
from turnwise.transforms.scoring.evaluate import GuessCounts, ScoredConversation, evaluate, redacted_counts
from turnwise.transforms.scoring.selection import Criteria, Selection

AnySums = MetricsState | bytes
"""Sums, or the same packed and compressed: there may be as many app versions as conversations."""


@beam.typehints.with_input_types(MetricsState)
@beam.typehints.with_output_types(MetricsState)
class MetricsFn(beam.CombineFn):
    """Adds up sums; those of one bundle alone stay compressed, which is a fifteenth of their size."""

    def create_accumulator(self) -> AnySums:
        return b""

    def add_input(self, state: AnySums, sums: MetricsState) -> AnySums:
        if not state:
            return compress(packed(sums), 1)
        added = self.extract_output(state)
        added.merge(sums)
        return added

    def merge_accumulators(self, states: Iterable[AnySums]) -> MetricsState:
        merged = MetricsState()
        for state in states:
            merged.merge(self.extract_output(state))
        return merged

    def extract_output(self, state: AnySums) -> MetricsState:
        if isinstance(state, MetricsState):
            return state
        return unpacked(decompress(state)) if state else MetricsState()


class StateCoder(Coder):
    """Encodes sums for Beam; not deterministically, as equal sums may hold their entries in another order."""

    def encode(self, value: MetricsState) -> bytes:
        return packed(value)

    def decode(self, encoded: bytes) -> MetricsState:
        return unpacked(encoded)

    def to_type_hint(self) -> type[MetricsState]:
        return MetricsState


registry.register_coder(MetricsState, StateCoder)


TIMESTAMP: Any = beam.DoFn.TimestampParam
WINDOW: Any = beam.DoFn.WindowParam
_HOOK = "_inspect_"
_Arguments = tuple[list[str], list[Any]]


class InspectedDoFn(beam.DoFn):
    """A DoFn whose methods are inspected once in a process.

    Beam inspects all methods that `dir` names about eight times for every step, and again in bundles, to find
    state and timers. It asks `_inspect_NAME` for the arguments of the method NAME where there is such an
    attribute.
    """

    def __dir__(self) -> Set[str]:
        """Returns the names that are not those of `beam.DoFn`: its methods have neither state nor timers."""
        kinds = (kind for kind in type(self).__mro__ if not issubclass(beam.DoFn, kind))
        return {*vars(self), *(name for kind in kinds for name in vars(kind))}

    def __getattr__(self, name: str) -> Callable[[], _Arguments]:
        """Returns the inspection of a method; called for what is no attribute of the object."""
        if not name.startswith(_HOOK):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        names, defaults = _arguments(getattr(self, name.removeprefix(_HOOK)).__func__)
        return lambda: (names[1:], defaults[:])


_arguments = cache(get_function_args_defaults)


# Counts that travel as data: what a bundle counted is one element, so that a repeated bundle counts once.

NAMESPACE = "turnwise"
COUNTS = "counts"
OF_RUN = ""
"""Key of what a run gathers in one place when it ends."""


def reported(tag: str, value: Any) -> Any:
    """Returns an output of the end of a bundle that the run gathers when it ends."""
    return TaggedOutput(tag, GlobalWindows.windowed_value((OF_RUN, value)))


class CountingDoFn(InspectedDoFn):
    """A DoFn that counts by name; the counts of a bundle leave it when the bundle ends.

    They are an element of the output `COUNTS`, under the key `OF_RUN`, for batches, and Beam's counters,
    which runners show while a job runs.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def start_bundle(self) -> None:
        self.counts = Counter()  # without those of an aborted bundle

    def finish_bundle(self) -> Iterable[Any]:
        """Returns the counts, and passes them to Beam."""
        for name, number in self.counts.items():
            Metrics.counter(NAMESPACE, name).inc(number)
        return [reported(COUNTS, dict(self.counts))] if self.counts else []


_BATCH = 16
_BATCH_BYTES = 1024 * 1024


class BatchingDoFn(CountingDoFn):
    """A DoFn that works on up to 16 records, or 1 MiB of them, in one go, in the global window.

    Where many go through one stage of the work after the other, its code and what it made are still in the
    caches of the processor, which takes a fifth less time than each going through all stages by itself.
    """

    def start_bundle(self) -> None:
        super().start_bundle()
        self._batch, self._size = list[Any](), 0

    def process(self, element: Any) -> list[Any]:
        """Returns the outputs of a batch when it is full; `element` is a record, or has one."""
        self._batch.append(element)
        self._size += len((element if isinstance(element, Record) else element.record).data)
        is_full = len(self._batch) >= _BATCH or self._size >= _BATCH_BYTES
        return self._taken() if is_full else []

    def finish_bundle(self) -> Iterator[Any]:
        yield from at_end(self._taken())
        yield from super().finish_bundle()

    def _taken(self) -> list[Any]:
        batch, self._batch, self._size = self._batch, [], 0
        return self.outputs_of(batch)

    def outputs_of(self, batch: Sequence[Any]) -> list[Any]:
        """Returns the outputs of a batch, which may be empty."""
        raise NotImplementedError


def at_end(outputs: Iterable[Any]) -> list[Any]:
    """Returns outputs of a step as they leave it at the end of a bundle."""
    windowed = GlobalWindows.windowed_value
    return [
        TaggedOutput(out.tag, windowed(out.value)) if isinstance(out, TaggedOutput) else windowed(out)
        for out in outputs
    ]


FAILURES = "failures"
EVENTS = "events"
GROUPED = "grouped"


class ParsingDoFn(CountingDoFn):
    """A DoFn that reads records."""

    def __init__(self, reader: reading.LogReader) -> None:
        super().__init__()
        self._reader = reader

    def outputs(self, record: Record, watermark: float = 0.0) -> list[Any]:
        """Returns what a record holds, failures as well; events get the watermark, if there is one.

        Events are keyed by their conversation; those whose group names it are `GROUPED`, by group.
        """
        outputs: list[Any] = []
        for content in reading.parse_record(self._reader, record, self.counts):
            if isinstance(content, ConversationEvent):
                event = content._replace(watermark=watermark) if watermark else content
                tag, key = (GROUPED, event.group) if event.group else (EVENTS, event.session_id)
                outputs.append(beam.pvalue.TaggedOutput(tag, (key, event)))
            else:
                outputs.append(content)
        return outputs


class _ParseConversationFn(ParsingDoFn):
    def process(self, record: Record) -> list[Any]:
        return list(map(tagged, self.outputs(record)))


@beam.ptransform_fn
def ParseConversations(records: "PCollection[Record]", reader: reading.LogReader) -> DoOutputsTuple:
    """Turns records into `conversations`, `events` and `grouped` events, `failures` and `counts`."""
    parse = beam.ParDo(_ParseConversationFn(reader))
    return records | "Parse" >> parse.with_outputs(EVENTS, GROUPED, FAILURES, COUNTS, main="conversations")


def tagged(content: Any) -> Any:
    """Returns what a record holds as an output of a step, failures apart."""
    return beam.pvalue.TaggedOutput(FAILURES, content) if isinstance(content, Failure) else content


class _JoinFn(CountingDoFn):
    def process(self, element: tuple[str, Iterable[ConversationEvent]]) -> Iterator[Any]:
        yield from map(tagged, reading.join_session(element[0], list(element[1]), self.counts))


class _NameFn(CountingDoFn):
    def process(self, element: tuple[str, Iterable[ConversationEvent]]) -> Iterator[Any]:
        named = named_events(element[0], list(element[1]), self.counts)
        yield from ((event.session_id, event) for event in named.events)
        yield from map(tagged, named.failures)


@beam.ptransform_fn
def NameGroups(grouped: "PCollection[tuple[str, ConversationEvent]]") -> DoOutputsTuple:
    """Gives the events of each group the ids of their conversations: `events`, `failures`, `counts`."""
    name = beam.ParDo(_NameFn()).with_outputs(FAILURES, COUNTS, main="events")
    return grouped | "GroupByGroup" >> beam.GroupByKey() | "Name" >> name


@beam.ptransform_fn
def JoinSessions(events: "PCollection[tuple[str, ConversationEvent]]") -> DoOutputsTuple:
    """Joins the events of each conversation, in turn order: `conversations`, `failures`, `counts`."""
    join = beam.ParDo(_JoinFn()).with_outputs(FAILURES, COUNTS, main="conversations")
    return events | "GroupBySession" >> beam.GroupByKey() | "Join" >> join


_CASE_GROUPS = 64
_CASES_TOGETHER = 64


class _ParseCaseFn(CountingDoFn):
    """Yields cases with a number by their keys, many in one element: alike ones take less room together."""

    def __init__(self, reader: reading.CaseReader, path: str) -> None:
        super().__init__()
        self._reader, self._path = reader, path

    def start_bundle(self) -> None:
        super().start_bundle()
        self._index = matching.CaseIndex(path=self._path)

    def process(self, record: Record) -> Iterator[Any]:
        for content in reading.parse_case(self._reader, record, self.counts):
            if isinstance(content, Failure):
                yield tagged(content)
            else:
                self._index.add([matching.packed_case(*content)])

    def finish_bundle(self) -> Iterator[Any]:
        self._index.finish()
        # Of cases in a file, the next step is given none, and looks there.
        groups: defaultdict[int, list[matching.PackedCase]] = defaultdict(list, {0: []})
        for case in () if self._path else self._index:
            group = crc32(f"{case.set_id}{case.eval_id}".encode()) % _CASE_GROUPS
            groups[group].append(case)
            if len(groups[group]) == _CASES_TOGETHER:
                yield GlobalWindows.windowed_value((group, matching.encode_cases(groups.pop(group))))
        for group, cases in groups.items():
            yield GlobalWindows.windowed_value((group, matching.encode_cases(cases)))
        yield from super().finish_bundle()


class _DistinctCaseFn(CountingDoFn):
    """Yields the cases of a group that count, as one element."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def process(self, element: tuple[int, Iterable[bytes]]) -> Iterator[Any]:
        index = matching.CaseIndex(path=self._path)
        index.add(chain.from_iterable(map(matching.decode_cases, element[1])))
        yield from map(tagged, index.distinct(self.counts))
        if not self._path:
            yield matching.encode_cases(list(index))


@beam.ptransform_fn
def ParseEvalCases(
    records: "PCollection[Record]", reader: reading.CaseReader, path: str
) -> tuple[DoOutputsTuple, DoOutputsTuple]:
    """Turns records into eval cases; of several with one set and id at most one counts, the others fail.

    `path`: of a file on the only machine of a run, in which they are instead of in elements.
    Returns the outputs of two steps, `failures` and `counts` of both; the `cases` of the second count.
    """
    parse, choose = (
        beam.ParDo(step).with_outputs(FAILURES, COUNTS, main="cases")
        for step in (_ParseCaseFn(reader, path), _DistinctCaseFn(path))
    )
    parsed = records | "ParseCase" >> parse
    return parsed, parsed["cases"] | "GroupCases" >> beam.GroupByKey() | "DistinctCase" >> choose


class _MatchFn(CountingDoFn):
    def __init__(self, match_by: MatchCasesBy | None, path: str) -> None:
        super().__init__()
        self._match_by, self._path = match_by, path
        self._index: matching.CaseIndex | None = None
        self._cases: Sequence[bytes] | None = None

    def start_bundle(self) -> None:
        super().start_bundle()
        self._used: set[CaseKey] = set()

    def finish_bundle(self) -> Iterator[Any]:
        yield from super().finish_bundle()
        if self._used:
            # Not among Beam's counters: there may be as many as conversations.
            yield reported(COUNTS, {f"{matching.USED_CASE}{key.text}": 1 for key in self._used})

    def process(self, logged: reading.LoggedConversation, cases: Sequence[bytes] | None = None) -> list[Any]:
        if cases is not None and cases is not self._cases:
            self._cases, self._index = cases, matching.CaseIndex(self._match_by, self._path)
            self._index.add(chain.from_iterable(map(matching.decode_cases, cases)))
            self._index.finish()
        matched = matching.match_case(self._index, *logged, self.counts)
        if isinstance(matched, Failure):
            return [beam.pvalue.TaggedOutput(FAILURES, matched)]
        case = matched.eval_case
        if self._index is not None and case is not None and self._index.has(case.key):
            self._used.add(case.key)
        return [matched]


@beam.ptransform_fn
def MatchCases(
    conversations: "PCollection[reading.LoggedConversation]",
    cases: "PCollection[bytes] | None",
    match_by: MatchCasesBy | None = None,
    path: str = "",
) -> DoOutputsTuple:
    """Matches conversations with cases, a side input or in the file `path`; an unknown case is a failure."""
    side = () if cases is None else (beam.pvalue.AsList(cases),)
    match = beam.ParDo(_MatchFn(match_by, path), *side)
    return conversations | "Match" >> match.with_outputs(FAILURES, COUNTS, main="matched")


# Scoring: rows for the sinks, and sums for the metrics.

STATISTICS = "statistics"
ROWS = "rows"
SCORES = "scores"
RESULTS = "results"
CONVERSATIONS = "conversations"
TO_READ = "to_read"

ROW_TABLES = (SCORES, RESULTS, CONVERSATIONS)
"""Tables with rows of single conversations."""

_MOST_VERSIONS = 500


class BundleSums:
    """Emits rows of conversations at once, and their sums at a bundle's end; of 500 versions before it."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Discards what an aborted bundle left."""
        self._sums: dict[str, MetricsState] = {}
        self._to_read: list[ConversationRow] = []

    def give(self, batch: Sequence[EvaluatedConversation], timestamp: Timestamp | None) -> list[Any]:
        """Returns the failures of criteria, and the rows, in one list a table."""
        outputs: list[Any] = [
            TaggedOutput(FAILURES, f) for evaluated in batch for f in evaluated.scored.failures
        ]
        for evaluated in batch:
            add_conversation(self._sums, evaluated.scored, evaluated.verdict, evaluated.parts)
        if len(self._sums) >= _MOST_VERSIONS:
            outputs += [TaggedOutput(STATISTICS, entry) for entry in self._sums.items()]
            self._sums = {}
        rows = {table: [row for e in batch for row in getattr(e, table)] for table in ROW_TABLES}
        add_candidates(self._to_read, rows[CONVERSATIONS])
        return [*outputs, *(TaggedOutput(ROWS, of_table) for of_table in rows.items())]

    def rejected(self, failure: Failure) -> Any:
        return TaggedOutput(FAILURES, failure)

    def finish(self) -> list[Any]:
        """Returns the sums by app version, and the conversations to read."""
        finished = at_end([TaggedOutput(STATISTICS, entry) for entry in self._sums.items()])
        chosen = to_read(self._to_read)
        return [*finished, reported(TO_READ, chosen)] if chosen else finished


class ScoringDoFn(CountingDoFn):
    """Computes verdicts and emits rows and sums."""

    def __init__(self, criteria: Iterable[Criterion], run: RunInfo, emission: BundleSums) -> None:
        super().__init__()
        self._run, self._emission = run, emission
        self._guesses, self._may_guess = GuessCounts(), any(isinstance(c, UsesToolEffects) for c in criteria)

    def start_bundle(self) -> None:
        super().start_bundle()
        self._emission.start()
        self._guesses = GuessCounts()

    def finish_bundle(self) -> Iterator[Any]:
        self.counts.update(self._guesses)
        yield from super().finish_bundle()
        yield from self._emission.finish()

    def emitted(
        self, batch: Sequence[EvaluatedConversation], timestamp: Timestamp | None = None
    ) -> list[Any]:
        """Returns the outputs of evaluated conversations, and counts them."""
        self.counts["results"] += len(batch)
        PROGRESS.conversations += len(batch)
        for evaluated in batch:
            scored = evaluated.scored
            PROGRESS.turns += len(scored.sample.conversation.turns)
            if self._may_guess:
                self._guesses.add(scored)
            if scored.redactor is not None:
                self.counts.update(redacted_counts(scored))
        return self._emission.give(batch, timestamp)

    def rejected(self, sample: Sample, error: BaseException) -> Any:
        """Returns the failure of a conversation that could not be scored, and counts it."""
        self.counts["rejected_conversations"] += 1
        failure = record_failure("score", error, sample.record, sample.conversation.conversation_id)
        return self._emission.rejected(failure)


class MeasuringDoFn(BatchingDoFn, ScoringDoFn):
    """Scores conversations by measured criteria: those of a batch are evaluated, then all are decided."""

    def __init__(self, criteria: Sequence[MeasuredCriterion], run: RunInfo, emission: BundleSums) -> None:
        super().__init__(criteria, run, emission)
        self._criteria = Criteria(tuple(criteria))

    def outputs_of(self, batch: Sequence[Sample]) -> list[Any]:
        outputs, scored, evaluated = list[Any](), list[ScoredConversation](), list[EvaluatedConversation]()
        for sample in batch:
            try:
                scored.append(evaluate(sample, self._criteria)[0])
            except RAISED as error:
                outputs.append(self.rejected(sample, error))
        for conversation in scored:
            try:
                evaluated.append(decide(conversation, self._run))
            except RAISED as error:
                outputs.append(self.rejected(conversation.sample, error))
        return [*outputs, *self.emitted(evaluated)] if evaluated else outputs


JUDGE_USAGE = "judge "
"""Start of the names of a judge's counts: `judge MODEL|FIGURE`, for a fault `judge MODEL|unusable KIND`."""
UNUSABLE = "unusable "


class _Waiting(NamedTuple):
    answered: "Future[None]"
    scored: ScoredConversation
    timestamp: Timestamp
    window: BoundedWindow


class JudgeFn(ScoringDoFn):
    """Submits the questions of conversations, and emits the conversations in order when they are answered.

    The number of waiting conversations is limited to twice the concurrency, whatever the size of a bundle.
    Without a criterion that asks a judge, none is opened.
    """

    def __init__(
        self, selection: Selection, run: RunInfo, settings: JudgeSettings, emission: BundleSums
    ) -> None:
        super().__init__((*selection.measured, *selection.judged, *selection.of_dialects), run, emission)
        self._selection, self._settings = selection, settings
        self._waiting: deque[_Waiting] = deque()
        self._judge: JudgeWorker | None = None

    def start_bundle(self) -> None:
        super().start_bundle()
        self._waiting = deque()
        if self._selection.needs_judge:
            self._judge = open_judge(self._settings)

    def process(self, sample: Sample, timestamp: Any = TIMESTAMP, window: Any = WINDOW) -> Iterator[Any]:
        judge = self._judge
        try:
            scored, asking = evaluate(sample, self._selection.of(sample), judge.ask if judge else None)
        except RAISED as error:
            yield self.rejected(sample, error)
            return
        if asking is None or judge is None:
            yield from self._outputs(scored, timestamp)
            return
        self._waiting.append(_Waiting(judge.submit(asking), scored, timestamp, window))
        yield from self._answered(self._settings.most_waiting)

    def finish_bundle(self) -> Iterator[Any]:
        yield from self._answered(0)
        if self._judge is not None:
            self._judge.rest()
            for model, usage in self._judge.counts.take().items():
                faults = {f"{UNUSABLE}{kind}": number for kind, number in usage.unusable.items()}
                for name, number in (usage.figures() | faults).items():
                    self.counts[f"{JUDGE_USAGE}{model}|{name}"] += number
                JUDGING.judged.setdefault(model, JudgeUsage()).add(usage)
        yield from super().finish_bundle()

    def _outputs(self, scored: ScoredConversation, timestamp: Timestamp) -> list[Any]:
        try:
            evaluated = decide(scored, self._run)
        except RAISED as error:
            return [self.rejected(scored.sample, error)]
        self.counts.update(judged_counts(scored, evaluated.verdict.status))
        return self.emitted([evaluated], timestamp)

    def _answered(self, most: int) -> Iterator[Any]:
        """Emits what is answered, in order, and waits for answers until at most so many are left.

        Raises AuthenticationError if the judge refuses to answer.
        """
        while self._waiting and (len(self._waiting) > most or self._waiting[0].answered.done()):
            answered, scored, timestamp, window = self._waiting.popleft()
            answered.result()
            for output in self._outputs(scored, timestamp):
                yield TaggedOutput(output.tag, WindowedValue(output.value, timestamp, (window,)))


@beam.ptransform_fn
def ScoreTurns(
    matched: "PCollection[Sample]", selection: Selection, run: RunInfo, settings: JudgeSettings
) -> DoOutputsTuple:
    """Fans conversations out into turns and criteria: keyed sums, rows, what to read, failures, counts."""
    step: ScoringDoFn = MeasuringDoFn(selection.measured, run, BundleSums())
    if selection.needs_judge:
        step = JudgeFn(selection, run, settings, BundleSums())
    score = beam.ParDo(step).with_outputs(STATISTICS, ROWS, TO_READ, FAILURES, COUNTS)
    return matched | ("Judge" if selection.needs_judge else "Score") >> score
