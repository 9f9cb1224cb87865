"""How stable the verdicts of a judge are: what `judge_check.json` holds. Shares are 0..1."""

import msgspec

from turnwise.schemas.difference import Bounds


class CheckFigure(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of one criterion under one perturbation.

    Attributes:
        questions: Questions that it applies to.
        verdicts: Verdicts that were measured.
        changed: Those of them that changed.
        share: Their share; None: nothing was measured.
        interval: Its 95 % interval, over conversations; None: nothing was measured.
        unmeasured: Reason -> verdicts that were not measured; a question of which nothing is known counts as
            one.
    """

    questions: int
    verdicts: int
    changed: int
    share: float | None
    interval: Bounds | None
    unmeasured: dict[str, int]


class CheckedCriterion(msgspec.Struct, frozen=True, kw_only=True):
    """One judged criterion.

    Attributes:
        criterion: Its name.
        conversations: Conversations of the sample about which it asks.
        questions: Its questions about them.
        errors: How often it failed with an error, so that questions are missing.
        repeat: Verdicts whose votes on the same question are not all the same; None: it asks nothing.
        swap: Verdicts that change with the order of what is interchangeable; None: does not apply.
        paraphrase: Verdicts that change with other words of the instructions; None: does not apply.
    """

    criterion: str
    conversations: int
    questions: int
    errors: int
    repeat: CheckFigure | None
    swap: CheckFigure | None
    paraphrase: CheckFigure | None


class CheckCost(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of a check, estimated or made.

    Attributes:
        calls: Number of calls.
        tokens_in: Prompt tokens; None: a model did not state them.
        tokens_out: Answer tokens; None: a model did not state them.
        cost: Cost at the prices of the config; None: a model has no price, or did not state its tokens.
    """

    calls: int
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None


class JudgeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A check of a judge.

    Attributes:
        model: The models that are asked, as the config names them, with commas between them.
        votes: How often each question was asked in each form.
        sample: Conversations that were asked for.
        seed: Seed of the draw.
        conversations: Conversations that were drawn.
        records_lost: Records and conversations that could not be read, parsed or matched.
        estimate: Calls that were estimated before anything was asked.
        used: Calls that were made; None: nothing was asked.
        criteria: The judged criteria.
        problems: Why the exit status is 1, one line each.
    """

    model: str
    votes: int
    sample: int
    seed: int
    conversations: int
    records_lost: int
    estimate: CheckCost
    used: CheckCost | None
    criteria: list[CheckedCriterion]
    problems: list[str]
