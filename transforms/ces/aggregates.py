"""CES's AggregatedMetrics, made of the sums of evaluation results.

The rules are those of the CES evaluation API where it states them: per app version id and per 0-based turn
index; plain means over turns, not means of means; a hallucination score of -1 is left out; latencies are
means in nanoseconds, truncated. Only results that completed count.

Kinds of sums: `tool` counts (PASS, FAIL) of a tool; `semantic`, `hallucination`, `tool_latency` and
`turn_latency` are (count, total), latencies in nanoseconds.
"""

from collections.abc import Mapping
from typing import NamedTuple

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import float32, nanos_duration
from turnwise.transforms.metrics.state import Sums, add_sums


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


def _entry(kind: str, tool: str, first: int, second: int) -> tuple[str, JsonObject]:
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
