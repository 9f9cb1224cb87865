"""What an EvaluationResult adds to the sums of its evaluation, read from the JSON that a store was given."""

from collections.abc import Iterable, Iterator

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import duration_nanos
from turnwise.transforms.metrics.state import SumPart

_PLACES = {"PASS": (1, 0), "FAIL": (0, 1)}


def result_parts(result: JsonObject) -> list[SumPart]:
    """Returns what one EvaluationResult (canonical JSON) adds; nothing if it did not complete."""
    if result.get("executionState") != "COMPLETED":
        return []
    if "goldenResult" in result:
        turns = result["goldenResult"].get("turnReplayResults", ())
        return [part for index, turn in enumerate(turns) for part in _turn_parts(index, turn)]
    return list(_scenario_parts(result.get("scenarioResult", {})))


def _turn_parts(index: int, turn: JsonObject) -> list[SumPart]:
    parts: list[SumPart] = []
    for outcome in turn.get("expectationOutcome", ()):
        place = _PLACES.get(outcome.get("outcome"))
        if place is not None:
            expectation = outcome.get("expectation")
            call = outcome.get("observedToolCall") if expectation is None else expectation.get("toolCall")
            if call is not None:
                parts.append(((index, "tool", _tool_name(call)), place[0], place[1]))
    if "semanticSimilarityResult" in turn:
        parts += _score_parts(index, "semantic", turn["semanticSimilarityResult"])
    if "hallucinationResult" in turn:
        parts += _score_parts(index, "hallucination", turn["hallucinationResult"])
    if "toolCallLatencies" in turn:
        parts += _latency_parts(index, turn["toolCallLatencies"])
    if "turnLatency" in turn:
        parts.append(((index, "turn_latency", ""), 1, duration_nanos(turn["turnLatency"])))
    return parts


def _scenario_parts(scenario: JsonObject) -> Iterator[SumPart]:
    yield from _latency_parts(None, scenario.get("toolCallLatencies", ()))
    for index, judged in enumerate(scenario.get("hallucinationResult", ())):
        yield from _score_parts(index, "hallucination", judged)


def _tool_name(call: JsonObject) -> str:
    toolset = call.get("toolsetTool")
    if toolset is None:
        return str(call.get("tool", ""))
    return f"{toolset.get('toolset', '')}/tools/{toolset.get('toolId', '')}"


def _score_parts(turn: int, kind: str, judged: JsonObject) -> tuple[SumPart, ...]:
    if judged.get("score", -1) < 0:
        return ()
    return (((turn, kind, ""), 1, judged["score"]),)


def _latency_parts(turn: int | None, latencies: Iterable[JsonObject]) -> list[SumPart]:
    return [
        (
            (turn, "tool_latency", latency.get("tool", "")),
            1,
            duration_nanos(latency.get("executionLatency", "0s")),
        )
        for latency in latencies
    ]
