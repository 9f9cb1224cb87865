"""Makes the transcript of a sample: what was said and called, with what was expected beside it."""

from math import isfinite
from typing import cast

import msgspec

from turnwise.schemas.conversation import Turn
from turnwise.schemas.jsonio import JsonValue
from turnwise.schemas.rows import MOST_BYTES, ExpectedPart, Transcript, TranscriptCall, TranscriptTurn
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.review.calls import CallEffects, MadeCalls, expected_calls, user_calls
from turnwise.transforms.review.expected import add_expectations, expected_of_whole
from turnwise.transforms.review.limit import limited

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
    turns = [_turn(pair, next(calls) if pair.actual else [], effects) for pair in sample.pairs]
    expected = expected_of_whole(sample.eval_case, effects) if sample.eval_case else None
    transcript: Transcript = {"turns": turns, "expected": expected, "cut": False, "left_out": None}
    data = _encoded(transcript)
    if data is None or any(part.startswith(_NOT_FINITE) for part in data.split(_DOUBLE)[1:]):
        transcript = cast(Transcript, _with_finite_numbers(cast(JsonValue, transcript)))
    is_small = data is not None and len(data) <= _SURELY_FITS
    return transcript if is_small else limited(transcript, kept)


def _encoded(transcript: Transcript) -> bytes | None:
    """Returns MessagePack, which costs less than to look at every part; None: it has no room for a value."""
    try:
        return _encode(transcript)
    except (ValueError, OverflowError, TypeError):
        return None


def _turn(pair: TurnPair, made: list[TranscriptCall], effects: CallEffects) -> TranscriptTurn:
    actual = pair.actual
    if actual is None:
        return {
            "index": pair.index,
            "label": pair.label,
            "user": None,
            "agent": None,
            "tool_calls": [],
            "seconds": None,
            "expected": _expected(pair, effects),
        }
    turn: TranscriptTurn = {
        "index": pair.index,
        "label": pair.label,
        "user": actual.user,
        "agent": actual.agent,
        "tool_calls": made,
        "seconds": None if actual.latency_ms is None else actual.latency_ms / 1000,
        "expected": _expected(pair, effects),
    }
    _add_more(turn, actual, effects)
    return turn


def _add_more(turn: TranscriptTurn, actual: Turn, effects: CallEffects) -> None:
    """Adds what only some turns have."""
    if len(actual.agent_messages) > 1:
        turn["messages"] = actual.agent_messages
    if actual.user_tool_calls:
        turn["user_tool_calls"] = user_calls(actual, effects)
    if actual.transfers:
        turn["transfers"] = actual.transfers
    if actual.unknown_calls or actual.unknown_words or actual.unknown_latency:
        doubts = (actual.unknown_calls, actual.unknown_words, actual.unknown_latency)
        turn["unknown"] = [doubt for doubt in doubts if doubt]


def _expected(pair: TurnPair, effects: CallEffects) -> ExpectedPart | None:
    """Returns what is expected of a turn; None: nothing."""
    expected, part = pair.expected, ExpectedPart()
    if expected is None:
        return None
    if expected.user and (pair.actual is None or pair.actual.user != expected.user):
        part["user"] = expected.user
    if expected.response is not None:
        part["response"] = expected.response
    if expected.tool_calls is not None:
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
        return {name: _with_finite_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_finite_numbers(one) for one in value]
    if not isinstance(value, float) or isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
