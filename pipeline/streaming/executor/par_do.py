"""Runs a DoFn."""

from typing import Any

from apache_beam.pipeline import AppliedPTransform
from apache_beam.runners.common import DoFnRunner, Receiver
from apache_beam.transforms.userstate import get_dofn_specs, is_stateful_dofn
from apache_beam.utils.windowed_value import WindowedValue

from turnwise.pipeline.streaming.executor.state import KeyedState
from turnwise.pipeline.streaming.executor.timers import StreamTime, Timers


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
