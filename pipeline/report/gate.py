"""Applies the rules of a gate to a finished run."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from pydantic import ValidationError

from turnwise.pipeline.comparison.sides import problems_of, sides_of_runs
from turnwise.pipeline.gating.reading import gated_versions
from turnwise.pipeline.gating.report import (
    checks_of,
    lost_cases_of_run,
    lost_of_run,
    lost_records,
    read_first,
    rule_line,
    status_of,
)
from turnwise.pipeline.io.run_reader import RunDirectory, open_run, written_run
from turnwise.pipeline.settings.run import RunSettings, read_config
from turnwise.schemas.comparison import Comparison
from turnwise.schemas.config import AllPassRule, ConfigError, GateConfig, NotWorseRule
from turnwise.schemas.gate import GATE_PROBLEM, GateReport
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import ConversationRow, FailureRow, ScoreRow
from turnwise.transforms.decisions.gate.bounds import mark_missing
from turnwise.transforms.decisions.gate.measured import NO_BASELINE, BaselineState, baseline_state, gate_fault
from turnwise.transforms.decisions.gate.rules import apply_rules
from turnwise.transforms.scoring.evaluate import STATUS


def gate_report(
    run: RunDirectory, rules: GateConfig, baseline: str | None = None, versions: Sequence[str] = ()
) -> GateReport:
    """Applies the rules to a finished run.

    Args:
        run: The run.
        rules: The rules; at least one.
        baseline: Output directory of the run that it is compared with; None: there is none.
        versions: App versions of the baseline and of the run; empty: the one of each.

    Raises:
        ConfigError: A file or the baseline cannot be read, or the baseline was measured differently.
    """
    run.check_results()
    failures = list(run.failures())
    against = _against(run, baseline, versions)
    comparison = None if against is None else against.comparison
    compared = {} if comparison is None else {comparison.b.app_versions[0]: comparison}
    state = NO_BASELINE if against is None else against.state
    tables, run_id = (run.scores(), _conversations(run), failures), run.document.run_id
    found = gated_versions(*tables, compared, state, run.calibration())
    what = (run.document.counts, failures)
    lost = lost_of_run(*what, found)
    found = [version for version in found if not compared or version.app_version in compared]
    allowed = None if run.document.max_failure_ratio is None else lost_cases_of_run(*what)
    results = apply_rules(rules, found, lost, allowed)
    problems = _own_problems(run)
    _check_ruler(rules, comparison)
    return GateReport(
        status=status_of(results, problems),
        output=run.directory,
        run_id=run_id,
        baseline=baseline,
        rules=results,
        checks=list(checks_of(found)),
        problems=problems,
        lost=lost_records(failures),
        to_read=read_first(found),
        comparison=comparison,
    )


def run_rules(run: RunDirectory, config: str | None) -> GateConfig:
    """Returns the rules of a config file or of the run; raises ConfigError if they are wrong or missing."""
    thresholds = {name: fields.get("threshold") for name, fields in run.document.criteria.items()}
    where = config or run.directory
    try:
        rules = read_config(config).gate if config else GateConfig(**run.document.config.get("gate") or {})
    except ValidationError as error:
        raise ConfigError(f"{where}: gate: {' '.join(str(error).split())}") from None
    if not rules.rules:
        raise ConfigError(f"{where}: holds no rule: add `gate` to the config, or name a file with --config")
    fault = gate_fault(rules, thresholds)
    if fault:
        raise ConfigError(f"{where}: gate.{fault}")
    return rules


def _conversations(run: RunDirectory) -> Iterator[ConversationRow]:
    if not run.has("conversations"):
        raise ConfigError(f"{run.directory}: has no table of conversations; score the logs again")
    return cast("Iterator[ConversationRow]", run.rows("conversations"))


class _Against(NamedTuple):
    """A comparison with a baseline, and the baseline itself."""

    comparison: Comparison
    state: BaselineState


def _against(run: RunDirectory, baseline: str | None, versions: Sequence[str]) -> _Against | None:
    """Returns the comparison with the baseline; None: there is none."""
    if baseline is None and not versions:
        return None
    from turnwise.transforms.decisions.comparison.differences import (
        CompareOptions,
        compare,  # numpy, loaded if needed
    )

    runs = [open_run(baseline), run] if baseline else [run]
    base, candidate = sides_of_runs(runs, versions)
    counts, problems = (runs[0].document.counts, _own_problems(runs[0])) if baseline else ({}, [])
    state = baseline_state(base.conversations, counts, problems)
    mark_missing(base.conversations, candidate.conversations)
    return _Against(compare(base, candidate, CompareOptions()), state)


def _own_problems(run: RunDirectory) -> list[str]:
    """Returns why a run failed, but for the rules that it missed."""
    return [line for line in problems_of(run.document) if not line.startswith(GATE_PROBLEM)]


def _check_ruler(rules: GateConfig, comparison: Comparison | None) -> None:
    """Raises ConfigError if a criterion that a rule compares was measured differently in the baseline."""
    own = [rule for rule in rules.rules if isinstance(rule, NotWorseRule)]
    names = {name for rule in own for name in ([rule.criterion] if rule.criterion else rules.primary)}
    for change in comparison.ruler if comparison else ():
        concerned = names if STATUS in names else names.intersection(change.criteria)
        if concerned:
            raise ConfigError(
                f"the baseline was measured differently: {change.what}: {change.a} there, {change.b} here; "
                "score the logs of the baseline again with this config"
            )


def rule_problems(settings: RunSettings, document: JsonObject) -> list[str]:
    """Returns the rules of a run's own config that do not pass, one line each, when its tables are written.

    Args:
        settings: Settings of the run.
        document: Content of its `run.json`, which is not written yet.
    """
    rules = settings.config.gate
    if not rules.rules:
        return []
    try:
        report = gate_report(written_run(settings.output, document), rules, settings.baseline)
    except ConfigError as error:  # what was scored is kept
        return [f"{GATE_PROBLEM}not decided: {error}"]
    return [f"{GATE_PROBLEM}{rule_line(rule)}" for rule in report.rules if rule.status != "passed"]


def rows_problems(
    settings: RunSettings,
    scores: Iterable[ScoreRow],
    rows: Iterable[ConversationRow],
    failures: Sequence[FailureRow],
    counts: JsonObject,
    unused: Iterable[str],
) -> list[str]:
    """Returns what `rule_problems` does, of rows that were not written to files and without a baseline."""
    versions = gated_versions(scores, rows, failures)
    found = apply_rules(settings.config.gate, versions, lost_of_run(counts, failures, versions, unused))
    return [f"{GATE_PROBLEM}{rule_line(rule)}" for rule in found if rule.status != "passed"]


def check_baseline(settings: RunSettings) -> None:
    """Raises ConfigError if the baseline cannot be read, before anything runs."""
    if settings.baseline is not None:
        own = settings.config.gate.rules
        if settings.is_streaming and all(isinstance(rule, AllPassRule) for rule in own):
            raise ConfigError("--baseline: the config has no rule that compares: add `gate` to it")
        open_run(settings.baseline)
