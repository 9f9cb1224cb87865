"""Why the turns of a failed golden case fail, in words, where nothing else in the result says it."""

from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.values import JsonObject
from turnwise.transforms.ces.judgements import Judgements
from turnwise.transforms.criteria.expectations_met import not_met
from turnwise.transforms.criteria.reasons import calls_text
from turnwise.transforms.matching.expectations import ExpectationOutcome
from turnwise.transforms.matching.sample import Sample, TurnPair


def with_failed_turns(result: JsonObject, sample: Sample, judgements: Judgements) -> JsonObject:
    """Returns a golden's result whose turns say in `errorInfo` which expectations were not met.

    The `errorInfo` has no type, because the conversation was evaluated. One that a turn has already stays.

    Args:
        result: The result of a golden case; it is not changed.
        sample: What was scored.
        judgements: What the judges said.
    """
    golden = result["goldenResult"]
    replays = zip(golden["turnReplayResults"], sample.pairs, strict=True)
    turns = [_told(turn, sample, pair, judgements) for turn, pair in replays]
    return {**result, "goldenResult": {**golden, "turnReplayResults": turns}}


def _told(turn: JsonObject, sample: Sample, pair: TurnPair, judgements: Judgements) -> JsonObject:
    if "errorInfo" in turn or "expectationOutcome" not in turn:
        return turn
    failed = [o for o in judgements.golden_outcomes(sample, pair) if o.outcome == "FAIL"]
    said = [text for text in (not_met(failed), _unexpected(failed)) if text]
    if not said:
        return turn
    return {**turn, "errorInfo": {"errorMessage": f"Turn {pair.index}: {' '.join(said)}"}}


def _unexpected(failed: list[ExpectationOutcome]) -> str:
    calls = [o.observed for o in failed if o.expectation is None and isinstance(o.observed, ToolCall)]
    return f"Not expected: {calls_text(calls)}." if calls else ""
