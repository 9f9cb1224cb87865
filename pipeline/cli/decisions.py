"""Implements the commands that decide about finished runs, and `turnwise labels`.

None imports Beam, unless a directory is remote, nor numpy before its options are checked.
"""

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import cast, get_args

import msgspec
from msgspec.structs import replace

from turnwise.pipeline.cli.arguments import PLUGIN
from turnwise.pipeline.io import terminal
from turnwise.pipeline.io.containers import RUN_FOLDER
from turnwise.pipeline.io.terminal import complain, names_text, printable, say, terminal_width, wrapped
from turnwise.pipeline.report import calibration as calibrations
from turnwise.pipeline.report import comparison as comparisons
from turnwise.pipeline.report import gate as gating
from turnwise.pipeline.report.conversion import check_new_file, write_output
from turnwise.pipeline.report.html import compare_versions, is_report, write_report
from turnwise.pipeline.report.markdown import comparison_markdown, gate_markdown
from turnwise.pipeline.report.terminal import first_page_lines
from turnwise.pipeline.runs.directory import REPORT_DATA, REPORT_FILE, is_file_of_run, open_run
from turnwise.pipeline.settings import options as declared
from turnwise.pipeline.settings.options import FLAG, FORMAT, STORE, OptionParser, Subcommand
from turnwise.pipeline.settings.run import PREVIOUS, names_date
from turnwise.schemas.calibration import HumanLabel
from turnwise.schemas.comparison import Comparison, FirstPage, GateReport, PairedBy
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.conversation import turn_name
from turnwise.schemas.jsonio import JsonObject, counted, indented_json, is_local, is_store_url
from turnwise.schemas.run import RUN_FILE
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.decisions.calibration import labels
from turnwise.transforms.decisions.calibration.calibrate import ErrorCosts, calibrate
from turnwise.transforms.decisions.comparison.differences import check_slices, compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions
from turnwise.transforms.decisions.first_page import NAMED, two_versions
from turnwise.transforms.decisions.run import Run
from turnwise.transforms.text.cleaning import natural_order
from turnwise.transforms.text.dates import time_seconds

STATUS_PARSER = OptionParser(
    (
        ("output", {"metavar": "OUT"}, "output directory of a run"),
        ("--after", {"metavar": "TIME"},
         "refuse a run that began before TIME (2026-11-22T02:15:00Z): an earlier one stays current until "
         "another has finished"),
        ("--input", {"nargs": "+", "action": "extend", "metavar": "PATH"},
         "input of the run: if no file in it holds a byte and no run is in OUT, nothing was due (status 0)"),
        PLUGIN,
    ),
    prog="turnwise status",
    description="Says how the run in an output directory ended, and exits with the status of that run.",
    epilog="Exit status: that of the run, 0 or 1; 2: no finished run, files missing, or an earlier run.",
)  # fmt: skip


def status_of_run(argv: Sequence[str]) -> int:
    """Prints how a finished run ended, and returns its exit status; raises ConfigError if there is none."""
    options = STATUS_PARSER.parse_args(list(argv))
    after = None if options.after is None else time_seconds(options.after)
    if options.after is not None and after is None:
        raise ConfigError(f"--after {options.after}: is no time such as 2026-11-22T02:15:00Z")
    if options.input:
        # Imported late: Beam.
        from turnwise.pipeline.batch.execution import why_empty

        if (again := why_empty(options.input, options.output)) and again.is_quiet:
            say(again.why)
            return 0
    document = open_run(options.output).document
    if after is not None:
        began = document.create_time
        if named := RUN_FOLDER.fullmatch(document.folder):
            began = datetime.strptime(named[1], "%Y%m%dT%H%M%SZ").strftime("%Y-%m-%dT%H:%M:%SZ")
        seconds = time_seconds(began)
        if seconds is None or seconds < int(after):
            current = f"the current one, {document.run_id}, began {began}"
            since = f"no run that began since {options.after} has finished"
            raise ConfigError(f"{options.output}: {since}: {current}")
    for problem in document.problems:
        complain(problem)
    number = document.counts.get("results")
    if not isinstance(number, int):
        raise ConfigError(f"{options.output}: run.json does not state how many conversations were scored")
    ended = f", ended {document.end_time}" if document.end_time else ""
    results = counted(number, "conversation")
    say(printable(f"{document.run_id}{ended}: {results}, exit status {document.exit_status}"))
    return document.exit_status


