"""Which dates `--date` names, and how `{date}` is filled."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.pipeline.settings.run import MOST_DATES, earlier_dates, filled, parse_dates, run_info
from turnwise.schemas.config import ConfigError, EvalConfig
from turnwise.schemas.proto.scalars import nanos_timestamp, timestamp_nanos
from turnwise.transforms.text.dates import time_seconds

# Still the 21st in Los Angeles, the 22nd in UTC.
NOW = datetime(2026, 11, 21, 18, 30, tzinfo=timezone(timedelta(hours=-8)))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2026-11-21", ["2026-11-21"]),
        ("today", ["2026-11-22"]),
        ("yesterday", ["2026-11-21"]),
        ("2026-02-27..2026-03-01", ["2026-02-27", "2026-02-28", "2026-03-01"]),
        ("2026-11-20..yesterday", ["2026-11-20", "2026-11-21"]),
    ],
)
def test_dates_are_in_utc_and_ranges_hold_both_ends(text, days):
    assert [day.isoformat() for day in parse_dates(text, NOW)] == days


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-02-30", "there is no date 2026-02-30"),
        ("20261121", "is none of an ISO date, yesterday, today"),
        ("tomorrow", "is none of"),
        ("2026-11-20..", "is none of"),
        ("2026-11-21..2026-11-20", "the range is turned round: 2026-11-20 is before 2026-11-21"),
        ("2020-01-01..2026-01-01", "2193 dates, of which one command runs 366 at most"),
    ],
)
def test_a_wrong_date_is_one_line(text, said):
    with pytest.raises(ConfigError) as raised:
        parse_dates(text, NOW)
    assert said in str(raised.value)
    assert str(raised.value).startswith(f"--date {text}: ")
    assert "\n" not in str(raised.value)


@given(st.dates(date(1, 1, 2), date(9998, 1, 1)), st.integers(1, MOST_DATES))
def test_a_range_holds_every_date_once(start, number):
    days = parse_dates(f"{start.isoformat()}..{(start + timedelta(number - 1)).isoformat()}")
    assert days == [start + timedelta(i) for i in range(number)]
    assert len(earlier_dates(days, 1)) == 1


def test_places_are_filled_in_several_forms():
    day = date(2026, 3, 7)
    assert (
        filled("--input", "gs://b/dt={date}/x-{date}.json", day) == "gs://b/dt=2026-03-07/x-2026-03-07.json"
    )
    assert filled("--input", "logs/{date:%Y/%m/%d}/", day) == "logs/2026/03/07/"
    assert filled("--input", "bigquery://p/d/t_{date:%Y%m%d}", day) == "bigquery://p/d/t_20260307"
    assert filled("--input", "{dates}", day) == "{dates}"
    with pytest.raises(ConfigError, match="%Y, %m, %d and %j only"):
        filled("--input", "logs/{date:%H}/", day)


@pytest.mark.parametrize("number", [-1, MOST_DATES + 1])
def test_a_lookback_has_bounds(number):
    with pytest.raises(ConfigError, match="--lookback must lie between 0 and 366"):
        earlier_dates([date(2026, 1, 1)], number)


def test_executions_that_start_in_the_same_millisecond_have_numbers_of_their_own():
    config = EvalConfig()
    starts = [run_info("nightly", config).create_time for _ in range(200)]
    numbers = [timestamp_nanos(start) for start in starts]
    assert len({*numbers}) == len(numbers) and numbers == sorted(numbers) and starts == sorted(starts)
    assert time_seconds(starts[0]) is not None
    # Results bear the time in proto JSON's own form, so the run writes no other.
    starts += [run_info("nightly", config).create_time for _ in range(3_000)]
    assert starts == [nanos_timestamp(timestamp_nanos(start)) for start in starts]
