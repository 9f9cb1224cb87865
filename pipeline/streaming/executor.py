"""Runs the graph of a local stream, element by element."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pipeline import AppliedPTransform, Pipeline, PipelineVisitor
from apache_beam.pvalue import PBegin, PCollection
from apache_beam.runners.common import DoFnRunner, Receiver
from apache_beam.runners.runner import PipelineResult, PipelineRunner, PipelineState
from apache_beam.transforms.core import Flatten, GroupByKey, Impulse, ParDo, Windowing
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.trigger import InMemoryUnmergedState, create_trigger_driver
from apache_beam.transforms.userstate import (
    BaseTimer,
    ReadModifyWriteRuntimeState,
    ReadModifyWriteStateSpec,
    TimerSpec,
    UserStateContext,
    get_dofn_specs,
    is_stateful_dofn,
)
from apache_beam.transforms.window import GlobalWindows, NonMergingWindowFn, TimestampedValue
from apache_beam.utils.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP, TIME_GRANULARITY, Timestamp
from apache_beam.utils.windowed_value import WindowedValue

# Timers of a step, and the time that they wait for.


class StreamTime:
    """The times of a stream in their domains: its watermark, and its clock from 0 on."""

    def __init__(self) -> None:
        self.now = {TimeDomain.WATERMARK: MIN_TIMESTAMP, TimeDomain.REAL_TIME: Timestamp(0)}

    @property
    def watermark(self) -> Timestamp:
        """The watermark."""
        return self.now[TimeDomain.WATERMARK]

    def time(self) -> Timestamp:
        """Returns the time of the clock, as Beam's triggers ask for it."""
        return self.now[TimeDomain.REAL_TIME]


class TimerName(NamedTuple):
    """Names a timer: it has one time at most."""

    domain: str
    key: Any
    window: Any
    name: str
    tag: str = ""


class Timers:
    """The timers of a step, the earliest first."""

    def __init__(self, time: StreamTime) -> None:
        self._time, self._order = time, count()
        self._set: dict[TimerName, Timestamp] = {}
        self._queues: dict[str, list[tuple[Timestamp, int, TimerName]]] = {domain: [] for domain in time.now}

    def set(self, name: TimerName, time: Timestamp) -> None:
        """Sets a timer, in place of its earlier time."""
        if self._set.get(name) != time:
            self._set[name] = time
            heappush(self._queues[name.domain], (time, next(self._order), name))

    def clear(self, name: TimerName) -> None:
        """Removes a timer; its place in the queue stays until its time."""
        self._set.pop(name, None)

    def are_due(self) -> bool:
        """Returns whether a time has come for which a timer was set."""
        return any(queue and queue[0][0] <= self._time.now[at] for at, queue in self._queues.items())

    def take_due(self) -> Iterator[tuple[TimerName, Timestamp]]:
        """Removes and yields due timers, also those that are set meanwhile."""
        for domain, queue in self._queues.items():
            while queue and queue[0][0] <= self._time.now[domain]:
                time, _, name = heappop(queue)
                if self._set.get(name) == time:
                    del self._set[name]
                    yield name, time


# Runs a DoFn.


class Outputs(dict[Any, Receiver]):
    """Receivers of a step by tag; what nothing follows is dropped."""

    def __missing__(self, tag: Any) -> Receiver:
        return self.setdefault(tag, _Dropped())


class _Dropped(Receiver):
    def receive(self, windowed_value: WindowedValue) -> None:
        """Does nothing."""