def report_runs(argv: Sequence[str]) -> int:
    """Writes a report of the runs in some directories, and prints its path. Raises ConfigError."""
    options = REPORT_PARSER.parse_args(argv)
    if len(set(options.out)) < len(options.out):
        raise ConfigError("a directory is named twice")
    first, path, option = options.out[0], Path(options.html or ""), "--html "
    if options.html is None:
        if not is_local(first):
            raise ConfigError(f"{first}: is not on this machine; name the report's file with --html")
        path, option = Path(first) / REPORT_FILE, ""
    else:
        if options.html == _STDOUT:
            raise ConfigError("--html -: a report is a file; name one")
        if path.is_dir():
            raise ConfigError(f"--html {path}: is a directory")
        if not path.parent.is_dir():
            raise ConfigError(f"--html {path}: there is no directory {path.parent}; make it first")
        homes = {Path(directory).resolve() for directory in options.out if is_local(directory)}
        home = path.resolve().parent
        in_folder = RUN_FOLDER.fullmatch(home.name) and home.parent in homes
        if (home in homes or in_folder) and is_file_of_run(path.resolve().name):
            raise ConfigError(f"--html {path}: is the name of a file of the run; name another file")
    if path.exists() and not is_report(path):
        what = "is no report of turnwise, and is not overwritten; name another file"
        raise ConfigError(f"{option}{path}: {what}")
    runs: list[Run] = []
    for given in options.out:
        folder, directories = Path(given), [given]
        if is_local(given) and folder.is_dir() and not (folder / RUN_FILE).exists():
            below = sorted((str(path) for path in folder.iterdir() if path.is_dir()), key=natural_order)
            finished = [path for path in below if (Path(path) / RUN_FILE).exists()]
            others = [path for path in below if path not in finished and Path(path).name != REPORT_DATA]
            if finished and others:
                names = names_text(others, terminal.LONGEST_LINE)
                complain(f"not in the report, without a finished run: {names}")
            directories = finished or [given]
        of_directory = map(open_run, directories)
        runs += sorted(of_directory, key=lambda run: run.document.date or run.document.create_time)
    compared = compare_versions(runs, options.baseline, options.candidate)
    report = write_report(path, runs, compared, single_file=options.single_file)
    files = report.chunks - report.inline_chunks
    beside = f"; {files} files with transcripts beside it, in {REPORT_DATA}" if files else ""
    left_out = f"; transcripts of {report.omitted:,} conversations are left out" if report.omitted else ""
    say(f"report: {path}{beside}{left_out}")
    return 0


REPORT_PARSER = OptionParser(
    (
        ("out", {"nargs": "+", "metavar": "OUT"},
         "output directories of finished runs, or a directory that holds such directories"),
        ("--html", {"metavar": "FILE"}, f"the file (default: {REPORT_FILE} in the first directory)"),
        ("--single_file", FLAG,
         "keep only the transcripts that the file has room for: a random sample, what did not pass, the "
         "rest"),
        ("--baseline", {"metavar": "VERSION"}, "version that others are compared with; default: the first"),
        ("--candidate", {"metavar": "VERSION"}, "version that the first page is about; default: the last"),
        PLUGIN,
    ),
    prog="turnwise report",
    description="Writes one HTML file with verdicts, figures and conversations of one or several runs.",
)  # fmt: skip


GATE_PARSER = OptionParser(
    (
        ("output", {"metavar": "OUT"}, "output directory of a finished run"),
        ("--baseline", {"metavar": "OUT"},
         "app version of this run, or output directory of the run to compare with (OUT#VERSION: one of its "
         "versions); with {date} that of the last earlier date with a run; previous: the run before it in "
         "the store"),
        ("--candidate", {"metavar": "VERSION"}, "app version of this run that the rules are applied to"),
        ("--store", STORE, "store of --baseline previous (default: the one that the run wrote into)"),
        ("--app", {"metavar": "APP"}, "projects/P/locations/L/apps/A, the run's --store_app"),
        ("--config", {"metavar": "FILE"}, "config file whose rules count (default: the config of the run)"),
        ("--junit", {"metavar": "FILE"}, "write the result as JUnit XML; -: to stdout"),
        ("--markdown", {"metavar": "FILE"}, "write the result as Markdown for a pull request; -: to stdout"),
        ("--json", {"metavar": "FILE"}, "write the result as JSON; -: to stdout"),
        PLUGIN,
    ),
    prog="turnwise gate",
    description="Decides by the rules of a config whether a finished run passes.",
    epilog="Exit status: 0, all rules passed; 1, one failed or could not be decided; 2, wrong input.",
)  # fmt: skip


