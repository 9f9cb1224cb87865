"""Scores by a judged criterion and the models that it names."""

from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.scoring.joint.cascade import cascade_score
from turnwise.transforms.scoring.joint.members import Run
from turnwise.transforms.scoring.joint.panel import panel_score
from turnwise.transforms.scoring.panels import AskedOnce


async def joint_score(criterion: JudgedCriterion, run: Run, ask: Ask) -> Score | None:
    """Scores by a criterion: by its model, its panel, or its cascade.

    Args:
        criterion: The criterion.
        run: Scores by a criterion and a judge.
        ask: The judge.

    Raises:
        BaseException: What the criterion raises.
    """
    options = criterion.judge_model_options
    if criterion.as_adk:
        ask = AskedOnce(ask)
    if options.cascade is not None:
        return await cascade_score(criterion, options.cascade, run, ask)
    return await panel_score(criterion, run, ask) if options.panel else await run(criterion, ask)
