"""The end of every run: from its counts, sums and rows to `run.json`, exit status and the final report."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import islice
from shlex import join

from msgspec.structs import replace

from turnwise.pipeline.io.files import ADK_HISTORY
from turnwise.pipeline.io.sinks import find_service
from turnwise.pipeline.io.terminal import (
    LONGEST_LINE,
    complain,
    names_text,
    printable,
    say,
    terminal_width,
    wrapped,
)
from turnwise.pipeline.report import terminal
from turnwise.pipeline.report.comparison import MOST_CONVERSATIONS, end_comparison
from turnwise.pipeline.report.gate import page_of_versions, rule_problems, unknown_sides
from turnwise.pipeline.report.run_counts import RunCounts, guesses_by_tool, records_by_worker, run_counts
from turnwise.pipeline.runs.directory import written_run
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.store.urls import shown_place
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.jsonio import JsonObject, shown_url
from turnwise.schemas.rows import ConversationRow
from turnwise.schemas.run import FORMAT_VERSION
from turnwise.transforms.decisions.run import Run
from turnwise.transforms.formats.mapped import SINGLE
from turnwise.transforms.formats.registry import REACHED, no_version_text
from turnwise.transforms.review.problems import add_candidates
from turnwise.transforms.review.problems import to_read as chosen_to_read
from turnwise.transforms.scoring.redaction import REDACTED, redact_document

_PATHS = ("app_version_from", "eval_id_from", "eval_set_id_from")
_LISTED = (
    *("conversation_id", "app_version", "eval_id", "verdict", "why"),
    *("severity", "severity_score", "severity_reason", "problem_type"),
)
_MOST_READ_AGAIN = 20_000
"""Conversations of a stream whose rows are read at its end: a second or two, which a signal may leave."""


def end_run(
    settings: RunSettings,
    counted: Mapping[str, int],
    usage: terminal.UsageByModel,
    rows: terminal.MetricRows,
    tables: JsonObject,
    read: Callable[[JsonObject], Run],
    *,
    counts: RunCounts | None = None,
    unused: Iterable[str] = (),
    to_read: Iterable[Mapping[str, object]] | None = None,
    unread: Sequence[str] = (),
    lost: Sequence[str] = (),
) -> JsonObject:
    """Returns the content of `run.json`, when the tables of the run are written.

    `counted` is what its steps counted, by name of the counter, `counts` what was read, scored and rejected
    (None: those of `counted`), `rows` are those of `metrics_by_app_version` over the whole run. `tables` is
    where they are: `folder` and, of a batch, `files`; `read` returns the run that a document describes, whose
    tables the rules of the gate read. `unused` are eval cases without a recording, as far as their names are
    known, `to_read` the conversations to read first (None: not chosen), `unread` incomplete ends of a
    stream's input, one line each, `lost` why the run failed that its counts do not show, such as rows that
    were not stored.
    """
    config, of_run = settings.config, run_counts(counted) if counts is None else counts
    problems = [*lost, *terminal.gate_problems(settings, of_run, rows), *unknown_sides(settings, rows)]
    # Paths of the config that no conversation has.
    named = [f"{key} {path}" for key in _PATHS for path in getattr(config, key)]
    if config.mapping is not None:
        named += [f"mapping.{name} {path}" for name in SINGLE if (path := getattr(config.mapping, name))]
    if config.redact is not None:
        named += [f"redact.{key} {path}" for key in ("paths", "keep") for path in getattr(config.redact, key)]
    absent = [name for name in named if counted.get("results") and not counted.get(f"{REACHED}{name}")]
    marked = sorted(name for name in counted if name.startswith(REDACTED))
    redacted = {name.removeprefix(REDACTED): counted[name] for name in marked}
    document = begun_document(settings) | {
        "end_time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        **tables,
        "counts": of_run,
        "no_version": no_version_text(of_run.get("no_version") or ("",), config.app_version_from)
        if rows and all(row["app_version"] is None for row in rows)
        else None,
        "records_by_worker": records_by_worker(counted),
        "judge": terminal.judge_document(settings, usage, rows, counted),
        "problems": problems,
        "exit_status": 1 if problems else 0,
        "guessed_tools": guesses_by_tool(counted),
        **({} if config.redact is None else {"redacted": redacted}),
        **({"absent_paths": absent} if absent else {}),
        "unread": list(unread),
    }
    chosen = to_read
    if settings.is_streaming and of_run["results"] <= _MOST_READ_AGAIN:
        # A batch chose them while it wrote its rows; those of a stream may have been replaced since.
        candidates: list[ConversationRow] = []
        add_candidates(candidates, read(document).conversations())
        chosen = chosen_to_read(candidates)
    document["to_read"] = chosen and [{name: row[name] for name in _LISTED} for row in chosen]
    if config.gate.rules:
        of_rules = rule_problems(settings, partial(read, document), unused)
        problems = problems + [line for line in of_rules if not any(known in line for known in problems)]
    ended: JsonObject = {"problems": problems, "exit_status": 1 if problems else 0, "replaced_in_store": None}
    if sink_place := settings.store_place:
        replaced = find_service("--store", sink_place.url).replaced
        ended["replaced_in_store"] = replaced and replaced(sink_place, of_run["results"])
    return redact_document(document | ended, config.redact)


def report(settings: RunSettings, rows: terminal.MetricRows, document: JsonObject) -> int:
    """Prints the report of a finished run, of which `document` is `run.json`; returns its exit status."""
    say(report_text(settings, rows, document, written_run(settings.output, document)))
    width, counts, plugins = terminal_width(terminal.WIDTH), document["counts"], settings.plugin_options
    if settings.eval_cases and "match: UnknownCaseError" in counts["failures"]:
        read, rejected = counts["cases"], counts["rejected_cases"]
        places = names_text([*map(shown_place, settings.eval_cases)])
        number = "" if read is None else f": {read} read, {rejected} rejected"
        say("\n".join(wrapped(f"eval cases were looked for in {places}{number}", width)))
    if document["guessed_tools"] and not (settings.is_streaming or settings.config.redact):
        logs = [f"/{shown_place(path)}".partition(f"/{ADK_HISTORY[0]}/")[0][1:] for path in settings.input]
        command = join(["turnwise", "tools", *plugins, *dict.fromkeys(log or "." for log in logs)])
        say(f"list the tools: {printable(command)}")
    tables = "" if document["folder"] == "." else f"; tables in {document['folder']}"
    say("\n".join(wrapped(f"files: {printable(settings.output)}{tables}", width)))
    say(f"read them: {printable(join(['turnwise', 'report', *plugins, settings.output]))}")
    if settings.store:
        count, replaced = document["replaced_in_store"], ""
        if count:
            what = "results were replaced by others of the same conversation, case and app version"
            replaced = f"\nstore: {count} {what}"
        elif count is None and find_service("--store", settings.store).replaced:
            replaced = "\nstore: results replaced within the run: not counted"
        say(f"store: {printable(shown_url(settings.store))}{replaced}")
    if settings.scores_to:
        is_lost = any(problem.startswith("--scores_to ") for problem in document["problems"])
        how = "not all sent" if is_lost else "sent"
        say(f"scores: {how} to {printable(shown_url(settings.scores_to))}")
    if document["unread"]:
        names = names_text(document["unread"], LONGEST_LINE)
        complain(f"not read: {names}; start again to read it once it is complete")
    for problem in document["problems"]:
        complain(problem)
    status: int = document["exit_status"]
    return status


def report_text(settings: RunSettings, rows: terminal.MetricRows, document: JsonObject, run: Run) -> str:
    """Returns the report of a run whose tables can be read; `document` is `run.json`."""
    versions, counts, first_rows = terminal.versions_of(rows), document["counts"], document["to_read"]
    ended, width = terminal.EndComparison(), terminal_width(terminal.WIDTH)
    may_compare = counts["results"] or not settings.is_streaming
    if may_compare and (len(versions) > 1 or settings.baseline or settings.candidate):
        try:
            named = settings.baseline, settings.candidate
            ended = end_comparison(run, versions, named, width, plugins=settings.plugin_options)
        except (ConfigError, OSError) as error:
            ended = terminal.EndComparison(refused=[printable(f"not compared: {error}")])
    if may_compare and ended.page is None and versions:
        has_critical = any(row["severity"] == "critical" for row in first_rows or ())
        verdicts = [row for row in rows if row["criterion"] == STATUS]
        says_more = has_critical or any(row["no_score"] or terminal.repeated(row) for row in verdicts)
        # Where they say more than the figures, they are read again.
        conversations: list[ConversationRow] | None = None
        if says_more and counts["results"] <= MOST_CONVERSATIONS:
            with suppress(ConfigError, OSError):  # the counts stand above
                conversations = [*run.conversations()]
        page = page_of_versions(versions, rows, counts, first_rows or (), conversations)
        # The most severe come first.
        is_known = conversations is None and first_rows is not None and not has_critical
        page = replace(page, destructive=0) if page is not None and is_known else page
        ended = ended._replace(page=page)
    return terminal.summary_text(settings, rows, document, ended, failure_examples(counts, run), width)


_LOOKED_AT, _LONGEST_MESSAGE, _KINDS_SHOWN = 1_000, 400, 3
_RESOURCE = re.compile(r"(?<![\w/])projects/[^\s']*/(?=[^\s'/])")


def failure_examples(counts: RunCounts, run: Run) -> dict[str, str]:
    """Returns each of the most frequent kinds of failures -> its first message, by its place.

    Full names of resources are shortened to their last part; the table has them whole.
    """
    # Of these, the count says all.
    mistaken = ("CaseInLogsError", "ConfigInLogsError", "LogInCasesError")
    kinds = [kind for kind in counts["failures"] if not kind.endswith(mistaken)][:_KINDS_SHOWN]
    try:
        rows = islice(run.failures() if kinds else (), _LOOKED_AT)
        # Workers write their rows in any order.
        first_rows = sorted(rows, key=lambda row: (row["source"] or "", row["position"] or 0))
    except (ConfigError, OSError):  # the counts say how many
        return {}
    examples: dict[str, str] = {}
    for row in first_rows:
        where = f"{row['source']}:{row['position']}: " if row["source"] else ""
        where += f"{row['criterion']}: " if row["criterion"] else ""
        text = f"such as {where}{_RESOURCE.sub('.../', row['message'])}"
        examples.setdefault(f"{row['stage']}: {row['error_type']}", printable(text, _LONGEST_MESSAGE))
    return {kind: examples[kind] for kind in kinds if kind in examples}


def begun_document(settings: RunSettings) -> JsonObject:
    """Returns what is known of `run.json` when a run begins."""
    config = settings.config.model_dump(mode="json")
    config["judge"]["cache"] = shown_place(config["judge"]["cache"] or "") or None
    versions = {name: version(name) for name in ("turnwise", "apache-beam")}
    begun = {
        "run_id": settings.run.run_id,
        "format_version": FORMAT_VERSION,
        "create_time": settings.run.create_time,
        "date": settings.date,
        "input": list(map(shown_place, settings.input)),
        "input_format": settings.input_format,
        "eval_cases": list(map(shown_place, settings.eval_cases)),
        "output_format": settings.output_format,
        "store": shown_url(settings.store) or None,
        **({"scores_to": shown_url(settings.scores_to)} if settings.scores_to else {}),
        "config": config,
        "criteria": {criterion.name: criterion.model_dump(mode="json") for criterion in settings.criteria},
        "versions": {**versions, "python": sys.version.split()[0]},
        "max_failure_ratio": settings.max_failure_ratio,
        "judge": terminal.judge_document(settings, {}, ()),
    }
    return redact_document(begun, settings.config.redact)