def gate(argv: Sequence[str]) -> int:
    """Applies the rules to a finished run, prints the result and writes its reports.

    Returns 0 if all rules passed, 1 if one failed or could not be decided. Raises ConfigError.
    """
    options = GATE_PARSER.parse_args(list(argv))
    files = {name: getattr(options, name) for name in ("junit", "markdown", "json")}
    for name, file in files.items():
        if file not in (None, _STDOUT) and (not Path(file).parent.is_dir() or Path(file).is_dir()):
            raise ConfigError(f"--{name} {file}: cannot be written: name a file in a directory that exists")
    if [*files.values()].count(_STDOUT) > 1:
        raise ConfigError("--junit, --markdown, --json: one of them can be - (standard output)")
    run = open_run(options.output)
    rules = gating.run_rules(run, options.config)
    pattern, day = options.baseline, run.document.date
    if pattern != PREVIOUS and (options.store or options.app):
        raise ConfigError("--store, --app: go with --baseline previous only")
    store = options.store or run.document.store or ""
    if pattern == PREVIOUS and (not is_store_url(store) or "***" in store):
        kept = "run.json keeps no password" if "***" in store else "the run wrote into no database"
        raise ConfigError(f"--baseline previous: {kept}: name the store with --store")
    if names_date(pattern) and day is None:
        raise ConfigError(f"--baseline {pattern}: the run in {options.output} has no date (--date)")
    known = msgspec.to_builtins(run.document)
    baseline = gating.find_baseline(pattern, day, options.output, store, options.app or "", known)
    report = gating.gate_report(run, rules, (baseline, options.candidate))
    if report.page is None:
        report = gating.with_first_page(report, run)
    documents: dict[str, Callable[[GateReport], str]] = {
        "junit": gating.junit_xml,
        "markdown": gate_markdown,
        "json": lambda report: json.dumps(msgspec.to_builtins(report)) + "\n",
    }
    for name, file in files.items():
        if file is not None:
            document = documents[name](report)
            if file == _STDOUT:
                say(document.rstrip("\n"))
            else:
                Path(file).write_bytes(document.encode("utf-8", "replace"))
    # Another program reads the document.
    tell = partial(say, file=sys.stderr) if _STDOUT in files.values() else say
    width = terminal_width()
    if report.page is not None:
        tell("\n".join(first_page_lines(report.page, width)))
    results = gating.shown_rules(report.rules)
    for rule in results:
        if rule.status == "passed":
            tell("\n".join(wrapped(printable(f"passed: {gating.rule_name(rule)}: {rule.why}"), width)))
    for line in (*report.problems, *(gating.rule_line(rule) for rule in results if rule.status != "passed")):
        complain(line)
    numbers = Counter(rule.status for rule in report.rules)
    parts = ", ".join(f"{number} {status}" for status, number in numbers.items())
    rules_text = counted(len(report.rules), "rule") + (f": {parts}" if len(numbers) > 1 else "")
    tell(f"gate: {report.status}, {rules_text}")
    return 0 if report.status == "passed" else 1


_STDOUT = "-"


_HIGHEST_COST = 1e9
_WRONG = ("unknown", "ambiguous", "contradiction", "mixed", "off_scale")


