"""All cases."""

from benchmarks.engines.elsewhere import ELSEWHERE
from benchmarks.engines.faults import FAULTS

CASES = (*ELSEWHERE, *FAULTS)
