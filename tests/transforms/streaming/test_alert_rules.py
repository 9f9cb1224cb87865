import pytest

from turnwise.schemas.config import AlertRule
from turnwise.transforms.beam.alerts import evaluate_rule
from turnwise.transforms.beam.windows import WindowMetrics
from turnwise.transforms.metrics.state import MetricsState, Tally

SIMILARITY, LATENCY, STATUS = "response_match_score", "turn_latency", "verdict"


def tally(values=(), passes=0, fails=0, no_score=0, timed=False):
    made = Tally()
    for value in values:
        made.add(value, None, timed)
    made.passes, made.fails, made.no_score = passes, fails, no_score
    return made


def state(passes=0, fails=0, conversations=None, **tallies):
    """Tallies by criterion are of whole conversations; by criterion__turn, of that turn."""
    keyed = {}
    for key, value in tallies.items():
        name, _, turn = key.partition("__")
        keyed[name, int(turn) if turn else None] = value
    total = passes + fails if conversations is None else conversations
    return MetricsState(total, total, passes, fails, keyed)


def window(sums, pane="ON_TIME", version="v1"):
    return WindowMetrics(3600.0, 7200.0, version, pane, 0, sums)


def rule(criterion, measure, **fields):
    return AlertRule(name="mine", criterion=criterion, measure=measure, **fields)


