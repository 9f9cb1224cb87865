"""Implements the commands about logs, cases and judges: judge-check, cases, tools, inspect and convert.

None imports Beam, unless a path is remote.
"""

import glob
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from turnwise.pipeline.cli.arguments import PATHS, judge_options, reading_options
from turnwise.pipeline.io import files as local_files
from turnwise.pipeline.io.terminal import complain, printable, say, terminal_width
from turnwise.pipeline.report import conversion
from turnwise.pipeline.report.inspection import inspection_text, suggest_mapping
from turnwise.pipeline.settings import options as declared
from turnwise.pipeline.settings import run as run_settings
from turnwise.pipeline.settings.options import FLAG, FORMAT, OptionParser, OptionRows, check_places
from turnwise.schemas.config import ConfigError, EvalConfig
from turnwise.schemas.conversation import UNKNOWN, ToolCall, ToolDeclaration, ToolEffect, ToolSetting
from turnwise.schemas.jsonio import JsonObject, counted, indented_json
from turnwise.schemas.proto.masks import Condition, FilterError, parse_filter
from turnwise.schemas.report import Conversion, FileInspection, Inspection
from turnwise.schemas.score import Failure, IncompleteReadError
from turnwise.transforms.criteria.base import Criterion, JudgedCriterion
from turnwise.transforms.decisions.cases import Candidate, CandidateSample, check_fields, meets
from turnwise.transforms.decisions.conversion import TARGETS
from turnwise.transforms.decisions.inspection import DECIDING, FileCollector, all_criteria, starter_config
from turnwise.transforms.effects import call_effects
from turnwise.transforms.formats.reading import AnyReader, FoundCase, LoggedConversation
from turnwise.transforms.formats.registry import AUTO, NEXT_STEP, check_log_format, no_version_text
from turnwise.transforms.matching.sample import inline_case
from turnwise.transforms.scoring.config import build_criteria
from turnwise.transforms.scoring.redaction import redacted

_FILE = "judge_check.json"


def check_judge_verdicts(argv: Sequence[str]) -> int:
    """Prints what a check would cost and, with `--yes`, how often verdicts of the judge change.

    Returns 1 if nothing was asked, something was not measured, or `--max_flip` is exceeded, else 0. Raises
    ConfigError.
    """
    options = judge_check_parser().parse_args(argv)
    if options.votes < 3 or options.votes % 2 == 0:
        raise ConfigError(f"--votes {options.votes}: must be an odd number from 3 on, so that votes decide")
    if options.sample < 1:
        raise ConfigError(f"--sample {options.sample}: must be 1 or more")
    if options.max_flip is not None and not 0 <= options.max_flip <= 1:
        raise ConfigError(f"--max_flip {options.max_flip:g}: must lie between 0 and 1")
    check_log_format(options.input_format)
    config = run_settings.read_config(options.config)
    criteria, run = build_criteria(config), run_settings.run_info(None, config)
    stated = config.judge
    if options.judge_model:
        criteria = tuple(
            c.asking(c.judge_model_options.without_others()) if isinstance(c, JudgedCriterion) else c
            for c in criteria
        )
        stated = stated.model_copy(update={"panel": (), "cascade": None})
    named = ("judge", "judge_model", "judge_concurrency", "judge_cache")
    raw = declared.RawJudgeOptions(**{name: getattr(options, name) for name in named})
    judge = run_settings.judge_settings(raw, stated, run.run_id, criteria)
    settings = run_settings.RunSettings(
        run=run_settings.judged_by(run, judge),
        config=config,
        criteria=criteria,
        judge=judge,
        input=tuple(options.input),
        input_format=options.input_format,
        eval_cases=tuple(options.eval_cases or ()),
    )
    # Imported late: an error in the options does not wait for it.
    from turnwise.pipeline.report.calibration import check_text, checked

    how = {name: getattr(options, name) for name in ("votes", "sample", "seed", "max_flip", "yes")}
    check = checked(settings, complain if options.format == "json" else say, **how)
    document = indented_json(check)
    if options.output and check.used is not None:
        conversion.write_output(options.output, {_FILE: f"{document}\n"})
    if options.format == "json":
        say(document)
    elif check.used is not None:
        say(check_text(check))
        if options.output:
            say(f"file: {options.output}/{_FILE}")
    if check.records_rejected:
        rejected = counted(check.records_rejected, "record")
        complain(f"{rejected} could not be read, and the sample is of the others")
    for problem in check.problems:
        complain(problem)
    return 1 if check.problems else 0


