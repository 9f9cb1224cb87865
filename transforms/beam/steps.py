"""Steps of a batch: parsing, matching, metrics, counters and progress."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cache, partial
from itertools import chain
from types import FunctionType
from typing import Any, NamedTuple
from zlib import crc32

import apache_beam as beam
from apache_beam.coders import Coder
from apache_beam.coders.typecoders import registry
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import DoOutputsTuple, PCollection, TaggedOutput
from apache_beam.transforms.core import get_function_args_defaults
from apache_beam.transforms.window import GlobalWindows

from turnwise.schemas.case import CaseKey
from turnwise.schemas.config import MatchCasesBy
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure
from turnwise.transforms.formats.events import ConversationEvent, named_events
from turnwise.transforms.formats.reading import (
    CaseReader,
    LoggedConversation,
    LogReader,
    distinct_case,
    join_session,
    parse_case,
    parse_record,
)
from turnwise.transforms.matching.sample import (
    USED_CASE,
    CaseEntry,
    CaseIndex,
    case_entry,
    given_cases,
    match_case,
    packed_cases,
    packed_entries,
    unpacked_entries,
)
from turnwise.transforms.metrics.state import MetricsState, packed, unpacked


@beam.typehints.with_input_types(MetricsState)
@beam.typehints.with_output_types(MetricsState)
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


class StateCoder(Coder):
    """Encodes sums for Beam."""

    def encode(self, value: MetricsState) -> bytes:
        """Returns the encoded state."""
        return packed(value)

    def decode(self, encoded: bytes) -> MetricsState:
        """Returns the decoded state."""
        return unpacked(encoded)

    def is_deterministic(self) -> bool:
        """Returns False: equal sums may hold their entries in another order."""
        return False

    def to_type_hint(self) -> type[MetricsState]:
        """Returns the type hint of the coded values."""
        return MetricsState


registry.register_coder(MetricsState, StateCoder)


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
        method = getattr(self, name.removeprefix(_HOOK))
        return partial(_copied_arguments, method.__func__)


def _copied_arguments(function: FunctionType) -> _Arguments:
    names, defaults = _arguments(function)
    return names[1:], defaults[:]


@cache
def _arguments(function: FunctionType) -> _Arguments:
    """Returns the names of the arguments of a function, and the default values."""
    return get_function_args_defaults(function)


# Counts that travel as data: what a bundle counted is one element, so that a repeated bundle counts once.

NAMESPACE = "turnwise"
COUNTS = "counts"
OF_RUN = ""
"""Key of what a run gathers in one place when it ends."""


def told(tag: str, value: Any) -> Any:
    """Returns an output of the end of a bundle that the run gathers when it ends."""
    return TaggedOutput(tag, GlobalWindows.windowed_value((OF_RUN, value)))


class CountingDoFn(InspectedDoFn):
    """A DoFn that counts by name; the counts of a bundle leave it when the bundle ends.

    They are an element of the output `COUNTS`, under the key `OF_RUN`, for batches, and Beam's counters,
    which runners show while a job runs.

    Attributes:
        counts: The counts of the bundle by name.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def start_bundle(self) -> None:
        """Discards the counts of an aborted bundle."""
        self.counts = Counter()

    def count(self, name: str, number: int = 1) -> None:
        """Adds to a counter."""
        self.counts[name] += number

    def finish_bundle(self) -> Iterable[Any]:
        """Returns the counts, and passes them to Beam."""
        for name, number in self.counts.items():
            Metrics.counter(NAMESPACE, name).inc(number)
        return [told(COUNTS, dict(self.counts))] if self.counts else []


FAILURES = "failures"
EVENTS = "events"
GROUPED = "grouped"


class ParsingDoFn(CountingDoFn):
    """A DoFn that reads records."""

    def __init__(self, reader: LogReader) -> None:
        super().__init__()
        self._reader = reader

    def outputs(self, record: Record, watermark: float = 0.0) -> list[Any]:
        """Returns what a record holds, failures as well; events get the watermark, if there is one.

        Events are keyed by their conversation; those whose group names it are `GROUPED`, by group.
        """
        outputs: list[Any] = []
        for content in parse_record(self._reader, record, self.counts):
            if isinstance(content, ConversationEvent):
                event = content._replace(watermark=watermark) if watermark else content
                tag, key = (GROUPED, event.group) if event.group else (EVENTS, event.session_id)
                outputs.append(beam.pvalue.TaggedOutput(tag, (key, event)))
            else:
                outputs.append(content)
        return outputs


class _ParseConversationFn(ParsingDoFn):
    def process(self, record: Record) -> list[Any]:
        return list(map(_tagged, self.outputs(record)))


@beam.ptransform_fn
def ParseConversations(records: "PCollection[Record]", reader: LogReader) -> DoOutputsTuple:
    """Turns records into `conversations`, `events` and `grouped` events, `failures` and `counts`."""
    return records | "Parse" >> beam.ParDo(_ParseConversationFn(reader)).with_outputs(
        EVENTS, GROUPED, FAILURES, COUNTS, main="conversations"
    )


def _tagged(content: Any) -> Any:
    return beam.pvalue.TaggedOutput(FAILURES, content) if isinstance(content, Failure) else content


