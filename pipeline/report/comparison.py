"""Comparisons of runs and versions: their sides, the text, and why one does not pass."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from shlex import join
from typing import Literal, NamedTuple

from msgspec.structs import replace

from turnwise.pipeline.io.terminal import aligned, columns, cut, printable, wrapped
from turnwise.pipeline.report.terminal import COMPARE, MORE, EndComparison, first_page_lines, reading_text
from turnwise.pipeline.runs.directory import open_run, versions_named
from turnwise.pipeline.settings.options import check_store
from turnwise.schemas.comparison import GATE_PROBLEM, NO_VERSION, Comparison, FirstPage, Flip, Side
from turnwise.schemas.config import STATUS, ConfigError, GateConfig
from turnwise.schemas.conversation import turn_name
from turnwise.schemas.jsonio import counted, grouped, is_store_url, listed, shown_url
from turnwise.transforms.decisions.comparison import words
from turnwise.transforms.decisions.comparison.collect import Order, version_order
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions
from turnwise.transforms.decisions.comparison.sides import ComparedSide
from turnwise.transforms.decisions.first_page import NAMED, left_out, two_versions
from turnwise.transforms.decisions.run import Run, RunVersions, read_versions
from turnwise.transforms.text.cleaning import natural_order

_GAP = "  "
_NARROWEST = 12
_FLIPS_SHOWN = 10
_PARTS_SHOWN = 8


def comparison_text(comparison: Comparison, width: int) -> str:
    """Returns a comparison as text, for a terminal of so many columns."""
    first = reading_text(comparison.page.read_first if comparison.page else (), width)
    lines = first_page_lines(comparison.page, width) if comparison.page else []
    lines += first.split("\n") if first else []
    sides = f"baseline {side_text(comparison.baseline)}", f"candidate {side_text(comparison.candidate)}"
    lines += [line for part in (*sides, pairing_text(comparison)) for line in wrapped(printable(part), width)]
    lines += ["", *criteria_table(comparison, width), ""]
    parts = [f"{result.criterion}: {result.sentence}" for result in comparison.criteria]
    parts += [f"{name}: not compared: {why}" for name, why in comparison.not_compared.items()]
    shown = words.standing_out(comparison)
    for name, criterion, change, q, number in shown[:_PARTS_SHOWN]:
        parts.append(f"{name}: {criterion} {change}, q {q}, {counted(number, 'case')}")
    if len(shown) > _PARTS_SHOWN:
        parts.append(f"{len(shown) - _PARTS_SHOWN} more slices and turns stand out (--format json)")
    if comparison.slices and not any(result.stands_out for result in comparison.slices):
        parts.append(f"slices: none of {len(comparison.slices)} slices and criteria stands out")
    parts += [families_text(comparison), *(f"note: {note}" for note in comparison.notes)]
    lines += [line for part in parts for line in wrapped(printable(part), width)]
    if comparison.flips:
        by_case = grouped(((flip.kind, flip.case), flip) for flip in comparison.flips)
        counts = Counter(kind.replace("_", " ") for kind, _ in by_case)
        kinds = ", ".join(f"{number} {kind}" for kind, number in counts.items())
        lines += ["", *wrapped(printable(f"flips (cases with any criterion): {kinds}"), width)]
        shown_flips = [*by_case.items()][:_FLIPS_SHOWN]
        names = words.last_parts(case for (_, case), _ in shown_flips)
        for (kind, case), flips in shown_flips:
            criteria = ", ".join(flip.criterion for flip in flips)
            text = f"  {kind.replace('_', ' ')} {names[case]} ({criteria}): {flips_reason(flips)}"
            lines.append(cut(printable(text), width))
        if len(by_case) > _FLIPS_SHOWN:
            lines.append(f"  {len(by_case) - _FLIPS_SHOWN} more (--format json, --output DIR)")
    return "\n".join(lines)


def side_text(side: Side) -> str:
    """Returns one line about a side."""
    decided = f"{side.passed} passed, {side.failed} failed, {side.no_verdict} without a verdict"
    text = f"{side.name}: {counted(side.conversations, 'conversation')} ({decided}), {side.source}"
    if problems := _problems(side):
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        text += f"; {problems[0]}{more}"
    return text


def _problems(side: Side) -> list[str]:
    """Returns why the run of a side failed; a rule of its gate says nothing of its figures."""
    failed = "the run failed: " if side.create_time else ""  # of a store, the problem names its run
    return [f"{failed}{problem}" for problem in side.problems if not problem.startswith(GATE_PROBLEM)]


def pairing_text(comparison: Comparison) -> str:
    """Returns one line about the pairs."""
    pairing = comparison.pairing
    if pairing.by == "nothing":
        return "not paired: two groups"
    counts = {
        "in the baseline alone": pairing.baseline_only,
        "in the candidate alone": pairing.candidate_only,
        "conversations without one": pairing.baseline_unidentified + pairing.candidate_unidentified,
    }
    alone = "".join(f"; {number} {where}" for where, number in counts.items() if number)
    if pairing.changed:
        alone += f"; {counted(pairing.changed, 'case')} left out, whose expectation differs"
    what = f" ({_TASK})" if pairing.by == "task" else ""
    return f"{counted(pairing.pairs, 'pair')} by {pairing.by}{what}{alone}"


_TASK = "the task that the log names, or the same expectation after the same words of the user"


def families_text(comparison: Comparison) -> str:
    """Returns one line about levels and adjustments."""
    percent = f"{100 * comparison.margin:g}"
    return (
        f"margin {percent} points of a share, {percent}% of the scale of a mean; level {comparison.alpha:g}; "
        "p adjusted by Holm over the criteria with outcomes, and over those without; slices and turns by "
        f"Benjamini-Hochberg, q {comparison.q:g}"
    )


def criteria_table(comparison: Comparison, width: int) -> list[str]:
    """Returns the table of criteria, fitted to the terminal."""
    lines = [[printable(cell) for cell in line] for line in words.criteria_lines(comparison)]
    roles = [[lines[0][0], "baseline", "candidate", *lines[0][3:]], *lines[1:]]
    for rows in (lines, roles):
        if max(map(columns, aligned(rows))) <= width:
            return aligned(rows)
    # A narrow terminal has the numbers of cases below: that of most criteria, and others. p stays: it
    # explains a word beside an interval without 0.
    number_of = {line[0]: line[3] for line in lines[1:]}
    ((most, _),) = Counter(number_of.values()).most_common(1) or [("0", 0)]
    others = ", ".join(f"{name} {number}" for name, number in number_of.items() if number != most)
    below = wrapped(f"cases: {most}{', but ' if others else ''}{others}", width)
    narrow = [[[*line[:3], *line[4:]] for line in rows] for rows in (lines, roles)]
    for rows in narrow:
        if max(map(columns, aligned(rows))) <= width:
            return [*aligned(rows), *below]
    for rows in narrow:
        # The names of criteria have lines of their own, where they are wider than what is left.
        sizes = [max(map(columns, column)) for column in [*zip(*rows, strict=True)][1:]]
        rest = sum(sizes) + len(_GAP) * len(sizes)
        if width - rest >= len(_GAP):
            split = []
            for name, *figures in rows:
                fits = columns(name) <= width - rest
                split += [[name, *figures]] if fits else [[name, *[""] * len(figures)], ["", *figures]]
            return [*aligned(split, [width - rest, *sizes]), *below]
    # One line a criterion has no room for its figures.
    names, *criteria = lines
    texts = (
        f"{line[0]}: {line[2]} of {names[2]} against {line[1]} of {names[1]}, cases {line[3]}, {line[4]}, "
        f"p (Holm) {line[5]}, {line[6]}"
        for line in criteria
    )
    return [part for text in texts for part in wrapped(text, max(width, _NARROWEST))]


def flips_reason(flips: Sequence[Flip]) -> str:
    """Returns the reason of the first criterion that has one, of the flips of one case."""
    first = next((flip for flip in flips if flip.reason and flip.criterion != STATUS), flips[0])
    turn = "" if first.turn_index is None else f"{turn_name(first.turn_index)}: "
    return f"{turn}{first.reason or 'no reason is known'}"


MOST_CONVERSATIONS = 2_000
"""Conversations of both sides that are compared: more would take a large part of the time of the run."""

NamedSides = tuple[str | None, str | None]
"""Baseline and candidate as options name them; None: not stated."""
NOT_NAMED: NamedSides = (None, None)


def end_comparison(
    run: Run,
    versions: Sequence[str],
    named: NamedSides,
    width: int,
    most: int = MOST_CONVERSATIONS,
    plugins: Sequence[str] = (),
) -> EndComparison:
    """Compares the first and the last version of a run, or with a baseline: a version of it, or another run.

    `versions` are the app versions of the run, whose tables can be read ("": not stated). The baseline that
    is named is one of them or the output directory of another run, the candidate one of them. At the `most`
    so many conversations of both sides are compared. `plugins` are options of the command that it names.
    Raises ConfigError if a file of the run cannot be read.
    """
    start = ["turnwise", "compare", *plugins]
    again = partial(end_comparison, run, versions, width=width, most=most, plugins=plugins)
    stated = [version for version in versions if version]
    baseline, candidate = named
    try:
        runs, of_runs = compared_runs(run, list(versions), named)
    except ConfigError as error:
        of_run = again((None, candidate)) if len(stated) > 1 else EndComparison()
        if may_name_version(baseline or ""):  # a problem of the run says it
            return of_run
        return of_run._replace(refused=_refused(str(error), where=" with the baseline").refused)
    if len(runs) == 1:
        if named == NOT_NAMED and len(stated) < 2:
            if len(versions) < 2 or not run.directory:
                return EndComparison()
            sides = _options((NO_VERSION, stated[0]))
            why = f"some conversations state no app version, the others {stated[0]}"
            return _refused(why, join([*start, run.directory, *sides]))
        command = join([*start, run.directory, *_options(named)])
        return _ended(runs, named, command, width, most)
    command = join([*start, runs[0].directory, run.directory, *_options(of_runs)])
    if is_store_url(baseline or ""):
        url, _, name = (baseline or "").rpartition("#")
        in_store = [name.rsplit("/", 1)[-1], run.document.run_id]
        command = join([*start, "--store", shown_url(url), *_options(in_store)])
    if len(versions) > 1 and candidate is None:
        shown = listed([v or NO_VERSION for v in sorted(versions, key=natural_order)], VERSIONS_SHOWN)
        why = f"the run holds {len(versions)} app versions ({shown}); --candidate names one"
        of_run = again(NOT_NAMED)
        refused = _refused(why, f"{command} --candidate VERSION", f" with the baseline {baseline}").refused
        return of_run._replace(refused=refused)
    return _ended(runs, of_runs, command, width, most)


def _options(named: Sequence[str | None]) -> list[str]:
    given = zip(_OPTIONS, named, strict=True)
    return [word for option, name in given if name is not None for word in (option, name)]


def _ended(runs: Sequence[Run], named: NamedSides, command: str, width: int, most: int) -> EndComparison:
    size = sum(run.document.counts.get("results", 0) for run in runs)
    if size > most:
        why = f"{size:,} conversations are more than the {most:,} that the end of a run compares"
        return _refused(why, command)
    try:
        sides = sides_of_runs(runs, named)
    except ConfigError as error:
        return _refused(str(error))
    if problem := settings_problem(sides.baseline, sides.candidate):
        return _refused(problem, f"{command} --allow_different_judges")
    comparison = compare(sides.baseline, sides.candidate, CompareOptions())
    if why := nothing_common(comparison):
        return _refused(why)
    names = words.side_names(comparison)
    difference = f"difference: {names[1]} less {names[0]}; {pairing_text(comparison)}"
    lines = [*wrapped(printable(difference), width), *criteria_table(comparison, width)]
    lines += [line for note in words.table_notes(comparison) for line in wrapped(printable(note), width)]
    more = [printable(f"{MORE}{command}")] if runs[-1].directory else []
    page = first_page(comparison, runs[-1], sides.candidate_version, sides.how)
    return EndComparison(page, "\n".join(["", *lines, *more]), comparison)


def _refused(why: str, command: str = "", where: str = "") -> EndComparison:
    lines = [f"not compared{where}: {why}", *([f"{COMPARE}{command}"] if command else [])]
    return EndComparison(refused=[*map(printable, lines)])


def first_page(comparison: Comparison, run: Run, version: str | None, how: str) -> FirstPage:
    """Returns the first page, by rows of the candidate's version; `how` sides were chosen, as a clause."""
    rows = [row for row in run.conversations() if row["app_version"] == version]
    page = two_versions(comparison, GateConfig(**run.document.config.get("gate") or {}).primary, rows, how)
    return replace(page, detail=" ".join(filter(None, (page.detail, *left_out(run.document.counts)))))


