"""All cases."""

from benchmarks.engines.elsewhere import ELSEWHERE

CASES = (*ELSEWHERE,)