def judge_check_parser() -> OptionParser:
    """Returns the parser of `turnwise judge-check`; its help names what plugins add."""
    return OptionParser(
        (
            ("--input", {**PATHS, "required": True},
             "conversation logs: files, directories, globs (required)"),
            ("--eval_cases", PATHS, "eval cases: files, directories, globs or URLs of stores"),
            *reading_options("criteria and the section `judge`: ADK's EvalConfig JSON"),
            *judge_options(),
            ("--sample", {"type": int, "default": 20, "metavar": "N"},
             "conversations to draw, of those about which something is asked (default: 20)"),
            ("--votes", {"type": int, "default": 3, "metavar": "N"},
             "how often each question is asked in each form, an odd number (default: 3)"),
            ("--seed", {"type": int, "default": 0, "metavar": "N"},
             "another seed draws other conversations (default: 0)"),
            ("--max_flip", {"type": float, "metavar": "SHARE"},
             "exit 1 if a larger share (0..1) of a criterion's verdicts changes, or might"),
            ("--yes", FLAG, "ask the judge; without it only the cost is estimated"),
            ("--format", FORMAT, "output (default: text)"),
            ("--output", {"metavar": "DIR"}, f"directory for {_FILE}"),
        ),
        prog="turnwise judge-check",
        description="Asks a judge the questions of a sample of conversations several times: as they are "
        "(repeat), with what is interchangeable in another order (swap), and with the instructions in other "
        "words (paraphrase). Says of each criterion how many verdicts change.",
    )  # fmt: skip


FAILED, SAMPLE = "failed", "sample"
_SAMPLE_SIZE: Final = 50
_CANONICAL = "turnwise"
_JSON = ("--json", FLAG, "print a JSON document instead of text")


def make_cases(argv: Sequence[str]) -> int:
    """Writes eval cases made of recorded conversations, for a person to approve.

    Returns 1 if something could not be read or written, or no case was made, else 0. Raises ConfigError.
    """
    options = cases_parser().parse_args(argv)
    check_log_format(options.input_format)
    if options.number is not None and options.number < 1:
        raise ConfigError(f"--number must be 1 or more, not {options.number}")
    target = TARGETS.find(options.format, "--format ")
    if target.case is None:
        raise ConfigError(f"--format {target.name}: holds no eval cases")
    check_places("--from", options.sources)
    conversion.check_new_file(options.to, target)
    number = _SAMPLE_SIZE if options.number is None and options.select == SAMPLE else options.number
    wanted = _wanted(options.select, options.sources)
    reader = AnyReader(options.input_format, run_settings.read_config(options.config))
    runs = [path for path in options.sources if conversion.is_run(path)]
    logs = [path for path in options.sources if path not in runs]
    logged = conversion.log_candidates(logs, reader) if logs else ()
    candidates = chain(chain.from_iterable(map(conversion.run_candidates, runs)), logged)
    sample = CandidateSample(number, options.seed)
    try:
        done = conversion.write_cases(candidates, wanted, sample, target, options.to)
    except FilterError as error:
        raise ConfigError(f"--select {options.select}: {error}") from None
    return report(done, options.json)


def cases_parser() -> OptionParser:
    """Returns the parser of `turnwise cases`."""
    names = ", ".join(sorted(name for name, target in TARGETS.items() if target.case))
    options: OptionRows = (
        ("--from", {"dest": "sources", "nargs": "+", "required": True, "metavar": "PATH"},
         "output directories of runs, or logs: files, directories or globs (required)"),
        ("--select", {"required": True, "metavar": "WHICH"},
         f"{FAILED}: conversations of runs that failed; {SAMPLE}: any; or a filter such as "
         "'app_version = v2 AND tool = book_*' (required)"),
        ("--to", {"required": True, "metavar": "FILE"}, "the file to write; it must not exist (required)"),
        ("--format", {"default": _CANONICAL, "metavar": "FORMAT"},
         f"form of the cases: {names} (default: {_CANONICAL})"),
        ("--number", {"type": int, "metavar": "N"},
         f"at most so many cases, drawn at random (default: {_SAMPLE_SIZE} with {SAMPLE}, else all)"),
        ("--seed", {"type": int, "default": 0}, "another seed draws another sample (default: 0)"),
        *reading_options("config that says how some records are read"),
        _JSON,
    )  # fmt: skip
    return OptionParser(
        options,
        prog="turnwise cases",
        description="Makes eval cases of recorded conversations: they expect the recorded answers and calls, "
        "until a person approves or corrects them. What was asked and done before is left out. "
        "Exit status 1 if something could not be read, or no case was made.",
    )


