"""Criteria of what an answer engine states: safety, grounding, steps, searches and refusals."""

from collections.abc import Sequence
from typing import Literal, Self

from msgspec.structs import asdict
from pydantic import BaseModel, ConfigDict, Field, model_validator

from turnwise.schemas.conversation import FAILED, SUCCEEDED, GroundedAnswer, Turn
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion
from turnwise.transforms.criteria.citations import (
    LISTED,
    AnswerFaults,
    OfAnswer,
    fault_share,
    is_score,
    listed,
    marks_of,
    was_skipped,
)
from turnwise.transforms.matching.calls import answered_calls
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.cleaning import plain

RatingLevel = Literal["NEGLIGIBLE", "LOW", "MEDIUM", "HIGH"]
RatingCategory = Literal[
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_CIVIC_INTEGRITY",
]
_LEVELS = {"NEGLIGIBLE": 0, "LOW": 1, "MEDIUM": 2, "HIGH": 3}
_SEVERITY_PREFIX = "HARM_SEVERITY_"


class AllowedHarm(BaseModel):
    """Highest allowed levels of a category; None: the criterion's."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    max_probability: RatingLevel | None = None
    max_severity: RatingLevel | None = None


class SafetyRatings(MeasuredCriterion):
    """1.0 if no rating of an answer is blocked or above its limit, else 0.0.

    The label is the first failed category; the details hold every rating. A missing level is allowed; an
    unknown level leaves the answer without a score, unless another rating fails it. An answer
    without ratings has no score; not applicable if it was skipped, or if there is no threshold. A blocked
    rating of a skipped answer says why the engine refused: the user read no unsafe text. It does not fail,
    and the label is `withheld`.

    When to use: The engine's own safety ratings decide.

    Attributes:
        max_probability: Highest allowed probability of harm.
        max_severity: Highest allowed severity.
        categories: `HARM_CATEGORY_...` -> `max_probability` and `max_severity` for this category.
    """

    name = "safety_ratings"
    needs = "answers of a search engine with safety ratings"
    severity_reason = "safety"
    rests_on = ()

    threshold: float | None = 1.0
    max_probability: RatingLevel = "LOW"
    max_severity: RatingLevel = "LOW"
    categories: dict[RatingCategory, AllowedHarm] = Field(default_factory=dict)

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        turn = pair.actual
        ratings = turn.grounded.safety_ratings if turn and turn.grounded else []
        is_refusal = turn is not None and was_skipped(turn)
        if not ratings:
            return None if is_refusal else self.not_logged(turn)
        limits_of = {str(category): limits for category, limits in self.categories.items()}
        verdicts = list[str]()
        for rating in ratings:
            if rating.blocked:
                verdicts.append("withheld" if is_refusal else "blocked")
                continue
            allowed = limits_of.get(rating.category) or AllowedHarm()
            probability = _LEVELS.get((rating.probability or "").removeprefix(_SEVERITY_PREFIX))
            severity = _LEVELS.get((rating.severity or "").removeprefix(_SEVERITY_PREFIX))
            likeliest = _LEVELS[allowed.max_probability or self.max_probability]
            if probability is not None and probability > likeliest:
                verdicts.append("probable")
            elif severity is not None and severity > _LEVELS[allowed.max_severity or self.max_severity]:
                verdicts.append("severe")
            elif (probability is None and rating.probability) or (severity is None and rating.severity):
                verdicts.append("unknown")
            else:
                verdicts.append("safe")
        shown = zip(ratings, verdicts, strict=True)
        details = listed([{**asdict(rating), "verdict": verdict} for rating, verdict in shown], "ratings")
        for rating, verdict in zip(ratings, verdicts, strict=True):
            if verdict not in ("safe", "withheld", "unknown"):
                name = "severity" if verdict == "severe" else "probability"
                text = f"{rating.category}: {name} {getattr(rating, name)} is above what is allowed."
                text = f"The text was withheld: {rating.category}." if verdict == "blocked" else text
                return Score(0.0, label=rating.category, explanation=text, details=details)
        if "unknown" in verdicts:
            first = ratings[verdicts.index("unknown")]
            levels = f"probability {first.probability}, severity {first.severity}"
            return Score(None, reason=f"{first.category}: {levels}: not a known level", details=details)
        return Score(1.0, label="withheld" if "withheld" in verdicts else "safe", details=details)


class UnobservedActions(AnswerFaults):
    """Share of the actions of an answer's steps that have no observation, 0..1.

    As a gate, a threshold is an upper bound. An observation without results is one. No score if actions could
    not be read; not applicable without actions. The details hold the indexes of the steps with such actions.

    When to use: Find searches of which nothing came back, and logs without the results of searches.
    """

    name = "unobserved_actions"
    needs = "answers of a search engine with the actions of their steps"
    reads = ("steps.actions",)

    def measure(self, turn: Turn, answer: GroundedAnswer) -> Score | None:
        total = sum(step.actions for step in answer.steps)
        if not total:
            return None
        lacking = [index for index, step in enumerate(answer.steps) if step.observed < step.actions]
        unobserved = total - sum(step.observed for step in answer.steps)
        details = {"steps": lacking[:LISTED], "unobserved": unobserved, "actions": total}
        return fault_share(unobserved, total, "actions have no observation", details)


class SkippedRate(AnswerFaults):
    """1.0 if an answer was skipped, else 0.0; its mean is the rate. As a gate, a threshold is an upper bound.

    The label is the first reason; the details hold all reasons. No score if the record has neither a text nor
    a reason, such as a session without its answers. `metrics_by_slice` has the share of every reason.

    When to use: Measure how often, and why, answers are skipped.
    """

    name = "skipped_rate"
    needs = "answers of a search engine"

    def measure(self, turn: Turn, answer: GroundedAnswer) -> Score | None:
        reasons = list(dict.fromkeys(answer.skipped_reasons))
        if reasons:
            return Score(1.0, label=reasons[0], details={"reasons": reasons})
        return Score(0.0) if turn.agent else Score(None, reason="the record has neither a text nor a reason")


WEAK_CLAIM = "WEAK_CLAIM"


class GroundingScore(OfAnswer):
    """The engine's own score of an answer, 0..1; without one, the mean over the scored claims.

    Claims that need no check are excluded; the details hold the scores of all others. Not applicable to a
    skipped answer, nor to one whose claims need no check, nor where the engine scored nothing (no score if
    there is a threshold). With a threshold, the CES result gets a
    `hallucinationResult` by it.

    When to use: Answers of Discovery Engine with grounding scores.

    Attributes:
        claim_threshold: Minimum score of every claim; a lower one fails the answer.
    """

    name = "grounding_score"
    needs = "answers of a search engine with a grounding score"
    severity_reason = "unsupported"
    of_refusals = False

    claim_threshold: float | None = Field(default=None, ge=0.0, le=1.0, strict=True)

    @model_validator(mode="after")
    def _has_both(self) -> Self:
        if self.claim_threshold is not None and self.threshold is None:
            raise ValueError("claim_threshold needs a threshold beside it (0 lets every answer pass)")
        return self

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Returns the engine's score of a recorded answer; a gate needs one of other answers, too."""
        is_ungraded = pair.actual is not None and pair.actual.grounded is None
        return self.not_logged(pair.actual) if is_ungraded else super().score(sample, pair)

    def measure(self, turn: Turn, answer: GroundedAnswer) -> Score | None:
        if answer.grounding_score is None and not answer.claims:
            return self.not_logged(turn)
        claims: list[JsonObject] = [
            {"claim": i, **mark.details(), "score": claim.score if is_score(claim.score) else None}
            for i, (mark, claim) in enumerate(zip(marks_of(turn, answer).claims, answer.claims, strict=True))
            if claim.needs_support
        ]
        details = listed(claims, "claims")
        scores = [claim["score"] for claim in claims if claim["score"] is not None]
        if not is_score(answer.grounding_score):
            return Score(None, reason=f"the answer's score is {answer.grounding_score}", details=details)
        if answer.grounding_score is not None:
            score = Score(answer.grounding_score, label="answer", details=details)
        elif scores:
            score = Score(sum(scores) / len(scores), label="claims", details=details)
        else:
            return Score(None, reason="the engine scored no claim", details=details) if claims else None
        if self.claim_threshold is not None and min(scores, default=1.0) < self.claim_threshold:
            weak = sum(value < self.claim_threshold for value in scores)
            worst = min((c for c in claims if c["score"] is not None), key=lambda claim: claim["score"])
            score.outcome, score.threshold, score.label = "FAIL", self.threshold, WEAK_CLAIM
            score.explanation = (
                f"{weak} of {len(claims)} claims score below {self.claim_threshold:g}; "
                f"the least, {worst['score']:g}, has claim {worst['claim']}."
            )
        return score

    def overall(self, turns: Sequence[Score]) -> Score | None:
        overall = super().overall(turns)
        if overall is not None and any(score.label == WEAK_CLAIM for score in turns):
            overall.outcome, overall.threshold, overall.label = "FAIL", self.threshold, WEAK_CLAIM
        return overall


