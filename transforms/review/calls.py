"""The transcript of a conversation: turns, calls with responses and effects, expectations."""

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple, cast

import msgspec
from msgspec import Struct, field

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import (
    UNKNOWN,
    Expectation,
    ExpectedTurn,
    TimedSpan,
    ToolCall,
    ToolResponse,
    Turn,
)
from turnwise.schemas.jsonio import JsonValue, dump_json
from turnwise.schemas.rows import (
    MOST_BYTES,
    ExpectedCall,
    ExpectedPart,
    LeftOut,
    Transcript,
    TranscriptCall,
    TranscriptTurn,
)
from turnwise.transforms.effects.call_effects import ToolCatalog, called_tool, calls_tools, may_state_effect
from turnwise.transforms.effects.changes import call_text, value_text
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.matching.calls import pair_responses, tool_identity
from turnwise.transforms.matching.sample import Sample, TurnPair

DESTRUCTIVE: Final = "destructive"
_MOST_KNOWN = 10_000
_MOST_TOOLS = 100
_LONGEST_NAME = 200


class CallEffect(NamedTuple):
    """Effect of a call.

    Attributes:
        text: `read`, `write`, `handoff`, `destructive` or `unknown`.
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
        self._known: dict[str, CallEffect] = {}

    def of(self, call: ToolCall) -> CallEffect:
        """Returns the effect of a call."""
        name = call.name or ""
        # That of a tool, as long as the arguments name no other tool and state no effect.
        is_known = not calls_tools(name) and not may_state_effect(name, call.args or {})
        known = self._known.get(name) if is_known else None
        if known is not None:
            return known
        effect = self._catalog.effect_of(call)
        text = DESTRUCTIVE if effect.destructive else effect.effect
        made = CallEffect(text, called_tool(call), effect.is_guess, effect.idempotent)
        if is_known and len(self._known) < _MOST_KNOWN:
            self._known[name] = made
        return made


class MadeCalls(Struct):
    """The calls of one actor in a conversation.

    Attributes:
        turns: The calls, one list a turn.
        errors: How many failed.
        destructive: How many of the others destroyed something.
        changing: Those of the others that destroyed something, or whose effect is unknown or guessed to be a
            write, one list a turn.
        guessed: Tools whose effect is guessed or unknown.
        guessed_tools: Their names as `tool_names` gives them.
    """

    turns: list[list[TranscriptCall]] = field(default_factory=list)
    errors: int = 0
    destructive: int = 0
    changing: list[list[ToolCall]] = field(default_factory=list)
    guessed: set[str] = field(default_factory=set)
    guessed_tools: list[str] = field(default_factory=list)
    number: int = 0

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
        if not calls:
            return
        self.number += len(calls)
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
            row: TranscriptCall = {
                "name": call.name,
                "args": call.args,
                "result": None if response is None else response.response,
                "error": error,
                "effect": effect,
                "seconds": _seconds(call, spans) if spans else None,
            }
            if call.inside:
                row["inside"] = call.inside
            made.append(row)


def agent_calls(turns: Iterable[Turn], effects: CallEffects) -> MadeCalls:
    """Returns the agent's calls."""
    made = MadeCalls()
    for turn in turns:
        spans = [span for span in turn.spans if span.type == "TOOL"] if turn.spans else []
        made.add(turn.tool_calls, turn.tool_responses, spans, effects)
    made.guessed_tools = tool_names(made.guessed)
    return made


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


# Makes the transcript of a sample: what was said and called, with what was expected beside it.

_NO_TURN = Turn()
_encode = msgspec.msgpack.Encoder().encode
_DOUBLE = b"\xcb"
_NOT_FINITE = (b"\x7f", b"\xff")
"""First bytes of doubles whose exponent has all bits set; great numbers start so too."""
_SURELY_FITS = MOST_BYTES // 6
"""Bytes of MessagePack whose JSON fits: one byte is at most six in JSON (a control character)."""


def transcript_of(
    sample: Sample, made: MadeCalls, effects: CallEffects, kept: int | None = None
) -> Transcript:
    """Returns the transcript of a sample, at most 64 KiB of JSON.

    Args:
        sample: The conversation and its case.
        made: The agent's calls.
        effects: Effects of the tools.
        kept: Index of the turn that is left out last.
    """
    calls = iter(made.turns)
    turns: list[TranscriptTurn] = []
    for pair in sample.pairs:
        turns.append(_turn(sample, pair, next(calls) if pair.actual else [], effects))
    expected = expected_of_whole(sample.eval_case, effects) if sample.eval_case else None
    transcript: Transcript = {"turns": turns, "expected": expected, "cut": False, "left_out": None}
    try:  # MessagePack costs less than to look at every part for a number that JSON does not have
        data = _encode(transcript)
        is_finite = not any(part.startswith(_NOT_FINITE) for part in data.split(_DOUBLE)[1:])
    except (ValueError, OverflowError, TypeError):  # it has no room for a value
        data, is_finite = None, False
    if not is_finite:
        transcript = cast(Transcript, _with_finite_numbers(cast(JsonValue, transcript)))
    is_small = data is not None and len(data) <= _SURELY_FITS
    return transcript if is_small else limited(transcript, kept)


