"""Checks the options of a run, its dates among them, and converts them to settings."""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from math import inf
from pathlib import Path
from time import time_ns
from typing import TypeVar

from msgspec import field
from msgspec.structs import replace
from pydantic import ValidationError

from turnwise.pipeline.io.containers import open_path
from turnwise.pipeline.settings import options as declared
from turnwise.pipeline.settings.options import CommonOptions, RawJudgeOptions, RawOptions, SinkPlace
from turnwise.pipeline.store.urls import absolute_url, shown_place
from turnwise.schemas.ces.names import is_name
from turnwise.schemas.config import (
    REDACTED_KINDS,
    AllPassRule,
    ConfigError,
    EvalConfig,
    JudgeConfig,
    RedactConfig,
    TokenPrices,
)
from turnwise.schemas.jsonio import fault_text, is_store_url
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.schemas.run import RunInfo
from turnwise.transforms.ces.judgements import CES_CRITERIA
from turnwise.transforms.criteria.base import Criterion, JudgedCriterion
from turnwise.transforms.decisions.gate import check_gate, outcome_fault
from turnwise.transforms.formats.registry import AUTO, FORMATS, check_log_format
from turnwise.transforms.judging import judges
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.setup import JudgeSettings, check_judge
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.selection import Selection, select

_NO_JUDGE = JudgeSettings(JudgeConfig(backend=judges.NONE.name))
PREVIOUS = "previous"
"""The value of `--baseline` that means the last run of the store."""
MAX_RECORD_BYTES = 64 * 1024 * 1024
"""A larger record is a failure unless an option says otherwise."""


class RunSettings(CommonOptions, frozen=True, kw_only=True):
    """The settings of a run.

    Attributes:
        is_distributed: Whether other processes do the work.
        sample_rate: Share of the conversations that are judged, 0..1.
        store: URL of the store for results and failures; "": none.
        scores_to: Address of what takes scores as events; "": none.
        store_app: App in the store for results that name none; "": the default app.
        plugins: Modules and files that add criteria, input formats, sinks and judges.
        workers: Processes of this machine that read and score a batch; 1: the command's own.
    """

    run: RunInfo
    config: EvalConfig
    criteria: tuple[Criterion, ...]
    input: tuple[str, ...] = ()
    eval_cases: tuple[str, ...] = ()
    max_record_bytes: int = MAX_RECORD_BYTES
    is_distributed: bool = False
    judge: JudgeSettings = _NO_JUDGE
    sample_rate: float = 1.0
    is_streaming: bool = False
    stream: declared.StreamSettings = field(default_factory=declared.StreamSettings)
    store: str = ""
    scores_to: str = ""
    store_app: str = ""
    plugins: tuple[str, ...] = ()
    workers: int = 1

    @property
    def store_place(self) -> SinkPlace | None:
        """The store that takes the tables as well; None: there is none."""
        return next((sink_place for sink_place in self.places if sink_place.option == "--store"), None)

    @property
    def places(self) -> tuple[SinkPlace, ...]:
        """The services that take tables as well: the store, and what takes scores as events."""
        run = self.run
        rest = (self.store_app, run.run_id, run.create_time, self.date or run.create_time[:10], self.output)
        named = {"--store": self.store, "--scores_to": self.scores_to}
        given = ((url, option) for option, url in named.items() if url)
        return tuple(SinkPlace(url, *rest, self.is_streaming, option=option) for url, option in given)

    @property
    def plugin_options(self) -> list[str]:
        """Options of later commands: a plugin may read the input, and have written the tables."""
        return [f"--plugin={plugin}" for plugin in self.plugins]

    @property
    def criteria_names(self) -> list[str]:
        """Names of all criteria that may be scored; those of CES cases last."""
        return [criterion.name for criterion in (*self.criteria, *self.selection.of_dialects)]

    @property
    def judged(self) -> tuple[JudgedCriterion, ...]:
        """The criteria that may ask the judge."""
        selection = self.selection
        comparers = (selection.comparer,) if selection.comparer else ()
        return (*selection.judged, *(selection.of_dialects if self.eval_cases else ()), *comparers)

    @property
    def judged_models(self) -> list[str]:
        """The models that the judge may be asked for, as the config names them."""
        return [options.judge_model or self.judge.config.model for options in self.judge_options]

    @property
    def judge_options(self) -> list[JudgeModelOptions]:
        """What the criteria say of each model that the judge may be asked for."""
        return [options for criterion in self.judged for options in criterion.options.by_model()]

    @property
    def selection(self) -> Selection:
        """The criteria, by how they are scored."""
        judge = self.judge
        dialects = {"ces": CES_CRITERIA} if judge.kind.is_judging else None
        asks_models = judge.kind.connect is not None
        # A key in the environment alone is no consent to send texts of calls to its service.
        is_wanted = judge.is_named or any(isinstance(c, JudgedCriterion) for c in self.criteria)
        has_judge = judge.kind.is_judging and is_wanted
        redact = self.config.redact
        return select(self.criteria, self.sample_rate, dialects, judge.config, asks_models, has_judge, redact)


