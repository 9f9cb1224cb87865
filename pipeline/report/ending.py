"""The end of every run: from its counts, sums and rows to `run.json`, exit status and the final report."""

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import islice
from shlex import join

from msgspec.structs import replace

from turnwise.pipeline.io.sinks import find_service
from turnwise.pipeline.io.terminal import LONGEST_LINE, complain, names_text, printable, say, wrapped
from turnwise.pipeline.report.comparison import MOST_CONVERSATIONS, end_comparison
from turnwise.pipeline.report.gate import page_of_versions, rule_problems, unknown_sides
from turnwise.pipeline.report.run_counts import RunCounts, guesses_by_tool, records_by_worker, run_counts
from turnwise.pipeline.report.terminal import (
    EndComparison,
    Figures,
    UsageByModel,
    gate_problems,
    joint_document,
    judge_document,
    no_version_line,
    repeated,
    summary_text,
    versions_of,
)
from turnwise.pipeline.runs.directory import written_run
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.store.urls import shown_place
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.jsonio import JsonObject, shown_url
from turnwise.schemas.rows import ConversationRow, MetricsByAppVersionRow
from turnwise.schemas.run import FORMAT_VERSION, time_text
from turnwise.transforms.decisions.run import Run
from turnwise.transforms.formats.mapped import SINGLE
from turnwise.transforms.formats.registry import REACHED
from turnwise.transforms.review.problems import add_candidates, to_read
from turnwise.transforms.scoring.redaction import REDACTED, redact_document

_WIDTH = 110


_MOST_READ_AGAIN = 20_000
"""Conversations of a stream whose rows are read at its end: a second or two, which a signal may leave."""


def end_run(
    settings: RunSettings,
    figures: Figures,
    tables: JsonObject,
    read: Callable[[JsonObject], Run],
    unused: Iterable[str] = (),
) -> JsonObject:
    """Returns the content of `run.json`, when the tables of the run are written.

    `tables` is where they are: `folder` and, of a batch, `files`; `read` returns the run that a document
    describes, whose tables the rules of the gate read; `unused` are eval cases without a recording, as far as
    their names are known.
    """
    problems = [
        *figures.problems,
        *gate_problems(settings, figures.counts, figures.rows),
        *unknown_sides(settings, figures.rows),
    ]
    document = begun_document(settings) | {
        "end_time": time_text(datetime.now(UTC)),
        **tables,
        "counts": figures.counts,
        "no_version": no_version_line(settings, figures.counts, figures.rows) or None,
        "records_by_worker": dict(figures.workers),
        "judge": judge_document(settings, figures.usage, figures.rows, figures.joint),
        "problems": problems,
        "exit_status": 1 if problems else 0,
        "guessed_tools": figures.guesses,
        **({} if settings.config.redact is None else {"redacted": dict(figures.redacted)}),
        **({"absent_paths": list(figures.absent_paths)} if figures.absent_paths else {}),
        "unread": list(figures.unread),
        "to_read": None if figures.to_read is None else list(map(_to_read, figures.to_read)),
    }
    if settings.is_streaming and figures.counts["results"] <= _MOST_READ_AGAIN:
        # A batch chose them while it wrote its rows; those of a stream may have been replaced since.
        candidates: list[ConversationRow] = []
        add_candidates(candidates, read(document).conversations())
        document["to_read"] = list(map(_to_read, to_read(candidates)))
    if settings.config.gate.rules:
        of_rules = rule_problems(settings, partial(read, document), unused)
        problems = problems + [line for line in of_rules if not any(known in line for known in problems)]
    ended: JsonObject = {"problems": problems, "exit_status": 1 if problems else 0, "replaced_in_store": None}
    if sink_place := settings.store_place:
        replaced = find_service("--store", sink_place.url).replaced
        ended["replaced_in_store"] = replaced and replaced(sink_place, figures.counts["results"])
    return redact_document(document | ended, settings.config.redact)


def _absent_paths(settings: RunSettings, counted: Mapping[str, int]) -> list[str]:
    config = settings.config
    if not counted.get("results"):
        return []
    keys = ("app_version_from", "eval_id_from", "eval_set_id_from")
    named = [f"{key} {path}" for key in keys for path in getattr(config, key)]
    if config.mapping is not None:
        paths = ((name, getattr(config.mapping, name)) for name in SINGLE)
        named += [f"mapping.{name} {path}" for name, path in paths if path]
    if config.redact is not None:
        named += [f"redact.{key} {path}" for key in ("paths", "keep") for path in getattr(config.redact, key)]
    return [name for name in named if not counted.get(f"{REACHED}{name}")]


def figures_of(
    settings: RunSettings,
    counted: Mapping[str, int],
    usage: UsageByModel,
    rows: Iterable[MetricsByAppVersionRow],
    counts: RunCounts | None = None,
) -> Figures:
    """Returns the figures of a run.

    `counted` is what its steps counted, by name of the counter, `counts` what was read, scored and rejected;
    None: those of `counted`. `rows` are of the whole run.
    """
    return Figures(
        run_counts(counted) if counts is None else counts,
        usage,
        guesses_by_tool(counted),
        rows,
        redacted={
            name.removeprefix(REDACTED): number
            for name, number in sorted(counted.items())
            if name.startswith(REDACTED)
        },
        absent_paths=_absent_paths(settings, counted),
        workers=records_by_worker(counted),
        joint=joint_document(settings, counted),
    )