FailOn = Literal["worse", "not_noninferior"]
_NAMES_SHOWN = 5


def fail_on_problems(comparison: Comparison, fail_on: FailOn) -> list[str]:
    """Returns why a comparison does not pass, one line each; what could not be compared never passes."""
    allowed = ("better", "same", "not worse", "differs", *(("inconclusive",) if fail_on == "worse" else ()))
    # What is in no figure and may have been worse.
    unmeasured = []
    a, b, pairing = comparison.baseline, comparison.candidate, comparison.pairing
    for side, run_place in zip((a, b), words.run_places(a, b), strict=False):
        if side.rejected:
            unmeasured.append(f"{run_place}: rejected {counted(side.rejected, 'record or conversation')}")
        unmeasured += [f"{run_place}: {problem}" for problem in _problems(side)]
    if pairing.baseline_only:
        names = listed(pairing.baseline_only_names, _NAMES_SHOWN, pairing.baseline_only)
        count = counted(pairing.baseline_only, "case")
        unmeasured.append(f"{count} of {a.name} without a conversation of {b.name}: {names}")
    if pairing.baseline_unidentified:
        number = counted(pairing.baseline_unidentified, "conversation")
        is_paired = pairing.by != "nothing"
        lack = f"without {pairing.by}: compared with nothing" if is_paired else f"without a case of {b.name}"
        unmeasured.append(f"{number} of {a.name} {lack}")
    if pairing.changed:
        names = listed(pairing.changed_names, _NAMES_SHOWN, pairing.changed)
        unmeasured.append(f"{counted(pairing.changed, 'case')} left out, whose expectation differs: {names}")
    problems = []
    for result in comparison.criteria:
        is_open = result.overall.difference is None or result.overall.word not in allowed
        if missing := result.missing:  # what has no score may be worse
            readings = (missing.left_out, missing.worst_for_candidate, missing.best_for_candidate)
            is_open = is_open or (missing.changes_the_word and missing.worst_for_candidate is None)
            is_open = is_open or any(reading and reading.word == "worse" for reading in readings)
        if is_open and not (result.unmeasured and unmeasured):  # they say it
            problems.append(f"{result.criterion}: {result.sentence}")
    problems += [f"{name}: not compared: {why}" for name, why in comparison.not_compared.items()]
    return [*problems, *unmeasured]