def _wanted(select: str, sources: Sequence[str]) -> Callable[[Candidate], bool]:
    if select == SAMPLE:
        return lambda candidate: True
    if select == FAILED:
        logs = [path for path in sources if not conversion.is_run(path)]
        if logs:
            problem = "is no output directory of a run, and logs do not say what failed; score it first"
            raise ConfigError(f"--select {FAILED}: {logs[0]}: {problem}")
        return lambda candidate: candidate.verdict == "FAIL"
    try:
        condition: Condition | None = parse_filter(select)
    except FilterError as error:
        raise ConfigError(f"--select {select}: {error}; it is {FAILED}, {SAMPLE} or a filter") from None
    if condition is None:
        raise ConfigError(f"--select is empty; it is {FAILED}, {SAMPLE} or a filter")

    def is_wanted(candidate: Candidate) -> bool:
        check_fields(condition, candidate.facts)
        return meets(condition, candidate.facts)

    return is_wanted


def list_tools(argv: Sequence[str]) -> int:
    """Prints every tool with its effect and the source of that information.

    Returns 1 if nothing could be read, or an input not to its end, else 0. Raises ConfigError.
    """
    parser = OptionParser(
        (
            ("log", {"nargs": "+", "metavar": "LOG"}, "logs or eval cases: files, directories or globs"),
            ("--eval_cases", {"nargs": "+", "default": [], "metavar": "PATH"},
             "eval cases whose tools are listed too"),
            *reading_options("config whose `tools` take precedence"),
        ),
        prog="turnwise tools",
        description="Lists the tools of logs and eval cases, with their effects and the source of that "
        "information, as JSON for the config.",
    )  # fmt: skip
    options = parser.parse_args(argv)
    check_log_format(options.input_format)
    config = run_settings.read_config(options.config)
    tools: dict[str, ToolEffect] = {}
    problems: list[str] = []
    was_read = is_cut = False
    for paths, kind in ((options.log, options.input_format), (options.eval_cases, AUTO)):
        check_places("tools", paths)
        reads = local_files.read_files("tools", paths, AnyReader(kind, config), run_settings.MAX_RECORD_BYTES)
        for item in local_files.whole_items(reads):
            if not isinstance(item, Failure):
                was_read = True
                _add_tools(tools, item, config.tools)
            elif item.position:
                problems.append(f"{item.source}:{item.position}: {item.message}")
            else:  # what is said of files comes first
                problems.insert(0, f"{item.source}: {item.message}")
            is_cut |= isinstance(item, Failure) and item.error_type == IncompleteReadError.__name__
    # The tools by name as JSON, one a line, with glob characters in names escaped.
    lines = []
    for name, tool in sorted(tools.items()):
        setting: JsonObject = tool._asdict()
        if tool.effect in ("read", UNKNOWN):
            setting = {"effect": None if tool.effect == UNKNOWN else tool.effect, "source": tool.source}
        texts = (json.dumps(part, ensure_ascii=False) for part in (glob.escape(name), setting))
        lines.append("    " + ": ".join(printable(text, sys.maxsize) for text in texts))
    say('{\n  "tools": {\n' + ",\n".join(lines) + "\n  }\n}" if lines else '{"tools": {}}')
    unknown = [name for name, tool in tools.items() if tool.effect == UNKNOWN]
    guessed = sum(tool.is_guess for tool in tools.values()) - len(unknown)
    print(f"{counted(len(tools), 'tool')}, {guessed} of them guessed by name", file=sys.stderr)
    if unknown:
        say(f"unknown, set `effect`: {printable(', '.join(sorted(unknown)))}", sys.stderr)
    if problems:
        say(f"{counted(len(problems), 'record')} not read: {printable(problems[0])}", sys.stderr)
    elif not was_read:
        say("no conversation and no eval case: the files hold nothing", sys.stderr)
    return 1 if is_cut or not was_read else 0