def calibrate_run(argv: Sequence[str]) -> int:
    """Prints what labels say of the criteria of a run, and writes `calibration.json` into its directory.

    Returns 1 if no label is of the run, or lines of the files are wrong, else 0. Raises ConfigError.
    """
    options = CALIBRATE_PARSER.parse_args(argv)
    for name in ("false_pass_cost", "false_fail_cost"):
        if not 0 < (cost := getattr(options, name)) <= _HIGHEST_COST:
            raise ConfigError(f"--{name} {cost:g}: must be a number above 0, at most {_HIGHEST_COST:g}")
    import numpy as np  # late: help and the other commands do without it

    run = open_run(options.out)
    lines = calibrations.read_labels(options.labels)
    names = {line.label.criterion for line in lines}
    kinds = ((name, CRITERIA.get(name)) for name in names)  # those that are not known here are left out
    scales = {name: labels.Scale(kind.scale, kind.gate == "at_least") for name, kind in kinds if kind}
    scales[STATUS] = labels.Scale(bounds=(0.0, 1.0), has_values=False)
    scores = [*labels.judged_scores(calibrations.criterion_rows(run, names), scales)]
    costs = ErrorCosts(options.false_pass_cost, options.false_fail_cost)
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            calibration = calibrate(run.document.run_id, options.labels, lines, scores, scales, costs)
    except ArithmeticError:
        raise ConfigError("values of the run or labels are too large to compute with") from None
    try:
        earlier = run.calibration()
    except ConfigError:  # it is replaced
        earlier = None
    whole, merge_lines = calibrations.merged(earlier, calibration)
    path = calibrations.write_calibration(run, whole) if calibration.criteria else None
    if options.format == "json":
        say(indented_json(whole))
    else:
        say(calibrations.calibration_text(calibration, terminal_width()))
        say(f"\nfile: {path}" if path else "\nnothing is written")
        list(map(say, merge_lines))
    wrong = sum(problem.count for problem in calibration.problems if problem.kind in _WRONG)
    if not calibration.criteria:
        stays = run.calibration_path()
        hint = "of an earlier calibration stays, and `turnwise compare` reads it: remove it if it is wrong"
        complain(f"no label can be used{f'; {stays} {hint}' if stays else ''}")
    elif wrong:
        complain(f"{wrong} of {calibration.lines} lines of labels are not used")
    return 1 if wrong or not calibration.criteria else 0


_COST = {"type": float, "default": 1.0, "metavar": "COST"}
CALIBRATE_PARSER = OptionParser(
    (
        ("out", {"metavar": "OUT"}, "output directory of a finished run"),
        ("--labels", {"nargs": "+", "action": "extend", "required": True, "metavar": "FILE"},
         "labels as JSON Lines, such as the export of a report"),
        ("--false_pass_cost", _COST, "cost of a PASS that people fail, for the threshold (default: 1)"),
        ("--false_fail_cost", _COST, "cost of a FAIL that people pass (default: 1)"),
        ("--format", FORMAT, "output (default: text)"),
        PLUGIN,
    ),
    prog="turnwise calibrate",
    description="Holds the criteria of a run against human labels: agreement, thresholds and, with "
    "labels of a random sample, pass rates and means without a judge's bias.",
)  # fmt: skip


_BY: tuple[PairedBy, ...] = ("eval_id", "conversation_id", "task")
_LEAST_ALPHA = 1e-9


def compare_runs(argv: Sequence[str]) -> int:
    """Compares two runs, or two versions of one run or store, and prints the result.

    Returns 1 if `--fail_on` holds, else 0. Raises ConfigError, also if there is nothing to compare, or
    baseline and candidate were not measured in the same way.
    """
    options = COMPARE_PARSER.parse_args(argv)
    places = len(options.runs) + (options.store is not None)
    if options.store is not None and options.runs:
        raise ConfigError("--store: goes without directories")
    if not 1 <= places <= 2:
        raise ConfigError("name one or two output directories of runs, or --store")
    if options.store is not None and None in (options.baseline, options.candidate):
        raise ConfigError("--store: name both sides, by --baseline and --candidate")
    for name, value, least in (("alpha", options.alpha, _LEAST_ALPHA), ("margin", options.margin, 0)):
        if not least < value < 1:
            raise ConfigError(f"--{name} {value:g}: must be between {least:g} and 1, exclusive")
    runs = [open_run(directory) for directory in options.runs]
    page: Callable[[Comparison], FirstPage]
    if options.store is None:
        sides = comparisons.sides_of_runs(runs, (options.baseline, options.candidate))
        a, b = sides.baseline, sides.candidate
        page = partial(comparisons.first_page, run=runs[-1], version=sides.candidate_version, how=sides.how)
    else:
        declared.check_store("--store", options.store)
        from turnwise.pipeline.runs.store import sides_of_store

        stored = sides_of_store(options.store, options.app, (options.baseline, options.candidate))
        a, b = stored.baseline, stored.candidate
        page = partial(two_versions, primary=stored.primary, rows=stored.to_read, chosen=NAMED)
    anyway = options.allow_different_judges
    problem = "" if anyway else comparisons.settings_problem(a, b)
    if problem:
        raise ConfigError(f"{problem}, or pass --allow_different_judges")
    check_slices([a.conversations, b.conversations], options.slices or ())
    wanted = CompareOptions(
        options.by, options.margin, options.alpha, slices=options.slices, any_verdicts=anyway
    )
    comparison = compare(a, b, wanted)
    if options.by is not None and not comparison.pairing.pairs + comparison.pairing.changed:
        raise ConfigError(f"--by {options.by}: no case of {a.name} is in {b.name}")
    if comparisons.nothing_common(comparison):
        raise ConfigError(f"nothing to compare: {comparisons.nothing_common(comparison)}")
    comparison = replace(comparison, page=page(comparison))
    document = indented_json(comparison)
    if options.output:
        texts = {"compare.json": f"{document}\n", "compare.md": comparison_markdown(comparison)}
        write_output(options.output, texts)
    if options.format == "json":
        say(document)
    else:
        say(comparisons.comparison_text(comparison, terminal_width()))
        if options.output:
            say(f"files: {options.output}/compare.json, compare.md")
    problems = comparisons.fail_on_problems(comparison, options.fail_on) if options.fail_on else []
    for problem in problems:
        complain(problem)
    return 1 if problems else 0