def report(settings: RunSettings, figures: Figures, document: JsonObject) -> int:
    """Prints the report of a finished run, of which `document` is `run.json`; returns its exit status."""
    run = written_run(settings.output, document)
    figures = figures._replace(examples=failure_examples(figures.counts, run))
    if not settings.is_streaming or figures.counts["results"]:
        if settings.is_streaming:
            figures = figures._replace(to_read=document["to_read"])
        figures = with_first_page(settings, figures, run)
    say(summary_text(settings, figures))
    width = shutil.get_terminal_size((_WIDTH, 24)).columns
    if settings.eval_cases and "match: UnknownCaseError" in figures.counts["failures"]:
        read, rejected = figures.counts["cases"], figures.counts["rejected_cases"]
        places = names_text([*map(shown_place, settings.eval_cases)])
        number = "" if read is None else f": {read} read, {rejected} rejected"
        say("\n".join(wrapped(f"eval cases were looked for in {places}{number}", width)))
    if figures.guesses and not (settings.is_streaming or settings.config.redact):
        command = join(["turnwise", "tools", *map(shown_place, settings.input)])
        say(f"list the tools: {printable(command)}")
    tables = "" if document["folder"] == "." else f"; tables in {document['folder']}"
    say("\n".join(wrapped(f"files: {printable(settings.output)}{tables}", width)))
    say(f"read them: {printable(join(['turnwise', 'report', settings.output]))}")
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
    if figures.unread:
        names = names_text(figures.unread, LONGEST_LINE)
        complain(f"not read: {names}; start again to read it once it is complete")
    for problem in document["problems"]:
        complain(problem)
    status: int = document["exit_status"]
    return status


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
        rows = run.failures() if kinds else iter(())
        # Workers write their rows in any order.
        first_rows = sorted(
            islice(rows, _LOOKED_AT), key=lambda row: (row["source"] or "", row["position"] or 0)
        )
    except (ConfigError, OSError):  # the counts say how many
        return {}
    examples: dict[str, str] = {}
    for row in first_rows:
        where = f"{row['source']}:{row['position']}: " if row["source"] else ""
        text = f"such as {where}{_RESOURCE.sub('.../', row['message'])}"
        examples.setdefault(f"{row['stage']}: {row['error_type']}", printable(text, _LONGEST_MESSAGE))
    return {kind: examples[kind] for kind in kinds if kind in examples}


def with_first_page(settings: RunSettings, figures: Figures, run: Run) -> Figures:
    """Adds the first page, and the differences between versions, of a run whose tables can be read."""
    versions = versions_of(figures.rows)
    ended = EndComparison()
    if len([*filter(None, versions)]) > 1 or settings.baseline or settings.candidate:
        width = shutil.get_terminal_size((_WIDTH, 24)).columns
        try:
            ended = end_comparison(run, versions, (settings.baseline, settings.candidate), width)
        except (ConfigError, OSError) as error:
            ended = EndComparison(refused=[printable(f"not compared: {error}")])
    page = ended.page
    if page is None and versions:
        has_critical = any(row["severity"] == "critical" for row in figures.to_read or ())
        verdicts = [row for row in figures.rows if row["criterion"] == STATUS]
        says_more = has_critical or any(row["no_score"] or repeated(row) for row in verdicts)
        rows: list[ConversationRow] | None = None  # where they say more than the figures, they are read again
        if says_more and figures.counts["results"] <= MOST_CONVERSATIONS:
            with suppress(ConfigError, OSError):  # the counts stand above
                rows = [*run.conversations()]
        page = page_of_versions(versions, figures.rows, figures.counts, figures.to_read or (), rows)
        # The most severe come first.
        is_known = rows is None and figures.to_read is not None and not has_critical
        page = replace(page, destructive=0) if page is not None and is_known else page
    return figures._replace(ended=ended._replace(page=page))


def _to_read(row: Mapping[str, object]) -> JsonObject:
    about = ("conversation_id", "app_version", "eval_id", "verdict", "why")
    problem = ("severity", "severity_score", "severity_reason", "problem_type")
    return {name: row[name] for name in (*about, *problem)}


def begun_document(settings: RunSettings) -> JsonObject:
    """Returns what is known of `run.json` when a run begins."""
    config = settings.config.model_dump(mode="json")
    config["judge"]["cache"] = shown_place(config["judge"]["cache"] or "") or None
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
        "versions": {
            "turnwise": version("turnwise"),
            "apache-beam": version("apache-beam"),
            "python": sys.version.split()[0],
        },
        "max_failure_ratio": settings.max_failure_ratio,
        "judge": judge_document(settings, {}, ()),
    }
    return redact_document(begun, settings.config.redact)
