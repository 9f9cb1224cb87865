"""All cases."""

from benchmarks.engines.brokers import BROKERS
from benchmarks.engines.dataflow import DATAFLOW
from benchmarks.engines.elsewhere import ELSEWHERE
from benchmarks.engines.faults import FAULTS
from benchmarks.engines.judged import JUDGED
from benchmarks.engines.streams import STREAMS

CASES = (*ELSEWHERE, *FAULTS, *STREAMS, *BROKERS, *JUDGED, *DATAFLOW)
