"""The start of a run tells its executions apart."""

from turnwise.pipeline.settings.run import run_info
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.proto.scalars import timestamp_nanos
from turnwise.transforms.text.dates import time_seconds


def test_executions_that_start_in_the_same_millisecond_have_numbers_of_their_own():
    config = EvalConfig()
    starts = [run_info("nightly", config).create_time for _ in range(200)]
    numbers = [timestamp_nanos(start) for start in starts]
    assert len({*numbers}) == len(numbers) and numbers == sorted(numbers) and starts == sorted(starts)
    assert time_seconds(starts[0]) is not None