VERSIONS_SHOWN = 10
"""App versions that a message names, of those that there are."""
_Version = str | None


class Sides(NamedTuple):
    """Baseline and candidate, the candidate's app version, and how they were chosen, as a clause."""

    baseline: ComparedSide
    candidate: ComparedSide
    candidate_version: _Version
    how: str


def may_name_version(baseline: str) -> bool:
    """Returns whether a baseline can be an app version, because it is no place of a run.

    A name such as feature/x is a place where there is a folder `feature`; the full name of a version is none.
    """
    is_path = "://" in baseline or baseline.startswith(("/", "./", "../"))
    directory = Path(baseline.rpartition("#")[0] or baseline)
    folders = [] if "/versions/" in baseline else [*directory.parents][:-1]
    places = Path(baseline), directory, *folders
    return not is_path and not any(map(Path.exists, places))


def versions_text(stated: Sequence[_Version]) -> str:
    """Returns the app versions of what was scored, as far as they are stated."""
    names = ", ".join(filter(None, dict.fromkeys(stated)))
    return names or ("none is stated" if stated else "no conversation was scored")


def no_baseline(baseline: str, stated: Sequence[_Version]) -> str:
    """Returns why a name is no baseline, with the app versions that there are."""
    versions = versions_text(stated)
    return f"--baseline {baseline}: is neither an app version of this run ({versions}) nor a directory"