def _add_tools(
    tools: dict[str, ToolEffect], item: LoggedConversation | FoundCase, settings: Mapping[str, ToolSetting]
) -> None:
    """Adds those of a conversation or case: a declared effect before a guess, a guess before unknown."""
    case = item.case if isinstance(item, FoundCase) else inline_case(item.conversation)
    stated, calls = list[ToolDeclaration](), list[ToolCall]()
    if case is not None:
        stated, calls = [*case.tools], [*(case.actions or ()), *case.user_actions]
        calls += chain.from_iterable(turn.tool_calls or () for turn in case.turns)
    if isinstance(item, LoggedConversation):
        stated = [*item.conversation.tools, *stated]
        made = [(*turn.tool_calls, *turn.user_tool_calls) for turn in item.conversation.turns]
        calls = [*chain.from_iterable(made), *calls]
    catalog = call_effects.ToolCatalog(settings, stated)
    for name in dict.fromkeys([*catalog.declared, *map(call_effects.called_tool, calls)]):
        tool, known = catalog.effect(name), tools.get(name)
        says_more = known is None or (
            known.is_guess and (not tool.is_guess or (known.effect == UNKNOWN and tool.effect != UNKNOWN))
        )
        if name and says_more:
            tools[name] = tool


def inspect_files(argv: Sequence[str]) -> int:
    """Prints what files hold, and which criteria could score it.

    Returns 1 if a file holds nothing, or something in it could not be read, else 0. Raises ConfigError.
    """
    options = inspect_parser().parse_args(argv)
    check_log_format(options.input_format)
    check_places("inspect", options.path)
    config = run_settings.read_config(options.config)
    if options.suggest:
        return _suggest(options.path, AnyReader(options.input_format, config), config)
    criteria = all_criteria(build_criteria(config) if options.config else ())
    reader = AnyReader(options.input_format, config)
    reads = local_files.read_files("inspect", options.path, reader, run_settings.MAX_RECORD_BYTES)
    files = _collected(reads, criteria)
    unversioned = sum((Counter(file.without_version) for file in files), Counter[str]())
    is_none = unversioned and unversioned.total() == sum(file.conversations for file in files)
    no_version = no_version_text(unversioned, config.app_version_from) if is_none else None
    inspection = Inspection(files, local_files.other_files(options.path), no_version)
    if config.redact is not None:
        examples = [file.example for file in inspection.files]  # of what was read, which has its markers
        for file in inspection.files:
            file.example = None
        inspection = redacted(inspection, config.redact)
        for file, example in zip(inspection.files, examples, strict=True):
            file.example = example
    if options.starter_config:
        starter = starter_config(inspection.files, config)
        if not any(name in starter["criteria"] for name in DECIDING):
            raise ConfigError(
                "--starter_config: these logs feed no criterion that decides: they state neither results of "
                'tools nor how conversations end; name a judge in --config: {"judge": {"backend": "gemini"}}'
            )
        try:
            with open(options.starter_config, "x", encoding="utf-8") as new_file:
                new_file.write(json.dumps(starter, ensure_ascii=False, indent=2) + "\n")
        except OSError as error:
            raise ConfigError(f"--starter_config {options.starter_config}: {error.strerror}") from None
        names = ", ".join(starter["criteria"])
        say(f"{options.starter_config}: {names}; judge: {starter['judge']['backend']}", sys.stderr)
    if options.json:
        say(indented_json(inspection))
    else:
        named = options.starter_config or options.config
        has_starter = any(name in starter_config(files, config)["criteria"] for name in DECIDING)
        named_files = options.path, terminal_width(), named, has_starter, options.plugin
        say(inspection_text(inspection, *named_files))
    return 0 if inspection.is_read else 1


