"""Runs the batch job, and applies its alert rules: a night is one window."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from time import time

import apache_beam as beam
import msgspec
from apache_beam.options.pipeline_options import PipelineOptions
from msgspec import to_builtins
from msgspec.structs import replace

from turnwise.pipeline.batch import execution
from turnwise.pipeline.batch.build import build
from turnwise.pipeline.batch.process import Interrupted, interrupted_by_signal
from turnwise.pipeline.batch.processes import run_in_workers
from turnwise.pipeline.io import run_writer, sinks
from turnwise.pipeline.io.containers import join_path, path_exists
from turnwise.pipeline.io.files import file_patterns, list_inputs
from turnwise.pipeline.io.sources import FileSource, Source
from turnwise.pipeline.io.terminal import complain, say
from turnwise.pipeline.report.comparison import may_name_version, open_baseline
from turnwise.pipeline.report.ending import begun_document, end_run, report
from turnwise.pipeline.report.gate import check_baseline, find_baseline
from turnwise.pipeline.report.terminal import estimate_text, show_progress
from turnwise.pipeline.runs.directory import versions_named, written_run
from turnwise.pipeline.settings.options import shown_address
from turnwise.pipeline.settings.remote_workers import are_elsewhere, check_access, try_staging
from turnwise.pipeline.settings.run import PREVIOUS, RunSettings, try_judge
from turnwise.pipeline.streaming.alerts import AlertError, open_alert_sink
from turnwise.schemas.ces.names import version_id
from turnwise.schemas.config import STATUS, Alert, ConfigError
from turnwise.schemas.jsonio import JsonObject, is_local, is_store_url
from turnwise.schemas.registry import modules_of
from turnwise.schemas.rows import TABLES, MetricsByAppVersionRow, ReadAgain
from turnwise.schemas.run import RUN_FILE, InputFiles, RunAlerts, RunDocument
from turnwise.transforms.beam.windows import OF_NO_VERSION, WindowMetrics, evaluate_rule
from turnwise.transforms.decisions.run import Run
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.setup import open_judge
from turnwise.transforms.metrics.state import ONE, MetricsState, Tally, bin_of, rank_of
from turnwise.transforms.scoring.redaction import redact_document
from turnwise.transforms.text.dates import time_seconds
from turnwise.transforms.text.patterns import glob_matches

ALERT_PROBLEM = "alert: "
"""Begins the problem of a run that raised an alert, or could not send one."""
_DAY = 86_400.0
_OF_RUN: Mapping[str, object] = {"counts": {}, "problems": [], "exit_status": 0}


def raise_alerts(
    settings: RunSettings, rows: Iterable[MetricsByAppVersionRow], begun: JsonObject
) -> tuple[RunAlerts | None, list[str]]:
    """Applies the rules to a batch, and sends the alerts.

    `rows` are its `metrics_by_app_version`, `begun` is what is known of its `run.json`. Returns what stands
    in `run.json` (None: there is no rule), and the problems of the run.
    """
    if not settings.config.alerts:
        return None, []
    document = msgspec.convert({**begun, **_OF_RUN}, RunDocument)
    most = max(rule.drop.baseline if rule.drop else 1 for rule in settings.config.alerts)
    nights, number, gap = _nights(settings.baseline, document, most)
    states = _states(rows)
    # The window is the date; without one it is the time of the run, which no other one has.
    is_dated = document.date is not None
    start = float(time_seconds(f"{document.date}T00:00:00Z" if is_dated else document.create_time) or 0)
    end = start + _DAY if is_dated else time()
    raised: list[Alert] = []
    untested: dict[str, list[str]] = {}
    for rule in settings.config.alerts:
        versions = [version for version in states if glob_matches(rule.app_version, version)]
        if not versions:
            untested.setdefault(OF_NO_VERSION, []).append(rule.name)
        for version in versions:
            window = WindowMetrics(start, end, version, "ON_TIME", 0, states[version])
            baseline = _state_before(nights[: rule.drop.baseline if rule.drop else 0], version)
            result = evaluate_rule(rule, window, baseline, number, gap)
            if isinstance(result, Alert):
                raised.append(result)
            elif result:
                untested.setdefault(result, []).append(f"{rule.name} ({version or 'no version'})")
    lines = [f"{', '.join(names)}: {why}" for why, names in untested.items()]
    before = settings.baseline or ""
    if is_store_url(before):  # whose address may hold a password
        before = f"#{before.rsplit('#', 1)[-1]}"
    problems = [f"{ALERT_PROBLEM}{alert.message}" for alert in raised]
    if settings.stream.alerts is not None:
        sink = open_alert_sink(settings.stream.alerts, None)
        for alert in raised:
            try:
                sink.send(alert)
            except AlertError as error:
                problems.append(f"{ALERT_PROBLEM}{alert.rule} was not sent: {error}")
    return RunAlerts(number, before if nights else None, raised, lines), problems


_States = Mapping[str, MetricsState]


def _nights(baseline: str | None, document: RunDocument, most: int) -> tuple[Sequence[_States], int, str]:
    """Returns the sums of the last runs before one, the number of its night, and why nothing is compared.

    The first run is the baseline, each further one what the one after it was compared with.

    The number grows with the nights from 1, whichever of them is the baseline: the test of night i may err
    with a probability that falls with i, so that all nights together err with that of the rule at most.
    """
    if baseline is None or may_name_version(baseline):
        return [], 1, "there is no run to compare with: name one by --baseline"
    number = 1
    try:
        run, named = open_baseline(baseline)
        dates = [entry.date or entry.create_time[:10] for entry in (document, run.document)]
        day, day_before = map(date.fromisoformat, dates)
        number = _night(run.document) + max(1, (day - day_before).days)
        if run.document.scoring_settings != document.scoring_settings:
            return [], number, f"the scoring settings changed since {run.document.run_id}"
        first = _states(run.metrics())
        of_named = first if named is None else {name: first[name] for name in versions_named(named, first)}
        nights, later = [of_named], run.document
        while len(nights) < most and later.alerts and (before := later.alerts.before) is not None:
            if before[0] == "#":
                before = f"{baseline.rsplit('#', 1)[0]}{before}"
            try:
                run, _ = open_baseline(before)
            except (ConfigError, OSError):  # removed, as old nights are
                break
            earlier = run.document
            # A run that was made anew may have been compared with a later one.
            if _night(earlier) >= _night(later) or earlier.scoring_settings != document.scoring_settings:
                break
            nights.append(_states(run.metrics()))
            later = earlier
        return nights, number, f"{baseline} holds no conversation that was scored"
    except (ConfigError, OSError) as error:
        again = "; the nights are counted from 1 again" if number == 1 else ""
        return [], number, f"the baseline cannot be read: {error}{again}"


def _night(document: RunDocument) -> int:
    return document.alerts.night if document.alerts else 1


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
            continue
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
        tally = Tally(count, row["no_score"], row["errors"], total, squares, sketch=sketch or None)
        tally.passes, tally.fails = row["pass_count"], row["fail_count"]
        state.tallies[row["criterion"], None if row["level"] == "conversation" else 0] = tally
    return states


def run(settings: RunSettings, options: PipelineOptions) -> int:
    """Runs the batch job and reports on it; raises ConfigError if options or inputs are wrong.

    Returns the exit status: 0, or 1 if the run failed or missed a gate (`--max_failure_ratio`, a rule).
    """
    only_translates = execution.only_translates(options)
    if not only_translates:
        check_access(settings)
    logs = execution.log_source(settings)
    paths = tuple(path for path in settings.eval_cases if not is_store_url(path))
    patterns = file_patterns("--eval_cases", paths)
    cases: Source | None = None
    if patterns:
        cases = FileSource(patterns, settings.max_record_bytes, "rejected_cases")
    if len(paths) < len(settings.eval_cases):
        cases = sinks.deferred("io.store", "with_stores")(cases, settings)
    with execution.made_pipeline(options) as pipeline:
        if settings.judge.only_estimates:
            build(pipeline, logs, cases, settings, run_writer.Sink())
            with interrupted_by_signal(), show_progress():
                result = execution.run_to_the_end(pipeline)
            say(estimate_text(settings, execution.judge_usage(execution.counters(result))))
            return 0
        if settings.baseline is not None:
            if settings.baseline == PREVIOUS and only_translates:
                raise ConfigError("--baseline previous: a template would keep it; name an output directory")
            places = settings.date, settings.output, settings.store, settings.store_app
            baseline = find_baseline(settings.baseline, *places, begun_document(settings))
            settings = replace(settings, baseline=baseline)
        inputs: InputFiles | None = None
        if settings.date and not only_translates:
            for path in settings.input:
                listed = list_inputs([path])
                if listed is not None and not listed.count:
                    what = f"there is no input of {settings.date}"
                    raise ConfigError(f"--input {shown_address(path)}: {what}")
            inputs = list_inputs(settings.input)
        folder = run_writer.folder_name() if settings.workers > 1 else None
        concluded = partial(conclude, settings, inputs=inputs)
        given = settings.output, settings.output_format, concluded, settings.places
        sink = run_writer.RunSink(*given, folder=folder)
        if only_translates:
            build(pipeline, logs, cases, settings, sink)
            execution.translate(pipeline)
            return 0
        if settings.workers > 1 and isinstance(logs, FileSource):
            work: Callable[[], object] = partial(run_in_workers, pipeline, logs, cases, settings, sink)
        else:
            build(pipeline, logs, cases, settings, sink)
            work = show_progress()(partial(execution.run_to_the_end, pipeline))
        with sinks.discarding(settings.store_place, goes_on=settings.is_distributed):
            return _run_checked(pipeline, settings, work)


def _run_checked(pipeline: beam.Pipeline, settings: RunSettings, work: Callable[[], object]) -> int:
    run_writer.check_directory(settings.output, execution.replaces_earlier(settings), settings.is_distributed)
    if are_elsewhere(pipeline.runner, pipeline.options):
        try_staging(pipeline.options)
    for service in settings.places:
        sinks.prepare_service(service)
    try_judge(settings)
    if settings.stream.alerts is not None:
        if not settings.config.alerts:
            raise ConfigError("--alerts: the config has no rule for it: add `alerts`")
        open_alert_sink(settings.stream.alerts, None)
    keep_inputs(settings)
    open_own_judge(settings)
    with run_writer.locked(settings.output, settings.run) as killed:
        given = settings.output, execution.replaces_earlier(settings), settings.is_distributed
        run_writer.check_directory(*given, was_killed=killed is not None)
        run_writer.clear_unfinished(settings.output)
        record, sink_place = _record(settings), settings.store_place
        if killed and killed.run_id and record and sink_place:
            # A process that was killed could not write itself that its run broke off.
            of_killed = sink_place._replace(run_id=killed.run_id, create_time=killed.create_time)
            record.break_off(of_killed, "ERROR", "its process was killed")
        try:
            begun, goes_on = begun_document(settings), settings.is_distributed
            with sinks.recorded(record, sink_place, begun, goes_on), interrupted_by_signal():
                work()
                return report_batch(settings)
        except (OSError, KeyboardInterrupt, AuthenticationError) as error:
            named = run_writer.name_full_disk(error, settings.output) if isinstance(error, OSError) else error
            # A job elsewhere, of which this process lost sight, may go on and needs its files.
            is_lost = isinstance(error, OSError) and not isinstance(error, execution.RemoteRunError)
            if not (is_lost and settings.is_distributed):
                run_writer.clear_unfinished(settings.output)
            if isinstance(error, Interrupted):
                raise Interrupted(error.number, _kept(settings)) from None
            if isinstance(error, execution.RemoteRunError) and settings.workers > 1:
                raise execution.RemoteRunError(f"{error}{_kept(settings)}") from None
            raise named from named.__cause__


def _record(settings: RunSettings) -> sinks.RunRecord | None:
    sink_place = settings.store_place
    return sinks.find_service("--store", sink_place.url).record if sink_place else None


def _kept(settings: RunSettings) -> str:
    """Returns what became of an interrupted run, as part of a sentence: of its files, and rows in a store."""
    kept = "; no file of this run was kept"
    if settings.is_distributed:
        kept = "; the job may go on, and then ends itself"
    elif not is_local(settings.output):
        kept = "; its files are named by no run.json, and removed later"
    sink_place = settings.store_place
    left = sinks.find_service("--store", sink_place.url).left(sink_place) if sink_place else ""
    return f"{kept}; {left}" if left else kept


def conclude(settings: RunSettings, finished: run_writer.Finished, inputs: InputFiles | None) -> JsonObject:
    """Returns the content of a batch run's `run.json`, when its tables are written."""
    sink_place = settings.store_place
    lost: list[str] = []
    for number, service in enumerate(settings.places):
        stored = [element for of, element in finished.stored if of == number]
        lost += sinks.complete_service(service, stored)
    alerts, problems = raise_alerts(settings, finished.versions, begun_document(settings))
    usage, read = execution.judge_usage(finished.counts), partial(written_run, settings.output)
    made = finished.counts, usage, finished.versions, finished.tables, read
    document = end_run(settings, *made, to_read=finished.to_read, lost=[*lost, *problems])
    if unread := _unread(settings, read(document), finished.tables["files"]):
        document |= {"problems": [unread, *document["problems"]], "exit_status": 1}
    document |= {"alerts": to_builtins(alerts), "input_files": to_builtins(inputs)}
    document = redact_document(document, settings.config.redact)
    if sink_place and (record := _record(settings)):
        record.complete(sink_place, document)
    return document


