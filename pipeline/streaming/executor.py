"""Runs the graph of a stream."""

from collections import defaultdict
from typing import Any, TypeAlias

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pipeline import AppliedPTransform, Pipeline, PipelineVisitor
from apache_beam.runners.common import Receiver
from apache_beam.runners.runner import PipelineResult, PipelineRunner, PipelineState
from apache_beam.transforms.core import Flatten, GroupByKey, Impulse, ParDo
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.timestamp import MAX_TIMESTAMP
from apache_beam.utils.windowed_value import WindowedValue

from turnwise.pipeline.streaming.executor.events import AdvanceClock, Elements, Events, StreamEvent
from turnwise.pipeline.streaming.executor.grouping import GroupStep
from turnwise.pipeline.streaming.executor.par_do import Outputs, ParDoStep
from turnwise.pipeline.streaming.executor.timers import StreamTime

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