def compared_runs(run: Run, stated: Sequence[_Version], named: NamedSides) -> tuple[list[Run], NamedSides]:
    """Returns the runs of baseline and candidate, or the one that holds both, and their versions.

    `run` is that of the candidate, of which the `stated` app versions are known. The baseline that options
    name is one of them, or the place of another run, with `#VERSION` where that holds several. Raises
    ConfigError if there is no run at the place.
    """
    baseline, candidate = named
    if baseline is None or versions_named(baseline, stated):
        return [run], named
    try:
        of_baseline, version = open_baseline(baseline)
    except ConfigError as error:
        problem = no_baseline(baseline, stated) if may_name_version(baseline) else str(error)
        raise ConfigError(problem) from None
    return [of_baseline, run], (version, candidate)


def open_baseline(baseline: str) -> tuple[Run, str | None]:
    """Opens a run by its output directory, or its address in a store (URL#NAME); raises ConfigError.

    Returns the run, and the version that is named behind its directory (DIR#VERSION), if one is.
    """
    if not is_store_url(baseline):
        directory, _, version = baseline.rpartition("#")
        if directory and not Path(baseline).exists():
            return open_run(directory), version
        return open_run(baseline), None
    check_store("--baseline", baseline.rpartition("#")[0])
    # Imported late: sqlalchemy.
    from turnwise.pipeline.runs.store import open_stored_run

    return open_stored_run(*baseline.rsplit("#", 1)), None


_OPTIONS = "--baseline", "--candidate"