class ParDoStep(Receiver):
    """A DoFn that receives elements and passes its outputs on at once; of all bundles the same object."""

    def __init__(self, applied: AppliedPTransform, outputs: Outputs, time: StreamTime) -> None:
        """Prepares the DoFn; raises NotImplementedError if it has side inputs."""
        if applied.side_inputs:
            raise NotImplementedError(f"{applied.full_label}: side inputs")
        transform: Any = applied.transform
        self._timers = Timers(time)
        self._specs: dict[str, Any] = {}
        state = None
        if is_stateful_dofn(transform.dofn):
            state = KeyedState(self._timers)
            self._specs = {spec.name: spec for spec in get_dofn_specs(transform.dofn)[1]}
        self._runner = DoFnRunner(
            transform.dofn,
            transform.args,
            transform.kwargs,
            (),
            applied.inputs[0].windowing,
            tagged_receivers=outputs,
            step_name=applied.full_label,
            user_state_context=state,
        )
        self._process = self._runner.process
        self._runner.setup()

    def start(self) -> None:
        """Begins a bundle."""
        self._runner.start()

    def receive(self, windowed_value: WindowedValue) -> None:
        """Processes an element."""
        self._process(windowed_value)

    def is_due(self) -> bool:
        """Returns whether a timer is due."""
        return self._timers.are_due()

    def finish(self) -> None:
        """Fires due timers, and ends the bundle."""
        for name, time in self._timers.take_due():
            spec = self._specs[name.name]
            self._runner.process_user_timer(spec, name.key, name.window, time, None, name.tag)
        self._runner.finish()

    def close(self) -> None:
        """Ends the DoFn."""
        self._runner.teardown()


# State and timers of a step's keys, as its DoFn reads and sets them.


class _Cell(ReadModifyWriteRuntimeState):
    """One value of a key and window. It is kept as it is: no other process reads it."""

    def __init__(self, values: dict[Any, Any], place: Any) -> None:
        self._values, self._place = values, place

    def read(self) -> Any:
        return self._values.get(self._place)

    def write(self, value: Any) -> None:
        self._values[self._place] = value

    def clear(self) -> None:
        self._values.pop(self._place, None)

    def commit(self) -> None:
        """Does nothing: what is written counts at once."""


class _Timer(BaseTimer):
    def __init__(self, timers: Timers, name: TimerName) -> None:
        self._timers, self._name = timers, name

    def set(self, timestamp: Any, dynamic_timer_tag: str = "") -> None:
        self._timers.set(self._name._replace(tag=dynamic_timer_tag), Timestamp.of(timestamp))

    def clear(self, dynamic_timer_tag: str = "") -> None:
        self._timers.clear(self._name._replace(tag=dynamic_timer_tag))


class KeyedState(UserStateContext):
    """State and timers of a step, by key and window.

    Attributes:
        values: The state cells that hold a value.
    """

    def __init__(self, timers: Timers) -> None:
        self.values: dict[Any, Any] = {}
        self._timers = timers

    def get_state(self, state_spec: Any, key: Any, window: Any) -> _Cell:
        """Returns a cell; raises NotImplementedError if it is of another kind than one value."""
        if not isinstance(state_spec, ReadModifyWriteStateSpec):
            raise NotImplementedError(f"state of the kind {type(state_spec).__name__}")
        return _Cell(self.values, (key, window, state_spec.name))

    def get_timer(self, timer_spec: TimerSpec, key: Any, window: Any, timestamp: Any, pane: Any) -> _Timer:
        """Returns a timer."""
        return _Timer(self._timers, TimerName(timer_spec.time_domain, key, window, timer_spec.name))

    def commit(self) -> None:
        """Does nothing: what is written counts at once."""


# Groups elements by key and window, and releases the groups when their trigger says so.

_END = "end of the allowed lateness"
_Group: TypeAlias = tuple[Any, Any]


class _GroupState(InMemoryUnmergedState):
    """What Beam's trigger keeps of one key and window."""

    def __init__(self, group: _Group, timers: Timers) -> None:
        super().__init__()
        self._group, self._timers = group, timers

    def set_timer(
        self, window: Any, name: str, time_domain: str, timestamp: Any, dynamic_timer_tag: str = ""
    ) -> None:
        self._timers.set(TimerName(time_domain, self._group, window, name, dynamic_timer_tag), timestamp)

    def clear_timer(self, window: Any, name: str, time_domain: str, dynamic_timer_tag: str = "") -> None:
        self._timers.clear(TimerName(time_domain, self._group, window, name, dynamic_timer_tag))