def _unread(settings: RunSettings, run: Run, files: Iterable[str]) -> str | None:
    """Returns which rows in a plugin's format cannot be read; None: none, or the format is built in."""
    kind = sinks.SINKS[settings.output_format]
    if all(name.startswith("turnwise.pipeline.") for name in modules_of(kind)):
        return None
    try:
        for table in sorted(TABLES.keys() & {*files}):
            for _ in run.rows(table):  # which also compares their number with what was written
                pass
    except (ConfigError, OSError) as error:
        return f"sink {kind.name}: {error}"
    return None


def report_batch(settings: RunSettings) -> int:
    """Reports on a batch by what it wrote; raises OSError if that is not there, or of another run."""
    run_of_batch = settings.run
    is_there = path_exists(join_path(settings.output, RUN_FILE))
    document = run_writer.read_run_file(settings.output) if is_there else {}
    run_id, create_time = document.get("run_id"), document.get("create_time") or ""
    # Every execution of a date has the same run_id.
    if (run_id, create_time) != (run_of_batch.run_id, run_of_batch.create_time):
        if not document or (run_id == run_of_batch.run_id and create_time < run_of_batch.create_time):
            raise OSError(f"{settings.output}: the run has ended, but left no run.json")
        raise OSError(f"{settings.output}: another run, {run_id} of {create_time}, has replaced this one")
    try:
        rows = ReadAgain(partial(written_run(settings.output, document).rows, "metrics_by_app_version"))
        for _ in rows:
            pass
    except ConfigError as error:  # what was written cannot be read back: no fault of the options
        raise OSError(str(error)) from None
    status = report(settings, rows, document)
    for line in (document["alerts"] or {}).get("untested", ()):
        complain(f"alert rules not tested: {line}")
    return status


def open_own_judge(settings: RunSettings) -> None:
    """Opens the judge that this process will ask, so that one that cannot be opened ends no run midway."""
    if settings.judged and settings.judge.kind.connect and not settings.is_distributed:
        open_judge(settings.judge)


def keep_inputs(settings: RunSettings) -> None:
    """Raises ConfigError if --overwrite could remove an input, or the baseline cannot be read."""
    if settings.baseline is not None:
        check_baseline(settings)
    output = Path(settings.output).resolve()
    # A baseline may be DIR#VERSION.
    baseline = settings.baseline or ""
    places = filter(None, (baseline, baseline.rpartition("#")[0]))
    for path in (*settings.input, *settings.eval_cases, *places):
        folder = Path(path).resolve()
        may_remove = settings.overwrite or settings.date
        if may_remove and is_local(path) and output in (folder, *folder.parents):
            fault = f": holds the input {path}, which --overwrite could remove"
            raise ConfigError(f"--output {settings.output}{fault}")
