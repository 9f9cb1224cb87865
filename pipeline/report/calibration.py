"""How far to trust a judge: calibrations of a run by labels of people, and a judge that is asked again."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heappush, heapreplace
from itertools import chain
from pathlib import Path
from typing import cast

from msgspec.structs import replace

from turnwise.pipeline.batch.process import Interrupted, interrupted_by_signal
from turnwise.pipeline.io.terminal import aligned, complain, cut, printable, wrapped
from turnwise.pipeline.python.evaluate import Collected
from turnwise.pipeline.python.inputs import sort_inputs
from turnwise.pipeline.report.terminal import money_text
from turnwise.pipeline.runs.directory import CALIBRATION_FILE, write_whole
from turnwise.pipeline.settings.run import RunSettings, try_judge
from turnwise.schemas.calibration import (
    Calibration,
    CheckCost,
    CheckFigure,
    Corrected,
    CriterionCalibration,
    JudgeCheck,
    LabelFigure,
    parse_label,
)
from turnwise.schemas.case import EvalCase
from turnwise.schemas.comparison import Bounds
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import counted, dump_json, indented_json, is_local, listed, load_json
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.decisions.calibration import judge_check
from turnwise.transforms.decisions.calibration.labels import LabelLine
from turnwise.transforms.decisions.run import Run
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.judges import JUDGING
from turnwise.transforms.judging.limits import JudgeUsage, total_cost
from turnwise.transforms.judging.setup import WAITING, JudgeSettings, JudgeWorker
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.selection import Selection, hash_place

_NARROWEST = 40
_GROUPS_SHOWN = 12
_LONGEST = 32
_MEANINGS = {
    "unknown": "the run has no such score",
    "ambiguous": "several scores fit; score_id or app_version says which",
    "contradiction": "one rater gave a score different labels (of several people: turnwise labels merge)",
    "mixed": "numbers and PASS or FAIL for one criterion",
    "off_scale": "not on the scale of the criterion",
    "repeated": "the same label again, counted once",
    "no_label": "without a label",
    "after_end": "drawn, but after the last label",
}


def calibration_text(calibration: Calibration, width: int) -> str:
    """Returns a calibration as text, in lines of at most a width."""
    width = max(width, _NARROWEST)
    lines = [f"{counted(calibration.lines, 'line')} of labels, run {calibration.run_id}"]
    for problem in calibration.problems:
        names = listed(problem.names, len(problem.names), problem.count)
        lines.append(f"{problem.count} {_MEANINGS[problem.kind]}: {names}")
    for calibrated in calibration.criteria:
        lines += ["", *_criterion(calibrated, calibration)]
    # Rows of tables, which begin with spaces, are cut.
    fitted: list[str] = []
    for line in map(printable, lines):
        fitted += [cut(line, width)] if line.startswith("  ") else wrapped(line, width, "    ")
    return "\n".join(fitted)


def _criterion(calibrated: CriterionCalibration, calibration: Calibration) -> Iterator[str]:
    raters = f" by {calibrated.raters} raters" if calibrated.raters > 1 else ""
    ways = {"drawn at random": calibrated.random, "hand-picked": calibrated.hand_picked}
    chosen = " and ".join(f"{count} {text}" for text, count in ways.items() if count)
    level = "turns" if calibrated.level == "turn" else "whole conversations"
    labelled = f"{calibrated.labelled} of {calibrated.scores} scores are labelled{raters}"
    yield f"{calibrated.criterion}, {level}: {labelled}, {chosen}"
    if outcomes := calibrated.outcomes:
        tied = f"; {outcomes.tied} with equally divided raters are left out" if outcomes.tied else ""
        agreement = f"{_percent(outcomes.agreement)} of {outcomes.agreement.count}"
        yield f"agreement {agreement}{tied}; Cohen's kappa {_number(outcomes.kappa)}"
        table = outcomes.confusion
        no_score = [str(outcomes.no_score_pass), str(outcomes.no_score_fail)]
        precision, fail_precision = _percent(outcomes.precision), _percent(outcomes.fail_precision)
        rows = [
            ["", "people PASS", "people FAIL", "precision"],
            ["criterion PASS", str(table.both_pass), str(table.false_pass), precision],
            ["criterion FAIL", str(table.false_fail), str(table.both_fail), fail_precision],
            *([["no score", *no_score, ""]] if outcomes.no_score_pass or outcomes.no_score_fail else []),
            ["recall", _percent(outcomes.recall), _percent(outcomes.fail_recall), ""],
        ]
        yield from (f"  {line}" for line in aligned(rows))
    if calibrated.numbers is not None:
        numbers = calibrated.numbers
        yield f"value minus label: {_number(numbers.bias)}; distance: {_number(numbers.distance)}"
        yield f"correlation {_number(numbers.correlation)}; Krippendorff's alpha {_number(numbers.alpha)}"
    if calibrated.outcomes is None and calibrated.numbers is None:
        lacking = "a value" if calibrated.kind == "numbers" else "an outcome and a majority of raters"
        yield f"agreement: not measured: no labelled score has {lacking}"
    if calibrated.between_people is not None:
        yield f"between raters: Krippendorff's alpha {_number(calibrated.between_people)}"
    if advice := calibrated.threshold:
        false_pass, false_fail = calibration.false_pass_cost, calibration.false_fail_cost
        present = "the run has no threshold to compare with"
        if advice.present is not None and advice.present_cost is not None:
            present = (
                f"the present one, {advice.present:g}, costs {_number(advice.present_cost)}: {advice.word}"
            )
            if advice.word == "the present one":
                present = "it is the present threshold"
        yield (
            f"threshold: {advice.threshold:g} ({advice.range.low:g} to {advice.range.high:g}) has the lowest "
            f"cost of errors on {advice.labels} labels of {counted(advice.cases, 'case')} "
            f"(a false PASS costs {false_pass:g}, a false FAIL {false_fail:g}): "
            f"{_number(advice.validated_cost)} a score in cross-validation, {advice.cost:.3f} on the same "
            f"labels; {present}"
        )
    elif calibrated.no_threshold is not None and calibrated.kind == "outcomes":
        yield f"threshold: none is suggested: {calibrated.no_threshold}"
    measure = "pass rate" if calibrated.measure == "pass_rate" else "mean"
    if calibrated.not_corrected is not None:
        yield f"{measure}: not corrected: {calibrated.not_corrected}"
    elif calibrated.corrected:
        yield corrected_text(calibrated.corrected[0], calibrated.measure == "pass_rate")
    yield from _groups(calibrated)


def corrected_text(corrected: Corrected, is_rate: bool) -> str:
    """Returns the corrected figure of all scores."""
    measure, decided = "pass rate" if is_rate else "mean", corrected.scores - corrected.no_score
    population, scored = f"all {corrected.scores}", "as scored"
    if corrected.covers != "all":
        lacking = f"the {corrected.no_score} without {'an outcome' if is_rate else 'a value'}"
        unsaid = f"no label is of {lacking}; it does not speak for all"
        population = f"the {decided} decided of {corrected.scores} ({unsaid})"
    elif corrected.no_score:
        scored = f"as scored, of the {decided} decided"
    missing = f", whatever the {corrected.missing} drawn without a label are" if corrected.missing else ""
    return (
        f"{measure} of {population}: {_figure(corrected.raw, is_rate)} {scored}; corrected by "
        f"{corrected.labels} labels {_figure(corrected.value, is_rate, corrected.interval)}{missing}"
    )


def _groups(calibrated: CriterionCalibration) -> Iterator[str]:
    """Yields a table of app versions and slices; the rest are in the file."""
    is_rate = calibrated.measure == "pass_rate"
    agreed = {(item.group, item.name): item for item in calibrated.slices}
    corrected = {(item.group, item.name): item for item in calibrated.corrected[1:]}
    keys = [key for key in dict.fromkeys([*agreed, *corrected]) if key in agreed or corrected[key].labels]
    if not keys:
        return
    rows = [["", "labels", "agreement", "as scored", "corrected"]]
    for key in keys[:_GROUPS_SHOWN]:
        agreement, figure = agreed.get(key), corrected.get(key)
        labels = agreement.agreement.count if agreement else figure.labels if figure else 0
        cells = [printable(key[1] or "(no version)", _LONGEST), str(labels)]
        cells.append(_percent(agreement.agreement) if agreement else "-")
        cells.append(_figure(figure.raw, is_rate) if figure else "-")
        cells.append(_figure(figure.value, is_rate, figure.interval) if figure else "-")
        rows.append(cells)
    yield from (f"  {line}" for line in aligned(rows))
    if len(keys) > _GROUPS_SHOWN:
        yield f"  and {len(keys) - _GROUPS_SHOWN} more"


def _percent(figure: LabelFigure) -> str:
    return _figure(figure.value, True, figure.interval)


def _number(figure: LabelFigure) -> str:
    shown = _figure(figure.value, False, figure.interval)
    is_whole = figure.value is not None and figure.interval
    return shown if is_whole else f"{shown} ({figure.reason or 'no interval'})"


def _figure(value: float | None, is_rate: bool, bounds: Bounds | None = None) -> str:
    """Returns a share in percent, or a number, and its interval if there is one."""
    shown = "-" if value is None else f"{value:.1%}" if is_rate else f"{value:.3f}"
    if bounds is None:
        return shown
    low, high = (f"{100 * end:.1f}" if is_rate else f"{end:.3f}" for end in bounds)
    return f"{shown} ({low} to {high})"


def write_calibration(run: Run, calibration: Calibration) -> str:
    """Writes `calibration.json` whole into the directory of its run, and returns its path."""
    text = f"{indented_json(calibration)}\n"
    if is_local(run.directory):
        path = Path(run.directory) / CALIBRATION_FILE
        write_whole(path, text)
        return str(path)
    from turnwise.pipeline.io.run_writer import publish, write_partial

    partial = write_partial(run.directory, CALIBRATION_FILE, text.encode())
    publish(run.directory, [(partial, CALIBRATION_FILE)])
    return f"{run.directory.rstrip('/')}/{CALIBRATION_FILE}"


def criterion_rows(run: Run, criteria: Collection[str]) -> Iterable[ScoreRow]:
    """Returns the scores of some criteria in a run, and verdicts in their form; raises ConfigError."""
    wanted: Iterable[ScoreRow] = (row for row in run.scores() if row["criterion"] in criteria)
    if STATUS not in criteria:
        return wanted
    scored = dict.fromkeys(("turn_index", "value", "threshold", "score_id")) | {"criterion": STATUS}
    verdicts = ({**row, **scored, "outcome": row["verdict"]} for row in run.conversations())
    return chain(wanted, cast(Iterable[ScoreRow], verdicts))


def merged(earlier: Calibration | None, calibration: Calibration) -> tuple[Calibration, list[str]]:
    """Returns a calibration with the criteria of an earlier one that it has no labels of.

    Beside it: which criteria of the earlier one stay, and which are replaced, one line each.
    """
    if earlier is None or not calibration.criteria:
        return calibration, []
    labelled = {(calibrated.criterion, calibrated.level) for calibrated in calibration.criteria}
    kept, replaced = list[CriterionCalibration](), list[CriterionCalibration]()
    for known in earlier.criteria:
        (replaced if (known.criterion, known.level) in labelled else kept).append(known)
    lines = []
    for what, criteria in (("kept", kept), ("replaced", replaced)):
        if criteria:
            names = ", ".join(f"{calibrated.criterion} ({calibrated.level})" for calibrated in criteria)
            lines.append(printable(f"{what} of the earlier calibration: {names}"))
    if not kept:
        return calibration, lines
    costs = calibration.false_pass_cost, calibration.false_fail_cost
    if costs != (earlier.false_pass_cost, earlier.false_fail_cost):
        why = "it was computed with other costs of errors; calibrate the criterion again"
        outdated = {"threshold": None, "no_threshold": why}
        kept = [replace(known, **outdated) if known.threshold else known for known in kept]
    labels = list(dict.fromkeys([*earlier.labels, *calibration.labels]))
    whole = sorted([*kept, *calibration.criteria], key=lambda known: (known.criterion, known.level))
    return replace(calibration, labels=labels, criteria=whole), lines


def read_labels(paths: Sequence[str], option: str = "--labels ") -> list[LabelLine]:
    """Returns the labels of JSON Lines or arrays; raises ConfigError, with `option` before the file."""
    labels: list[LabelLine] = []
    for path in paths:
        before = len(labels)
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "not UTF-8 text"
            raise ConfigError(f"{option}{path}: {why}") from None
        number, is_array = 1, text.lstrip().startswith("[")
        try:
            lines = map(dump_json, load_json(text.encode())) if is_array else text.encode().split(b"\n")
            for number, line in enumerate(lines, 1):
                if line.strip():
                    labels.append(LabelLine(parse_label(line), f"{Path(path).name}:{number}"))
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{option}{path}:{number}: no label: {error}") from None
        if len(labels) == before:
            raise ConfigError(f"{option}{path}: holds no label")
    return labels


# A check of a judge as text.


def _cost(cost: CheckCost) -> str:
    tokens = "an unknown number of tokens"
    if cost.tokens_in is not None and cost.tokens_out is not None:
        tokens = f"{cost.tokens_in:,} + {cost.tokens_out:,} tokens"
    money = "cost unknown (a model has no price, or tokens are unknown)"
    if cost.cost is not None:
        money = f"{money_text(cost.cost)} at the prices of the config"
    return f"{cost.calls:,} calls, {tokens}, {money}"


def check_text(check: JudgeCheck) -> str:
    """Returns the table by criterion, what was not measured, and what was used."""
    lines, notes = [["criterion", "questions", *judge_check.PERTURBATIONS]], []
    for checked in check.criteria:
        cells = []
        for name in judge_check.PERTURBATIONS:
            figure: CheckFigure | None = getattr(checked, name)
            cell = "n/a" if figure is None else "not measured"
            if figure and figure.share is not None and figure.interval is not None:
                interval = f"{figure.interval.low:.1%} to {figure.interval.high:.1%}"
                cell = f"{figure.share:.1%} ({interval}; {figure.changed} of {figure.verdicts})"
            cells.append(cell if checked.questions else "no question")
            if figure is None:
                continue
            start = f"{checked.criterion}, {name}:"
            for reason, count in figure.unmeasured.items():
                notes.append(printable(f"{start} {counted(count, 'verdict')} not measured: {reason}"))
            if left := max(0, checked.questions - figure.questions):
                notes.append(f"{start} n/a for {counted(left, 'question')}")
        lines.append([checked.criterion, str(checked.questions), *cells])
    head = "share of verdicts that change (95 % interval; changed of measured)"
    table = aligned([[printable(cell) for cell in line] for line in lines])
    return "\n".join([head, *table, *notes, *([f"used: {_cost(check.used)}"] if check.used else [])])


# The check itself: draws conversations about which something is asked, estimates, asks, and computes.

_DrawnConversation = tuple[float, int, judge_check.AskedQuestions]
"""Minus its hash, minus its number, what is asked; the first two decide which goes when another one comes."""


async def _kept_conversations(
    samples: Iterable[Sample], selection: Selection, size: int, seed: int
) -> list[judge_check.AskedQuestions]:
    """Returns the conversations with the lowest hashes of seed, id and app version, lowest first."""
    heap: list[_DrawnConversation] = []
    for number, sample in enumerate(samples):
        conversation = sample.conversation
        named = f"{seed}\0{conversation.conversation_id}\0{conversation.app_version or ''}"
        position = hash_place(named)
        if len(heap) == size and position >= -heap[0][0]:
            continue
        drawn_sample = await judge_check.questions_about(
            sample, selection.of(sample).judged, selection.redact
        )
        if drawn_sample.questions or drawn_sample.failures:
            add = heappush if len(heap) < size else heapreplace
            add(heap, (-position, -number, drawn_sample))
    return [drawn_sample for _, _, drawn_sample in sorted(heap, key=lambda entry: entry[:2], reverse=True)]


def checked(
    settings: RunSettings,
    tell: Callable[[str], None],
    *,
    votes: int,
    sample: int,
    seed: int,
    max_flip: float | None,
    yes: bool,
) -> JudgeCheck:
    """Checks the judge of the settings; `tell` takes a line with the cost before anything is asked.

    Each form of a question gets `votes`, odd and at least 3. `max_flip` is the largest share of verdicts that
    may change, 0..1, if it is bounded. Without `yes`, only the cost is estimated.
    Raises ConfigError if the judge has no model, or several for one criterion; it cannot work or is refused;
    a path names nothing.
    """
    kind = settings.judge.kind
    if not kind.connect:
        raise ConfigError(f"judge-check needs a judge with a model; the judge is {kind.name} (see --judge)")
    config, selection = settings.judge.config, settings.selection
    asked = (*selection.judged, *selection.of_dialects)
    if config.panel or config.cascade or any(len(question.options.by_model()) > 1 for question in asked):
        raise ConfigError("judge-check checks one model: name it with --judge_model")
    collected = Collected(settings)
    logs = sort_inputs("--input", settings.input, Conversation)
    cases = sort_inputs("--eval_cases", settings.eval_cases, EvalCase) if settings.eval_cases else None
    samples = collected.samples(logs, cases)
    drawn = asyncio.run(_kept_conversations(samples, selection, sample, seed))
    errors = Counter(failure.criterion or "" for about in drawn for failure in about.failures)
    by_prompt: dict[object, judge_check.CheckedQuestion] = {}
    for index, about in enumerate(drawn):
        for name, of_criterion in about.questions.items():
            for question in of_criterion:
                by_prompt.setdefault(
                    (name, question.prompt), judge_check.CheckedQuestion(name, index, question)
                )
    questions = [*by_prompt.values()]
    estimate = _votes_on(questions, replace(settings.judge, only_estimates=True), votes)[1]
    check = JudgeCheck(
        model=", ".join(dict.fromkeys(settings.judged_models)) or settings.judge.config.model,
        votes=votes,
        sample=sample,
        seed=seed,
        conversations=len(drawn),
        records_rejected=sum(row["stage"] != "check" for row in collected.result({}).failures),
        estimate=estimate,
        used=None,
        criteria=[],
        problems=["nothing was asked, so nothing is measured; --yes asks"]
        if questions
        else judge_check.check_problems([], max_flip),
    )
    asked_about = f"{counted(len(questions), 'question')} about {counted(len(drawn), 'conversation')}"
    tell(f"estimate: {asked_about}, {votes} votes a form: about {_cost(estimate)}")
    if not yes:
        return check
    try_judge(settings)
    voted, used = _votes_on(questions, settings.judge, votes)
    stated = [criterion.name for criterion in selection.judged]
    names = dict.fromkeys([*stated, *(question.criterion for question in questions), *errors])
    figures = [*judge_check.criterion_figures([*names], voted, errors, votes)]
    return replace(check, used=used, criteria=figures, problems=judge_check.check_problems(figures, max_flip))


def _votes_on(
    questions: Sequence[judge_check.CheckedQuestion], judge: JudgeSettings, number: int
) -> tuple[list[judge_check.VotedQuestion], CheckCost]:
    worker = JudgeWorker(judge, os.environ)

    async def votes() -> list[judge_check.VotedQuestion]:
        made = await asyncio.gather(
            *(judge_check.vote_on(question, worker.ask, number) for question in questions)
        )
        return [*zip(questions, made, strict=True)]

    try:
        with interrupted_by_signal():
            try:
                voted = worker.submit(votes()).result()
            except AuthenticationError:
                worker.close()  # what is in flight is refused, too: nobody is told to wait for it
                raise
            finally:
                if JUDGING.asking:
                    complain(WAITING)
                worker.close()
    except Interrupted as signal:
        raise Interrupted(signal.number, kept="") from None
    usage, total = worker.counts.take(), JudgeUsage()
    for used in usage.values():
        total.add(used)
    cost, whys = total_cost(usage, judge.config.prices)
    tokens = (None, None) if total.uncounted else (total.tokens_in, total.tokens_out)
    money = None if whys else cost
    return voted, CheckCost(calls=total.calls, tokens_in=tokens[0], tokens_out=tokens[1], cost=money)