COMPARE_PARSER = OptionParser(
    (
        ("runs", {"nargs": "*", "metavar": "OUT"}, "output directories of baseline and candidate, or one"),
        ("--baseline", {"metavar": "VERSION"}, "app version, or run of a store (default: the first version)"),
        ("--candidate", {"metavar": "VERSION"}, "app version, or run of a store (default: the last version)"),
        ("--store", STORE, "compare versions, or runs, of a store"),
        ("--app", {"metavar": "APP"}, "projects/P/locations/L/apps/A, of a store with several"),
        ("--by", {"choices": _BY}, "what pairs conversations (default: what pairs most cases)"),
        ("--margin", {"type": float, "default": 0.02, "metavar": "SHARE"},
         "largest difference that does not matter, as a share of the scale (default: 0.02)"),
        ("--alpha", {"type": float, "default": 0.05, "metavar": "P"},
         "level of significance (default: 0.05)"),
        ("--slices", {"nargs": "*", "metavar": "NAME"},
         "slices, as in the config (default: language, every tag, and agent where the config names it)"),
        ("--format", FORMAT, "output (default: text)"),
        ("--output", {"metavar": "DIR"}, "directory for compare.json and compare.md"),
        ("--fail_on", {"choices": get_args(comparisons.FailOn)},
         "exit 1 if a criterion is worse; or unless each is shown to be better, the same or not worse"),
        ("--allow_different_judges", FLAG, "compare although config, judge model or prompt differ"),
        PLUGIN,
    ),
    prog="turnwise compare",
    description="Compares two runs, or two app versions of one run, and says of every criterion whether "
    "the candidate is better or worse than the baseline.",
)  # fmt: skip


# `turnwise labels`: what to label next, and the labels of several people.

_MOST_SHOWN = 20


def manage_labels(argv: Sequence[str]) -> int:
    """Runs a subcommand, and returns its exit status; raises ConfigError."""
    return declared.run_subcommand("labels", LABEL_COMMANDS, argv)


def _write(path: str, lines: Sequence[HumanLabel]) -> None:
    with open(path, "wb") as file:
        for label in lines:
            stated = msgspec.to_builtins(label).items()
            kept = {key: v for key, v in stated if v is not None or key in ("label", "turn_index")}
            file.write(msgspec.json.encode(kept) + b"\n")


def _queue(options: Namespace) -> int:
    if not 0 <= (options.random or 0) <= options.size or options.size < 1:
        raise ConfigError("--random must be 0 or more, and not more than --size")
    check_new_file(options.output)
    run, criterion = open_run(options.out), options.criterion
    is_whole = options.level == "conversation"
    scored = (cast(JsonObject, row) for row in calibrations.criterion_rows(run, {criterion}))
    rows = [row for row in scored if (row["turn_index"] is None) is is_whole]
    if not rows:
        raise ConfigError(f"--criterion {criterion}: the run has no scores of it (--level {options.level})")
    scores = (cast(JsonObject, row) for row in run.scores() if criterion in (STATUS, row["criterion"]))
    queue = labels.label_queue(rows, scores, options.size, options.random, options.seed)
    _write(options.output, queue.lines)
    picked = sum(queue.picked.values())
    use = "by which turnwise calibrate corrects figures"
    if queue.needed is None:
        use = f"too few to correct figures by: the run has fewer than {labels.FEWEST_CASES} cases"
    elif queue.drawn < queue.needed:
        use = f"too few to correct figures by: --random {queue.needed} holds {labels.FEWEST_CASES} cases"
    drawn = f"{queue.drawn} drawn at random, {use}"
    say(f"{queue.drawn + picked} of {counted(queue.of, 'conversation')} to label: {drawn}, {picked} picked")
    for (version, outcome), count in sorted(queue.picked.items(), key=str):
        say(printable(f"  picked of {version or '(no version)'}, {outcome or 'no score'}: {count}"))
    say(f"  the judge's votes differ about {queue.disputed} of the picked ones\nfile: {options.output}")
    return 0