class GroupStep(Receiver):
    """Beam's GroupByKey. A group is forgotten when its window accepts no more elements."""

    def __init__(self, applied: AppliedPTransform, output: Receiver, time: StreamTime) -> None:
        """Prepares the trigger; raises NotImplementedError if windows merge."""
        windowing = applied.inputs[0].windowing
        if not isinstance(windowing.windowfn, NonMergingWindowFn):
            raise NotImplementedError(f"{applied.full_label}: windows that merge")
        self._driver = create_trigger_driver(windowing, clock=time)
        self._lateness = windowing.allowed_lateness
        self._output, self._time, self._timers = output, time, Timers(time)
        self._waiting: dict[_Group, list[WindowedValue]] = {}
        self._groups: dict[_Group, _GroupState] = {}

    def start(self) -> None:
        """Does nothing."""

    def receive(self, windowed_value: WindowedValue) -> None:
        """Holds an element until the bundle ends."""
        key, value = windowed_value.value
        for window in windowed_value.windows:
            one = WindowedValue(value, windowed_value.timestamp, (window,))
            self._waiting.setdefault((key, window), []).append(one)

    def is_due(self) -> bool:
        """Returns whether a timer is due."""
        return self._timers.are_due()

    def finish(self) -> None:
        """Adds the elements of the bundle to their groups, and fires due timers."""
        waiting, self._waiting = self._waiting, {}
        for group, values in waiting.items():
            self._add(group, values)
        for name, time in self._timers.take_due():
            if name.name == _END:
                del self._groups[name.key]
            elif name.key in self._groups:
                state = self._groups[name.key]
                self._release(
                    name.key, self._driver.process_timer(name.window, name.name, name.domain, time, state)
                )

    def close(self) -> None:
        """Does nothing."""

    def _add(self, group: _Group, values: list[WindowedValue]) -> None:
        end, watermark = group[1].end + self._lateness, self._time.watermark
        if watermark > end:
            return
        if group not in self._groups:
            self._groups[group] = _GroupState(group, self._timers)
            self._timers.set(TimerName(TimeDomain.WATERMARK, group, None, _END), _after(end))
        released = self._driver.process_elements(self._groups[group], values, watermark, watermark)
        self._release(group, released)

    def _release(self, group: _Group, values: Iterable[WindowedValue]) -> None:
        for one in values:
            self._output.receive(one.with_value((group[0], one.value)))


def _after(end: Timestamp) -> Timestamp:
    """Returns the first time at which a window that accepts elements until `end` accepts none."""
    return min(end + TIME_GRANULARITY, MAX_TIMESTAMP)


# What happens to a stream: elements come, its watermark and its clock advance.


class Elements(NamedTuple):
    """Elements that come together: one bundle."""

    values: Sequence[TimestampedValue[Any]]


class AdvanceWatermark(NamedTuple):
    """The time before which no more elements are expected."""

    time: Timestamp


class AdvanceClock(NamedTuple):
    """Seconds that have passed."""

    seconds: float


StreamEvent: TypeAlias = Elements | AdvanceWatermark | AdvanceClock


class Events(beam.PTransform[PBegin, PCollection[Any]]):
    """The root of a stream's graph; gives the elements of its events.

    Attributes:
        events: Returns the events; called when the pipeline is run. The stream ends after the last one.
    """

    def __init__(self, events: Callable[[], Iterable[StreamEvent]]) -> None:
        super().__init__()
        self.events = events

    def expand(self, root: PBegin) -> "PCollection[Any]":
        """Returns the elements."""
        return PCollection(root.pipeline, is_bounded=False)

    def get_windowing(self, inputs: Any) -> Windowing:
        """Returns the global window."""
        return Windowing(GlobalWindows())


_Step: TypeAlias = ParDoStep | GroupStep
_Output: TypeAlias = tuple[AppliedPTransform, Any]


class StreamRunner(PipelineRunner):
    """Runs a pipeline whose root is `Events` in the calling thread, one bundle after the other.

    Beam's own engine for streams in one process makes and inspects each step anew for every bundle. Here a
    step is made once, and what it gives is processed by the next step at once. A bundle that fails ends the
    stream: nothing is repeated.
    """

    def run_pipeline(self, pipeline: Pipeline, options: PipelineOptions) -> PipelineResult:
        """Runs a pipeline to its end.

        Raises:
            NotImplementedError: A step needs what this runner does not have.
        """
        graph = _Graph(pipeline)
        try:
            graph.begin()
            for event in graph.source.events():
                graph.advance(event)
            graph.end()
        finally:
            graph.close()
        return _Done(PipelineState.DONE)


