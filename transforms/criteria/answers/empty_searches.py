"""empty_searches: share of an answer's searches that found nothing or failed."""

from typing import ClassVar, Literal

from turnwise.schemas.conversation import ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.answers.annotations import listed
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.calls import pair_responses
from turnwise.transforms.matching.sample import Sample, TurnPair


class EmptySearches(MeasuredCriterion):
    """Share of an answer's searches that found nothing or whose step failed, 0..1.

    As a gate, a threshold is an upper bound. Unscored if the log lacks the results of a search whose step did
    not fail, or if searches or the states of steps could not be read; not applicable without searches. The
    details hold the query and the number of results of every search.

    When to use: Find questions that the index cannot answer, and steps that fail.
    """

    name: ClassVar[str] = "empty_searches"
    needs: ClassVar[str] = "answers of a search engine with the results of its searches"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ()
    gate: ClassVar[Literal["at_least", "at_most"]] = "at_most"

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Counts the searches of a recorded answer."""
        turn = pair.actual
        if turn is None or turn.grounded is None:
            return None
        if unread := turn.grounded.why_unread("steps.actions", "steps.state"):
            return Score(None, reason=unread)
        pairs = zip(turn.tool_calls, pair_responses(turn.tool_calls, turn.tool_responses), strict=True)
        found = [_search(call, response) for call, response in pairs if "query" in (call.args or {})]
        if not found:
            return None
        details = listed(found, "searches")
        unknown = sum(one["results"] is None and not one["failed"] for one in found)
        if unknown:
            reason = f"the log lacks the results of {unknown} of {len(found)} searches"
            return Score(None, reason=reason, details=details)
        empty = [one for one in found if one["failed"] or not one["results"]]
        text = f"{len(empty)} of {len(found)} searches found nothing or failed." if empty else None
        return Score(len(empty) / len(found), explanation=text, details=details)


def _search(call: ToolCall, response: ToolResponse | None) -> JsonObject:
    content = response.response if response is not None else None
    output = content.get("output") if isinstance(content, dict) else None
    results = output.get("results") if isinstance(output, dict) else None
    return {
        "query": (call.args or {}).get("query"),
        "results": len(results) if isinstance(results, list) else None,
        "failed": response is not None and bool(response.error),
    }
