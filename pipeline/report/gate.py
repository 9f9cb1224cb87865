"""Applies the rules of a gate to a finished run, and writes the result as JUnit XML."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import chain
from typing import Any

from msgspec import convert
from msgspec.structs import replace
from pydantic import ValidationError

from turnwise.pipeline.io import terminal
from turnwise.pipeline.io.containers import join_path, path_exists
from turnwise.pipeline.report.comparison import (
    NOT_NAMED,
    NamedSides,
    compared_runs,
    may_name_version,
    no_baseline,
    open_baseline,
    sides_of_runs,
    versions_text,
)
from turnwise.pipeline.runs.directory import versions_named
from turnwise.pipeline.settings.run import PREVIOUS, RunSettings, filled, names_date, read_config
from turnwise.pipeline.store.urls import shown_place
from turnwise.schemas.comparison import (
    GATE_PROBLEM,
    Comparison,
    FirstPage,
    GateCheck,
    GatedConversation,
    GateReport,
    RejectedRecord,
    RuleResult,
    RuleStatus,
)
from turnwise.schemas.config import STATUS, ConfigError, GateConfig, NotWorseRule
from turnwise.schemas.conversation import turn_name
from turnwise.schemas.jsonio import JsonObject, fault_text, grouped
from turnwise.schemas.rows import ConversationRow, FailureRow, MetricsByAppVersionRow
from turnwise.schemas.run import RUN_FILE
from turnwise.transforms.decisions import gate
from turnwise.transforms.decisions.comparison.collect import Observed
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions
from turnwise.transforms.decisions.comparison.words import last_parts
from turnwise.transforms.decisions.first_page import two_versions, without_baseline
from turnwise.transforms.decisions.run import Run, problems_of, read_versions
from turnwise.transforms.review.problems import to_read, type_sizes
from turnwise.transforms.text.cleaning import natural_order


def gate_report(
    run: Run, rules: GateConfig, named: NamedSides = NOT_NAMED, unused: Iterable[str] = ()
) -> GateReport:
    """Applies the rules, at least one, to a finished run.

    The baseline that is named is the output directory of a run or an app version, the candidate an app
    version of the run. `unused` are eval cases without a recording, as far as their names are known. Raises
    ConfigError if a file or the baseline cannot be read, or the baseline was measured differently.
    """
    run.check_results()
    failures = list(run.failures())
    # What a whole record, conversation or eval case was rejected by.
    gone = [row for row in failures if row["stage"] in _READING or (row["stage"], row["criterion"]) == _WHOLE]
    # A record that names several cases cannot be read so far as to tell which is its own.
    of_rows = ({*_CASE_NAME.findall(row["record"] or "")} for row in gone)
    lost_cases = {name for names in of_rows if len(names) == 1 for name in names}
    comparison, state, chosen = _against(run, rules, named)
    compared = {} if comparison is None else {comparison.candidate.app_versions[0]: comparison}
    gated = gated_versions(run, lost_cases, compared, state)
    counts, names = run.document.counts, list(unused)
    # A case without a recording does not count beside a rejected record that names it: it is the same loss.
    lost_cases -= {name for version in gated for name in version.conversations.eval_ids.used()}
    others = [_EVAL_CASE.format(name) for name in names if name not in lost_cases]
    number = max(0, (counts.get("unused_cases") or 0) - len(lost_cases))
    lost = [_where(row) for row in gone if row["source"] is not None]
    rejected = gate.rejected_of({**counts, "unused_cases": number}, [*lost, *others])
    gated = [version for version in gated if not compared or version.app_version in compared]
    not_allowed = rejected
    if run.document.max_failure_ratio is not None:
        unread = [row for row in failures if row["stage"] in _READING_CASES and row["source"] is not None]
        of_cases = [*map(_where, unread), *map(_EVAL_CASE.format, names)]
        not_allowed = gate.rejected_of(counts, of_cases, only_cases=True)
    # The columns of the gate hold the rows already: a second reading would parse all transcripts.
    page = two_versions(comparison, rules.primary, gated[0].rows, chosen) if comparison else None
    results = [*gate.apply_rules(rules, gated, rejected, not_allowed)]
    problems, statuses = _own_problems(run), {rule.status for rule in results}
    # What is inconclusive does not pass.
    status: RuleStatus = "inconclusive" if "inconclusive" in statuses or not results else "passed"
    rows = [row for version in gated for row in version.rows]
    sizes = type_sizes(rows)
    first = ({**row, "alike": sizes.get(row["problem_type"] or "", 1)} for row in to_read(rows))
    return GateReport(
        status="failed" if problems or "failed" in statuses else status,
        output=run.directory,
        run_id=run.document.run_id,
        baseline=named[0],
        rules=results,
        checks=list(checks_of(gated)),
        problems=problems,
        rejected=[RejectedRecord(place=_where(row), message=row["message"]) for row in gone],
        to_read=[convert(row, GatedConversation) for row in first],
        comparison=comparison,
        page=page,
    )


def with_first_page(report: GateReport, run: Run) -> GateReport:
    """Adds the first page of a run that is held against no baseline: its versions are not compared."""
    rows, conversations = run.metrics(), [*run.conversations()]
    versions = sorted({row["app_version"] or "" for row in rows}, key=natural_order)
    state = "There is no baseline" if report.baseline is None else "The baseline holds no scored conversation"
    first, why = to_read(conversations), f"{state}: "
    page = page_of_versions(versions, rows, run.document.counts, first, conversations, why)
    return replace(report, page=page)


def page_of_versions(
    versions: Sequence[str],
    rows: Iterable[MetricsByAppVersionRow],
    counts: Mapping[str, Any],
    first_rows: Sequence[Mapping[str, Any]],
    conversations: Sequence[ConversationRow] | None,
    why: str = "",
) -> FirstPage | None:
    """Returns the first page of a run whose versions are not compared; None: no verdict was looked for.

    `conversations` are all of them; None: too many to be read again. `why` they are not, where nothing else
    says it.
    """
    verdict_rows = [row for row in rows if row["criterion"] == STATUS and row["level"] == "conversation"]
    if not verdict_rows:
        return None
    verdicts = [sum(row[name] for row in verdict_rows) for name in ("pass_count", "fail_count", "no_score")]
    row, is_alone = verdict_rows[0], len(verdict_rows) == 1
    bounds = (row["pass_rate_low"], row["pass_rate_high"]) if is_alone else (None, None)
    return without_baseline(versions, verdicts, bounds, [counts], first_rows, conversations, why)


def run_rules(run: Run, config: str | None) -> GateConfig:
    """Returns the rules of a config file or of the run; raises ConfigError if they are wrong or missing."""
    thresholds = {name: fields.get("threshold") for name, fields in run.document.criteria.items()}
    where = config or run.directory
    try:
        stated = run.document.config.get("gate") or {}
        rules = read_config(config).gate if config else GateConfig.model_validate(stated)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, ("gate", *first["loc"])))
        raise ConfigError(f"{where}: {path}: {fault_text(first)}") from None
    if rules.primary and not rules.rules:
        primary = ", ".join(map(terminal.printable, rules.primary))
        step = 'add `rules`, such as "rules": [{"rule": "not_worse", "margin": 0.02}]'
        raise ConfigError(f"{where}: gate: `primary` ({primary}) alone decides nothing: {step}")
    if not rules.rules:
        raise ConfigError(f"{where}: holds no rule: add `gate` to the config, or name a file with --config")
    if fault := gate.gate_fault(rules, thresholds):
        raise ConfigError(f"{where}: gate.{fault}")
    return rules


def _against(
    run: Run, rules: GateConfig, named: NamedSides
) -> tuple[Comparison | None, gate.BaselineState, str]:
    """Returns the comparison with the baseline, if there is one, the baseline, and how it was chosen."""
    if named == NOT_NAMED:
        return None, gate.BaselineState(), ""

    baseline = named[0]
    if not any(run.conversations()):  # nothing to compare: the rules say so, in the reports, too
        if baseline is not None and not may_name_version(baseline):
            open_baseline(baseline)
        return None, gate.BaselineState(), ""
    may_be_version = baseline is None or may_name_version(baseline)
    stated = [*read_versions(run).conversations] if may_be_version else []
    runs, named = compared_runs(run, stated, named)
    if len(runs) > 1 and not any(runs[0].conversations()):  # the other rules do not need it
        return None, gate.BaselineState(problems=[f"{runs[0].directory}: holds no scored conversation"]), ""
    sides = sides_of_runs(runs, named)
    base, candidate = sides.baseline, sides.candidate
    counts, problems = (runs[0].document.counts, _own_problems(runs[0])) if len(runs) > 1 else ({}, [])
    # A case without a recording may be newer than the baseline.
    state = gate.BaselineState(
        len(base.conversations.own_cases().used()), gate.rejected_of({**counts, "unused_cases": 0}), problems
    )
    comparison = compare(base, candidate, CompareOptions())
    held = [gate.held_criteria(rule, rules) for rule in rules.rules if isinstance(rule, NotWorseRule)]
    criteria = set().union(*held)
    for change in comparison.settings_changes:
        if STATUS in criteria or criteria.intersection(change.criteria):
            both = f"{change.what}: {change.baseline} there, {change.candidate} here"
            step = "score the logs of the baseline again with this config"
            raise ConfigError(f"the baseline was measured differently: {both}; {step}")
    return comparison, state, sides.how


def _own_problems(run: Run) -> list[str]:
    return [line for line in problems_of(run.document) if not line.startswith(GATE_PROBLEM)]


def rule_problems(settings: RunSettings, read: Callable[[], Run], unused: Iterable[str] = ()) -> list[str]:
    """Returns the rules of a run's own config that do not pass, one line each, when its tables are written.

    `read` returns the run, with what is known of its document; `unused`: see `gate_report`. The rules that
    need no baseline are applied also where nothing can be compared with it.
    """
    rules, named = settings.config.gate, (settings.baseline, settings.candidate)
    alone = [rule for rule in rules.rules if not isinstance(rule, NotWorseRule)]
    others = rules.model_copy(update={"rules": tuple(alone)})
    refused: list[str] = []
    # A baseline that is a version of this run stays named as long as it is known: bounds leave it out.
    for applied, sides in ((rules, named), (others, named), (others, NOT_NAMED)):
        try:
            results = gate_report(read(), applied, sides, unused).rules if applied.rules else []
        except ConfigError as error:  # what was scored is kept
            refused = refused or [f"{GATE_PROBLEM}inconclusive: {error}"]
            continue
        missed = (rule for rule in shown_rules(results) if rule.status != "passed")
        return [*refused, *(f"{GATE_PROBLEM}{rule_line(rule)}" for rule in missed)]
    return refused


_NIGHTS = 92
"""Dates before that of a run on which its baseline is looked for."""


def find_baseline(
    pattern: str | None, day: str | None, output: str, store: str, app: str, document: JsonObject
) -> str | None:
    """Returns the baseline itself in place of `{date}` or `previous`, and prints which; None: there is none.

    Of the run: its date (None: none), output, store, and what is known of its `run.json`. Raises ConfigError
    if the store cannot be read.
    """
    if pattern == PREVIOUS:
        # Imported late: sqlalchemy.
        from turnwise.pipeline.runs.store import previous_run

        earlier = previous_run(store, app, document)
        none = "the store holds no finished run of the same app and scoring settings before this one"
    elif pattern is not None and day is not None and names_date(pattern):
        began = date.fromisoformat(day)
        days = (began - timedelta(back) for back in range(1, min(_NIGHTS, began.toordinal() - 1) + 1))
        directories = (filled("--baseline", pattern, before) for before in days)
        # A pattern such as {date:%m} may also name the run's own directory.
        others = (folder for folder in directories if folder.rstrip("/") != output.rstrip("/"))
        earlier = next((folder for folder in others if path_exists(join_path(folder, RUN_FILE))), None)
        none = f"there is no finished run on the {_NIGHTS} dates before {day}"
    else:
        return pattern
    if earlier is None:
        terminal.complain(f"--baseline {pattern}: {none}: nothing is compared")
    else:
        terminal.say(terminal.printable(f"baseline: {shown_place(earlier)}"))
    return earlier


def check_baseline(settings: RunSettings) -> None:
    """Raises ConfigError if the baseline cannot be read, before anything runs."""
    # The versions of a batch are known when it has read its logs.
    if settings.baseline is None or (may_name_version(settings.baseline) and not settings.is_streaming):
        return
    run, version = open_baseline(settings.baseline)
    stated = [row["app_version"] or "" for row in run.metrics()]
    if version is not None and not versions_named(version, stated):
        there = versions_text(stated)
        raise ConfigError(f"--baseline {settings.baseline}: the run has no such version: {there}")


def unknown_sides(settings: RunSettings, rows: Iterable[MetricsByAppVersionRow]) -> list[str]:
    """Returns why the baseline is neither a version of the run nor a run, or the candidate no version."""
    stated = [row["app_version"] or "" for row in rows]
    baseline, candidate, problems = settings.baseline, settings.candidate, []
    if baseline is not None and may_name_version(baseline) and not versions_named(baseline, stated):
        problems = [no_baseline(baseline, stated)]
    if candidate is not None and not versions_named(candidate, stated):
        problems.append(f"--candidate {candidate}: is no app version of this run ({versions_text(stated)})")
    return problems


_READING_CASES, _READING = ("read", "parse_case"), ("read", "parse", "parse_case", "assemble", "match")
_WHOLE = ("score", None)
_CASE_NAME = re.compile(r'"eval_?[iI]d"\s*:\s*"([^"\\]+)"')
_EVAL_CASE = "eval case {}"
_STATUSES: dict[str, RuleStatus] = {"PASS": "passed", "FAIL": "failed"}


def kinds_of(rule: RuleResult) -> Iterator[tuple[str, list[str], int]]:
    """Yields what stands before the names of conversations, these, and how many others there are."""
    if len(rule.kinds) < 2 and rule.conversations:
        yield ": ", rule.conversations, rule.more
    start = 0
    for kind, number in rule.kinds.items():
        if names := rule.conversations[start : start + min(number, gate.MOST_NAMES)]:
            yield f"; {kind}: ", names, number - len(names)
        start += len(names)


def shown_rules(rules: Sequence[RuleResult]) -> list[RuleResult]:
    """Returns results as people read them: with the short names of versions."""
    short = last_parts({rule.app_version or "" for rule in rules}, terminal.LONGEST_NAME)
    return [replace(rule, app_version=short[rule.app_version or ""] or None) for rule in rules]


def rule_line(rule: RuleResult) -> str:
    """Returns what became of a rule, in one line."""
    return f"{rule_name(rule)}: {rule.status}: {rule.why}{_names_of(rule)}"


def rule_name(rule: RuleResult) -> str:
    """Returns a rule, and the app version that it is applied to."""
    return f"{rule.rule} ({rule.app_version})" if rule.app_version else rule.rule


def _names_of(rule: RuleResult) -> str:
    """Returns the conversations and cases that a rule names, and what was rejected."""
    kinds = [(*kind, terminal.LONGEST_NAME) for kind in kinds_of(rule)]
    if rule.rejected:
        kinds.append(("; missing: ", rule.rejected, rule.more_rejected, terminal.LONGEST_PLACE))
    text = ""
    for head, names, others, longest in kinds:
        short = last_parts(names, longest)  # no two of them look alike
        shown = terminal.names_text([short[name] for name in names], terminal.LONGEST_LINE)
        text += f"{head}{shown}" + (f" and {others} more" if others else "")
    return text


def checks_of(versions: Sequence[gate.GatedVersion]) -> Iterator[GateCheck]:
    """Yields every conversation by every criterion that can fail, the verdict first."""
    gates = {STATUS}
    for name, column in chain.from_iterable(v.conversations.criteria.items() for v in versions):
        if any(kind.threshold is not None or kind.outcome for kind in column.kinds.used() if kind):
            gates.add(name)
    names = sorted(gates, key=lambda name: (name != STATUS, name))
    for version in versions:
        columns = version.conversations
        rows = zip(columns.conversation_ids, columns.eval_ids, columns.sampled_out, strict=True)
        for row, (conversation, eval_id, sampled_out) in enumerate(rows):
            for name in names:
                observed = columns.given(row, name)
                if observed is None and name not in sampled_out:
                    continue
                observed = observed or Observed(why="sampled out")
                yield GateCheck(
                    conversation_id=conversation,
                    app_version=version.app_version,
                    eval_id=eval_id,
                    criterion=name,
                    status=_STATUSES.get(observed.outcome or "", "inconclusive"),
                    value=observed.value,
                    threshold=observed.threshold,
                    turn_index=observed.turn_index,
                    why=None if observed.outcome == "PASS" else observed.why,
                )


def _where(row: FailureRow) -> str:
    return f"{row['source']}:{row['position']}" if row["position"] else str(row["source"])


def gated_versions(
    run: Run, lost: Container[str], compared: Mapping[str | None, Comparison], baseline: gate.BaselineState
) -> list[gate.GatedVersion]:
    """Returns the app versions of a run, with their comparisons with the baseline, if there is one."""
    rows: list[ConversationRow] = [{**row, "transcript": None} for row in run.conversations()]
    unrecorded = gate.unrecorded_cases(rows, lost)
    conversations, calibration = read_versions(run, tells_why=True).conversations, run.calibration()
    of_version, names = grouped((row["app_version"], row) for row in rows), [*conversations]
    gated = []
    for name in sorted(names, key=lambda name: name or ""):
        about = compared.get(name), baseline, calibration, unrecorded.get(name, ())
        gated.append(gate.GatedVersion(name, conversations[name], of_version.get(name, []), *about))
    return gated


_JUNIT_LONGEST = 4000
_RULES, _RUN, _REJECTED = "gate rules", "run", "rejected records"


def junit_xml(report: GateReport) -> str:
    """Returns a document with one suite of the rules, and one suite a criterion with one test a conversation.

    What has no outcome is skipped, but an inconclusive rule is a failure. A rejected record is an error.
    """
    cases: dict[str, list[ET.Element]] = {_RULES: []}
    for rule in shown_rules(report.rules):
        ending = None if rule.status == "passed" else ("failure", rule.status, rule.why)
        body = "" if ending is None else _names_of(rule).strip(":; ")
        cases[_RULES].append(_case(_RULES, rule_name(rule), ending, body))
    if report.problems:
        cases[_RUN] = [_case(_RUN, line, ("failure", "failed", line)) for line in report.problems]
    if report.rejected:
        endings = ((record.place, ("error", "rejected", record.message)) for record in report.rejected)
        cases[_REJECTED] = [_case(_REJECTED, *rejection) for rejection in endings]
    by_criterion: dict[str, list[ET.Element]] = {}
    short = last_parts({check.app_version or "" for check in report.checks}, terminal.LONGEST_NAME)
    for check in report.checks:
        version = short[check.app_version or ""]
        class_name = f"{version}.{check.criterion}" if version else check.criterion
        turn = "" if check.turn_index is None else f"{turn_name(check.turn_index)}: "
        ending, body = None, ""
        if check.status == "inconclusive":
            ending = "skipped", "inconclusive", f"{turn}{check.why or 'no verdict'}"
        elif check.status == "failed":
            ending = "failure", "failed", f"{turn}{check.why or 'failed'}"
            value = "" if check.value is None else f"value {check.value:.6g}"
            threshold = "" if check.threshold is None else f"threshold {check.threshold:g}"
            body = ", ".join(filter(None, (value, threshold)))
        test = _case(class_name, check.conversation_id, ending, body)
        by_criterion.setdefault(check.criterion, []).append(test)
    root, totals = ET.Element("testsuites", {"name": "turnwise"}), Counter[str]()
    for name, tests in chain(cases.items(), by_criterion.items()):
        suite = ET.SubElement(root, "testsuite", {"name": _text(name), "tests": str(len(tests))})
        totals["tests"] += len(tests)
        for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            number = sum(test.find(tag) is not None for test in tests)
            suite.set(key, str(number))
            totals[key] += number
        suite.extend(tests)
    for key in ("tests", "failures", "errors"):
        root.set(key, str(totals[key]))
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True).decode() + "\n"


def _case(class_name: str, name: str, ending: tuple[str, str, str] | None, body: str = "") -> ET.Element:
    case = ET.Element("testcase", {"classname": _text(class_name), "name": _text(name)})
    if ending is not None:
        tag, kind, message = ending
        ET.SubElement(case, tag, {"type": kind, "message": _text(message)}).text = _text(body) or None
    return case


def _text(text: str) -> str:
    """Returns a text with every character escaped that XML does not allow or that cannot be seen."""
    return terminal.printable(text, _JUNIT_LONGEST)