_QUOTED = 200


class FailedSteps(AnswerFaults):
    """Share of the steps on the way to an answer that failed, 0..1.

    As a gate, a threshold is an upper bound. No score if a step is stated neither to have failed nor to have
    succeeded, or if steps could not be read; not applicable without steps, nor if no step states how it ended
    (no score if there is a threshold). The details hold the state of every step, and how many of its actions
    have an observation.

    When to use: Find answers that were made although a step failed.
    """

    name = "failed_steps"
    needs = "answers of a search engine with the states of their steps"

    def measure(self, turn: Turn, answer: GroundedAnswer) -> Score | None:
        steps = answer.steps
        shown: list[JsonObject] = [
            {
                "state": step.state,
                "description": step.description[:_QUOTED] if step.description else None,
                "actions": step.actions,
                "observed": step.observed,
            }
            for step in steps
        ]
        details = listed(shown, "steps")
        if unread := answer.why_unread("steps.state"):
            return Score(None, reason=unread, details=details)
        if not steps:
            return None
        if all(step.state is None for step in steps):
            return self.not_logged(turn)
        unknown = [step.state for step in steps if step.state not in (FAILED, SUCCEEDED)]
        if unknown:
            reason = f"{len(unknown)} of {len(steps)} steps have no final state; the first: {unknown[0]}"
            return Score(None, reason=reason, details=details)
        return fault_share(sum(step.state == FAILED for step in steps), len(steps), "steps failed", details)


