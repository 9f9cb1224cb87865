"""Checks a judge: draws, estimates, asks, computes."""

from collections.abc import Callable

from msgspec import Struct

from turnwise.pipeline.judge_check.asking import estimated_cost, vote_on_all
from turnwise.pipeline.judge_check.draw import Drawn, draw
from turnwise.pipeline.judge_check.text import estimate_line
from turnwise.pipeline.settings.run import RunSettings, try_judge
from turnwise.schemas.calibration import CheckCost, CheckedCriterion, JudgeCheck
from turnwise.schemas.config import ConfigError
from turnwise.transforms.tools.judge_check import check_problems, criterion_figures

ONE_MODEL = "judge-check checks one model: name it with --judge_model"
NOT_ASKED = "nothing was asked, so nothing is measured; --yes asks"


class CheckOptions(Struct, frozen=True):
    """How a judge is checked.

    Attributes:
        votes: How often each question is asked in each form; odd, at least 3.
        sample: Conversations at most.
        seed: Seed of the draw.
        max_flip: Largest share of verdicts that may change, 0..1; None: there is no bound.
        yes: Whether the judge is asked, and not only the cost estimated.
    """

    votes: int
    sample: int
    seed: int
    max_flip: float | None
    yes: bool


def checked(settings: RunSettings, options: CheckOptions, tell: Callable[[str], None]) -> JudgeCheck:
    """Checks the judge of the settings.

    Args:
        settings: What is read, by which criteria, and who judges.
        options: How.
        tell: Takes the line with the estimated cost, before anything is asked.

    Raises:
        ConfigError: The judge has no model, or several for one criterion; it cannot work or is refused; a
            path names nothing.
    """
    kind = settings.judge.kind
    if not kind.connect:
        raise ConfigError(f"judge-check needs a judge with a model; the judge is {kind.name} (see --judge)")
    _check_one_model(settings)
    drawn = draw(settings, options.sample, options.seed)
    estimate = estimated_cost(drawn.questions, settings.judge, options.votes)
    check = _document(settings, options, drawn, estimate)
    tell(estimate_line(check, len(drawn.questions)))
    if not options.yes:
        return check
    try_judge(settings)
    voted, used = vote_on_all(drawn.questions, settings.judge, options.votes)
    stated = [criterion.name for criterion in settings.selection.judged]
    names = list(dict.fromkeys([*stated, *(each.criterion for each in drawn.questions), *drawn.errors]))
    found = criterion_figures(names, voted, drawn.errors, options.votes)
    return _document(settings, options, drawn, estimate, used, found)


def _check_one_model(settings: RunSettings) -> None:
    config, selection = settings.judge.config, settings.selection
    asked = (*selection.judged, *selection.of_dialects)
    if config.panel or config.cascade or any(len(each.options.by_model()) > 1 for each in asked):
        raise ConfigError(ONE_MODEL)


def _document(
    settings: RunSettings,
    options: CheckOptions,
    drawn: Drawn,
    estimate: CheckCost,
    used: CheckCost | None = None,
    criteria: list[CheckedCriterion] | None = None,
) -> JudgeCheck:
    is_asked = criteria is not None or not drawn.questions
    problems = check_problems(criteria or [], options.max_flip) if is_asked else [NOT_ASKED]
    return JudgeCheck(
        model=", ".join(dict.fromkeys(settings.judged_models)) or settings.judge.config.model,
        votes=options.votes,
        sample=options.sample,
        seed=options.seed,
        conversations=drawn.conversations,
        records_lost=drawn.records_lost,
        estimate=estimate,
        used=used,
        criteria=criteria or [],
        problems=problems,
    )
