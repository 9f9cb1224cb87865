"""HallucinationResults of a CES EvaluationResult, made from an answer engine's own scores."""

from turnwise.schemas.conversation import Turn
from turnwise.schemas.score import Score
from turnwise.schemas.values import JsonObject
from turnwise.transforms.answers.checks import is_score
from turnwise.transforms.criteria.answers.grounding_score import GroundingScore
from turnwise.transforms.criteria.ces.hallucination import LABELS, no_claim
from turnwise.transforms.scoring.conversation import ScoredConversation


def with_grounding(result: JsonObject, scored: ScoredConversation) -> JsonObject:
    """Returns a result completed by what the engine says of its answers.

    That needs a threshold of `grounding_score`, and no judge's HallucinationResults. An answer is justified
    if all its claims reach the threshold; without scored claims, if the answer does.
    """
    criterion = next((e.criterion for e in scored.scores if isinstance(e.criterion, GroundingScore)), None)
    turns = [pair.actual for pair in scored.sample.pairs]
    if criterion is None or criterion.threshold is None or not any(t and t.grounded for t in turns):
        return result
    own = criterion.claim_threshold
    least = criterion.threshold if own is None else own
    answered = [turn if turn and turn.grounded and turn.grounded.is_evaluable else None for turn in turns]
    checks = [_hallucination(turn, least) if turn else {} for turn in answered]
    if "goldenResult" in result:
        golden = result["goldenResult"]
        replays = zip(golden["turnReplayResults"], checks, strict=True)
        filled = [_filled(replay, check) if check else replay for replay, check in replays]
        return {**result, "goldenResult": {**golden, "turnReplayResults": filled}}
    return {**result, "scenarioResult": _filled(result["scenarioResult"], checks)}


def _filled(message: JsonObject, check: JsonObject | list[JsonObject]) -> JsonObject:
    return message if "hallucinationResult" in message else {**message, "hallucinationResult": check}


def _hallucination(turn: Turn, least: float) -> JsonObject:
    score = justification(turn, least)
    return {"score": int(score.value or 0), "label": score.label, "explanation": score.explanation}


def justification(turn: Turn, least: float) -> Score:
    """Returns CES's hallucination score of an engine's answer: 1 justified, 0 not justified, -1 no claim."""
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