def sides_of_runs(
    directories: Sequence[Run], named: NamedSides = NOT_NAMED, options: tuple[str, str] = _OPTIONS
) -> Sides:
    """Returns baseline and candidate, of one run or two.

    App versions that are not named are the first and last of one run, or the one version of each run.
    `options` are how these are named: of a command, or arguments in Python. Raises ConfigError if a run
    cannot be read or holds no conversation, or the versions are not clear.
    """
    for directory in directories:
        directory.check_results()
    runs = [read_versions(run) for run in directories]
    for run in runs:
        if not run.conversations:
            raise ConfigError(f"{run.run.directory}: holds no scored conversation")
    base_run, other = runs[0], runs[-1]
    chosen: list[_Version]
    how = NAMED
    order = version_order(base_run.first_times) if len(runs) == 1 and None in named else Order([], "")
    if len(order.versions) > 1 and named == NOT_NAMED:
        chosen, how = [order.versions[0], order.versions[-1]], order.how
    else:
        if len(order.versions) > 2:
            roles = ("baseline", "candidate", "last"), ("candidate", "baseline", "first")
            role, other_role, end = roles[named[0] is None]
            how = f"the {role} is as it was named, the {other_role} is the {end} other version {order.by}"
        chosen = [None, None]
        for i, (run, name) in enumerate(zip((base_run, other), named, strict=True)):
            matches = [] if name is None else versions_named(name, run.conversations.keys())
            if name is not None and len(matches) != 1:
                none = "is no app version with scored conversations"
                what = "names several app versions" if matches else none
                known = f"in {run.run.directory} (there are: {_listed(run)})"
                raise ConfigError(f"{options[i]} {name}: {what} {known}")
            chosen[i] = next(iter(matches), None)
        for i, name in enumerate(named):
            if name is None:
                chosen[i] = _find_other(runs, i, named, chosen[1 - i], options[i])
    if base_run.run.document.run_id == other.run.document.run_id and chosen[0] == chosen[1]:
        same = "baseline and candidate are the same conversations of the same run"
        raise ConfigError(f"{base_run.run.directory}: {same}; nothing to compare")
    # Texts call the sides by the version or, where that is the same, by the date or directory.
    names = [version or NO_VERSION for version in chosen]
    if chosen[0] == chosen[1]:
        names = [run.run.document.date or "" for run in (base_run, other)]
        if not all(names) or names[0] == names[1]:
            names = [run.run.directory.rstrip("/") for run in (base_run, other)]
    # No version that is not compared has the same last part: `1.0` would be that of two.
    short = words.last_parts([*names, *(v or NO_VERSION for run in runs for v in run.conversations)])
    names = [short[name] for name in names]
    return Sides(base_run.side(chosen[0], names[0]), other.side(chosen[1], names[1]), chosen[1], how)


def _find_other(
    runs: Sequence[RunVersions], index: int, named: NamedSides, given: _Version, option: str
) -> _Version:
    """Returns the version of a side: the only one, or beside the named one the first or last other."""
    run = runs[index if len(runs) > 1 else 0]
    is_beside = len(runs) == 1 and named != NOT_NAMED
    left = [version for version in run.conversations if not (is_beside and version == given)]
    if len(left) == 1 and (len(runs) > 1 or is_beside):
        return left[0]
    order = version_order({version: run.first_times.get(version) for version in left if version})
    if is_beside and order.versions:  # the first as baseline, the last as candidate
        return order.versions[-index]
    if len(run.conversations) == 1:
        why = f"holds one app version, {_listed(run)}; name a second directory to compare it with"
    else:
        why = f"holds {len(run.conversations)} app versions; name one by {option} (there are: {_listed(run)})"
    raise ConfigError(f"{run.run.directory}: {why}")


def _listed(run: RunVersions) -> str:
    return listed(sorted((v or NO_VERSION for v in run.conversations), key=natural_order), VERSIONS_SHOWN)


def settings_problem(a: ComparedSide, b: ComparedSide) -> str:
    """Returns what measured two sides differently, in one sentence with the next step; "": nothing."""
    # What concerns more than the verdicts.
    wider = [change for change in words.settings_changes(a, b) if change.criteria != [STATUS]]
    changes = [f"{c.what} ({c.baseline} for {a.name}, {c.candidate} for {b.name})" for c in wider]
    what = f"{a.name} and {b.name} were not measured in the same way: {listed(changes, _NAMES_SHOWN)}"
    step = "score the logs of one of them again with the config of the other"
    return f"{what}; {step}" if changes else ""


def nothing_common(comparison: Comparison) -> str:
    """Returns why a comparison compares nothing, as one line; "": it compares something."""
    if comparison.criteria:
        return ""
    why = "; ".join(f"{name}: {why}" for name, why in comparison.not_compared.items())
    return f"baseline and candidate have no criterion in common: {why or 'neither has a score'}"
