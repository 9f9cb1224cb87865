"""The alert rules of a config, applied to a batch: a night is one window, the baseline the windows before."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from time import time

import msgspec

from turnwise.pipeline.report.comparison import may_name_version, open_baseline
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.streaming.alerts import AlertError, open_alert_sink
from turnwise.schemas.ces.names import version_id
from turnwise.schemas.config import STATUS, Alert, ConfigError
from turnwise.schemas.jsonio import JsonObject, is_store_url
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.schemas.run import RunAlerts, RunDocument
from turnwise.transforms.beam.alerts import evaluate_rule, why_untested
from turnwise.transforms.beam.windows import WindowMetrics
from turnwise.transforms.metrics.state import ONE, MetricsState, Tally, bin_of, rank_of
from turnwise.transforms.text.dates import time_seconds
from turnwise.transforms.text.patterns import glob_matches

ALERT_PROBLEM = "alert: "
"""Begins the problem of a run that raised an alert, or could not send one."""
_DAY = 86_400.0
_OF_RUN: Mapping[str, object] = {"counts": {}, "problems": [], "exit_status": 0}


def check_alerts(settings: RunSettings) -> None:
    """Raises ConfigError if `--alerts` cannot be used, or there is no rule for it."""
    if settings.stream.alerts is None:
        return
    if not settings.config.alerts:
        raise ConfigError("--alerts: the config has no rule for it: add `alerts`")
    open_alert_sink(settings.stream.alerts, None)


def raise_alerts(
    settings: RunSettings, rows: Iterable[MetricsByAppVersionRow], begun: JsonObject
) -> tuple[RunAlerts | None, list[str]]:
    """Applies the rules to a batch, and sends the alerts; None: there is no rule.

    `rows` are its `metrics_by_app_version`, `begun` is what is known of its `run.json`.

    Returns:
        What stands in `run.json`, and the problems of the run.
    """
    if not settings.config.alerts:
        return None, []
    document = msgspec.convert({**begun, **_OF_RUN}, RunDocument)
    most = max(rule.drop.baseline if rule.drop else 1 for rule in settings.config.alerts)
    nights, number, gap = _nights_before(settings.baseline, document, most)
    states = _states(rows)
    raised: list[Alert] = []
    untested: dict[str, list[str]] = {}
    for rule in settings.config.alerts:
        versions = [version for version in states if glob_matches(rule.app_version, version)]
        if not versions:
            untested.setdefault("no conversation of such an app version was scored", []).append(rule.name)
        for version in versions:
            window = WindowMetrics(*_span(document), version, "ON_TIME", 0, states[version])
            baseline = _state_before(nights[: rule.drop.baseline if rule.drop else 0], version)
            alert = evaluate_rule(rule, window, baseline, number)
            if alert is not None:
                raised.append(alert)
            elif why := why_untested(rule, window.state, baseline, gap):
                untested.setdefault(why, []).append(f"{rule.name} ({version or 'no version'})")
    lines = [f"{', '.join(names)}: {why}" for why, names in untested.items()]
    before = settings.baseline or ""
    if is_store_url(before):  # whose address may hold a password
        before = f"#{before.rsplit('#', 1)[-1]}"
    problems = [f"{ALERT_PROBLEM}{alert.message}" for alert in raised]
    problems += _unsent(settings.stream.alerts, raised)
    return RunAlerts(number, before if nights else None, raised, lines), problems


def _unsent(uri: str | None, alerts: Iterable[Alert]) -> Iterable[str]:
    """Sends alerts, if there is a sink; yields those that could not be sent."""
    sink = None if uri is None else open_alert_sink(uri, None)
    for alert in alerts:
        try:
            if sink is not None:
                sink.send([alert])
        except AlertError as error:
            yield f"{ALERT_PROBLEM}{alert.rule} was not sent: {error}"


_States = Mapping[str, MetricsState]


def _nights_before(
    baseline: str | None, document: RunDocument, most: int
) -> tuple[Sequence[_States], int, str]:
    """Returns the sums of the last runs before one, the number of its night, and why nothing is compared.

    The first run is the baseline, each further one what the one after it was compared with.

    The number grows with the nights from 1, whichever of them is the baseline: the test of night i may err
    with a probability that falls with i, so that all nights together err with that of the rule at most.
    """
    if baseline is None or may_name_version(baseline):
        return [], 1, "there is no run to compare with (--baseline names none)"
    number = 1
    try:
        run, named = open_baseline(baseline)
        number = _night(run.document) + max(1, (_day(document) - _day(run.document)).days)
        if run.document.scoring_settings != document.scoring_settings:
            return [], number, f"the scoring settings changed since {run.document.run_id}"
        first = _states(run.metrics())
        of_named = {
            version: state
            for version, state in first.items()
            if named in (None, version, version_id(version))
        }
        nights = [of_named, *_further_nights(baseline, run.document, most - 1)]
        return nights, number, f"{baseline} holds no conversation that was scored"
    except (ConfigError, OSError) as error:
        again = "; the nights are counted from 1 again" if number == 1 else ""
        return [], number, f"the baseline cannot be read: {error}{again}"


def _further_nights(pattern: str, document: RunDocument, most: int) -> Iterator[_States]:
    """Yields the sums of the runs before a baseline that are there and measured in the same way."""
    settings = document.scoring_settings
    for _ in range(most):
        before = document.alerts.before if document.alerts else None
        if before is None:
            return
        try:
            run, _ = open_baseline(f"{pattern.rsplit('#', 1)[0]}{before}" if before[0] == "#" else before)
        except (ConfigError, OSError):  # removed, as old nights are
            return
        # A run that was made anew may have been compared with a later one.
        if _night(run.document) >= _night(document) or run.document.scoring_settings != settings:
            return
        document = run.document
        yield _states(run.metrics())


def _night(document: RunDocument) -> int:
    return document.alerts.night if document.alerts else 1


def _day(document: RunDocument) -> date:
    return date.fromisoformat(document.date or document.create_time[:10])


def _span(document: RunDocument) -> tuple[float, float]:
    """Returns start and end of a run's date in seconds; without one, of the run, which no other one has."""
    if document.date is None:
        return float(time_seconds(document.create_time) or 0), time()
    start = float(time_seconds(f"{document.date}T00:00:00Z") or 0)
    return start, start + _DAY


