"""The calls of a turn with their responses, effects and times."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from turnwise.schemas.conversation import UNKNOWN, TimedSpan, ToolCall, ToolResponse, Turn
from turnwise.schemas.rows import ExpectedCall, TranscriptCall
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.effects.mentions import ToolCatalog, called_tool, calls_tools
from turnwise.transforms.matching.calls import pair_responses, tool_identity

DESTRUCTIVE: Final = "destructive"
_MOST_NAMES = 10_000
_MOST_TOOLS = 100
_LONGEST_NAME = 200


class CallEffect(NamedTuple):
    """Effect of a call.

    Attributes:
        text: `read`, `write`, `handoff`, `destructive` or `unknown`.
        tool: Name of the tool.
        is_guess: Whether the effect is guessed from the name of the tool, or unknown.
        idempotent: Whether repeating the call has no further effect.
    """

    text: str
    tool: str
    is_guess: bool
    idempotent: bool


class CallEffects:
    """Effects of calls."""

    def __init__(self, catalog: ToolCatalog) -> None:
        self._catalog = catalog
        self._known: dict[str | None, CallEffect] = {}

    def of(self, call: ToolCall) -> CallEffect:
        """Returns the effect of a call."""
        return self._known.get(call.name) or self._look_up(call)

    def _look_up(self, call: ToolCall) -> CallEffect:
        effect = self._catalog.effect_of(call)
        text = DESTRUCTIVE if effect.destructive else effect.effect
        found = CallEffect(text, called_tool(call), effect.is_guess, effect.idempotent)
        if not calls_tools(call.name or "") and len(self._known) < _MOST_NAMES:
            self._known[call.name] = found
        return found


class MadeCalls(Struct):
    """The calls of one actor in a conversation.

    Attributes:
        turns: The calls, one list a turn.
        errors: How many failed.
        destructive: How many of the others destroyed something.
        changing: Those of the others that destroyed something, or whose effect is unknown or guessed to be a
            write, one list a turn.
        guessed: Tools whose effect is guessed or unknown.
    """

    turns: list[list[TranscriptCall]] = field(default_factory=list)
    errors: int = 0
    destructive: int = 0
    changing: list[list[ToolCall]] = field(default_factory=list)
    guessed: set[str] = field(default_factory=set)

    def add(
        self,
        calls: Sequence[ToolCall],
        responses: Sequence[ToolResponse],
        spans: list[TimedSpan],
        effects: CallEffects,
    ) -> None:
        """Adds the calls of a turn."""
        made: list[TranscriptCall] = []
        changing: list[ToolCall] = []
        self.turns.append(made)
        self.changing.append(changing)
        for call, response in zip(calls, pair_responses(calls, responses), strict=True):
            effect, tool, is_guess, _ = effects.of(call)
            error: bool | str | None = None
            if is_guess:
                self.guessed.add(tool)
            if response is not None and has_failed(response, tool, call.args):
                error = response.error or True
                self.errors += 1
            elif effect == DESTRUCTIVE:
                self.destructive += 1
                changing.append(call)
            elif is_guess and effect in ("write", UNKNOWN):
                changing.append(call)
            made.append(
                {
                    "name": call.name,
                    "args": call.args,
                    "result": None if response is None else response.response,
                    "error": error,
                    "effect": effect,
                    "seconds": _seconds(call, spans) if spans else None,
                }
            )


def agent_calls(turns: Iterable[Turn], effects: CallEffects) -> MadeCalls:
    """Returns the agent's calls."""
    made = MadeCalls()
    for turn in turns:
        spans = [span for span in turn.spans if span.type == "TOOL"] if turn.spans else []
        made.add(turn.tool_calls, turn.tool_responses, spans, effects)
    return made


def user_calls(turn: Turn, effects: CallEffects) -> list[TranscriptCall]:
    """Returns the calls that the user made with their own tools in a turn."""
    made = MadeCalls()
    made.add(turn.user_tool_calls, turn.user_tool_responses, [], effects)
    return made.turns[0]


def tool_names(tools: Iterable[str]) -> list[str]:
    """Returns names of tools, sorted, each once and at most 200 characters long; the first 100."""
    return sorted({tool[:_LONGEST_NAME] for tool in tools})[:_MOST_TOOLS]


def expected_calls(calls: Sequence[ToolCall], effects: CallEffects) -> list[ExpectedCall]:
    """Returns expected calls with their effects."""
    return [{"name": call.name, "args": call.args, "effect": effects.of(call).text} for call in calls]


def _seconds(call: ToolCall, spans: list[TimedSpan]) -> float | None:
    """Returns the duration of the first span of the call's tool, and removes the span."""
    for span in spans:
        if (span.resource or span.name) == tool_identity(call) or span.name == call.name:
            spans.remove(span)
            return span.seconds
    return None