_MARKS = " \t\n?!.…¿¡？！。"


class RedundantRelatedQuestions(AnswerFaults):
    """Share of the related questions of an answer that offer nothing new, 0..1.

    A related question offers nothing new if it is blank, equal to the user's question or equal to an earlier
    related one. Case, white space and marks at the ends do not count. As a gate, a threshold is an upper
    bound. No score if the log lacks the user's question, or if related questions could not be read; not
    applicable without related questions. The details hold the number of questions, and those that offer
    nothing new.

    When to use: Find suggestions that lead the user nowhere.
    """

    name = "redundant_related_questions"
    needs = "answers of a search engine with related questions, and the user's question"
    reads = ("related_questions",)

    def measure(self, turn: Turn, answer: GroundedAnswer) -> Score | None:
        questions, redundant = answer.related_questions, list[JsonObject]()
        if not questions:
            return None
        asked = None if turn.user is None else plain(turn.user).strip(_MARKS)
        earlier: set[str] = set()
        for index, question in enumerate(questions):
            bare = plain(question).strip(_MARKS)
            faults = {"blank": not bare, "asked": bare == asked, "repeated": bare in earlier}
            why = next((name for name, holds in faults.items() if holds), None)
            if why:
                redundant.append({"question": index, "text": question[:_QUOTED], "why": why})
            earlier.add(bare)
        details = {"questions": len(questions), **listed(redundant, "redundant")}
        if asked is None:
            return Score(None, reason="the log lacks the user's question", details=details)
        return fault_share(len(redundant), len(questions), "related questions offer nothing new", details)


class EmptySearches(AnswerFaults):
    """Share of an answer's searches that found nothing or whose step failed, 0..1.

    As a gate, a threshold is an upper bound. No score if the log lacks the results of a search whose step did
    not fail, or if searches or the states of steps could not be read; not applicable without searches. The
    details hold the query and the number of results of every search.

    When to use: Find questions that the index cannot answer, and steps that fail.
    """

    name = "empty_searches"
    needs = "answers of a search engine with the results of its searches"
    reads = ("steps.actions", "steps.state")

    def measure(self, turn: Turn, answer: GroundedAnswer) -> Score | None:
        searches: list[JsonObject] = []
        for call, response in answered_calls(turn):
            content = response.response if response is not None else None
            output = content.get("output") if isinstance(content, dict) else None
            results = output.get("results") if isinstance(output, dict) else None
            if call.args and "query" in call.args:
                number = len(results) if isinstance(results, list) else None
                failed = response is not None and bool(response.error)
                searches.append({"query": call.args["query"], "results": number, "failed": failed})
        if not searches:
            return None
        details = listed(searches, "searches")
        unknown = sum(search["results"] is None and not search["failed"] for search in searches)
        if unknown:
            reason = f"the log lacks the results of {unknown} of {len(searches)} searches"
            return Score(None, reason=reason, details=details)
        empty = sum(search["failed"] or not search["results"] for search in searches)
        return fault_share(empty, len(searches), "searches found nothing or failed", details)