class _JoinFn(CountingDoFn):
    def process(self, element: tuple[str, Iterable[ConversationEvent]]) -> Iterator[Any]:
        yield from map(_tagged, join_session(element[0], list(element[1]), self.counts))


class _NameFn(CountingDoFn):
    def process(self, element: tuple[str, Iterable[ConversationEvent]]) -> Iterator[Any]:
        named = named_events(element[0], list(element[1]), self.counts)
        yield from ((event.session_id, event) for event in named.events)
        yield from map(_tagged, named.failures)


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


class ParsedCases(NamedTuple):
    """Eval cases with distinct keys, and of each step the failures and counts."""

    cases: "PCollection[bytes]"
    failures: "tuple[PCollection[Failure], ...]"
    counts: "tuple[PCollection[tuple[str, dict[str, int]]], ...]"


_CASE_GROUPS = 64
_CASES_TOGETHER = 64


class _ParseCaseFn(CountingDoFn):
    """Yields cases with a number by their keys, many in one element: alike ones take less room together."""

    def __init__(self, reader: CaseReader) -> None:
        super().__init__()
        self._reader = reader

    def start_bundle(self) -> None:
        super().start_bundle()
        self._kept: defaultdict[int, list[CaseEntry]] = defaultdict(list)

    def process(self, record: Record) -> Iterator[Any]:
        for content in parse_case(self._reader, record, self.counts):
            if isinstance(content, Failure):
                yield _tagged(content)
                continue
            entry = case_entry(*content)
            group = crc32(entry.key.text.encode("utf-8", "backslashreplace")) % _CASE_GROUPS
            kept = self._kept[group]
            kept.append(entry)
            if len(kept) == _CASES_TOGETHER:
                yield group, packed_entries(self._kept.pop(group))

    def finish_bundle(self) -> Iterator[Any]:
        for group, kept in self._kept.items():
            yield GlobalWindows.windowed_value((group, packed_entries(kept)))
        self._kept.clear()
        yield from super().finish_bundle()


class _DistinctCaseFn(CountingDoFn):
    """Yields the cases of a group that count, as one element."""

    def process(self, element: tuple[int, Iterable[bytes]]) -> Iterator[Any]:
        by_key: defaultdict[CaseKey, list[CaseEntry]] = defaultdict(list)
        for data in element[1]:
            for entry in unpacked_entries(data):
                by_key[entry.key].append(entry)
        kept = list[CaseEntry]()
        for entries in by_key.values():
            if len(entries) == 1:
                kept += entries
                continue
            case, failures = distinct_case([(entry.record, entry.case) for entry in entries], self.counts)
            if case is not None:
                kept.append(case_entry(entries[0].record, case))
            yield from map(_tagged, failures)
        if kept:
            yield packed_cases(kept)


@beam.ptransform_fn
def ParseEvalCases(records: "PCollection[Record]", reader: CaseReader) -> ParsedCases:
    """Turns records into eval cases; of several with one set and id at most one counts, the others fail."""
    parse, choose = (
        beam.ParDo(step).with_outputs(FAILURES, COUNTS, main="cases")
        for step in (_ParseCaseFn(reader), _DistinctCaseFn())
    )
    parsed = records | "ParseCase" >> parse
    distinct = parsed["cases"] | "GroupCases" >> beam.GroupByKey() | "DistinctCase" >> choose
    failures, counts = ((parsed[tag], distinct[tag]) for tag in (FAILURES, COUNTS))
    return ParsedCases(distinct["cases"], failures, counts)


class _MatchFn(CountingDoFn):
    def __init__(self, match_by: MatchCasesBy | None) -> None:
        super().__init__()
        self._index, self._match_by = CaseIndex(None), match_by
        self._cases: Sequence[bytes] | None = None

    def start_bundle(self) -> None:
        super().start_bundle()
        self._used: set[CaseKey] = set()

    def finish_bundle(self) -> Iterator[Any]:
        yield from super().finish_bundle()
        if self._used:
            # Not among Beam's counters: there may be as many as conversations.
            yield told(COUNTS, {f"{USED_CASE}{key.text}": 1 for key in self._used})

    def process(self, logged: LoggedConversation, cases: Sequence[bytes] | None = None) -> list[Any]:
        if cases is not self._cases:
            self._cases = cases
            given = None if cases is None else chain.from_iterable(map(given_cases, cases))
            self._index = CaseIndex(given, self._match_by)
        matched = match_case(self._index, *logged, self.counts)
        if isinstance(matched, Failure):
            return [beam.pvalue.TaggedOutput(FAILURES, matched)]
        if cases and matched.eval_case is not None and self._index.has(matched.eval_case.key):
            self._used.add(matched.eval_case.key)
        return [matched]


@beam.ptransform_fn
def MatchCases(
    conversations: "PCollection[LoggedConversation]",
    cases: "PCollection[bytes] | None",
    match_by: MatchCasesBy | None = None,
) -> DoOutputsTuple:
    """Matches every conversation with its eval case, a side input; an unknown case is a failure."""
    match = beam.ParDo(_MatchFn(match_by), None if cases is None else beam.pvalue.AsList(cases))
    return conversations | "Match" >> match.with_outputs(FAILURES, COUNTS, main="matched")
