"""Hallucination scores of the turns of a result: a judge's, or an answer engine's own."""

from collections.abc import Sequence

from turnwise.schemas.conversation import Turn
from turnwise.schemas.score import Score
from turnwise.transforms.answers.checks import is_score
from turnwise.transforms.ces.judgements import Judgements
from turnwise.transforms.criteria.answers.grounding_score import GroundingScore
from turnwise.transforms.criteria.ces_turns import LABELS, Hallucination, no_claim, switched_off
from turnwise.transforms.matching.sample import TurnPair
from turnwise.transforms.scoring.evaluate import ScoredConversation


def judged_hallucination(pair: TurnPair, judgements: Judgements) -> Score | None:
    """Returns a judge's score of a turn, without a value where it gave none; None: it is not checked."""
    if not judgements.has(Hallucination.name) or pair.actual is None or switched_off(pair.expected):
        return None
    score = judgements.hallucination(pair.index)
    if score is None:
        return Score(None) if pair.actual.tool_calls else no_claim("No tool call in this turn.")
    return score


def engine_scores(scored: ScoredConversation) -> Sequence[Score | None]:
    """Returns the scores that an engine's own figures give, one a turn; empty: none.

    That needs a threshold of `grounding_score` and a turn with an engine's answer.
    """
    turns = [pair.actual for pair in scored.sample.pairs]
    if not any(turn is not None and turn.grounded is not None for turn in turns):
        return ()
    criterion = next((e.criterion for e in scored.scores if isinstance(e.criterion, GroundingScore)), None)
    if criterion is None or criterion.threshold is None:
        return ()
    own = criterion.claim_threshold
    least = criterion.threshold if own is None else own
    return [justification(t, least) if t and t.grounded and t.grounded.is_evaluable else None for t in turns]


def justification(turn: Turn, least: float) -> Score:
    """Returns CES's hallucination score of an engine's answer: 1 justified, 0 not justified, -1 no claim.

    An answer is justified if all its claims reach the threshold; without scored claims, if the answer does.
    """
    answer = turn.grounded
    if answer is None:
        return no_claim("The turn is no engine's answer.")
    if answer.skipped_reasons:
        return no_claim(answer.skipped_text)
    claims = [(i, claim) for i, claim in enumerate(answer.claims) if claim.needs_support]
    if answer.claims and not claims:
        return no_claim("No claim needs support.")
    scores = [(f"claim {i}", c.score) for i, c in claims if c.score is not None and is_score(c.score)]
    if not scores and answer.grounding_score is not None and is_score(answer.grounding_score):
        scores = [("the answer", answer.grounding_score)]
    if not scores:
        return no_claim("The engine gives no score.")
    weak = [f"{name} scores {score:g}" for name, score in scores if score < least]
    explanation = f"Below {least:g}: {', '.join(weak[:10])}." if weak else f"All scores reach {least:g}."
    return Score(float(not weak), label=LABELS[int(not weak)], explanation=explanation)