def _merge(options: Namespace) -> int:
    check_new_file(options.output)
    stems = [Path(path).stem for path in options.files]
    given = []
    for path, stem in zip(options.files, stems, strict=True):
        rater = stem if stems.count(stem) == 1 else path
        for line in calibrations.read_labels([path], ""):
            given.append(msgspec.structs.replace(line.label, rater=line.label.rater or rater))
    latest, replaced = labels.latest_labels(given)
    together, agreements = labels.merged_labels(latest), labels.people_agreement(latest)
    _write(options.output, together)
    if options.format == "json":
        say(indented_json({"agreement": agreements, "replaced": replaced}))
        return 0
    if replaced:
        say(f"{counted(len(replaced), 'label')} replaced by a later one of the same person:")
    for change in replaced[:_MOST_SHOWN]:
        turn = "" if change.turn_index is None else f" {turn_name(change.turn_index)}"
        where = f"{change.conversation_id}{turn}"
        say(printable(f"  {where}: {change.rater} {change.earlier}, later {change.later}"))
    if (more := len(replaced) - _MOST_SHOWN) > 0:
        say(f"  and {more} more; --format json lists them")
    for agreement in agreements:
        level = "turns" if agreement.level == "turn" else "whole conversations"
        figures = agreement.kappa, agreement.alpha
        kappa, alpha = ("-" if value is None else f"{value:.3f}" for value in figures)
        labelled = f"{agreement.labelled} scores are labelled, {agreement.shared} by two people or more"
        say(printable(f"{agreement.criterion}, {level}: {labelled}"))
        say(f"  all agree on {agreement.agreed}; Cohen's kappa {kappa}, Krippendorff's alpha {alpha}")
        for disagreement in agreement.disagreements[:_MOST_SHOWN]:
            turn = "" if disagreement.turn_index is None else f" {turn_name(disagreement.turn_index)}"
            version = f" ({disagreement.app_version})" if disagreement.app_version else ""
            answers = ", ".join(f"{rater} {label}" for rater, label in disagreement.labels.items())
            say(printable(f"  {disagreement.conversation_id}{turn}{version}: {answers}"))
        if (more := len(agreement.disagreements) - _MOST_SHOWN) > 0:
            say(f"  and {more} more; --format json lists them")
        if agreement.disagreements:
            say("  all labels are kept: calibrate takes the majority, and leaves out what is equally divided")
    files = counted(len(options.files), "file")
    say(f"{counted(len(together), 'line')} of {files}\nfile: {options.output}")
    return 0


_FILE = {"required": True, "metavar": "FILE"}
_OUTPUT = ("--output", _FILE, "file of labels to write, as JSON Lines (required)")
LABEL_COMMANDS = {
    "queue": Subcommand(
        "choose what to label next: a random part, and what tells most by version, verdict and judge votes",
        (
            ("out", {"metavar": "OUT"}, "output directory of a finished run"),
            _OUTPUT,
            ("--criterion", {"default": STATUS, "metavar": "NAME"}, "criterion (default: verdict)"),
            ("--level", {"choices": ("conversation", "turn"), "default": "conversation"},
             "scores of whole conversations or of turns (default: conversation)"),
            ("--size", {"type": int, "default": 50, "metavar": "N"}, "conversations to label (default: 50)"),
            ("--random", {"type": int, "metavar": "N"},
             f"those drawn at random (default: those of {labels.FEWEST_CASES} cases, what calibrate corrects "
             "by, or --size)"),
            ("--seed", {"default": "1", "metavar": "TEXT"}, "another one draws another sample (default: 1)"),
        ),
        _queue,
    ),
    "merge": Subcommand(
        "make one file of the labels of several people, and say how far they agree",
        (
            ("files", {"nargs": "+", "metavar": "FILE"}, "labels as JSON Lines, a file a person"),
            _OUTPUT,
            ("--format", FORMAT, "output (default: text)"),
        ),
        _merge,
    ),
}  # fmt: skip
"""Subcommands by name."""