def _state_before(nights: Sequence[_States], version: str) -> MetricsState | None:
    """Returns the sums of the same app version, or of a new version those of all that ran before it."""
    before = [(name, state) for night in nights for name, state in night.items()]
    states = [state for name, state in before if version_id(name) == version_id(version)]
    together = MetricsState()
    for state in states or [state for _, state in before]:
        together.merge(state)
    return together if before else None


def _states(rows: Iterable[MetricsByAppVersionRow]) -> dict[str, MetricsState]:
    """Returns the sums of each app version ("": unknown), as far as rules need them, from its figures."""
    states: dict[str, MetricsState] = {}
    for row in rows:
        state = states.setdefault(row["app_version"] or "", MetricsState())
        if row["criterion"] == STATUS:
            state.passes, state.fails = row["pass_count"], row["fail_count"]
            state.conversations = state.passes + state.fails + row["no_score"]
        else:
            state.tallies[row["criterion"], None if row["level"] == "conversation" else 0] = _tally(row)
    return states


def _tally(row: MetricsByAppVersionRow) -> Tally:
    """Returns sums with the figures of a row."""
    count, mean, stddev = row["scored"], row["mean"] or 0.0, row["stddev"] or 0.0
    total = int(mean * ONE) * count
    squares = (int(stddev**2 * ONE) * ONE * count * (count - 1) + total**2) // (count or 1)
    # As many values up to each quantile as have it for their quantile.
    sketch: dict[int, int] = {}
    below = 0
    for share, value in ((0.5, row["p50"]), (0.9, row["p90"]), (0.99, row["p99"]), (1.0, row["p99"])):
        if value is not None and count:
            number, upto = bin_of(value), rank_of(share, count) + 1
            sketch[number] = sketch.get(number, 0) + upto - below
            below = upto
    return Tally(
        scored=count,
        no_score=row["no_score"],
        errors=row["errors"],
        total=total,
        squares=squares,
        passes=row["pass_count"],
        fails=row["fail_count"],
        sketch=sketch or None,
    )