def check_options(
    options: RawOptions, stream: Mapping[str, float | str], is_distributed: bool, is_streaming: bool
) -> RunSettings:
    """Converts options to settings; raises ConfigError for the first error."""
    _check_values(options)
    if is_streaming:
        form = options.output_format
        chosen = {
            "--date": options.date is not None,
            "--estimate": options.judging.estimate,
            "--workers": options.workers is not None,
            "--baseline previous": options.baseline == PREVIOUS,
            f"--output_format {form}": form != declared.DEFAULT_OUTPUT_FORMAT,
        }
        given = [name for name, is_given in chosen.items() if is_given]
        paths = [path for path in options.input if is_store_url(path) or declared.is_bigquery(path)]
        given += [f"--input {shown_place(path)}" for path in paths]
        if given:
            raise ConfigError(f"{', '.join(given)} cannot be used with --streaming")
    config = read_config(options.config)
    if options.match_cases_by:
        config = config.model_copy(update={"match_cases_by": options.match_cases_by})
    config = with_redaction(config, options.redact)
    has_cases = bool(options.eval_cases)
    config, criteria = checked_criteria(config, options.input_format, has_cases, options.fail_on)
    run = run_info(options.run_id, config, not options.no_transcripts)
    # A run that is repeated under the same id has its limits anew.
    judge = judge_settings(options.judging, config.judge, f"{run.run_id} {run.create_time}", criteria)
    return RunSettings(
        run=judged_by(run, judge),
        config=config,
        criteria=criteria,
        judge=with_batches(options, judge, criteria, is_distributed, is_streaming),
        sample_rate=options.judging.sample_rate,
        input=tuple(options.input),
        eval_cases=tuple(map(absolute_url, options.eval_cases)),
        max_record_bytes=int(options.max_record_mb * 1024 * 1024),
        is_distributed=is_distributed,
        is_streaming=is_streaming,
        stream=declared.check_stream(stream, is_streaming),
        store=options.store or "",
        scores_to=options.scores_to or "",
        store_app=options.store_app or "",
        plugins=tuple(options.plugin),
        **{name: getattr(options, name) for name in CommonOptions.__struct_fields__},
    )


def checked_criteria(
    config: EvalConfig, input_format: str, has_cases: bool, fail_on: Sequence[str]
) -> tuple[EvalConfig, tuple[Criterion, ...]]:
    """Returns the config, with the criteria that end the run red, and its criteria; raises ConfigError."""
    check_log_format(input_format)
    if config.match_cases_by and not has_cases:
        raise ConfigError(
            "--match_cases_by needs --eval_cases: the cases that conversations are held against"
        )
    criteria = build_criteria(config)
    may_lack_rubrics = not has_cases and input_format != AUTO and not FORMATS[input_format].has_rubrics
    if lacking := next((c.name for c in criteria if may_lack_rubrics and c.lacks_rubrics), None):
        raise ConfigError(f"config: criteria.{lacking}: there is no rubric: add rubrics, or use --eval_cases")
    check_gate(config.gate, criteria)
    thresholds = {criterion.name: criterion.threshold for criterion in criteria}
    for name in fail_on:
        if fault := outcome_fault(name, thresholds):
            raise ConfigError(f"--fail_on {name}: {fault}")
    all_pass = (AllPassRule(rule="all_pass", criterion=name) for name in fail_on)
    rules = tuple(dict.fromkeys((*config.gate.rules, *all_pass)))
    return config.model_copy(update={"gate": config.gate.model_copy(update={"rules": rules})}), criteria