def inspect_parser() -> OptionParser:
    """Returns the parser of `turnwise inspect`; its help names what plugins add."""
    return OptionParser(
        (
            ("path", {"nargs": "+", "metavar": "PATH"}, "logs or eval cases: files, directories or globs"),
            ("--json", FLAG, "print a JSON document instead of a table"),
            ("--suggest", FLAG,
             "propose the config's mapping for the first record that no format fits, and say what it reads"),
            ("--starter_config", {"metavar": "FILE"},
             "write a config for logs without eval cases, of the criteria that they can feed, judged by the "
             "rules of `local` or by the judge that --config names; FILE must not exist"),
            *reading_options("config: its criteria are tried with their fields, others as default"),
        ),
        prog="turnwise inspect",
        description="Says of files what they hold: format, conversations, turns, calls, what could not be "
        "read and why, an example, and which criteria could score it. Exit status 1 if a file holds nothing, "
        "or something in it could not be read.",
    )  # fmt: skip


def _collected(reads: Iterable[local_files.Read], criteria: Sequence[Criterion]) -> list[FileInspection]:
    files: dict[str, FileCollector] = {}
    current = FileCollector("", criteria)
    for read in reads:
        if isinstance(read, local_files.OpenedFile):
            current = files[read.path] = FileCollector(local_files.shown_path(read.path), criteria)
            if read.failure is not None:
                current.add_failure(read.failure)
        elif isinstance(read, local_files.JoinedEvents):
            for item in read.contents:
                if isinstance(item, Failure):
                    files[item.source or ""].add_failure(item)
                else:
                    files[read.sources[0]].add_conversation(item)
        else:
            current.add_record(read)
    return [collector.inspection for collector in files.values()]


def _suggest(paths: Sequence[str], reader: AnyReader, config: EvalConfig) -> int:
    proposal = suggest_mapping(paths, reader, config)
    if isinstance(proposal, str):
        ways = "write a `mapping` by hand (docs/input-formats.md, Any JSON), read the records by a --plugin"
        say(f"no mapping can be proposed: {proposal}; {ways}, or {NEXT_STEP}", sys.stderr)
        return 1
    mapping, lines, is_whole = proposal
    say(json.dumps({"mapping": mapping.model_dump(exclude_none=True)}, ensure_ascii=False, indent=2))
    for line in lines:
        say(line, sys.stderr)
    return 0 if is_whole else 1


def convert(argv: Sequence[str]) -> int:
    """Writes logs or eval cases in another format, and says what that cannot hold.

    Returns 1 if something was not converted, or there was nothing, else 0. Raises ConfigError.
    """
    options = convert_parser().parse_args(argv)
    check_log_format(options.input_format)
    if options.to is None:
        raise ConfigError(f"--to is missing: name one of {', '.join(sorted(TARGETS))}")
    target = TARGETS.find(options.to, "--to ")
    check_places("convert", options.input)
    conversion.check_new_file(options.output, target)
    runs = [path for path in options.input if conversion.is_run(path)]
    if runs and len(options.input) > 1:
        raise ConfigError(f"{runs[0]}: is the output directory of a run; it is converted alone")
    if runs:
        return report(conversion.convert_run(runs[0], target, options.output), options.json)
    reader = AnyReader(options.input_format, run_settings.read_config(options.config))
    reads = local_files.read_files("convert", options.input, reader, run_settings.MAX_RECORD_BYTES)
    done = conversion.convert_items(local_files.whole_items(reads), target, options.output)
    return report(done, options.json)


def report(done: Conversion, as_json: bool) -> int:
    """Prints what was done, and returns the exit status."""
    if as_json:
        say(indented_json(done))
    else:
        say(conversion.conversion_text(done, terminal_width()))
    return 0 if done.written and not done.lost_count else 1


def convert_parser() -> OptionParser:
    """Returns the parser of `turnwise convert`."""
    targets = "; ".join(f"{name}: {target.help}" for name, target in sorted(TARGETS.items()))
    options: OptionRows = (
        ("input", {"nargs": "+", "metavar": "IN"}, "logs or eval cases: files, directories, globs"),
        ("output", {"metavar": "OUT"}, "the file to write; it must not exist"),
        ("--to", {"metavar": "FORMAT"}, f"format of OUT: {targets} (required)"),
        *reading_options("config that says how some records are read"),
        _JSON,
    )
    return OptionParser(
        options,
        prog="turnwise convert",
        description="Writes logs or eval cases in another format, and lists what that format cannot hold: "
        "everything that is written is read back and compared. Exit status 1 if something was not converted.",
    )