def _turn(sample: Sample, pair: TurnPair, made: list[TranscriptCall], effects: CallEffects) -> TranscriptTurn:
    actual = pair.actual or _NO_TURN
    turn: TranscriptTurn = {
        "index": pair.index,
        "label": pair.label,
        "user": actual.user,
        "agent": actual.agent,
        "tool_calls": made,
        "seconds": None if actual.latency_ms is None else actual.latency_ms / 1000,
        "expected": None if pair.expected is None else _expected(sample, pair, pair.expected, made, effects),
    }
    # What only some turns have.
    if len(actual.agent_messages) > 1:
        turn["messages"] = actual.agent_messages
    if actual.user_tool_calls:
        made_by_user = MadeCalls()
        made_by_user.add(actual.user_tool_calls, actual.user_tool_responses, [], effects)
        turn["user_tool_calls"] = made_by_user.turns[0]
    if actual.transfers:
        turn["transfers"] = actual.transfers
    is_named = bool(actual.speakers or actual.transfers or [c for c in actual.tool_calls if c.agent])
    if is_named and (agents := actual.agents):
        turn["agents"] = agents
    if actual.unknown_calls or actual.unknown_words or actual.unknown_latency:
        doubts = (actual.unknown_calls, actual.unknown_words, actual.unknown_latency)
        turn["unknown"] = [doubt for doubt in doubts if doubt]
    return turn


def _expected(
    sample: Sample,
    pair: TurnPair,
    expected: ExpectedTurn,
    made: Sequence[TranscriptCall],
    effects: CallEffects,
) -> ExpectedPart | None:
    """Returns what is expected of a turn; None: nothing."""
    part: ExpectedPart = {}
    if expected.user and (pair.actual is None or pair.actual.user != expected.user):
        part["user"] = expected.user
    if expected.response is not None:
        part["response"] = expected.response
    if expected.tool_calls is not None:
        paired, is_whole = sample.calls(pair), len(made) == len(expected.tool_calls)
        if is_whole and paired.expected is expected.tool_calls and paired.are_equal:
            sides = zip(expected.tool_calls, made, strict=True)  # equal calls have equal effects
            part["tool_calls"] = [
                {"name": want.name, "args": want.args, "effect": call["effect"]} for want, call in sides
            ]
        else:
            part["tool_calls"] = expected_calls(expected.tool_calls, effects)
    if expected.intermediate_responses:
        part["texts"] = expected.intermediate_responses
    if expected.scripted_transfers:
        part["transfers"] = expected.scripted_transfers
    if expected.expectations:
        add_expectations(part, expected.expectations, effects)
    if expected.rubrics:
        part["rubrics"] = [rubric.text for rubric in expected.rubrics]
    if expected.unread:
        part["other"] = [*part.get("other", ()), expected.unread]
    return part or None


def _with_finite_numbers(value: JsonValue) -> JsonValue:
    """Replaces infinite numbers and NaN by texts: JSON has null for them, as if nothing was there."""
    if isinstance(value, dict):
        return {name: _with_finite_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_finite_numbers(item) for item in value]
    if not isinstance(value, float) or isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


# What a case expects of a whole conversation, and single expectations, as they stand in transcripts.


def expected_of_whole(case: EvalCase, effects: CallEffects) -> ExpectedPart | None:
    """Returns what is expected of a conversation as a whole; None: nothing."""
    part: ExpectedPart = {}
    if case.actions is not None:
        part["tool_calls"] = expected_calls(case.actions, effects)
    if case.user_actions:
        part["user_tool_calls"] = expected_calls(case.user_actions, effects)
    if case.outputs:
        part["texts"] = case.outputs
    if case.expectations:
        add_expectations(part, case.expectations, effects)
    if case.final_session_state:
        part["variables"] = {**part.get("variables", {}), **case.final_session_state}
    if case.rubrics or case.evaluation_expectations:
        part["rubrics"] = [*(rubric.text for rubric in case.rubrics), *case.evaluation_expectations]
    if case.task:
        part["task"] = case.task
    if case.unread or case.not_found:
        doubts = [doubt for doubt in (case.unread, case.not_found) if doubt]
        part["other"] = [*part.get("other", ()), *doubts]
    return part or None