def with_redaction(config: EvalConfig, kinds: Sequence[str]) -> EvalConfig:
    """Returns a config that redacts these kinds, too (`default`: all; none: as it is); raises ConfigError."""
    if not kinds:
        return config
    known = config.redact or RedactConfig()
    named = REDACTED_KINDS if list(kinds) == ["default"] else kinds
    try:
        redact = RedactConfig.model_validate({**known.model_dump(), "kinds": named})
    except ValidationError as error:
        raise ConfigError(f"--redact: {fault_text(error.errors()[0])}") from None
    return config.model_copy(update={"redact": redact})


def run_info(run_id: str | None, config: EvalConfig, transcripts: bool = True) -> RunInfo:
    """Returns what is said of a run that starts now; its id is made from the time if none is given."""
    # An odd number of nanoseconds is written with nine digits, so texts sort as times do, and two executions
    # of one run differ.
    now = time_ns() | 1
    seconds, nanos = divmod(now, 10**9)
    started = datetime.fromtimestamp(seconds, UTC).replace(microsecond=nanos // 1000)
    name = run_id or started.strftime("run-%Y%m%dT%H%M%S-%fZ")
    return RunInfo(name, nanos_timestamp(now), config.slices, config.tools, "", transcripts, config.redact)


def judged_by(run: RunInfo, judge: JudgeSettings) -> RunInfo:
    """Returns a run with the digest of its judge's backend, model and generation settings."""
    stated = judge.config.model_dump_json(include={"backend", "model", "generation_config"})
    return replace(run, judge=blake2b(stated.encode(), digest_size=4).hexdigest())


def _check_values(options: RawOptions) -> None:
    if not options.input:
        raise ConfigError("--input is missing: name the conversation logs to score")
    if not options.output and not options.judging.estimate:
        raise ConfigError("--output is missing: name a directory for the results")
    if options.max_failure_ratio is not None and not 0 <= options.max_failure_ratio <= 1:
        raise ConfigError(f"--max_failure_ratio must lie between 0 and 1, not {options.max_failure_ratio}")
    if options.max_bigquery_gb is not None and not 0 < options.max_bigquery_gb < inf:
        raise ConfigError(f"--max_bigquery_gb must be a number above 0, not {options.max_bigquery_gb}")
    if not 0 < options.max_record_mb < inf:
        raise ConfigError(f"--max_record_mb must be a number above 0, not {options.max_record_mb}")
    if options.store_app is not None and not is_name("app", options.store_app):
        raise ConfigError(f"--store_app {options.store_app}: its form is projects/P/locations/L/apps/A")
    if options.baseline == PREVIOUS and not is_store_url(options.store or ""):
        raise ConfigError(
            "--baseline previous: is the last run of a --store that is a database (sqlite:///FILE, "
            "postgresql://...); name a directory of this name ./previous"
        )


def try_judge(settings: RunSettings) -> None:
    """Raises ConfigError if the judge cannot work: before anything runs, at no cost."""
    if settings.judged:
        check_judge(settings.judge, os.environ, settings.judge_options)


DEFAULT_CACHE = Path.home() / ".cache/turnwise/replies.sqlite"
"""Default file of the judge cache."""

_NAMING = frozenset(("backend", "model", "panel", "cascade", "project", "base_url", "api_key_secret"))
"""Fields of the config of which each one says which judge is meant."""


def judge_settings(
    options: RawJudgeOptions, config: JudgeConfig, run_id: str, criteria: Sequence[Criterion] = ()
) -> JudgeSettings:
    """Returns who judges: the command line goes before the config. Raises ConfigError."""
    if options.judge_concurrency < 1:
        raise ConfigError(f"--judge_concurrency must be 1 or more, not {options.judge_concurrency}")
    if not 0 <= options.sample_rate <= 1:
        raise ConfigError(f"--sample_rate must lie between 0 and 1, not {options.sample_rate}")
    stated_fields = config.model_fields_set
    if options.judge_model:
        config = config.model_copy(update={"panel": ()})
    own_model = options.judge_model or (config.model if "model" in config.model_fields_set else "")
    models = [own_model or next(iter(config.panel), ""), *config.panel]
    of_criteria = [asked.options for asked in criteria if isinstance(asked, JudgedCriterion)]
    for stated in of_criteria:
        models += stated.panel or filter(None, [stated.judge_model])
    asks_several = any(len(asked) > 1 for _, asked in _asked_models(config, criteria))
    # --judge replaces the backend.
    if asks_several and config.backend and not (options.judge or judges.find_judge(config).connect):
        raise ConfigError(f"judge: a panel or cascade asks models, and {config.backend} asks none")
    cascades = [config.cascade, *(stated.cascade for stated in of_criteria)]
    kind = _judge_kind(options, config, [*models, *[cascade.model for cascade in cascades if cascade]])
    model = models[0]
    if kind.needs_model and not model:  # the first that a criterion names of the judge
        model = next((model for model in models if model and judges.route_of(kind, model).kind is kind), "")
        if not model:
            raise ConfigError(f"judge {kind.name}: no model is named; give --judge_model or judge.model")
    default = None if "cache" in stated_fields else str(DEFAULT_CACHE)  # null: no cache
    cache = options.judge_cache or config.cache or default
    kept = None if cache == "none" else cache
    update = {"backend": kind.name, "model": model or kind.model or config.model, "cache": kept}
    judge = config.model_copy(update=update)
    if kind.connect:
        check_several(kind, judge, criteria)
    renews = judge.per != "run" and kind.connect is not None
    if renews and judge.cache is None:
        where = "name one: --judge_cache FILE, or postgresql://HOST/DB for workers elsewhere"
        raise ConfigError(f"judge.per: the cache counts the budget of the {judge.per}; {where}")
    is_named = bool(options.judge or options.judge_model or _NAMING & stated_fields)
    known = judge, options.judge_concurrency, run_id, options.estimate
    return JudgeSettings(*known, is_named=is_named, shares_budget=renews)


def with_batches(
    options: RawOptions,
    judge: JudgeSettings,
    criteria: Sequence[Criterion],
    is_distributed: bool,
    is_streaming: bool,
) -> JudgeSettings:
    """Returns the settings of a judge that is asked by batch jobs if `--judge_batch` says so.

    Raises ConfigError if the judge takes no such jobs, or there is nowhere to keep them.
    """
    if not options.judge_batch:
        if options.judge_batch_wait is not None:
            raise ConfigError("--judge_batch_wait needs --judge_batch")
        return judge
    wait_s = 6 * 3600.0 if options.judge_batch_wait is None else options.judge_batch_wait
    if not 0 <= wait_s < inf:
        raise ConfigError(f"--judge_batch_wait must be 0 or more seconds, not {wait_s}")
    if is_streaming:
        raise ConfigError("--judge_batch cannot be used with --streaming")
    if is_distributed:
        raise ConfigError("--judge_batch is for DirectRunner: one process waits for the jobs")
    if options.workers is not None and options.workers > 1:
        raise ConfigError("--judge_batch: one process waits for the jobs; leave out --workers")
    config = judge.config
    if judge.kind.connect and config.cache is None:
        raise ConfigError("--judge_batch: its jobs are kept in the judge cache; name one: --judge_cache FILE")
    models = [model for _, asked in _asked_models(config, criteria) for model in asked]
    routed = (judges.route_of(judge.kind, model).kind for model in models if judge.kind.connect)
    for kind in (judge.kind, *routed):
        if not kind.has_batches:
            able = ", ".join(sorted(name for name, known in judges.JUDGES.items() if known.has_batches))
            raise ConfigError(f"--judge_batch: the judge {kind.name} takes no batch jobs (there are: {able})")
        is_vertexai = False
        with suppress(ConfigError):  # it lacks credentials, which is told later
            settings = judges.settings_of(kind, config, judge.kind)
            is_vertexai = kind.access is not None and kind.access(settings, os.environ).vertexai
        if is_vertexai:
            what = "Vertex AI reads batch jobs from Cloud Storage, where turnwise writes none"
            raise ConfigError(f"--judge_batch: {what}; use the Gemini API with GOOGLE_API_KEY")
    halved = {}
    for model, prices in config.prices.items():
        stated = prices.model_dump(exclude_none=True)
        halved[model] = TokenPrices(**{name: price / 2 for name, price in stated.items()})
    return replace(judge, config=config.model_copy(update={"prices": halved}), batch_wait_s=wait_s)


def check_several(kind: judges.JudgeKind, config: JudgeConfig, criteria: Sequence[Criterion]) -> None:
    """Raises ConfigError if a panel or cascade asks one model twice, by whatever names."""
    for where, models in _asked_models(config, criteria):
        known: dict[tuple[str, str], str] = {}
        for name in models:
            route = judges.route_of(kind, name)
            key = (route.kind.name, route.model.strip())
            if key in known:
                names = f"{known[key]} and {name}"
                raise ConfigError(f"{where}: {names} are the same model; a panel or cascade asks several")
            known[key] = name


def _asked_models(config: JudgeConfig, criteria: Sequence[Criterion]) -> list[tuple[str, list[str]]]:
    """Returns where models are named, in `judge` and in criteria, and the models that are asked there."""
    judged = [asked for asked in criteria if isinstance(asked, JudgedCriterion)]
    stated = [("judge", JudgeModelOptions()), *((f"criteria.{c.name}", c.options) for c in judged)]
    return [
        (where, [asked.judge_model or config.model for asked in options.within(config).by_model()])
        for where, options in stated
    ]


def _judge_kind(options: RawJudgeOptions, config: JudgeConfig, models: Sequence[str]) -> judges.JudgeKind:
    """Returns the judge that is named; else that of the run's model, an available one, or a criterion's.

    The first of `models` is the run's, "" if none is named.
    """
    if options.judge or config.backend:
        kind = judges.JUDGES.find(options.judge, "--judge ") if options.judge else judges.find_judge(config)
        if options.estimate and not kind.connect:
            raise ConfigError("--estimate needs a judge with a model; the configured judge has none")
    else:
        provider, *others = [judges.provider_of(model) for model in models]
        kind = provider or judges.default_judge(config, os.environ) or next(filter(None, others), judges.NONE)
        if options.estimate and not kind.connect:
            kind = next(judge for judge in judges.JUDGES.values() if judge.connect and not judge.needs_model)
    for model in models:
        if kind.connect:
            judges.route_of(kind, model)
        elif not kind.is_judging:
            judges.check_provider(model)
    return kind


def read_config(path: str | None) -> EvalConfig:
    """Reads a config file, on any filesystem that Beam supports (None: the default); raises ConfigError."""
    if path is None:
        return EvalConfig()
    declared.check_google(f"--config {path}", path)
    try:
        with open_path(path) as file:
            text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"--config {path}: not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"--config {path}: {getattr(error, 'strerror', None) or error}") from None
    return parse_config(text, path)


# Dates of scheduled runs: `--date`, and `{date}` in places.

MOST_DATES = 366
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_FIELD = re.compile(r"\{date(?::(?P<form>[^{}]*))?\}")
_FORM = re.compile(r"(?:%[Ymdj]|[^%])+")
_FORMS = "an ISO date, yesterday, today (UTC), or a range A..B"

Filled = TypeVar("Filled", str, "str | None")


def parse_dates(text: str, now: datetime | None = None) -> list[date]:
    """Returns the dates that `--date` names, one, or a range with its ends, in order; raises ConfigError.

    `today` and `yesterday` are dates in UTC; `now` is the time, None: the clock's.
    """
    today = (now or datetime.now(UTC)).astimezone(UTC).date()
    first, dots, last = text.partition("..")
    start = _date(first, text, today)
    end = _date(last, text, today) if dots else start
    if end < start:
        raise ConfigError(f"--date {text}: the range is turned round: {end} is before {start}")
    days = (end - start).days + 1
    if days > MOST_DATES:
        raise ConfigError(f"--date {text}: {days} dates, of which one command runs {MOST_DATES} at most")
    return [start + timedelta(number) for number in range(days)]


def _date(word: str, text: str, today: date) -> date:
    relative = {"today": 0, "yesterday": 1}
    if word in relative:
        return today - timedelta(relative[word])
    if not _ISO.fullmatch(word):
        raise ConfigError(f"--date {text}: is none of {_FORMS}")
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise ConfigError(f"--date {text}: there is no date {word}") from None


def earlier_dates(days: Sequence[date], number: int) -> list[date]:
    """Returns the `number` dates before the first one, in order; raises ConfigError."""
    if not 0 <= number <= MOST_DATES:
        raise ConfigError(f"--lookback must lie between 0 and {MOST_DATES}, not {number}")
    try:
        return [days[0] - timedelta(back) for back in range(number, 0, -1)]
    except OverflowError:
        raise ConfigError(f"--lookback {number}: there are fewer dates before {days[0]}") from None


def names_date(path: str | None) -> bool:
    """Returns whether a place holds `{date}`."""
    return bool(path and _FIELD.search(path))


def filled(option: str, path: Filled, day: date) -> Filled:
    """Returns a place with the date for `{date}` (ISO) and `{date:%Y%m%d}`; raises ConfigError."""

    def text(match: "re.Match[str]") -> str:
        form = match["form"]
        if form is None:
            return day.isoformat()
        if not _FORM.fullmatch(form):
            raise ConfigError(f"{option} {path}: {match[0]}: its form has %Y, %m, %d and %j only")
        return day.strftime(form.replace("%Y", f"{day.year:04}"))

    return path if path is None else _FIELD.sub(text, path)


def dated(options: RawOptions, content: Callable[[str], str]) -> RawOptions:
    """Returns the options of a run with its date in place of `{date}`, and with an id made of the date.

    `content` returns the digest of what a place of eval cases holds: changed ones make another run.
    Options without `--date` are returned as they are. Of a range, its first date counts. Raises ConfigError
    if `{date}` stands without `--date`, or `--date` without `{date}`.
    """
    inputs = [declared.with_query_text(path) for path in options.input]
    rest = {name: getattr(options, name) for name in ("output", "baseline", "store", "run_id")}
    stated = [*(("input", path) for path in inputs), *(("eval_cases", path) for path in options.eval_cases)]
    named = [f"--{name} {path}" for name, path in (*stated, *rest.items()) if names_date(path)]
    if options.date is None:
        if named:
            raise ConfigError(f"{named[0]}: {{date}} needs --date ({_FORMS})")
        return options
    if not named:
        raise ConfigError(
            f"--date {options.date}: no option holds {{date}}, such as --input 'logs/{{date}}/'"
        )
    day = parse_dates(options.date)[0]
    options = replace(
        options,
        date=day.isoformat(),
        input=[filled("--input", path, day) for path in inputs],
        eval_cases=[filled("--eval_cases", path, day) for path in options.eval_cases],
        **{name: filled(f"--{name}", rest[name], day) for name in ("output", "store", "run_id")},
    )
    if options.run_id:
        return options
    # The same for the same inputs, eval cases and config.
    judging = options.judging
    known = {
        "input": sorted(map(shown_place, options.input)),
        "input_format": options.input_format,
        "eval_cases": sorted(map(content, options.eval_cases)),
        "config": read_config(options.config).model_dump(mode="json"),
        "judge": [judging.judge, judging.judge_model, judging.sample_rate],
    }
    digest = blake2b(json.dumps(known, sort_keys=True).encode(), digest_size=4)
    return replace(options, run_id=f"{day.isoformat()}-{digest.hexdigest()}")


def check_range(options: RawOptions, days: Sequence[date]) -> None:
    """Raises ConfigError if two of several runs would read the same, use one directory, or have one id.

    A place that holds the date in a form such as `{date:%m}` may still be the same for two of the dates.
    """
    inputs = [declared.with_query_text(path) for path in options.input]
    # Beside inputs of a date, there may be one that all dates share.
    of_dates = list(filter(names_date, inputs)) or inputs
    texts = [("--input", path, "would read the same") for path in of_dates]
    if options.output and not options.judging.estimate:
        texts.append(("--output", options.output, "would have one output directory"))
    if options.run_id:
        texts.append(("--run_id", options.run_id, "would be one run, which replaces itself"))
    for option, text, what in texts:
        seen: dict[str, date] = {}
        for day in days:
            other = seen.setdefault(filled(option, text, day), day)
            if other != day:
                shown = declared.shown_address(text)
                raise ConfigError(
                    f"{option} {shown}: {other} and {day} {what}: put the whole {{date}} into it"
                )