class _Done(PipelineResult):
    def wait_until_finish(self, duration: int | None = None) -> str:
        """Returns the state: the pipeline has ended."""
        return str(self.state)


class _Leaves(PipelineVisitor):
    """The steps of a pipeline that hold no others, each behind those that it follows."""

    def __init__(self) -> None:
        self.steps: list[AppliedPTransform] = []

    def visit_transform(self, transform_node: AppliedPTransform) -> None:
        self.steps.append(transform_node)


class _Each(Receiver):
    """Passes elements to several steps."""

    def __init__(self, receivers: list[Receiver]) -> None:
        self._receivers = receivers

    def receive(self, windowed_value: WindowedValue) -> None:
        for receiver in self._receivers:
            receiver.receive(windowed_value)


class _Graph:
    """The steps of a pipeline, connected."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._time, self._steps = StreamTime(), list[_Step]()
        self._consumers: dict[_Output, list[Receiver]] = defaultdict(list)
        self._impulses: list[Receiver] = []
        leaves = _Leaves()
        pipeline.visit(leaves)
        for applied in reversed(leaves.steps):
            self._connect(applied)
        self._steps.reverse()

    def _connect(self, applied: AppliedPTransform) -> None:
        """Makes the step of a transform; what follows it is made already."""
        transform, outputs = applied.transform, self._outputs(applied)
        if isinstance(transform, Events):
            self.source, self._arriving = transform, outputs[None]
        elif isinstance(transform, Impulse):
            self._impulses.append(outputs[None])
        elif isinstance(transform, Flatten):
            self._feed(applied, outputs[None])
        elif isinstance(transform, GroupByKey):
            self._add(applied, GroupStep(applied, outputs[None], self._time))
        elif isinstance(transform, ParDo):
            self._add(applied, ParDoStep(applied, outputs, self._time))
        else:
            raise NotImplementedError(f"{applied.full_label}: {type(transform).__name__}")

    def _outputs(self, applied: AppliedPTransform) -> Outputs:
        found = Outputs()
        for (producer, tag), receivers in self._consumers.items():
            if producer is applied:
                found[tag] = receivers[0] if len(receivers) == 1 else _Each(receivers[::-1])
        return found

    def _add(self, applied: AppliedPTransform, step: _Step) -> None:
        self._steps.append(step)
        self._feed(applied, step)

    def _feed(self, applied: AppliedPTransform, step: Receiver) -> None:
        for value in applied.inputs:
            self._consumers[value.producer, value.tag].append(step)

    def begin(self) -> None:
        """Processes what is given before the stream."""
        self._start()
        for receiver in self._impulses:
            receiver.receive(GlobalWindows.windowed_value(b""))
        self._finish()

    def advance(self, event: StreamEvent) -> None:
        """Processes an event."""
        if isinstance(event, Elements):
            self._start()
            for one in event.values:
                self._arriving.receive(GlobalWindows.windowed_value(one.value, one.timestamp))
            self._finish()
            return
        now = self._time.now
        if isinstance(event, AdvanceClock):
            now[TimeDomain.REAL_TIME] += event.seconds
        else:
            now[TimeDomain.WATERMARK] = max(now[TimeDomain.WATERMARK], event.time)
        if any(step.is_due() for step in self._steps):
            self._start()
            self._finish()

    def end(self) -> None:
        """Lets all windows end."""
        self._time.now[TimeDomain.WATERMARK] = MAX_TIMESTAMP
        self._start()
        self._finish()

    def close(self) -> None:
        """Ends the steps."""
        for step in self._steps:
            step.close()

    def _start(self) -> None:
        for step in self._steps:
            step.start()

    def _finish(self) -> None:
        """Ends the bundle step by step, so that each sees all that earlier ones give."""
        for step in self._steps:
            step.finish()