def add_expectations(part: ExpectedPart, expectations: Sequence[Expectation], effects: CallEffects) -> None:
    """Adds single expectations; calls and texts that a turn states already are not repeated."""
    states_calls = "tool_calls" in part
    for wanted in expectations:
        if wanted.skip:
            part["other"] = [*part.get("other", ()), f"skipped: {_expectation_text(wanted)}"]
        elif wanted.kind == "tool_call" and wanted.tool_call:
            if not states_calls:
                calls = expected_calls([wanted.tool_call], effects)
                part["tool_calls"] = [*part.get("tool_calls", ()), *calls]
        elif wanted.kind == "no_tool_calls":
            part.setdefault("tool_calls", [])
        elif wanted.kind == "agent_response" and wanted.text is not None:
            if wanted.text != part.get("response"):
                part["texts"] = [*part.get("texts", ()), wanted.text]
        elif wanted.kind == "agent_transfer" and wanted.target_agent:
            if wanted.target_agent not in part.get("transfers", ()):
                part["transfers"] = [*part.get("transfers", ()), wanted.target_agent]
        elif wanted.kind == "updated_variables":
            part["variables"] = {**part.get("variables", {}), **(wanted.variables or {})}
        elif wanted.kind != "mock_tool_response":
            part["other"] = [*part.get("other", ()), _expectation_text(wanted)]


def _expectation_text(expectation: Expectation) -> str:
    """Returns a single expectation in one line."""
    if expectation.tool_call is not None:
        return f"{expectation.kind}: {call_text(expectation.tool_call)}"
    response = expectation.tool_response
    if response is not None:
        return f"{expectation.kind}: {response.name}: {value_text(response.response)}"
    value = expectation.text or expectation.target_agent or expectation.variables
    return f"{expectation.kind}: {value_text(value)}" if value else expectation.kind


# Limits the size of transcripts, with a mark at every cut and counts of what was left out.


_STEPS = ((8_000, 200), (2_000, 50), (500, 20), (100, 5))
"""Characters of a text or value, and entries of a list, at most."""
_WHOLE_KEYS = frozenset(("index", "label", "seconds", "effect"))
_VALUES = frozenset(("args", "result", "variables"))


def limited(transcript: Transcript, kept: int | None = None, most: int = MOST_BYTES) -> Transcript:
    """Returns a transcript whose compact JSON has at most `most` bytes, shortened where it is longer.

    Long texts and values are shortened first, in four steps of 8,000 to 100 characters, and long lists to
    their first entries. Then turns are left out: the turn with the index `kept` stays, then the first and
    the last ones, as far as there is room.
    """
    if _size(transcript) <= most:
        return transcript
    for characters, entries in _STEPS:
        cut = _Cut(characters, entries)
        shortened = cut.transcript(transcript)
        if _size(shortened) <= most:
            return shortened
    turns = shortened["turns"]
    room = most - _size({**shortened, "turns": []}) - 64
    chosen, last = set(), len(turns) - 1
    # The one to keep, then alternately from the start and from the end.
    named = [index for index, turn in enumerate(turns) if turn["index"] == kept]
    ends = [index for i in range(len(turns) // 2 + 1) for index in (i, last - i) if 0 <= index <= last]
    for index in dict.fromkeys([*named, *ends]):
        size = len(dump_json(cast(JsonValue, turns[index]))) + 1
        if size <= room:
            room -= size
            chosen.add(index)
    cut.left_out["turns"] = len(turns) - len(chosen)
    return {**shortened, "turns": [turns[index] for index in sorted(chosen)]}


def _size(transcript: Transcript) -> float:
    """Returns the number of bytes of the compact JSON; infinite: it cannot be written as it is."""
    try:
        return len(dump_json(cast(JsonValue, transcript)))
    except ValueError:  # a lone surrogate
        return float("inf")


class _Cut:
    """Shortens the parts of a transcript, and counts what is left out."""

    def __init__(self, characters: int, entries: int) -> None:
        self._characters, self._entries = characters, entries
        self.left_out: LeftOut = {"turns": 0, "entries": 0, "characters": 0}

    def transcript(self, transcript: Transcript) -> Transcript:
        """Returns a shortened copy."""
        turns = [cast(TranscriptTurn, self._part(turn)) for turn in transcript["turns"]]
        expected = transcript["expected"] and self._part(transcript["expected"])
        return {"turns": turns, "expected": expected, "cut": True, "left_out": self.left_out}

    def _part(self, part: Any) -> Any:
        return {key: value if key in _WHOLE_KEYS else self._value(key, value) for key, value in part.items()}

    def _value(self, key: str, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._text(value)
        if key in _VALUES:
            return self._any(value)
        if isinstance(value, list):
            self.left_out["entries"] += max(0, len(value) - self._entries)
            return [self._value("", item) for item in value[: self._entries]]
        return self._part(value) if isinstance(value, dict) else value

    def _text(self, text: str) -> str:
        clean = text.encode("utf-8", "replace").decode()
        more = len(clean) - self._characters
        if more <= 0:
            return clean
        self.left_out["characters"] += more
        return f"{clean[: self._characters]}… [{more:,} characters left out]"

    def _any(self, value: JsonValue) -> JsonValue:
        """Returns a value as it is, or the start of its JSON text."""
        try:
            text = dump_json(value).decode()
        except ValueError:
            text = repr(value)
        else:
            if len(text) <= self._characters:
                return value
        return self._text(text)
