"""CES's AggregatedMetrics: from evaluation results to sums, and from sums to the message.

The rules are those of the CES evaluation API where it states them: per app version id and per 0-based turn
index; plain means over turns, not means of means; a hallucination score of -1 is left out; latencies are
means in nanoseconds, truncated. Only results that completed count.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from turnwise.schemas.proto.scalars import duration_nanos, float32, nanos_duration
from turnwise.schemas.values import JsonObject

Kind = Literal["tool", "semantic", "hallucination", "tool_latency", "turn_latency"]


SumKey = tuple[int | None, Kind, str]
"""What a pair of sums is about: a 0-based turn index (None: what a scenario measured over the whole
conversation), a kind, and the tool where the kind is about one.

A pair of the kind `tool` sums (PASS, FAIL); every other kind (count, total; latencies in nanoseconds).
"""

Sums = dict[SumKey, list[int]]
"""Pairs of sums; those of two sets of results add up to those of both together."""

_PLACES = {"PASS": (1, 0), "FAIL": (0, 1)}

Part = tuple[SumKey, int, int]
"""What one observation adds to a pair of sums."""


def add_parts(sums: Sums, parts: Iterable[Part]) -> None:
    """Adds observations to sums, in place."""
    for key, first, second in parts:
        pair = sums.get(key)
        if pair is None:
            sums[key] = [first, second]
        else:
            pair[0] += first
            pair[1] += second


def add_sums(sums: Sums, more: Sums, sign: int = 1) -> None:
    """Adds sums to sums, in place, or takes them back (`sign` -1); a pair that falls to nothing goes."""
    add_parts(sums, ((key, sign * first, sign * second) for key, (first, second) in more.items()))
    for key in more:
        if sums[key] == [0, 0]:
            del sums[key]


def result_parts(result: JsonObject) -> list[Part]:
    """Returns what one EvaluationResult (canonical JSON) adds; nothing if it did not complete."""
    if result.get("executionState") != "COMPLETED":
        return []
    if "goldenResult" in result:
        turns = result["goldenResult"].get("turnReplayResults", ())
        return [part for index, turn in enumerate(turns) for part in _turn_parts(index, turn)]
    return list(_scenario_parts(result.get("scenarioResult", {})))


def _turn_parts(index: int, turn: JsonObject) -> list[Part]:
    parts: list[Part] = []
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


def _scenario_parts(scenario: JsonObject) -> Iterator[Part]:
    yield from _latency_parts(None, scenario.get("toolCallLatencies", ()))
    for index, judged in enumerate(scenario.get("hallucinationResult", ())):
        yield from _score_parts(index, "hallucination", judged)


def _tool_name(call: JsonObject) -> str:
    toolset = call.get("toolsetTool")
    if toolset is None:
        return str(call.get("tool", ""))
    return f"{toolset.get('toolset', '')}/tools/{toolset.get('toolId', '')}"


def _score_parts(turn: int, kind: Kind, judged: JsonObject) -> tuple[Part, ...]:
    if judged.get("score", -1) < 0:
        return ()
    return (((turn, kind, ""), 1, judged["score"]),)


def _latency_parts(turn: int | None, latencies: Iterable[JsonObject]) -> list[Part]:
    return [
        (
            (turn, "tool_latency", latency.get("tool", "")),
            1,
            duration_nanos(latency.get("executionLatency", "0s")),
        )
        for latency in latencies
    ]


class VersionSums(NamedTuple):
    """Everything AggregatedMetrics says about one app version."""

    passes: int
    fails: int
    sums: Sums


def aggregated_metrics(versions: Mapping[str, VersionSums]) -> JsonObject:
    """Returns the AggregatedMetrics message; `versions` is keyed by version id ("": the draft)."""
    entries = [_version_message(version_id, *sums) for version_id, sums in sorted(versions.items())]
    return {"metricsByAppVersion": entries} if entries else {}


def _version_message(version_id: str, passes: int, fails: int, sums: Sums) -> JsonObject:
    total: Sums = {}
    turns: dict[int, Sums] = {}
    for (turn, kind, name), pair in sums.items():
        add_sums(total, {(None, kind, name): pair})
        if turn is not None:
            turns.setdefault(turn, {})[turn, kind, name] = pair
    message: JsonObject = {"appVersionId": version_id} if version_id else {}
    message |= _sums_message(total)
    message |= {name: n for name, n in (("passCount", passes), ("failCount", fails)) if n}
    by_turn = [_turn_message(index, turn) for index, turn in sorted(turns.items())]
    return message | ({"metricsByTurn": by_turn} if by_turn else {})


def _turn_message(index: int, sums: Sums) -> JsonObject:
    return ({"turnIndex": index} if index else {}) | _sums_message(sums)


def _sums_message(sums: Sums) -> JsonObject:
    parts: dict[str, list[JsonObject]] = {}
    for (_, kind, tool), pair in sorted(sums.items(), key=lambda entry: entry[0][2]):
        name, message = _entry(kind, tool, *pair)
        parts.setdefault(name, []).append(message)
    return parts


def _entry(kind: Kind, tool: str, first: int, second: int) -> tuple[str, JsonObject]:
    if kind == "tool":
        counts = {name: n for name, n in (("passCount", first), ("failCount", second)) if n}
        return "toolMetrics", {"tool": tool, **counts}
    if kind == "semantic" or kind == "hallucination":
        name = "semanticSimilarityMetrics" if kind == "semantic" else "hallucinationMetrics"
        return name, {"score": float32(second / first)} if second else {}
    latency: JsonObject = {"averageLatency": nanos_duration(second // first)}
    if kind == "tool_latency":
        return "toolCallLatencyMetrics", {"tool": tool, **latency}
    return "turnLatencyMetrics", latency
