"""The calls of a turn with their responses, effects and times."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from turnwise.schemas.conversation import TimedSpan, ToolCall, ToolResponse, Turn
from turnwise.schemas.transcript import ExpectedCall, TranscriptCall
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.effects.tool_catalog import ToolCatalog, called_tool, calls_tools
from turnwise.transforms.matching.calls import tool_identity
from turnwise.transforms.matching.responses import pair_responses

DESTRUCTIVE: Final = "destructive"
_MOST_NAMES = 10_000


class CallEffects:
    """Effects of calls as texts: `read`, `write`, `handoff` or `destructive`."""

    def __init__(self, catalog: ToolCatalog) -> None:
        self._catalog = catalog
        self._known: dict[str | None, str] = {}

    def of(self, call: ToolCall) -> str:
        """Returns the effect of a call."""
        text = self._known.get(call.name)
        if text is None:
            text = self._look_up(call)
            if not calls_tools(call.name or "") and len(self._known) < _MOST_NAMES:
                self._known[call.name] = text
        return text

    def _look_up(self, call: ToolCall) -> str:
        effect = self._catalog.effect_of(call)
        return DESTRUCTIVE if effect.destructive else effect.effect


class MadeCalls(NamedTuple):
    """The calls of one actor in a turn, and how many of them failed or destroyed something."""

    calls: list[TranscriptCall]
    errors: int = 0
    destructive: int = 0


NO_CALLS = MadeCalls([])


def agent_calls(turn: Turn, effects: CallEffects) -> MadeCalls:
    """Returns the agent's calls."""
    if not turn.tool_calls:
        return NO_CALLS
    spans = [span for span in turn.spans if span.type == "TOOL"] if turn.spans else []
    return _made(turn.tool_calls, turn.tool_responses, spans, effects)


def user_calls(turn: Turn, effects: CallEffects) -> MadeCalls:
    """Returns the calls that the user made with their own tools."""
    return _made(turn.user_tool_calls, turn.user_tool_responses, [], effects)


def _made(
    calls: Sequence[ToolCall],
    responses: Sequence[ToolResponse],
    spans: list[TimedSpan],
    effects: CallEffects,
) -> MadeCalls:
    made: list[TranscriptCall] = []
    errors = destructive = 0
    for call, response in zip(calls, pair_responses(calls, responses), strict=True):
        effect = effects.of(call)
        failed = response is not None and has_failed(response, called_tool(call))
        if failed:
            errors += 1
        elif effect == DESTRUCTIVE:
            destructive += 1
        made.append(
            {
                "name": call.name,
                "args": call.args,
                "result": response.response if response else None,
                "error": (response.error if response and response.error else True) if failed else None,
                "effect": effect,
                "seconds": _seconds(call, spans) if spans else None,
            }
        )
    return MadeCalls(made, errors, destructive)


def expected_calls(calls: Sequence[ToolCall], effects: CallEffects) -> list[ExpectedCall]:
    """Returns expected calls with their effects."""
    return [{"name": call.name, "args": call.args, "effect": effects.of(call)} for call in calls]


def _seconds(call: ToolCall, spans: list[TimedSpan]) -> float | None:
    """Returns the duration of the first span of the call's tool, and removes the span."""
    for span in spans:
        if (span.resource or span.name) == tool_identity(call) or span.name == call.name:
            spans.remove(span)
            return span.seconds
    return None