def spread(low, high, count):
    return [low, high] * (count // 2)


VERDICTS = state(passes=15, fails=5, conversations=25)
SCORES = state(response_match_score=tally(spread(0.4, 0.6, 30), 12, 18, 10))
TIMES = state(turn_latency__0=tally([1.0] * 15, timed=True), turn_latency__1=tally([9.0] * 15, timed=True))
BOUNDS = [
    (VERDICTS, rule(STATUS, "pass_rate", below=0.8), ("below", 0.75, 20, 0.8)),
    (VERDICTS, rule(STATUS, "pass_rate", below=0.75), None),
    (VERDICTS, rule(STATUS, "pass_rate", below=0.8, min_count=21), None),
    (VERDICTS, rule(STATUS, "no_score_rate", above=0.1), ("above", 0.2, 25, 0.1)),
    (VERDICTS, rule(STATUS, "no_score_rate", above=0.2), None),
    (VERDICTS, rule(STATUS, "count", below=30), ("below", 25, 25, 30)),
    (SCORES, rule(SIMILARITY, "mean", below=0.6), ("below", 0.5, 30, 0.6)),
    (SCORES, rule(SIMILARITY, "count", above=39), ("above", 40, 40, 39)),
    (SCORES, rule(SIMILARITY, "mean", level="turn", below=1), None),
    (TIMES, rule(LATENCY, "p50", below=2, above=100), ("below", pytest.approx(1.0, rel=0.002), 30, 2)),
    (TIMES, rule(LATENCY, "p99", above=5), ("above", pytest.approx(9.0, rel=0.002), 30, 5)),
    (TIMES, rule(LATENCY, "p99", above=5, level="conversation"), None),
]


@pytest.mark.parametrize(("sums", "asked", "wanted"), BOUNDS)
def test_bounds(sums, asked, wanted):
    alert = evaluate_rule(asked, window(sums), None)
    assert (alert and (alert.kind, alert.value, alert.count, alert.threshold)) == wanted


def test_the_default_level_is_the_whole_conversation_where_there_is_one():
    whole, turns = tally([2.0] * 20, timed=True), tally([8.0] * 40, timed=True)
    asked = rule(LATENCY, "mean", above=1)
    found = evaluate_rule(asked, window(state(turn_latency=whole, turn_latency__0=turns)), None)
    assert (found.level, found.value) == ("conversation", 2.0)
    found = evaluate_rule(asked, window(state(turn_latency__0=turns)), None)
    assert (found.level, found.value) == ("turn", 8.0)


VERSIONS = [("*", "v1", True), ("v1", "v10", False), ("v1*", "v10", True)]


@pytest.mark.parametrize(("glob", "version", "holds"), VERSIONS)
def test_app_versions(glob, version, holds):
    asked = rule(STATUS, "count", above=1, app_version=glob)
    assert (evaluate_rule(asked, window(VERDICTS, version=version), None) is not None) is holds


@pytest.mark.parametrize(("pane", "holds"), [("EARLY", False), ("ON_TIME", True), ("LATE", True)])
def test_an_open_window_does_not_count_too_little(pane, holds):
    asked = rule(STATUS, "count", below=1000)
    assert (evaluate_rule(asked, window(VERDICTS, pane), None) is not None) is holds


DROPS = [
    # 55 % against 80 % of 100: z = 3.78
    (state(passes=55, fails=45), state(passes=80, fails=20), rule(STATUS, "pass_rate", drop={}), True),
    # 65 % against 80 %: z = 2.37 is enough for one look, and not for any number of looks
    (state(passes=60, fails=40), None, rule(STATUS, "pass_rate", drop={}), False),
    # 74 % against 80 %: z = 1.01, p = 0.156
    (state(passes=74, fails=26), state(passes=80, fails=20), rule(STATUS, "pass_rate", drop={}), False),
    (
        state(passes=65, fails=35),
        state(passes=80, fails=20),
        rule(STATUS, "pass_rate", drop={"significance": 0.5}),
        True,
    ),
    (state(passes=0, fails=20), state(passes=20), rule(STATUS, "pass_rate", drop={}), True),
    (
        state(response_match_score=tally(spread(0.4, 0.6, 40))),
        state(response_match_score=tally(spread(0.5, 0.7, 40))),
        rule(SIMILARITY, "mean", drop={}),
        True,
    ),
    (
        state(response_match_score=tally(spread(0.5, 0.7, 40))),
        state(response_match_score=tally(spread(0.4, 0.6, 40))),
        rule(SIMILARITY, "mean", drop={}),
        False,
    ),
    (
        state(response_match_score=tally([0.1])),
        state(response_match_score=tally([0.9])),
        rule(SIMILARITY, "mean", drop={}, min_count=1),
        False,
    ),
]


@pytest.mark.parametrize(("sums", "baseline", "asked", "holds"), DROPS)
def test_drops(sums, baseline, asked, holds):
    alert = evaluate_rule(asked, window(sums), baseline)
    assert (alert is not None) is holds
    early = evaluate_rule(asked, window(sums, "EARLY"), baseline)
    assert early == alert, "the test is valid at every pane"
    later = evaluate_rule(asked, window(sums), baseline, 10)
    assert later is None or later.p_value == pytest.approx(alert.p_value * 55), "a later window needs more"


def test_an_alert_says_what_was_seen():
    asked = rule(STATUS, "pass_rate", drop={"baseline": 3})
    alert = evaluate_rule(asked, window(state(passes=60, fails=40)), state(passes=80, fails=20))
    assert (alert.rule, alert.app_version, alert.criterion, alert.level) == (
        "mine",
        "v1",
        STATUS,
        "conversation",
    )
    assert (alert.window_start, alert.window_end) == ("1970-01-01T01:00:00Z", "1970-01-01T02:00:00Z")
    assert (alert.value, alert.count, alert.baseline_value, alert.baseline_count) == (0.6, 100, 0.8, 100)
    assert alert.p_value == pytest.approx(0.0451, rel=0.01)
    assert (alert.kind, alert.threshold) == ("drop", 0.05)
    for part in ("mine", "0.6 over 100", "0.8 over 100", "by chance: 0.045", "v1", alert.window_start):
        assert part in alert.message
    assert "\n" not in alert.message


def test_names_tell_rules_windows_and_versions_apart():
    asked = rule(STATUS, "count", above=1)
    made = [
        evaluate_rule(asked, window(VERDICTS), None),
        evaluate_rule(asked.model_copy(update={"name": "other"}), window(VERDICTS), None),
        evaluate_rule(asked, window(VERDICTS, version="v2"), None),
        evaluate_rule(asked, window(VERDICTS)._replace(window_start=0.0), None),
    ]
    assert len({alert.name for alert in made}) == 4
    assert evaluate_rule(asked, window(state(passes=99), "LATE"), None).name == made[0].name
