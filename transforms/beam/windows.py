"""De-duplicates contributions: repetitions add nothing, revisions replace earlier ones."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import apache_beam as beam
import msgspec
from apache_beam.pvalue import PCollection
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.inspected import InspectedDoFn
from turnwise.transforms.metrics.state import MetricsState, packed, unpacked
from turnwise.transforms.streaming.coders import MessagePackCoder
from turnwise.transforms.streaming.outcome import Contribution, RecordOutcome

HORIZON = 32_000
"""Maximum number of stored conversations over all slots; the oldest are removed first."""


class Counted(msgspec.Struct, frozen=True, array_like=True):
    """A counted contribution in state.

    Attributes:
        revision: Revision of the contribution.
        digest: Digest of the contribution.
        event_time: Event time of the first contribution of that name, which determines the window.
        app_version: App version of the contribution.
        statistics: Packed sums.
    """

    revision: int
    digest: bytes
    event_time: float
    app_version: str
    statistics: bytes


CountedLookup: TypeAlias = Callable[[str], Counted | None]
"""Returns the contribution that earlier processes counted, by name; None: none."""


def none_counted(name: str) -> None:
    """Returns None: there is no earlier process."""
    return None


class SumsChange(NamedTuple):
    """Sums that are added to (`sign` 1) or subtracted from (-1) the window of an event time."""

    sign: int
    event_time: float
    app_version: str
    statistics: MetricsState


def revise(known: Counted | None, new: Contribution) -> tuple[Counted, list[SumsChange]]:
    """Returns the new state of a conversation after a contribution, and the changes of the sums."""
    if known is None:
        return _counted(new), [_change(new)]
    if new.revision < known.revision or _is_same(known, new):
        return known, []
    taking_back = SumsChange(-1, known.event_time, known.app_version, unpacked(known.statistics))
    new = new._replace(event_time=known.event_time)
    return _counted(new), [taking_back, _change(new)]


def _is_same(known: Counted, other: Contribution) -> bool:
    return known.revision == other.revision and known.digest == other.digest


def _counted(found: Contribution) -> Counted:
    statistics = packed(found.statistics)
    return Counted(found.revision, found.digest, found.event_time, found.app_version, statistics)


def _change(found: Contribution) -> SumsChange:
    return SumsChange(1, found.event_time, found.app_version, found.statistics)


class _Slot(msgspec.Struct, frozen=True, array_like=True):
    """State of one key.

    Attributes:
        wake: Next removal, seconds since the epoch; None: none.
        known: Name -> packed contribution, oldest first; packed, because engines read and write the whole
            slot for every contribution.
    """

    wake: float | None = None
    known: dict[str, msgspec.Raw] = {}


_PACKER = msgspec.msgpack.Encoder()
_KNOWN = msgspec.msgpack.Decoder(Counted)


class _CountOnceFn(InspectedDoFn):
    SLOT = ReadModifyWriteStateSpec("slot", MessagePackCoder(_Slot))
    FORGET = TimerSpec("forget", TimeDomain.WATERMARK)

    def __init__(self, rules: StreamRules, earlier: CountedLookup) -> None:
        self._earlier = earlier
        self._window_micros = round(rules.window * 1e6)
        self._kept_seconds = rules.window + rules.window_lateness
        self._limit = None if rules.slots is None else max(1, HORIZON // rules.slots)

    def start_bundle(self) -> None:
        self._sums: dict[tuple[str, int], MetricsState] = {}

    def process(
        self,
        element: tuple[str, Contribution],
        slot: Any = beam.DoFn.StateParam(SLOT),
        forget: Any = beam.DoFn.TimerParam(FORGET),
    ) -> None:
        before: _Slot = slot.read() or _Slot()
        new = element[1]
        packed_one = before.known.get(new.name)
        old = self._earlier(new.name) if packed_one is None else _KNOWN.decode(packed_one)
        known, changes = revise(old, new)
        if known is old:
            return
        for change in changes:
            place = change.app_version, self._window_start(change.event_time)
            self._sums.setdefault(place, MetricsState()).merge(change.statistics, change.sign)
        entries = before.known
        entries.pop(new.name, None)
        entries[new.name] = msgspec.Raw(_PACKER.encode(known))
        if self._limit is not None and len(entries) > self._limit:
            del entries[next(iter(entries))]
        end = self._forget_at(known)
        wake = end if before.wake is None else min(before.wake, end)
        if wake != before.wake:
            forget.set(wake)
        slot.write(_Slot(wake, entries))

    @on_timer(FORGET)
    def forget(
        self,
        time: Any = beam.DoFn.TimestampParam,
        slot: Any = beam.DoFn.StateParam(SLOT),
        forget: Any = beam.DoFn.TimerParam(FORGET),
    ) -> None:
        """Removes conversations whose windows cannot change any more."""
        known = (slot.read() or _Slot()).known
        ends = {name: self._forget_at(_KNOWN.decode(entry)) for name, entry in known.items()}
        left = {name: entry for name, entry in known.items() if ends[name] > time}
        wake = min((ends[name] for name in left), default=None)
        if wake is None:
            slot.clear()
        else:
            forget.set(wake)
            slot.write(_Slot(wake, left))

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Yields the changes of the bundle, one entry per app version and window."""
        for (version, start), change in self._sums.items():
            if change != MetricsState():
                yield WindowedValue((version, change), Timestamp(micros=start), (GlobalWindow(),))

    def _window_start(self, event_time: float) -> int:
        """Returns microseconds, as Beam rounds them."""
        micros = int(event_time * 1_000_000)
        return micros - micros % self._window_micros

    def _forget_at(self, known: Counted) -> float:
        return self._window_start(known.event_time) / 1_000_000 + self._kept_seconds


class CountOnce(beam.PTransform[PCollection[RecordOutcome], PCollection[tuple[str, MetricsState]]]):
    """Turns contributions of outcomes into (app version, change of the sums), at the start of their windows.

    Contributions counted before a restart are looked up when their conversation is repeated. A conversation
    is removed when its window cannot change any more and, with slots, when more than `HORIZON` newer ones are
    stored.
    """

    def __init__(self, rules: StreamRules, earlier: CountedLookup = none_counted) -> None:
        super().__init__()
        self._rules, self._earlier = rules, earlier

    def expand(self, outcomes: "PCollection[RecordOutcome]") -> "PCollection[tuple[str, MetricsState]]":
        """Keys the contributions of outcomes by conversation or slot, and compares."""
        keyed = outcomes | "KeyContributions" >> beam.FlatMap(_keyed, self._rules)
        return keyed | "CountOnce" >> beam.ParDo(_CountOnceFn(self._rules, self._earlier)).with_output_types(
            tuple[str, MetricsState]
        )


def _keyed(outcome: RecordOutcome, rules: StreamRules) -> Iterator[tuple[str, Contribution]]:
    if outcome.contribution is not None:
        yield rules.key(outcome.contribution.name), outcome.contribution
