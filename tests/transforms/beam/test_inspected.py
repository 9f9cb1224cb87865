"""Beam finds the same arguments in a remembered inspection, and inspects no method twice."""

import pickle
import sys
from collections.abc import Iterator
from types import FrameType, MethodType
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.runners.common import DoFnSignature
from apache_beam.transforms.core import get_function_args_defaults, get_function_arguments
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import CombiningValueStateSpec, TimerSpec, get_dofn_specs, on_timer

from turnwise.transforms.beam.steps import CountingDoFn, InspectedDoFn

_TOTAL = CombiningValueStateSpec("total", sum)
_END = TimerSpec("end", TimeDomain.WATERMARK)


class _SideFn(CountingDoFn):
    def process(self, element: int, side: list[int], when: Any = beam.DoFn.TimestampParam) -> Iterator[int]:
        yield element


class _StateFn(InspectedDoFn):
    def process(self, element: tuple[str, int], total: Any = beam.DoFn.StateParam(_TOTAL)) -> Iterator[int]:
        yield element[1]


class _Ending:
    @on_timer(_END)
    def end(self, total: Any = beam.DoFn.StateParam(_TOTAL)) -> Iterator[int]:
        yield total.read()


class _TimerFn(_Ending, InspectedDoFn):
    def process(self, element: tuple[str, int], end: Any = beam.DoFn.TimerParam(_END)) -> Iterator[int]:
        yield element[1]


@pytest.mark.parametrize("kind", [_SideFn, _StateFn, CountingDoFn, InspectedDoFn])
def test_arguments_are_those_that_beam_finds(kind):
    fn = pickle.loads(pickle.dumps(kind()))
    methods = [name for name in object.__dir__(fn) if isinstance(getattr(fn, name), MethodType)]
    assert {"process", "start_bundle", "infer_output_type"} <= {*methods}
    for name in methods:
        found = get_function_arguments(fn, name)
        assert found == get_function_args_defaults(getattr(fn, name)), name
        found[0].append("changed")
        assert get_function_arguments(fn, name) == get_function_args_defaults(getattr(fn, name)), name


def test_state_and_timers_are_found_also_in_a_class_beside():
    assert get_dofn_specs(_TimerFn()) == ({_TOTAL}, {_END})


def test_methods_of_beam_that_are_left_out_have_neither_state_nor_timers():
    assert get_dofn_specs(beam.DoFn()) == (set(), set())
    assert {*object.__dir__(_TimerFn())} - {*dir(_TimerFn())} <= {*dir(beam.DoFn())}


def test_no_method_is_inspected_twice():
    fn = _SideFn()
    DoFnSignature(fn)
    inspected: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is get_function_args_defaults.__code__:
            method = frame.f_locals["f"]
            if method.__self__ is fn:
                inspected.append(method.__name__)

    sys.setprofile(note)
    try:
        DoFnSignature(fn)
    finally:
        sys.setprofile(None)
    assert inspected == []
